//! The freeing of folios.

use crate::engine::Engine;
use crate::folio::{FolioFlags, LruFlags};
use crate::folio_list::FolioList;
use crate::id::{FolioId, FolioNr};
use crate::memory::ReleaseError;
use crate::world::World;
use core::mem;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Env;

impl<W: World> Engine<'_, W> {
    /// Gives up references that the engine has, as [`Engine::release`] does.
    pub(crate) fn put_folio(&mut self, id: FolioNr, refs: u32) {
        let folio = self.maps.folio_at(id);
        if folio.flags().contains(FolioFlags::SWAPCACHE)
            && folio.mapcount() == 0
            && let Some(guard) = self.try_lock_folio(id)
        {
            self.try_to_free_swap(&guard);
        }
        if folio.put(refs) {
            self.free_folio(id);
        }
    }

    /// Frees a folio without references, and its frames. No flush may be owed any more for an entry
    /// that mapped it.
    ///
    /// # Panics
    /// If there is a reference. In debug builds, if the folio is in the swap cache, which holds
    /// one.
    fn free_folio(&mut self, id: FolioNr) {
        self.lru_del(id);
        let mut dead = FolioList::default();
        dead.push(self.maps, id);
        self.free_folios(dead);
    }

    /// Frees folios that have no references and are off every list, all at once.
    ///
    /// # Panics
    /// As [`Engine::free_folio`].
    pub(crate) fn free_folios(&mut self, dead: FolioList) {
        let maps = self.maps;
        maps.uncharge(dead.iter(maps).map(|id| maps.folio_at(id)));
        // The folios of one mapping are counted together.
        let (mut mapping, mut nr) = (None, 0);
        for id in dead.iter(maps) {
            let folio = maps.folio_at(id);
            assert_eq!(folio.refs(), 0, "a folio that is freed is used nowhere");
            let cached = folio.flags().contains(FolioFlags::SWAPCACHE);
            debug_assert!(!cached, "the swap cache holds a reference");
            maps.folios.forget_frames(folio);
            if mapping != Some(folio.mapping()) {
                maps.unname(mapping.replace(folio.mapping()), mem::take(&mut nr));
            }
            nr += 1;
            self.world.free(folio.pfn(), folio.order());
        }
        maps.unname(mapping, nr);
        self.put_folios(dead.iter(maps));
    }
}

impl<E: Env> Engine<'_, E> {
    /// Frees a folio that is on no list, and whose last reference the caller holds. The caller
    /// keeps its frames.
    ///
    /// # Errors
    /// [`ReleaseError::InUse`] if the reference is not the caller's or there are others, such as
    /// that of an entry that maps it, and if it is on a list; [`ReleaseError::BadId`]. Nothing is
    /// changed then.
    pub fn remove_folio(&mut self, id: FolioId) -> Result<(), ReleaseError> {
        let maps = self.maps;
        let nr = maps.folio_nr(id)?;
        let folio = maps.folio_at(nr);
        let cached = FolioFlags::INDEXED | FolioFlags::SWAPCACHE;
        let used = folio.flags().intersects(cached) || folio.lru().contains(LruFlags::LRU);
        if used || folio.refs() != 1 {
            return Err(ReleaseError::InUse);
        }
        maps.uncharge([folio].into_iter());
        maps.folios.forget_frames(folio);
        maps.mapping_at(folio.mapping()).named.fetch_sub(1, Relaxed);
        self.put_folios([nr].into_iter());
        Ok(())
    }
}

//! The freeing of folios.

use crate::engine::Engine;
use crate::folio::FolioFlags;
use crate::folio_list::FolioList;
use crate::id::FolioId;
use crate::world::World;
use core::sync::atomic::Ordering::Relaxed;

impl<W: World> Engine<'_, W> {
    /// Frees a folio without references, and its frames. No flush may be owed any more for an entry
    /// that mapped it.
    ///
    /// # Panics
    /// If there is a reference. In debug builds, if the folio is in the swap cache, which holds
    /// one.
    pub(crate) fn free_folio(&mut self, id: FolioId) {
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
        maps.uncharge(dead.iter(maps).map(|id| maps.folio(id)));
        for id in dead.iter(maps) {
            let folio = maps.folio(id);
            assert_eq!(folio.refs(), 0, "a folio that is freed is used nowhere");
            let cached = folio.flags().contains(FolioFlags::SWAPCACHE);
            debug_assert!(!cached, "the swap cache holds a reference");
            maps.folios.forget_frames(folio);
            maps.mapping_at(folio.mapping()).named.fetch_sub(1, Relaxed);
            self.world.free(folio.pfn(), folio.order());
        }
        self.put_folios(dead.iter(maps));
    }
}

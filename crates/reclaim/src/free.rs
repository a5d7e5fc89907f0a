//! The end of a folio.

use crate::CpuCtx;
use crate::folio::{FolioFlags, FolioId};
use crate::list::FolioList;
use crate::maps::Maps;
use crate::world::World;

impl Maps<'_> {
    /// Frees a folio to which there is no reference left, and gives its frames back. No flush of
    /// an entry that mapped it may be owed any more.
    ///
    /// # Panics
    /// If there is a reference; in debug builds, if it is in the swap cache, which holds one.
    pub(crate) fn free_folio<W: World>(&self, world: &W, cpu: &mut CpuCtx, id: FolioId) {
        self.lru_del(world, cpu, id);
        let mut dead = FolioList::default();
        dead.push(self, id);
        self.free_folios(world, cpu, dead);
    }

    /// Frees folios without references that are off every list, all at once.
    ///
    /// # Panics
    /// As [`Maps::free_folio`].
    pub(crate) fn free_folios<W: World>(&self, world: &W, cpu: &mut CpuCtx, dead: FolioList) {
        self.uncharge(dead.iter(self).map(|id| self.folio(id)));
        for id in dead.iter(self) {
            let folio = self.folio(id);
            assert_eq!(folio.refs(), 0, "a folio that is freed is used nowhere");
            let cached = folio.flags().contains(FolioFlags::SWAPCACHE);
            debug_assert!(!cached, "the swap cache holds a reference");
            self.forget_frames(folio);
            world.free(folio.pfn(), folio.order());
        }
        self.put_folios(world, cpu, dead.iter(self));
    }
}

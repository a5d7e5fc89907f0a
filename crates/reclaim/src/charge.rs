//! Charging folios to cgroups.

use crate::folio::{Folio, FolioFlags};
use crate::maps::Maps;
use crate::memcg::MemcgId;
use crate::vmstat::Counter;
use core::sync::atomic::Ordering::Relaxed;

impl Maps<'_> {
    /// Takes the charge of a folio away, if there is one.
    pub(crate) fn uncharge_folio(&self, folio: &Folio) {
        if let Some(memcg) = folio.take_memcg() {
            let nr = folio.nr_pages() as u64;
            self.memcg(memcg).vmstat.sub(Self::kind(folio), nr);
            self.uncharge(memcg, nr);
        }
    }

    /// Takes `nr` pages off what a cgroup and all above use.
    pub(crate) fn uncharge(&self, memcg: MemcgId, nr: u64) {
        for memcg in self.ancestors(memcg) {
            let before = memcg.usage.fetch_sub(nr, Relaxed);
            debug_assert!(before >= nr, "{before} pages charged cover the {nr} given up");
        }
    }

    /// What a folio counts as while it is charged.
    pub(crate) fn kind(folio: &Folio) -> Counter {
        match folio.flags().contains(FolioFlags::ANON) {
            true => Counter::Anon,
            false => Counter::File,
        }
    }
}

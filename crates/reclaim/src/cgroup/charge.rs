//! Charging folios to cgroups.

use super::memcg::Memcg;
use crate::folio::{Folio, FolioFlags, MappingKind};
use crate::folio_list::FolioList;
use crate::id::MemcgNr;
use crate::mm_state::MmState;
use crate::vmstat::Counter;
use core::mem;
use core::sync::atomic::Ordering::Relaxed;

impl MmState<'_> {
    /// Charges `nr` pages, or charges none and returns the cgroup whose limit is in the way.
    pub(crate) fn try_charge(&self, memcg: MemcgNr, nr: u64) -> Result<(), MemcgNr> {
        let mut id = memcg;
        loop {
            let level = self.memcg_at(id);
            if level.usage.fetch_add(nr, Relaxed) + nr > level.max() {
                uncharge(level, nr);
                for below in self.ancestors(memcg).take_while(|below| !core::ptr::eq(*below, level))
                {
                    uncharge(below, nr);
                }
                return Err(id);
            }
            if id == MemcgNr::ROOT {
                return Ok(());
            }
            id = level.parent();
        }
    }

    /// Uncharges those of the folios that are charged, consecutive ones of one cgroup together.
    pub(crate) fn uncharge<'f>(&self, folios: impl Iterator<Item = &'f Folio>) {
        let mut owner = MemcgNr::ROOT;
        let mut nr = [0; 3];
        for folio in folios {
            let Some(memcg) = folio.take_memcg() else {
                continue;
            };
            if memcg != owner {
                self.uncharge_pages(owner, mem::take(&mut nr));
                owner = memcg;
            }
            // Shared memory has left the index, and is no longer counted.
            let kind = match kind(folio.flags()) {
                MappingKind::Anon => 0,
                MappingKind::File => 1,
                MappingKind::Shmem => 2,
            };
            nr[kind] += folio.nr_pages() as u64;
        }
        self.uncharge_pages(owner, nr);
    }

    /// Subtracts anonymous pages, pages of files and other pages from the usage of a cgroup and all
    /// above.
    #[inline]
    fn uncharge_pages(&self, memcg: MemcgNr, nr: [u64; 3]) {
        for (counter, nr) in [Counter::NrAnonPages, Counter::NrFilePages].into_iter().zip(nr) {
            if nr > 0 {
                self.memcg_at(memcg).vmstat.sub(counter, nr);
            }
        }
        let all = nr.iter().sum();
        if all > 0 {
            self.ancestors(memcg).for_each(|level| uncharge(level, all));
        }
    }

    /// Moves a folio's charge to the parent, unless the folio has none. The cgroups above have it
    /// already.
    pub(crate) fn move_charge(&self, folio: &Folio, from: MemcgNr, to: MemcgNr) {
        if folio.move_memcg(from, to) {
            let nr = folio.nr_pages() as u64;
            for counter in counters(folio) {
                self.memcg_at(from).vmstat.sub(*counter, nr);
                self.memcg_at(to).vmstat.add(*counter, nr);
            }
            uncharge(self.memcg_at(from), nr);
        }
    }

    pub(crate) fn move_charges(&self, folios: &FolioList, from: MemcgNr, to: MemcgNr) {
        for id in folios.iter(self) {
            self.move_charge(self.folio_at(id), from, to);
        }
    }
}

/// Subtracts `nr` pages from the usage of one cgroup.
fn uncharge(memcg: &Memcg, nr: u64) {
    let before = memcg.usage.fetch_sub(nr, Relaxed);
    debug_assert!(before >= nr, "{before} pages charged cover the {nr} given up");
}

/// Returns the kind of memory that a folio's pages are.
#[inline]
fn kind(flags: FolioFlags) -> MappingKind {
    if flags.contains(FolioFlags::ANON) {
        MappingKind::Anon
    } else if flags.contains(FolioFlags::SWAPBACKED) {
        MappingKind::Shmem
    } else {
        MappingKind::File
    }
}

/// Returns the counters that a charged folio is part of. Shared memory has some only while it is in
/// the index, and not in the swap cache (Linux 7.3.4, shmem_update_stats).
#[inline]
pub(crate) fn counters(folio: &Folio) -> &'static [Counter] {
    let flags = folio.flags();
    match kind(flags) {
        MappingKind::Anon => &[Counter::NrAnonPages],
        MappingKind::File => &[Counter::NrFilePages],
        MappingKind::Shmem if flags.contains(FolioFlags::INDEXED) => {
            &[Counter::NrFilePages, Counter::NrShmem]
        }
        MappingKind::Shmem => &[],
    }
}

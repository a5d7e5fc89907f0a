//! Look-around: eviction that finds a folio used also clears young bits near it. If many were
//! young, it inserts the table into the next walk's filter.

use super::entries::{Look, entries, note_dirty, suitable_to_scan};
use crate::engine::Engine;
use crate::folio::Folio;
use crate::lru::mglru::{MIN_LRU_BATCH, PmdEntry, gen_from_seq, lru_gen_set_refs};
use crate::mm::Vma;
use core::cmp::{max, min};
use pageout_paging::walk::{MappedWalk, next_boundary};
use pageout_paging::young::YoungCheck;
use pageout_paging::{Env, Format, Level, Observer, Pte, Rules, Stage, VirtAddr, VirtRange};

impl<'e, E: Env> Engine<'e, E> {
    /// Checks the run of an isolated folio at `addr`, the position of `walk`, without a flush. If
    /// any entry of it was young, looks around it in the table and the VMA. Returns the number of
    /// entries in the run, and true if any was young. Folios nearby are promoted as by a walk:
    /// batched if there is a walk, otherwise by moving them among lists (Linux 7.3.4,
    /// `lru_gen_look_around`). This one does not check if others wait for the table's lock.
    #[inline(never)] // keeps its cost out of the code for classic lists
    pub(in crate::reclaim) fn lru_gen_look_around(
        &mut self,
        check: &YoungCheck<'e, E>,
        walk: &MappedWalk<'e, E>,
        (folio, vma): (&Folio, &Vma),
        (addr, pte): (VirtAddr, Pte),
        max_nr: usize,
    ) -> (usize, bool) {
        let (maps, env, pt) = (self.maps, self.world, walk.locked());
        env.observer().enter(Stage::Young);
        let run = check.walk_young_run(pt, addr, pte, max_nr);
        let window = window::<E::Format>(addr, vma);
        let total = entries::<E::Format>(&window);
        if run.young && total > 1 {
            let lruvec = folio.lruvec();
            let secondary = env.notifier(check.asid).is_some();
            let max_seq = maps.lru_gen(lruvec).max_seq();
            let youngest = gen_from_seq(max_seq);
            let batches = self.cpu.walk.as_mut().is_some_and(|walk| walk.serves(lruvec));
            let look = Look { maps, check, lruvec, secondary };
            let young = E::Rules::look_around_young(run.nr)
                + look.clear_young(pt, &window, |id, near, dirty| {
                    if dirty {
                        note_dirty(near);
                    }
                    if let Some(walk) = self.cpu.walk.as_mut().filter(|_| batches) {
                        walk.promote::<E::Rules>(maps, near, youngest, vma.flags());
                    } else if lru_gen_set_refs(near, vma.flags()) {
                        let generation = near.recency().generation();
                        if generation.is_some_and(|generation| generation != youngest) {
                            self.activate_at(id);
                        }
                    }
                });
            if suitable_to_scan(total, young) {
                let (table, index) = (walk.pmd_table(), E::Format::index(Level::Pmd, addr));
                maps.filter_insert(lruvec, max_seq, PmdEntry { table, index });
            }
        }
        env.observer().enter(Stage::RmapWalk);
        (run.nr, run.young)
    }
}

/// Returns the range to look at around `addr`: up to 64 pages of its table and VMA. `addr` is in
/// the middle unless an end is nearer.
fn window<F: Format>(addr: VirtAddr, vma: &Vma) -> VirtRange {
    let start = max(addr.align_down(F::shift(Level::Pmd)), vma.start());
    let end = min(next_boundary::<F>(addr, Level::Pmd), vma.end());
    let whole = MIN_LRU_BATCH << F::PAGE_SHIFT;
    let half = whole / 2;
    let [before, after] = [addr.get() - start.get(), end.get() - addr.get()];
    if before + after <= whole {
        start..end
    } else if before < half {
        start..start.add(whole)
    } else if after < half {
        VirtAddr::new(end.get() - whole)..end
    } else {
        VirtAddr::new(addr.get() - half)..addr.add(half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folio::MappingKind;
    use crate::id::{MappingId, MmId};
    use crate::mm::{NewVma, VmFlags};
    use pageout_paging::pte::{Arm64_4K, SmallX86};

    /// Returns the window around a page of a VMA, in pages.
    fn pages<F: Format>(at: u64, vma: (u64, u64)) -> (u64, u64) {
        let page = |number: u64| VirtAddr::new(number << F::PAGE_SHIFT);
        let (mm, flags, mapping) =
            (MmId { nr: 0, generation: 1 }, VmFlags::READ, MappingId { nr: 0, generation: 1 });
        let new = NewVma { mm, range: page(vma.0)..page(vma.1), flags, mapping, pgoff: 0 };
        let mapped = Vma::default();
        mapped.init(&new, MappingKind::File);
        let window = window::<F>(page(at), &mapped);
        (window.start.get() >> F::PAGE_SHIFT, window.end.get() >> F::PAGE_SHIFT)
    }

    #[test]
    fn the_window_is_64_pages_of_the_table_and_the_vma() {
        for (at, vma, window) in [
            (512, (0, 4096), (512, 576)),
            (543, (0, 4096), (512, 576)),
            (544, (0, 4096), (512, 576)),
            (545, (0, 4096), (513, 577)),
            (800, (0, 4096), (768, 832)),
            (992, (0, 4096), (960, 1024)),
            (993, (0, 4096), (960, 1024)),
            (1023, (0, 4096), (960, 1024)),
            (700, (690, 4096), (690, 754)),
            (700, (0, 710), (646, 710)),
            (700, (690, 754), (690, 754)),
            (700, (690, 755), (690, 754)),
            (700, (700, 701), (700, 701)),
        ] {
            assert_eq!(pages::<Arm64_4K>(at, vma), window, "page {at} of {vma:?}");
        }
        assert_eq!(pages::<SmallX86>(13, (0, 100)), (8, 16));
        assert_eq!(pages::<SmallX86>(13, (10, 14)), (10, 14));
    }
}

//! Aging: walks the page tables of a cgroup's address spaces for young bits, then opens a new
//! generation.

use super::entries::{Look, entries, note_dirty, suitable_to_scan};
use crate::engine::Engine;
use crate::folio::Folio;
use crate::guards::try_lock_read_long;
use crate::id::{LruvecId, LruvecNr};
use crate::lru::mglru::{LruGenCaps, MAX_LRU_BATCH, MmWalk, Next, Parts, PmdEntry, gen_from_seq};
use crate::memory::BadId;
use crate::mm::{Mm, VmFlags};
use crate::mm_state::MmState;
use crate::rank::Rank;
use crate::tuning::Aging;
use crate::world::World;
use pageout_paging::mmu::Mmu;
use pageout_paging::walk::{next_boundary, pmd_table, table_after};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{
    Env, Format, Level, LockedTable, Observer, Pfn, Pte, Rules, Stage, Table, VirtAddr, VirtRange,
};

impl<W: World> Engine<'_, W> {
    /// Opens the generation after `seq` once the address spaces of a cgroup have been walked for
    /// folios on a node; returns true if this call opened it. Address spaces in which no CPU ran
    /// are walked only with `force_scan`. Other CPUs may walk some of them, and the last to end
    /// opens the generation. At swappiness 0 anonymous memory is not walked, and at 201 files'
    /// pages are not. If hardware sets no accessed bits, or walks are switched off, the generation
    /// is opened without walks (Linux 7.3.4, `try_to_inc_max_seq`).
    ///
    /// The caller keeps the cgroup from being removed.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed, or there is no such node.
    ///
    /// # Panics
    /// In debug builds, if there is no generation `seq` yet.
    pub fn try_to_inc_max_seq(
        &mut self,
        lruvec: impl Into<LruvecId>,
        seq: u64,
        swappiness: u8,
        force_scan: bool,
    ) -> Result<bool, BadId> {
        let lruvec = self.maps.lruvec_nr(lruvec)?;
        Ok(self.try_to_inc_max_seq_at(lruvec, seq, swappiness, force_scan))
    }

    /// Opens a generation like `try_to_inc_max_seq`, by the tables' entries.
    pub(super) fn try_to_inc_max_seq_at(
        &mut self,
        lruvec: LruvecNr,
        seq: u64,
        swappiness: u8,
        force_scan: bool,
    ) -> bool {
        let world = self.world;
        if seq <= self.maps.lruvec(lruvec).iteration.seq() {
            return false;
        }
        world.observer().enter(Stage::Aging);
        let ended = if self.should_walk_mmu() {
            let lent = self.cpu.walk.take();
            let keep = lent.is_some();
            let mut walk = lent.unwrap_or_default();
            walk.begin(lruvec, seq, swappiness, force_scan);
            let ended = self.walk_mms(&mut walk);
            self.cpu.walk = keep.then_some(walk);
            ended
        } else {
            self.iterate_mm_list_nowalk(lruvec, seq)
        };
        let opened = ended && self.inc_max_seq(lruvec, seq, swappiness);
        debug_assert_eq!(opened, ended, "the end of an iteration opens a generation");
        world.observer().enter(Stage::Other);
        opened
    }
}

impl<E: Env> Engine<'_, E> {
    /// Returns true if page tables are walked: walks are on, and hardware sets accessed bits
    /// (`should_walk_mmu`).
    pub(super) fn should_walk_mmu(&self) -> bool {
        self.maps.lru_gen_caps().contains(LruGenCaps::MM_WALK)
            && self.world.mmu().caps().hardware_af
    }

    /// Walks address spaces until the iteration ends. Returns true if this walk ended it.
    fn walk_mms(&mut self, walk: &mut MmWalk) -> bool {
        let mut walked = None;
        loop {
            match self.iterate_mm_list(walk, walked) {
                Next::Mm(id) => {
                    self.walk_mm(self.maps.mm_at(id), walk);
                    walked = Some(id);
                }
                next => return next == Next::Open,
            }
        }
    }

    /// Walks one address space, with pauses in which others get its mmap lock. Ends early if that
    /// lock is held for writing, the address space ends or the generation is over (Linux 7.3.4,
    /// `walk_mm`).
    fn walk_mm(&mut self, mm: &Mm, walk: &mut MmWalk) {
        let (maps, env) = (self.maps, self.world);
        walk.next_addr = VirtAddr::new(0);
        let mut goes_on = true;
        while goes_on && walk.seq == maps.lru_gen(walk.lruvec).max_seq() {
            let guard = try_lock_read_long(env, Rank::Mmap, &mm.lock);
            // An address space that has ended has no tables any more.
            goes_on = guard.is_some()
                && !mm.is_exiting()
                && PageWalk::new(maps, env, mm, walk, self.tuning.aging).run();
            drop(guard);
            self.hand_in(walk);
            if env.need_resched() {
                env.relax();
            }
        }
    }
}

/// The walk of one address space while its mmap lock is held.
struct PageWalk<'a, 'm, E: Env> {
    maps: &'a MmState<'m>,
    env: &'a E,
    mm: &'a Mm,
    check: YoungCheck<'a, E>,
    walk: &'a mut MmWalk,
    parts: Parts<'a, 'm>,
    /// True if the address space has secondary MMUs.
    secondary: bool,
    /// True if tables behind old entries are skipped, and young entries that lead to tables are
    /// made old.
    by_nonleaf: bool,
}

impl<'a, 'm, E: Env> PageWalk<'a, 'm, E> {
    fn new(
        maps: &'a MmState<'m>,
        env: &'a E,
        mm: &'a Mm,
        walk: &'a mut MmWalk,
        aging: Aging,
    ) -> Self {
        let Aging { algorithm, flush } = aging;
        let check = YoungCheck { env, algorithm, flush, asid: mm.asid() };
        let secondary = env.notifier(mm.asid()).is_some();
        let by_nonleaf = !walk.force_scan
            && maps.lru_gen_caps().contains(LruGenCaps::NONLEAF_YOUNG)
            && E::Rules::old_table_is_unused::<E::Format>(env.mmu().caps(), secondary);
        let parts = Parts::new(maps, mm, walk.swappiness);
        Self { maps, env, mm, check, walk, parts, secondary, by_nonleaf }
    }

    /// Walks on from the current position. Returns true if there is more after a pause (Linux
    /// 7.3.4, `walk_pud_range`).
    fn run(mut self) -> bool {
        let top = VirtAddr::new(u64::MAX);
        while let Some(part) = self.parts.next_in(self.walk.next_addr..top) {
            let addr = part.start;
            let table = pmd_table(self.env, self.mm.root(), addr);
            let covered = table.err().unwrap_or(Level::Pud);
            self.walk.next_addr = next_boundary::<E::Format>(addr, covered);
            if let Ok(table) = table {
                self.walk_pmd_range(table, addr..self.walk.next_addr);
                if self.mm.is_exiting() {
                    return false;
                }
                if self.env.need_resched() || self.walk.batched >= MAX_LRU_BATCH {
                    return true;
                }
            }
        }
        false
    }

    /// Walks the range of one PMD table. PTE tables are walked without its lock. Its own entries
    /// that are to be cleared are collected, and cleared under one hold of the lock (Linux 7.3.4,
    /// `walk_pmd_range`).
    fn walk_pmd_range(&mut self, table: Pfn, range: VirtRange) {
        let entries = self.env.table(table);
        let mut addr = range.start;
        while let Some(part) = self.parts.next_in(addr..range.end) {
            let mut queue = Queue::default();
            // The walk of a PTE table may end in another VMA.
            let vm_flags = self.parts.vm_flags();
            let mut range = part.clone();
            while !self.mm.is_exiting()
                && let Some((at, pmd)) = self.next_pmd(entries, &range)
            {
                range.start = next_boundary::<E::Format>(at, Level::Pmd);
                self.visit_pmd(table, pmd, at..range.start.min(part.end), &mut queue);
            }
            // The rest of a table in which a VMA ended was walked or skipped with it.
            let last = VirtAddr::new(part.end.get() - 1);
            addr = next_boundary::<E::Format>(last, Level::Pmd);
            self.clear_queued(table, part.start, queue.take(), vm_flags);
        }
    }

    /// Returns the next entry of a PMD table in `range` that has to be visited, with the first
    /// address that it maps. Most entries are skipped: they map no page that was used, or they lead
    /// to a table and are old. So this search does nothing else for an entry.
    #[inline]
    fn next_pmd(&mut self, entries: E::Table, range: &VirtRange) -> Option<(VirtAddr, Pte)> {
        let shift = E::Format::shift(Level::Pmd);
        let start = range.start.align_down(shift);
        let first = E::Format::index(Level::Pmd, start);
        let nr = range.end.get().saturating_sub(start.get()).div_ceil(1 << shift) as usize;
        let (by_nonleaf, secondary) = (self.by_nonleaf, self.secondary);
        let mut leaves = 0;
        let found = (0..nr).find_map(|k| {
            let pmd = entries.load(first + k);
            let to_visit = if E::Format::is_table(pmd) {
                !by_nonleaf || E::Format::is_young(pmd)
            } else {
                leaves += 1;
                E::Rules::is_candidate::<E::Format>(pmd, secondary)
            };
            to_visit.then(|| (start.add((k as u64) << shift).max(range.start), pmd))
        });
        self.walk.stats.leaf_total += leaves;
        found
    }

    /// Visits `pmd`, the entry of a PMD table for `range`, and walks the PTE table it leads to, if
    /// there is reason to.
    fn visit_pmd(&mut self, table: Pfn, pmd: Pte, range: VirtRange, queue: &mut Queue) {
        let entry = PmdEntry { table, index: E::Format::index(Level::Pmd, range.start) };
        let leads_on = E::Format::is_table(pmd);
        if (!leads_on || self.by_nonleaf)
            && let Some(full) = queue.push(entry.index)
        {
            let vm_flags = self.parts.vm_flags();
            self.clear_queued(table, range.start, full, vm_flags);
        }
        let MmWalk { lruvec, seq, force_scan, .. } = *self.walk;
        if !leads_on || !(force_scan || self.maps.filter_contains(lruvec, seq, entry)) {
            return;
        }
        self.walk.stats.nonleaf_found += 1;
        if self.walk_pte_range(E::Format::pfn(pmd), table, range) {
            self.walk.stats.nonleaf_added += 1;
            self.maps.filter_insert(lruvec, E::Rules::filter_noted(seq), entry);
        }
    }

    /// Walks a PTE table from `range` on, through all VMAs that have pages in it. Returns true if
    /// the table is worth walking next time; a table whose lock is taken counts as such (Linux
    /// 7.3.4, `walk_pte_range`).
    fn walk_pte_range(&mut self, frame: Pfn, pmd_table: Pfn, range: VirtRange) -> bool {
        let Some(pt) = LockedTable::try_lock(self.env, frame) else {
            return true;
        };
        self.env.observer().enter(Stage::Young);
        let pt = pt.prefetching(self.ahead(pmd_table, range.start));
        let table_end = next_boundary::<E::Format>(range.start, Level::Pmd);
        let Self { maps, ref check, secondary, .. } = *self;
        let look = Look { maps, check, lruvec: self.walk.lruvec, secondary };
        let youngest = gen_from_seq(maps.lru_gen(look.lruvec).max_seq());
        let (mut total, mut young) = (0, 0);
        let mut part = Some(range);
        while let Some(range) = part {
            total += entries::<E::Format>(&range);
            let vm_flags = self.parts.vm_flags();
            young += look.clear_young(&pt, &range, |_, folio, dirty| {
                used::<E::Rules>(self.walk, maps, folio, youngest, (vm_flags, dirty));
            });
            part = self.parts.next_in(range.end..table_end);
        }
        self.walk.stats.leaf_total += total as u64;
        self.walk.stats.leaf_young += young as u64;
        self.env.observer().enter(Stage::Aging);
        suitable_to_scan(total, young)
    }

    /// Returns the table after the one for `addr`, which only the `line` algorithm prefetches.
    fn ahead(&self, pmd_table: Pfn, addr: VirtAddr) -> Option<E::Table> {
        let ours = self.check.algorithm == YoungAlgorithm::Line;
        let frame = ours.then(|| table_after(self.env, pmd_table, addr)).flatten();
        frame.map(|frame| self.env.table(frame))
    }

    /// Clears collected entries of the PMD table that covers `addr`, all in a VMA with such flags,
    /// unless someone else holds the table's lock (Linux 7.3.4, `walk_pmd_range_locked`).
    fn clear_queued(
        &mut self,
        table: Pfn,
        addr: VirtAddr,
        queued: impl Iterator<Item = usize>,
        vm_flags: VmFlags,
    ) {
        let mut queued = queued.peekable();
        if queued.peek().is_none() {
            return;
        }
        let Some(pt) = LockedTable::try_lock(self.env, table) else {
            return;
        };
        let Self { maps, ref check, secondary, .. } = *self;
        let look = Look { maps, check, lruvec: self.walk.lruvec, secondary };
        let youngest = gen_from_seq(maps.lru_gen(look.lruvec).max_seq());
        let start = addr.align_down(E::Format::shift(Level::Pud));
        for index in queued {
            let addr = start.add((index as u64) << E::Format::shift(Level::Pmd));
            let pmd = pt.table().load(index);
            if E::Format::is_table(pmd) {
                if self.by_nonleaf {
                    check.pmdp_test_and_clear_young(&pt, addr);
                }
                continue;
            }
            if !E::Rules::is_candidate::<E::Format>(pmd, secondary) {
                continue;
            }
            let folio = look.folio(E::Format::pfn(pmd));
            let young = |_: &_| check.pmdp_test_and_clear_young_notify(&pt, addr);
            if let Some((_, folio)) = folio.filter(young) {
                self.walk.stats.leaf_young += 1;
                let seen = (vm_flags, E::Format::is_dirty(pmd));
                used::<E::Rules>(self.walk, maps, folio, youngest, seen);
            }
        }
    }
}

/// Notes that a walk found a folio used, through a VMA with such flags and maybe dirty entries
/// (Linux 7.3.4, `walk_update_folio`).
fn used<R: Rules>(
    walk: &mut MmWalk,
    maps: &MmState<'_>,
    folio: &Folio,
    youngest: usize,
    (vm_flags, dirty): (VmFlags, bool),
) {
    if dirty {
        note_dirty(folio);
    }
    walk.promote::<R>(maps, folio, youngest, vm_flags);
}

/// The indices of PMD entries to clear under one hold of the table's lock: the first, and those
/// within 64 after it, in ascending order.
#[derive(Default)]
struct Queue {
    first: Option<usize>,
    /// Bit `k` is set for the entry `k` + 1 after the first.
    after: u64,
}

impl Queue {
    /// Adds an index, above all others. If it is too far from the first, the queue is full: all its
    /// indices are returned, with this one, and the queue is empty.
    #[inline]
    fn push(&mut self, index: usize) -> Option<impl Iterator<Item = usize> + use<>> {
        let Some(first) = self.first else {
            self.first = Some(index);
            return None;
        };
        let far = index - first > u64::BITS as usize;
        if !far {
            self.after |= 1 << (index - first - 1);
        }
        far.then(|| self.take().chain([index]))
    }

    /// Empties the queue, and returns its indices.
    fn take(&mut self) -> impl Iterator<Item = usize> + use<> {
        let Self { first, after } = core::mem::take(self);
        let nth = move |k: usize| (k == 0 || after >> (k - 1) & 1 == 1).then_some(k);
        let each = move |first: usize| (0..=64).filter_map(nth).map(move |k| first + k);
        first.into_iter().flat_map(each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(queue: &mut Queue) -> Vec<usize> {
        queue.take().collect()
    }

    extern crate std;
    use std::vec::Vec;

    #[test]
    fn a_queue_holds_its_first_entry_and_those_of_the_next_64() {
        let mut queue = Queue::default();
        assert_eq!(taken(&mut queue), []);
        for index in [3, 4, 10, 67] {
            assert!(queue.push(index).is_none(), "{index} is near 3");
        }
        let full: Vec<_> = queue.push(68).expect("65 after the first").collect();
        assert_eq!(full, [3, 4, 10, 67, 68]);
        assert_eq!(taken(&mut queue), []);
        assert!(queue.push(0).is_none());
        assert_eq!(taken(&mut queue), [0]);
    }
}

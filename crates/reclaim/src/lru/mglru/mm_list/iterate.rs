//! Changes of a cgroup's list of address spaces, and the iterations of its walks.

use super::{ALL, MmIteration, MmList};
use crate::engine::Engine;
use crate::guards::Write;
use crate::id::{LruvecId, LruvecNr, MAX_NUMNODES, MemcgId, MemcgNr, MmId, MmNr, NONE};
use crate::lru::mglru::batch::{MmStats, MmWalk};
use crate::lru::mglru::bloom::{BloomFilter, PmdEntry};
use crate::memory::BadId;
use crate::mm_state::MmState;
use crate::rank::Rank;
use core::iter::successors;
use core::mem;
use core::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use pageout_paging::Env;

/// The mark of an address space in which a CPU ran: it is to be given out for every node.
const ALL_NODES: u16 = u16::MAX;

const _: () = assert!(MAX_NUMNODES <= u16::BITS as usize, "a bit for each node");

/// The next action of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Walk this address space. It may end, but its entry stays until the walk asks for the next.
    Mm(MmNr),
    /// Open a new generation: this walk reached the end of the iteration.
    Open,
    /// Stop: the iteration has ended.
    Done,
}

impl<'e, E: Env> Engine<'e, E> {
    fn lock_mm_list(&self, memcg: MemcgNr) -> Write<'e, E> {
        self.lock_write(Rank::MmList, &self.maps.memcg_at(memcg).mm_list.lock)
    }

    /// Moves a process to another cgroup. Its charges stay where they are.
    ///
    /// # Errors
    /// [`BadId`] if the address space has ended, or the cgroup was removed.
    pub fn set_memcg(&mut self, id: MmId, memcg: MemcgId) -> Result<(), BadId> {
        // Under this lock the address space does not end, and is listed once.
        let (mm, _guard) = self.lock_mm(id)?;
        // Under this one the cgroup is not removed.
        let tree = self.lock_tree();
        let found = self.maps.memcg_nr(memcg);
        if let Some(memcg) = found.ok().filter(|memcg| mm.memcg() != *memcg) {
            self.lru_gen_del_mm(MmNr(id.nr));
            mm.store_memcg(memcg);
            self.lru_gen_add_mm(MmNr(id.nr));
        }
        drop(tree);
        found.map(|_| ())
    }
}

impl MmState<'_> {
    /// Notes that a CPU begins to run in an address space, so that the next walk visits it. Context
    /// switches call it (Linux 7.3.4, `lru_gen_use_mm`).
    ///
    /// # Errors
    /// [`BadId`] if the address space has ended.
    #[inline]
    pub fn lru_gen_use_mm(&self, id: MmId) -> Result<(), BadId> {
        let ran = &self.mm(id)?.walked.ran;
        // Reads first, so that a context switch does not take the line from other CPUs for nothing.
        if ran.load(Relaxed) != ALL_NODES {
            ran.store(ALL_NODES, Relaxed);
        }
        Ok(())
    }
}

impl<E: Env> Engine<'_, E> {
    /// Lists an address space in its cgroup (Linux 7.3.4, `lru_gen_add_mm`).
    pub(crate) fn lru_gen_add_mm(&mut self, id: MmNr) {
        let maps = self.maps;
        let mm = maps.mm_at(id);
        let list = &maps.memcg_at(mm.memcg()).mm_list;
        let guard = self.lock_mm_list(mm.memcg());
        debug_assert_eq!(mm.walked.memcg.load(Relaxed), MemcgNr::NONE.0, "it is on one list");
        mm.walked.memcg.store(mm.memcg().0, Relaxed);
        let last = list.last.swap(id.0, Relaxed);
        mm.walked.prev.store(last, Relaxed);
        mm.walked.next.store(NONE, Relaxed);
        maps.link_after(list, last).store(id.0, Relaxed);
        for lruvec in maps.lruvecs_of(mm.memcg()) {
            let newcomer = &lruvec.iteration.newcomer;
            let _ = newcomer.compare_exchange(NONE, id.0, Relaxed, Relaxed);
        }
        drop(guard);
    }

    /// Takes an address space off its list, if it is on one (Linux 7.3.4, `lru_gen_del_mm`).
    pub(crate) fn lru_gen_del_mm(&mut self, id: MmNr) {
        let maps = self.maps;
        let place = &maps.mm_at(id).walked;
        let memcg = MemcgNr(place.memcg.swap(MemcgNr::NONE.0, Relaxed));
        if memcg == MemcgNr::NONE {
            return;
        }
        let list = &maps.memcg_at(memcg).mm_list;
        let guard = self.lock_mm_list(memcg);
        let [prev, next] = [&place.prev, &place.next].map(|link| link.load(Relaxed));
        for MmIteration { given, newcomer, .. } in maps.lruvecs_of(memcg).map(|of| &of.iteration) {
            let _ = given.compare_exchange(id.0, prev, Relaxed, Relaxed);
            let _ = newcomer.compare_exchange(id.0, next, Relaxed, Relaxed);
        }
        maps.link_after(list, prev).store(next, Relaxed);
        match next {
            NONE => list.last.store(prev, Relaxed),
            next => maps.mm_at(MmNr(next)).walked.prev.store(prev, Relaxed),
        }
        drop(guard);
    }
}

impl MmState<'_> {
    /// Returns the link to the next entry of a list: after `NONE`, to the first.
    fn link_after<'a>(&'a self, list: &'a MmList, id: u32) -> &'a AtomicU32 {
        if id == NONE { &list.first } else { &self.mm_at(MmNr(id)).walked.next }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Returns the next address space of the iteration. The walk leaves the one it has `walked`.
    /// Walks of the same generation share the iteration (Linux 7.3.4, `iterate_mm_list`).
    pub(crate) fn iterate_mm_list(&mut self, walk: &mut MmWalk, walked: Option<MmNr>) -> Next {
        let maps = self.maps;
        let iteration = &maps.lruvec(walk.lruvec).iteration;
        let guard = self.lock_mm_list(walk.lruvec.memcg);
        debug_assert!(
            iteration.seq() + 1 >= walk.seq,
            "a generation is opened by an iteration's end"
        );
        let begins = iteration.given.load(Relaxed) == NONE;
        let next = match walk.seq <= iteration.seq() {
            true => Next::Done,
            false => maps.get_next_mm(iteration, walk),
        };
        if walked.is_some() || next == Next::Open {
            iteration.add_stats(mem::take(&mut walk.stats));
        }
        drop(guard);
        if begins && matches!(next, Next::Mm(_)) {
            self.reset_filter(walk.lruvec, walk.seq + 1);
        }
        if let Some(walked) = walked.filter(|nr| maps.mm_at(*nr).walked.leave()) {
            self.put_mm(walked);
        }
        next
    }
}

impl MmState<'_> {
    fn get_next_mm(&self, iteration: &MmIteration, walk: &mut MmWalk) -> Next {
        let list = &self.memcg_at(walk.lruvec.memcg).mm_list;
        let node = 1 << walk.lruvec.node.0;
        loop {
            let id = self.link_after(list, iteration.given.load(Relaxed)).load(Relaxed);
            iteration.given.store(id, Relaxed);
            if id == NONE {
                iteration.seq.store(iteration.seq() + 1, Relaxed);
                return Next::Open;
            }
            let mm = self.mm_at(MmNr(id));
            let newcomer = iteration.newcomer.load(Relaxed);
            if newcomer == ALL || newcomer == id {
                // Those after it joined later still, so that the mark moves to the next.
                iteration.newcomer.store(mm.walked.next.load(Relaxed), Relaxed);
                walk.force_scan = true;
            }
            let ran = mm.walked.ran.load(Relaxed) & node != 0;
            if !walk.force_scan && !ran {
                continue;
            }
            mm.walked.ran.fetch_and(!node, Relaxed);
            if !mm.is_exiting() {
                mm.walked.enter();
                return Next::Mm(MmNr(id));
            }
        }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Ends an iteration without a walk. Returns true if this call ended it (Linux 7.3.4,
    /// `iterate_mm_list_nowalk`).
    pub(crate) fn iterate_mm_list_nowalk(&mut self, lruvec: LruvecNr, seq: u64) -> bool {
        let iteration = &self.maps.lruvec(lruvec).iteration;
        let guard = self.lock_mm_list(lruvec.memcg);
        debug_assert!(iteration.seq() + 1 >= seq, "a generation is opened by an iteration's end");
        let opens = seq > iteration.seq();
        if opens {
            iteration.given.store(NONE, Relaxed);
            iteration.newcomer.store(ALL, Relaxed);
            iteration.seq.store(iteration.seq() + 1, Relaxed);
        }
        drop(guard);
        opens
    }
}

impl MmState<'_> {
    /// Returns a cgroup's address spaces in the order in which they joined. The caller keeps others
    /// from changing the list meanwhile.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed.
    pub fn lru_gen_mms(&self, memcg: MemcgId) -> Result<impl Iterator<Item = MmId>, BadId> {
        let memcg = self.memcg_nr(memcg)?;
        let named = |link: &AtomicU32| Some(link.load(Relaxed)).filter(|id| *id != NONE);
        let first = named(&self.memcg_at(memcg).mm_list.first);
        let after = move |id: &u32| named(&self.mm_at(MmNr(*id)).walked.next);
        Ok(successors(first, after).map(|nr| self.mm_id(MmNr(nr))))
    }

    /// Returns the numbers of the filters that a lruvec has.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed, or there is no such node.
    pub fn lru_gen_filters(
        &self,
        lruvec: impl Into<LruvecId>,
    ) -> Result<impl Iterator<Item = u32>, BadId> {
        let filters = &self.lruvec(self.lruvec_nr(lruvec)?).iteration.filters;
        Ok(filters.iter().map(|filter| filter.load(Relaxed)).filter(|id| *id != NONE))
    }

    /// Returns the counts of all walks of a cgroup's address spaces for a node so far.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed, or there is no such node.
    pub fn mm_stats(&self, lruvec: impl Into<LruvecId>) -> Result<MmStats, BadId> {
        Ok(self.mm_stats_at(self.lruvec_nr(lruvec)?))
    }

    /// Returns the counts of all walks like `mm_stats`, by the tables' entries.
    pub(in crate::lru) fn mm_stats_at(&self, lruvec: LruvecNr) -> MmStats {
        let stats = &self.lruvec(lruvec).iteration.stats;
        let [leaf_total, leaf_young, nonleaf_found, nonleaf_added] =
            stats.each_ref().map(|n| n.load(Relaxed));
        MmStats { leaf_total, leaf_young, nonleaf_found, nonleaf_added }
    }

    /// Returns the number of bits set, of 2^15, in the filter that the next walk of a cgroup's
    /// address spaces reads. There are two for each PTE table worth walking, unless some coincide.
    /// Returns `None` if no walk made the filter yet or there is no memory for it, so that all
    /// tables are walked.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed, or there is no such node.
    pub fn filter_population(&self, lruvec: impl Into<LruvecId>) -> Result<Option<u32>, BadId> {
        let lruvec = self.lruvec_nr(lruvec)?;
        let read = self.filter(lruvec, self.lru_gen(lruvec).max_seq());
        Ok(read.map(BloomFilter::population))
    }

    /// Returns the filter of a generation, or `None` if there is no memory for it.
    fn filter(&self, lruvec: LruvecNr, seq: u64) -> Option<&BloomFilter> {
        let id = self.lruvec(lruvec).iteration.filter(seq).load(Acquire);
        (id != NONE).then(|| &self.lru.filters[id as usize])
    }

    /// Returns true if the filter of a generation names a PTE table. Without a filter, all are
    /// named (`test_bloom_filter`).
    #[inline]
    pub(crate) fn filter_contains(&self, lruvec: LruvecNr, seq: u64, entry: PmdEntry) -> bool {
        self.filter(lruvec, seq).is_none_or(|filter| filter.contains(entry))
    }

    /// Inserts a PTE table into the filter of a generation, if it has one (`update_bloom_filter`).
    pub(crate) fn filter_insert(&self, lruvec: LruvecNr, seq: u64, entry: PmdEntry) {
        if let Some(filter) = self.filter(lruvec, seq) {
            filter.insert(entry);
        }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Empties the filter of a generation, or takes a free one if it has none
    /// (`reset_bloom_filter`).
    fn reset_filter(&mut self, lruvec: LruvecNr, seq: u64) {
        let maps = self.maps;
        if let Some(filter) = maps.filter(lruvec, seq) {
            filter.clear();
        } else if let Some(id) = self.take_filter() {
            maps.lru.filters[id as usize].clear();
            // If the first of an iteration leaves the list, another walk may begin the iteration
            // again.
            let mine = maps.lruvec(lruvec).iteration.filter(seq);
            if mine.compare_exchange(NONE, id, Release, Relaxed).is_err() {
                self.put_filter(id);
            }
        }
    }

    /// Gives back the filters of a lruvec that is removed, and which no walk visits any more.
    pub(in crate::lru) fn put_filters(&mut self, lruvec: LruvecNr) {
        for filter in &self.maps.lruvec(lruvec).iteration.filters {
            let id = filter.swap(NONE, Relaxed);
            if id != NONE {
                self.put_filter(id);
            }
        }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Takes a free Bloom filter. Its content is as the last owner left it.
    fn take_filter(&mut self) -> Option<u32> {
        let maps = self.maps;
        self.take_entry(&maps.lru.free_filters, |i| &maps.lru.filters[i as usize].next)
    }

    fn put_filter(&mut self, id: u32) {
        let maps = self.maps;
        let link = &maps.lru.filters[id as usize].next;
        self.put_entry(&maps.lru.free_filters, link, id);
    }
}

impl MmState<'_> {
    /// Returns the numbers of the filters that no cgroup has. The caller keeps others from taking
    /// them.
    pub fn lru_gen_free_filters(&self) -> impl Iterator<Item = u32> {
        let named = |link: &AtomicU32| Some(link.load(Relaxed)).filter(|id| *id != NONE);
        let after = move |id: &u32| named(&self.lru.filters[*id as usize].next);
        successors(self.lru.free_filters.first(), after)
    }
}

//! The order in which reclaim of a whole node visits cgroups: an LRU of its own, so that it
//! need not visit them all (the kernel's `lru_gen_memcg`).
//!
//! Cgroups are in three generations of eight bins each. Reclaim empties the oldest generation, bin
//! by bin from a random one on, so that concurrent reclaims meet different cgroups. Kernels have
//! two more moves: to the head of a bin for soft limits, and to the oldest generation for removed
//! cgroups. Here there are no soft limits, and a removed cgroup has nothing left.

mod visit;

use crate::id::MemcgNr;
use crate::lock::QueuedLock;
use crate::lru::Lruvec;
use core::array;
use core::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed,
};

/// The number of generations of cgroups (`MEMCG_NR_GENS`).
const MEMCG_NR_GENS: usize = 3;

/// The number of bins of each (`MEMCG_NR_BINS`).
const MEMCG_NR_BINS: usize = 8;

/// The move of a cgroup after it was reclaimed from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemcgLruOp {
    /// To the tail of a bin of its generation, once: reclaim meets it again before it goes on to
    /// the next generation (`MEMCG_LRU_TAIL`).
    Tail,
    /// To the next generation (`MEMCG_LRU_YOUNG`).
    Young,
}

/// A bin of a generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bin {
    generation: usize,
    bin: usize,
}

/// The place of a cgroup on a node.
#[derive(Debug, Default)]
pub(crate) struct MemcgLruLink {
    generation: AtomicU8,
    bin: AtomicU8,
    /// True if the cgroup's last move was to a tail.
    at_tail: AtomicBool,
    prev: AtomicU16,
    next: AtomicU16,
}

impl MemcgLruLink {
    fn place(&self) -> Bin {
        let [generation, bin] = [&self.generation, &self.bin].map(|n| usize::from(n.load(Relaxed)));
        Bin { generation, bin }
    }

    /// Returns true if the last move was to a tail.
    pub(crate) fn at_tail(&self) -> bool {
        self.at_tail.load(Relaxed)
    }
}

/// The ends of a bin.
#[derive(Debug)]
struct BinEnds {
    head: AtomicU16,
    tail: AtomicU16,
}

impl Default for BinEnds {
    fn default() -> Self {
        let none = || AtomicU16::new(MemcgNr::NONE.0);
        Self { head: none(), tail: none() }
    }
}

/// All cgroups, in the order of reclaim. Everything in it changes under its lock.
#[derive(Debug, Default)]
pub(crate) struct MemcgLru {
    lock: QueuedLock,
    /// The number of the oldest generation. It grows when that generation is empty.
    seq: AtomicU64,
    nr_memcgs: [AtomicU32; MEMCG_NR_GENS],
    bins: [[BinEnds; MEMCG_NR_BINS]; MEMCG_NR_GENS],
    /// The state of the pseudo-random numbers that choose bins. They are the same in every run.
    random: AtomicU64,
}

/// The next cgroup of a bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextMemcg {
    /// The next cgroup.
    Is(MemcgNr),
    /// There is none: the bin ends.
    End,
    /// The cgroup to go on from was moved: begin the bin again.
    Moved,
}

fn generation_of(seq: u64) -> usize {
    (seq % MEMCG_NR_GENS as u64) as usize
}

impl MemcgLru {
    /// Returns a random bin (splitmix64).
    fn random_bin(&self) -> usize {
        let state = self.random.load(Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.store(state, Relaxed);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> (u64::BITS - MEMCG_NR_BINS.ilog2())) as usize
    }

    fn ends(&self, at: Bin) -> &BinEnds {
        &self.bins[at.generation][at.bin]
    }

    /// Adds a cgroup at the tail of a bin.
    fn push(&self, lists: &[Lruvec], id: MemcgNr, at: Bin) {
        let (ends, link) = (self.ends(at), &lists[usize::from(id.0)].lru_link);
        let prev = ends.tail.load(Relaxed);
        link.prev.store(prev, Relaxed);
        link.next.store(MemcgNr::NONE.0, Relaxed);
        ends.tail.store(id.0, Relaxed);
        let forth = match MemcgNr(prev) {
            MemcgNr::NONE => &ends.head,
            prev => &lists[usize::from(prev.0)].lru_link.next,
        };
        forth.store(id.0, Relaxed);
        link.generation.store(at.generation as u8, Relaxed);
        link.bin.store(at.bin as u8, Relaxed);
        self.nr_memcgs[at.generation].fetch_add(1, Relaxed);
    }

    /// Removes a cgroup from its bin.
    fn remove(&self, lists: &[Lruvec], id: MemcgNr) {
        let link = &lists[usize::from(id.0)].lru_link;
        let at = link.place();
        let [prev, next] = [&link.prev, &link.next].map(|link| MemcgNr(link.load(Relaxed)));
        let ends = self.ends(at);
        let forth = match prev {
            MemcgNr::NONE => &ends.head,
            prev => &lists[usize::from(prev.0)].lru_link.next,
        };
        let back = match next {
            MemcgNr::NONE => &ends.tail,
            next => &lists[usize::from(next.0)].lru_link.prev,
        };
        forth.store(next.0, Relaxed);
        back.store(prev.0, Relaxed);
        self.nr_memcgs[at.generation].fetch_sub(1, Relaxed);
    }

    /// Adds a cgroup to the oldest generation.
    pub(in crate::lru) fn add(&self, lists: &[Lruvec], id: MemcgNr) {
        lists[usize::from(id.0)].lru_link.at_tail.store(false, Relaxed);
        let generation = generation_of(self.seq.load(Relaxed));
        self.push(lists, id, Bin { generation, bin: self.random_bin() });
    }

    fn rotate(&self, lists: &[Lruvec], id: MemcgNr, op: MemcgLruOp) {
        let link = &lists[usize::from(id.0)].lru_link;
        let left = link.place().generation;
        let generation = match op {
            MemcgLruOp::Tail => left,
            MemcgLruOp::Young => generation_of(self.seq.load(Relaxed) + 1),
        };
        link.at_tail.store(op == MemcgLruOp::Tail, Relaxed);
        self.remove(lists, id);
        self.push(lists, id, Bin { generation, bin: self.random_bin() });
        self.grow_older(left);
    }

    /// Goes on to the next generation if a cgroup just left the oldest, and it is empty.
    fn grow_older(&self, left: usize) {
        let seq = self.seq.load(Relaxed);
        if left == generation_of(seq) && self.nr_memcgs[left].load(Relaxed) == 0 {
            self.seq.store(seq + 1, Relaxed);
        }
    }

    fn oldest_bins(&self) -> [Bin; MEMCG_NR_BINS] {
        let generation = generation_of(self.seq.load(Relaxed));
        let first = self.random_bin();
        array::from_fn(|i| Bin { generation, bin: (first + i) % MEMCG_NR_BINS })
    }

    fn next(&self, lists: &[Lruvec], bin: Bin, at: Option<MemcgNr>) -> NextMemcg {
        let next = match at.map(|id| &lists[usize::from(id.0)].lru_link) {
            None => &self.ends(bin).head,
            Some(link) if link.place() == bin => &link.next,
            Some(_) => return NextMemcg::Moved,
        };
        match MemcgNr(next.load(Relaxed)) {
            MemcgNr::NONE => NextMemcg::End,
            id => NextMemcg::Is(id),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    fn ids(nr: u16) -> impl Iterator<Item = MemcgNr> {
        (0..nr).map(MemcgNr)
    }

    fn filled(nr: u16) -> (MemcgLru, Vec<Lruvec>) {
        let lru = MemcgLru::default();
        let lists: Vec<Lruvec> = ids(nr).map(|_| Lruvec::default()).collect();
        ids(nr).for_each(|id| lru.add(&lists, id));
        (lru, lists)
    }

    fn bin(lru: &MemcgLru, lists: &[Lruvec], bin: Bin) -> Vec<MemcgNr> {
        let mut found = Vec::new();
        while let NextMemcg::Is(id) = lru.next(lists, bin, found.last().copied()) {
            found.push(id);
        }
        found
    }

    fn oldest(lru: &MemcgLru, lists: &[Lruvec]) -> Vec<MemcgNr> {
        let bins = lru.oldest_bins();
        let mut found: Vec<_> = bins.into_iter().flat_map(|at| bin(lru, lists, at)).collect();
        found.sort();
        found
    }

    #[test]
    fn every_cgroup_is_in_one_bin_of_the_oldest_generation_at_first() {
        let (lru, lists) = filled(100);
        assert_eq!(oldest(&lru, &lists), ids(100).collect::<Vec<_>>());
        let bins = lru.oldest_bins();
        assert!(bins.iter().all(|at| !bin(&lru, &lists, *at).is_empty()), "spread over all bins");
        let again = filled(100);
        let same = bins.iter().all(|at| bin(&lru, &lists, *at) == bin(&again.0, &again.1, *at));
        assert!(same, "the same in every run");
    }

    #[test]
    fn the_next_generation_is_the_oldest_once_this_one_is_empty() {
        let (lru, lists) = filled(10);
        for id in ids(10) {
            assert_eq!(lru.seq.load(Relaxed), 0);
            let left: Vec<_> = ids(10).skip(usize::from(id.0)).collect();
            assert_eq!(oldest(&lru, &lists), left, "and those moved are not met");
            lru.rotate(&lists, id, MemcgLruOp::Young);
        }
        assert_eq!(lru.seq.load(Relaxed), 1);
        assert_eq!(oldest(&lru, &lists), ids(10).collect::<Vec<_>>());
        for round in 1..9 {
            assert_eq!(lru.seq.load(Relaxed), round, "generations go round");
            ids(10).for_each(|id| lru.rotate(&lists, id, MemcgLruOp::Young));
        }
    }

    #[test]
    fn a_new_cgroup_joins_the_oldest_and_a_removed_one_leaves_its_generation() {
        let (lru, lists) = filled(3);
        lru.rotate(&lists, MemcgNr(0), MemcgLruOp::Young);
        lru.remove(&lists, MemcgNr(1));
        lru.grow_older(0);
        assert_eq!(oldest(&lru, &lists), [MemcgNr(2)]);
        lru.add(&lists, MemcgNr(1));
        assert_eq!(oldest(&lru, &lists), [MemcgNr(1), MemcgNr(2)]);
        for (id, seq) in [(1, 0), (2, 1)] {
            lru.remove(&lists, MemcgNr(id));
            lru.grow_older(0);
            assert_eq!(lru.seq.load(Relaxed), seq, "after cgroup {id}");
        }
        assert_eq!(oldest(&lru, &lists), [MemcgNr(0)]);
    }

    #[test]
    fn a_cgroup_at_a_tail_is_known_and_comes_after_its_bin() {
        let (lru, lists) = filled(64);
        let link = |id: MemcgNr| &lists[usize::from(id.0)].lru_link;
        for id in ids(64) {
            assert!(!link(id).at_tail());
            lru.rotate(&lists, id, MemcgLruOp::Tail);
            assert!(link(id).at_tail());
            assert_eq!(bin(&lru, &lists, link(id).place()).last(), Some(&id));
        }
        assert_eq!(oldest(&lru, &lists).len(), 64, "all in the same generation still");
        lru.rotate(&lists, MemcgNr(5), MemcgLruOp::Young);
        assert!(!link(MemcgNr(5)).at_tail());
    }

    #[test]
    fn a_walk_whose_cgroup_was_moved_is_told_so() {
        let (lru, lists) = filled(1);
        let at = lists[0].lru_link.place();
        assert_eq!(lru.next(&lists, at, None), NextMemcg::Is(MemcgNr(0)));
        assert_eq!(lru.next(&lists, at, Some(MemcgNr(0))), NextMemcg::End);
        lru.rotate(&lists, MemcgNr(0), MemcgLruOp::Young);
        assert_eq!(lru.next(&lists, at, Some(MemcgNr(0))), NextMemcg::Moved);
        assert_eq!(lru.next(&lists, at, None), NextMemcg::End);
    }
}

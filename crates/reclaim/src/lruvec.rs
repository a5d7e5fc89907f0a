//! The LRU lists of one cgroup on one node, and the numbers reclaim balances them by.

use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags, FolioId, LruFlags};
use crate::list::Ends;
use crate::lock::{Lock, WriteGuard};
use crate::maps::Maps;
use crate::memcg::MemcgId;
use crate::mglru::generation::{End, kind_of};
use crate::mglru::{LruGen, MAX_NR_ZONES, gen_from_seq};
use crate::rank::{Rank, Ranked};
use crate::scan::ANON;
use core::ops::RangeToInclusive;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use pageout_paging::{Env, Rules};

/// The classic lists, in the kernel's order (`enum lru_list`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LruList {
    /// Inactive anonymous folios.
    InactiveAnon,
    /// Active anonymous folios.
    ActiveAnon,
    /// Inactive folios of files.
    InactiveFile,
    /// Active folios of files.
    ActiveFile,
    /// Folios that cannot be reclaimed: mlocked.
    Unevictable,
}

impl LruList {
    /// Every list.
    pub const ALL: [Self; 5] = [
        Self::InactiveAnon,
        Self::ActiveAnon,
        Self::InactiveFile,
        Self::ActiveFile,
        Self::Unevictable,
    ];
    /// Those that reclaim takes from, in the order it does.
    pub const EVICTABLE: [Self; 4] =
        [Self::InactiveAnon, Self::ActiveAnon, Self::InactiveFile, Self::ActiveFile];

    /// Whether swap has no part in it: folios of files, and anonymous ones given up lazily.
    pub const fn is_file(self) -> bool {
        matches!(self, Self::InactiveFile | Self::ActiveFile)
    }

    /// Whether it is an active list.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::ActiveAnon | Self::ActiveFile)
    }

    /// The list a folio belongs on, as it stands now.
    #[inline]
    pub fn of(folio: &Folio) -> Self {
        let lru = folio.lru();
        if lru.contains(LruFlags::UNEVICTABLE) {
            return Self::Unevictable;
        }
        Self::of_kind(kind_of(folio), lru.contains(LruFlags::ACTIVE))
    }

    /// The list of a type.
    pub(crate) const fn of_kind(kind: usize, active: bool) -> Self {
        match (kind, active) {
            (ANON, false) => Self::InactiveAnon,
            (ANON, true) => Self::ActiveAnon,
            (_, false) => Self::InactiveFile,
            (_, true) => Self::ActiveFile,
        }
    }
}

/// What reclaiming one type cost lately, and the counters it comes of when reclaim last looked, in
/// pages (`struct lru_cost`). It changes under the lruvec's lock alone.
#[derive(Debug, Default)]
pub(crate) struct LruCost {
    /// A moving sum: transfers, 32 times each, and pages looked at in vain.
    pub(crate) count: AtomicU64,
    pub(crate) last_rotated: AtomicU64,
    pub(crate) last_io: AtomicU64,
}

/// Pages of each zone; fewer are negative.
pub(crate) type Zones = [i64; MAX_NR_ZONES];

/// All list state of a cgroup on a node. Lists change under `lock` alone, and so do its own sizes;
/// sums over the subtree change with any of its lists.
#[derive(Debug, Default)]
pub(crate) struct Lruvec {
    pub(crate) lock: Lock,
    pub(crate) lists: [Ends; 5],
    /// Pages on each list, by zone.
    nr_pages: [[AtomicU64; MAX_NR_ZONES]; 5],
    /// Pages on each list of this cgroup and all below.
    subtree: [AtomicU64; 5],
    /// What reclaiming each type of the subtree cost lately.
    pub(crate) cost: [LruCost; 2],
    /// Pages evicted or activated so far in the subtree: the clock that shadows read.
    pub(crate) nonresident_age: AtomicU64,
    /// `workingset_activate` of each type when reclaim last looked.
    pub(crate) refaults: [AtomicU64; 2],
    /// The generations, while they are in use.
    pub(crate) generations: LruGen,
}

impl Lruvec {
    /// Empty lists; its generations are born `now` and in use if `lru_gen` says so.
    pub(crate) fn init(&self, lru_gen: bool, now: u64) {
        self.generations.init(lru_gen, now);
        self.lists.iter().for_each(Ends::clear);
        let sizes = self.nr_pages.as_flattened().iter().chain(&self.subtree).chain(&self.refaults);
        let costs = self.cost.iter().flat_map(|of| [&of.count, &of.last_rotated, &of.last_io]);
        sizes.chain(costs).for_each(|n| n.store(0, Relaxed));
        // Shadows of the entry's last owner may still be about; a clock that goes on makes them
        // look old rather than from the future.
    }

    /// Pages of such zones on a list of this cgroup itself.
    pub(crate) fn size(&self, list: LruList, zones: RangeToInclusive<usize>) -> u64 {
        let zones = &self.nr_pages[list as usize][zones];
        at_least_none(zones.iter().map(|n| n.load(Relaxed)).fold(0, u64::wrapping_add))
    }

    /// Pages on the lists of one kind of this cgroup and all below.
    #[inline]
    pub(crate) fn subtree_size(&self, list: LruList) -> u64 {
        at_least_none(self.subtree[list as usize].load(Relaxed))
    }
}

/// A size; 0 where changes that a page-table walk has not handed in leave it negative.
#[inline]
fn at_least_none(size: u64) -> u64 {
    (size as i64).max(0) as u64
}

/// A lruvec's lock, held, and whose it is.
#[derive(Debug)]
pub(crate) struct LruGuard<'a> {
    pub(crate) memcg: MemcgId,
    /// What can be evicted joins a generation, rather than a classic list.
    pub(crate) generations: bool,
    _lock: Ranked<'a, WriteGuard<'a>>,
}

impl Maps<'_> {
    /// Pages on a list of a cgroup and of all below it.
    pub fn lru_size(&self, memcg: MemcgId, list: LruList) -> u64 {
        self.memcg(memcg).lruvec.subtree_size(list)
    }

    /// Pages on a list of a cgroup itself.
    #[inline]
    pub fn lru_size_own(&self, memcg: MemcgId, list: LruList) -> u64 {
        self.memcg(memcg).lruvec.size(list, ..=MAX_NR_ZONES - 1)
    }

    /// The folios on a list of a cgroup itself, head first: for whoever keeps others from changing
    /// it meanwhile.
    pub fn lru_folios(&self, memcg: MemcgId, list: LruList) -> impl Iterator<Item = FolioId> {
        self.memcg(memcg).lruvec.lists[list as usize].iter(self)
    }
}

impl<'e, E: Env> Engine<'e, E> {
    /// Locks the lists of one cgroup.
    pub(crate) fn lock_lruvec(&self, memcg: MemcgId) -> LruGuard<'e> {
        let maps = self.maps;
        let lock = self.lock_write(Rank::Lru, &maps.memcg(memcg).lruvec.lock);
        let in_use = maps.lru_gen(memcg).enabled.load(Relaxed);
        let generations = E::Rules::joins_generation(in_use, maps.lru_gen_switching());
        LruGuard { memcg, generations, _lock: lock }
    }

    /// Locks the lists the folio is on or would be put on. While the lock is held it stays charged
    /// to the same cgroup.
    pub(crate) fn lock_lruvec_of(&self, folio: &Folio) -> LruGuard<'e> {
        loop {
            let guard = self.lock_lruvec(folio.memcg());
            if folio.memcg() == guard.memcg {
                return guard;
            }
            drop(guard);
        }
    }
}

impl Maps<'_> {
    /// Puts a folio that is on no list at the head of the one its flags say.
    #[inline]
    pub(crate) fn lru_link(&self, guard: &LruGuard<'_>, id: FolioId) {
        let list = self.lru_place(guard, id);
        self.resize(guard, list, &self.in_zones(self.folio(id)));
    }

    /// The same, but leaves the list's sizes to the caller.
    #[inline]
    pub(crate) fn lru_place(&self, guard: &LruGuard<'_>, id: FolioId) -> LruList {
        let folio = self.folio(id);
        self.settle(folio);
        let list = self.lru_gen_add(guard, id, false);
        list.unwrap_or_else(|| self.lru_place_classic(guard, id))
    }

    #[inline]
    fn lru_place_classic(&self, guard: &LruGuard<'_>, id: FolioId) -> LruList {
        let list = LruList::of(self.folio(id));
        self.memcg(guard.memcg).lruvec.lists[list as usize].push_head(self, id);
        list
    }

    /// The same for a folio of a generation, which joins the one `age` generations before the
    /// youngest, or the oldest there is, as its coldest.
    #[inline]
    pub(crate) fn lru_place_aged(&self, guard: &LruGuard<'_>, id: FolioId, age: u64) -> LruList {
        let folio = self.folio(id);
        self.settle(folio);
        if folio.lru().contains(LruFlags::UNEVICTABLE) {
            return self.lru_place_classic(guard, id);
        }
        let lrugen = self.lru_gen(guard.memcg);
        let seq = (lrugen.max_seq() - age).max(lrugen.min_seq(kind_of(folio)));
        self.lru_gen_join(guard, id, gen_from_seq(seq), End::Tail)
    }

    /// Puts a folio that is on no list at the tail, where reclaim takes it next.
    #[inline]
    pub(crate) fn lru_link_tail(&self, guard: &LruGuard<'_>, id: FolioId) {
        let folio = self.folio(id);
        self.settle(folio);
        let list = self.lru_gen_add(guard, id, true).unwrap_or_else(|| {
            let list = LruList::of(folio);
            self.memcg(guard.memcg).lruvec.lists[list as usize].push_tail(self, id);
            list
        });
        self.resize(guard, list, &self.in_zones(folio));
    }

    /// Marks the folio as being on a list, the unevictable one if it is mlocked.
    #[inline]
    fn settle(&self, folio: &Folio) {
        debug_assert!(!folio.lru().contains(LruFlags::LRU), "a folio is on one list");
        if folio.flags().contains(FolioFlags::MLOCKED) {
            folio.update_lru(LruFlags::LRU | LruFlags::UNEVICTABLE, LruFlags::ACTIVE);
        } else {
            folio.update_lru(LruFlags::LRU, LruFlags::UNEVICTABLE);
        }
    }

    /// Takes a folio off the list it is on.
    #[inline]
    pub(crate) fn lru_unlink(&self, guard: &LruGuard<'_>, id: FolioId) {
        let list = self.lru_displace(guard, id);
        self.resize(guard, list, &self.in_zones(self.folio(id)).map(|nr| -nr));
    }

    /// The same, but leaves the list's sizes to the caller.
    #[inline]
    pub(crate) fn lru_displace(&self, guard: &LruGuard<'_>, id: FolioId) -> LruList {
        let folio = self.folio(id);
        debug_assert!(folio.lru().contains(LruFlags::LRU), "a folio to take off is on a list");
        let list = self.lru_gen_del(guard, id).unwrap_or_else(|| {
            let list = LruList::of(folio);
            self.memcg(guard.memcg).lruvec.lists[list as usize].remove(self, id);
            list
        });
        folio.update_lru(LruFlags::empty(), LruFlags::LRU);
        list
    }

    /// The pages of a folio, in its zone.
    #[inline]
    pub(crate) fn in_zones(&self, folio: &Folio) -> Zones {
        let mut zones = Zones::default();
        zones[self.zone_of(folio)] = folio.nr_pages() as i64;
        zones
    }

    /// Adds pages to the sizes of each list that changes.
    #[inline]
    pub(crate) fn resize_all(&self, guard: &LruGuard<'_>, lists: &[Zones; 5]) {
        for (list, by) in LruList::ALL.into_iter().zip(lists) {
            if *by != Zones::default() {
                self.resize(guard, list, by);
            }
        }
    }

    /// Adds pages to a list's sizes; what is negative wraps around.
    #[inline]
    pub(crate) fn resize(&self, guard: &LruGuard<'_>, list: LruList, by: &Zones) {
        #[cfg(test)]
        self.lru_gen(guard.memcg).size_updates.fetch_add(1, Relaxed);
        let own = &self.memcg(guard.memcg).lruvec.nr_pages[list as usize];
        for (own, by) in own.iter().zip(by) {
            own.store(own.load(Relaxed).wrapping_add_signed(*by), Relaxed);
        }
        let all: i64 = by.iter().sum();
        for memcg in self.ancestors(guard.memcg) {
            memcg.lruvec.subtree[list as usize].fetch_add(all as u64, Relaxed);
        }
    }
}

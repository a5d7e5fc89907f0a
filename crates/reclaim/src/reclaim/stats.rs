//! The counters that user space sees, by `memory.stat`, `memory.events` and `/proc/vmstat`.

use crate::engine::Engine;
use crate::id::{LruvecNr, MemcgId, MemcgNr};
use crate::lru::{LruList, Lruvec};
use crate::memory::BadId;
use crate::mm_state::MmState;
use crate::vmstat::Counter;
use crate::world::World;
use core::array;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use pageout_paging::{Env, Format};
use pageout_uapi::Stat;

impl LruList {
    /// Returns the kernel's name in `memory.stat`.
    pub fn name(self) -> &'static str {
        self.vmstat_name().trim_start_matches("nr_")
    }

    /// Returns the kernel's name in `/proc/vmstat`.
    const fn vmstat_name(self) -> &'static str {
        match self {
            Self::InactiveAnon => "nr_inactive_anon",
            Self::ActiveAnon => "nr_active_anon",
            Self::InactiveFile => "nr_inactive_file",
            Self::ActiveFile => "nr_active_file",
            Self::Unevictable => "nr_unevictable",
        }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Returns a counter of a cgroup and all below it.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed.
    pub fn counter(&mut self, memcg: MemcgId, counter: Counter) -> Result<u64, BadId> {
        let tree = self.lock_tree();
        let sum = self.maps.memcg_nr(memcg).map(|nr| self.maps.sum(nr, counter));
        drop(tree);
        sum
    }
}

impl MmState<'_> {
    /// Sums a counter over a subtree. Concurrent changes may be seen in part: a sum below 0 is
    /// returned as 0. The caller holds the tree's lock.
    #[inline]
    pub(super) fn sum(&self, top: MemcgNr, counter: Counter) -> u64 {
        let each = self.subtree(top).map(|id| self.memcg_at(id).vmstat.get(counter));
        let sum = each.fold(0, u64::wrapping_add);
        if (sum as i64) < 0 { 0 } else { sum }
    }

    /// Sums the events of a type over the lists of a subtree on one node. The caller holds the
    /// tree's lock.
    pub(super) fn sum_on_node(&self, top: LruvecNr, of: impl Fn(&Lruvec) -> &AtomicU64) -> u64 {
        let lruvecs = self.subtree(top.memcg).map(|memcg| LruvecNr { memcg, ..top });
        lruvecs.map(|id| of(self.lruvec(id)).load(Relaxed)).sum()
    }
}

impl<E: Env> Engine<'_, E> {
    /// Returns a cgroup's `memory.stat`: those of the kernel's lines that exist here, in its order
    /// (Linux 7.3.4, `memory_stat_format`). Amounts are in bytes, events in pages.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed.
    pub fn memory_stat(&mut self, memcg: MemcgId) -> Result<Stat<MEMORY_STAT>, BadId> {
        let tree = self.lock_tree();
        let stat = self.maps.memcg_nr(memcg).map(|nr| self.maps.memory_stat_at::<E>(nr));
        drop(tree);
        stat
    }

    /// Returns a cgroup's `memory.events`: numbers of calls, of it and all below (Linux 7.3.4,
    /// `__memory_events_show`).
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed.
    pub fn memory_events(&mut self, memcg: MemcgId) -> Result<Stat<{ EVENTS.len() }>, BadId> {
        let tree = self.lock_tree();
        let count = |nr, event: Counter| (event.name(), self.maps.sum(nr, event));
        let found = self.maps.memcg_nr(memcg).map(|nr| Stat(EVENTS.map(|event| count(nr, event))));
        drop(tree);
        found
    }
}

impl MmState<'_> {
    /// Makes a cgroup's `memory.stat`. The caller holds the tree's lock.
    fn memory_stat_at<E: Env>(&self, nr: MemcgNr) -> Stat<MEMORY_STAT> {
        let (maps, shift) = (self, E::Format::PAGE_SHIFT);
        let count = |counter| maps.sum(nr, counter);
        let states = STATES.map(|(name, counter)| (name, count(counter) << shift));
        let lists = LruList::ALL.map(|list| (list.name(), maps.lru_size_at(nr, list) << shift));
        let totals = [("pgscan", PGSCAN), ("pgsteal", PGSTEAL)];
        let totals = totals.map(|(name, agents)| (name, agents.map(count).iter().sum()));
        let events = |counter: Counter| (counter.name(), count(counter));
        let lines = states.into_iter().chain(lists).chain(BEFORE_TOTALS.map(events));
        stat(lines.chain(totals).chain(AFTER_TOTALS.map(events)))
    }
}

impl<W: World> Engine<'_, W> {
    /// Returns those lines of the machine's `/proc/vmstat` that exist here, in the kernel's order
    /// (Linux 7.3.4, `vmstat_text`). All are in pages.
    pub fn vmstat(&mut self) -> Stat<VMSTAT> {
        let free = [("nr_free_pages", self.world.free_pages() as u64)];
        let maps = self.maps;
        let lists =
            LruList::ALL.map(|list| (list.vmstat_name(), maps.lru_size_at(MemcgNr::ROOT, list)));
        let counters = Counter::ALL.into_iter().filter(|counter| !EVENTS.contains(counter));
        let tree = self.lock_tree();
        let counters = counters.map(|of| (of.name(), maps.sum(MemcgNr::ROOT, of)));
        let stat = stat(free.into_iter().chain(lists).chain(counters));
        drop(tree);
        stat
    }
}

/// Makes a reading of exactly as many lines.
fn stat<const N: usize>(lines: impl IntoIterator<Item = (&'static str, u64)>) -> Stat<N> {
    let mut lines = lines.into_iter();
    let stat = Stat(array::from_fn(|_| lines.next().expect("the number of lines is known")));
    assert!(lines.next().is_none(), "the number of lines is known");
    stat
}

/// The number of lines of `memory.stat`: states, lists, two totals and events.
const MEMORY_STAT: usize =
    STATES.len() + LruList::ALL.len() + BEFORE_TOTALS.len() + 2 + AFTER_TOTALS.len();

/// The number of lines of `/proc/vmstat`: free pages, lists and counters.
const VMSTAT: usize = 1 + LruList::ALL.len() + Counter::ALL.len() - EVENTS.len();

const STATES: [(&str, Counter); 3] =
    [("anon", Counter::NrAnonPages), ("file", Counter::NrFilePages), ("shmem", Counter::NrShmem)];

const PGSTEAL: [Counter; 3] =
    [Counter::PgstealKswapd, Counter::PgstealDirect, Counter::PgstealProactive];

const PGSCAN: [Counter; 3] =
    [Counter::PgscanKswapd, Counter::PgscanDirect, Counter::PgscanProactive];

const EVENTS: [Counter; 3] = [Counter::EventLow, Counter::EventMax, Counter::EventOom];

const BEFORE_TOTALS: [Counter; 13] = [
    Counter::WorkingsetRefaultAnon,
    Counter::WorkingsetRefaultFile,
    Counter::WorkingsetActivateAnon,
    Counter::WorkingsetActivateFile,
    Counter::WorkingsetRestoreAnon,
    Counter::WorkingsetRestoreFile,
    Counter::PgstealKswapd,
    Counter::PgstealDirect,
    Counter::PgstealProactive,
    Counter::PgscanKswapd,
    Counter::PgscanDirect,
    Counter::PgscanProactive,
    Counter::Pgrefill,
];

const AFTER_TOTALS: [Counter; 8] = [
    Counter::Pswpin,
    Counter::Pswpout,
    Counter::Pgfault,
    Counter::Pgmajfault,
    Counter::Pgactivate,
    Counter::Pgdeactivate,
    Counter::Pglazyfree,
    Counter::Pglazyfreed,
];

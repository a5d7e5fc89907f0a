//! The counters as text: `memory.stat`, `memory.events` and `/proc/vmstat`.

use crate::engine::Engine;
use crate::id::MemcgId;
use crate::lru_list::LruList;
use crate::mm_state::MmState;
use crate::vmstat::Counter;
use crate::world::World;
use core::fmt;
use pageout_paging::{Env, Format};

impl LruList {
    /// Returns the kernel's name in `memory.stat`, and after `nr_` in `/proc/vmstat`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InactiveAnon => "inactive_anon",
            Self::ActiveAnon => "active_anon",
            Self::InactiveFile => "inactive_file",
            Self::ActiveFile => "active_file",
            Self::Unevictable => "unevictable",
        }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Returns a counter of a cgroup and all below it.
    pub fn counter(&mut self, memcg: MemcgId, counter: Counter) -> u64 {
        let tree = self.lock_tree();
        let sum = self.maps.sum(memcg, counter);
        drop(tree);
        sum
    }
}

impl MmState<'_> {
    /// Sums a counter over a subtree. Concurrent changes may be seen in part: a sum below 0 is
    /// returned as 0. The caller holds the tree's lock.
    #[inline]
    pub(crate) fn sum(&self, top: MemcgId, counter: Counter) -> u64 {
        let each = self.subtree(top).map(|id| self.memcg(id).vmstat.get(counter));
        let sum = each.fold(0, u64::wrapping_add);
        if (sum as i64) < 0 { 0 } else { sum }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Writes a cgroup's `memory.stat`: those of the kernel's lines that exist here, in its order
    /// (Linux 7.3.4, `memory_stat_format`). Amounts are in bytes, events in pages.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn memory_stat(&mut self, memcg: MemcgId, out: &mut impl fmt::Write) -> fmt::Result {
        let tree = self.lock_tree();
        let done = self.maps.write_memory_stat(memcg, E::Format::PAGE_SHIFT, out);
        drop(tree);
        done
    }
}

impl MmState<'_> {
    fn write_memory_stat(
        &self,
        memcg: MemcgId,
        page_shift: u32,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        for (name, counter) in STATES {
            writeln!(out, "{name} {}", self.sum(memcg, counter) << page_shift)?;
        }
        for list in LruList::ALL {
            writeln!(out, "{} {}", list.name(), self.lru_size(memcg, list) << page_shift)?;
        }
        for counter in BEFORE_TOTALS {
            writeln!(out, "{} {}", counter.name(), self.sum(memcg, counter))?;
        }
        for (name, agents) in [("pgscan", PGSCAN), ("pgsteal", PGSTEAL)] {
            let total: u64 = agents.iter().map(|agent| self.sum(memcg, *agent)).sum();
            writeln!(out, "{name} {total}")?;
        }
        for counter in AFTER_TOTALS {
            writeln!(out, "{} {}", counter.name(), self.sum(memcg, counter))?;
        }
        Ok(())
    }
}

impl<E: Env> Engine<'_, E> {
    /// Writes a cgroup's `memory.events`: numbers of calls, of it and all below (Linux 7.3.4,
    /// `__memory_events_show`).
    ///
    /// # Errors
    /// Those of `out`.
    pub fn memory_events(&mut self, memcg: MemcgId, out: &mut impl fmt::Write) -> fmt::Result {
        for event in EVENTS {
            writeln!(out, "{} {}", event.name(), self.counter(memcg, event))?;
        }
        Ok(())
    }
}

impl<W: World> Engine<'_, W> {
    /// Writes those lines of the machine's `/proc/vmstat` that exist here, in the kernel's order
    /// (Linux 7.3.4, `vmstat_text`). All are in pages.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn vmstat(&mut self, out: &mut impl fmt::Write) -> fmt::Result {
        writeln!(out, "nr_free_pages {}", self.world.free_pages())?;
        for list in LruList::ALL {
            writeln!(out, "nr_{} {}", list.name(), self.maps.lru_size(MemcgId::ROOT, list))?;
        }
        for counter in Counter::ALL.into_iter().filter(|counter| !EVENTS.contains(counter)) {
            let sum = self.counter(MemcgId::ROOT, counter);
            writeln!(out, "{} {sum}", counter.name())?;
        }
        Ok(())
    }
}

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

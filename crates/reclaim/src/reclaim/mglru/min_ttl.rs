//! Protection of memory that was used within the last milliseconds, even if the machine then runs
//! out of memory (`/sys/kernel/mm/lru_gen/min_ttl_ms`).

use crate::cgroup::Protected;
use crate::engine::Engine;
use crate::id::MemcgNr;
use crate::lru::mglru::gen_from_seq;
use crate::mm_state::MmState;
use crate::reclaim::scan::ScanControl;
use crate::world::World;
use core::sync::atomic::Ordering::Relaxed;

impl MmState<'_> {
    /// Returns the time in milliseconds for which memory in use is kept; 0 is off.
    pub fn min_ttl_ms(&self) -> u64 {
        self.lru.lru_gen.min_ttl_ms.load(Relaxed)
    }

    /// Sets the time in milliseconds for which memory in use is kept. Background reclaim that finds
    /// no older memory counts [`Events::out_of_memory`](crate::Events::out_of_memory): the caller
    /// should end a process.
    pub fn set_min_ttl_ms(&self, ms: u64) {
        self.lru.lru_gen.min_ttl_ms.store(ms, Relaxed);
    }
}

impl<W: World> Engine<'_, W> {
    /// Counts an out-of-memory event if no cgroup has reclaimable memory that is old enough.
    /// Background reclaim calls this before it starts (`lru_gen_age_node`).
    pub(in crate::reclaim) fn lru_gen_age_node(&mut self, sc: &mut ScanControl) {
        let maps = self.maps;
        maps.set_initial_priority(sc);
        let ttl = maps.min_ttl_ms();
        if ttl == 0 {
            return;
        }
        let tree = self.lock_tree();
        let now = self.world.now_ms();
        let reclaimable = maps.subtree(MemcgNr::ROOT).fold(false, |found, id| {
            maps.calculate_protection(MemcgNr::ROOT, id);
            found || maps.is_reclaimable(id, sc, now, ttl)
        });
        drop(tree);
        if !reclaimable {
            self.cpu.events.out_of_memory += 1;
        }
    }
}

impl MmState<'_> {
    /// Returns true if a cgroup has reclaimable memory, and its oldest generation was opened more
    /// than `ttl` milliseconds ago (`lruvec_is_reclaimable`).
    fn is_reclaimable(&self, id: MemcgNr, sc: &ScanControl, now: u64, ttl: u64) -> bool {
        if self.protected(MemcgNr::ROOT, id) == Protected::BelowMin || !self.is_sizable(id, sc) {
            return false;
        }
        let lruvec = sc.lruvec(id);
        let oldest = self.evictable_min_seq(lruvec, self.get_swappiness(id, sc));
        let born = self.lru_gen(lruvec).timestamps[gen_from_seq(oldest)].load(Relaxed);
        born.saturating_add(ttl) < now
    }
}

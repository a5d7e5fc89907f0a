//! The switches of the multi-generational LRU (`/sys/kernel/mm/lru_gen/`).

use super::MAX_LRU_BATCH;
use super::caps::LruGenCaps;
use crate::engine::Engine;
use crate::id::{LruvecNr, MemcgNr};
use crate::lru::lru_list::LruList;
use crate::lru::lruvec::place::LruGuard;
use crate::mm_state::MmState;
use crate::world::World;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Env, Mmu};

impl MmState<'_> {
    /// Returns the parts that are on.
    #[inline]
    pub fn lru_gen_caps(&self) -> LruGenCaps {
        LruGenCaps::from_bits_retain(self.lru.lru_gen.caps.load(Relaxed))
    }

    /// Returns true if generations are in use (`lru_gen_enabled`).
    #[inline]
    pub(crate) fn lru_gen_enabled(&self) -> bool {
        self.lru_gen_caps().contains(LruGenCaps::CORE)
    }

    /// Returns true if lists are being moved from one kind to the other (`lru_gen_switching`).
    #[inline]
    pub(crate) fn lru_gen_switching(&self) -> bool {
        self.lru.lru_gen.switching.load(Relaxed)
    }

    /// Returns true if only generations are in use: they are on, and the switch is complete.
    #[inline]
    pub(crate) fn lru_gen_settled(&self) -> bool {
        self.lru_gen_enabled() && !self.lru_gen_switching()
    }
}

impl<E: Env> Engine<'_, E> {
    /// Returns the parts that are on and that the hardware supports, as the file `enabled` shows
    /// them (Linux 7.3.4, `enabled_show`).
    pub fn lru_gen_enabled(&self) -> LruGenCaps {
        let hardware = self.world.mmu().caps();
        let mut caps = self.maps.lru_gen_caps();
        if !hardware.hardware_af {
            caps.remove(LruGenCaps::MM_WALK);
        }
        if !hardware.nonleaf_af {
            caps.remove(LruGenCaps::NONLEAF_YOUNG);
        }
        caps
    }
}

impl<W: World> Engine<'_, W> {
    /// Switches parts of the multi-generational LRU on and off. If that changes the use of
    /// generations, the folios of every cgroup move from one kind of list to the other. Each hold
    /// of a lock moves 4096. All else goes on meanwhile (Linux 7.3.4, `lru_gen_change_state`).
    pub fn set_lru_gen_caps(&mut self, caps: LruGenCaps) {
        let (maps, world) = (self.maps, self.world);
        let state = &maps.lru.lru_gen;
        // Only one switch runs at a time.
        while state.switching.swap(true, Relaxed) {
            world.relax();
        }
        // Locked to read: the tree keeps its shape, and reclaim goes on.
        let tree = self.lock_tree();
        let was = LruGenCaps::from_bits_retain(state.caps.swap(caps.bits(), Relaxed));
        if (was ^ caps).contains(LruGenCaps::CORE) {
            for memcg in maps.subtree(MemcgNr::ROOT) {
                for node in maps.nodes() {
                    self.switch_lists(LruvecNr { memcg, node }, caps.contains(LruGenCaps::CORE));
                    world.relax();
                }
            }
        }
        drop(tree);
        state.switching.store(false, Relaxed);
    }

    /// Moves all folios of a cgroup on a node to the kind of list that is in use from now on.
    fn switch_lists(&mut self, lruvec: LruvecNr, enable: bool) {
        let maps = self.maps;
        loop {
            let mut guard = self.lock_lruvec(lruvec);
            guard.lruvec.generations.enabled.store(enable, Relaxed);
            guard.generations = enable;
            let left = (0..MAX_LRU_BATCH).all(|_| match enable {
                true => maps.fill_one(&guard),
                false => maps.drain_one(&guard),
            });
            drop(guard);
            if !left {
                return;
            }
            self.world.relax();
        }
    }
}

impl MmState<'_> {
    /// Moves one folio from a classic list to its generation's. Returns false if there is none
    /// (`fill_evictable`). The folio keeps its flag of being on a list, since another task may be
    /// about to free it.
    fn fill_one(&self, guard: &LruGuard<'_>) -> bool {
        let lists = &guard.lruvec.lists;
        let found = LruList::EVICTABLE
            .into_iter()
            .find_map(|list| lists[list as usize].pop_tail(self.folios.table).map(|id| (id, list)));
        let Some((id, from)) = found else {
            return false;
        };
        let to = self.lru_gen_add(guard, id, false);
        let to = to.expect("generations are in use, and it is evictable");
        let pages = self.in_zones(self.folio_at(id));
        self.resize(guard, from, &pages.map(|nr| -nr));
        self.resize(guard, to, &pages);
        true
    }

    /// Moves one folio from a generation's list to its classic one. Returns false if there is none
    /// (`drain_evictable`).
    fn drain_one(&self, guard: &LruGuard<'_>) -> bool {
        let lists = guard.lruvec.generations.lists.as_flattened().as_flattened();
        let Some(id) = lists.iter().find_map(|list| list.tail()) else {
            return false;
        };
        let list = self.lru_gen_del(guard, id).expect("it is on a generation's list");
        debug_assert_eq!(LruList::of(self.folio_at(id)), list, "it counts there already");
        guard.lruvec.lists[list as usize].push_head(self.folios.table, id);
        true
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::bare::{Ground, TUNING};
    use crate::lru::lru_list::{ANON, FILE};

    /// Has a folio of each type and zone in each generation, and switches off and on. Folios of the
    /// two youngest generations are active, and return to the youngest but one.
    #[test]
    fn the_young_are_active_while_generations_are_off() {
        let mut ground = Ground::new(24);
        let mut made = std::vec::Vec::new();
        for seq in 0..4 {
            for (kind, zone) in [ANON, FILE].into_iter().flat_map(|k| (0..3).map(move |z| (k, z))) {
                made.push((seq, kind, ground.folio_in(seq, kind, zone, zone as u8)));
            }
        }
        let sizes =
            |ground: &Ground| LruList::ALL.map(|list| ground.maps.lru_size_at(MemcgNr::ROOT, list));
        let before = sizes(&ground);
        let off = LruGenCaps::MM_WALK;
        ground.engine().set_lru_gen_caps(off);
        assert_eq!(ground.maps.lru_gen_caps(), off);
        assert_eq!(ground.check(MemcgNr::ROOT).len(), 24);
        assert_eq!(sizes(&ground), before);
        for (seq, kind, id) in &made {
            let list = LruList::of(ground.maps.folio_at(*id));
            assert_eq!((list.is_active(), list.is_file()), (*seq > 1, *kind == FILE));
        }
        ground.engine().set_lru_gen_caps(off | LruGenCaps::CORE);
        assert_eq!(ground.check(MemcgNr::ROOT).len(), 24);
        for (seq, kind, id) in made {
            let generation = if seq > 1 || kind == ANON { 2 } else { 0 };
            assert_eq!(ground.maps.folio_at(id).recency().generation(), Some(generation));
        }
    }

    /// At most 4096 folios are switched under one hold, in every cgroup.
    #[test]
    fn long_lists_are_switched_in_turns() {
        // There is one turn for each of two cgroups, and those within a list.
        for (folios, turns) in [(4095, 2), (4096, 3), (4097, 3)] {
            let mut ground = Ground::new(folios);
            let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
            let child = maps.on(world, cpu, TUNING).add_group(MemcgNr::ROOT);
            for _ in 0..folios {
                let id = ground.folio(FILE, 0, 0, child);
                ground.engine().lru_add_at(id);
            }
            for caps in [LruGenCaps::empty(), LruGenCaps::CORE] {
                ground.world.relaxed.store(0, Relaxed);
                ground.engine().set_lru_gen_caps(caps);
                assert_eq!(ground.world.relaxed.load(Relaxed), turns, "{folios} folios");
                assert_eq!(ground.check(child).len(), folios);
            }
        }
    }

    #[test]
    fn other_bits_move_nothing() {
        let mut ground = Ground::new(1);
        let id = ground.folio_in(1, FILE, 0, 0);
        for caps in [LruGenCaps::all(), LruGenCaps::CORE, LruGenCaps::CORE] {
            ground.engine().set_lru_gen_caps(caps);
            assert_eq!(ground.maps.lru_gen_caps(), caps);
            assert_eq!(ground.maps.folio_at(id).recency().generation(), Some(1));
            assert!(ground.maps.lru_gen_settled());
        }
    }
}

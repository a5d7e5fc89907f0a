//! Moves of a removed cgroup's folios to the generations of its parent.

use super::{MAX_NR_GENS, gen_from_seq};
use crate::engine::Engine;
use crate::folio_list::FolioList;
use crate::id::{LruvecNr, MemcgNr};
use crate::lru::lru_list::SWAP_CLUSTER_MAX;
use crate::world::World;

impl<W: World> Engine<'_, W> {
    /// Moves the folios of a cgroup's generations on a node, with their charges, to its parent's
    /// generations of the same age there, at the tail. No walk runs, since the caller holds the
    /// tree's lock to write.
    ///
    /// Kernels instead join generations with the same place of the four, whatever their age (Linux
    /// 7.3.4, `lru_gen_reparent_memcg`). They open generations of the parent until it has them all.
    /// Kernels thereby touch no folio. This engine has to touch each folio anyway.
    pub(in crate::lru) fn reparent_generations(&mut self, from: LruvecNr, to: MemcgNr) {
        let maps = self.maps;
        let mut moved = FolioList::default();
        while let Some(age) = self.isolate_generation(from, &mut moved) {
            maps.move_charges(&moved, from.memcg, to);
            self.putback_where(&mut moved, |guard, id| maps.lru_place_aged(guard, id, age));
        }
    }

    /// Takes some folios of one generation off its lists, with a reference to each, and returns the
    /// number of younger generations. Folios that are being freed stay.
    fn isolate_generation(&mut self, from: LruvecNr, out: &mut FolioList) -> Option<u64> {
        let maps = self.maps;
        let guard = self.lock_lruvec(from);
        let lrugen = &guard.lruvec.generations;
        let lists = lrugen.lists.as_flattened().as_flattened();
        let mut found = None;
        // From the head on, since each folio joins behind the one before it.
        for id in lists.iter().flat_map(|list| list.iter(maps.folios.table)) {
            let folio = maps.folio_at(id);
            let generation = folio.recency().generation();
            if out.len as u64 == SWAP_CLUSTER_MAX || found.is_some_and(|of| of != generation) {
                break;
            }
            if folio.try_get() {
                found = Some(generation);
                maps.lru_unlink(&guard, id);
                out.push(maps, id);
            }
        }
        let youngest = gen_from_seq(lrugen.max_seq());
        drop(guard);
        let generation = found?.expect("a folio on a generation's list is in one");
        Some(((youngest + MAX_NR_GENS - generation) % MAX_NR_GENS) as u64)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::bare::{Ground, TUNING};
    use crate::lru::lru_list::{ANON, FILE};
    use core::sync::atomic::Ordering::Relaxed;
    use std::vec::Vec;

    /// A child some generations ahead has more folios than are moved at a time. Each keeps its age
    /// as far as the parent has it. Those of one generation keep their order, behind the parent's
    /// own.
    #[test]
    fn folios_of_a_removed_cgroup_keep_their_age() {
        for (ahead, parent_oldest) in (0..4).flat_map(|n| (0..=2).map(move |seq| (n, seq))) {
            let mut ground = Ground::new(90);
            let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
            let child = maps.on(world, cpu, TUNING).add_group(MemcgNr::ROOT);
            for seq in 3..3 + ahead {
                assert!(maps.on(world, cpu, TUNING).inc_max_seq(child.into(), seq, 60));
            }
            for kind in [ANON, FILE] {
                maps.lru_gen(MemcgNr::ROOT.into()).min_seq[kind].store(parent_oldest, Relaxed);
            }
            let own = ground.folio_in(parent_oldest, FILE, 0, 0);
            // The head of each list is made last. 40 folios of files' pages have age 3.
            let mut made: Vec<_> = (0..4_u64).map(|age| (age, Vec::new())).collect();
            for (age, ids) in &mut made {
                for _ in 0..if *age == 3 { 40 } else { 10 } {
                    let id = ground.folio(FILE, 0, 0, child);
                    let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
                    let engine = maps.on(world, cpu, TUNING);
                    let guard = engine.lock_lruvec(child.into());
                    let list = maps.lru_place_aged(&guard, id, *age);
                    maps.resize(&guard, list, &maps.in_zones(maps.folio_at(id)));
                    drop(guard);
                    ids.push(id);
                }
            }
            ground.check(child);
            let (maps, world, cpu) = (&ground.maps, &ground.world, &mut ground.cpu);
            assert_eq!(maps.on(world, cpu, TUNING).remove_group(child), Ok(()));
            assert_eq!(ground.check(MemcgNr::ROOT).len(), 71);
            assert_eq!(ground.maps.memcg_at(MemcgNr::ROOT).usage(), 71);
            for (age, ids) in made {
                let seq = (3 - age).max(parent_oldest);
                let listed = ground.listed(MemcgNr::ROOT, gen_from_seq(seq), FILE);
                let there: Vec<_> = listed.iter().filter(|id| ids.contains(id)).collect();
                assert_eq!(there, ids.iter().collect::<Vec<_>>(), "age {age}");
                assert!(seq > parent_oldest || listed[0] == own, "its own are the warmer");
            }
        }
    }
}

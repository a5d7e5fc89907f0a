//! Generations under any history of uses, walks, switches and changes of the tree. No folio is
//! lost, none is on two lists, and every size is the sum of its folios.

extern crate std;

use super::*;
use crate::bare::{Ground, TUNING};
use crate::folio::FolioFlags;
use crate::folio_list::FolioList;
use crate::id::MemcgNr;
use crate::lru::lru_list::{ANON, FILE};
use crate::lru::mglru::batch::MmWalk;
use crate::lru::mglru::caps::LruGenCaps;
use core::sync::atomic::Ordering::Relaxed;
use proptest::collection;
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

const FOLIOS: usize = 24;

/// A step of a history. Numbers choose among the folios and cgroups that exist.
#[derive(Clone, Debug)]
enum Step {
    Add {
        kind: usize,
        zone: u64,
        order: u8,
        memcg: usize,
        flags: u32,
        in_fault: bool,
    },
    Activate(usize),
    Deactivate(usize),
    Access(usize),
    Lazyfree(usize),
    Rotate(usize),
    Lock(usize),
    Isolate(usize),
    Release(usize),
    /// A walk finds it young.
    Young(usize),
    HandIn,
    Open(usize, u8),
    GiveUp(usize, u8),
    Switch,
    AddMemcg(usize),
    RemoveMemcg(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let which = 0..64_usize;
    let swappiness = prop::sample::select(vec![0_u8, 60, 201]);
    let add = (0..2_usize, 0..3_u64, 0..3_u8, 0..64_usize, 0..8_u32, any::<bool>()).prop_map(
        |(kind, zone, order, memcg, flags, in_fault)| Step::Add {
            kind,
            zone,
            order,
            memcg,
            flags,
            in_fault,
        },
    );
    prop_oneof![
        8 => add,
        2 => which.clone().prop_map(Step::Activate),
        2 => which.clone().prop_map(Step::Deactivate),
        3 => which.clone().prop_map(Step::Access),
        1 => which.clone().prop_map(Step::Lazyfree),
        1 => which.clone().prop_map(Step::Rotate),
        1 => which.clone().prop_map(Step::Lock),
        2 => which.clone().prop_map(Step::Isolate),
        1 => which.clone().prop_map(Step::Release),
        6 => which.clone().prop_map(Step::Young),
        1 => Just(Step::HandIn),
        4 => (which.clone(), swappiness.clone()).prop_map(|(at, s)| Step::Open(at, s)),
        3 => (which.clone(), swappiness).prop_map(|(at, s)| Step::GiveUp(at, s)),
        1 => Just(Step::Switch),
        1 => which.clone().prop_map(Step::AddMemcg),
        1 => which.prop_map(Step::RemoveMemcg),
    ]
}

struct Model {
    ground: Ground,
    /// The cgroups and their parents.
    memcgs: Vec<(MemcgNr, MemcgNr)>,
    folios: Vec<(FolioNr, MemcgNr)>,
    made: usize,
}

impl Model {
    fn new() -> Self {
        let mut ground = Ground::new(FOLIOS);
        ground.cpu.state.walk = Some(MmWalk::default());
        let memcgs = vec![(MemcgNr::ROOT, MemcgNr::ROOT)];
        Self { ground, memcgs, folios: Vec::new(), made: 0 }
    }

    fn memcg(&self, at: usize) -> MemcgNr {
        self.memcgs[at % self.memcgs.len()].0
    }

    fn add(&mut self, kind: usize, zone: u64, order: u8, memcg: MemcgNr, flags: u32) {
        if self.made == FOLIOS {
            return;
        }
        self.made += 1;
        let id = self.ground.folio(kind, zone, order, memcg);
        let (maps, world, cpu) = (&self.ground.maps, &self.ground.world, &mut self.ground.cpu);
        let folio = maps.folio_at(id);
        let chosen = [FolioFlags::MLOCKED, FolioFlags::DIRTY, FolioFlags::WRITEBACK];
        for (bit, flag) in chosen.into_iter().enumerate() {
            // Few are mlocked.
            if flags == 1 << bit || (bit > 0 && flags >> bit & 1 == 1) {
                folio.update_flags(flag, FolioFlags::empty());
            }
        }
        maps.on(world, cpu, TUNING).lru_add_at(id);
        self.folios.push((id, memcg));
    }

    fn hand_in(&mut self) {
        let Ground { maps, world, cpu, .. } = &mut self.ground;
        let memcg = cpu.state.walk.as_ref().expect("there is one").lruvec.memcg;
        maps.on(world, cpu, TUNING).reset_batch_size(memcg.into());
    }

    fn young(&mut self, id: FolioNr, memcg: MemcgNr) {
        if self.ground.cpu.state.walk.as_ref().is_some_and(|walk| walk.lruvec.memcg != memcg) {
            self.hand_in();
        }
        let (maps, folio) = (&self.ground.maps, self.ground.maps.folio_at(id));
        let youngest = gen_from_seq(maps.lru_gen(memcg.into()).max_seq());
        let walk = self.ground.cpu.state.walk.as_mut().expect("there is one");
        walk.lruvec = memcg.into();
        if let Some(from) = folio_update_gen(folio, youngest, VmFlags::EXEC) {
            let nr = folio.nr_pages() as i64;
            walk.moved(kind_of(folio), maps.zone_of(folio), nr, from, youngest);
        }
    }

    fn one(&mut self, step: &Step, at: usize) {
        if self.folios.is_empty() {
            return;
        }
        let at = at % self.folios.len();
        let (id, memcg) = self.folios[at];
        let (maps, world, cpu) = (&self.ground.maps, &self.ground.world, &mut self.ground.cpu);
        let folio = maps.folio_at(id);
        match step {
            Step::Activate(_) => {
                maps.on(world, cpu, TUNING).activate_at(id);
            }
            Step::Deactivate(_) => {
                maps.on(world, cpu, TUNING).deactivate_at(id);
            }
            Step::Access(_) => maps.on(world, cpu, TUNING).mark_accessed_at(id),
            Step::Lazyfree(_) => {
                let guard = folio.try_lock().expect("no one else");
                maps.on(world, cpu, TUNING).lazyfree_at(&guard, id);
            }
            Step::Rotate(_) => maps.on(world, cpu, TUNING).rotate(id),
            Step::Lock(_) => folio.update_flags(FolioFlags::MLOCKED, FolioFlags::empty()),
            Step::Isolate(_) => {
                let mut list = FolioList::default();
                assert!(maps.on(world, cpu, TUNING).isolate_one(id), "it is on a list");
                list.push(maps, id);
                maps.on(world, cpu, TUNING).putback(&mut list);
            }
            Step::Release(_) => {
                maps.on(world, cpu, TUNING).put_folio(id, 1);
                self.folios.swap_remove(at);
            }
            _ => self.young(id, memcg),
        }
    }

    fn remove_memcg(&mut self, id: MemcgNr) {
        // A walk holds the lock of the tree, so none is in progress here.
        self.hand_in();
        let Ground { maps, world, cpu, .. } = &mut self.ground;
        if maps.on(world, cpu, TUNING).remove_group(id).is_ok() {
            let parent = self.memcgs.iter().find(|(of, _)| *of == id).expect("it is there").1;
            self.memcgs.retain(|(of, _)| *of != id);
            self.folios.iter_mut().filter(|(_, of)| *of == id).for_each(|(_, of)| *of = parent);
        }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Add { kind, zone, order, memcg, flags, in_fault } => {
                self.ground.cpu.state.in_fault = in_fault;
                self.add(kind, zone, order, self.memcg(memcg), flags);
            }
            Step::HandIn => self.hand_in(),
            Step::Open(at, swappiness) => {
                let id = self.memcg(at);
                let Ground { maps, world, cpu, .. } = &mut self.ground;
                let seq = maps.lru_gen(id.into()).max_seq();
                assert!(maps.on(world, cpu, TUNING).inc_max_seq(id.into(), seq, swappiness));
            }
            Step::GiveUp(at, swappiness) => {
                let id = self.memcg(at);
                let Ground { maps, world, cpu, .. } = &mut self.ground;
                let engine = maps.on(world, cpu, TUNING);
                let guard = engine.lock_lruvec(id.into());
                maps.try_to_inc_min_seq(&guard, swappiness);
                drop(guard);
            }
            Step::Switch => {
                let Ground { maps, world, cpu, .. } = &mut self.ground;
                maps.on(world, cpu, TUNING)
                    .set_lru_gen_caps(maps.lru_gen_caps() ^ LruGenCaps::CORE);
            }
            Step::AddMemcg(at) => {
                let parent = self.memcg(at);
                let Ground { maps, world, cpu, .. } = &mut self.ground;
                let parent_id = maps.memcg_id(parent);
                let added = maps.on(world, cpu, TUNING).add_memcg(parent_id);
                self.memcgs.extend(added.map(|id| (MemcgNr(id.index()), parent)));
            }
            Step::RemoveMemcg(at) => self.remove_memcg(self.memcg(at)),
            Step::Activate(at)
            | Step::Deactivate(at)
            | Step::Access(at)
            | Step::Lazyfree(at)
            | Step::Rotate(at)
            | Step::Lock(at)
            | Step::Isolate(at)
            | Step::Release(at)
            | Step::Young(at) => self.one(step, at),
        }
    }

    fn check(&self) {
        let enabled = self.ground.maps.lru_gen_enabled();
        for (memcg, _) in &self.memcgs {
            let mut wanted: Vec<_> =
                self.folios.iter().filter(|(_, of)| of == memcg).map(|(id, _)| *id).collect();
            wanted.sort();
            assert_eq!(self.ground.check(*memcg), wanted, "{memcg:?}");
            let lrugen = self.ground.maps.lru_gen((*memcg).into());
            assert_eq!(lrugen.enabled.load(Relaxed), enabled);
            for kind in [ANON, FILE] {
                assert!((2..=4).contains(&lrugen.nr_gens(kind)), "{memcg:?}");
            }
        }
        for (id, _) in &self.folios {
            let folio = self.ground.maps.folio_at(*id);
            let evictable = !folio.lru().contains(LruFlags::UNEVICTABLE);
            let generation = folio.recency().generation();
            assert_eq!(generation.is_some(), enabled && evictable, "{id:?}");
            assert!(!enabled || !folio.lru().contains(LruFlags::ACTIVE), "{id:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_folio_is_lost_or_counted_twice(steps in collection::vec(step(), 1..80)) {
        let mut model = Model::new();
        for step in &steps {
            model.apply(step);
            if model.ground.cpu.state.walk.as_ref().is_some_and(|walk| walk.batched == 0) {
                model.check();
            }
        }
        model.hand_in();
        model.check();
    }
}

//! LRU lists and the tree of cgroups against a plain model. After any history every list of every
//! subtree has the pages that were put there, and every cgroup is charged for its pages.

use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::pte::SmallX86;
use pageout_reclaim::{
    Counter, FolioFlags, FolioId, Limits, LruList, MappingId, MappingKind, MemcgBusy, MemcgId,
    Recency,
};
use proptest::collection::vec;
use proptest::prelude::*;

const ROOM: Limits = Limits { folios: 64, memcgs: 5, ..LIMITS };

/// A step of a history. Numbers choose among the folios and cgroups that exist.
#[derive(Clone, Debug)]
enum Step {
    Add { anon: bool, mlocked: bool, order: u8, memcg: usize },
    Free(usize),
    Activate(usize),
    Deactivate(usize),
    Access(usize),
    Lazyfree(usize),
    AddMemcg(usize),
    RemoveMemcg(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let which = 0..64_usize;
    let add = (any::<bool>(), prop::bool::weighted(0.1), 0..4_u8, which.clone());
    let add =
        add.prop_map(|(anon, mlocked, order, memcg)| Step::Add { anon, mlocked, order, memcg });
    prop_oneof![
        6 => add,
        2 => which.clone().prop_map(Step::Free),
        2 => which.clone().prop_map(Step::Activate),
        2 => which.clone().prop_map(Step::Deactivate),
        3 => which.clone().prop_map(Step::Access),
        1 => which.clone().prop_map(Step::Lazyfree),
        1 => which.clone().prop_map(Step::AddMemcg),
        1 => which.prop_map(Step::RemoveMemcg),
    ]
}

/// The expected state of a folio.
struct Listed {
    id: FolioId,
    anon: bool,
    memcg: MemcgId,
    pages: u64,
    list: LruList,
    referenced: bool,
}

struct Model<'a> {
    world: World<'a, SmallX86>,
    mappings: [MappingId; 2],
    /// The cgroups and their parents. The root is its own parent.
    memcgs: Vec<(MemcgId, MemcgId)>,
    folios: Vec<Listed>,
}

fn inactive(list: LruList) -> LruList {
    if list.is_file() { LruList::InactiveFile } else { LruList::InactiveAnon }
}

fn active(list: LruList) -> LruList {
    if list.is_file() { LruList::ActiveFile } else { LruList::ActiveAnon }
}

impl<'a> Model<'a> {
    fn new(arena: &'a mut Arena) -> Self {
        let mut world: World<'a, SmallX86> = arena.world();
        let mappings = [MappingKind::File, MappingKind::Anon].map(|kind| world.mapping(kind));
        Self { world, mappings, memcgs: vec![(MemcgId::ROOT, MemcgId::ROOT)], folios: vec![] }
    }

    fn add(&mut self, anon: bool, mlocked: bool, order: u8, memcg: usize) {
        if self.folios.len() == ROOM.folios {
            return;
        }
        let memcg = self.memcgs[memcg % self.memcgs.len()].0;
        let id = self.world.folio(self.mappings[usize::from(anon)], order, 0);
        let (maps, env, cpu) = (&self.world.maps, &self.world.env, &mut self.world.cpu);
        maps.on(env, cpu, tuning()).charge(id, memcg).expect("no limits");
        let list = match (mlocked, anon) {
            (true, _) => LruList::Unevictable,
            (false, true) => LruList::InactiveAnon,
            (false, false) => LruList::InactiveFile,
        };
        if mlocked {
            self.world.flag(id, FolioFlags::MLOCKED);
        }
        let (maps, env, cpu) = (&self.world.maps, &self.world.env, &mut self.world.cpu);
        maps.on(env, cpu, tuning()).lru_add(id).expect("it lives");
        let pages = 1 << order;
        self.folios.push(Listed { id, anon, memcg, pages, list, referenced: false });
    }

    fn add_memcg(&mut self, parent: usize) {
        let parent = self.memcgs[parent % self.memcgs.len()].0;
        let (maps, env, cpu) = (&self.world.maps, &self.world.env, &mut self.world.cpu);
        let added = maps.on(env, cpu, tuning()).add_memcg(parent);
        assert_eq!(added.is_ok(), self.memcgs.len() <= ROOM.memcgs);
        self.memcgs.extend(added.map(|id| (id, parent)));
    }

    fn remove_memcg(&mut self, which: usize) {
        let (id, parent) = self.memcgs[which % self.memcgs.len()];
        let (maps, env, cpu) = (&self.world.maps, &self.world.env, &mut self.world.cpu);
        let removed = maps.on(env, cpu, tuning()).remove_memcg(id);
        if id == MemcgId::ROOT {
            assert_eq!(removed, Err(MemcgBusy::Root));
        } else if self.memcgs.iter().any(|(_, above)| *above == id) {
            assert_eq!(removed, Err(MemcgBusy::HasChildren));
        } else {
            assert_eq!(removed, Ok(()));
            self.memcgs.retain(|(memcg, _)| *memcg != id);
            let moved = self.folios.iter_mut().filter(|folio| folio.memcg == id);
            moved.for_each(|folio| folio.memcg = parent);
        }
    }

    /// Does one of the steps that concern one folio.
    fn one(&mut self, step: &Step, which: usize) {
        let len = self.folios.len();
        let Some(folio) = self.folios.get_mut(which % len.max(1)) else {
            return;
        };
        let (maps, env, cpu) = (&self.world.maps, &self.world.env, &mut self.world.cpu);
        let evictable = folio.list != LruList::Unevictable;
        let (up, down) = (active(folio.list), inactive(folio.list));
        match step {
            Step::Activate(_) => {
                let moves = evictable && folio.list == down;
                assert_eq!(
                    maps.on(env, cpu, tuning()).activate(folio.id).expect("it lives"),
                    moves
                );
                folio.list = if moves { up } else { folio.list };
            }
            Step::Deactivate(_) => {
                let moves = evictable && folio.list == up;
                assert_eq!(
                    maps.on(env, cpu, tuning()).deactivate(folio.id).expect("it lives"),
                    moves
                );
                folio.list = if moves { down } else { folio.list };
            }
            Step::Access(_) => {
                maps.on(env, cpu, tuning()).mark_accessed(folio.id).expect("it lives");
                let moves = folio.referenced && evictable && folio.list == down;
                folio.list = if moves { up } else { folio.list };
                folio.referenced = !moves;
            }
            Step::Lazyfree(_) => {
                let guard =
                    maps.folio(folio.id).expect("it lives").try_lock().expect("no one else");
                let moves = evictable && !folio.list.is_file();
                assert_eq!(
                    maps.on(env, cpu, tuning()).lazyfree(&guard, folio.id).expect("it lives"),
                    moves
                );
                if moves {
                    (folio.list, folio.referenced) = (LruList::InactiveFile, false);
                }
            }
            _ => {
                maps.on(env, cpu, tuning()).release(folio.id, 1).expect("the caller has it");
                self.folios.swap_remove(which % len);
            }
        }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Add { anon, mlocked, order, memcg } => self.add(anon, mlocked, order, memcg),
            Step::AddMemcg(parent) => self.add_memcg(parent),
            Step::RemoveMemcg(which) => self.remove_memcg(which),
            Step::Free(which)
            | Step::Activate(which)
            | Step::Deactivate(which)
            | Step::Access(which)
            | Step::Lazyfree(which) => self.one(step, which),
        }
    }

    fn is_below(&self, memcg: MemcgId, top: MemcgId) -> bool {
        let parent = self.memcgs.iter().find(|(id, _)| *id == memcg).expect("it is there").1;
        memcg == top || (memcg != MemcgId::ROOT && self.is_below(parent, top))
    }

    fn check(&mut self) {
        for (top, _) in self.memcgs.clone() {
            let below = |folio: &&Listed| self.is_below(folio.memcg, top);
            let sum = |wanted: &dyn Fn(&Listed) -> bool| {
                let chosen = self.folios.iter().filter(below).filter(|folio| wanted(folio));
                chosen.map(|folio| folio.pages).sum::<u64>()
            };
            for list in LruList::ALL {
                let pages = sum(&|folio| folio.list == list);
                assert_eq!(
                    self.world.maps.lru_size(top, list).expect("it is online"),
                    pages,
                    "{top:?} {list:?}"
                );
            }
            assert_eq!(
                self.world.maps.memcg(top).expect("it is online").usage(),
                sum(&|_| true),
                "{top:?}"
            );
            let kinds = [sum(&|folio| !folio.anon), sum(&|folio| folio.anon)];
            let (maps, env, cpu) = (&self.world.maps, &self.world.env, &mut self.world.cpu);
            let counters = [Counter::NrFilePages, Counter::NrAnonPages];
            let found = counters.map(|counter| {
                maps.on(env, cpu, tuning()).counter(top, counter).expect("it is online")
            });
            assert_eq!(found, kinds, "{top:?}");
        }
        for folio in &self.folios {
            let state = self.world.maps.folio(folio.id).expect("it lives");
            assert_eq!(self.world.maps.memcg_of(state), folio.memcg);
            let recency = self.world.maps.folio(folio.id).expect("it lives").recency();
            assert_eq!(recency.contains(Recency::REFERENCED), folio.referenced);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn lists_and_charges_are_what_was_done(steps in vec(step(), 1..120)) {
        let mut arena = Arena::new::<SmallX86>(&ROOM);
        let mut model = Model::new(&mut arena);
        for step in &steps {
            model.apply(step);
            model.check();
        }
    }
}

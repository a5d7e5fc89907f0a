//! Lists are switched in the middle of a round of reclaim. The folios that the round has isolated
//! join lists that are in use.

use crate::env::Moment;
use crate::world::{Arena, LIMITS, World, tuning};
use pageout_exhibits::{Bug, Faulty};
use pageout_paging::pte::SmallX86;
use pageout_paging::{Rules, Sound};
use pageout_reclaim::mglru::{LruGenCaps, MAX_NR_GENS, MAX_NR_ZONES};
use pageout_reclaim::{
    Agent, CpuCtx, FolioFlags, FolioId, LruFlags, LruList, MappingId, MemcgId, MmState,
    ReclaimOptions,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const ROOT: MemcgId = MemcgId::ROOT;
const FOLIOS: u64 = 8;

/// The time at which the round goes on: before the switch has ended, or after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GoesOn {
    Before,
    After,
}

/// The progress of the switch and of the reclaim.
#[derive(Debug, Default)]
struct Stand {
    isolated: AtomicBool,
    moved: AtomicBool,
    reclaimed: AtomicBool,
}

fn say(that: &AtomicBool) {
    that.store(true, Ordering::Release);
}

fn is(that: &AtomicBool) -> bool {
    that.load(Ordering::Acquire)
}

fn wait_for(that: &AtomicBool) {
    while !is(that) {
        thread::yield_now();
    }
}

/// Sets a flag at the end, even if it ends by a panic.
struct AtTheEnd<'a>(&'a AtomicBool);

impl Drop for AtTheEnd<'_> {
    fn drop(&mut self) {
        say(self.0);
    }
}

/// Makes a page of a file that stays in memory, since a reference is held.
fn pinned(world: &mut World<'_, SmallX86>, file: MappingId, index: u64) -> FolioId {
    let id = world.folio(file, 0, index);
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.on(env, cpu, tuning()).charge(id, ROOT).expect("no limit");
    maps.on(env, cpu, tuning()).filemap_add_folio(id).expect("nothing there");
    world.flag(id, FolioFlags::UPTODATE);
    world.engine().lru_add(id).expect("it lives");
    id
}

/// Returns the folios on lists that are in use.
fn listed(maps: &MmState<'_>) -> Vec<FolioId> {
    let mut all: Vec<_> = match maps.lru_gen_caps().contains(LruGenCaps::CORE) {
        true => (0..MAX_NR_GENS)
            .flat_map(|generation| (0..MAX_NR_ZONES).map(move |zone| (generation, zone)))
            .flat_map(|(generation, zone)| {
                maps.lru_gen_folios(ROOT, generation, 1, zone).expect("it is online")
            })
            .collect(),
        false => LruList::ALL
            .iter()
            .flat_map(|list| maps.lru_folios(ROOT, *list).expect("it is online"))
            .collect(),
    };
    all.sort();
    all
}

/// Lets a round of reclaim isolate folios, switches the lists, and lets the round go on and put the
/// folios back. Returns the number of folios on lists in use when both are done.
fn listed_after<R: Rules>(to: LruGenCaps, goes_on: GoesOn) -> usize {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    world.set_caps(to ^ LruGenCaps::CORE);
    let file = world.file();
    let folios: Vec<_> = (0..FOLIOS).map(|index| pinned(&mut world, file, index)).collect();
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let stand = Stand::default();
    let is_isolated =
        |id: &FolioId| !maps.folio(*id).expect("it lives").lru().contains(LruFlags::LRU);
    let in_reclaim = |_| {
        if !is(&stand.isolated) && folios.iter().any(is_isolated) {
            say(&stand.isolated);
            wait_for(&stand.moved);
        }
    };
    let in_switch = |moment| {
        if moment == Moment::Relaxes && goes_on == GoesOn::Before {
            assert!(folios.iter().any(is_isolated), "they are still isolated");
            say(&stand.moved);
            wait_for(&stand.reclaimed);
        }
    };
    let bug = Bug::current();
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(&stand.isolated);
            let _moved = AtTheEnd(&stand.moved);
            let ground = env.ruled::<R>(&in_switch);
            let switch = || maps.on(&ground, &mut CpuCtx::new(), tuning()).set_lru_gen_caps(to);
            Bug::during(bug, switch);
        });
        let _ends = [AtTheEnd(&stand.isolated), AtTheEnd(&stand.reclaimed)];
        let options = ReclaimOptions { may_swap: false, swappiness: None, agent: Agent::Direct };
        let ground = env.ruled::<R>(&in_reclaim);
        let freed = maps
            .on(&ground, cpu, tuning())
            .try_to_free_mem_cgroup_pages(ROOT, 32, options)
            .expect("it is online");
        assert_eq!(freed, 0, "all are referred to");
        assert!(is(&stand.moved), "reclaim had isolated folios, and they were switched meanwhile");
    });
    assert!(!folios.iter().any(is_isolated), "each is on a list");
    listed(maps).len()
}

const TO: [LruGenCaps; 2] = [LruGenCaps::all(), LruGenCaps::all().difference(LruGenCaps::CORE)];

#[test]
fn what_a_round_of_reclaim_has_isolated_outlives_a_switch() {
    for to in TO {
        for goes_on in [GoesOn::Before, GoesOn::After] {
            let listed = listed_after::<Sound>(to, goes_on);
            assert_eq!(listed as u64, FOLIOS, "{to:?}, goes on {goes_on:?} its end");
        }
    }
}

/// Either rule that waits for the end of the switch loses the folios that are put back before it.
/// They are on a list that the switch has already emptied.
#[test]
fn what_joins_lists_by_whether_they_are_being_switched_is_lost() {
    let [on, off] = TO;
    for (bug, to) in [(Bug::JoinOnceSettled, on), (Bug::JoinWhileSwitching, off)] {
        let listed = || listed_after::<Faulty>(to, GoesOn::Before);
        assert!(Bug::during(Some(bug), listed) < FOLIOS as usize, "{bug:?}");
    }
}

//! Several CPUs read files in, reclaim, make and remove cgroups, and switch generations on and off,
//! all at once. Once all are done, the charged, the listed, the cached and the used pages agree.

use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::Order;
use pageout_paging::pte::SmallX86;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Agent, CpuCtx, FolioFlags, Frames, Limits, LruList, MappingId, MemcgId, MmState, NewFolio,
    ReclaimOptions,
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ROOM: Limits = Limits { folios: 600, shadows: 512, memcgs: 8, ..LIMITS };
const ROUNDS: u64 = if cfg!(miri) { 20 } else { 2000 };
const PAGES: u64 = 150;

type Env<'a> = crate::env::TestEnv<'a, SmallX86>;

/// Uses a page of a file, which is read in if needed.
fn access(
    maps: &MmState<'_>,
    env: &Env<'_>,
    cpu: &mut CpuCtx,
    file: MappingId,
    at: u64,
    id: MemcgId,
) {
    if let Some(found) = maps.on(env, cpu, tuning()).filemap_get_folio(file, at).expect("it lives")
    {
        maps.on(env, cpu, tuning()).mark_accessed(found).expect("it lives");
        return maps.on(env, cpu, tuning()).release(found, 1).expect("the caller has it");
    }
    let order = Order::new(0).expect("one page");
    let pfn = env.alloc(order).expect("frames enough");
    let new = NewFolio { pfn, order, mapping: file, index: at, flags: FolioFlags::UPTODATE };
    let folio = maps.on(env, cpu, tuning()).add_folio(new).expect("folios enough");
    let charged = maps.on(env, cpu, tuning()).charge(folio, id);
    let guard = maps.folio(folio).expect("it lives").try_lock().expect("no one else knows it");
    if charged.is_ok()
        && let Ok(shadow) = maps.on(env, cpu, tuning()).filemap_add_folio(folio)
    {
        if let Some(shadow) = shadow {
            maps.on(env, cpu, tuning()).workingset_refault(folio, shadow).expect("it lives");
        }
        maps.on(env, cpu, tuning()).lru_add(folio).expect("it lives");
    }
    drop(guard);
    maps.on(env, cpu, tuning()).release(folio, 1).expect("the caller has it");
}

/// Returns a term of a cheap, fixed sequence.
pub(crate) fn mixed(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// The threads that use pages. Others work against them as long as one of them runs.
pub(crate) struct Users(AtomicU64);

impl Users {
    pub(crate) fn new(threads: u64) -> Self {
        Self(AtomicU64::new(threads))
    }

    pub(crate) fn are_running(&self) -> bool {
        self.0.load(Relaxed) > 0
    }

    /// Returns a guard to hold while a thread uses pages. It also ends if the thread fails an
    /// assertion: otherwise the others would wait for it, and the test would never fail.
    pub(crate) fn one(&self) -> OneUser<'_> {
        OneUser(&self.0)
    }
}

pub(crate) struct OneUser<'a>(&'a AtomicU64);

impl Drop for OneUser<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// The lists in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lists {
    Classic,
    Generations,
    /// Both in turn.
    Switched,
}

#[test]
fn nothing_is_lost_in_a_crowd() {
    crowd(Lists::Classic);
}

#[test]
fn nothing_is_lost_in_a_crowd_on_generations() {
    crowd(Lists::Generations);
}

#[test]
fn nothing_is_lost_while_lists_are_switched() {
    crowd(Lists::Switched);
}

fn crowd(lists: Lists) {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: World<'_, SmallX86> = arena.world();
    let files = [world.file(), world.file(), world.file()];
    let (maps, env) = (&world.maps, &world.env);
    let top = maps.on(env, &mut world.cpu, tuning()).add_memcg(MemcgId::ROOT).expect("room");
    maps.memcg(top).expect("it is online").set_max(200);
    if lists == Lists::Generations {
        maps.on(env, &mut world.cpu, tuning()).set_lru_gen_caps(LruGenCaps::all());
    }
    let users = Users::new(2);
    std::thread::scope(|scope| {
        for (seed, file) in [(1, files[0]), (2, files[1])] {
            let users = &users;
            scope.spawn(move || {
                let (cpu, _user) = (&mut CpuCtx::new(), users.one());
                for n in 0..ROUNDS {
                    access(maps, env, cpu, file, mixed(n * 7 + seed) % PAGES, top);
                }
            });
        }
        scope.spawn(|| {
            let cpu = &mut CpuCtx::new();
            let agent = Agent::Proactive;
            let options = ReclaimOptions { may_swap: true, swappiness: None, agent };
            while users.are_running() {
                maps.on(env, cpu, tuning())
                    .try_to_free_mem_cgroup_pages(top, 32, options)
                    .expect("it is online");
                std::thread::yield_now();
            }
        });
        scope.spawn(|| {
            let cpu = &mut CpuCtx::new();
            while users.are_running() {
                maps.on(env, cpu, tuning()).try_to_free_pages();
                std::thread::yield_now();
            }
        });
        scope.spawn(|| {
            let cpu = &mut CpuCtx::new();
            while users.are_running() {
                let child = maps.on(env, cpu, tuning()).add_memcg(top).expect("room");
                for at in 0..16 {
                    access(maps, env, cpu, files[2], at, child);
                }
                maps.on(env, cpu, tuning()).remove_memcg(child).expect("it has no children");
            }
        });
        scope.spawn(|| {
            let cpu = &mut CpuCtx::new();
            let mut caps = LruGenCaps::empty();
            while lists == Lists::Switched && users.are_running() {
                caps ^= LruGenCaps::CORE;
                maps.on(env, cpu, tuning()).set_lru_gen_caps(caps);
                std::thread::yield_now();
            }
        });
    });
    // Reclaim may have taken all pages while the last of the users ended.
    access(maps, env, &mut world.cpu, files[0], 0, top);
    all_is_accounted_for(maps, env, files, top);
}

/// Checks that the charged, the listed, the cached and the used pages agree.
fn all_is_accounted_for(maps: &MmState<'_>, env: &Env<'_>, files: [MappingId; 3], top: MemcgId) {
    let cpu = &mut CpuCtx::new();
    let mut cached = 0;
    for (file, at) in files.into_iter().flat_map(|file| (0..PAGES).map(move |at| (file, at))) {
        if let Some(id) = maps.on(env, cpu, tuning()).filemap_get_folio(file, at).expect("it lives")
        {
            maps.on(env, cpu, tuning()).release(id, 1).expect("the caller has it");
            let folio = maps.folio(id).expect("it lives");
            assert_eq!((folio.refs(), maps.memcg_of(folio)), (1, top));
            cached += 1;
        }
    }
    assert!(cached > 0, "something is left");
    let listed: u64 =
        LruList::ALL.map(|list| maps.lru_size(top, list).expect("it is online")).iter().sum();
    assert_eq!((listed, maps.memcg(top).expect("it is online").usage()), (cached, cached));
    assert_eq!(maps.memcg(MemcgId::ROOT).expect("it is online").usage(), cached);
    assert_eq!(env.free_pages() as u64, ROOM.frames as u64 - cached);
}

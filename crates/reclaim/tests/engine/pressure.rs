//! Reclaim as a whole, on files' pages that are mapped nowhere: the share of each cgroup,
//! protection, charges that fail, and refaults.

use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::pte::SmallX86;
use pageout_reclaim::{
    Agent, ChargeError, Counter, Errno, FolioFlags, FolioId, Frames, Limits, LruList, MappingId,
    MemcgId, NodeId, OutOfMemory, ReclaimOptions, ReclaimRequest,
};
use std::sync::atomic::Ordering::Relaxed;

type W<'a> = World<'a, SmallX86>;

const ROOM: Limits = Limits { folios: 600, shadows: 1024, memcgs: 8, ..LIMITS };
/// The page size of the small format, which is 4 KiB too.
const PAGE: u64 = 4096;

const DIRECT: ReclaimOptions =
    ReclaimOptions { may_swap: true, swappiness: None, agent: Agent::Direct };

pub(crate) fn memcg(world: &mut W<'_>, parent: MemcgId) -> MemcgId {
    world.engine().add_memcg(parent).expect("room")
}

/// Reads one page of a file in, as a fault would.
pub(crate) fn try_read(
    world: &mut W<'_>,
    file: MappingId,
    index: u64,
    memcg: MemcgId,
) -> Result<FolioId, ChargeError> {
    let id = world.folio(file, 0, index);
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    if let Err(full) = maps.on(env, cpu, tuning()).charge(id, memcg) {
        maps.on(env, cpu, tuning()).release(id, 1).expect("the caller has it");
        return Err(full);
    }
    let guard = maps.folio(id).expect("it lives").try_lock().expect("no one else knows it");
    if let Some(shadow) =
        maps.on(env, cpu, tuning()).filemap_add_folio(id).expect("nothing is there")
    {
        maps.on(&world.env, cpu, tuning()).workingset_refault(id, shadow).expect("it lives");
    }
    guard.set(FolioFlags::UPTODATE);
    drop(guard);
    maps.on(env, cpu, tuning()).lru_add(id).expect("it lives");
    maps.on(env, cpu, tuning()).release(id, 1).expect("the caller has it");
    Ok(id)
}

pub(crate) fn read(world: &mut W<'_>, file: MappingId, pages: u64, memcg: MemcgId) {
    for index in 0..pages {
        try_read(world, file, index, memcg).expect("room");
    }
}

pub(crate) fn is_cached(world: &mut W<'_>, file: MappingId, index: u64) -> bool {
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let found = maps.on(env, cpu, tuning()).filemap_get_folio(file, index).expect("it lives");
    found
        .inspect(|id| maps.on(env, cpu, tuning()).release(*id, 1).expect("the caller has it"))
        .is_some()
}

fn reclaim(world: &mut W<'_>, memcg: MemcgId, pages: u64) -> u64 {
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.on(env, cpu, tuning())
        .try_to_free_mem_cgroup_pages(memcg, pages, DIRECT)
        .expect("it is online")
}

fn ask(world: &mut W<'_>, memcg: MemcgId, text: &str) -> Result<u64, Errno> {
    world.engine().memory_reclaim(memcg, ReclaimRequest::parse(text)?)
}

fn usage(world: &W<'_>, memcg: MemcgId) -> u64 {
    world.maps.memcg(memcg).expect("it is online").usage()
}

fn counter(world: &mut W<'_>, memcg: MemcgId, counter: Counter) -> u64 {
    world.engine().counter(memcg, counter).expect("it is online")
}

#[test]
fn what_user_space_asks_for_is_reclaimed_oldest_first() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (file, group) = (world.file(), memcg(&mut world, MemcgId::ROOT));
    read(&mut world, file, 400, group);
    let free = world.env.free_pages();
    let got = ask(&mut world, group, "512K").expect("enough is there");
    assert!((128..256).contains(&got), "{got} pages");
    assert_eq!(world.env.free_pages(), free + got as usize);
    for index in 0..400 {
        assert_eq!(is_cached(&mut world, file, index), index >= got, "page {index}");
    }
    assert_eq!(usage(&world, group), 400 - got);
    assert_eq!(
        world.maps.lru_size(MemcgId::ROOT, LruList::InactiveFile).expect("it is online"),
        400 - got
    );
    assert_eq!(counter(&mut world, group, Counter::PgstealProactive), got);
    assert_eq!(counter(&mut world, group, Counter::PgstealFile), got);
    assert!(counter(&mut world, group, Counter::PgscanProactive) >= got);
    assert_eq!(counter(&mut world, group, Counter::PgstealDirect), 0);
}

#[test]
fn asking_for_more_than_there_is_takes_all_and_says_so() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (file, group) = (world.file(), memcg(&mut world, MemcgId::ROOT));
    read(&mut world, file, 100, group);
    assert_eq!(ask(&mut world, group, "1G"), Err(Errno::EAGAIN));
    assert_eq!(usage(&world, group), 0);
    assert_eq!(ask(&mut world, group, "4095"), Ok(0), "less than a page is none");
    assert_eq!(ask(&mut world, group, "1x"), Err(Errno::EINVAL));
}

#[test]
fn a_request_that_cannot_be_read_changes_nothing() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (file, group) = (world.file(), memcg(&mut world, MemcgId::ROOT));
    read(&mut world, file, 100, group);
    let state = |world: &mut W<'_>| {
        let stat = world.engine().memory_stat(group).expect("it is online");
        (
            stat,
            world
                .maps
                .lru_folios(group, LruList::InactiveFile)
                .expect("it is online")
                .collect::<Vec<_>>(),
        )
    };
    let before = state(&mut world);
    for text in ["1G swappiness=300", "-1", "8Q", "", "1G swappiness=", "1G max"] {
        let refused = ask(&mut world, group, text);
        assert_eq!(refused.map_err(Errno::number), Err(22), "{text:?}");
        assert_eq!(state(&mut world), before, "{text:?}");
    }
}

#[test]
fn a_signal_ends_a_request() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (file, group) = (world.file(), memcg(&mut world, MemcgId::ROOT));
    read(&mut world, file, 100, group);
    world.env.task.signal.store(true, Relaxed);
    assert_eq!(ask(&mut world, group, "128K"), Err(Errno::EINTR));
    assert_eq!(usage(&world, group), 100);
}

#[test]
fn without_swap_a_request_for_anonymous_memory_alone_takes_nothing() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (file, group) = (world.file(), memcg(&mut world, MemcgId::ROOT));
    read(&mut world, file, 100, group);
    assert_eq!(ask(&mut world, group, "128K swappiness=max"), Err(Errno::EAGAIN));
    assert_eq!(usage(&world, group), 100);
    let got = ask(&mut world, group, "128K swappiness=200").expect("enough is there");
    assert_eq!(usage(&world, group), 100 - got);
}

#[test]
fn a_cgroup_never_uses_more_than_its_limit() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (file, above) = (world.file(), memcg(&mut world, MemcgId::ROOT));
    let group = memcg(&mut world, above);
    world.maps.memcg(above).expect("it is online").set_max(64);
    for index in 0..200 {
        try_read(&mut world, file, index, group).expect("old pages make room");
        assert!(usage(&world, above) <= 64);
        assert!(is_cached(&mut world, file, index));
    }
    assert!(counter(&mut world, above, Counter::EventMax) > 0);
    assert_eq!(counter(&mut world, group, Counter::EventMax), 0, "the limit is its parent's");
    assert_eq!(counter(&mut world, MemcgId::ROOT, Counter::EventOom), 0);
    assert!(usage(&world, above) > 10, "a few batches at most are taken");
}

#[test]
fn a_charge_that_reclaim_cannot_help_fails_and_charges_nothing() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (file, above) = (world.file(), memcg(&mut world, MemcgId::ROOT));
    let group = memcg(&mut world, above);
    world.maps.memcg(above).expect("it is online").set_max(8);
    read(&mut world, file, 8, group);
    for index in 0..8 {
        // A task that found a page keeps it.
        let found = world.engine().filemap_get_folio(file, index).expect("it lives");
        assert!(found.is_some());
    }
    let free = world.env.free_pages();
    assert_eq!(try_read(&mut world, file, 8, group), Err(OutOfMemory::Limit(above).into()));
    assert_eq!((usage(&world, group), usage(&world, MemcgId::ROOT)), (8, 8));
    assert_eq!(world.env.free_pages(), free);
    assert_eq!(counter(&mut world, above, Counter::EventOom), 1);
    assert_eq!(counter(&mut world, above, Counter::EventMax), 17, "16 retries");
}

#[test]
fn reclaim_leaves_what_a_minimum_protects() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let top = memcg(&mut world, MemcgId::ROOT);
    let (kept, open) = (memcg(&mut world, top), memcg(&mut world, top));
    let files = [world.file(), world.file()];
    read(&mut world, files[0], 100, kept);
    read(&mut world, files[1], 100, open);
    world.maps.memcg(kept).expect("it is online").set_min(100);
    assert_eq!(ask(&mut world, top, "1G"), Err(Errno::EAGAIN));
    assert_eq!((usage(&world, kept), usage(&world, open)), (100, 0));
    assert_eq!(counter(&mut world, kept, Counter::PgscanProactive), 0, "not even looked at");
    let got = reclaim(&mut world, kept, 32);
    assert!(got >= 32, "for its own sake it is reclaimed");
}

#[test]
fn what_low_protects_is_taken_last_and_that_is_an_event() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let top = memcg(&mut world, MemcgId::ROOT);
    let (kept, open) = (memcg(&mut world, top), memcg(&mut world, top));
    let files = [world.file(), world.file()];
    read(&mut world, files[0], 100, kept);
    read(&mut world, files[1], 100, open);
    world.maps.memcg(kept).expect("it is online").set_low(100);
    while usage(&world, open) > 0 {
        assert!(reclaim(&mut world, top, 32) > 0);
        assert_eq!(usage(&world, kept), 100);
    }
    assert_eq!(counter(&mut world, kept, Counter::EventLow), 0);
    assert!(reclaim(&mut world, top, 32) > 0);
    assert!(usage(&world, kept) < 100);
    assert!(counter(&mut world, kept, Counter::EventLow) > 0);
}

#[test]
fn what_is_above_its_protection_gives_less_than_what_has_none() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let top = memcg(&mut world, MemcgId::ROOT);
    let (kept, open) = (memcg(&mut world, top), memcg(&mut world, top));
    let files = [world.file(), world.file()];
    read(&mut world, files[0], 256, kept);
    read(&mut world, files[1], 256, open);
    world.maps.memcg(kept).expect("it is online").set_low(192);
    reclaim(&mut world, top, 256);
    assert!(usage(&world, kept) >= 192, "{}", usage(&world, kept));
    assert!(usage(&world, open) < usage(&world, kept));
}

#[test]
fn cgroups_take_turns() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let top = memcg(&mut world, MemcgId::ROOT);
    let groups: Vec<_> = (0..4).map(|_| memcg(&mut world, top)).collect();
    for group in &groups {
        let file = world.file();
        read(&mut world, file, 128, *group);
    }
    for _ in 0..8 {
        assert!(reclaim(&mut world, top, 32) >= 32);
        let left = || groups.iter().map(|group| usage(&world, *group));
        let (most, least) = (left().max(), left().min());
        assert!(most <= least.map(|least| least + 32), "{:?}", left().collect::<Vec<_>>());
    }
}

#[test]
fn the_background_stops_at_the_high_watermark() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let file = world.file();
    read(&mut world, file, 500, MemcgId::ROOT);
    let free = world.env.free_pages() as u64;
    assert!(world.engine().balance(NodeId(0)).expect("a node"), "no watermark is met");
    assert_eq!(world.env.free_pages() as u64, free);
    world.maps.set_high_watermark(NodeId(0), free + 100).expect("a node");
    assert!(world.engine().balance(NodeId(0)).expect("a node"));
    let got = world.env.free_pages() as u64 - free;
    assert!(got >= 100, "{got}");
    assert_eq!(counter(&mut world, MemcgId::ROOT, Counter::PgstealKswapd), got);
    assert_eq!(counter(&mut world, MemcgId::ROOT, Counter::Pageoutrun), 2);
    world.maps.set_high_watermark(NodeId(0), ROOM.frames as u64 + 1).expect("a node");
    let free = world.env.free_pages();
    assert!(!world.engine().balance(NodeId(0)).expect("a node"), "not to be had");
    assert!(world.env.free_pages() > free + 200, "but most of what there is was taken");
}

#[test]
fn what_comes_back_soon_is_active_and_what_comes_late_is_not() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (file, group) = (world.file(), memcg(&mut world, MemcgId::ROOT));
    let busy = world.file();
    // There are 100 active pages: an evicted page may refault that much later.
    for index in 0..100 {
        let id = try_read(&mut world, busy, index, group).expect("room");
        world.engine().activate(id).expect("it lives");
    }
    read(&mut world, file, 300, group);
    let evicted = ask(&mut world, group, "800K").expect("enough is there");
    assert!((200..300).contains(&evicted), "{evicted}");
    try_read(&mut world, file, evicted - 1, group).expect("room");
    assert_eq!(counter(&mut world, group, Counter::WorkingsetActivateFile), 1, "the last to go");
    try_read(&mut world, file, 0, group).expect("room");
    assert_eq!(counter(&mut world, group, Counter::WorkingsetRefaultFile), 2);
    assert_eq!(counter(&mut world, group, Counter::WorkingsetActivateFile), 1, "the first to go");
    assert_eq!(counter(&mut world, group, Counter::WorkingsetRestoreFile), 0);
    assert_eq!(world.maps.lru_size(group, LruList::ActiveFile).expect("it is online"), 101);
}

#[test]
fn a_request_is_in_pages_of_the_format() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let (file, group) = (world.file(), memcg(&mut world, MemcgId::ROOT));
    read(&mut world, file, 64, group);
    let got = ask(&mut world, group, &(33 * PAGE).to_string()).expect("enough is there");
    assert!((33..=64).contains(&got), "{got} pages");
    assert_eq!(usage(&world, group), 64 - got);
}

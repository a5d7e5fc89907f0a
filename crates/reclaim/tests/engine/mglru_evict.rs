//! Eviction from generations as a whole: the pages taken, in which order and from which cgroup, and
//! the counters.

use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::Format;
use pageout_paging::pte::SmallX86;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Agent, Counter, Errno, FolioFlags, FolioId, Frames, Limits, LruFlags, LruList, MappingId,
    MemcgId, MmId, NodeId, Recency, ReclaimOptions, ReclaimRequest, Tuning, VmFlags,
};
use pageout_sim::Answer;
use std::sync::atomic::Ordering::Relaxed;

type W<'a> = World<'a, SmallX86>;

const ROOT: MemcgId = MemcgId::ROOT;
pub(crate) const ROOM: Limits = Limits {
    folios: 600,
    shadows: 1024,
    memcgs: 16,
    slots: 256,
    vmas: 600,
    mappings: 10,
    ..LIMITS
};

fn memcg(world: &mut W<'_>, parent: MemcgId) -> MemcgId {
    world.engine().add_memcg(parent).expect("room")
}

/// Runs a test with generations in use.
fn on_generations(test: impl Fn(&mut W<'_>, Tuning)) {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    world.engine().set_lru_gen_caps(LruGenCaps::all());
    test(&mut world, tuning());
    for list in LruList::ALL {
        let listed: u64 = world.maps.lru_size(ROOT, list).expect("it is online");
        assert!(listed <= ROOM.frames as u64, "{list:?}: {listed} pages");
    }
}

/// Reads in a page of a file that is mapped nowhere.
pub(crate) fn read_one(world: &mut W<'_>, file: MappingId, index: u64, memcg: MemcgId) -> FolioId {
    let id = world.folio(file, 0, index);
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.on(env, cpu, tuning()).charge(id, memcg).expect("no limit");
    if let Some(shadow) =
        maps.on(env, cpu, tuning()).filemap_add_folio(id).expect("nothing is there")
    {
        maps.on(&world.env, cpu, tuning()).workingset_refault(id, shadow).expect("it lives");
    }
    world.flag(id, FolioFlags::UPTODATE);
    world.engine().lru_add(id).expect("it lives");
    world.engine().release(id, 1).expect("the caller has it");
    id
}

fn read(world: &mut W<'_>, file: MappingId, pages: u64, memcg: MemcgId) -> Vec<FolioId> {
    (0..pages).map(|index| read_one(world, file, index, memcg)).collect()
}

/// Adds a page that is mapped, of a file or anonymous.
pub(crate) fn map_one(
    world: &mut W<'_>,
    mm: MmId,
    mapping: MappingId,
    index: u64,
    memcg: MemcgId,
) -> FolioId {
    let id = world.folio(mapping, 0, index);
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.on(env, cpu, tuning()).charge(id, memcg).expect("no limit");
    if !maps.folio(id).expect("it lives").flags().contains(FolioFlags::ANON) {
        maps.on(env, cpu, tuning()).filemap_add_folio(id).expect("nothing is there");
    }
    world.flag(id, FolioFlags::UPTODATE);
    world.engine().lru_add(id).expect("it lives");
    let flags = VmFlags::READ | VmFlags::WRITE;
    let vma = world.vma(mm, index..index + 1, flags, mapping, index);
    world.map(vma, id);
    world.engine().release(id, 1).expect("the caller has it");
    id
}

fn is_cached(world: &mut W<'_>, file: MappingId, index: u64) -> bool {
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let found = maps.on(env, cpu, tuning()).filemap_get_folio(file, index).expect("it lives");
    found
        .inspect(|id| maps.on(env, cpu, tuning()).release(*id, 1).expect("the caller has it"))
        .is_some()
}

fn ask(world: &mut W<'_>, memcg: MemcgId, text: &str, tuning: Tuning) -> Result<u64, Errno> {
    world.tuned(tuning).memory_reclaim(memcg, ReclaimRequest::parse(text)?)
}

fn reclaim(
    world: &mut W<'_>,
    memcg: MemcgId,
    pages: u64,
    swappiness: Option<u8>,
    tuning: Tuning,
) -> u64 {
    let options = ReclaimOptions { may_swap: true, swappiness, agent: Agent::Direct };
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.on(env, cpu, tuning)
        .try_to_free_mem_cgroup_pages(memcg, pages, options)
        .expect("it is online")
}

fn usage(world: &W<'_>, memcg: MemcgId) -> u64 {
    world.maps.memcg(memcg).expect("it is online").usage()
}

fn counter(world: &mut W<'_>, memcg: MemcgId, counter: Counter) -> u64 {
    world.engine().counter(memcg, counter).expect("it is online")
}

#[test]
fn what_is_asked_for_comes_from_the_oldest_generation_in_order() {
    on_generations(|world, tuning| {
        let (file, group) = (world.file(), memcg(world, ROOT));
        read(world, file, 400, group);
        let free = world.env.free_pages();
        let got = ask(world, group, "512K", tuning).expect("enough is there");
        assert!((128..256).contains(&got), "{got} pages");
        assert_eq!(world.env.free_pages(), free + got as usize);
        for index in 0..400 {
            assert_eq!(is_cached(world, file, index), index >= got, "page {index}");
        }
        assert_eq!(usage(world, group), 400 - got);
        assert_eq!(
            world.maps.lru_size(ROOT, LruList::InactiveFile).expect("it is online"),
            400 - got
        );
        for scanned in [Counter::PgscanProactive, Counter::PgscanFile] {
            assert_eq!(counter(world, group, scanned), got, "{scanned:?}: what was isolated");
        }
        for stolen in [Counter::PgstealProactive, Counter::PgstealFile] {
            assert_eq!(counter(world, group, stolen), got);
        }
        assert_eq!(counter(world, group, Counter::Pgrefill), 0, "all was where it belongs");
    });
}

#[test]
fn the_youngest_generations_are_given_up_only_by_opening_new_ones() {
    on_generations(|world, tuning| {
        let (file, group) = (world.file(), memcg(world, ROOT));
        let folios = read(world, file, 100, group);
        for id in &folios[..50] {
            world.engine().activate(*id).expect("it lives");
        }
        assert_eq!(world.maps.lru_size(group, LruList::ActiveFile).expect("it is online"), 50);
        assert_eq!(ask(world, group, "1G", tuning), Err(Errno::EAGAIN));
        assert_eq!(usage(world, group), 0, "all of them age in the end");
        for list in LruList::ALL {
            assert_eq!(world.maps.lru_size(ROOT, list).expect("it is online"), 0, "{list:?}");
        }
        assert_eq!(counter(world, group, Counter::PgstealProactive), 100);
    });
}

#[test]
fn a_folio_used_through_file_descriptors_outlives_those_never_used() {
    on_generations(|world, tuning| {
        let (file, group) = (world.file(), memcg(world, ROOT));
        let folios = read(world, file, 200, group);
        // It is used five times: its counter is full, and it is marked as part of a working set.
        for id in folios.iter().step_by(10) {
            (0..5).for_each(|_| world.engine().mark_accessed(*id).expect("it lives"));
        }
        let got = reclaim(world, group, 100, None, tuning);
        assert!((100..=180).contains(&got), "{got}");
        for index in (0..200).step_by(10) {
            assert!(is_cached(world, file, index), "page {index} was used");
        }
        let refilled = counter(world, group, Counter::Pgrefill);
        assert!(refilled > 0, "used ones were moved on");
        assert_eq!(counter(world, group, Counter::PgscanDirect), got, "and not isolated");
    });
}

#[test]
fn anonymous_memory_goes_to_swap_where_there_is_enough() {
    on_generations(|world, tuning| {
        let (mm, anon, group) = (world.process(), world.anon(), memcg(world, ROOT));
        for index in 0..128 {
            map_one(world, mm, anon, index, group);
            world.change(mm, index, SmallX86::mkdirty);
        }
        let got = reclaim(world, group, 64, Some(201), tuning);
        assert!((64..=128).contains(&got), "{got}");
        assert_eq!(counter(world, group, Counter::PgstealAnon), got);
        assert_eq!(counter(world, group, Counter::Pswpout), got);
        // Fewer than 64 free slots count as none.
        let left = world.maps.free_slots() as u64;
        assert_eq!(left, ROOM.slots as u64 - got);
        assert_eq!(world.maps.dropped_tlb_batches(), 0);
    });
}

#[test]
fn with_little_swap_left_files_alone_are_evicted() {
    for slots in [63, 64] {
        let limits = Limits { slots, ..ROOM };
        let mut arena = Arena::new::<SmallX86>(&limits);
        let mut world: W<'_> = arena.world();
        world.engine().set_lru_gen_caps(LruGenCaps::all());
        let (mm, anon, group) = (world.process(), world.anon(), memcg(&mut world, ROOT));
        for index in 0..32 {
            map_one(&mut world, mm, anon, index, group);
        }
        let got = reclaim(&mut world, group, 32, Some(200), tuning());
        assert_eq!(got > 0, slots == 64, "{got} with {slots} slots");
        let got = reclaim(&mut world, group, 32, Some(201), tuning());
        assert!(got > 0, "what asks for anonymous memory alone gets the last slots");
    }
}

#[test]
fn a_mapped_folio_in_use_is_kept_as_long_as_it_is_used() {
    on_generations(|world, tuning| {
        let (mm, file, group) = (world.process(), world.file(), memcg(world, ROOT));
        let folios: Vec<_> = (0..128).map(|n| map_one(world, mm, file, n, group)).collect();
        // Use by processes of other cgroups would not count.
        world.engine().set_memcg(mm, group).expect("it lives");
        world.touch(mm, 3);
        let got = reclaim(world, group, 32, None, tuning);
        assert!((32..64).contains(&got), "{got}");
        for index in 0..128 {
            let kept = index == 3 || index > got;
            assert_eq!(is_cached(world, file, index), kept, "page {index} of {got}");
        }
        let folio = world.maps.folio(folios[3]).expect("it lives");
        assert!(folio.recency().generation().is_some(), "it is on a generation's list");
        assert!(!folio.lru().contains(LruFlags::ACTIVE), "which says how active it is");
        while reclaim(world, group, 32, None, tuning) > 0 {}
        assert_eq!(usage(world, group), 0, "unused since, it goes with the others");
    });
}

#[test]
fn what_is_used_between_reclaims_outlives_what_is_not() {
    on_generations(|world, tuning| {
        let (mm, file, group) = (world.process(), world.file(), memcg(world, ROOT));
        world.engine().set_memcg(mm, group).expect("it lives");
        for index in 0..128 {
            map_one(world, mm, file, index, group);
        }
        // Without their use they would be evicted first.
        while usage(world, group) > 64 {
            (0..32).for_each(|index| world.touch(mm, index));
            world.maps.lru_gen_use_mm(mm).expect("it lives");
            assert!(reclaim(world, group, 16, None, tuning) > 0);
            assert!((0..32).all(|index| is_cached(world, file, index)));
        }
        while reclaim(world, group, 32, None, tuning) > 0 {}
        assert_eq!(usage(world, group), 0, "unused, they go");
        let seen = world.maps.mm_stats(group).expect("it is online");
        assert!(seen.leaf_total > 0, "page tables were walked on the way: {seen:?}");
    });
}

#[test]
fn dirty_pages_of_files_wait_for_their_flushers() {
    on_generations(|world, tuning| {
        let (file, group) = (world.file(), memcg(world, ROOT));
        let folios = read(world, file, 32, group);
        folios.iter().for_each(|id| world.flag(*id, FolioFlags::DIRTY));
        assert_eq!(reclaim(world, group, 32, None, tuning), 0);
        for id in &folios {
            assert!(world.maps.folio(*id).expect("it lives").recency().contains(Recency::RECLAIM));
        }
        assert!(world.env.memory().storage.transfers().is_empty(), "reclaim writes none itself");
        assert!(world.cpu.events().wakeup_flusher > 0, "so the flushers are told");
        let [scanned, activated, rotated] =
            [Counter::PgscanDirect, Counter::Pgactivate, Counter::PgrotateFile]
                .map(|of| counter(world, group, of));
        assert!(scanned >= 32 && activated == scanned, "and made active");
        assert_eq!(rotated, scanned, "all in vain");
        assert_eq!(usage(world, group), 32);
    });
}

#[test]
fn flushers_are_left_alone_while_there_is_anything_clean() {
    on_generations(|world, tuning| {
        let (file, group) = (world.file(), memcg(world, ROOT));
        let folios = read(world, file, 128, group);
        // The first two rounds find one folio each.
        let some = folios.iter().skip(2).step_by(4);
        some.for_each(|id| world.flag(*id, FolioFlags::DIRTY));
        assert!(reclaim(world, group, 32, None, tuning) >= 32);
        assert_eq!(world.cpu.events().wakeup_flusher, 0);
    });
}

#[test]
fn what_is_being_written_comes_back_when_it_was() {
    on_generations(|world, tuning| {
        let (mm, anon, group) = (world.process(), world.anon(), memcg(world, ROOT));
        for index in 0..32 {
            map_one(world, mm, anon, index, group);
            world.change(mm, index, SmallX86::mkdirty);
        }
        world.env.memory().storage.answers(Answer::Late);
        assert_eq!(reclaim(world, group, 32, Some(201), tuning), 0, "all is being written");
        assert_eq!(world.finish_io(true), 32);
        let scanned = counter(world, group, Counter::PgscanAnon);
        assert_eq!(reclaim(world, group, 32, Some(201), tuning), 32);
        assert_eq!(counter(world, group, Counter::PgscanAnon), scanned + 32);
        assert!(world.env.memory().storage.late.is_empty(), "written once");
    });
}

#[test]
fn reclaim_of_the_machine_visits_every_cgroup_in_turn() {
    on_generations(|world, tuning| {
        let groups: Vec<_> = (0..8).map(|_| memcg(world, ROOT)).collect();
        for group in &groups {
            let file = world.file();
            read(world, file, 64, *group);
        }
        let mut got = 0;
        while got < 256 {
            let nr = world.tuned(tuning).try_to_free_pages();
            assert!(nr > 0, "after {got}");
            got += nr;
        }
        let left: Vec<_> = groups.iter().map(|group| usage(world, *group)).collect();
        assert_eq!(left.iter().sum::<u64>(), 512 - got);
        assert!(left.iter().all(|left| *left < 64), "all gave some: {left:?}");
    });
}

#[test]
fn the_background_stops_at_the_high_watermark() {
    on_generations(|world, tuning| {
        let groups: Vec<_> = (0..4).map(|_| memcg(world, ROOT)).collect();
        for group in &groups {
            let file = world.file();
            read(world, file, 125, *group);
        }
        let free = world.env.free_pages() as u64;
        world.maps.set_high_watermark(NodeId(0), free + 100).expect("a node");
        assert!(world.tuned(tuning).balance(NodeId(0)).expect("a node"));
        let got = world.env.free_pages() as u64 - free;
        // It goes on up to 64 pages above the watermark, and a round may take 64 more.
        assert!((100..=100 + 64 + 64).contains(&got), "{got}");
        assert_eq!(counter(world, ROOT, Counter::PgstealKswapd), got);
        assert_eq!(counter(world, ROOT, Counter::PgscanKswapd), got);
    });
}

#[test]
fn what_a_minimum_protects_is_not_looked_at() {
    on_generations(|world, tuning| {
        let top = memcg(world, ROOT);
        let (kept, open) = (memcg(world, top), memcg(world, top));
        let files = [world.file(), world.file()];
        read(world, files[0], 100, kept);
        read(world, files[1], 100, open);
        world.maps.memcg(top).expect("it is online").set_min(100);
        world.maps.memcg(kept).expect("it is online").set_min(100);
        while world.tuned(tuning).try_to_free_pages() > 0 {}
        assert_eq!((usage(world, kept), usage(world, open)), (100, 0));
        assert_eq!(ask(world, top, "1G", tuning), Err(Errno::EAGAIN));
        assert_eq!(counter(world, kept, Counter::PgscanFile), 0);
        assert!(reclaim(world, kept, 32, None, tuning) >= 32, "but for its own sake");
    });
}

#[test]
fn what_low_protects_is_taken_last_and_that_is_an_event() {
    on_generations(|world, tuning| {
        let (kept, open) = (memcg(world, ROOT), memcg(world, ROOT));
        let files = [world.file(), world.file()];
        read(world, files[0], 100, kept);
        read(world, files[1], 100, open);
        world.maps.memcg(kept).expect("it is online").set_low(100);
        // In each pass over the cgroups, the first visit puts the cgroup off.
        while usage(world, open) > 60 {
            assert!(world.tuned(tuning).try_to_free_pages() > 0);
        }
        assert_eq!(usage(world, kept), 100);
        while world.tuned(tuning).try_to_free_pages() > 0 {}
        assert!(counter(world, kept, Counter::EventLow) > 0);
        assert_eq!((usage(world, kept), usage(world, open)), (0, 0));
    });
}

#[test]
fn memory_in_use_is_kept_for_its_time_to_live() {
    on_generations(|world, tuning| {
        let (file, group) = (world.file(), memcg(world, ROOT));
        read(world, file, 100, group);
        assert_eq!(world.maps.min_ttl_ms(), 0);
        world.maps.set_min_ttl_ms(1000);
        // (now, true if no memory is old enough)
        for (now, young) in [(0, true), (1000, true), (1001, false)] {
            world.env.task.now_ms.store(now, Relaxed);
            let before = world.cpu.events().out_of_memory;
            world
                .maps
                .set_high_watermark(NodeId(0), world.env.free_pages() as u64 + 1)
                .expect("a node");
            world.tuned(tuning).balance(NodeId(0)).expect("a node");
            let said = world.cpu.events().out_of_memory - before;
            assert_eq!(said > 0, young, "at {now}");
        }
        world.maps.set_min_ttl_ms(0);
        let before = world.cpu.events().out_of_memory;
        world.env.task.now_ms.store(0, Relaxed);
        world.tuned(tuning).balance(NodeId(0)).expect("a node");
        assert_eq!(world.cpu.events().out_of_memory, before, "0 is off");
    });
}

#[test]
fn a_signal_ends_what_user_space_asked_for() {
    on_generations(|world, tuning| {
        let (file, group) = (world.file(), memcg(world, ROOT));
        read(world, file, 300, group);
        world.env.task.signal.store(true, Relaxed);
        let options = ReclaimOptions { may_swap: true, swappiness: None, agent: Agent::Proactive };
        let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
        let got = maps
            .on(env, cpu, tuning)
            .try_to_free_mem_cgroup_pages(group, 256, options)
            .expect("it is online");
        assert!(got > 0 && got < 256, "{got}: the round that was begun is finished");
    });
}

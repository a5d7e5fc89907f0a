//! The type of memory that reclaim takes, files' pages or anonymous ones: by swappiness, by free
//! swap, and by the cost of each.

use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::Pfn;
use pageout_paging::pte::SmallX86;
use pageout_reclaim::{
    Counter, Errno, FolioFlags, Frames, Limits, LruList, MappingId, MemcgId, MmId, NodeId,
    ReclaimRequest, VmFlags,
};

type W<'a> = World<'a, SmallX86>;

const ROOM: Limits =
    Limits { folios: 600, shadows: 512, slots: 400, memcgs: 2, mms: 40, vmas: 40, ..LIMITS };
/// The pages of one process: as many as fit its few small page tables.
const PART: u64 = 16;

/// A cgroup that holds old anonymous pages and as many unmapped ones of a file.
struct Both<'a> {
    world: W<'a>,
    group: MemcgId,
    anon: Vec<(MmId, MappingId)>,
}

fn both(arena: &mut Arena, pages: u64) -> Both<'_> {
    let mut world: W<'_> = arena.world();
    let group = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    let file = world.file();
    let mapping = world.anon();
    let mut anon = vec![];
    for part in 0..pages / PART {
        let mm = world.process();
        let flags = VmFlags::READ | VmFlags::WRITE;
        let vma = world.vma(mm, 0..PART, flags, mapping, part * PART);
        for index in part * PART..(part + 1) * PART {
            let id = world.folio(mapping, 0, index);
            world.map(vma, id);
            enlist(&mut world, group, id, false);
            let id = world.folio(file, 0, index);
            enlist(&mut world, group, id, true);
        }
        anon.push((mm, mapping));
    }
    Both { world, group, anon }
}

/// Charges a new folio and puts it on a list, and in the index if it is a file's.
fn enlist(world: &mut W<'_>, group: MemcgId, id: pageout_reclaim::FolioId, file: bool) {
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.on(env, cpu, tuning()).charge(id, group).expect("no limit");
    let guard = maps.folio(id).expect("it lives").try_lock().expect("no one else knows it");
    guard.set(FolioFlags::UPTODATE);
    if file {
        let shadow = maps.on(env, cpu, tuning()).filemap_add_folio(id).expect("nothing is there");
        assert_eq!(shadow, None);
    }
    drop(guard);
    maps.on(env, cpu, tuning()).lru_add(id).expect("it lives");
    maps.on(env, cpu, tuning()).release(id, 1).expect("the caller has it");
}

impl Both<'_> {
    fn ask(&mut self, text: &str) -> Result<u64, Errno> {
        let world = &mut self.world;
        world.engine().memory_reclaim(self.group, ReclaimRequest::parse(text)?)
    }

    /// Activates the folios for whose flags `which` returns true.
    fn activate(&mut self, mut which: impl FnMut(FolioFlags) -> bool) {
        let (maps, env, cpu) = (&self.world.maps, &self.world.env, &mut self.world.cpu);
        let all = (0..ROOM.frames as u64).filter_map(|pfn| maps.folio_of(Pfn::new(pfn)));
        for id in all.filter(|id| which(maps.folio(*id).expect("it lives").flags())) {
            assert!(maps.on(env, cpu, tuning()).activate(id).expect("it lives"), "it was inactive");
        }
    }

    /// Returns the pages reclaimed: anonymous ones, and files'.
    fn stolen(&mut self) -> [u64; 2] {
        let (maps, env, cpu) = (&self.world.maps, &self.world.env, &mut self.world.cpu);
        [Counter::PgstealAnon, Counter::PgstealFile]
            .map(|c| maps.on(env, cpu, tuning()).counter(self.group, c).expect("it is online"))
    }

    fn slots_used(&self) -> u64 {
        (ROOM.slots - self.world.maps.free_slots()) as u64
    }
}

#[test]
fn at_swappiness_0_a_cgroup_gives_files_alone() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut both = both(&mut arena, 128);
    assert_eq!(both.ask("1M swappiness=0"), Err(Errno::EAGAIN));
    assert_eq!(both.stolen(), [0, 128]);
    assert_eq!(both.slots_used(), 0);
}

#[test]
fn at_swappiness_max_a_cgroup_gives_anonymous_memory_alone() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut both = both(&mut arena, 128);
    let got = both.ask("256K swappiness=max").expect("enough is there");
    assert_eq!(both.stolen(), [got, 0]);
    assert_eq!(both.slots_used(), got, "each page has its slot");
    let (maps, group) = (&both.world.maps, both.group);
    assert_eq!(maps.lru_size(group, LruList::InactiveAnon).expect("it is online"), 128 - got);
    let swapped: usize = both
        .anon
        .iter()
        .flat_map(|(mm, _)| both.world.entries(*mm, 0..PART))
        .filter(|pte| !pte.is_none() && pte.0 & 1 == 0)
        .count();
    assert_eq!(swapped as u64, got, "and each entry names one");
}

#[test]
fn as_long_as_files_that_do_not_come_back_suffice_they_give_alone() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut both = both(&mut arena, 256);
    let got = both.ask("512K swappiness=100").expect("enough is there");
    assert_eq!(both.stolen(), [0, got]);
}

/// Takes a reference to every page of the file, so that none of them can be reclaimed.
fn hold_files(both: &mut Both<'_>) {
    let (maps, env, cpu) = (&both.world.maps, &both.world.env, &mut both.world.cpu);
    let all = (0..ROOM.frames as u64).filter_map(|pfn| maps.folio_of(Pfn::new(pfn)));
    let files =
        all.filter(|id| !maps.folio(*id).expect("it lives").flags().contains(FolioFlags::ANON));
    for folio in files.map(|id| maps.folio(id).expect("it lives")) {
        let found = maps
            .on(env, cpu, tuning())
            .filemap_get_folio(maps.mapping_of(folio), folio.index())
            .expect("it lives");
        assert!(found.is_some(), "each is in its index");
    }
}

#[test]
fn files_are_tried_alone_up_to_the_last_priority_though_they_give_nothing() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut both = both(&mut arena, 128);
    hold_files(&mut both);
    let got = both.ask("128K swappiness=200").expect("enough is there");
    assert_eq!(both.stolen(), [got, 0]);
    let (maps, env, cpu) = (&both.world.maps, &both.world.env, &mut both.world.cpu);
    let scanned =
        maps.on(env, cpu, tuning()).counter(both.group, Counter::PgscanFile).expect("it is online");
    // 128 pages are shifted by the priorities from 7 to 1. At 0, it is the pages that anonymous
    // memory gave first.
    assert!(scanned >= 127, "{scanned}");
}

#[test]
fn the_background_starts_anew_with_both_when_files_alone_give_nothing() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut both = both(&mut arena, 128);
    hold_files(&mut both);
    let free = both.world.env.free_pages() as u64;
    both.world.maps.set_high_watermark(NodeId(0), free + 10).expect("a node");
    let world = &mut both.world;
    assert!(world.engine().balance(NodeId(0)).expect("a node"));
    let [anon, file] = both.stolen();
    assert!(anon >= 10 && file == 0, "{anon} and {file}");
}

#[test]
fn where_most_of_a_file_is_active_both_give_by_swappiness() {
    let mut seen = vec![];
    for text in ["512K swappiness=20", "512K swappiness=180"] {
        let mut arena = Arena::new::<SmallX86>(&ROOM);
        let mut both = both(&mut arena, 256);
        let mut files = 0;
        both.activate(|flags| {
            files += u64::from(!flags.contains(FolioFlags::ANON));
            !flags.contains(FolioFlags::ANON) && !files.is_multiple_of(3)
        });
        both.ask(text).expect("enough is there");
        seen.push(both.stolen());
    }
    let [[anon, file], [more, less]] = seen[..] else { unreachable!("two were asked for") };
    assert!(anon > 0 && file > 2 * anon, "{anon} and {file}");
    assert!(less > 0 && more > 2 * less, "{more} and {less}");
}

#[test]
fn when_swap_is_full_files_are_taken_unless_swap_alone_was_asked_for() {
    for (swappiness, files) in [("max", 0), ("200", 128)] {
        let limits = Limits { slots: 32, ..ROOM };
        let mut arena = Arena::new::<SmallX86>(&limits);
        let mut both = both(&mut arena, 128);
        assert_eq!(both.ask(&format!("1M swappiness={swappiness}")), Err(Errno::EAGAIN));
        assert_eq!(both.stolen(), [32, files], "{swappiness}");
    }
}

#[test]
fn a_limit_is_kept_by_swapping_where_there_are_no_files() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut both = both(&mut arena, 64);
    both.ask("1M swappiness=0").expect_err("only 64 pages are a file's");
    both.world.maps.memcg(both.group).expect("it is online").set_max(64);
    let mapping = both.anon[0].1;
    let (mm, world) = (both.world.process(), &mut both.world);
    let vma = world.vma(mm, 0..PART, VmFlags::READ | VmFlags::WRITE, mapping, 64);
    for index in 64..64 + PART {
        let id = world.folio(mapping, 0, index);
        world.map(vma, id);
        enlist(world, both.group, id, false);
        assert!(world.maps.memcg(both.group).expect("it is online").usage() <= 64);
    }
    assert!(both.stolen()[0] >= PART);
    assert!(both.slots_used() >= PART);
}

#[test]
fn old_active_pages_are_reclaimed_too() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut both = both(&mut arena, 64);
    both.activate(|_| true);
    let world = &both.world;
    assert_eq!(world.maps.lru_size(both.group, LruList::InactiveFile).expect("it is online"), 0);
    assert_eq!(world.maps.lru_size(both.group, LruList::ActiveFile).expect("it is online"), 64);
    assert_eq!(both.ask("1M"), Err(Errno::EAGAIN));
    assert_eq!(both.stolen(), [64, 64]);
    let (maps, env, cpu) = (&both.world.maps, &both.world.env, &mut both.world.cpu);
    assert!(
        maps.on(env, cpu, tuning())
            .counter(both.group, Counter::Pgdeactivate)
            .expect("it is online")
            >= 128
    );
    assert!(
        maps.on(env, cpu, tuning()).counter(both.group, Counter::Pgrefill).expect("it is online")
            >= 128
    );
}

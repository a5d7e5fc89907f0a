//! Random calls with the ids of folios, VMAs and cgroups that are gone, that never were, and that
//! are of a larger engine: each is an error, and changes nothing.

use crate::cpu::{ROOM, RW, SHARED};
use crate::world::{Arena, World, pages, tuning};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::SmallX86;
use pageout_paging::walk::TableFrames;
use pageout_paging::{LockEvent, LockWord};
use pageout_reclaim::{
    AddMemcgError, Advice, Agent, BadId, ChargeError, Counter, CpuCtx, Errno, FolioId, IndexError,
    IoError, LruAddError, LruList, LruvecId, MapAs, MapError, MappingId, MemcgBusy, MemcgId, MmId,
    NodeId, NodeStartError, ReclaimOptions, ReclaimRequest, ReleaseError, SlotError, SwapSlot,
    TableKind, TlbBatch, TransferError, VmaId,
};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

type W<'a> = World<'a, SmallX86>;

const NO_FOLIO: BadId = BadId(TableKind::Folios);
const NO_VMA: BadId = BadId(TableKind::Vmas);
const NO_SLOT: BadId = BadId(TableKind::Slots);
const NO_MEMCG: BadId = BadId(TableKind::Memcgs);
const NO_NODE: BadId = BadId(TableKind::Nodes);
/// The pages that the process maps: some of a file, then anonymous ones.
const PAGES: u64 = 16;

/// Numbers by xorshift.
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// The ids that calls are made with.
struct Ids<I> {
    /// Ids that were given out, whether what they name lives or not.
    given: Vec<I>,
    from_bits: fn(u64) -> Option<I>,
}

impl<I: Copy + Ord> Ids<I> {
    fn note(&mut self, id: I, draws: &mut Draws) {
        match self.given.len() {
            256 => self.given[draws.below(256) as usize] = id,
            _ => self.given.push(id),
        }
    }

    /// Returns an id that names nothing: one of the past, one with another generation, one of a
    /// larger table, or any number.
    fn bad(&self, live: &BTreeSet<I>, draws: &mut Draws) -> I {
        loop {
            let id = match draws.below(4) {
                0 if !self.given.is_empty() => {
                    Some(self.given[draws.below(self.given.len() as u64) as usize])
                }
                1 => (self.from_bits)((draws.below(1 << 21) << 32) | draws.below(256)),
                2 => (self.from_bits)(1 << 32 | (256 + draws.below(1 << 20))),
                _ => (self.from_bits)(draws.below(u64::MAX)),
            };
            if let Some(id) = id.filter(|id| !live.contains(id)) {
                return id;
            }
        }
    }
}

/// A process that maps a file and anonymous memory, and ids of the past.
struct Ground<'a> {
    world: W<'a>,
    mm: MmId,
    maps: [MappingId; 2],
    vmas: [VmaId; 2],
    /// A cgroup that is there, if there is one.
    group: Option<MemcgId>,
    folios: Ids<FolioId>,
    past: Ids<VmaId>,
    groups: Ids<MemcgId>,
    draws: Draws,
}

impl<'a> Ground<'a> {
    fn new(mut world: W<'a>, seed: u64) -> Self {
        let mm = world.process();
        let maps = [world.file(), world.anon()];
        let vmas = [world.vma(mm, 0..8, SHARED, maps[0], 0), world.vma(mm, 8..16, RW, maps[1], 8)];
        let folios = Ids { given: Vec::new(), from_bits: FolioId::from_bits };
        let past = Ids { given: vmas.to_vec(), from_bits: VmaId::from_bits };
        let groups =
            Ids { given: Vec::new(), from_bits: |bits| Some(MemcgId::from_bits(bits as u32)) };
        Self { world, mm, maps, vmas, group: None, folios, past, groups, draws: Draws(seed) }
    }

    /// Returns the folios that frames belong to.
    fn live(&self) -> BTreeSet<FolioId> {
        (0..ROOM.frames as u64)
            .filter_map(|pfn| self.world.maps.folio_of(pageout_paging::Pfn::new(pfn)))
            .collect()
    }

    /// Makes and frees folios and VMAs, so that ids get old.
    fn churn(&mut self) {
        let page = self.draws.below(PAGES);
        match self.draws.below(10) {
            8 | 9 => match self.group.take() {
                Some(group) => assert_eq!(self.world.engine().remove_memcg(group), Ok(())),
                None => {
                    let group = self.world.engine().add_memcg(MemcgId::ROOT).expect("room");
                    self.group = Some(group);
                    self.groups.note(group, &mut self.draws);
                }
            },
            0 => {
                let at = pages::<SmallX86>(0..PAGES);
                let done = self.world.engine().madvise(self.mm, &at, Advice::PageOut);
                assert_eq!(done, Ok(()));
            }
            1 => assert_eq!(self.world.engine().truncate(self.maps[0], 0), Ok(())),
            2 => {
                let at = pages::<SmallX86>(8..PAGES);
                assert_eq!(self.world.engine().madvise(self.mm, &at, Advice::DontNeed), Ok(()));
            }
            3 => {
                // The VMA is unmapped, and mapped anew.
                let k = usize::from(page >= 8);
                let (first, flags) = if k == 0 { (0, SHARED) } else { (8, RW) };
                assert_eq!(self.world.unmap_range(self.mm, first..first + 8), Ok(()));
                self.vmas[k] =
                    self.world.vma(self.mm, first..first + 8, flags, self.maps[k], first);
                self.past.note(self.vmas[k], &mut self.draws);
            }
            _ => {
                assert_eq!(self.world.store(0, self.mm, page, page), Ok(()));
                let id = self.world.folio_at(self.mm, page);
                self.folios.note(id, &mut self.draws);
            }
        }
    }

    /// Makes all calls that take a folio with one that names nothing.
    fn with_bad_folio(&mut self, live: &BTreeSet<FolioId>) {
        let bad = self.folios.bad(live, &mut self.draws);
        let vma = self.vmas[0];
        let (mapped, zapped) =
            (self.world.try_map(vma, bad, MapAs::Ptes), self.world.engine().zap_folio(vma, bad));
        assert_eq!((mapped, zapped), (Err(MapError::BadId(NO_FOLIO)), Err(NO_FOLIO)));
        let maps = self.world.maps.folio(bad).err();
        assert_eq!(maps, Some(NO_FOLIO));
        assert!(!self.world.maps.transfer_is_pending(bad));
        let mut engine = self.world.engine();
        assert_eq!(engine.lru_add(bad), Err(LruAddError::BadId(NO_FOLIO)));
        assert_eq!(engine.activate(bad), Err(NO_FOLIO));
        assert_eq!(engine.deactivate(bad), Err(NO_FOLIO));
        assert_eq!(engine.mark_accessed(bad), Err(NO_FOLIO));
        assert_eq!(engine.charge(bad, MemcgId::ROOT), Err(ChargeError::BadId(NO_FOLIO)));
        assert_eq!(engine.filemap_add_folio(bad), Err(IndexError::BadId(NO_FOLIO)));
        assert_eq!(engine.filemap_remove_folio(bad), Err(IndexError::BadId(NO_FOLIO)));
        assert_eq!(engine.remove_folio(bad), Err(ReleaseError::BadId(NO_FOLIO)));
        assert_eq!(engine.folio_referenced(bad, None, None), Err(NO_FOLIO));
        assert_eq!(engine.write_back(bad), Err(NO_FOLIO));
        for result in [Ok(()), Err(IoError::Device)] {
            assert_eq!(engine.read_done(bad, result), Err(TransferError::BadId(NO_FOLIO)));
            assert_eq!(engine.write_done(bad, result), Err(TransferError::BadId(NO_FOLIO)));
        }
        for refs in [0, 1, u32::MAX] {
            assert_eq!(engine.release(bad, refs), Err(ReleaseError::BadId(NO_FOLIO)));
            let mut tlb_batch = TlbBatch::new(&engine);
            let put = tlb_batch.put_after(&mut engine, bad, refs);
            assert_eq!(put, Err(ReleaseError::BadId(NO_FOLIO)));
            tlb_batch.finish(&mut engine);
        }
    }

    /// Makes the calls that take a folio and its guard, with a guard and a folio that is not the
    /// guard's.
    fn with_other_guard(&mut self, live: &BTreeSet<FolioId>) {
        let Some(own) = live.iter().nth(self.draws.below(live.len().max(1) as u64) as usize) else {
            return;
        };
        let other = live.iter().find(|id| *id != own).filter(|_| self.draws.below(2) == 0);
        let bad = other.copied().unwrap_or_else(|| self.folios.bad(live, &mut self.draws));
        let maps = &self.world.maps;
        let engine = &mut maps.on(&self.world.env, &mut self.world.cpu, tuning());
        let guard = maps.folio(*own).expect("it lives").try_lock().expect("no one else is here");
        assert_eq!(engine.folio_referenced(bad, Some(&guard), None), Err(NO_FOLIO));
        assert_eq!(engine.lazyfree(&guard, bad), Err(NO_FOLIO));
        let added = engine.swap_cache_add_folio(&guard, bad, SwapSlot(0));
        assert_eq!(added, Err(IndexError::BadId(NO_FOLIO)));
        let mut tlb_batch = TlbBatch::new(engine);
        assert_eq!(tlb_batch.write_out(&guard, bad), Err(NO_FOLIO));
        drop(guard);
        tlb_batch.finish(engine);
    }

    /// Makes all calls that take a VMA with one that names nothing.
    fn with_bad_vma(&mut self, live: &BTreeSet<FolioId>) {
        let bad = self.past.bad(&self.vmas.into(), &mut self.draws);
        assert_eq!(self.world.maps.vma(bad).err(), Some(NO_VMA));
        assert_eq!(self.world.engine().munmap(bad), Err(NO_VMA));
        if let Some(folio) = live.first() {
            let mapped = self.world.try_map(bad, *folio, MapAs::Ptes);
            assert_eq!(mapped, Err(MapError::BadId(NO_VMA)));
            assert_eq!(self.world.engine().zap_folio(bad, *folio), Err(NO_VMA));
        }
    }

    /// Makes all calls that take swap slots with some that are out of range, and counts entries of
    /// free ones.
    fn with_bad_slots(&mut self) {
        let first = ROOM.slots as u64 - self.draws.below(4);
        let nr = (ROOM.slots as u64 - first) as usize + 1 + self.draws.below(1 << 20) as usize;
        let past = SwapSlot(ROOM.slots as u32 + self.draws.below(u64::from(u32::MAX / 2)) as u32);
        assert_eq!(self.world.maps.slot_entries(past), Err(NO_SLOT));
        assert_eq!(self.world.maps.slot_shmem(past), Err(NO_SLOT));
        let mut engine = self.world.engine();
        assert_eq!(engine.swap_cache_get_folio(past), Err(NO_SLOT));
        for (slot, nr) in [(SwapSlot(first as u32), nr), (past, 0), (past, usize::MAX)] {
            assert_eq!(engine.swap_dup_entries(slot, nr), Err(SlotError::BadId(NO_SLOT)));
            assert_eq!(engine.swap_put_entries(slot, nr), Err(SlotError::BadId(NO_SLOT)));
        }
        let unnamed = (0..ROOM.slots as u32)
            .map(SwapSlot)
            .find(|slot| engine.maps().slot_entries(*slot) == Ok(0));
        if let Some(slot) = unnamed {
            assert_eq!(engine.swap_put_entries(slot, 1), Err(SlotError::Free));
        }
    }

    /// Makes all calls that take a cgroup with one that is not there.
    fn with_bad_memcg(&mut self, live: &BTreeSet<FolioId>) {
        let online = self.group.into_iter().chain([MemcgId::ROOT]).collect();
        let bad = self.groups.bad(&online, &mut self.draws);
        let maps = &self.world.maps;
        assert_eq!(maps.memcg(bad).err(), Some(NO_MEMCG));
        assert_eq!(maps.lru_size(bad, LruList::InactiveAnon), Err(NO_MEMCG));
        assert_eq!(maps.lru_gen_mms(bad).err(), Some(NO_MEMCG));
        let engine = &mut maps.on(&self.world.env, &mut self.world.cpu, tuning());
        assert_eq!(engine.add_memcg(bad), Err(AddMemcgError::BadId(NO_MEMCG)));
        assert_eq!(engine.remove_memcg(bad), Err(MemcgBusy::BadId(NO_MEMCG)));
        assert_eq!(engine.set_memcg(self.mm, bad), Err(NO_MEMCG));
        assert_eq!(engine.counter(bad, Counter::Pgfault), Err(NO_MEMCG));
        assert_eq!(engine.memory_stat(bad).err(), Some(NO_MEMCG));
        assert_eq!(engine.memory_events(bad).err(), Some(NO_MEMCG));
        let all = ReclaimRequest { bytes: u64::MAX, swappiness: None };
        assert_eq!(engine.memory_reclaim(bad, all), Err(Errno::ENODEV));
        let options = ReclaimOptions { may_swap: true, swappiness: None, agent: Agent::Direct };
        assert_eq!(engine.try_to_free_mem_cgroup_pages(bad, 1, options), Err(NO_MEMCG));
        if let Some(id) = live.first() {
            assert_eq!(engine.charge(*id, bad), Err(ChargeError::BadId(NO_MEMCG)));
            assert_eq!(engine.folio_referenced(*id, None, Some(bad)), Err(NO_MEMCG));
            let folio = maps.folio(*id).expect("it lives");
            assert_eq!(maps.workingset_eviction(folio, Some(bad)), Err(NO_MEMCG));
        }
    }

    /// Makes all calls that take a cgroup's lists on a node with some that are not there.
    fn with_bad_lruvec(&mut self) {
        let online = self.group.into_iter().chain([MemcgId::ROOT]).collect();
        let memcg = self.groups.bad(&online, &mut self.draws);
        let node = NodeId(1 + self.draws.below(255) as u8);
        let maps = &self.world.maps;
        let engine = &mut maps.on(&self.world.env, &mut self.world.cpu, tuning());
        assert_eq!(engine.balance(node), Err(NO_NODE));
        assert_eq!(maps.set_high_watermark(node, 1), Err(NO_NODE));
        let start = maps.set_node_start(pageout_paging::Pfn::new(0), node);
        assert_eq!(start, Err(NodeStartError::BadId(NO_NODE)));
        let lists = [
            (LruvecId { memcg, node: NodeId(0) }, NO_MEMCG),
            (LruvecId { memcg: MemcgId::ROOT, node }, NO_NODE),
        ];
        for (bad, error) in lists {
            let error = Some(error);
            assert_eq!(maps.lru_size_own(bad, LruList::ActiveFile).err(), error);
            assert_eq!(maps.lru_folios(bad, LruList::ActiveFile).err(), error);
            assert_eq!(maps.lru_gen_seqs(bad).err(), error);
            assert_eq!(maps.lru_gen_folios(bad, 0, 0, 0).err(), error);
            assert_eq!(maps.lru_gen_size(bad, 0, 0, 0).err(), error);
            assert_eq!(maps.lru_gen_filters(bad).err(), error);
            assert_eq!(maps.mm_stats(bad).err(), error);
            assert_eq!(maps.filter_population(bad).err(), error);
            assert_eq!(engine.lru_gen_generations(bad, true).err(), error);
            assert_eq!(engine.try_to_inc_max_seq(bad, 3, 60, true).err(), error);
        }
    }

    /// Ends everything, and checks that nothing is left.
    fn end(mut self) {
        self.world.exit(self.mm);
        assert_eq!(self.world.engine().truncate(self.maps[0], 0), Ok(()));
        for mapping in self.maps {
            assert_eq!(self.world.engine().remove_mapping(mapping), Ok(()));
        }
        self.world.all_is_free_but(0);
        assert!(self.live().is_empty());
    }
}

/// Makes about this many calls. Returns the number of them.
fn random_calls(seed: u64, most: u64) -> u64 {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut ground = Ground::new(arena.world(), seed);
    let mut calls = 0;
    while calls < most {
        ground.churn();
        let live = ground.live();
        for _ in 0..8 {
            ground.with_bad_folio(&live);
            ground.with_other_guard(&live);
            ground.with_bad_vma(&live);
            ground.with_bad_slots();
            ground.with_bad_memcg(&live);
            ground.with_bad_lruvec();
            calls += 80;
        }
        assert_eq!(ground.live(), live, "no call with a bad id changed anything");
    }
    ground.end();
    calls
}

#[test]
fn ids_that_name_nothing_are_errors_and_nothing_is_lost() {
    let calls: u64 = (1..=40).map(|seed| random_calls(seed, 25_000)).sum();
    assert!(calls >= 1_000_000);
}

#[test]
fn an_entry_used_anew_has_another_id() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let file = world.file();
    let mut seen = BTreeSet::new();
    for _ in 0..1000 {
        let id = world.folio(file, 0, 0);
        assert_eq!(id.index(), 0, "the free entry that was used last");
        assert!(seen.insert(id.to_bits()), "{id:?} was given out before");
        assert_eq!(FolioId::from_bits(id.to_bits()), Some(id));
        assert_eq!(world.engine().release(id, 1), Ok(()));
        assert_eq!(world.engine().release(id, 1), Err(ReleaseError::BadId(NO_FOLIO)));
    }
}

#[test]
fn a_folio_that_others_use_is_not_removed() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let file = world.file();
    let id = world.folio(file, 0, 0);
    assert_eq!(world.engine().filemap_remove_folio(id), Err(IndexError::Absent));
    assert_eq!(world.engine().filemap_add_folio(id), Ok(None));
    assert_eq!(world.engine().filemap_add_folio(id), Err(IndexError::Exists));
    {
        let engine = &mut world.engine();
        let mut tlb_batch = TlbBatch::new(engine);
        for refs in [2, u32::MAX] {
            let put = tlb_batch.put_after(engine, id, refs);
            assert_eq!(put, Err(ReleaseError::TooMany), "the index has one, and the caller one");
        }
        tlb_batch.finish(engine);
    }
    assert_eq!(world.engine().remove_folio(id), Err(ReleaseError::InUse));
    assert_eq!(world.engine().release(id, 1), Ok(()));
    assert_eq!(world.engine().remove_folio(id), Err(ReleaseError::InUse), "the index has it");
    assert_eq!(world.engine().filemap_remove_folio(id), Ok(()));
    assert_eq!(world.engine().charge(id, MemcgId::ROOT), Ok(()));
    assert_eq!(world.engine().charge(id, MemcgId::ROOT), Err(ChargeError::Charged));
    assert_eq!(world.engine().lru_add(id), Ok(()));
    assert_eq!(world.engine().lru_add(id), Err(LruAddError::Listed));
    assert_eq!(world.engine().remove_folio(id), Err(ReleaseError::InUse), "it is on a list");
    assert_eq!(world.engine().release(id, 1), Ok(()));
    world.all_pages_free();
}

/// Returns true the first time that a lock of a rank has an event.
fn first(done: &AtomicU64, found: (LockEvent, LockWord), wanted: (LockEvent, &str)) -> bool {
    (found.0, found.1.rank) == wanted && done.fetch_add(1, Relaxed) == 0
}

/// A cgroup that is removed while a process is about to join it gets no process.
#[test]
fn a_process_does_not_join_a_cgroup_that_is_removed_meanwhile() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let mm = world.process();
    let group = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let done = AtomicU64::new(0);
    let remove = |event, lock| {
        if first(&done, (event, lock), (LockEvent::Try, "mmap")) {
            let mut other = CpuCtx::new();
            assert_eq!(maps.on(env, &mut other, tuning()).remove_memcg(group), Ok(()));
        }
    };
    let watched = env.watched(&remove);
    assert_eq!(maps.on(&watched, cpu, tuning()).set_memcg(mm, group), Err(NO_MEMCG));
    assert!(done.load(Relaxed) > 0);
    assert_eq!(maps.memcg_of_mm(mm), Ok(MemcgId::ROOT));
    assert!(maps.lru_gen_mms(MemcgId::ROOT).expect("it is online").eq([mm]));
}

/// A child is in its parent's cgroup, or that cgroup stays until it is.
#[test]
fn a_child_is_in_a_cgroup_that_is_online() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let parent = world.process();
    let group = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    world.engine().set_memcg(parent, group).expect("both live");
    let root = world.tables.take().expect("room for a root");
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let [released, done] = [(); 2].map(|()| AtomicU64::new(0));
    // The first lock that is tried once the parent is not locked any more.
    let leave = |event, lock: LockWord| {
        released.fetch_add(u64::from((event, lock.rank) == (LockEvent::Release, "mmap")), Relaxed);
        if released.load(Relaxed) > 0 && first(&done, (event, lock), (LockEvent::Try, "mm-list")) {
            let mut other = CpuCtx::new();
            let mut engine = maps.on(env, &mut other, tuning());
            engine.set_memcg(parent, MemcgId::ROOT).expect("both live");
            assert_eq!(engine.remove_memcg(group), Ok(()));
        }
    };
    let watched = env.watched(&leave);
    let child = maps.on(&watched, cpu, tuning()).fork(parent, root, Asid(1)).expect("room");
    let of_child = maps.memcg_of_mm(child).expect("it lives");
    assert!(maps.memcg(of_child).is_ok(), "{of_child:?} was removed");
}

/// An address space that ends while it is moved to another cgroup leaves the lists whole.
#[test]
fn a_process_that_ends_while_it_is_moved_is_on_no_list() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    let [before, mm, after] = [(); 3].map(|()| world.process());
    let group = world.engine().add_memcg(MemcgId::ROOT).expect("room");
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let [locked, ends, moved] = [(); 3].map(|()| AtomicBool::new(false));
    let wait_for = |that: &AtomicBool| {
        while !that.load(Relaxed) {
            thread::yield_now();
        }
    };
    let in_move = |event, lock: LockWord| {
        if (event, lock.rank) == (LockEvent::Try, "memcgs") {
            locked.store(true, Relaxed);
            wait_for(&ends);
        }
    };
    let in_exit = |event, lock: LockWord| match (event, lock.rank) {
        (LockEvent::Wait, "mmap") => ends.store(true, Relaxed),
        (LockEvent::Try, "mm-list") => {
            ends.store(true, Relaxed);
            wait_for(&moved);
        }
        (LockEvent::Hold, "mmap") => moved.store(true, Relaxed),
        _ => {}
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let (watched, mut other) = (env.watched(&in_move), CpuCtx::new());
            maps.on(&watched, &mut other, tuning()).set_memcg(mm, group).expect("both live");
            moved.store(true, Relaxed);
        });
        wait_for(&locked);
        let watched = env.watched(&in_exit);
        maps.on(&watched, cpu, tuning()).exit_mm(mm).expect("it lives");
    });
    assert!(maps.lru_gen_mms(MemcgId::ROOT).expect("it is online").eq([before, after]));
    assert_eq!(world.engine().remove_memcg(group), Ok(()), "nobody is in it");
}

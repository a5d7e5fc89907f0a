//! Reclaim from end to end: the folios freed, written and kept, and their order.

use crate::formats::on_every_format;
use crate::unmap::ALL;
use crate::world::{Arena, LIMITS, World, aging};
use pageout_paging::pte::Entry;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Pfn};
use pageout_reclaim::{
    Agent, Counter, FolioFlags, FolioId, Frames, Limits, LruFlags, LruList, MappingId, MemcgId,
    MmId, NodeId, Place, Recency, ReclaimOptions, SwapSlot, Tuning, Unmapping, VmFlags,
};
use pageout_sim::Answer;

const ROOT: MemcgId = MemcgId::ROOT;
const ROOMY: Limits = Limits { folios: 256, shadows: 64, slots: 64, ..LIMITS };
const READ_WRITE: VmFlags = VmFlags::READ.union(VmFlags::WRITE);

fn tuning(algorithm: YoungAlgorithm, unmapping: Unmapping) -> Tuning {
    Tuning { aging: aging(algorithm), unmapping, ..crate::world::tuning() }
}

const DEFERRED: Unmapping = crate::world::tuning().unmapping;

/// Makes a charged folio on its list, in the index if it is a file's, mapped at its own page
/// numbers.
fn resident<F: Format>(
    world: &mut World<'_, F>,
    mm: MmId,
    mapping: MappingId,
    order: u8,
    index: u64,
) -> FolioId {
    let id = world.folio(mapping, order, index);
    world.engine().charge(id, ROOT).expect("no limit");
    if !world.maps.folio(id).expect("it lives").flags().contains(FolioFlags::ANON) {
        world.engine().filemap_add_folio(id).expect("nothing there");
    }
    world.flag(id, FolioFlags::UPTODATE);
    world.engine().lru_add(id).expect("it lives");
    let vma = world.vma(mm, index..index + (1 << order), READ_WRITE, mapping, index);
    world.map(vma, id);
    world.engine().release(id, 1).expect("the caller has it");
    id
}

/// Reclaims everything, by one request.
fn reclaim<F: Format>(world: &mut World<'_, F>, tuning: Tuning) -> u64 {
    let options = ReclaimOptions { may_swap: true, swappiness: None, agent: Agent::Proactive };
    let nr = world
        .tuned(tuning)
        .try_to_free_mem_cgroup_pages(ROOT, 4096, options)
        .expect("it is online");
    assert_eq!(world.maps.dropped_tlb_batches(), 0);
    nr
}

fn used<F: Format>(world: &World<'_, F>) -> usize {
    (0..LIMITS.frames as u64).filter(|n| world.env.memory().frame(Pfn::new(*n)).used).count()
}

fn clean_folios_of_files_are_freed_and_leave_shadows<F: Format>(algorithm: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&ROOMY);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file());
        for k in 0..10 {
            resident(&mut world, mm, file, 2, 4 * k);
        }
        assert_eq!(reclaim(&mut world, tuning(algorithm, how)), 40);
        assert_eq!(used(&world), 0);
        assert!(world.entries(mm, 0..40).iter().all(|pte| pte.is_none()));
        assert!(world.env.memory().storage.transfers().is_empty());
        let stat = world.maps.memcg(ROOT).expect("it is online").vmstat();
        assert_eq!(stat.get(Counter::PgstealProactive), 40);
        assert_eq!(world.maps.lru_size(ROOT, LruList::InactiveFile).expect("it is online"), 0);
        // The folios come back: there is a shadow for each.
        for k in 0..10 {
            let id = world.folio(file, 2, 4 * k);
            let added = world.engine().filemap_add_folio(id);
            assert!(added.expect("nothing there").is_some());
        }
    }
}

fn one_barrier_serves_a_round<F: Format>(algorithm: YoungAlgorithm) {
    let limits = Limits { vmas: 64, ..ROOMY };
    let mut arena = Arena::new::<F>(&limits);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    for k in 0..32 {
        resident(&mut world, mm, file, 0, k);
    }
    world.forget();
    assert_eq!(reclaim(&mut world, tuning(algorithm, DEFERRED)), 32);
    assert_eq!(world.env.mmu.invalidations().len(), 32);
    // Lists are scanned by 32 >> priority pages, so only the last rounds take many.
    assert!(world.env.mmu.completions() <= 6);
}

fn dirty_folios_of_files_wait_for_their_flushers<F: Format>(algorithm: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&ROOMY);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file());
        let id = resident(&mut world, mm, file, 2, 0);
        world.change(mm, 2, F::mkdirty);
        assert_eq!(reclaim(&mut world, tuning(algorithm, how)), 0);
        assert!(world.flags(id).contains(FolioFlags::DIRTY));
        assert!(world.maps.folio(id).expect("it lives").recency().contains(Recency::RECLAIM));
        assert!(world.env.memory().storage.transfers().is_empty());
        assert_eq!((world.mapcount(id), world.maps.folio(id).expect("it lives").refs()), (0, 1));
    }
}

fn only_dirty_folios_of_files_count_as_left_to_their_flushers<F: Format>(
    algorithm: YoungAlgorithm,
) {
    let mut arena = Arena::new::<F>(&ROOMY);
    let mut world = arena.world::<F>();
    let (mm, anon) = (world.process(), world.anon());
    resident(&mut world, mm, anon, 2, 0);
    world.change(mm, 2, F::mkdirty);
    world.env.memory().storage.answers(Answer::Late);
    assert_eq!(reclaim(&mut world, tuning(algorithm, DEFERRED)), 0);
    // Background reclaim finds it again while it is being written out.
    world.maps.set_high_watermark(NodeId(0), world.env.free_pages() as u64 + 1).expect("a node");
    for _ in 0..4 {
        assert!(!world.tuned(tuning(algorithm, DEFERRED)).balance(NodeId(0)).expect("a node"));
    }
    let vmstat = world.maps.memcg(ROOT).expect("it is online").vmstat();
    assert!(vmstat.get(Counter::PgscanKswapd) > 0, "it was met");
    assert_eq!(vmstat.get(Counter::NrVmscanImmediateReclaim), 0);
}

/// Returns the slots that the entries of pages `0..nr` name.
fn slots<F: Format>(world: &World<'_, F>, mm: MmId, nr: u64) -> Vec<SwapSlot> {
    let entries = world.entries(mm, 0..nr);
    let slot = |pte| match F::entry(pte) {
        Entry::Swap(entry) => SwapSlot::named_by(entry).expect("a slot"),
        other => panic!("{other:?}"),
    };
    entries.into_iter().map(slot).collect()
}

fn anonymous_memory_is_written_then_freed<F: Format>(algorithm: YoungAlgorithm) {
    for (how, late) in ALL.into_iter().flat_map(|how| [(how, false), (how, true)]) {
        let mut arena = Arena::new::<F>(&ROOMY);
        let mut world = arena.world::<F>();
        let (mm, anon) = (world.process(), world.anon());
        let id = resident(&mut world, mm, anon, 2, 0);
        let pfn = world.maps.folio(id).expect("it lives").pfn();
        (0..4).for_each(|k| world.env.memory().set_content(pfn.add(k), 100 + k));
        (0..4).for_each(|k| world.change(mm, k, F::mkdirty));
        if late {
            world.env.memory().storage.answers(Answer::Late);
        }
        world.forget();
        let freed = reclaim(&mut world, tuning(algorithm, how));
        assert_eq!(world.env.memory().storage.transfers().len(), 1, "written once");
        if late {
            assert_eq!(freed, 0);
            assert!(world.flags(id).contains(FolioFlags::WRITEBACK));
            assert!(world.maps.folio(id).expect("it lives").recency().contains(Recency::RECLAIM));
            assert_eq!(world.finish_io(true), 1);
            assert!(!world.flags(id).intersects(FolioFlags::WRITEBACK | FolioFlags::DIRTY));
            assert!(
                !world.maps.folio(id).expect("it lives").lru().contains(LruFlags::ACTIVE),
                "back at the tail"
            );
            assert_eq!(reclaim(&mut world, tuning(algorithm, how)), 4);
        } else {
            assert_eq!(freed, 4);
        }
        assert_eq!(used(&world), 0);
        for (slot, content) in slots(&world, mm, 4).into_iter().zip(100..) {
            assert_eq!(world.env.memory().storage.content(Place::Swap(slot)), content);
            assert_eq!(world.maps.slot_entries(slot), Ok(1));
            assert_eq!(world.engine().swap_cache_get_folio(slot).expect("it lives"), None);
        }
        assert_eq!(world.maps.free_slots(), 60);
        assert!(!world.env.mmu.wrote_too_early(), "flushed before the write began");
    }
}

fn what_cannot_be_written_stays_dirty<F: Format>(algorithm: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&ROOMY);
        let mut world = arena.world::<F>();
        let (mm, anon) = (world.process(), world.anon());
        let id = resident(&mut world, mm, anon, 1, 0);
        world.change(mm, 0, F::mkdirty);
        world.env.memory().storage.answers(Answer::Failure);
        assert_eq!(reclaim(&mut world, tuning(algorithm, how)), 0);
        assert!(world.flags(id).contains(FolioFlags::DIRTY | FolioFlags::ERROR));
        assert_eq!(reclaim(&mut world, tuning(algorithm, how)), 0);
        assert_eq!(world.cpu.events().wakeup_flusher, 0, "flushers have no part in swap");
        world.env.memory().storage.answers(Answer::AtOnce);
        assert_eq!(reclaim(&mut world, tuning(algorithm, how)), 2);
        assert_eq!(used(&world), 0);
    }
}

fn only_what_was_saved_moves_to_the_tail<F: Format>(algorithm: YoungAlgorithm) {
    for ok in [true, false] {
        let mut arena = Arena::new::<F>(&ROOMY);
        let mut world = arena.world::<F>();
        let (mm, anon) = (world.process(), world.anon());
        let id = resident(&mut world, mm, anon, 1, 0);
        world.env.memory().storage.answers(Answer::Late);
        assert_eq!(reclaim(&mut world, tuning(algorithm, DEFERRED)), 0);
        assert_eq!(world.finish_io(ok), 1);
        assert_eq!(world.flags(id).contains(FolioFlags::DIRTY), !ok);
        let rotated =
            world.maps.memcg(ROOT).expect("it is online").vmstat().get(Counter::Pgrotated);
        assert_eq!(rotated, if ok { 2 } else { 0 });
    }
}

fn memory_given_up_lazily_is_freed_unwritten_unless_written_to<F: Format>(
    algorithm: YoungAlgorithm,
) {
    for (how, dirty) in ALL.into_iter().flat_map(|how| [(how, false), (how, true)]) {
        let mut arena = Arena::new::<F>(&ROOMY);
        let mut world = arena.world::<F>();
        let (mm, anon) = (world.process(), world.anon());
        let id = resident(&mut world, mm, anon, 2, 0);
        {
            let guard = world.maps.folio(id).expect("it lives").try_lock().expect("free");
            assert!(world.engine().lazyfree(&guard, id).expect("it lives"));
        }
        if dirty {
            world.change(mm, 3, F::mkdirty);
            world.tuned(tuning(algorithm, how)).try_to_free_pages();
            // It is backed by swap again: stores since are not lost.
            let swapped = world.env.memory().storage.transfers().len() == 1;
            assert!(swapped || world.flags(id).contains(FolioFlags::SWAPBACKED));
            assert!(!world.entry(mm, 3).is_none());
        } else {
            assert_eq!(reclaim(&mut world, tuning(algorithm, how)), 4);
            assert!(world.env.memory().storage.transfers().is_empty());
            assert_eq!(used(&world), 0);
            assert_eq!(
                world.maps.memcg(ROOT).expect("it is online").vmstat().get(Counter::Pglazyfreed),
                4
            );
        }
    }
}

fn a_folio_someone_holds_stays_in_its_index<F: Format>(algorithm: YoungAlgorithm) {
    for how in ALL {
        let mut arena = Arena::new::<F>(&ROOMY);
        let mut world = arena.world::<F>();
        let (mm, file) = (world.process(), world.file());
        let id = resident(&mut world, mm, file, 2, 0);
        let held = world.engine().filemap_get_folio(file, 3).expect("it lives");
        assert_eq!(held, Some(id));
        assert_eq!(reclaim(&mut world, tuning(algorithm, how)), 0);
        assert_eq!(world.maps.folio(id).expect("it lives").refs(), 2);
        world.engine().release(id, 1).expect("the caller has it");
        assert_eq!(reclaim(&mut world, tuning(algorithm, how)), 4);
        assert_eq!(world.engine().filemap_get_folio(file, 3).expect("it lives"), None);
    }
}

on_every_format!(
    clean_folios_of_files_are_freed_and_leave_shadows,
    one_barrier_serves_a_round,
    dirty_folios_of_files_wait_for_their_flushers,
    only_dirty_folios_of_files_count_as_left_to_their_flushers,
    anonymous_memory_is_written_then_freed,
    what_cannot_be_written_stays_dirty,
    only_what_was_saved_moves_to_the_tail,
    memory_given_up_lazily_is_freed_unwritten_unless_written_to,
    a_folio_someone_holds_stays_in_its_index,
);

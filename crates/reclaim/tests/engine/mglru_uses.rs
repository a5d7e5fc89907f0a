//! Uses, faults and advice in the multi-generational LRU: in which generation a folio is then, and
//! which classic list it counts on.

use crate::world::{Arena, LIMITS, World, page, tuning};
use pageout_paging::pte::SmallX86;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Access, Counter, Fault, FolioFlags, FolioId, FolioRef, LruList, MappingKind, MemcgId, Recency,
    Referenced, Refs, VmFlags, handle_fault, lru_gen_check_references,
};

const ROOT: MemcgId = MemcgId::ROOT;

fn switch(world: &mut World<'_, SmallX86>, caps: LruGenCaps) {
    world.maps.set_lru_gen_caps(&world.env, &mut world.cpu, caps);
}

fn listed(world: &mut World<'_, SmallX86>, kind: MappingKind) -> FolioId {
    let mapping = world.mapping(kind);
    let id = world.folio(mapping, 1, 0);
    world.maps.charge(&world.env, &mut world.cpu, id, ROOT, tuning()).expect("no limit");
    world.maps.lru_add(&world.env, &mut world.cpu, id);
    id
}

/// The generation a folio is in, and the classic list that its pages count on.
fn place(world: &World<'_, SmallX86>, id: FolioId) -> (Option<usize>, LruList) {
    let on: Vec<_> =
        LruList::ALL.into_iter().filter(|list| world.maps.lru_size(ROOT, *list) == 2).collect();
    assert_eq!(on.len(), 1, "its two pages count on one list");
    (world.maps.folio(id).recency().generation(), on[0])
}

#[test]
fn a_new_folio_joins_where_its_type_and_marks_say() {
    use LruList::{ActiveAnon, InactiveFile};
    for (kind, mlocked, wanted) in [
        (MappingKind::File, false, (Some(0), InactiveFile)),
        (MappingKind::Anon, false, (Some(2), ActiveAnon)),
        (MappingKind::File, true, (None, LruList::Unevictable)),
    ] {
        let mut arena = Arena::new::<SmallX86>(&LIMITS);
        let mut world = arena.world::<SmallX86>();
        switch(&mut world, LruGenCaps::all());
        let mapping = world.mapping(kind);
        let id = world.folio(mapping, 1, 0);
        if mlocked {
            world.flag(id, FolioFlags::MLOCKED);
        }
        world.maps.lru_add(&world.env, &mut world.cpu, id);
        assert_eq!(place(&world, id), wanted, "{kind:?} {mlocked}");
    }
}

#[test]
fn uses_through_file_descriptors_are_counted_where_the_folio_is() {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    switch(&mut world, LruGenCaps::all());
    let id = listed(&mut world, MappingKind::File);
    for uses in [1, 2, 3, 4, 4, 4] {
        let full = world.maps.folio(id).recency().refs() == 4;
        world.maps.mark_accessed(&world.env, &mut world.cpu, id);
        let recency = world.maps.folio(id).recency();
        assert_eq!(recency.refs(), uses);
        assert_eq!(recency.contains(Recency::WORKINGSET), full, "the fifth makes it one of a set");
        assert_eq!(place(&world, id), (Some(0), LruList::InactiveFile), "nothing moves");
    }
    assert_eq!(world.maps.memcg(ROOT).vmstat().get(Counter::Pgactivate), 0);
}

#[test]
fn activating_and_deactivating_move_between_generations() {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    switch(&mut world, LruGenCaps::all());
    let id = listed(&mut world, MappingKind::File);
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    assert!(maps.activate(env, cpu, id));
    assert_eq!(place(&world, id), (Some(2), LruList::ActiveFile));
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.folio(id).note_use(Recency::WORKINGSET, Recency::NONE);
    assert!(maps.activate(env, cpu, id), "as often as it is asked for");
    assert_eq!(place(&world, id), (Some(3), LruList::ActiveFile), "the youngest for one of a set");
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.mark_accessed(env, cpu, id);
    maps.mark_accessed(env, cpu, id);
    assert!(maps.deactivate(env, cpu, id));
    let recency = maps.folio(id).recency();
    assert_eq!((recency.refs(), recency.contains(Recency::WORKINGSET)), (0, false));
    assert_eq!(place(&world, id), (Some(0), LruList::InactiveFile));
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.mark_accessed(env, cpu, id);
    assert!(!maps.deactivate(env, cpu, id), "it is where eviction takes it first");
    assert_eq!(maps.folio(id).recency().refs(), 0, "but its uses are forgotten");
    let counted =
        [Counter::Pgactivate, Counter::Pgdeactivate].map(|c| maps.memcg(ROOT).vmstat().get(c));
    assert_eq!(counted, [4, 2], "pages");
}

#[test]
fn a_folio_given_up_lazily_joins_the_generations_of_files() {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    switch(&mut world, LruGenCaps::all());
    let id = listed(&mut world, MappingKind::Anon);
    world.maps.mark_accessed(&world.env, &mut world.cpu, id);
    let guard = world.maps.folio(id).try_lock().expect("no one else");
    assert!(world.maps.lazyfree(&world.env, &mut world.cpu, &guard, id));
    drop(guard);
    assert_eq!(place(&world, id), (Some(0), LruList::InactiveFile));
    assert_eq!(world.maps.folio(id).recency().refs(), 1, "as in kernels");
}

/// Faults on a page of a file, with and without generations, by a VMA whose accesses say something
/// of the next and by one whose do not.
#[test]
fn what_a_fault_brings_in_is_active_if_the_mapping_says_something() {
    for (caps, flags, wanted) in [
        (LruGenCaps::empty(), VmFlags::empty(), LruList::InactiveFile),
        (LruGenCaps::empty(), VmFlags::SEQ_READ, LruList::InactiveFile),
        (LruGenCaps::all(), VmFlags::empty(), LruList::ActiveFile),
        (LruGenCaps::all(), VmFlags::SEQ_READ, LruList::InactiveFile),
        (LruGenCaps::all(), VmFlags::RAND_READ, LruList::InactiveFile),
        (LruGenCaps::all(), VmFlags::NOREUSE, LruList::InactiveFile),
    ] {
        let mut arena = Arena::new::<SmallX86>(&LIMITS);
        let mut world = arena.world::<SmallX86>();
        switch(&mut world, caps);
        let (mm, file) = (world.process(), world.file());
        world.vma(mm, 0..4, VmFlags::READ | flags, file, 0);
        let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
        let fault = handle_fault(maps, env, cpu, mm, page::<SmallX86>(1), Access::Read, tuning());
        assert!(matches!(fault, Fault::Done(_)), "{fault:?}");
        let sizes = LruList::ALL.map(|list| (list, maps.lru_size(ROOT, list)));
        let some: Vec<_> = sizes.into_iter().filter(|(_, pages)| *pages > 0).collect();
        assert_eq!(some.len(), 1);
        assert_eq!(some[0].0, wanted, "{caps:?} {flags:?}");
        // The fault is over: what is read in for someone else is not active.
        let other = world.folio(file, 0, 64);
        world.maps.lru_add(&world.env, &mut world.cpu, other);
        let inactive = u64::from(wanted == LruList::InactiveFile) * some[0].1 + 1;
        assert_eq!(world.maps.lru_size(ROOT, LruList::InactiveFile), inactive);
    }
}

/// Every answer about a folio with every mark: what is done, and the marks it has then. Written
/// from the multi-generational branch of Linux 7.1's folio_check_references.
#[test]
fn the_first_sighting_marks_and_the_next_activates() {
    use FolioRef::{Activate, Keep, Reclaim};
    let (referenced, workingset) = (Recency::REFERENCED, Recency::WORKINGSET);
    let both = referenced.union(workingset);
    for flags in [FolioFlags::empty(), FolioFlags::SWAPBACKED] {
        for before in [Recency::NONE, referenced, workingset, both] {
            let seen = before != Recency::NONE;
            let marked = if seen { workingset } else { referenced };
            let used = (if seen { Activate } else { Keep }, marked);
            for (refs, vm_flags, wanted) in [
                (Refs::Vmas(0), VmFlags::READ, (Reclaim, before)),
                (Refs::Vmas(1), VmFlags::READ, used),
                (Refs::Vmas(7), VmFlags::READ | VmFlags::EXEC, used),
                (Refs::Unknown, VmFlags::EXEC, (Keep, before)),
                (Refs::Vmas(1), VmFlags::LOCKED, (Activate, before)),
                (Refs::Unknown, VmFlags::LOCKED, (Activate, before)),
            ] {
                let mut arena = Arena::new::<SmallX86>(&LIMITS);
                let mut world = arena.world::<SmallX86>();
                let file = world.file();
                let id = world.folio(file, 0, 0);
                world.flag(id, flags);
                let folio = world.maps.folio(id);
                folio.note_use(before, Recency::NONE);
                let guard = folio.try_lock().expect("free");
                let decided = lru_gen_check_references(&guard, Referenced { refs, vm_flags });
                let after = folio.recency();
                let marks = [referenced, workingset].map(|mark| after.contains(mark));
                let wanted_marks = [referenced, workingset].map(|mark| wanted.1.contains(mark));
                assert_eq!((decided, marks), (wanted.0, wanted_marks), "{refs:?} {before:?}");
            }
        }
    }
}

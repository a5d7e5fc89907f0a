//! Uses, faults and advice in the multi-generational LRU: the resulting generation of a folio, and
//! the classic list it counts on.

use crate::world::{Arena, LIMITS, World, page, tuning};
use pageout_paging::pte::SmallX86;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Access, Counter, Fault, FolioFlags, FolioId, FolioRef, LruList, MappingKind, MemcgId, Recency,
    Referenced, Refs, VmFlags, lru_gen_check_references,
};

const ROOT: MemcgId = MemcgId::ROOT;

fn switch(world: &mut World<'_, SmallX86>, caps: LruGenCaps) {
    world.engine().set_lru_gen_caps(caps);
}

fn listed(world: &mut World<'_, SmallX86>, kind: MappingKind) -> FolioId {
    let mapping = world.mapping(kind);
    let id = world.folio(mapping, 1, 0);
    world.engine().charge(id, ROOT).expect("no limit");
    world.engine().lru_add(id).expect("it lives");
    id
}

/// Returns the generation of a folio, and the classic list that its pages count on.
fn place(world: &World<'_, SmallX86>, id: FolioId) -> (Option<usize>, LruList) {
    let on: Vec<_> = LruList::ALL
        .into_iter()
        .filter(|list| world.maps.lru_size(ROOT, *list).expect("it is online") == 2)
        .collect();
    assert_eq!(on.len(), 1, "its two pages count on one list");
    (world.maps.folio(id).expect("it lives").recency().generation(), on[0])
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
        world.engine().lru_add(id).expect("it lives");
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
        let full = world.maps.folio(id).expect("it lives").recency().refs() == 4;
        world.engine().mark_accessed(id).expect("it lives");
        let recency = world.maps.folio(id).expect("it lives").recency();
        assert_eq!(recency.refs(), uses);
        assert_eq!(recency.contains(Recency::WORKINGSET), full, "the fifth makes it one of a set");
        assert_eq!(place(&world, id), (Some(0), LruList::InactiveFile), "nothing moves");
    }
    assert_eq!(world.maps.memcg(ROOT).expect("it is online").vmstat().get(Counter::Pgactivate), 0);
}

#[test]
fn activating_and_deactivating_move_between_generations() {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    switch(&mut world, LruGenCaps::all());
    let id = listed(&mut world, MappingKind::File);
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    assert!(maps.on(env, cpu, tuning()).activate(id).expect("it lives"));
    assert_eq!(place(&world, id), (Some(2), LruList::ActiveFile));
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.folio(id).expect("it lives").note_use(Recency::WORKINGSET, Recency::NONE);
    assert!(
        maps.on(env, cpu, tuning()).activate(id).expect("it lives"),
        "as often as it is asked for"
    );
    assert_eq!(place(&world, id), (Some(3), LruList::ActiveFile), "the youngest for one of a set");
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.on(env, cpu, tuning()).mark_accessed(id).expect("it lives");
    maps.on(env, cpu, tuning()).mark_accessed(id).expect("it lives");
    assert!(maps.on(env, cpu, tuning()).deactivate(id).expect("it lives"));
    let recency = maps.folio(id).expect("it lives").recency();
    assert_eq!((recency.refs(), recency.contains(Recency::WORKINGSET)), (0, false));
    assert_eq!(place(&world, id), (Some(0), LruList::InactiveFile));
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    maps.on(env, cpu, tuning()).mark_accessed(id).expect("it lives");
    assert!(
        !maps.on(env, cpu, tuning()).deactivate(id).expect("it lives"),
        "it is where eviction takes it first"
    );
    assert_eq!(maps.folio(id).expect("it lives").recency().refs(), 0, "but its uses are forgotten");
    let counted = [Counter::Pgactivate, Counter::Pgdeactivate]
        .map(|c| maps.memcg(ROOT).expect("it is online").vmstat().get(c));
    assert_eq!(counted, [4, 2], "pages");
}

#[test]
fn a_folio_given_up_lazily_joins_the_generations_of_files() {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    switch(&mut world, LruGenCaps::all());
    let id = listed(&mut world, MappingKind::Anon);
    world.engine().mark_accessed(id).expect("it lives");
    let guard = world.maps.folio(id).expect("it lives").try_lock().expect("no one else");
    assert!(world.engine().lazyfree(&guard, id).expect("it lives"));
    drop(guard);
    assert_eq!(place(&world, id), (Some(1), LruList::InactiveFile), "its use is not forgotten");
    assert_eq!(world.maps.folio(id).expect("it lives").recency().refs(), 1, "as in kernels");
}

/// Faults on a page of a file, with and without generations, in a VMA whose accesses predict use
/// and in one whose do not.
#[test]
fn what_a_fault_brings_in_was_used_if_the_mapping_says_something() {
    for (caps, flags, generation, used) in [
        (LruGenCaps::empty(), VmFlags::empty(), None, false),
        (LruGenCaps::empty(), VmFlags::SEQ_READ, None, false),
        (LruGenCaps::all(), VmFlags::empty(), Some(1), true),
        (LruGenCaps::all(), VmFlags::SEQ_READ, Some(0), false),
        (LruGenCaps::all(), VmFlags::RAND_READ, Some(0), false),
        (LruGenCaps::all(), VmFlags::NOREUSE, Some(0), false),
    ] {
        let mut arena = Arena::new::<SmallX86>(&LIMITS);
        let mut world = arena.world::<SmallX86>();
        switch(&mut world, caps);
        let (mm, file) = (world.process(), world.file());
        world.vma(mm, 0..4, VmFlags::READ | flags, file, 0);
        let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
        let fault = maps.on(env, cpu, tuning()).handle_fault(mm, page::<SmallX86>(1), Access::Read);
        assert!(matches!(fault, Fault::Done(_)), "{fault:?}");
        let id = maps
            .on(env, cpu, tuning())
            .filemap_get_folio(file, 1)
            .expect("it lives")
            .expect("the fault brought it in");
        maps.on(env, cpu, tuning()).release(id, 1).expect("the caller has it");
        let recency = maps.folio(id).expect("it lives").recency();
        let found = (recency.generation(), recency.contains(Recency::REFERENCED));
        assert_eq!(found, (generation, used), "{caps:?} {flags:?}");
        // The fault is over: a folio that is read in for another purpose was not used.
        let other = world.folio(file, 0, 64);
        world.engine().lru_add(other).expect("it lives");
        let recency = world.maps.folio(other).expect("it lives").recency();
        assert_eq!(recency.generation(), generation.map(|_| 0));
        assert!(!recency.contains(Recency::REFERENCED));
    }
}

/// Every result of the check for a folio with every mark: the decision, and the marks after it.
/// Written from the multi-generational branch of Linux 7.3's folio_check_references.
#[test]
fn the_first_sighting_marks_and_the_next_activates() {
    use FolioRef::{Activate, Keep, Reclaim};
    let (referenced, workingset) = (Recency::REFERENCED, Recency::WORKINGSET);
    // (uses, true if it is part of a working set: the decision at a check, and both after it). A
    // file's executable page is activated at the first use.
    for (refs, set, (decision, refs_after, set_after)) in [
        (0, false, (Keep, 1, false)),
        (1, false, (Activate, 2, false)),
        (2, false, (Activate, 0, true)),
        (4, false, (Activate, 0, true)),
        (0, true, (Activate, 1, true)),
        (1, true, (Activate, 2, true)),
        (3, true, (Activate, 0, true)),
    ] {
        for flags in [FolioFlags::empty(), FolioFlags::SWAPBACKED] {
            let first = (refs, set) == (0, false);
            let executable = match first && flags.is_empty() {
                true => (Activate, 0, true),
                false => (decision, refs_after, set_after),
            };
            for (found, vm_flags, wanted) in [
                (Refs::Vmas(0), VmFlags::READ, (Reclaim, refs, set)),
                (Refs::Vmas(1), VmFlags::READ, (decision, refs_after, set_after)),
                (Refs::Vmas(7), VmFlags::READ | VmFlags::EXEC, executable),
                (Refs::Unknown, VmFlags::EXEC, (Keep, refs, set)),
                (Refs::Vmas(1), VmFlags::LOCKED, (Activate, refs, set)),
                (Refs::Unknown, VmFlags::LOCKED, (Activate, refs, set)),
            ] {
                let mut arena = Arena::new::<SmallX86>(&LIMITS);
                let mut world = arena.world::<SmallX86>();
                switch(&mut world, LruGenCaps::all());
                let file = world.file();
                let id = world.folio(file, 0, 0);
                world.flag(id, flags);
                (0..refs).for_each(|_| world.engine().mark_accessed(id).expect("it lives"));
                let folio = world.maps.folio(id).expect("it lives");
                assert!(!folio.recency().contains(workingset));
                folio.note_use(if set { workingset } else { Recency::NONE }, Recency::NONE);
                let guard = folio.try_lock().expect("free");
                let said = Referenced { refs: found, vm_flags };
                let decided = lru_gen_check_references(&guard, said);
                let after = folio.recency();
                let state = (decided, after.refs(), after.contains(workingset));
                assert_eq!(state, wanted, "{found:?} {vm_flags:?} {flags:?} after {refs} {set}");
                assert_eq!(after.contains(referenced), after.refs() > 0);
            }
        }
    }
}

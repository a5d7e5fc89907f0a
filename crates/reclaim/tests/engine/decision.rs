//! `folio_check_references` against the whole table of cases.

use crate::world::{Arena, LIMITS};
use FolioRef::{Activate, Keep, Reclaim};
use pageout_paging::pte::SmallX86;
use pageout_reclaim::{
    FolioFlags, FolioRef, Recency, Referenced, Refs, VmFlags, folio_check_references,
};

/// VMAs that referenced the folio, REFERENCED before, executable, swap-backed: decision, REFERENCED
/// after. Written from the classic branch of Linux 7.3's folio_check_references, row by row.
const ROWS: [(u32, bool, bool, bool, FolioRef, bool); 24] = [
    (0, false, false, false, Reclaim, false),
    (0, false, false, true, Reclaim, false),
    (0, false, true, false, Reclaim, false),
    (0, false, true, true, Reclaim, false),
    (0, true, false, false, Reclaim, false),
    (0, true, false, true, Reclaim, false),
    (0, true, true, false, Reclaim, false),
    (0, true, true, true, Reclaim, false),
    (1, false, false, false, Keep, true),
    (1, false, false, true, Keep, true),
    (1, false, true, false, Activate, true),
    (1, false, true, true, Keep, true),
    (1, true, false, false, Activate, true),
    (1, true, false, true, Activate, true),
    (1, true, true, false, Activate, true),
    (1, true, true, true, Activate, true),
    (2, false, false, false, Activate, true),
    (2, false, false, true, Activate, true),
    (2, false, true, false, Activate, true),
    (2, false, true, true, Activate, true),
    (2, true, false, false, Activate, true),
    (2, true, false, true, Activate, true),
    (2, true, true, false, Activate, true),
    (2, true, true, true, Activate, true),
];

/// Decides on a folio with these flags. Returns the decision and the record of the folio's use
/// after.
fn decide(
    flags: FolioFlags,
    recency: Recency,
    refs: Refs,
    vm_flags: VmFlags,
) -> (FolioRef, Recency) {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    let file = world.file();
    let folio = world.folio(file, 0, 0);
    world.flag(folio, flags);
    world.maps.folio(folio).expect("it lives").note_use(recency, Recency::NONE);
    let guard = world.maps.folio(folio).expect("it lives").try_lock().expect("free");
    let decided = folio_check_references(&guard, Referenced { refs, vm_flags });
    assert_eq!(world.flags(folio), flags);
    (decided, world.maps.folio(folio).expect("it lives").recency())
}

fn when<T: Default>(condition: bool, then: T) -> T {
    if condition { then } else { T::default() }
}

#[test]
fn every_case_is_decided_as_the_table_says() {
    let unrelated = [
        (FolioFlags::empty(), VmFlags::READ),
        (FolioFlags::IDLE | FolioFlags::ANON | FolioFlags::MLOCKED, VmFlags::WRITE),
    ];
    for (nr, was, exec, swapbacked, decision, after) in ROWS {
        for (other, vm_flags) in unrelated {
            let flags = other | when(swapbacked, FolioFlags::SWAPBACKED);
            let before = when(was, Recency::REFERENCED);
            let vm_flags = vm_flags | when(exec, VmFlags::EXEC);
            let decided = decide(flags, before, Refs::Vmas(nr), vm_flags);
            let after = when(after, Recency::REFERENCED);
            assert_eq!(decided, (decision, after), "{nr} {before:?} {vm_flags:?}");
        }
    }
}

/// More than two VMAs count as two.
#[test]
fn many_references_activate() {
    for nr in [3, 64, u32::MAX] {
        let (decision, _) =
            decide(FolioFlags::empty(), Recency::NONE, Refs::Vmas(nr), VmFlags::READ);
        assert_eq!(decision, Activate);
    }
}

/// Neither result tells of use, so neither moves REFERENCED. A locked VMA comes first.
#[test]
fn a_locked_vma_and_an_unknown_answer_leave_the_flags() {
    for bits in 0..8 {
        let recency = when(bits & 1 > 0, Recency::REFERENCED);
        let flags = when(bits & 2 > 0, FolioFlags::SWAPBACKED);
        let vm_flags = when(bits & 4 > 0, VmFlags::EXEC);
        assert_eq!(decide(flags, recency, Refs::Unknown, vm_flags), (Keep, recency));
        for refs in [Refs::Unknown, Refs::Vmas(0), Refs::Vmas(1), Refs::Vmas(2)] {
            let decided = decide(flags, recency, refs, vm_flags | VmFlags::LOCKED);
            assert_eq!(decided, (Activate, recency), "{refs:?}");
        }
    }
}

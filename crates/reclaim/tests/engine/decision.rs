//! `folio_check_references` against the whole table of cases.

use crate::world::{Arena, LIMITS};
use FolioRef::{Activate, Keep, Reclaim, ReclaimClean};
use pageout_paging::pte::SmallX86;
use pageout_reclaim::{FolioFlags, FolioRef, Referenced, Refs, VmFlags, folio_check_references};

/// Vmas that referenced, REFERENCED before, executable, swap-backed: decision, REFERENCED after.
/// Written from the classic branch of Linux 7.1's folio_check_references, row by row.
const ROWS: [(u32, bool, bool, bool, FolioRef, bool); 24] = [
    (0, false, false, false, Reclaim, false),
    (0, false, false, true, Reclaim, false),
    (0, false, true, false, Reclaim, false),
    (0, false, true, true, Reclaim, false),
    (0, true, false, false, ReclaimClean, false),
    (0, true, false, true, Reclaim, false),
    (0, true, true, false, ReclaimClean, false),
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

/// Decides on a folio with these flags; the decision and the flags after.
fn decide(flags: FolioFlags, refs: Refs, vm_flags: VmFlags) -> (FolioRef, FolioFlags) {
    let mut arena = Arena::new::<SmallX86>(&LIMITS);
    let mut world = arena.world::<SmallX86>();
    let file = world.file();
    let folio = world.folio(file, 0, 0);
    world.flag(folio, flags);
    let guard = world.maps.folio(folio).try_lock().expect("free");
    let decided = folio_check_references(&guard, Referenced { refs, vm_flags });
    (decided, world.flags(folio))
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
            let kept = other | when(swapbacked, FolioFlags::SWAPBACKED);
            let before = kept | when(was, FolioFlags::REFERENCED);
            let vm_flags = vm_flags | when(exec, VmFlags::EXEC);
            let decided = decide(before, Refs::Vmas(nr), vm_flags);
            let after = kept | when(after, FolioFlags::REFERENCED);
            assert_eq!(decided, (decision, after), "{nr} {before:?} {vm_flags:?}");
        }
    }
}

/// More than two are as two.
#[test]
fn many_references_activate() {
    for nr in [3, 64, u32::MAX] {
        let (decision, _) = decide(FolioFlags::empty(), Refs::Vmas(nr), VmFlags::READ);
        assert_eq!(decision, Activate);
    }
}

/// Neither answer says anything of use, so neither moves REFERENCED; a locked VMA comes first.
#[test]
fn a_locked_vma_and_an_unknown_answer_leave_the_flags() {
    for bits in 0..8 {
        let flags =
            when(bits & 1 > 0, FolioFlags::REFERENCED) | when(bits & 2 > 0, FolioFlags::SWAPBACKED);
        let vm_flags = when(bits & 4 > 0, VmFlags::EXEC);
        assert_eq!(decide(flags, Refs::Unknown, vm_flags), (Keep, flags));
        for refs in [Refs::Unknown, Refs::Vmas(0), Refs::Vmas(1), Refs::Vmas(2)] {
            let decided = decide(flags, refs, vm_flags | VmFlags::LOCKED);
            assert_eq!(decided, (Activate, flags), "{refs:?}");
        }
    }
}

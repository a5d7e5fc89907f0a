//! For how long an entry of a TLB that is young there and old in the table hides accesses.

use crate::ground::{Ground, arm64, at, held, hidden, x86};
use pageout_machine::{CoreId, Time};
use pageout_paging::Mmu;
use pageout_paging::mmu::Barrier;
use pageout_paging::pte::{Arm64_4K, X86_64};
use pageout_paging::tlb::YoungFlush;

const LATER: Time = Time::from_ns(1_000_000);

#[test]
fn arm64_sync_hides_nothing_once_the_barrier_is_done() {
    let ground = Ground::<Arm64_4K>::new(1);
    let machine = ground.machine(arm64(2, |_| {}));
    let (aging, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    ground.load(&program, 0);
    program.access(at::<Arm64_4K>(3), false).expect("mapped");
    assert!(ground.age(&aging, 0, 3, YoungFlush::Sync));
    program.spend(aging.now());
    program.access(at::<Arm64_4K>(3), false).expect("mapped");
    assert_eq!(hidden(&machine), 0);
    assert!(ground.is_young(0, 3), "the walk made it young again");
}

#[test]
fn arm64_none_hides_without_bound_even_across_context_switches() {
    let ground = Ground::<Arm64_4K>::new(2);
    let machine = ground.machine(arm64(2, |_| {}));
    let (aging, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    ground.load(&program, 0);
    program.access(at::<Arm64_4K>(3), false).expect("mapped");
    assert!(ground.age(&aging, 0, 3, YoungFlush::None));
    aging.barrier(Barrier::Complete);
    for round in 1..=5 {
        program.spend(LATER);
        ground.load(&program, 1);
        ground.load(&program, 0);
        program.access(at::<Arm64_4K>(3), false).expect("mapped");
        assert_eq!(hidden(&machine), round);
    }
    assert!(!ground.is_young(0, 3), "aging sees nothing of it");
    assert_eq!(held(&machine, 1, 0), [3]);
}

#[test]
fn x86_with_tags_survives_a_switch_away_and_back() {
    let ground = Ground::<X86_64>::new(2);
    let machine = ground.machine(x86(2, |_| {}));
    let (aging, program) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    ground.load(&program, 0);
    program.access(at::<X86_64>(3), false).expect("mapped");
    assert!(ground.age(&aging, 0, 3, YoungFlush::None));
    ground.load(&program, 1);
    ground.load(&program, 0);
    program.access(at::<X86_64>(3), false).expect("mapped");
    assert_eq!(hidden(&machine), 1);
}

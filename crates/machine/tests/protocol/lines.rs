//! Lines of page tables move between cores, and their moves take time.

use crate::ground::{Ground, arm64, at};
use pageout_machine::{CoreId, Time};
use pageout_paging::Table;
use pageout_paging::pte::Arm64_4K;

#[test]
fn a_line_is_far_then_near_and_comes_from_the_core_that_changed_it() {
    let ground = Ground::<Arm64_4K>::new(1);
    let machine = ground.machine(arm64(2, |_| ()));
    let prices = *machine.prices();
    let (one, other) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    let took = |task: &pageout_machine::Task<'_, '_, Arm64_4K>, i: usize| {
        let before = task.now();
        task.table(ground.leaves(0)).load(i);
        task.now().since(before)
    };
    assert_eq!(took(&one, 0), prices.line_far);
    assert_eq!(took(&one, 7), Time::ZERO, "the same line");
    assert_eq!(took(&one, 8), prices.line_far, "the next");
    // The walk makes entry 0 young: its line leaves the first core.
    ground.load(&other, 0);
    other.access(at::<Arm64_4K>(0), false).expect("mapped");
    assert_eq!(took(&one, 0), prices.line_transfer);
    assert_eq!(took(&one, 0), Time::ZERO);
}

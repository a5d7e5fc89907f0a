//! Words of locks: their lines move one at a time, and waits end with a change.

use crate::ground::{Ground, arm64};
use pageout_machine::{CoreId, Report, Spent, TaskSpec, Time, WordId, WordUse};
use pageout_paging::pte::Arm64_4K;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

type F = Arm64_4K;

const WORD: WordId = WordId(7);

/// Checks that all time of cores that ran tasks is charged to these.
fn balanced(report: &Report) {
    let folded: Time = report.tasks.iter().map(Spent::total).sum();
    assert_eq!(folded, report.cores.iter().map(|core| core.worked).sum());
}

#[test]
fn a_word_is_near_far_or_comes_from_the_core_that_changed_it() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(2, |_| ()));
    let prices = *machine.prices();
    let (one, other) = (machine.alone(CoreId(0)), machine.alone(CoreId(1)));
    let near = WordUse { moved: false, access: prices.rmw, waited: Time::ZERO };
    let far = WordUse { access: prices.line_far + prices.rmw, ..near };
    let moved = WordUse { moved: true, access: prices.line_transfer + prices.rmw, ..near };
    assert_eq!(one.change_word(WORD), far);
    assert_eq!(one.change_word(WORD), near);
    other.spend(one.now());
    assert_eq!(other.change_word(WORD), moved);
    assert_eq!(other.change_word(WordId(8)), far, "a word of its own");
    one.spend(other.now());
    let begun = one.now();
    assert_eq!(one.change_word(WORD), moved);
    assert_eq!(one.now().since(begun), moved.access);
}

#[test]
fn cores_that_want_a_word_at_once_get_it_one_after_the_other() {
    const CORES: u64 = 5;
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(CORES as u16, |_| ()));
    let prices = *machine.prices();
    let uses = RefCell::new(Vec::new());
    let tasks = (0..CORES as u16).map(|core| {
        let uses = &uses;
        TaskSpec::new(format!("task {core}"), move |task| {
            uses.borrow_mut().push(task.change_word(WORD));
        })
        .on(CoreId(core))
    });
    balanced(&machine.run(tasks.collect()));
    let each = prices.line_transfer + prices.rmw;
    for (k, used) in (0..).zip(&uses.into_inner()) {
        let before = if k == 0 { Time::ZERO } else { prices.line_far + prices.rmw };
        assert_eq!(used.waited, before + each * u64::saturating_sub(k, 1), "core {k}");
        assert_eq!(used.moved, k > 0, "core {k}");
    }
}

/// A wait takes as many turns as pass until the change, though the machine skips them.
#[test]
fn a_wait_ends_with_the_first_turn_after_the_change() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(2, |_| ()));
    let prices = *machine.prices();
    let waited = RefCell::new(None);
    let waiting = |task: &pageout_machine::Task<'_, '_, F>| {
        task.change_word(WORD);
        *waited.borrow_mut() = Some((task.now(), task.await_word(WORD), task.now()));
    };
    let later = Time::from_ns(12_345);
    let changing = |task: &pageout_machine::Task<'_, '_, F>| {
        task.spend(later);
        task.change_word(WORD);
    };
    let tasks = vec![
        TaskSpec::new("waiting", waiting).on(CoreId(0)),
        TaskSpec::new("changing", changing).on(CoreId(1)),
    ];
    let report = machine.run(tasks);
    balanced(&report);
    let (since, used, end) = waited.into_inner().expect("the wait ended");
    assert_eq!(used.access, prices.line_transfer, "the word is read again");
    assert_eq!(used.waited.ps() % prices.relax.ps(), 0, "whole turns");
    assert_eq!(end, since + used.waited + used.access);
    let changed = later + prices.switch + prices.line_transfer + prices.rmw;
    assert!(since + used.waited >= changed && since + used.waited < changed + prices.relax * 2);
    let spun = report.at(|path| path.last() == Some(&"spin"));
    assert_eq!(spun, used.waited);
}

#[test]
fn a_wait_for_a_change_that_never_comes_is_named() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(1, |_| ()));
    let task = TaskSpec::new("forlorn", |task| {
        task.change_word(WORD);
        task.await_word(WORD);
    });
    let panic = catch_unwind(AssertUnwindSafe(|| machine.run(vec![task])));
    let panic = panic.expect_err("no task can go on");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert_eq!(message, "no task can go on: forlorn spins for a lock");
}

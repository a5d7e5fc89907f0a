//! Tasks and cores: turns, quanta, idleness, waking, locks.

use crate::ground::{Ground, arm64, at, x86};
use pageout_machine::{CoreId, LockId, Report, Spent, TaskId, TaskSpec, Time, Transfer};
use pageout_paging::Format;
use pageout_paging::pte::{Arm64_4K, X86_64};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

type F = Arm64_4K;

const US: Time = Time::from_ns(1000);

/// Checks that each core's time went somewhere, and nowhere twice.
fn balanced(report: &Report) {
    let mut worked = Time::ZERO;
    for core in &report.cores {
        let all = core.worked + core.switching + core.stolen + core.idle;
        assert!(all <= report.end, "{core:?} of {}", report.end);
        assert!(report.end - all <= US, "{core:?} of {}", report.end);
        worked += core.worked;
    }
    let folded: Time = report.tasks.iter().map(Spent::total).sum();
    assert_eq!(folded, worked, "tasks had what cores gave them");
}

#[test]
fn what_tasks_do_happens_in_the_order_of_their_clocks() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(4, |_| {}));
    let order = RefCell::new(Vec::new());
    let tasks = (0..4_u64).map(|i| {
        let order = &order;
        TaskSpec::new(format!("task {i}"), move |task| {
            for _ in 0..20 {
                task.spend(US * (i + 1));
                drop(task.try_lock(LockId(i)).expect("its own"));
                order.borrow_mut().push((task.now(), i));
            }
        })
    });
    let report = machine.run(tasks.collect());
    balanced(&report);
    let order = order.into_inner();
    assert_eq!(order.len(), 80);
    assert!(order.is_sorted_by_key(|(now, _)| *now), "{order:?}");
}

#[test]
fn tasks_of_one_core_take_turns_by_quanta() {
    let ground = Ground::<F>::new(2);
    let machine = ground.machine(arm64(1, |_| {}));
    let spent = [Cell::new(Time::ZERO), Cell::new(Time::ZERO)];
    let tasks = (0..2).map(|i| {
        let (spent, ground) = (&spent, &ground);
        TaskSpec::new(format!("task {i}"), move |task| {
            ground.load(task, i as u32);
            for page in 0..40_000 {
                task.spend(US);
                task.access(at::<F>(page % 512), false).expect("mapped");
                spent[i].set(spent[i].get() + US);
                let ahead = spent[i].get().since(spent[1 - i].get());
                assert!(ahead < US * 8000, "{ahead} ahead of the other");
            }
        })
    });
    let report = machine.run(tasks.collect());
    balanced(&report);
    let quanta = 80_000 / 3000;
    assert!((quanta / 2..2 * quanta).contains(&report.counts.switches), "{:?}", report.counts);
}

#[test]
fn kernel_code_is_not_preempted_and_holds_its_core() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(1, |_| {}));
    let inside = Cell::new(false);
    let tasks = (0..2).map(|i| {
        let inside = &inside;
        TaskSpec::new(format!("task {i}"), move |task| {
            for _ in 0..10 {
                assert!(!inside.replace(true), "the other one is inside");
                for _ in 0..20 {
                    task.spend(US * 1000);
                    drop(task.try_lock(LockId(1)).expect("free"));
                }
                inside.set(false);
                task.cond_resched();
            }
        })
    });
    balanced(&machine.run(tasks.collect()));
}

#[test]
fn an_idle_core_takes_a_waiting_task_and_a_pinned_one_stays() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(2, |_| {}));
    let cores = RefCell::new(Vec::new());
    let body = |long: u64| {
        let (cores, ground) = (&cores, &ground);
        move |task: &pageout_machine::Task<'_, '_, F>| {
            ground.load(task, 0);
            for _ in 0..long {
                task.spend(US * 100);
                task.access(at::<F>(0), false).expect("mapped");
            }
            cores.borrow_mut().push(task.core_id());
        }
    };
    let zero = CoreId(0);
    let report = machine.run(vec![
        TaskSpec::new("pinned", body(400)).on(zero),
        TaskSpec::new("pinned too", body(400)).on(zero),
        TaskSpec::new("short", body(10)),
        TaskSpec::new("free", body(400)),
    ]);
    balanced(&report);
    let mut cores = cores.into_inner();
    cores.sort_unstable();
    assert_eq!(cores, [zero, zero, CoreId(1), CoreId(1)], "two stay, two get away from them");
}

#[test]
fn no_wake_up_is_lost() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(x86_or_arm());
    let (sent, seen) = (Cell::new(0), Cell::new(0));
    let sender = |task: &pageout_machine::Task<'_, '_, F>| {
        for i in 0..1000_u64 {
            task.spend(Time::from_ps(i * 7919 % 3_000_000));
            sent.set(sent.get() + 1);
            task.wake(TaskId(1));
        }
    };
    let receiver = |task: &pageout_machine::Task<'_, '_, F>| {
        while seen.get() < 1000 {
            if seen.get() == sent.get() {
                task.block("a message");
            }
            seen.set(sent.get());
            task.spend(Time::from_ps(1_234_567));
        }
    };
    let report =
        machine.run(vec![TaskSpec::new("sender", sender), TaskSpec::new("receiver", receiver)]);
    balanced(&report);
    assert_eq!(seen.get(), 1000);
}

fn x86_or_arm() -> pageout_machine::Setup {
    arm64(2, |_| {})
}

#[test]
fn a_wake_up_before_the_wait_is_kept_once() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(2, |_| {}));
    let early = |task: &pageout_machine::Task<'_, '_, F>| {
        task.wake(TaskId(1));
        task.wake(TaskId(1));
        task.spend(US * 100);
        task.wake(TaskId(1));
    };
    let late = |task: &pageout_machine::Task<'_, '_, F>| {
        task.wait_until(US * 50);
        task.block("what came already");
        assert!(task.now() < US * 60);
        task.block("what comes later");
        assert!(task.now() >= US * 100);
    };
    machine.run(vec![TaskSpec::new("early", early), TaskSpec::new("late", late)]);
}

#[test]
fn waiting_leaves_the_core_to_others_and_ends_on_time() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(1, |_| {}));
    let waits = |task: &pageout_machine::Task<'_, '_, F>| {
        let done = task.io(Transfer { bytes: 4096, write: false });
        task.wait_until(done);
        assert!(task.now() >= done && task.now() < done + US * 20, "{} of {done}", task.now());
    };
    let works = |task: &pageout_machine::Task<'_, '_, F>| task.spend(US * 10);
    let report = machine.run(vec![TaskSpec::new("waits", waits), TaskSpec::new("works", works)]);
    balanced(&report);
    let idle = report.cores[0].idle;
    assert!(idle > US * 20, "nothing is left to do while the device works: {idle}");
}

#[test]
fn a_lock_is_held_by_one_and_waiting_for_it_takes_time() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(8, |_| {}));
    let inside = Cell::new(0);
    let tasks = (0..8).map(|i| {
        let inside = &inside;
        TaskSpec::new(format!("task {i}"), move |task| {
            for _ in 0..50 {
                let guard = loop {
                    match task.try_lock(LockId(5)) {
                        Some(guard) => break guard,
                        None => task.relax(LockId(5)),
                    }
                };
                assert_eq!(inside.replace(1), 0, "one inside");
                task.spend(US);
                drop(task.try_lock(LockId(100 + i)).expect("its own"));
                inside.set(0);
                drop(guard);
            }
        })
    });
    let report = machine.run(tasks.collect());
    balanced(&report);
    assert!(report.end >= US * 400, "eight by fifty, one after the other: {}", report.end);
    assert!(report.counts.spins > 1000);
    assert!(report.at(|path| path.last() == Some(&"spin")) > Time::ZERO);
}

fn panics(run: impl FnOnce() -> Report) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).expect("a message")
}

#[test]
fn all_blocked_names_who_waits_for_what() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(2, |_| {}));
    let message = panics(|| {
        machine.run(vec![
            TaskSpec::new("kswapd", |task| task.block("work")),
            TaskSpec::new("program", |task| task.block("kswapd's answer")),
            TaskSpec::new("other", |task| task.spend(US)),
        ])
    });
    let expected = "no task can go on: kswapd waits for work; program waits for kswapd's answer";
    assert_eq!(message, expected);
}

#[test]
fn a_deadly_embrace_of_locks_is_named() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(2, |_| {}));
    let task = |mine: u64, other: u64| {
        move |task: &pageout_machine::Task<'_, '_, F>| {
            let _held = task.try_lock(LockId(mine)).expect("free");
            task.spend(US * 10);
            while task.try_lock(LockId(other)).is_none() {
                task.relax(LockId(other));
            }
        }
    };
    let message = panics(|| {
        machine.run(vec![TaskSpec::new("one", task(1, 2)), TaskSpec::new("two", task(2, 1))])
    });
    let expected = "nothing but waiting for locks: one spins for lock 0x2, which two holds; \
        two spins for lock 0x1, which one holds";
    assert_eq!(message, expected);
}

#[test]
fn a_holder_in_the_queue_of_the_waiter_s_core_goes_on() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(1, |_| {}));
    let holds = |task: &pageout_machine::Task<'_, '_, F>| {
        let _held = task.try_lock(LockId(1)).expect("free");
        task.wait_until(US * 100);
    };
    let wants = |task: &pageout_machine::Task<'_, '_, F>| {
        task.wait_until(US * 50);
        while task.try_lock(LockId(1)).is_none() {
            task.relax(LockId(1));
        }
    };
    balanced(&machine.run(vec![TaskSpec::new("holds", holds), TaskSpec::new("wants", wants)]));
}

#[test]
fn a_task_s_panic_is_the_run_s() {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(arm64(2, |_| {}));
    let dropped = Cell::new(false);
    struct Sets<'c>(&'c Cell<bool>);
    impl Drop for Sets<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let message = panics(|| {
        machine.run(vec![
            TaskSpec::new("waits", |task| {
                let _sets = Sets(&dropped);
                let _held = task.try_lock(LockId(1));
                task.block("nothing");
            }),
            TaskSpec::new("fails", |task| {
                task.spend(US);
                assert!(task.try_lock(LockId(1)).is_some(), "an invariant of the engine");
            }),
        ])
    });
    assert!(message.contains("an invariant of the engine"), "{message}");
    assert!(dropped.get(), "what the other task had is dropped");
}

#[test]
fn two_hundred_and_fifty_six_cores_run() {
    let ground = Ground::<X86_64>::new(1);
    let machine = ground.machine(x86(256, |_| {}));
    let tasks = (0..256).map(|i| {
        let ground = &ground;
        TaskSpec::new(format!("task {i}"), move |task| {
            ground.load(task, 0);
            for k in 0..200 {
                task.access(at::<X86_64>((i + k) % X86_64::PTES), k % 3 == 0).expect("mapped");
            }
        })
    });
    let report = machine.run(tasks.collect());
    balanced(&report);
    assert_eq!(report.counts.accesses, 256 * 200);
    assert_eq!(report.counts.migrations, 255, "each got a core of its own");
}

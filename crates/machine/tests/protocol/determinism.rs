//! The same setup, tasks and tables give the same events, byte for byte.

use crate::ground::{Ground, arm64, asid, at, page, x86};
use pageout_machine::{Activity, LockId, Setup, Task, TaskId, TaskSpec, Time, Transfer};
use pageout_paging::mmu::{Barrier, Invalidate};
use pageout_paging::pte::{Arm64_4K, X86_64};
use pageout_paging::tlb::YoungFlush;
use pageout_paging::{Format, Mmu};

const CORES: u16 = 3;
const TASKS: u32 = 8;
const US: Time = Time::from_ns(1000);

/// Runs a program that ages and flushes too, with locks, waits and I/O.
fn busy<F: Format>(ground: &Ground<F>, task: &Task<'_, '_, F>, i: u32) {
    let _doing = task.activity(Activity((i % 2) as u8));
    ground.load(task, i % 3);
    for k in 0..150_usize {
        let n = (k * 7 + i as usize * 13) % 64;
        task.access(at::<F>(n), k % 5 == 0).expect("mapped");
        task.spend(Time::from_ps((k as u64 * 7919 + u64::from(i) * 104_729) % 3_000_000));
        match (k + i as usize) % 8 {
            0 => drop(ground.age(task, (i + 1) % 3, n, YoungFlush::Nosync)),
            1 => drop(ground.age(task, i % 3, n, YoungFlush::Sync)),
            2 if k % 3 == 0 => {
                task.wait_until(task.io(Transfer { bytes: 4096, write: k % 2 == 0 }));
            }
            3 => {
                while task.try_lock(LockId(1)).is_none() {
                    task.relax(LockId(1));
                }
            }
            4 if task.caps().shootdown == pageout_paging::mmu::Shootdown::Ipi => {
                task.defer(asid(i % 3));
                task.invalidate(Invalidate::Everything);
                task.barrier(Barrier::Complete);
            }
            5 => task.wake(TaskId((i + 1) % TASKS)),
            6 => task.invalidate(page(i % 3, n)),
            _ => task.cond_resched(),
        }
    }
    task.barrier(Barrier::Complete);
}

type Run = fn() -> String;

/// Returns the log and the report of a run.
fn run<F: Format>(setup: Setup) -> String {
    let ground = Ground::<F>::new(3);
    let machine = ground.machine(Setup { activities: &["even", "odd"], quantum: US * 3, ..setup });
    let task = |i| {
        let ground = &ground;
        TaskSpec::new(format!("task {i}"), move |task| busy(ground, task, i))
    };
    let report = machine.run((0..TASKS).map(task).collect());
    format!("{}{report:?}\n{}", machine.log(), report.folded_lines())
}

fn setups() -> [(&'static str, Run); 3] {
    [
        ("arm64", || run::<Arm64_4K>(arm64(CORES, |_| {}))),
        ("arm64 that holds back", || run::<Arm64_4K>(arm64(CORES, |shape| shape.hold = 4))),
        ("x86", || run::<X86_64>(x86(CORES, |_| {}))),
    ]
}

#[test]
fn the_same_seed_gives_the_same_events_byte_for_byte() {
    for (name, run) in setups() {
        let first = run();
        assert!(first.lines().count() > 500, "{name} did something");
        assert!(first == run(), "{name}: two runs differ");
    }
}

#[test]
fn another_seed_gives_other_quanta() {
    let of = |seed| run::<Arm64_4K>(Setup { seed, ..arm64(CORES, |_| {}) });
    assert!(of(1) == of(1), "the same seed");
    assert!(of(1) != of(2), "another seed");
}

#[test]
fn machines_on_two_host_threads_do_as_one_after_the_other() {
    for (name, run) in setups() {
        let alone = run();
        let both = std::thread::scope(|scope| {
            let threads = [scope.spawn(run), scope.spawn(run)];
            threads.map(|thread| thread.join().expect("it ends"))
        });
        assert!(both.iter().all(|one| *one == alone), "{name}");
    }
}

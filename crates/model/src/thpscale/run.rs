//! One run: the threads, and reclaim in the background beside them.

use super::Thpscale;
use super::outcome::{Outcome, THREAD};
use super::setup::Setup;
use super::thread::{Barrier, Thread, Threads};
use crate::{Kernel, Model, One, Swap, Zone, activity};
use pageout_experiment::formats::Arch;
use pageout_experiment::variant::Variant;
use pageout_machine::{Machine, Task, TaskSpec, Time};
use pageout_reclaim::{CpuCtx, MemcgId};
use std::cell::Cell;

/// Runs the scenario once.
pub(super) fn run<F: Arch>(of: &Thpscale, model: &Model, variant: Variant, one: One) -> Outcome {
    let mut arena = of.arena::<F>();
    let setup = Setup::<F>::build(&mut arena, variant.lru, of.platform.shape().caps::<F>());
    let machine = Machine::new(model.setup(&of.platform, one), setup.ground.env.tables());
    let zone = Zone::new(of.frames::<F>(), F::PAGE_SHIFT);
    let maps = &setup.ground.maps;
    maps.set_high_watermark(zone.marks().high as u64);
    // Without slots nothing is swapped.
    let kernel = Kernel::new::<F>(setup.ground.supply, Swap::Compressed)
        .with_zone(zone)
        .with_patience(PATIENCE);
    let threads = Threads {
        setup: &setup,
        kernel: &kernel,
        tuning: variant.tuning(F::FLUSH),
        barrier: Barrier::new(of.threads),
        samples: Default::default(),
    };
    let running = Cell::new(of.threads);
    let starts = starts(of.threads, one.seed);
    let mut tasks = vec![TaskSpec::new(KSWAPD, |task| reclaim(&threads, &running, task))];
    tasks.extend((0..of.threads).zip(starts).map(|(k, start)| {
        let (threads, running, areas) = (&threads, &running, of.areas(k));
        TaskSpec::new(format!("{THREAD}{k}"), move |task: &Task<'_, '_, F>| {
            task.wait_until(start);
            Thread::new(threads, task).run(&areas);
            running.set(running.get() - 1);
            if running.get() == 0 {
                threads.zone().take_sleeper().into_iter().for_each(|kswapd| task.wake(kswapd));
            }
        })
    }));
    let report = machine.run(tasks);
    let vmstat = maps.memcg(MemcgId::ROOT).vmstat();
    Outcome::new(threads.samples.take(), report, vmstat)
}

/// When threads start: each is created after the other, which takes 20 to 60 us by chance (guessed:
/// a stack mapped, clone, a wake-up). All at once they would fill memory in step, and the halves
/// that they unmap would lie side by side.
fn starts(threads: u32, seed: u64) -> Vec<Time> {
    let mut random = fastrand::Rng::with_seed(seed);
    let takes = (0..threads).map(|_| Time::from_ns(random.u64(20_000..60_000)));
    let since = |start: &mut Time, takes: Time| {
        *start += takes;
        Some(*start)
    };
    takes.scan(Time::ZERO, since).collect()
}

/// Turns for which waiting threads look away: about a microsecond.
const PATIENCE: u64 = 64;

/// The task that reclaims in the background.
const KSWAPD: &str = "kswapd";

/// Reclaims whenever memory gets low, until no thread runs any more.
fn reclaim<F: Arch>(threads: &Threads<'_, '_, F>, running: &Cell<u32>, task: &Task<'_, '_, F>) {
    let mut cpu = CpuCtx::new();
    loop {
        threads.zone().sleeps(task.id());
        if running.get() == 0 {
            return;
        }
        task.block("memory to get low");
        if running.get() == 0 {
            return;
        }
        threads.kernel.on(task, |env| {
            env.within(activity::KSWAPD, || {
                threads.setup.ground.maps.on(env, &mut cpu, threads.tuning).balance()
            })
        });
    }
}

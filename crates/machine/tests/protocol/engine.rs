//! The engine's own checks of young bits, on the machine: its environment is made of a task.

use crate::ground::{Ground, arm64, asid, at, held, hidden, x86};
use pageout_machine::platform::InvalidationPrices;
use pageout_machine::{LockGuard, LockId, Setup, Task, TaskSpec, TaskTable, Time};
use pageout_paging::pte::{Arm64_4K, X86_64};
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{Env, Format, LockedTable, Notifier, Pfn, Sound, mmu::Asid};
use std::cell::Cell;

struct OnMachine<'t, 'a, F: Format>(&'t Task<'t, 'a, F>);

impl<'t, 'a, F: Format> Env for OnMachine<'t, 'a, F> {
    type Format = F;
    type Table = TaskTable<'t, 'a, F>;
    type Mmu = Task<'t, 'a, F>;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'g>
        = LockGuard<'g, 'a, F>
    where
        Self: 'g;

    fn table(&self, frame: Pfn) -> Self::Table {
        self.0.table(frame)
    }

    fn mmu(&self) -> &Self::Mmu {
        self.0
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<Self::TableGuard<'_>> {
        self.0.try_lock(LockId(frame.get()))
    }

    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {
        self.0.relax(LockId::ANY);
    }

    fn need_resched(&self) -> bool {
        self.0.need_resched()
    }
}

const PAGES: usize = 16;

/// Lets a program touch sixteen pages over and over while another core ages them under `flush`.
/// Returns the time that aging took, the accesses that were hidden, and what the program missed.
fn aged<F: Format>(setup: Setup, flush: YoungFlush) -> (Time, u64, u64) {
    let ground = Ground::<F>::new(1);
    let machine = ground.machine(setup);
    let (done, took) = (Cell::new(false), Cell::new(Time::ZERO));
    let program = |task: &Task<'_, '_, F>| {
        ground.load(task, 0);
        while !done.get() {
            for i in 0..PAGES {
                task.access(at::<F>(i), false).expect("mapped");
            }
            task.spend(Time::from_ns(100));
        }
    };
    let aging = |task: &Task<'_, '_, F>| {
        let env = OnMachine(task);
        let flush = FlushPolicy::uniform(flush);
        let check =
            YoungCheck { env: &env, algorithm: YoungAlgorithm::Batched, flush, asid: asid(0) };
        for _ in 0..100 {
            task.spend(Time::from_ns(10_000));
            let begun = task.now();
            let locked = LockedTable::lock(&env, ground.leaves(0));
            check.clear_flush_young_ptes(&locked, at::<F>(0), PAGES);
            took.set(took.get() + (task.now() - begun));
        }
        done.set(true);
    };
    machine.run(vec![TaskSpec::new("program", program), TaskSpec::new("aging", aging)]);
    assert!(held(&machine, 0, 0).len() <= PAGES);
    (took.get(), hidden(&machine), machine.report().counts.walks)
}

#[test]
fn on_arm64_flushing_costs_time_and_skipping_it_hides_accesses() {
    let of = |flush| aged::<Arm64_4K>(arm64(8, |_| {}), flush);
    let (sync, nosync, none) = (of(YoungFlush::Sync), of(YoungFlush::Nosync), of(YoungFlush::None));
    assert!(sync.0 > nosync.0 && nosync.0 > none.0, "{sync:?} {nosync:?} {none:?}");
    assert!(none.1 > 10 * sync.1, "{sync:?} {none:?}");
    assert!(none.2 < nosync.2, "without invalidation the program misses less: {none:?}");
    let InvalidationPrices::Broadcast(prices) = arm64(8, |_| {}).prices.invalidation else {
        unreachable!()
    };
    assert!(sync.0 - nosync.0 >= prices.dsb_per_core * 7 * 90, "each of 100 waits for 7 cores");
}

#[test]
fn on_x86_flushing_interrupts() {
    let of = |flush| aged::<X86_64>(x86(8, |_| {}), flush);
    let (sync, none) = (of(YoungFlush::Sync), of(YoungFlush::None));
    assert!(sync.0 > none.0, "{sync:?} {none:?}");
    assert!(none.1 > 10 * sync.1, "{sync:?} {none:?}");
}

//! Variants differ only in invalidations, barriers and atomic operations. The same scenario frees
//! the same frames in the same order, whatever variant checks young bits, takes entries out and
//! notifies other CPUs.

use crate::memory::{ROOM, TABLES, with};
use crate::model::{Machine, Model};
use crate::property::quietly;
use crate::steps::{self, LEAVES, Op, Step, step};
use pageout_paging::pte::{Arm64_4K, SmallArm4, SmallRiscv, SmallX86};
use pageout_paging::{Format, Order, Pfn, Rules, Sound, Table};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{Advice, Counter, FolioId, LruList};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

/// The number of variants that flush alike. The part after, the flush of a cleared young bit, may
/// change the young bits that are found.
const ALIKE: usize = 3 * 2 * 2;

/// The state at the end of a scenario.
#[derive(PartialEq, Eq, Debug)]
struct End {
    freed: Vec<(Pfn, Order)>,
    /// The entries of page tables.
    entries: Vec<u64>,
    /// The lists of all cgroups, and the records of use of the folios on them.
    lists: Vec<(FolioId, String)>,
    counters: Vec<u64>,
    contents: Vec<u64>,
}

impl End {
    /// Returns the first difference of two ends.
    fn difference(&self, other: &Self) -> String {
        fn first<T: PartialEq + std::fmt::Debug>(name: &str, a: &[T], b: &[T]) -> Option<String> {
            let k = (0..a.len().max(b.len())).find(|k| a.get(*k) != b.get(*k))?;
            Some(format!("{name} {k}: {:x?} and {:x?}", a.get(k), b.get(k)))
        }
        first("frames freed", &self.freed, &other.freed)
            .or_else(|| first("entry", &self.entries, &other.entries))
            .or_else(|| first("listed", &self.lists, &other.lists))
            .or_else(|| first("counter", &self.counters, &other.counters))
            .or_else(|| first("content", &self.contents, &other.contents))
            .unwrap_or_default()
    }
}

fn end<F: Format, R: Rules>(model: &Model<'_, '_, F, R>) -> End {
    let mut memory = model.hardware.memory();
    let memcgs = model.memcgs.borrow();
    let lruvecs = model.lruvecs().into_iter();
    let all = lruvecs.flat_map(|id| LruList::ALL.map(|list| (id, list)));
    let lists = all.flat_map(|(id, list)| model.maps.lru_folios(id, list).expect("it is online"));
    let known = |id| (id, format!("{:?}", model.maps.folio(id).expect("it lives")));
    let counted = memcgs.iter().flat_map(|(id, _)| {
        Counter::ALL
            .iter()
            .map(|counter| model.maps.memcg(*id).expect("it is online").vmstat().get(*counter))
    });
    let tables = (0..TABLES as u64).map(|k| pageout_sim::FIRST_TABLE.add(k));
    // A lazyfree run that was written to after all is put back dirty as a whole.
    let clean = |pte| if F::is_valid(pte) { F::mkclean(pte) } else { pte };
    let entries =
        |frame| (0..F::PTES).map(move |i| clean(model.walker.table::<F>(frame).load(i)).0);
    End {
        freed: std::mem::take(&mut memory.freed),
        entries: tables.flat_map(entries).collect(),
        lists: lists.map(known).collect(),
        counters: counted.collect(),
        contents: memory.frames().iter().map(|frame| frame.content).collect(),
    }
}

fn run<F: Format>(machine: Machine, order: u8, variant: usize, steps: &[Step]) -> End {
    with::<F, Sound, _>(&ROOM, TABLES, |model| {
        // Walks of page tables count the young entries that each algorithm finds in its own way,
        // and choose by it the tables to walk next.
        let mut classic = machine;
        classic.lru_gen = LruGenCaps::empty();
        model.machine.set(classic);
        model.tuning.set(steps::tuning(variant));
        model.begin();
        for step in steps {
            let mut step = step.clone();
            match &mut step.op {
                Op::Tune(_) | Op::SwitchLruGen { .. } => continue,
                // A large lazyfree folio was written to in part. Then unmapping entry by entry
                // loses the pages before the first one written to, and unmapping by a run loses
                // none. Kernels do the same.
                Op::Advise { advice: Advice::Free, .. } if order > 0 => continue,
                Op::MapAnonymous { order: of, .. } | Op::MapFile { order: of, .. } => *of = order,
                _ => {}
            }
            // Otherwise a variant that flushes more would evict translations that hide a later
            // access from others. CPUs may forget a translation at any time, and here do so after
            // each step.
            model.step(&step);
            model.hardware.tlbs().cpus.iter_mut().for_each(|tlb| tlb.held.clear());
        }
        end(model)
    })
}

/// The mean number of steps of a scenario, and the number of scenarios of an order.
const STEPS: usize = 120;
const SCENARIOS: u32 = 20;

fn alike<F: Format>() {
    for (order, from) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (3, LEAVES)] {
        let scenario = (steps::machine(), vec(step(false), 1..2 * STEPS));
        let config = Config {
            cases: SCENARIOS,
            max_shrink_iters: 3_000,
            failure_persistence: None,
            ..Config::default()
        };
        let property = |(machine, steps): (Machine, Vec<Step>)| {
            let base = run::<F>(machine, order, from, &steps);
            for variant in from + 1..from + ALIKE {
                let other = run::<F>(machine, order, variant, &steps);
                prop_assert!(base == other, "variant {}: {}", variant, base.difference(&other));
            }
            Ok(())
        };
        let found = quietly(|| TestRunner::new(config).run(&scenario, property));
        if let Err(TestError::Fail(why, (machine, steps))) = found {
            let steps: Vec<_> = steps.iter().map(|step| format!("{step:?},\n")).collect();
            panic!("order {order}, {machine:?}: {why}\n{}", steps.concat());
        }
    }
}

#[test]
fn variants_end_alike_on_small_x86() {
    alike::<SmallX86>();
}

#[test]
fn variants_end_alike_on_small_arm64() {
    alike::<SmallArm4>();
}

#[test]
fn variants_end_alike_on_small_riscv() {
    alike::<SmallRiscv>();
}

#[test]
fn variants_end_alike_on_arm64_4k() {
    alike::<Arm64_4K>();
}

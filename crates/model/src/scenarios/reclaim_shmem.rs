//! Scenario `reclaim-shmem` on a modelled machine: `memory.reclaim` runs on its first core, while
//! the processes that map the memory sleep.

use crate::scenarios::reclaim_file::{self, Done, TASK};
use crate::{Kernel, Model, ModelRun, Modelled, OnMachine, Scenario, Swap, activity};
use pageout_experiment::declare::Declared;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::RECLAIMED;
use pageout_experiment::scenarios::{self, ReclaimShmemLists};
use pageout_experiment::variant::Variant;
use pageout_host::scenario::HostScenario;
use pageout_host::scenarios::reclaim_shmem::{Setup, young_pages};
use pageout_machine::platform::Platform;
use pageout_machine::{CoreId, Machine, Report, Task, TaskSpec};
use pageout_paging::mmu::Asid;
use pageout_record::schema::{Labels, Metric};
use std::cell::Cell;

/// The scenario on a modelled machine.
pub type ReclaimShmem = OnMachine<scenarios::ReclaimShmem>;

/// The outcome of one run, with the cgroup's counters.
#[derive(Clone, Debug)]
pub struct Outcome {
    request: reclaim_file::Outcome,
    counted: Vec<(MetricSpec, f64)>,
}

impl Modelled for scenarios::ReclaimShmem {
    fn lists(model: &Model) -> ReclaimShmemLists {
        ReclaimShmemLists { format: model.formats(), ..ReclaimShmemLists::modelled() }
    }

    fn format(&self) -> FormatName {
        self.format
    }
}

impl ReclaimShmem {
    fn run_as<F: Arch>(&self, model: &Model, variant: Variant, one: ModelRun) -> Outcome {
        let mut arena = self.arena();
        let caps = self.platform.shape().caps::<F>();
        let setup = Setup::<F>::build_for(&mut arena, self, variant.lru, one.seed, caps);
        let machine = Machine::new(model.setup(&self.platform, one), setup.ground.env.tables());
        let kernel = Kernel::new::<F>(setup.ground.supply, Swap::Compressed);
        let before = machine.run(self.touching(&setup, machine.shape().cores, one.seed));
        let done = Cell::new(None);
        let instructions = kernel.done().instructions();
        let request = self.reclaiming(&setup, &kernel, variant, &done);
        let after = machine.run(vec![request]);
        let done = done.get().expect("the reclaiming task ended");
        let instructions = kernel.done().instructions() - instructions;
        let instructions = (instructions, machine.prices().instruction * instructions);
        let reports = [before, after];
        let request = reclaim_file::Outcome::of::<F>(&kernel, reports, done, instructions);
        // The request has this count already.
        let counted = setup.counted().filter(|(metric, _)| metric.name != RECLAIMED.name);
        Outcome { request, counted: counted.collect() }
    }

    /// Each process uses its young pages once, in the order of their addresses, and sleeps from
    /// then on: its core's TLB holds the last ones.
    fn touching<'r, 'a, F: Arch>(
        &'r self,
        setup: &'r Setup<'a, F>,
        cores: u16,
        seed: u64,
    ) -> Vec<TaskSpec<'r, 'a, F>> {
        let touching = |(process, root): (usize, &_)| {
            let (process, root) = (process as u32, *root);
            let core = if cores == 1 { 0 } else { 1 + process as u16 % (cores - 1) };
            let touch = move |task: &Task<'_, 'a, F>| {
                task.load_mm(Asid(process), root);
                for at in young_pages::<F>(self, seed, process) {
                    let reached = task.access(at, false);
                    assert!(reached.is_ok(), "all of the memory is mapped");
                }
            };
            TaskSpec::new(format!("process {process}"), touch).on(CoreId(core))
        };
        setup.roots.iter().enumerate().map(touching).collect()
    }

    /// Returns the task that makes the request.
    fn reclaiming<'r, 'a, F: Arch>(
        &self,
        setup: &'r Setup<'a, F>,
        kernel: &'r Kernel<'r>,
        variant: Variant,
        done: &'r Done,
    ) -> TaskSpec<'r, 'a, F> {
        let (tuning, bytes) = (variant.tuning(F::FLUSH), self.reclaim_bytes());
        let reclaim = move |task: &Task<'_, 'a, F>| {
            let begun = task.now();
            let reclaimed = kernel.on(task, |env| {
                env.within(activity::MEMORY_RECLAIM, || setup.reclaim(env, bytes, tuning))
            });
            let reclaimed = reclaimed.expect("there is swap for all of it");
            done.set(Some((reclaimed, task.now().since(begun))));
        };
        TaskSpec::new(TASK, reclaim).on(CoreId(0))
    }
}

impl Scenario for ReclaimShmem {
    type Outcome = Outcome;
    const NAME: &'static str = scenarios::ReclaimShmem::NAME;
    const WHOLE: MetricSpec = <reclaim_file::ReclaimFile as Scenario>::WHOLE;

    fn platform(&self) -> &Platform {
        &self.platform
    }

    fn labels(&self, model: &Model) -> Labels {
        let mut all = Declared::labels(&**self);
        all.extend(model.labels(&self.platform));
        all
    }

    fn footprint(&self, _: &Model) -> Footprint {
        HostScenario::footprint(&**self)
    }

    fn run(&self, model: &Model, variant: Variant, one: ModelRun) -> Outcome {
        with_format!(self.format, F => self.run_as::<F>(model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        let requests = |all: &[Outcome]| -> Vec<_> {
            all.iter().map(|outcome| outcome.request.clone()).collect()
        };
        let mut metrics = reclaim_file::metrics(&requests(nominal), &requests(drawn));
        let counted = nominal[0].counted.iter();
        metrics.extend(counted.map(|(metric, value)| metric.one(*value)));
        metrics
    }

    fn whole(outcome: &Outcome) -> f64 {
        outcome.request.whole()
    }

    fn report(outcome: &Outcome) -> &Report {
        outcome.request.report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZero;

    /// Returns the metrics of the scenario on the first platform of its format.
    fn of(fields: &[&str], variant: Variant) -> Vec<Metric> {
        let threads = NonZero::<usize>::MIN;
        let model = Model { platform: None, cores: None, draws: 0, runs: 1, seed: 1, threads };
        let fields: Vec<_> = fields.iter().map(|field| (*field).to_owned()).collect();
        let all = ReclaimShmem::parse(&fields, &model).expect("good fields");
        ReclaimShmem::records(&all, &[variant], &model, &mut |_, _| {}).remove(0).metrics
    }

    fn value(metrics: &[Metric], name: &str) -> f64 {
        let found = metrics.iter().find(|metric| metric.name == name);
        found.unwrap_or_else(|| panic!("{name} is told: {metrics:?}")).values[0]
    }

    const FIELDS: [&str; 4] = ["size=8MiB", "format=arm64-4k", "order=4", "young=100%"];

    #[test]
    fn what_the_request_took_is_written_to_swap() {
        let all = of(&FIELDS, Variant::STEPS[1]);
        let reclaimed = value(&all, RECLAIMED.name);
        assert!(reclaimed >= 1638.0, "{reclaimed}");
        assert_eq!(value(&all, "pages swapped out"), reclaimed);
        assert!(value(&all, "whole reclaim") > 0.0);
    }

    #[test]
    fn batches_save_table_operations_and_time() {
        let [before, after] =
            [Variant::BEFORE, Variant::STEPS[1]].map(|variant| of(&FIELDS, variant));
        for name in ["whole reclaim", "table operations"] {
            let (before, after) = (value(&before, name), value(&after, name));
            assert!(after < before, "{name}: {before} and {after}");
        }
    }

    #[test]
    fn each_process_adds_to_the_time() {
        let with = |processes| {
            let fields = [&FIELDS[..], &[processes]].concat();
            value(&of(&fields, Variant::STEPS[1]), "whole reclaim")
        };
        let (one, four) = (with("processes=1"), with("processes=4"));
        assert!(four > one, "{one} and {four}");
    }
}

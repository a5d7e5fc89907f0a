//! The material of answers: measurements and counts of the engine here, the lab's stored records,
//! and platforms with their prices.

use super::effort::Effort;
use super::figure::Figure;
use super::reclaim;
use super::shootdowns;
use super::step::Step;
use crate::published::lab_metric;
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::FormatName;
use pageout_experiment::rounds::{Cell, Rounds, measure};
use pageout_experiment::scenarios::metrics::reclaim_file::WHOLE;
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_host::bench::figures::Measured;
use pageout_host::layout::Arena;
use pageout_host::scenario::{HostScenario, RunOptions};
use pageout_machine::platform::{Architecture, Platform};
use pageout_paging::Stage;
use pageout_record::schema::{Record, RecordFile};

/// The lab's counts of Linux 7.3 with its batches, and without each. The predictions use them too
/// (`model::software::counted`).
const LAB_RECORDS: &str = pageout_lab::records::LINUX_7_3;

fn lab_records() -> RecordFile {
    RecordFile::from_json(LAB_RECORDS).expect("the stored records are a record set")
}

/// The runs that answers need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Needs {
    /// True if the engine has to run on this machine.
    pub(super) host: bool,
    /// True if scenario `reclaim-file` has to run on modelled machines.
    pub(super) reclaim: bool,
    /// True if `reclaim-file` also has to run with settings other than those assumed.
    pub(super) settings: bool,
    /// True if the scenarios of [`shootdowns`] have to run.
    pub(super) shootdowns: bool,
}

/// The material of answers.
#[derive(Debug)]
pub(super) struct Material {
    host: Vec<Record>,
    lab: RecordFile,
    /// The results of scenario `reclaim-file` on modelled machines, if it ran.
    pub(super) reclaim: reclaim::Runs,
    /// The results of scenarios about shootdowns, if they ran.
    pub(super) shootdowns: shootdowns::Runs,
    bytes: u64,
    draws: u32,
}

impl Material {
    /// Reads the stored records and runs what `needs` asks for. Calls `progress` with the steps
    /// done and the most there can be.
    pub(super) fn gather(
        effort: Effort,
        needs: Needs,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Self {
        let host = if needs.host { run(effort, progress) } else { Vec::new() };
        let reclaim = match needs.reclaim {
            true => reclaim::Runs::gather(effort, needs.settings, progress).expect("fields it has"),
            false => reclaim::Runs::default(),
        };
        let shootdowns = match needs.shootdowns {
            true => shootdowns::Runs::gather(effort, progress).expect("fields they have"),
            false => shootdowns::Runs::default(),
        };
        let Effort { bytes, draws, .. } = effort;
        Self { host, lab: lab_records(), reclaim, shootdowns, bytes, draws }
    }

    /// Returns the number of draws of a platform's prices.
    pub(super) fn draws(&self) -> u32 {
        self.draws
    }

    /// Returns the figure's platform.
    pub(super) fn platform(&self, figure: &Figure) -> Result<Platform, String> {
        let name = figure.platform.ok_or("no platform answers to the system")?;
        Platform::named(name).ok_or_else(|| format!("platform {name} is not there"))
    }

    /// Returns the lab's instructions a page, before and after.
    pub(super) fn instructions(
        &self,
        figure: &Figure,
        steps: [Step; 2],
    ) -> Result<[f64; 2], String> {
        let format = self.format(figure)?;
        let [before, after] = steps.map(|step| self.lab(format, step, "reclaim"));
        Ok([before?, after?])
    }

    /// Returns the engine's nanoseconds a page on this machine, one value a round.
    pub(super) fn times(&self, figure: &Figure, step: Step) -> Result<Vec<f64>, String> {
        let times = self.engine(self.format(figure)?, step, WHOLE.name);
        if times.is_empty() { Err("the engine was not timed".to_owned()) } else { Ok(times) }
    }

    /// Returns the share of walks and young checks in these times, in per cent.
    pub(super) fn shares(&self, figure: &Figure, step: Step) -> Result<Vec<f64>, String> {
        let scenario = scenario(self.format(figure)?, self.bytes);
        let measured = Measured { records: &self.host };
        let all = measured.stages(&scenario, step.variant(), &Stage::ALL);
        let asked = measured.stages(&scenario, step.variant(), &[Stage::RmapWalk, Stage::Young]);
        let shares: Vec<_> =
            asked.iter().zip(&all).map(|(asked, all)| 100.0 * asked / all).collect();
        if shares.is_empty() {
            Err("the sampler saw too little, or has no CPU".to_owned())
        } else {
            Ok(shares)
        }
    }

    fn format(&self, figure: &Figure) -> Result<FormatName, String> {
        Ok(match self.platform(figure)?.architecture() {
            Architecture::Arm64 => FormatName::Arm64_4K,
            Architecture::X86 => FormatName::X86_64,
            Architecture::Riscv => FormatName::Riscv64,
        })
    }

    fn lab(&self, format: FormatName, step: Step, name: &str) -> Result<f64, String> {
        let of = (format.name(), step.lru(), step.kernel());
        let found = lab_metric(&self.lab, of, name);
        found.ok_or_else(|| format!("the lab has no {name} of {} on {}", of.2, of.0))
    }

    fn engine(&self, format: FormatName, step: Step, name: &str) -> Vec<f64> {
        let measured = Measured { records: &self.host };
        measured.metric(&scenario(format, self.bytes), step.variant(), name)
    }
}

/// Returns the threads' benchmark at another size.
fn scenario(format: FormatName, bytes: u64) -> ReclaimFile {
    let orders = Orders::All(OrderName::Number(4));
    ReclaimFile { format, orders, bytes, ..ReclaimFile::DEFAULT }
}

fn run(effort: Effort, progress: &mut dyn FnMut(usize, usize)) -> Vec<Record> {
    let scenarios = FormatName::MAIN.map(|format| scenario(format, effort.bytes));
    let variants = Step::ALL.map(Step::variant);
    let mut arenas: Vec<Arena> = scenarios.iter().map(ReclaimFile::arena).collect();
    let cell = |(scenario, arena): (&ReclaimFile, _)| -> Box<dyn Cell + '_> {
        scenario.cell(arena, &variants, RunOptions { seed: 1, by_stage: true })
    };
    let mut cells: Vec<_> = scenarios.iter().zip(&mut arenas).map(cell).collect();
    measure(&mut cells, Rounds::Exactly(effort.rounds), progress)
}

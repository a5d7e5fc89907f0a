//! What answers are made of: the engine measured and counted here, the lab's stored records, and
//! platforms with their prices.

use super::figure::Figure;
use super::figures::ARM;
use super::patterns::{self, Patterns};
use super::reclaim;
use super::shootdowns;
use super::thpscale::Runs;
use crate::published::lab_metric;
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::FormatName;
use pageout_experiment::rounds::{Cell, Rounds, measure};
use pageout_experiment::scenarios::metrics::reclaim_file::WHOLE;
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_experiment::variant::{Lru, Variant};
use pageout_host::bench::figures::Measured;
use pageout_host::layout::Arena;
use pageout_host::scenario::{How, OnHost};
use pageout_machine::platform::{Architecture, Platform};
use pageout_paging::Stage;
use pageout_record::schema::{Record, RecordFile};
use std::cell::OnceCell;

/// What the lab counted of Linux 6.12 with our series: the prices of kernel code that predictions
/// use (`model::software`) are fitted to the same records.
const LAB_RECORDS: &str = pageout_lab::records::LINUX_6_12;

fn lab_records() -> RecordFile {
    RecordFile::from_json(LAB_RECORDS).expect("the stored records are a record set")
}

/// How thorough to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Bytes of the file that is reclaimed here.
    pub bytes: u64,
    /// Rounds of it.
    pub rounds: usize,
    /// Draws of a platform's prices for S0's and S1's benchmark on the modelled machine.
    pub draws: u32,
    /// About the bytes of memory of scenarios on the modelled machine that fill it.
    pub memory: u64,
    /// Draws of prices for each of them.
    pub modelled: u32,
    /// Runs of S3's tests.
    pub patterns: patterns::Runs,
}

impl Effort {
    /// What tables are shown of.
    pub const FULL: Self = Self {
        bytes: 1 << 30,
        rounds: 9,
        draws: 200,
        memory: 256 << 20,
        modelled: 10,
        patterns: patterns::Runs { memory: 16 << 20, nominal: 31, draws: 20, each: 4 },
    };
    /// Whether all of it works.
    pub const QUICK: Self = Self {
        bytes: 32 << 20,
        rounds: 2,
        draws: 20,
        memory: 48 << 20,
        modelled: 1,
        patterns: patterns::Runs { memory: 4 << 20, nominal: 3, draws: 2, each: 2 },
    };
}

/// A state of the kernel's reclaim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Classic lists, nothing batched.
    Stock,
    /// Classic lists, young bits batched.
    Young,
    /// Classic lists, young bits and unmapping batched.
    Unmap,
    /// Generations, unmapping batched.
    MglruUnmap,
    /// Generations, young bits and unmapping batched.
    Mglru,
}

impl Step {
    pub(super) const ALL: [Self; 5] =
        [Self::Stock, Self::Young, Self::Unmap, Self::MglruUnmap, Self::Mglru];

    pub(super) const fn variant(self) -> Variant {
        match self {
            Self::Stock => Variant::BEFORE,
            Self::Young => Variant::STEPS[0],
            Self::Unmap => Variant::STEPS[1],
            Self::MglruUnmap => Variant::MGLRU_BEFORE,
            Self::Mglru => Variant::MGLRU_STEPS[0],
        }
    }

    /// The lab's kernel.
    const fn kernel(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Young => "s1",
            Self::Unmap | Self::MglruUnmap => "s2",
            Self::Mglru => "s3",
        }
    }

    const fn lru(self) -> Lru {
        match self {
            Self::Stock | Self::Young | Self::Unmap => Lru::Classic,
            Self::MglruUnmap | Self::Mglru => Lru::Mglru,
        }
    }
}

/// What is to be run for answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Needs {
    /// The engine on this machine.
    pub(super) host: bool,
    /// Scenario `reclaim-file` on modelled machines.
    pub(super) reclaim: bool,
    /// Scenario `thpscale` on the modelled machine.
    pub(super) thpscale: bool,
    /// Those of [`shootdowns`].
    pub(super) shootdowns: bool,
}

/// What answers are made of.
#[derive(Debug)]
pub(super) struct Material {
    host: Vec<Record>,
    lab: RecordFile,
    /// What scenario `reclaim-file` on modelled machines said, if it ran.
    pub(super) reclaim: reclaim::Runs,
    /// What scenario `thpscale` said, if it ran.
    pub(super) thpscale: Runs,
    /// What scenarios about shootdowns said, if they ran.
    pub(super) shootdowns: shootdowns::Runs,
    bytes: u64,
    runs: patterns::Runs,
    patterns: OnceCell<Patterns>,
}

impl Material {
    /// Reads what is stored and, if asked for, runs the engine; `progress` is told steps done and
    /// the most there can be.
    pub(super) fn gather(
        effort: Effort,
        needs: Needs,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Self {
        let host = if needs.host { run(effort, progress) } else { Vec::new() };
        let reclaim = match needs.reclaim {
            true => reclaim::Runs::gather(effort, progress).expect("fields it has"),
            false => reclaim::Runs::default(),
        };
        let platform = || Platform::named(ARM).expect("a shipped platform");
        let thpscale = match needs.thpscale {
            true => Runs::gather(platform(), effort, progress).expect("it has pages of 2 MiB"),
            false => Runs::default(),
        };
        let shootdowns = match needs.shootdowns {
            true => shootdowns::Runs::gather(effort, progress).expect("fields they have"),
            false => shootdowns::Runs::default(),
        };
        let Effort { bytes, patterns: runs, .. } = effort;
        let patterns = OnceCell::new();
        let lab = lab_records();
        Self { host, lab, reclaim, thpscale, shootdowns, bytes, runs, patterns }
    }

    /// The figure's platform.
    pub(super) fn platform(&self, figure: &Figure) -> Result<Platform, String> {
        let name = figure.platform.ok_or("no platform answers to the system")?;
        Platform::named(name).ok_or_else(|| format!("platform {name} is not there"))
    }

    /// S3's tests on the figure's platform, which is that of all of them; run when first asked for.
    pub(super) fn patterns(&self, figure: &Figure) -> Result<&Patterns, String> {
        let platform = self.platform(figure)?;
        Ok(self.patterns.get_or_init(|| Patterns::run(self.runs, &platform)))
    }

    /// The lab's instructions a page.
    pub(super) fn instructions(
        &self,
        figure: &Figure,
        steps: [Step; 2],
    ) -> Result<[f64; 2], String> {
        let format = self.format(figure)?;
        let [before, after] = steps.map(|step| self.lab(format, step, "reclaim"));
        Ok([before?, after?])
    }

    /// Nanoseconds a page of the engine here, a round each.
    pub(super) fn times(&self, figure: &Figure, step: Step) -> Result<Vec<f64>, String> {
        let times = self.engine(self.format(figure)?, step, WHOLE.name);
        if times.is_empty() { Err("the engine was not timed".to_owned()) } else { Ok(times) }
    }

    /// The share of walks and young checks in them, in per cent.
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

/// The threads' benchmark at another size.
fn scenario(format: FormatName, bytes: u64) -> ReclaimFile {
    let orders = Orders::All(OrderName::Number(4));
    ReclaimFile { format, orders, bytes, ..ReclaimFile::DEFAULT }
}

fn run(effort: Effort, progress: &mut dyn FnMut(usize, usize)) -> Vec<Record> {
    let scenarios = FormatName::MAIN.map(|format| scenario(format, effort.bytes));
    let variants = Step::ALL.map(Step::variant);
    let mut arenas: Vec<Arena> = scenarios.iter().map(ReclaimFile::arena).collect();
    let cell = |(scenario, arena): (&ReclaimFile, _)| -> Box<dyn Cell + '_> {
        scenario.cell(arena, &variants, How { seed: 1, by_stage: true })
    };
    let mut cells: Vec<_> = scenarios.iter().zip(&mut arenas).map(cell).collect();
    measure(&mut cells, Rounds::Exactly(effort.rounds), progress)
}

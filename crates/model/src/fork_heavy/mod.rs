//! Scenario `fork-heavy`: shells that fork on every core, whose children write, protect, unmap and
//! exit, while their cgroup is reclaimed from: what deferring shootdowns costs those who then rely
//! on page tables.

mod run;
#[cfg(test)]
mod tests;

pub use run::{LOOP, Outcome};

use crate::{Model, One, Scenario};
use pageout_experiment::fields::{self, FieldError, bad, check_size, number, parse_size};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::labels;
use pageout_experiment::variant::Variant;
use pageout_host::layout::tables_of;
use pageout_machine::Report;
use pageout_machine::platform::Platform;
use pageout_paging::Format as _;
use pageout_reclaim::{Limits, MapAs};
use pageout_record::schema::{Labels, Metric};

/// The scenario's name in records.
pub const NAME: &str = "fork-heavy";
const FIELDS: &str = "format, size, loops and reclaim";
/// The most memory of a shell, and loops.
const MAX_BYTES: u64 = 64 << 20;
const MAX_LOOPS: u32 = 100_000;

/// Whether the shells' cgroup is reclaimed from meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reclaim {
    /// By a task of its own, all the time.
    Running,
    /// No: nothing is ever put off.
    Never,
}

impl Reclaim {
    const ALL: [Self; 2] = [Self::Running, Self::Never];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Never => "never",
        }
    }
}

/// The scenario, with one value a field.
#[derive(Clone, Debug)]
pub struct ForkHeavy {
    /// Entry format.
    pub format: FormatName,
    /// Bytes of a shell's anonymous memory.
    pub bytes: u64,
    /// Times that each forks, after one that is not told of.
    pub loops: u32,
    /// Whether they are reclaimed from.
    pub reclaim: Reclaim,
    /// The machine.
    pub platform: Platform,
}

impl ForkHeavy {
    /// Scenarios from `FIELD=VALUE` arguments.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String], model: &Model) -> Result<Vec<Self>, FieldError> {
        let mut formats = model.formats();
        let mut reclaims = vec![Reclaim::Running];
        let (mut bytes, mut loops) = (512 << 10, 10);
        for (field, value) in fields::pairs(arguments)? {
            match field {
                "format" => formats = fields::list("format", value, FormatName::parse)?,
                "size" => bytes = parse_size(value)?,
                "loops" => {
                    let found = number(value).filter(|loops| (1..=MAX_LOOPS).contains(loops));
                    let accepted = format!("a number from 1 to {MAX_LOOPS}");
                    loops = found.ok_or_else(|| bad("loops", value, accepted))?;
                }
                "reclaim" => {
                    let one = |text: &str| {
                        let found = Reclaim::ALL.into_iter().find(|one| one.name() == text);
                        found.ok_or_else(|| bad("reclaim", text, "running or never"))
                    };
                    reclaims = fields::list("reclaim", value, one)?;
                }
                _ => {
                    let (scenario, field, accepted) = (NAME, field.to_owned(), FIELDS);
                    return Err(FieldError::Unknown { scenario, field, accepted });
                }
            }
        }
        let mut all = Vec::new();
        for format in formats {
            let platform = model.platform_for(format)?;
            // Its eighths are whole pages.
            let least = with_format!(format, F => F::PAGE_SIZE) * 8;
            check_size(bytes, least, "eight-page", MAX_BYTES)?;
            let one = |reclaim: &Reclaim| {
                let (reclaim, platform) = (*reclaim, platform.clone());
                Self { format, bytes, loops, reclaim, platform }
            };
            all.extend(reclaims.iter().map(one));
        }
        Ok(all)
    }

    /// Shells on a machine of so many cores: the last core is the reclaiming task's.
    const fn shells(cores: u16) -> u16 {
        if cores == 1 { 1 } else { cores - 1 }
    }

    fn pages<F: Arch>(&self) -> usize {
        (self.bytes >> F::PAGE_SHIFT) as usize
    }

    fn limits<F: Arch>(&self, cores: u16) -> Limits {
        let shells = usize::from(Self::shells(cores));
        // A shell's and a child's, and what is not free yet.
        let pages = 3 * self.pages::<F>() * shells;
        Limits {
            frames: pages,
            folios: pages,
            // The child's is cut in pieces.
            vmas: 6 * shells,
            mms: 2 * shells,
            mappings: 2 * shells,
            memcgs: 1,
            slots: pages,
            filters: 4,
            ..Limits::NOTHING
        }
    }

    fn tables<F: Arch>(&self, cores: u16) -> usize {
        tables_of::<F>(self.pages::<F>(), 2 * u32::from(Self::shells(cores)), MapAs::Ptes)
    }
}

impl Scenario for ForkHeavy {
    type Outcome = Outcome;
    const NAME: &'static str = NAME;

    fn labels(&self, model: &Model) -> Labels {
        let mut all = labels([
            ("format", self.format.name().to_owned()),
            ("size", fields::display_size(self.bytes)),
            ("loops", self.loops.to_string()),
            ("reclaim", self.reclaim.name().to_owned()),
        ]);
        all.extend(model.labels(&self.platform));
        all
    }

    fn footprint(&self, model: &Model) -> Footprint {
        let cores = model.shape(&self.platform).cores;
        with_format!(self.format, F => {
            Footprint::of::<F>(&self.limits::<F>(cores), self.tables::<F>(cores))
        })
    }

    fn run(&self, model: &Model, variant: Variant, one: One) -> Outcome {
        with_format!(self.format, F => run::run::<F>(self, model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        run::metrics(nominal, drawn)
    }

    fn report(outcome: &Outcome) -> &Report {
        &outcome.between.after
    }
}

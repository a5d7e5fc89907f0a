//! The modelled machine, and the number of runs.

use super::activity;
use pageout_experiment::fields::{FieldError, bad};
use pageout_experiment::formats::{Arch, FormatName};
use pageout_experiment::metrics::labels;
use pageout_machine::Setup;
use pageout_machine::platform::{Architecture, Draw, Platform, Shape};
use pageout_record::schema::Labels;
use std::num::NonZeroUsize;

/// The distance between the first draws of two seeds. No seed has more draws.
const MOST_DRAWS: u64 = 1 << 20;

/// The settings of scenarios on modelled machines.
#[derive(Clone, Debug)]
pub struct Model {
    /// The machine. `None` is the server class of each format's architecture.
    pub platform: Option<Platform>,
    /// The number of cores, if it differs from the platform's.
    pub cores: Option<u16>,
    /// The number of price vectors drawn from the platform's ranges, besides its nominal prices.
    pub draws: u32,
    /// The number of runs with nominal prices.
    pub runs: u32,
    /// The seed of the first run and of the draws. Each further run's seed is one more.
    pub seed: u64,
    /// Threads of this host that share the runs. Records do not depend on it.
    pub threads: NonZeroUsize,
}

/// A single run of a scenario under a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelRun {
    /// The run's prices.
    pub draw: Draw,
    /// The run's seed.
    pub seed: u64,
}

impl Model {
    /// Returns the formats of a scenario for which none is given.
    pub fn formats(&self) -> Vec<FormatName> {
        let fits = |format: &FormatName| {
            self.platform.as_ref().is_none_or(|one| one.architecture() == architecture(*format))
        };
        match FormatName::MAIN.into_iter().filter(fits).collect::<Vec<_>>() {
            none if none.is_empty() => FormatName::ALL.into_iter().filter(fits).collect(),
            some => some,
        }
    }

    /// Returns the machine for entries of a format.
    ///
    /// # Errors
    /// [`FieldError`] if the machine has no such entries, or if fewer than one core or more than
    /// 256 are asked for.
    pub fn platform_for(&self, format: FormatName) -> Result<Platform, FieldError> {
        let wanted = architecture(format);
        let Some(platform) = &self.platform else {
            return server_class(wanted).ok_or_else(|| {
                let problem = "is of an architecture that no platform of the program's has";
                bad("format", format.name(), problem, "x86-64 or one of arm64, or --platform FILE")
            });
        };
        if platform.architecture() != wanted {
            let (name, has) = (platform.name(), platform.architecture());
            let problem = format!("is not of platform {name}, which is {has}");
            return Err(bad("format", format.name(), problem, format!("a format of {has}")));
        }
        Ok(platform.clone())
    }

    /// Returns the shape of the machine of `platform`, with the number of cores asked for.
    pub fn shape(&self, platform: &Platform) -> Shape {
        let shape = platform.shape().clone();
        let cores = self.cores.unwrap_or(shape.cores);
        Shape { cores, ..shape }
    }

    /// Returns the setup of a machine for one run.
    pub fn setup(&self, platform: &Platform, one: ModelRun) -> Setup {
        let setup = Setup::new(self.shape(platform), platform.prices(one.draw), one.seed);
        Setup { activities: activity::NAMES, ..setup }
    }

    /// Returns the runs of a scenario under a variant: those with nominal prices, then one for each
    /// draw, with the seed of the first. They are the same for every scenario and variant, so that
    /// ratios compare equal prices.
    pub fn all_runs(&self) -> Vec<ModelRun> {
        let nominal = (0..u64::from(self.runs))
            .map(|run| ModelRun { draw: Draw::Nominal, seed: self.seed.wrapping_add(run) });
        let drawn = (0..u64::from(self.draws))
            .map(|number| ModelRun { draw: self.draw(number), seed: self.seed });
        nominal.chain(drawn).collect()
    }

    /// Returns a draw of prices. Different seeds have different draws; the same seed has the same.
    pub(crate) const fn draw(&self, number: u64) -> Draw {
        Draw::Seeded(self.seed.wrapping_sub(1).wrapping_mul(MOST_DRAWS).wrapping_add(number))
    }

    /// Returns the labels that records have for the machine.
    pub fn labels(&self, platform: &Platform) -> Labels {
        let cores = self.shape(platform).cores.to_string();
        labels([("platform", platform.name().to_owned()), ("cores", cores)])
    }
}

/// Returns the architecture of a format.
pub const fn architecture(format: FormatName) -> Architecture {
    match format {
        FormatName::X86_64 => Architecture::X86,
        FormatName::Arm64_4K | FormatName::Arm64_16K | FormatName::Arm64_64K => Architecture::Arm64,
        FormatName::Riscv64 => Architecture::Riscv,
    }
}

/// Returns the default platform of an architecture.
fn server_class(architecture: Architecture) -> Option<Platform> {
    match architecture {
        Architecture::Arm64 => Platform::named("arm64-server-32-class"),
        Architecture::X86 => Platform::named("x86-server-class"),
        Architecture::Riscv => None,
    }
}

/// Returns the architecture of a format's type.
pub fn architecture_of<F: Arch>() -> Architecture {
    let named = FormatName::ALL.into_iter().find(|format| format.name() == F::NAME);
    architecture(named.expect("a format that scenarios can name"))
}

//! Which machine is modelled, and how often.

use super::activity;
use pageout_experiment::fields::{FieldError, bad};
use pageout_experiment::formats::{Arch, FormatName};
use pageout_experiment::metrics::labels;
use pageout_machine::Setup;
use pageout_machine::platform::{Architecture, Draw, Platform, Shape};
use pageout_record::schema::Labels;
use std::num::NonZeroUsize;

/// More draws than are made of one seed.
const MOST_DRAWS: u64 = 1 << 20;

/// How scenarios run on modelled machines.
#[derive(Clone, Debug)]
pub struct Model {
    /// The machine; `None`: the server class of each format's architecture.
    pub platform: Option<Platform>,
    /// Its cores, if not as many as the platform has.
    pub cores: Option<u16>,
    /// How many price vectors are drawn from the platform's ranges, beside its nominal prices.
    pub draws: u32,
    /// How many runs there are with nominal prices.
    pub runs: u32,
    /// The seed of the first run, and of what is drawn; each next run's is one more.
    pub seed: u64,
    /// Threads of this host to spread runs over: nothing in a record depends on it.
    pub threads: NonZeroUsize,
}

/// One run among those of a scenario under a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct One {
    /// Its prices.
    pub draw: Draw,
    /// Its seed.
    pub seed: u64,
}

impl Model {
    /// The formats a scenario has that names none.
    pub fn formats(&self) -> Vec<FormatName> {
        let fits = |format: &FormatName| {
            self.platform.as_ref().is_none_or(|one| one.architecture() == architecture(*format))
        };
        match FormatName::MAIN.into_iter().filter(fits).collect::<Vec<_>>() {
            none if none.is_empty() => FormatName::ALL.into_iter().filter(fits).collect(),
            some => some,
        }
    }

    /// The machine for entries of a format.
    ///
    /// # Errors
    /// [`FieldError`] if it has none such, or fewer than one core or more than 256 are asked for.
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

    /// What the machine of `platform` has.
    pub fn shape(&self, platform: &Platform) -> Shape {
        let shape = platform.shape().clone();
        let cores = self.cores.unwrap_or(shape.cores);
        Shape { cores, ..shape }
    }

    /// What a machine is made from for one run.
    pub fn setup(&self, platform: &Platform, one: One) -> Setup {
        let setup = Setup::new(self.shape(platform), platform.prices(one.draw), one.seed);
        Setup { activities: activity::NAMES, ..setup }
    }

    /// The runs of a scenario under a variant: those with nominal prices, then one a draw, which
    /// has the first one's seed. The same for every scenario and variant, so that ratios are of
    /// equal prices.
    pub fn all_runs(&self) -> Vec<One> {
        let nominal = (0..u64::from(self.runs))
            .map(|run| One { draw: Draw::Nominal, seed: self.seed.wrapping_add(run) });
        let drawn = (0..u64::from(self.draws))
            .map(|number| One { draw: self.draw(number), seed: self.seed });
        nominal.chain(drawn).collect()
    }

    /// A draw of prices: seeds share none, and the same seed has the same ones.
    pub(crate) const fn draw(&self, number: u64) -> Draw {
        Draw::Seeded(self.seed.wrapping_sub(1).wrapping_mul(MOST_DRAWS).wrapping_add(number))
    }

    /// What records tell of the machine.
    pub fn labels(&self, platform: &Platform) -> Labels {
        let cores = self.shape(platform).cores.to_string();
        labels([("platform", platform.name().to_owned()), ("cores", cores)])
    }
}

/// The architecture whose entries a format's are.
pub const fn architecture(format: FormatName) -> Architecture {
    match format {
        FormatName::X86_64 => Architecture::X86,
        FormatName::Arm64_4K | FormatName::Arm64_16K | FormatName::Arm64_64K => Architecture::Arm64,
        FormatName::Riscv64 => Architecture::Riscv,
    }
}

/// The platform of an architecture for those who name none.
fn server_class(architecture: Architecture) -> Option<Platform> {
    match architecture {
        Architecture::Arm64 => Platform::named("arm64-server-32-class"),
        Architecture::X86 => Platform::named("x86-server-class"),
        Architecture::Riscv => None,
    }
}

/// The same, of a format's type.
pub fn architecture_of<F: Arch>() -> Architecture {
    let named = FormatName::ALL.into_iter().find(|format| format.name() == F::NAME);
    architecture(named.expect("a format that scenarios can name"))
}

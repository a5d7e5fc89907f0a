//! The lab at work: what it takes, and kernels built.

use pageout_record::schema::InvalidRecord;

use super::boot::BootError;
use super::build::{BuildError, Builder, Built};
use super::cache::{Cache, CacheError};
use super::initrd::InitrdError;
use super::kernel::Kernel;
use super::profile::ProfileError;
use super::progress::Progress;
use super::source::Source;
use super::target::{Config, Cpu};
use super::tools::{self, Missing};

/// Why the lab gave up.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Programs or packages are missing.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A kernel was not built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// What a machine boots into was not made.
    #[error(transparent)]
    Initrd(#[from] InitrdError),
    /// A machine gave no records.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// Records that break a rule of the format.
    #[error("the test machine's records: {0}")]
    Invalid(#[from] InvalidRecord),
    /// A profile that the plugin did not write as it should.
    #[error("{machine}: {source}")]
    Profile {
        /// Which machine.
        machine: String,
        /// What is wrong.
        source: ProfileError,
    },
    /// A function to profile that the kernel does not have.
    #[error("kernel {kernel} has no function `{root}`: --root takes a function of System.map")]
    NoFunction {
        /// Which kernel.
        kernel: String,
        /// The function.
        root: String,
    },
    /// A profile of a scenario that neither reclaims nor ages pages.
    #[error("{machine}: nothing was reclaimed or aged that a profile could be divided by")]
    NoPages {
        /// Which machine.
        machine: String,
    },
    /// A session that was not answered step by step.
    #[error("{machine}: the answers are not those of the session's steps")]
    NoAnswers {
        /// Which machine.
        machine: String,
    },
    /// A processor that no configuration given runs on.
    #[error("no processor for {config}: {} is for arm64 alone, expected max", Cpu::NeoverseN1)]
    NoCpu {
        /// The configuration.
        config: Config,
    },
}

/// Where and how the lab works.
pub struct Lab<'a> {
    /// What it keeps between runs.
    pub cache: Cache,
    /// Where kernels come from.
    pub source: Source,
    /// How many compilers, or machines, run at once.
    pub jobs: usize,
    /// Whom it tells.
    pub progress: &'a dyn Progress,
}

/// Kernels that were built.
#[derive(Clone, Debug)]
pub struct Builds {
    /// What they were built from.
    pub source: String,
    /// The kernels, under each configuration.
    pub all: Vec<Built>,
}

impl Lab<'_> {
    /// Refuses to begin what could not be brought to its end: without the programs that building
    /// takes, and booting on those processors if that is to come.
    ///
    /// # Errors
    ///
    /// [`LabError::Missing`] and [`LabError::NoCpu`].
    pub fn check(&self, configs: &[Config], cpus: Option<&[Cpu]>) -> Result<(), LabError> {
        let mut needs = Vec::new();
        for config in configs {
            let arch = config.arch();
            needs.extend(tools::to_build(arch, &self.source));
            let Some(cpus) = cpus else { continue };
            needs.extend(tools::to_boot(arch));
            if !cpus.iter().any(|cpu| cpu.runs(arch)) {
                return Err(LabError::NoCpu { config: *config });
            }
        }
        Ok(tools::check(&needs)?)
    }

    /// Builds every kernel under every configuration, as far as they are not there.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn build(&self, kernels: &[Kernel], configs: &[Config]) -> Result<Builds, LabError> {
        let _lock = self.cache.lock(self.progress)?;
        let pristine = self.source.open(&self.cache, self.progress).map_err(BuildError::Source)?;
        let builder = Builder {
            cache: &self.cache,
            source: &pristine,
            jobs: self.jobs,
            progress: self.progress,
        };
        let mut all: Vec<Built> = Vec::new();
        for config in configs {
            for kernel in kernels {
                // Kernels may differ in boot parameters alone.
                let same =
                    |built: &&Built| built.config == *config && built.kernel.build == kernel.build;
                let mut built = match all.iter().find(same) {
                    Some(built) => built.clone(),
                    None => builder.build(kernel, *config)?,
                };
                built.kernel = kernel.clone();
                all.push(built);
            }
        }
        Ok(Builds { source: pristine.title, all })
    }
}

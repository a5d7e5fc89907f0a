//! The lab at work: what it takes, and kernels built.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use pageout_record::schema::InvalidRecord;

use super::boot::BootError;
use super::build::{BuildError, Builder, Built, Planned};
use super::cache::{Cache, CacheError};
use super::initrd::InitrdError;
use super::kconfig::ConfigOption;
use super::kernel::Kernel;
use super::parallel;
use super::profile::ProfileError;
use super::progress::Progress;
use super::room;
use super::source::{Pristine, Source};
use super::target::{Config, Cpu};
use super::tools::{self, Missing};
use super::under_way::UnderWay;

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
    /// What is asked for of every kernel's configuration, besides or in place of our own.
    pub options: Vec<ConfigOption>,
    /// How many compilers run at once, and how many machines.
    pub jobs: usize,
    /// Whom it tells.
    pub progress: &'a dyn Progress,
}

/// A kernel under a configuration, by its place among those planned, as it is booted: kernels may
/// differ in boot parameters alone.
pub(super) struct Wanted {
    pub(super) plan: usize,
    pub(super) kernel: Kernel,
    pub(super) config: Config,
}

/// Pieces of work, each with the place of its kernel, and how many of them may be done at once.
pub(super) struct Work<T> {
    pub(super) items: Vec<(usize, T)>,
    pub(super) at_once: usize,
}

impl Lab<'_> {
    /// Refuses to begin what could not be brought to its end: without the programs that building
    /// takes, and booting on those processors if that is to come.
    ///
    /// # Errors
    ///
    /// [`LabError::Missing`] and [`LabError::NoCpu`].
    pub fn check(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        cpus: Option<&[Cpu]>,
    ) -> Result<(), LabError> {
        let mut needs = Vec::new();
        for config in configs {
            let arch = config.arch();
            needs.extend(tools::to_build(arch));
            let Some(cpus) = cpus else { continue };
            needs.extend(tools::to_boot(arch));
            if !cpus.iter().any(|cpu| cpu.runs(arch)) {
                return Err(LabError::NoCpu { config: *config });
            }
        }
        needs.extend(kernels.iter().flat_map(|kernel| tools::sources(&kernel.source, &self.cache)));
        Ok(tools::check(&needs)?)
    }

    /// Builds every kernel under every configuration, as far as they are not there.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn build(&self, kernels: &[Kernel], configs: &[Config]) -> Result<Vec<Built>, LabError> {
        let each = |wanted: &[Wanted]| {
            let items = (0..wanted.len()).map(|place| (place, ())).collect();
            Ok(Work { items, at_once: 1 })
        };
        self.build_for(kernels, configs, each, |built, (), _| Ok(built))
    }

    /// Builds every kernel under every configuration, as far as they are not there, and does the
    /// work of each as soon as it is there, several pieces at once. `work_of` names the work by the
    /// place of its kernel; the results are in the same order.
    pub(super) fn build_for<T: Sync, R: Send>(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        work_of: impl FnOnce(&[Wanted]) -> Result<Work<T>, LabError>,
        work: impl Fn(Built, &T, &AtomicBool) -> Result<R, LabError> + Sync,
    ) -> Result<Vec<R>, LabError> {
        let sources = self.sources(kernels)?;
        let (plans, wanted) = self.plan(kernels, configs, &sources)?;
        let missing: Vec<_> = plans.iter().filter(|plan| !plan.built.is_there()).collect();
        let trees = missing.iter().map(|plan| plan.output()).collect();
        room::to_build(&self.cache, missing.len(), &trees, self.progress)?;
        self.progress.expect(missing.len());
        let Work { items, at_once } = work_of(&wanted)?;
        // Kernels that are there come first, so that nothing waits while it could be done.
        let mut order: Vec<usize> = (0..plans.len()).collect();
        order.sort_by_key(|plan| !plans[*plan].built.is_there());
        let turn =
            |item: &usize| order.iter().position(|plan| *plan == wanted[items[*item].0].plan);
        let mut turns: Vec<usize> = (0..items.len()).collect();
        turns.sort_by_key(turn);

        let under_way = UnderWay::new(plans.len());
        let stop = AtomicBool::new(false);
        let done = std::thread::scope(|scope| {
            let builder = scope.spawn(|| self.make(&plans, &order, &under_way, &stop));
            let done = parallel::each(&turns, at_once, &stop, |item| {
                let (place, item) = &items[*item];
                let Wanted { plan, kernel, .. } = &wanted[*place];
                // Why it is not there the builder tells.
                if !under_way.wait(*plan) {
                    return Ok(None);
                }
                work(plans[*plan].built.booted_as(kernel), item, &stop).map(Some)
            });
            builder.join().expect("the builder does not panic")?;
            done
        })?;
        let done = turns.into_iter().zip(done);
        let done = done.filter_map(|(item, result)| result.map(|result| (item, result)));
        let mut results: Vec<(usize, R)> = done.collect();
        results.sort_by_key(|(item, _)| *item);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }

    /// Builds what is not there, in this order; until the first failure, or until others failed.
    fn make(
        &self,
        plans: &[Planned<'_>],
        order: &[usize],
        under_way: &UnderWay,
        stop: &AtomicBool,
    ) -> Result<(), LabError> {
        let made =
            order.iter().take_while(|_| !stop.load(Ordering::Relaxed)).try_for_each(|plan| {
                if !plans[*plan].built.is_there() {
                    self.builder().make(&plans[*plan], stop)?;
                }
                under_way.is_there(*plan);
                Ok(())
            });
        // What fails after another failure is of our own making.
        let is_first = made.is_err() && !stop.swap(true, Ordering::Relaxed);
        under_way.is_over();
        if is_first { made } else { Ok(()) }
    }

    fn builder(&self) -> Builder<'_> {
        Builder {
            cache: &self.cache,
            options: &self.options,
            jobs: self.jobs,
            progress: self.progress,
        }
    }

    pub(super) fn sources(
        &self,
        kernels: &[Kernel],
    ) -> Result<BTreeMap<Source, Pristine>, LabError> {
        let mut sources = BTreeMap::new();
        for Kernel { source, .. } in kernels {
            if !sources.contains_key(source) {
                let pristine = source.open(&self.cache, self.progress);
                sources.insert(source.clone(), pristine.map_err(BuildError::Source)?);
            }
        }
        Ok(sources)
    }

    /// What is to be built, each once, and the kernels that are wanted of it.
    fn plan<'s>(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        sources: &'s BTreeMap<Source, Pristine>,
    ) -> Result<(Vec<Planned<'s>>, Vec<Wanted>), LabError> {
        let mut plans: Vec<Planned<'s>> = Vec::new();
        let mut wanted = Vec::new();
        for config in configs {
            for kernel in kernels {
                let planned = self.builder().plan(&sources[&kernel.source], kernel, *config)?;
                let is_same = |other: &Planned<'_>| other.built.is_same(&planned.built);
                let plan = plans.iter().position(is_same).unwrap_or_else(|| {
                    plans.push(planned);
                    plans.len() - 1
                });
                wanted.push(Wanted { plan, kernel: kernel.clone(), config: *config });
            }
        }
        Ok((plans, wanted))
    }
}

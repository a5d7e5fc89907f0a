//! The lab at work: what it takes, and kernels built.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use pageout_record::schema::InvalidRecord;

use super::boot::BootError;
use super::build::{BuildError, Builder, Built, Planned};
use super::cache::{Cache, CacheError};
use super::first_build::FirstBuild;
use super::initrd::InitrdError;
use super::kconfig::ConfigOption;
use super::kernel::Kernel;
use super::parallel;
use super::profile::ProfileError;
use super::progress::Progress;
use super::room;
use super::schedule::{Points, SearchError};
use super::source::{Pristine, Source};
use super::target::{Config, Cpu};
use super::tools::{self, Missing};
use super::transcript::Fault;
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
    #[error(
        "{machine}: nothing was reclaimed or aged that a profile could be divided by, nor is this \
         a workload whose whole is a region per 4K page"
    )]
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
    /// No schedules were searched.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A processor that no configuration given runs on.
    #[error("no processor for {config}: {} is for arm64 alone, expected max", Cpu::NeoverseN1)]
    NoCpu {
        /// The configuration.
        config: Config,
    },
}

impl LabError {
    /// Whether it tells of the kernel at hand, and not of the lab: others may still be built, and
    /// run.
    pub(super) const fn is_of_a_kernel(&self) -> bool {
        match self {
            Self::Build(BuildError::Patch(error)) => error.is_of_the_patch(),
            Self::Build(BuildError::Make { .. } | BuildError::Config(_)) => true,
            Self::Boot(BootError::Failed(_)) => true,
            _ => false,
        }
    }

    /// Whether the benchmark came to its end, and found the kernel wrong.
    pub fn is_a_wrong_kernel(&self) -> bool {
        matches!(self, Self::Boot(BootError::Failed(failed))
            if matches!(failed.fault, Fault::Wrong { .. }))
    }
}

/// What becomes of the others when a kernel is not built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnFailure {
    /// They are left alone.
    End,
    /// They are built, and run.
    GoOn,
}

impl OnFailure {
    /// Whether a failure is one of its own, and not of our making after another one; the others are
    /// told to stop unless they go on.
    pub(super) fn is_own(self, stop: &AtomicBool) -> bool {
        match self {
            Self::End => !stop.swap(true, Ordering::Relaxed),
            Self::GoOn => !stop.load(Ordering::Relaxed),
        }
    }
}

/// Kernels that were not built, of which one configuration has one image.
#[derive(Debug)]
pub struct NotBuilt {
    /// Their names.
    pub kernels: Vec<String>,
    /// How they are configured.
    pub config: Config,
    /// Why.
    pub error: LabError,
}

/// What came of kernels and of the work on them.
pub(super) struct Done<R> {
    /// Of all work that was done, in its order.
    pub(super) results: Vec<R>,
    pub(super) not_built: Vec<NotBuilt>,
}

impl<R> Done<R> {
    /// The results, if every kernel was built.
    pub(super) fn whole(self) -> Result<Vec<R>, LabError> {
        match self.not_built.into_iter().next() {
            Some(NotBuilt { error, .. }) => Err(error),
            None => Ok(self.results),
        }
    }
}

/// Where and how the lab works.
pub struct Lab<'a> {
    /// What it keeps between runs.
    pub cache: Cache,
    /// What is asked for of every kernel's configuration, besides or in place of our own.
    pub options: Vec<ConfigOption>,
    /// The places where every kernel gets points for giving up a turn, if there are any.
    pub points: Option<Points>,
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

/// The sources of kernels, opened.
pub(super) type Sources = BTreeMap<Source, Pristine>;

/// What is to be built, what of it is wanted, and what cannot be.
struct Planning<'s> {
    plans: Vec<Planned<'s>>,
    wanted: Vec<Wanted>,
    not_built: Vec<NotBuilt>,
}

/// Plans to carry out, and their order.
struct Making<'a> {
    plans: &'a [Planned<'a>],
    order: &'a [usize],
    on_failure: OnFailure,
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

    /// Estimates the first build of configurations that nothing was built for yet.
    pub fn first_build(&self, kernels: &[Kernel], configs: &[Config]) -> Option<FirstBuild> {
        FirstBuild::estimate(&self.cache, kernels, configs, self.jobs)
    }

    /// Builds every kernel under every configuration, as far as they are not there.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn build(&self, kernels: &[Kernel], configs: &[Config]) -> Result<Vec<Built>, LabError> {
        let each = |wanted: &[Wanted], _: &Sources| {
            let items = (0..wanted.len()).map(|place| (place, ())).collect();
            Ok(Work { items, at_once: 1 })
        };
        self.build_for(kernels, configs, OnFailure::End, each, |built, (), _| Ok(built))?.whole()
    }

    /// Builds every kernel under every configuration, as far as they are not there, and does the
    /// work of each as soon as it is there, several pieces at once. `work_of` names the work by the
    /// place of its kernel, and may read the kernels' sources; the results are in the same order.
    /// The first piece of work that fails ends all.
    pub(super) fn build_for<T: Sync, R: Send>(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        on_failure: OnFailure,
        work_of: impl FnOnce(&[Wanted], &Sources) -> Result<Work<T>, LabError>,
        work: impl Fn(Built, &T, &AtomicBool) -> Result<R, LabError> + Sync,
    ) -> Result<Done<R>, LabError> {
        let sources = self.sources(kernels)?;
        let Planning { plans, wanted, mut not_built } =
            self.plan(kernels, configs, &sources, on_failure)?;
        if on_failure == OnFailure::End && !not_built.is_empty() {
            return Ok(Done { results: Vec::new(), not_built });
        }
        let missing: Vec<_> = plans.iter().filter(|plan| !plan.built.is_there()).collect();
        let trees = missing.iter().map(|plan| plan.output()).collect();
        room::to_build(&self.cache, missing.len(), &trees, self.progress)?;
        self.progress.expect(missing.len());
        let Work { items, at_once } = work_of(&wanted, &sources)?;
        // Kernels that are there come first, so that nothing waits while it could be done.
        let mut order: Vec<usize> = (0..plans.len()).collect();
        order.sort_by_key(|plan| !plans[*plan].built.is_there());
        let turn =
            |item: &usize| order.iter().position(|plan| *plan == wanted[items[*item].0].plan);
        let mut turns: Vec<usize> = (0..items.len()).collect();
        turns.sort_by_key(turn);

        let under_way = UnderWay::new(plans.len());
        let stop = AtomicBool::new(false);
        let (done, failed) = std::thread::scope(|scope| {
            let making = Making { plans: &plans, order: &order, on_failure };
            let (under_way, stop) = (&under_way, &stop);
            let builder = scope.spawn(move || self.make(making, under_way, stop));
            let done = parallel::each(&turns, at_once, stop, |item| {
                let (place, item) = &items[*item];
                let Wanted { plan, kernel, .. } = &wanted[*place];
                // Why it is not there the builder tells.
                if !under_way.wait(*plan) {
                    return Ok(None);
                }
                work(plans[*plan].built.booted_as(kernel), item, stop).map(Some)
            });
            let failed = builder.join().expect("the builder does not panic")?;
            Ok::<_, LabError>((done?, failed))
        })?;
        for (plan, error) in failed {
            let of_it = wanted.iter().filter(|wanted| wanted.plan == plan);
            let kernels = of_it.map(|wanted| wanted.kernel.name.clone()).collect();
            not_built.push(NotBuilt { kernels, config: plans[plan].built.config, error });
        }
        let done = turns.into_iter().zip(done);
        let done = done.filter_map(|(item, result)| result.map(|result| (item, result)));
        let mut results: Vec<(usize, R)> = done.collect();
        results.sort_by_key(|(item, _)| *item);
        let results = results.into_iter().map(|(_, result)| result).collect();
        Ok(Done { results, not_built })
    }

    /// Builds what is not there, in its order, until all is done or other work failed. What failed
    /// and why, by places of plans.
    fn make(
        &self,
        Making { plans, order, on_failure }: Making<'_>,
        under_way: &UnderWay,
        stop: &AtomicBool,
    ) -> Result<Vec<(usize, LabError)>, LabError> {
        let mut failed = Vec::new();
        let mut ended = Ok(());
        for plan in order {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let is_there = plans[*plan].built.is_there();
            let made = if is_there { Ok(()) } else { self.builder().make(&plans[*plan], stop) };
            let Err(error) = made.map_err(LabError::from) else {
                under_way.is_there(*plan);
                continue;
            };
            let on_failure = if error.is_of_a_kernel() { on_failure } else { OnFailure::End };
            match on_failure.is_own(stop) {
                true if error.is_of_a_kernel() => failed.push((*plan, error)),
                true => ended = Err(error),
                false => {}
            }
            under_way.failed(*plan);
        }
        under_way.is_over();
        ended.map(|()| failed)
    }

    fn builder(&self) -> Builder<'_> {
        Builder {
            cache: &self.cache,
            options: &self.options,
            points: self.points.as_ref(),
            jobs: self.jobs,
            progress: self.progress,
        }
    }

    fn sources(&self, kernels: &[Kernel]) -> Result<Sources, LabError> {
        let mut sources = Sources::new();
        for Kernel { source, .. } in kernels {
            if !sources.contains_key(source) {
                let pristine = source.open(&self.cache, self.progress);
                sources.insert(source.clone(), pristine.map_err(BuildError::Source)?);
            }
        }
        Ok(sources)
    }

    /// What is to be built, each once, and the kernels that are wanted of it; all of them, or those
    /// before the first whose patches do not apply.
    fn plan<'s>(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        sources: &'s Sources,
        on_failure: OnFailure,
    ) -> Result<Planning<'s>, LabError> {
        let mut plans: Vec<Planned<'s>> = Vec::new();
        let (mut wanted, mut not_built) = (Vec::new(), Vec::new());
        for config in configs {
            for kernel in kernels {
                let planned = self.builder().plan(&sources[&kernel.source], kernel, *config);
                let planned = match planned.map_err(LabError::from) {
                    Ok(planned) => planned,
                    Err(error) if error.is_of_a_kernel() => {
                        let kernels = vec![kernel.name.clone()];
                        not_built.push(NotBuilt { kernels, config: *config, error });
                        match on_failure {
                            OnFailure::End => return Ok(Planning { plans, wanted, not_built }),
                            OnFailure::GoOn => continue,
                        }
                    }
                    Err(error) => return Err(error),
                };
                let is_same = |other: &Planned<'_>| other.built.is_same(&planned.built);
                let plan = plans.iter().position(is_same).unwrap_or_else(|| {
                    plans.push(planned);
                    plans.len() - 1
                });
                wanted.push(Wanted { plan, kernel: kernel.clone(), config: *config });
            }
        }
        Ok(Planning { plans, wanted, not_built })
    }
}

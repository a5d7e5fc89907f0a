//! The lab at work: the checks before it starts, and the building of kernels.

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
use super::plan::Needs;
use super::profile::ProfileError;
use super::progress::Progress;
use super::regions::RegionsError;
use super::room;
use super::schedule::{MachineError, Points, SearchError};
use super::source::{Pristine, Source};
use super::target::{Config, Cpu};
use super::timed::{self, NotTimed};
use super::tools::{self, Missing};
use super::transcript::Fault;
use super::under_way::UnderWay;

/// The reason why the lab gave up.
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
    /// The initrd of a machine was not made.
    #[error(transparent)]
    Initrd(#[from] InitrdError),
    /// A machine gave no records.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// Records that break a rule of the format.
    #[error("the test machine's records: {0}")]
    Invalid(#[from] InvalidRecord),
    /// A profile that is not of the plugin's form.
    #[error("{machine}: {source}")]
    Profile {
        /// The machine's name in messages.
        machine: String,
        /// The fault of the profile.
        source: ProfileError,
    },
    /// Counts of regions that are not of the plugin's form.
    #[error("{machine}: {source}")]
    Regions {
        /// The machine's name in messages.
        machine: String,
        /// The fault of the counts.
        source: RegionsError,
    },
    /// A function to profile that the kernel does not have.
    #[error("kernel {kernel} has no function `{root}`: --root takes a function of System.map")]
    NoFunction {
        /// The kernel's name.
        kernel: String,
        /// The function.
        root: String,
    },
    /// A profile of a scenario that neither reclaims nor ages pages.
    #[error(
        "{machine}: no page was reclaimed or aged, and a profile is per page: expected a scenario \
         that reclaims or ages, or a workload that is judged by a region per 4K page"
    )]
    NoPages {
        /// The machine's name in messages.
        machine: String,
    },
    /// A session that was not answered step by step.
    #[error("{machine}: the kernel's answers do not match the session's steps")]
    NoAnswers {
        /// The machine's name in messages.
        machine: String,
    },
    /// No schedules were searched.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A configuration that runs on none of the given processors.
    #[error(
        "no processor for {config}, expected max: {} is for arm64 alone, {} for this machine's own \
         architecture",
        Cpu::NeoverseN1,
        Cpu::Host
    )]
    NoCpu {
        /// The configuration.
        config: Config,
    },
    /// The processor of this machine cannot be had.
    #[error(transparent)]
    NotTimed(#[from] NotTimed),
    /// Several CPUs on an architecture whose machines have one.
    #[error(
        "{config}: its machine has one CPU, expected cpus=1 in place of {cpus}: under QEMU a CPU \
         that waits for another one never gives up its turn there"
    )]
    OneCpu {
        /// The configuration.
        config: Config,
        /// The number of CPUs that were asked for.
        cpus: u8,
    },
}

impl LabError {
    /// Returns true if the kernel at hand is at fault, and not the lab: other kernels may still be
    /// built and run.
    pub(super) const fn is_of_a_kernel(&self) -> bool {
        match self {
            Self::Build(BuildError::Patch(error)) => error.is_of_the_patch(),
            Self::Build(BuildError::Make { .. } | BuildError::Config(_)) => true,
            Self::Boot(BootError::Failed(_)) => true,
            Self::Search(SearchError::Machine(MachineError::NeverBegins { .. })) => true,
            _ => false,
        }
    }

    /// Returns true if the benchmark came to its end and found the kernel wrong.
    pub fn is_a_wrong_kernel(&self) -> bool {
        matches!(self, Self::Boot(BootError::Failed(failed))
            if matches!(failed.fault, Fault::Wrong { .. }))
    }
}

/// The treatment of the other kernels after one was not built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnFailure {
    /// The other kernels are not built.
    End,
    /// The other kernels are built and run.
    GoOn,
}

impl OnFailure {
    /// Returns true if a failure has its own cause: it does not follow from `stop`, which an
    /// earlier failure set. With [`Self::End`] this failure sets `stop` for the others.
    pub(super) fn is_own(self, stop: &AtomicBool) -> bool {
        match self {
            Self::End => !stop.swap(true, Ordering::Relaxed),
            Self::GoOn => !stop.load(Ordering::Relaxed),
        }
    }
}

/// Kernels that share one image, which was not built.
#[derive(Debug)]
pub struct NotBuilt {
    /// Their names.
    pub kernels: Vec<String>,
    /// The configuration of the kernels.
    pub config: Config,
    /// The reason.
    pub error: LabError,
}

/// The outcome of the kernels and of the work on them.
pub(super) struct Done<R> {
    /// The results of all work that was done, in its order.
    pub(super) results: Vec<R>,
    pub(super) not_built: Vec<NotBuilt>,
}

impl<R> Done<R> {
    /// Returns the results if every kernel was built, else the first reason why one was not.
    pub(super) fn whole(self) -> Result<Vec<R>, LabError> {
        match self.not_built.into_iter().next() {
            Some(NotBuilt { error, .. }) => Err(error),
            None => Ok(self.results),
        }
    }
}

/// The lab's directory and settings.
pub struct Lab<'a> {
    /// The directory that the lab keeps between runs.
    pub cache: Cache,
    /// The options that are asked of every kernel's configuration, besides or in place of our own.
    pub options: Vec<ConfigOption>,
    /// The places where every kernel gets points for giving up a turn, if there are any.
    pub points: Option<Points>,
    /// The number of compilers that run at once, and of machines.
    pub jobs: usize,
    /// The receiver of the lab's progress.
    pub progress: &'a dyn Progress,
}

/// A kernel to boot under a configuration, with the index of its plan. Kernels that differ only in
/// boot parameters share a plan.
pub(super) struct Wanted {
    pub(super) plan: usize,
    pub(super) kernel: Kernel,
    pub(super) config: Config,
}

/// Pieces of work, each with the index of its kernel, and the number that may be done at once.
pub(super) struct Work<T> {
    pub(super) items: Vec<(usize, T)>,
    pub(super) at_once: usize,
}

/// The sources of kernels, opened.
pub(super) type Sources = BTreeMap<Source, Pristine>;

/// The kernels to build, those wanted of them by name, and those that cannot be built.
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
    /// Checks that work can come to its end: that the programs for building and the packages are
    /// there, and with `cpus` also those for booting on these processors.
    ///
    /// # Errors
    ///
    /// [`LabError::Missing`] for missing programs, [`LabError::NoCpu`] for a configuration that
    /// none of the processors runs, [`LabError::OneCpu`] for several CPUs where machines have one,
    /// and [`LabError::NotTimed`] if [`Cpu::Host`] cannot be had.
    pub fn check(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        needs: &Needs,
        cpus: Option<&[Cpu]>,
    ) -> Result<(), LabError> {
        let more_cpus = needs.more_cpus;
        let mut needs: Vec<_> = needs.packages.iter().map(|name| tools::package(name)).collect();
        for config in configs {
            let arch = config.arch();
            needs.extend(tools::to_build(arch));
            let Some(cpus) = cpus else { continue };
            needs.extend(tools::to_boot(arch));
            if !cpus.iter().any(|cpu| cpu.runs(arch)) {
                return Err(LabError::NoCpu { config: *config });
            }
            if more_cpus > 0 && !arch.takes_turns() {
                return Err(LabError::OneCpu { config: *config, cpus: more_cpus + 1 });
            }
        }
        if cpus.is_some_and(|cpus| cpus.contains(&Cpu::Host)) {
            timed::check(more_cpus + 1)?;
            needs.push(tools::pinning());
        }
        needs.extend(kernels.iter().flat_map(|kernel| tools::sources(&kernel.source, &self.cache)));
        Ok(tools::check(&needs)?)
    }

    /// Estimates the first build of configurations that nothing was built for yet.
    pub fn first_build(&self, kernels: &[Kernel], configs: &[Config]) -> Option<FirstBuild> {
        FirstBuild::estimate(&self.cache, kernels, configs, self.jobs)
    }

    /// Builds every kernel under every configuration, unless it was built before.
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

    /// Builds every kernel under every configuration, unless it was built before, and does its work
    /// as soon as it is built, several pieces at once. `work_of` returns the pieces with the index
    /// of their kernel, and may read the kernels' sources. The results are in the order of the
    /// pieces. The first piece of work that fails ends all.
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
        // Kernels that were built before come first, so that no work waits that could be done.
        let mut order: Vec<usize> = (0..plans.len()).collect();
        order.sort_by_key(|plan| !plans[*plan].built.is_there());
        // Machines of kernels that are there keep their order.
        let turn = |item: &usize| {
            let plan = wanted[items[*item].0].plan;
            let is_missing = !plans[plan].built.is_there();
            is_missing.then(|| order.iter().position(|other| *other == plan))
        };
        let mut turns: Vec<usize> = (0..items.len()).collect();
        turns.sort_by_cached_key(turn);

        let under_way = UnderWay::new(plans.len());
        let stop = AtomicBool::new(false);
        let (done, failed) = std::thread::scope(|scope| {
            let making = Making { plans: &plans, order: &order, on_failure };
            let (under_way, stop) = (&under_way, &stop);
            let builder = scope.spawn(move || self.make(making, under_way, stop));
            let done = parallel::each(&turns, at_once, stop, |item| {
                let (place, item) = &items[*item];
                let Wanted { plan, kernel, .. } = &wanted[*place];
                // The builder returns the reason why it was not built.
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

    /// Builds the missing kernels in order, until all are built or other work failed. Returns the
    /// indices of the plans that failed, with their errors.
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

    /// Plans the builds, each once, and lists the kernels that are wanted of them. With
    /// [`OnFailure::End`] the plan ends at the first kernel whose patches do not apply.
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

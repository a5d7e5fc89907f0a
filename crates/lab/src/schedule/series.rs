//! Searches of kernels of which some may fail to build or to boot: those of a series.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use super::super::build::Built;
use super::super::kernel::Kernel;
use super::super::session::{Done, Lab, LabError, NotBuilt, OnFailure, Sources, Wanted, Work};
use super::super::target::Config;
use super::search::{At, Replayed, Search, Searched};
use super::text::Schedule;
use super::{emulator, kind, replays};

/// The outcome of a series' searches.
#[derive(Debug)]
pub struct SearchedSeries {
    /// The kernels that were searched.
    pub built: Vec<Built>,
    /// The emulator, as it calls itself.
    pub emulator: String,
    /// Each kernel that was built and booted, or failed to boot.
    pub tried: Vec<Tried>,
    /// The kernels that were not built.
    pub not_built: Vec<NotBuilt>,
    /// The first schedule of each kind of failure, with its runs on every other kernel.
    pub found: Vec<(Schedule, Vec<Replayed>)>,
}

/// A kernel that was built.
#[derive(Debug)]
pub struct Tried {
    /// The kernel's name.
    pub kernel: String,
    /// The result of the patch's search, or the reason why there was none.
    pub outcome: Result<Searched, LabError>,
}

impl Lab<'_> {
    /// Searches each kernel as soon as it is built, one after another, and runs the schedules found
    /// on the other kernels. A kernel that is not built, or does not boot, ends the work unless
    /// `keep_going` is set. A wrong kernel never ends it.
    ///
    /// # Errors
    ///
    /// The first failure of the lab itself, or of the workload.
    pub fn attempt_schedules(
        &self,
        kernels: &[Kernel],
        config: Config,
        search: &Search,
        keep_going: bool,
    ) -> Result<SearchedSeries, LabError> {
        let on_failure = if keep_going { OnFailure::GoOn } else { OnFailure::End };
        let each = |wanted: &[Wanted], _: &Sources| {
            let items = (0..wanted.len()).map(|place| (place, ())).collect();
            // A search takes all CPUs itself.
            Ok(Work { items, at_once: 1 })
        };
        let one = |built: Built, (): &(), stop: &AtomicBool| {
            let kernel = built.kernel.name.clone();
            match self.searched(&built, search) {
                Err(error) if error.is_of_a_kernel() && on_failure.is_own(stop) => {
                    Ok((None, Tried { kernel, outcome: Err(error) }))
                }
                Err(error) => Err(error),
                Ok(searched) => Ok((Some(built), Tried { kernel, outcome: Ok(searched) })),
            }
        };
        let Done { results, not_built } =
            self.build_for(kernels, &[config], on_failure, each, one)?;
        let (built, tried): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        let built: Vec<Built> = built.into_iter().flatten().collect();
        let found = self.elsewhere(&built, search, &tried)?;
        Ok(SearchedSeries { built, emulator: emulator()?, tried, not_built, found })
    }

    fn searched(&self, built: &Built, search: &Search) -> Result<Searched, LabError> {
        let (stop, context) = (AtomicBool::new(false), (&self.cache, self.progress));
        let task = self.progress.begin(&format!("schedules of {}", built.kernel.name));
        Ok(At::open(search, built, self.jobs, context, &stop)?.search(&*task)?)
    }

    /// Runs the first schedule of each kind of failure on the other kernels.
    fn elsewhere(
        &self,
        built: &[Built],
        search: &Search,
        tried: &[Tried],
    ) -> Result<Vec<(Schedule, Vec<Replayed>)>, LabError> {
        let mut kinds = BTreeSet::new();
        let searched = tried.iter().filter_map(|tried| tried.outcome.as_ref().ok());
        let schedules = searched.filter_map(Searched::schedule);
        let schedules = schedules.filter(|schedule| kinds.insert(kind(&schedule.failure)));
        let schedules: Vec<&Schedule> = schedules.collect();
        if schedules.is_empty() {
            return Ok(Vec::new());
        }
        let (stop, context) = (AtomicBool::new(false), (&self.cache, self.progress));
        let open = |built| At::open(search, built, self.jobs, context, &stop);
        let opened = built.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        schedules.into_iter().map(|of| replays(&opened, of, Some(&of.kernel))).collect()
    }
}

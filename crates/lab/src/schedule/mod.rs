//! Schedules of a real kernel: which emulated CPU gives up its turn at which basic block.
//!
//! A kernel is built with [`Points`] and booted once to the beginning of a [`Program`]. Each seed
//! runs from that state. A failure is run again, made small, and kept as a [`Schedule`].

mod clock;
mod debugger;
mod fewer;
mod layout;
mod lines;
mod machine;
mod points;
mod records;
mod rows;
mod search;
mod series;
mod shrink;
mod small;
mod strategy;
mod symbols;
mod text;
mod workload;

pub use layout::{Event, MAX_RANGES, Verdict};
pub use machine::MachineError;
pub use points::{Points, PointsError};
pub use rows::{Row, What, table};
pub use search::{Replayed, Search, SearchError, Searched, kind};
pub use series::{SearchedSeries, Tried};
pub use small::Failure;
pub use strategy::Strategy;
pub use symbols::Place;
pub use text::{Schedule, TextError, Turn};
pub use workload::{Program, ProgramError};

use std::sync::atomic::AtomicBool;

use super::build::Built;
use super::child::version;
use super::kernel::Kernel;
use super::session::{Lab, LabError};
use super::target::{Arch, Config};
use search::At;

/// The results of all kernels.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// The kernels.
    pub built: Vec<Built>,
    /// The emulator, as it calls itself.
    pub emulator: String,
    /// The runs of each given schedule, on every kernel.
    pub given: Vec<(Schedule, Vec<Replayed>)>,
    /// The search of each kernel that passes those, unless there were no seeds to try.
    pub searched: Vec<Searched>,
    /// The runs of each schedule that was found, on every other kernel.
    pub found: Vec<(Schedule, Vec<Replayed>)>,
}

impl Lab<'_> {
    /// Runs the given schedules on every kernel, then searches each kernel that passes them, and
    /// runs the schedules found on every other one.
    ///
    /// # Errors
    ///
    /// The first failure of the lab itself; a wrong kernel is not one.
    pub fn schedule(
        &self,
        kernels: &[Kernel],
        config: Config,
        search: &Search,
        given: &[Schedule],
    ) -> Result<Scheduled, LabError> {
        let stop = AtomicBool::new(false);
        let built = self.build(kernels, &[config])?;
        let context = (&self.cache, self.progress);
        let mut opened = Vec::new();
        for built in &built {
            let _task = self.progress.begin(&format!("booting {}", built.kernel.name));
            opened.push(At::open(search, built, self.jobs, context, &stop)?);
        }
        let given = given.iter().map(|schedule| replays(&opened, schedule, None));
        let given: Vec<(Schedule, Vec<Replayed>)> = given.collect::<Result<_, LabError>>()?;
        let runs = || given.iter().flat_map(|(_, runs)| runs);
        let passes =
            |kernel| runs().all(|run: &Replayed| run.kernel != kernel || run.failure.is_none());
        let mut searched = Vec::new();
        for at in opened.iter().filter(|at| !search.seeds.is_empty() && passes(at.kernel())) {
            let task = self.progress.begin(&format!("schedules of {}", at.kernel()));
            searched.push(at.search(&*task)?);
        }
        let found = searched.iter().filter_map(Searched::schedule);
        let found = found.map(|schedule| replays(&opened, schedule, Some(&schedule.kernel)));
        let found = found.collect::<Result<_, LabError>>()?;
        drop(opened);
        Ok(Scheduled { built, emulator: emulator()?, given, searched, found })
    }
}

/// Returns the emulator, as it calls itself.
fn emulator() -> Result<String, LabError> {
    let version = version(Arch::X86_64.qemu()).map_err(MachineError::from);
    Ok(version.map_err(SearchError::from)?)
}

/// Runs a schedule on each kernel, except on the one of a name.
fn replays(
    opened: &[At<'_>],
    schedule: &Schedule,
    but: Option<&str>,
) -> Result<(Schedule, Vec<Replayed>), LabError> {
    let others = opened.iter().filter(|at| Some(at.kernel()) != but);
    let runs: Result<Vec<Replayed>, _> = others.map(|at| at.replay(schedule)).collect();
    Ok((schedule.clone(), runs.map_err(SearchError::from)?))
}

//! The child's side: regions of its work, each between two stops.

use super::StepError;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};

/// The marks of a process that its parent steps through.
#[derive(Debug)]
pub struct Regions(());

impl Regions {
    /// Lets the parent step through this process. The first region is empty: it says what a mark
    /// itself takes.
    ///
    /// # Errors
    /// [`StepError::System`] if the system forbids it.
    pub fn begin() -> Result<Self, StepError> {
        ptrace::traceme().map_err(StepError::of("ptrace"))?;
        let regions = Self(());
        regions.count(|| ())?;
        Ok(regions)
    }

    /// Runs `work` as a region.
    ///
    /// # Errors
    /// [`StepError::System`] if the process cannot stop itself.
    #[inline(never)]
    pub fn count<R>(&self, work: impl FnOnce() -> R) -> Result<R, StepError> {
        let stop = || raise(Signal::SIGSTOP).map_err(StepError::of("raise"));
        stop()?;
        let result = work();
        stop()?;
        Ok(result)
    }
}

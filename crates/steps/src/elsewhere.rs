//! Machines whose instructions are not decoded: both sides return an error.

use super::{Classes, StepError};
use std::process::Command;

/// The marks of a process that its parent would step through.
#[derive(Debug)]
pub struct Regions(());

impl Regions {
    /// Returns the error.
    ///
    /// # Errors
    /// [`StepError::Elsewhere`], always.
    pub fn begin() -> Result<Self, StepError> {
        Err(StepError::Elsewhere(std::env::consts::ARCH))
    }

    /// Runs `work`. It is never called, since [`Regions::begin`] fails.
    ///
    /// # Errors
    /// None.
    pub fn count<R>(&self, work: impl FnOnce() -> R) -> Result<R, StepError> {
        Ok(work())
    }
}

/// Returns the error.
///
/// # Errors
/// [`StepError::Elsewhere`], always.
pub fn count(
    _command: &mut Command,
    _progress: &mut dyn FnMut(usize),
) -> Result<(String, Vec<Classes>), StepError> {
    Err(StepError::Elsewhere(std::env::consts::ARCH))
}

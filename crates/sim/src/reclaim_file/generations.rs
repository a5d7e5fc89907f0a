//! The generations that the scenario leaves, and commands written to `lru_gen` after it.

use super::ReclaimFile;
use super::setup::Setup;
use crate::formats::{Arch, with_format};
use crate::variant::Variant;
use pageout_reclaim::Errno;

/// A command that `lru_gen` refuses, as kernels do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("lru_gen refuses `{command}`: {errno}")]
pub struct Refused {
    /// What was written in one call.
    pub command: String,
    /// Why.
    pub errno: Errno,
}

impl ReclaimFile {
    /// Runs the scenario once under a variant, then writes each of `commands` to `lru_gen` in a
    /// call of its own; what that says in the end of the root and of the scenario's cgroup.
    ///
    /// # Errors
    /// [`Refused`] for the first command that is.
    pub fn generations(
        &self,
        variant: Variant,
        seed: u64,
        commands: &[String],
    ) -> Result<String, Refused> {
        with_format!(self.format, F => self.generations_as::<F>(variant, seed, commands))
    }

    fn generations_as<F: Arch>(
        &self,
        variant: Variant,
        seed: u64,
        commands: &[String],
    ) -> Result<String, Refused> {
        let mut arena = self.arena();
        let setup = Setup::<F>::build(&mut arena, self, variant.lru, seed);
        let tuning = variant.tuning(F::FLUSH);
        let reclaimed = setup.reclaim(&setup.ground.env, &self.reclaim_bytes().to_string(), tuning);
        reclaimed.expect("the scenario's pages can be reclaimed");
        for command in commands {
            let written = setup.write_lru_gen(command, tuning);
            written.map_err(|errno| Refused { command: command.clone(), errno })?;
        }
        Ok(setup.lru_gen())
    }
}

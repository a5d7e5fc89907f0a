//! The generations that the scenario leaves.

use super::setup::Setup;
use super::{NAME, ReclaimFile};
use crate::generations::{Refused, after};
use pageout_experiment::formats::{Arch, with_format};
use pageout_experiment::variant::Variant;

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
        let (maps, env) = (&setup.ground.maps, &setup.ground.env);
        let reclaimed = setup.reclaim(env, &self.reclaim_bytes().to_string(), tuning);
        reclaimed.expect("the scenario's pages can be reclaimed");
        after((maps, env), (setup.memcg, NAME), commands, tuning)
    }
}

//! The generations that the scenario leaves.

use super::setup::Setup;
use crate::generations::{Refused, after};
use crate::scenario::HostScenario;
use pageout_experiment::declare::Declared;
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::ReclaimFile;
use pageout_experiment::variant::Variant;

/// Runs the scenario once under a variant, then writes each of `commands` to `lru_gen` in a call of
/// its own. Returns the final content of that file for the root and for the scenario's cgroup.
pub(super) fn generations<F: Arch>(
    one: &ReclaimFile,
    variant: Variant,
    seed: u64,
    commands: &[String],
) -> Result<String, Refused> {
    let mut arena = one.arena();
    let setup = Setup::<F>::build(&mut arena, one, variant.lru, seed);
    let tuning = variant.tuning(F::FLUSH);
    let (maps, env) = (&setup.ground.maps, &setup.ground.env);
    let reclaimed = setup.reclaim(env, one.reclaim_bytes(), tuning);
    reclaimed.expect("the scenario's pages can be reclaimed");
    after((maps, env), (setup.memcg, ReclaimFile::NAME), commands, tuning)
}

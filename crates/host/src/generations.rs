//! The generations that a scenario leaves, and commands written to `lru_gen` after it.

use pageout_reclaim::{CpuCtx, Errno, MemcgId, MmState, Tuning, World};
use pageout_uapi::lru_gen;

/// A command that `lru_gen` refuses, as kernels do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "lru_gen refuses `{command}`: {errno}; expected `+ MEMCG NODE MAX_SEQ`, which ages, or \
     `- MEMCG NODE MIN_SEQ`, which evicts (docs/lru_gen.md)"
)]
pub struct Refused {
    /// The command, as it was written in one call.
    pub command: String,
    /// The reason.
    pub errno: Errno,
}

/// Writes each of `commands` to `lru_gen` in a call of its own. Returns the final content of that
/// file for the root and for a scenario's cgroup, which has the scenario's name.
///
/// # Errors
/// [`Refused`] for the first refused command.
pub(crate) fn after<W: World>(
    (maps, world): (&MmState<'_>, &W),
    (memcg, name): (MemcgId, &str),
    commands: &[String],
    tuning: Tuning,
) -> Result<String, Refused> {
    for command in commands {
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(world, cpu, tuning);
        let written = lru_gen::write(command, |command| engine.lru_gen_command(command));
        written.map_err(|errno| Refused { command: command.clone(), errno })?;
    }
    let path = |id| if id == MemcgId::ROOT { "/".to_owned() } else { format!("/{name}") };
    let (mut text, cpu) = (String::new(), &mut CpuCtx::new());
    let engine = maps.on(world, cpu, tuning);
    for id in [MemcgId::ROOT, memcg] {
        let generations = engine.lru_gen_generations(id, false).expect("it is online");
        let shown = lru_gen::show(&mut text, id.index().into(), path(id), [(0, generations)]);
        shown.expect("a string takes everything");
    }
    Ok(text)
}

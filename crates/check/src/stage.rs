//! An execution of a scenario: the world is built, the agents act, and the end is checked.

use super::access::Access;
use super::agent_cpu::{AgentCpu, Ground};
use super::event_log::Logged;
use super::format::Small;
use super::harness::{ASID, FIRST_PAGE, Harness, TUNING};
use super::panics::caught;
use super::property::{Property, Violation};
use super::scenario::Scenario;
use super::schedule::{Deviation, Stacks, Trace, Watch, execute};
use super::tables::{LIMITS, SLOTS};
use super::world::{FIRST_FRAME, FRAMES, World};
use pageout_exhibits::audit::{AuditInput, audit};
use pageout_paging::Rules;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{CpuCtx, Frames};
use pageout_sim::EngineMemory;

/// The result of an execution.
pub struct Outcome {
    /// The choices of the execution.
    pub trace: Trace,
    /// The violation, if a property failed.
    pub violation: Option<Violation>,
    /// The state at the start, if the execution was logged.
    pub start: Vec<String>,
    /// The events with the states after them, if the execution was logged.
    pub log: Vec<Logged>,
}

type Perform = fn(&Scenario, &mut Stacks, &[Deviation], bool) -> Outcome;

/// The code under test in a scenario: the engine, in one format.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The format.
    pub format: &'static str,
    pub(super) perform: Perform,
}

impl Stage {
    /// Returns the stage for `S` in the format `F`.
    pub const fn of<R: Rules, F: Small>() -> Self {
        Self { format: F::LABEL, perform: perform::<R, F> }
    }
}

/// Executes a scenario under `S` with the choices `deviations`.
fn perform<R: Rules, F: Small>(
    scenario: &Scenario,
    stacks: &mut Stacks,
    deviations: &[Deviation],
    told: bool,
) -> Outcome {
    let cpus = scenario.agents.len() + 1;
    let world = World::<F>::new(cpus, F::MACHINE, scenario.kind, FIRST_PAGE);
    let mut memory = EngineMemory::new(&LIMITS);
    let maps = memory.state(FIRST_FRAME);
    let harness = Harness::<R, F>::set_up(&world, &maps, scenario);
    let start = if told { world.describe() } else { Vec::new() };
    if told {
        world.begin_log();
    }
    let bodies = (0..).zip(scenario.agents).map(|(cpu, agent)| harness.body(cpu, *agent)).collect();
    let trace = execute(stacks, bodies, &world, deviations);
    if world.violation().is_none() {
        if trace.ended {
            if let Err(message) = caught(|| look_at_the_end(&harness)) {
                world.panicked(message);
            }
        } else {
            world.fail(Property::Progress, "the agents wait for each other".to_owned());
        }
    }
    Outcome { trace, violation: world.violation(), start, log: world.logged() }
}

/// Checks that the accounts balance. Then every page is loaded, all is reclaimed, and every page is
/// loaded once more: no stored value may be lost.
fn look_at_the_end<R: Rules, F: Small>(harness: &Harness<'_, R, F>) {
    let cpu = harness.scenario.agents.len();
    let env = Ground::<R, F>::new(AgentCpu { world: harness.world, yielder: None, cpu });
    // Lists are audited as classic ones.
    harness.maps.on(&env, &mut CpuCtx::new(), TUNING).set_lru_gen_caps(LruGenCaps::empty());
    balance(harness, &env);
    if harness.world.violation().is_some() {
        return; // what is left over may keep an access waiting for ever
    }
    let pages = harness.scenario.order().nr_pages() as u64;
    for _ in 0..2 {
        for page in 0..pages {
            harness.access(&env, harness.mm, ASID, page, Access::Load);
        }
        harness.reclaim(&env);
        harness.reclaim(&env);
    }
    balance(harness, &env);
}

/// Checks that mapcounts, references, slots and lists add up: each frame in use belongs to a folio,
/// and each page table to an address space.
fn balance<R: Rules, F: Small>(harness: &Harness<'_, R, F>, env: &Ground<'_, R, F>) {
    let frames = harness.world.hardware.memory().range();
    let (roots, tables) = (harness.world.roots(), harness.world.hardware.tables.in_use());
    let input = AuditInput { roots, frames, slots: SLOTS, tables };
    let found = match audit(harness.maps, env, &input) {
        Ok(folios) => {
            let pages: usize =
                folios.iter().map(|id| harness.maps.folio(*id).expect("it lives").nr_pages()).sum();
            let used = FRAMES - env.free_pages();
            (pages != used).then(|| format!("{used} frames are in use, and folios have {pages}"))
        }
        Err(found) => Some(found),
    };
    if let Some(found) = found {
        harness.world.fail(Property::Accounts, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ENGINE;
    use crate::scenario::Before;
    use crate::scenarios::{LEAF, SCENARIOS};

    /// Returns the state of each format before the agents act, in the scenarios for which `are` is
    /// true.
    fn starts(
        are: impl Fn(&Scenario) -> bool,
    ) -> impl Iterator<Item = (&'static str, Vec<String>)> {
        let scenarios = SCENARIOS.iter().filter(move |one| are(one));
        scenarios.flat_map(|scenario| {
            let stacks = &mut Stacks::new(scenario.agents.len());
            let start = |stage: &Stage| (stage.perform)(scenario, stacks, &[], true).start;
            let starts: Vec<_> = ENGINE.iter().map(start).collect();
            starts.into_iter().map(|start| (scenario.name, start))
        })
    }

    #[test]
    fn scenarios_of_leaves_begin_with_one() {
        for (name, start) in starts(|one| one.order == LEAF && !one.before.is_empty()) {
            assert!(start[0].contains(", by a PMD leaf"), "{name} {start:?}");
        }
    }

    #[test]
    fn scenarios_of_what_was_reclaimed_begin_with_nothing_mapped() {
        for (name, start) in starts(|one| one.before.contains(&Before::Reclaimed)) {
            assert!(start.is_empty(), "{name} {start:?}");
        }
    }
}

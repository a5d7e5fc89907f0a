//! One execution of a scenario: the world is built, the agents act, the end is looked at.

use super::cast::{ASID, Cast, FIRST_PAGE};
use super::format::Small;
use super::panics::caught;
use super::property::{Property, Violation};
use super::scenario::Scenario;
use super::schedule::{Deviation, Hardware, Stacks, Trace, execute};
use super::seat::{Ground, Seat};
use super::story::Event;
use super::tables::EngineTables;
use super::world::{Access, World};
use pageout_exhibits::harness::Subject;

/// What one execution showed.
pub struct Outcome {
    /// The choices there were.
    pub trace: Trace,
    /// What did not hold.
    pub violation: Option<Violation>,
    /// How things stood at the start, and what happened, if they were to be told.
    pub start: Vec<String>,
    /// See above.
    pub story: Vec<Event>,
}

/// Executes a scenario under `S` with the choices `deviations`.
pub fn perform<S: Subject, F: Small>(
    scenario: &Scenario,
    stacks: &mut Stacks,
    deviations: &[Deviation],
    told: bool,
) -> Outcome {
    let world = World::<F>::new(scenario.agents.len() + 1, F::SHOOTDOWN, FIRST_PAGE);
    let mut tables = EngineTables::new();
    let maps = tables.maps();
    let cast = Cast::<S, F>::set_up(&world, &maps, scenario);
    let start = if told { world.describe(&scenario.agents_named()) } else { Vec::new() };
    if told {
        world.begin_story();
    }
    let bodies = (0..).zip(scenario.agents).map(|(cpu, agent)| cast.body(cpu, *agent)).collect();
    let trace = execute(stacks, bodies, &world, deviations);
    if world.violation().is_none() {
        if trace.ended {
            if let Err(message) = caught(|| look_at_the_end(&cast)) {
                world.panicked(message);
            }
        } else {
            world.fail(Property::Progress, "the agents wait for each other".to_owned());
        }
    }
    Outcome { trace, violation: world.violation(), start, story: world.story() }
}

/// Loads every page, has all reclaimed, and loads every page again: nothing stored may be lost.
fn look_at_the_end<S: Subject, F: Small>(cast: &Cast<'_, S, F>) {
    let cpu = cast.scenario.agents.len();
    let env = Ground::<S, F>::new(Seat { world: cast.world, baton: None, cpu });
    let pages = cast.scenario.order().nr_pages() as u64;
    let load = |page| cast.access(&env, cast.mm, ASID, page, Access::Load);
    (0..pages).for_each(|page| {
        load(page);
    });
    cast.reclaim(&env);
    cast.reclaim(&env);
    (0..pages).for_each(|page| {
        load(page);
    });
}

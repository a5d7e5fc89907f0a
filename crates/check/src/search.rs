//! The search: every execution with no deviation that counts, then with one, two and so on. Each is
//! executed from its choices, and only once.

use super::schedule::{Choice, Deviation, Trace};

/// The bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The maximum number of deviations from the default that count.
    pub deviations: usize,
    /// The maximum number of executions.
    pub executions: u64,
}

/// The extent of a finished search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Searched {
    /// The number of executions.
    pub executions: u64,
    /// The number of points at which the scheduler could choose, each counted once however many
    /// executions pass through it.
    pub states: u64,
    /// The number of deviations up to which every execution was seen.
    pub complete: Option<usize>,
    /// True if no execution has more: the space is exhausted.
    pub exhausted: bool,
}

/// Searches; `visit` executes the choices, and returns whether to continue.
pub fn search(bounds: Bounds, mut visit: impl FnMut(&[Deviation]) -> (Trace, Next)) -> Searched {
    let mut searched = Searched::default();
    let mut level = vec![Vec::new()];
    for bound in 0..=bounds.deviations {
        let mut later = Later { kept: Vec::new(), last: bound == bounds.deviations, any: false };
        let mut stopping = false;
        while let Some(deviations) = level.pop() {
            if searched.executions == bounds.executions {
                return searched;
            }
            let (trace, go_on) = visit(&deviations);
            let from = deviations.last().map_or(0, |last: &Deviation| last.step as usize + 1);
            searched.executions += 1;
            searched.states += (trace.choices.len() - from.min(trace.choices.len())) as u64;
            match go_on {
                Next::Stop => return searched,
                Next::StopAfterLevel => stopping = true,
                Next::GoOn => branch(&deviations, from, &trace.choices, &mut level, &mut later),
            }
        }
        if stopping {
            return searched;
        }
        searched.complete = Some(bound);
        if !later.any {
            searched.exhausted = true;
            return searched;
        }
        level = later.kept;
    }
    searched
}

/// The next step of a search after an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The search continues.
    GoOn,
    /// The search continues through the executions with the same number of deviations, and then
    /// stops.
    StopAfterLevel,
    /// The search stops.
    Stop,
}

/// Adds the executions that differ from one at one further step, after its last deviation.
fn branch(
    deviations: &[Deviation],
    from: usize,
    choices: &[Choice],
    level: &mut Vec<Vec<Deviation>>,
    later: &mut Later,
) {
    for (step, choice) in choices.iter().enumerate().skip(from).filter(|(_, c)| c.options > 1) {
        later.any |= choice.costs;
        if choice.costs && later.last {
            continue;
        }
        let list = if choice.costs { &mut later.kept } else { &mut *level };
        for option in 1..choice.options {
            let mut more = Vec::with_capacity(deviations.len() + 1);
            more.extend_from_slice(deviations);
            more.push(Deviation { step: step as u32, option });
            list.push(more);
        }
    }
}

/// The executions with one more deviation that counts.
struct Later {
    kept: Vec<Vec<Deviation>>,
    /// True if these executions are beyond the bound, and are not kept.
    last: bool,
    any: bool,
}

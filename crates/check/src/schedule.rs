//! Coroutine agents and their schedule: an execution follows given choices, and elsewhere the
//! default.

use super::panics::caught;
use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, ScopedCoroutine, ScopedCoroutineRef, Yielder};

/// The reason why an agent hands over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// The agent is about to do something that others may see.
    Step,
    /// The agent waits for another agent.
    Blocked,
    /// The agent continues in one of that many ways; hardware decides which.
    Choice(u8),
}

/// The handle by which an agent hands over; it returns the way in which the agent continues.
pub type AgentYielder = Yielder<u8, Pause>;

/// An agent's code from beginning to end.
pub type Body<'a> = Box<dyn FnOnce(&AgentYielder) + 'a>;

/// A choice other than the default: at step `step`, option `option`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deviation {
    /// The number of the step.
    pub step: u32,
    /// The option taken; 0 is the default.
    pub option: u8,
}

/// The options at a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The number of options, the default included.
    pub options: u8,
    /// True if an option other than the default counts against the bound: it does if the agent that
    /// ran could have continued.
    pub costs: bool,
}

/// The result of an execution besides the records of its world.
#[derive(Debug, Default)]
pub struct Trace {
    /// The choice at each step.
    pub choices: Vec<Choice>,
    /// True if all agents ended: none waits for ever.
    pub ended: bool,
    /// The first given choice that does not exist: its step has fewer options, or the execution has
    /// fewer steps.
    pub missed: Option<Deviation>,
}

/// An observer of the agents' steps.
pub trait Watch {
    /// Receives the message of an agent's panic, which is a failed assertion of the engine.
    fn panicked(&self, message: String);
    /// Returns true if the execution has failed, so that it can stop.
    fn failed(&self) -> bool;
}

/// More steps than any execution needs: beyond them, agents wait for each other.
const ENDLESS: usize = 20_000;

/// Bytes of an agent's stack.
const STACK: usize = 256 << 10;

/// The agents' stacks, used by one execution after another.
pub struct Stacks(Vec<DefaultStack>);

impl Stacks {
    /// Allocates stacks for `agents`.
    ///
    /// # Panics
    /// If there is no memory for them.
    pub fn new(agents: usize) -> Self {
        let stack = |_| DefaultStack::new(STACK).expect("there is memory for an agent's stack");
        Self((0..agents).map(stack).collect())
    }
}

type Agent<'x, 's> = ScopedCoroutineRef<'x, u8, Pause, (), &'s mut DefaultStack>;

/// Runs the agents to their ends with the choices `deviations`, in order of steps.
pub fn execute(
    stacks: &mut Stacks,
    bodies: Vec<Body<'_>>,
    watch: &dyn Watch,
    deviations: &[Deviation],
) -> Trace {
    let mut stacks: Vec<&mut DefaultStack> = stacks.0.iter_mut().collect();
    stacks.truncate(bodies.len());
    nest(bodies, stacks, Vec::new(), &mut |agents| run(agents, watch, deviations))
}

/// Opens the scope of each agent inside the previous one's, and runs in the innermost.
fn nest<'s>(
    mut bodies: Vec<Body<'_>>,
    mut stacks: Vec<&'s mut DefaultStack>,
    agents: Vec<Agent<'_, 's>>,
    run: &mut dyn FnMut(&mut [Agent<'_, '_>]) -> Trace,
) -> Trace {
    let (Some(body), Some(stack)) = (bodies.pop(), stacks.pop()) else {
        let mut agents = agents;
        agents.reverse();
        return run(&mut agents);
    };
    let coroutine =
        ScopedCoroutine::with_stack(stack, move |yielder: &AgentYielder, _| body(yielder));
    coroutine.scope(|agent| {
        let mut agents: Vec<Agent<'_, 's>> = agents;
        agents.push(agent);
        nest(bodies, stacks, agents, run)
    })
}

fn run(agents: &mut [Agent<'_, '_>], watch: &dyn Watch, deviations: &[Deviation]) -> Trace {
    let mut trace = Trace::default();
    let mut deviations = deviations.iter().copied().peekable();
    let mut turns = Turns { running: None, states: vec![State::Ready; agents.len()], ways: None };
    while !watch.failed() && trace.choices.len() < ENDLESS {
        let (order, costs) = turns.order(agents);
        let options = turns.ways.map_or(order.len(), usize::from);
        if options == 0 {
            trace.ended = agents.iter().all(|agent| agent.done());
            break;
        }
        let step = trace.choices.len() as u32;
        trace.choices.push(Choice { options: options as u8, costs });
        let asked = deviations.next_if(|next| next.step == step);
        trace.missed = asked.filter(|asked| usize::from(asked.option) >= options);
        if trace.missed.is_some() {
            break;
        }
        let option = asked.map_or(0, |asked| asked.option);
        match turns.ways.take() {
            Some(_) => turns.resume(agents, order[0], option, watch),
            None => turns.resume(agents, order[usize::from(option)], 0, watch),
        }
    }
    finish(agents);
    if !watch.failed() {
        trace.missed = trace.missed.or_else(|| deviations.next());
    }
    trace
}

/// The state of an agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// The agent found a lock taken, but others have made progress since.
    Again,
    /// The agent found a lock taken, and no other has made progress since.
    Waits,
}

/// The turns of the agents.
struct Turns {
    running: Option<usize>,
    states: Vec<State>,
    /// The number of ways in which the running agent may continue.
    ways: Option<u8>,
}

impl Turns {
    /// Returns the agents that can continue, the default first, and true if another choice counts.
    fn order(&self, agents: &[Agent<'_, '_>]) -> (Vec<usize>, bool) {
        let can = |i: &usize| !agents[*i].done() && self.states[*i] != State::Waits;
        let ready: Vec<_> = (0..agents.len()).filter(can).collect();
        let first = self.running.unwrap_or(0);
        let turn = ready.iter().position(|i| *i >= first).unwrap_or(0);
        let goes_on = self.running.is_some_and(|running| ready.contains(&running));
        let costs = goes_on && self.ways.is_none();
        (ready[turn..].iter().chain(&ready[..turn]).copied().collect(), costs)
    }

    fn resume(&mut self, agents: &mut [Agent<'_, '_>], agent: usize, way: u8, watch: &dyn Watch) {
        self.running = Some(agent);
        let mut blocked = false;
        match caught(|| agents[agent].resume(way)) {
            Ok(CoroutineResult::Yield(Pause::Choice(ways))) => self.ways = Some(ways),
            Ok(CoroutineResult::Yield(Pause::Blocked)) => blocked = true,
            Ok(CoroutineResult::Yield(Pause::Step) | CoroutineResult::Return(())) => {}
            Err(message) => watch.panicked(message),
        }
        // An agent that finds the same lock taken again has made no progress.
        if !(blocked && self.states[agent] == State::Again) {
            for state in self.states.iter_mut().filter(|state| **state == State::Waits) {
                *state = State::Again;
            }
        }
        self.states[agent] = if blocked { State::Waits } else { State::Ready };
    }
}

/// Runs the agents to their ends in turn, so that none is dropped while it holds a lock. Their
/// steps are no longer observed.
fn finish(agents: &mut [Agent<'_, '_>]) {
    for _ in 0..ENDLESS {
        let mut going = agents.iter_mut().filter(|agent| !agent.done()).peekable();
        if going.peek().is_none() {
            return;
        }
        for agent in going {
            let _ = caught(|| agent.resume(0));
        }
    }
}

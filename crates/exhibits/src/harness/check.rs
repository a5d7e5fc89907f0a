//! Runs a young check and compares its effects with the oracle.

use super::{Case, Counterexample, Decode, Event, Expected, FIRST_TABLE, Ground, World};
use pageout_paging::mmu::{Asid, Barrier, Invalidate};
use pageout_paging::pte::YoungClear;
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{Env, Level, LockedTable, Rules, VirtAddr};
use std::fmt;

/// The function that is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// `test_and_clear_young_ptes`.
    TestAndClear,
    /// `clear_flush_young_ptes`.
    ClearFlush,
    /// `clear_flush_young_run`, repeated to the end of the run, as an rmap walk does.
    Runs,
}

/// A check to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The function to check.
    pub op: Op,
    /// The algorithm to use.
    pub algorithm: YoungAlgorithm,
    /// The flush to use.
    pub flush: YoungFlush,
}

/// Returns the name of a choice as users write it: `per-entry` of `PerEntry`.
pub fn choice(variant: &impl fmt::Debug) -> String {
    let mut name = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = match self.op {
            Op::TestAndClear => "test_and_clear_young_ptes",
            Op::ClearFlush => "clear_flush_young_ptes",
            Op::Runs => "clear_flush_young_run",
        };
        let (young, flush) = (choice(&self.algorithm), choice(&self.flush));
        write!(f, "{op}, young={young} flush={flush}")
    }
}

impl Call {
    /// Returns every check by every algorithm, with the policy `flush`.
    pub fn all(flush: YoungFlush) -> impl Iterator<Item = Self> {
        [Op::TestAndClear, Op::ClearFlush, Op::Runs]
            .into_iter()
            .flat_map(move |op| YoungAlgorithm::ALL.map(|algorithm| Self { op, algorithm, flush }))
    }

    /// Returns true if each entry is a call of its own, with its own flush.
    fn loops<F: Decode>(self) -> bool {
        self.algorithm == YoungAlgorithm::PerEntry
            || self.algorithm == YoungAlgorithm::Batched && F::CLEAR == YoungClear::TestFirst
    }
}

/// The virtual address of entry 0 of the checked table, in every format.
const START: VirtAddr = VirtAddr::new(1 << 40);
const ASID: Asid = Asid(5);

/// The answer of a check.
pub(super) struct Answer {
    pub(super) young: bool,
    /// The lengths of the runs that it split the case's run into.
    batches: Vec<usize>,
}

/// Makes the check in the current state of `world`.
pub(super) fn perform<R: Rules, F: Decode>(world: &World<F>, case: &Case, call: Call) -> Answer {
    let env = Ground::<R, F>::new(world);
    let check = YoungCheck {
        env: &env,
        algorithm: call.algorithm,
        flush: FlushPolicy::uniform(call.flush),
        asid: ASID,
    };
    let pt = LockedTable::lock(&env, FIRST_TABLE);
    let addr = |i: usize| START.add((i as u64) << F::PAGE_SHIFT);
    let (first, nr) = (case.run.start, case.run.len());
    match call.op {
        Op::TestAndClear => Answer {
            young: check.test_and_clear_young_ptes(&pt, addr(first), nr),
            batches: vec![nr],
        },
        Op::ClearFlush => {
            Answer { young: check.clear_flush_young_ptes(&pt, addr(first), nr), batches: vec![nr] }
        }
        Op::Runs => {
            let (mut i, mut young, mut batches) = (first, false, Vec::new());
            while i < case.run.end {
                let pte = call.algorithm.getter().get::<F, _>(env.table(FIRST_TABLE), i);
                let left = case.run.end - i;
                let (done, any) = check.clear_flush_young_run(&pt, addr(i), pte, left);
                young |= any;
                batches.push(done);
                i += done.max(1);
            }
            Answer { young, batches }
        }
    }
}

/// Makes one check of `case`, while hardware stands still. Compares its answer, changes and flushes
/// with the oracle.
///
/// # Errors
/// The first property that did not hold.
pub fn check_call<R: Rules, F: Decode>(
    world: &World<F>,
    case: &Case,
    expected: &Expected,
    call: Call,
) -> Result<(), Box<Counterexample>> {
    world.reset(&case.entries);
    let answer = perform::<R, F>(world, case, call);
    let fail = |property, found| {
        let call = call.to_string();
        Err(Counterexample::of(property, found, call, case, world))
    };
    if let Some(i) = first_outside(world) {
        return fail("only the table's entries are used", format!("entry {i}"));
    }
    if answer.young != expected.young {
        let found = format!("answered {}", answer.young);
        return fail("the answer is the or of all young bits", found);
    }
    if let Some((property, found)) = wrong_entry(world, case, expected) {
        return fail(property, found);
    }
    let batches = expected_batches::<F>(case, expected, call);
    if answer.batches != batches {
        let found = format!("{:?}, not {batches:?}", answer.batches);
        return fail("a run goes as far as its batch", found);
    }
    match world.with_events(|events| wrong_flush::<F>(case, expected, call, events)) {
        Some((property, found)) => fail(property, found),
        None => Ok(()),
    }
}

pub(super) fn first_outside<F: Decode>(world: &World<F>) -> Option<usize> {
    world.with_events(|events| {
        events.iter().find_map(|event| match event {
            Event::Outside(i) => Some(*i),
            _ => None,
        })
    })
}

type Wrong = (&'static str, String);

fn wrong_entry<F: Decode>(world: &World<F>, case: &Case, expected: &Expected) -> Option<Wrong> {
    let i = (0..F::PTES).find(|i| world.entry(*i) != expected.entries[*i])?;
    let (was, is) = (case.entries[i], world.entry(i));
    let property = if (was.0 ^ is.0) & !F::YOUNG != 0 {
        "no bit but young changes"
    } else if expected.must[i] {
        "the run and its blocks are old afterwards"
    } else {
        "nothing is cleared beyond block edges"
    };
    Some((property, format!("entry {i}: {was:?} became {is:?}")))
}

/// Returns the number of entries that each call should have covered.
fn expected_batches<F: Decode>(case: &Case, expected: &Expected, call: Call) -> Vec<usize> {
    match (call.op, call.algorithm) {
        (Op::Runs, YoungAlgorithm::PerEntry) => vec![1; case.run.len()],
        (Op::Runs, _) => expected.batches::<F>(case).to_vec(),
        _ => vec![case.run.len()],
    }
}

/// Returns the fault of the flushes among `events`: which were due, what they cover, in what order.
fn wrong_flush<F: Decode>(
    case: &Case,
    expected: &Expected,
    call: Call,
    events: &[Event],
) -> Option<Wrong> {
    let flushes = call.op != Op::TestAndClear && call.flush != YoungFlush::None;
    let mut owed = vec![false; F::PTES];
    let mut issued = 0;
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Cleared(i) => owed[*i] = true,
            Event::Invalidate(Invalidate::Range { asid: ASID, start, nr, level: Level::Pte })
                if flushes =>
            {
                let first = F::index(Level::Pte, *start);
                if first + nr > F::PTES || expected.must[first..first + nr].contains(&false) {
                    let found = format!("{nr} entries from {first}");
                    return Some(("invalidations stay within the run and its blocks", found));
                }
                owed[first..first + nr].fill(false);
                issued += 1;
                if let Some(found) = wrong_barriers(call, events, at) {
                    return Some(("a flush is published, and completed if it is sync", found));
                }
            }
            Event::Invalidate(what) => {
                return Some(("nothing else is invalidated", format!("{what:?}")));
            }
            Event::Barrier(_) if !flushes => {
                return Some(("no barrier without a flush", format!("{event:?}")));
            }
            _ => {}
        }
    }
    if flushes && let Some(i) = owed.iter().position(|owed| *owed) {
        return Some(("what was young is invalidated", format!("not entry {i}")));
    }
    let one_call = call.op == Op::ClearFlush && !call.loops::<F>();
    if flushes && one_call && issued != usize::from(expected.young) {
        let found = format!("{issued} for {} entries", case.run.len());
        return Some(("a run is invalidated once, and only if it was young", found));
    }
    None
}

fn wrong_barriers(call: Call, events: &[Event], at: usize) -> Option<String> {
    let before = at.checked_sub(1).and_then(|at| events.get(at));
    let completes = events.get(at + 1) == Some(&Event::Barrier(Barrier::Complete));
    if before != Some(&Event::Barrier(Barrier::Publish)) {
        return Some(format!("{before:?} before the invalidation"));
    }
    let waits = call.flush == YoungFlush::Sync;
    (completes != waits).then(|| format!("{:?} after a {:?} one", events.get(at + 1), call.flush))
}

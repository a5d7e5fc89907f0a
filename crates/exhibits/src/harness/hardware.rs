//! The same checks while hardware sets bits between any two table operations.

use super::check::{first_outside, perform};
use super::{Access, Call, Case, Counterexample, Decode, Event, Expected, World};
use pageout_paging::{Format, Pte, Rules};

/// The extent of a trial with hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tried {
    /// The number of table operations of the call.
    pub ops: usize,
}

/// Makes one check of `case` while hardware makes `accesses` (in order of time, through the checked
/// table) and `weak_failures` compare-and-swaps fail without a reason.
///
/// # Errors
/// The first property that did not hold.
pub fn check_hardware<R: Rules, F: Decode>(
    world: &World<F>,
    case: &Case,
    expected: &Expected,
    call: Call,
    accesses: &[Access],
    weak_failures: usize,
) -> Result<Tried, Box<Counterexample>> {
    world.reset(&case.entries);
    world.plan(accesses, weak_failures);
    let young = perform::<R, F>(world, case, call).young;
    let ops = world.ops();
    world.settle();
    let wrong = match first_outside(world) {
        Some(i) => Some(("only the table's entries are used", format!("entry {i}"))),
        None => world.with_events(|events| wrong_end(world, case, expected, young, events)),
    };
    if let Some((property, found)) = wrong {
        let call = call.to_string();
        return Err(Counterexample::of(property, found, call, case, world));
    }
    let left = (0..F::PTES).any(|i| expected.must[i] && F::is_young(world.entry(i)));
    if perform::<R, F>(world, case, call).young != left {
        let property = "an access after the clear of its entry is seen by the next check";
        let found = format!("the next check answered {}", !left);
        let call = call.to_string();
        return Err(Counterexample::of(property, found, call, case, world));
    }
    Ok(Tried { ops })
}

/// Makes one check of `case` for every moment at which hardware may act and every entry it may use,
/// reading and writing. Returns the number of trials.
///
/// # Errors
/// The first property that did not hold.
pub fn try_every_access<R: Rules, F: Decode>(
    world: &World<F>,
    case: &Case,
    expected: &Expected,
    call: Call,
) -> Result<u64, Box<Counterexample>> {
    let mut trials = 0;
    for entry in 0..F::PTES {
        for write in [true, false] {
            // An access may make the call longer, so each trial shows its own last moment.
            for before in 0.. {
                let access = Access { before, entry, write };
                let tried = check_hardware::<R, F>(world, case, expected, call, &[access], 0)?;
                trials += 1;
                if before >= tried.ops {
                    break;
                }
            }
        }
    }
    Ok(trials)
}

fn wrong_end<F: Decode>(
    world: &World<F>,
    case: &Case,
    expected: &Expected,
    answer: bool,
    events: &[Event],
) -> Option<(&'static str, String)> {
    let mut cause = false;
    for i in 0..F::PTES {
        let was = case.entries[i];
        let is = world.entry(i);
        let history = History::of::<F>(was, i, events);
        let unharmed = history.written::<F>(was).0 & !F::YOUNG;
        if is.0 & !F::YOUNG != unharmed {
            let found = format!("entry {i} is {is:?}, not {:?}", Pte(unharmed));
            return Some(("no dirty bit is lost and no other bit changes", found));
        }
        if history.young_last && !F::is_young(is) {
            let found = format!("entry {i} is old");
            return Some(("an access after the clear of its entry stays visible", found));
        }
        cause |= expected.must[i] && history.ever_young;
        let vanished = history.ever_young && !F::is_young(is);
        if vanished && !expected.must[i] {
            let found = format!("entry {i}");
            return Some(("nothing is cleared beyond block edges", found));
        }
        if vanished && !answer {
            let found = format!("entry {i} was young and the answer is no");
            return Some(("what was cleared is reported", found));
        }
        if expected.must[i] && !history.accessed && F::is_young(is) {
            let found = format!("entry {i} is young");
            return Some(("the run and its blocks are old afterwards", found));
        }
    }
    (answer && !cause).then(|| {
        let property = "a yes has a young entry behind it";
        (property, "none was young".to_owned())
    })
}

/// The history of one entry.
struct History {
    ever_young: bool,
    /// True if hardware used the entry.
    accessed: bool,
    wrote: bool,
    /// True if hardware used the entry after the last clear.
    young_last: bool,
}

impl History {
    fn of<F: Format>(was: Pte, i: usize, events: &[Event]) -> Self {
        let mut history =
            Self { ever_young: F::is_young(was), accessed: false, wrote: false, young_last: false };
        for event in events {
            match event {
                Event::Accessed { entry, write, .. } if *entry == i => {
                    history.accessed = true;
                    history.ever_young = true;
                    history.wrote |= write;
                    history.young_last = true;
                }
                Event::Cleared(entry) if *entry == i => history.young_last = false,
                _ => {}
            }
        }
        history
    }

    /// Returns the entry after only hardware's writes.
    fn written<F: Format>(&self, was: Pte) -> Pte {
        if self.wrote { F::hardware_dirty(was).unwrap_or(was) } else { was }
    }
}

use super::{Case, Decode, Event, World};
use std::fmt;

/// The failure of a check, in steps that a person can follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// The property that should have held.
    pub property: &'static str,
    /// The state that violates it.
    pub found: String,
    /// The entry format.
    pub format: &'static str,
    /// The checked call.
    pub call: String,
    /// The entries at the start, as far as they matter.
    pub table: Vec<String>,
    /// The steps, in order.
    pub steps: Vec<String>,
}

impl Counterexample {
    /// Returns the failure of `property` in the log of `world` for `call` on `case`.
    pub(super) fn of<F: Decode>(
        property: &'static str,
        found: String,
        call: String,
        case: &Case,
        world: &World<F>,
    ) -> Box<Self> {
        let around = case.run.start.saturating_sub(F::CONT_PTES)
            ..(case.run.end + F::CONT_PTES).min(case.entries.len());
        let entry = |i: usize| format!("{i:>3}  {}", describe::<F>(case, i));
        Box::new(Self {
            property,
            found,
            format: F::NAME,
            call: format!("{call}, of entries {} to {}", case.run.start, case.run.end - 1),
            table: around.map(entry).collect(),
            steps: world.with_events(|events| events.iter().map(step).collect()),
        })
    }
}

fn describe<F: Decode>(case: &Case, i: usize) -> String {
    let pte = F::read(case.entries[i], i);
    let bits = F::bits(pte);
    if !bits.present {
        return format!("{pte:?} (no page)");
    }
    let words = [
        (bits.cont, " cont"),
        (bits.young, " young"),
        (bits.dirty, " dirty"),
        (bits.write, " writable"),
        (!bits.valid, " PROT_NONE"),
    ];
    let words: String = words.iter().filter(|w| w.0).map(|w| w.1).collect();
    format!("pfn {:#x}{words}", bits.pfn)
}

fn step(event: &Event) -> String {
    match event {
        Event::Accessed { entry, write: true, .. } => {
            format!("hardware writes through entry {entry}")
        }
        Event::Accessed { entry, .. } => format!("hardware reads through entry {entry}"),
        Event::Cleared(i) => format!("the young bit of entry {i} is cleared"),
        Event::Outside(i) => format!("entry {i} is used: it lies outside the table"),
        Event::Invalidate(what) => format!("invalidate {what:?}"),
        Event::InvalidateLocal(what) => format!("invalidate {what:?} on this CPU"),
        Event::Barrier(barrier) => format!("barrier {barrier:?}"),
        Event::Lock(frame) => format!("lock the table in {frame:?}"),
        Event::Unlock(frame) => format!("unlock the table in {frame:?}"),
        Event::Notified { range, flush } => {
            let how = if *flush { "clear and flush" } else { "clear" };
            format!("the secondary MMU is asked to {how} {range:?}")
        }
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.property, self.found)?;
        writeln!(f, "  {} in {}; at the start:", self.call, self.format)?;
        for line in &self.table {
            writeln!(f, "    {line}")?;
        }
        writeln!(f, "  then:")?;
        for (number, step) in (1..).zip(&self.steps) {
            writeln!(f, "    {number}. {step}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Counterexample {}

//! The recordings of a program's children.

use std::collections::HashMap;

use super::options::RecordError;
use super::recorded::{Recorded, RecordedChild};
use super::recording::Finished;
use crate::spool::Spool;

/// The children recorded so far, complete but without their names; none if children are not
/// recorded.
#[derive(Default)]
pub(super) struct Children {
    spool: Spool,
    recorded: Vec<RecordedChild>,
    /// The numbers of all processes that began.
    begun: Vec<u64>,
}

impl Children {
    /// Returns the number of references of all children.
    pub(super) fn references(&self) -> u64 {
        self.recorded.iter().map(|child| child.summary.totals.references).sum()
    }

    /// Adds a child that has ended. Its summary is that of `finished`.
    pub(super) fn add(
        &mut self,
        child: RecordedChild,
        finished: Finished,
    ) -> Result<(), RecordError> {
        self.begun.extend(finished.children);
        self.recorded.push(child);
        Ok(self.spool.add(finished.output)?)
    }

    /// Gives all traces their names, when the first process has ended too.
    pub(super) fn commit(mut self, first: Finished) -> Result<Recorded, RecordError> {
        self.begun.extend(first.children);
        self.recorded.sort_unstable_by_key(|child| child.number);
        self.spool.commit(first.output)?;
        let untraced_children = untraced(&self.begun, &self.recorded);
        Ok(Recorded { first: first.summary, children: self.recorded, untraced_children })
    }
}

/// Counts the processes of `begun` that were not recorded. A recorded process may be missing in
/// `begun`: a child that executed no program started it.
fn untraced(begun: &[u64], recorded: &[RecordedChild]) -> u64 {
    let mut left: HashMap<u64, u64> = HashMap::new();
    for pid in begun {
        *left.entry(*pid).or_default() += 1;
    }
    for child in recorded {
        left.entry(child.pid).and_modify(|times| *times = times.saturating_sub(1));
    }
    left.values().sum()
}

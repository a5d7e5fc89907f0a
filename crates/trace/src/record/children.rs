//! What came of the children of a program.

use std::collections::HashMap;

use super::options::RecordError;
use super::recorded::{Recorded, RecordedChild};
use super::recording::Finished;
use crate::spool::Spool;

/// Those recorded so far, complete but without their names; none where children are not recorded.
#[derive(Default)]
pub(super) struct Children {
    spool: Spool,
    recorded: Vec<RecordedChild>,
    /// The numbers of all processes that were begun.
    begun: Vec<u64>,
}

impl Children {
    /// References of all of them.
    pub(super) fn references(&self) -> u64 {
        self.recorded.iter().map(|child| child.summary.totals.references).sum()
    }

    /// Takes a child that has ended. Its summary is that of `finished`.
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

/// How many of those begun were not recorded. Of those recorded, some may have been begun where
/// nobody saw it: by a child that executed no program.
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

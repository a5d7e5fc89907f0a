//! Rounds of interrupts, and what waits to be part of one.

use crate::Time;
use crate::core_set::{CoreId, CoreSet};
use pageout_paging::mmu::{Asid, Invalidate};

/// The interval at which cores that no longer run an address space are interrupted to leave its set
/// (should_trim_cpumask).
pub(crate) const TRIM_EVERY: Time = Time::from_ns(1_000_000_000);

/// The invalidations that a task has queued or put off.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) queued: Vec<Invalidate>,
    /// The address spaces whose flushes were put off, with the cores to interrupt then.
    pub(super) deferred: Vec<(Asid, CoreSet)>,
}

/// A round of interrupts, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RoundId(pub(super) u32);

/// The rounds of interrupts under way.
#[derive(Default)]
pub(crate) struct Rounds {
    pub(super) all: Vec<Round>,
    /// The rounds that are over, whose places others may have.
    pub(super) over: Vec<RoundId>,
}

impl Rounds {
    pub(super) fn begin(&mut self, round: Round) -> RoundId {
        if let Some(id) = self.over.pop() {
            self.all[id.0 as usize] = round;
            return id;
        }
        self.all.push(round);
        RoundId(self.all.len() as u32 - 1)
    }
}

/// A round of interrupts.
pub(super) struct Round {
    pub(super) issuer: CoreId,
    pub(super) flushes: Vec<Flush>,
    /// The number of interrupts not handled yet.
    pub(super) left: u64,
    /// The time at which the last acknowledgement so far arrives.
    pub(super) done: Time,
}

/// A flush that is requested from a core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    /// The address space; `None` for whatever the core runs.
    pub(super) asid: Option<Asid>,
    /// The entries to flush one by one; `None` for all.
    pub(super) range: Option<Invalidate>,
    /// The address space's generation with this flush.
    pub(super) generation: u64,
    /// The address space's generation with the last flush of the round.
    pub(super) latest: u64,
}

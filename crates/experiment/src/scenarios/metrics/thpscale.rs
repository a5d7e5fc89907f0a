//! Of `thpscale`.

use super::machine::{
    BARRIERS, BROADCASTS, FIRST_RUN, HIDDEN, HIDDEN_FOR, INTERRUPTS, MISSES, ROUNDS,
};
use crate::metrics::{MetricSpec, metrics};
use pageout_reclaim::Counter;
use pageout_record::compare::Role;
use pageout_record::schema::{Basis, Better};

metrics! {
    /// The benchmark's own.
    pub TIMED = {
        /// time of every slot, in the order in which they were filled
        BOTH: "fault-both", "us", Modelled, Lower;
        /// of those whose first store got a single page
        BASE: "fault-base", "us", Modelled, Lower;
        /// of those whose first store got all of the slot
        HUGE: "fault-huge", "us", Modelled, Lower;
        /// mean of fault-both, a value a run
        AMEAN: "fault-both, mean", "us", Modelled, Lower, whole, drawn;
        /// slots of which the first store got all
        HUGE_SHARE: "slots huge", "%", Counted, Higher;
        /// time of the threads outside of the kernel, all together
        USER: "user", "s", Modelled, Lower, drawn;
        /// time of the threads in the kernel, all together, but for what they wait for locks
        SYSTEM: "system", "s", Modelled, Lower, drawn;
        /// time in which threads wait for locks: in Linux they would sleep for most of it
        WAITING: "waiting for locks", "s", Modelled, Lower, drawn;
        /// from the first thread's begin to the last one's end
        ELAPSED: "elapsed", "s", Modelled, Lower, drawn;
    }
}

/// The kernel's counters that are told.
pub const COUNTERS: [(Counter, MetricSpec); 15] = [
    counter(Counter::PgmigrateSuccess, Better::Lower, "pages moved to another frame"),
    counter(Counter::PgmigrateFail, Better::Lower, "pages that could not be moved"),
    counter(Counter::CompactStall, Better::Lower, "allocations that compacted themselves"),
    counter(Counter::CompactSuccess, Better::Neither, "of which with success"),
    counter(Counter::CompactFail, Better::Lower, "of which without"),
    counter(Counter::CompactMigrateScanned, Better::Lower, "pages scanned for some to move"),
    counter(Counter::CompactFreeScanned, Better::Lower, "pages scanned for free frames"),
    counter(Counter::Allocstall, Better::Lower, "allocations that reclaimed themselves"),
    counter(Counter::Pageoutrun, Better::Lower, "times that background reclaim ran"),
    counter(Counter::PgscanDirect, Better::Lower, "pages that allocations looked at"),
    counter(Counter::PgscanKswapd, Better::Lower, "pages that background reclaim looked at"),
    counter(Counter::PgstealFile, Better::Lower, "pages of files reclaimed"),
    counter(Counter::PgstealAnon, Better::Lower, "anonymous pages reclaimed"),
    counter(Counter::Pgrefill, Better::Lower, "pages of active lists looked at"),
    counter(Counter::WorkingsetRefaultFile, Better::Lower, "pages of files that came back"),
];

/// What is told of the machine.
pub const MACHINE: [MetricSpec; 6] = [BROADCASTS, BARRIERS, ROUNDS, INTERRUPTS, MISSES, HIDDEN];

const fn counter(counter: Counter, better: Better, about: &'static str) -> (Counter, MetricSpec) {
    let (name, basis) = (counter.name(), Basis::Counted);
    let role = Role::Count;
    (counter, MetricSpec { name, unit: "", basis, better, role, about, drawn: false })
}

/// On ground `model`.
pub fn on_model() -> Vec<MetricSpec> {
    let counters = COUNTERS.map(|(_, metric)| metric);
    [TIMED, &counters, &MACHINE, HIDDEN_FOR, FIRST_RUN].concat()
}

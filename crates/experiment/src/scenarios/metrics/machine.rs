//! The metrics of modelled machines, in any scenario.

use crate::metrics::{MetricSpec, metrics};

metrics! {
    /// Invalidations and the events that they cause, for all cores.
    pub COUNTS = {
        /// invalidations sent to all cores
        BROADCASTS: "invalidations broadcast", "", Counted, Lower;
        /// waits for the completion of invalidations
        BARRIERS: "barriers", "", Counted, Lower;
        /// rounds of interrupts by which a core makes others invalidate
        ROUNDS: "interrupt rounds", "", Counted, Lower;
        /// interrupts that other cores received
        INTERRUPTS: "interrupts", "", Counted, Lower;
        /// cores that were not interrupted because they ran no user code
        SPARED: "cores spared as lazy", "", Counted, Lower;
        /// entries that a core invalidated in its own TLB
        LOCAL: "local invalidations", "", Counted, Lower;
        /// times that a core flushed its own TLB
        LOCAL_FLUSHES: "local flushes", "", Counted, Lower;
        /// page faults
        FAULTS: "faults", "", Counted, Lower;
        /// times that a core went from one task to another
        SWITCHES: "context switches", "", Counted, Lower;
    }
}

metrics! {
    /// Parts of a whole at nominal prices, besides the time of invalidations.
    pub CAUSES = {
        /// time that instructions of the kernel take, of all tasks
        INSTRUCTION_TIME: "time of instructions", "", Modelled, Lower, diagnostic;
        /// time that reads and changes of entries take beyond their instructions, of all tasks
        TABLE_TIME: "time of table operations", "", Modelled, Lower, diagnostic;
    }
}

metrics! {
    /// Prices that are moved one by one, and the whole at each.
    pub MOVED = {
        /// time of a TLBI and the DSB that waits for it, with its range
        FLUSH_ARM64: "TLBI and DSB", "ns", Modelled, Neither, diagnostic;
        /// time of the interrupt of one core, up to its acknowledgement, with its range
        FLUSH_X86: "IPI shootdown", "ns", Modelled, Neither, diagnostic;
        /// time of an instruction of the kernel, with its range
        INSTRUCTION_PRICE: "instruction", "ns", Modelled, Neither, diagnostic;
        /// time of an atomic change of an entry that is near, with its range
        ATOMIC_PRICE: "atomic", "ns", Modelled, Neither, diagnostic;
        /// what the scenario is judged by, along what a TLBI and its DSB take
        ALONG_FLUSH_ARM64: "along TLBI and DSB", "", Modelled, Neither, diagnostic;
        /// what the scenario is judged by, along what the interrupt of a core takes
        ALONG_FLUSH_X86: "along IPI shootdown", "", Modelled, Neither, diagnostic;
        /// what the scenario is judged by, along what an instruction takes
        ALONG_INSTRUCTION: "along instruction", "", Modelled, Neither, diagnostic;
        /// what the scenario is judged by, along what an atomic takes
        ALONG_ATOMIC: "along atomic", "", Modelled, Neither, diagnostic;
    }
}

metrics! {
    /// Effects of TLBs.
    pub TLB = {
        /// cores that a round interrupts
        CORES_INTERRUPTED: "cores interrupted", "per round", Counted, Lower;
        /// hits in the second level of a TLB
        SECOND_LEVEL_HITS: "second-level TLB hits", "", Counted, Lower;
        /// misses of a TLB, each with a walk
        MISSES: "TLB misses", "", Counted, Lower;
        /// accesses through TLB entries whose page's young bit was clear: aging does not see them
        HIDDEN: "hidden accesses", "", Counted, Lower;
    }
}

metrics! {
    /// The time for which a stale TLB entry hid accesses.
    pub HIDDEN_FOR = {
        /// median time for which a stale TLB entry hid accesses
        HIDDEN_P50: "hidden for, P50", "us", Modelled, Lower;
        /// 90th percentile of it
        HIDDEN_P90: "hidden for, P90", "us", Modelled, Lower;
        /// 99th percentile of it
        HIDDEN_P99: "hidden for, P99", "us", Modelled, Lower;
        /// the longest
        HIDDEN_MAX: "hidden for, max", "us", Modelled, Lower;
    }
}

metrics! {
    /// Views of the first run with nominal prices.
    pub FIRST_RUN = {
        /// the first run's time with nominal prices, as a tree of activities
        BY_ACTIVITY: "time by activity", "ns", Modelled, Neither;
        /// what cores sent each other in the first run with nominal prices, over its time
        FABRIC_LOAD: "fabric load", "per ms", Modelled, Neither;
    }
}

metrics! {
    /// The writes of anonymous memory by reclaim.
    pub SWAP = {
        /// pages written to swap
        WRITTEN_TO_SWAP: "pages written to swap", "", Counted, Neither;
    }
}

/// [`HIDDEN_MAX`] under the name that scenarios of repetitions use.
pub const HIDDEN_LONGEST: MetricSpec = MetricSpec { name: "hidden for, longest", ..HIDDEN_MAX };

/// The quantiles of [`HIDDEN_FOR`], in its order.
pub const QUANTILES: [f64; HIDDEN_FOR.len()] = [0.5, 0.9, 0.99, 1.0];

/// The metrics of [`COUNTS`] that reclaim on one core has.
pub const RECLAIM: [MetricSpec; 6] =
    [BROADCASTS, BARRIERS, ROUNDS, INTERRUPTS, LOCAL, LOCAL_FLUSHES];

/// Returns the metrics, besides counts, on which a decision about a whole with this unit rests.
pub fn decisive(unit: &'static str) -> Vec<MetricSpec> {
    let in_its_unit = |metric: &MetricSpec| match metric.unit {
        "" => metric.per(unit),
        _ => *metric,
    };
    CAUSES.iter().chain(MOVED).map(in_its_unit).collect()
}

/// Returns the metrics of a part of a run, in units per event `per`, which repeats in that part.
pub fn between(per: &'static str) -> Vec<MetricSpec> {
    let counts = COUNTS.iter().chain([&HIDDEN]).map(|metric| metric.per(per));
    let hidden = [HIDDEN_P50, HIDDEN_P90, HIDDEN_P99, HIDDEN_LONGEST];
    counts.chain([CORES_INTERRUPTED]).chain(FIRST_RUN.iter().copied()).chain(hidden).collect()
}

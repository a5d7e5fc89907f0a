//! A figure of a thread: its source, the states compared, and the thread's certainty.

use super::method::Method;

/// The thread that a figure is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thread {
    /// arm64: clear_flush_young_ptes, v6, 2026.
    S0,
    /// Batched checking of the young flag for MGLRU, v3, 2026.
    S1,
    /// arm64: drop the TLB flush when clearing the access bit, 2023.
    S2,
    /// arm64: don't flush the TLB while clearing the accessed bit, V3, 2018.
    S3,
    /// arm64: batched and deferred TLB shootdown during page reclamation, v2, 2022.
    S4,
    /// Other threads on the lists, 2023 to 2026.
    Lists,
}

impl Thread {
    /// Every thread, in the order of tables.
    pub const ALL: [Self; 6] = [Self::S0, Self::S1, Self::S2, Self::S3, Self::S4, Self::Lists];

    /// Returns the thread's short name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S0 => "S0",
            Self::S1 => "S1",
            Self::S2 => "S2",
            Self::S3 => "S3",
            Self::S4 => "S4",
            Self::Lists => "lists",
        }
    }

    /// Returns the thread's subject, list and year.
    pub const fn about(self) -> &'static str {
        match self {
            Self::S0 => "arm64: clear_flush_young_ptes, v6 (linux-mm, 2026)",
            Self::S1 => "batched checking of the young flag for MGLRU, v3 (linux-mm, 2026)",
            Self::S2 => "arm64: drop the TLB flush when clearing the access bit (linux-mm, 2023)",
            Self::S3 => {
                "arm64: don't flush the TLB while clearing the accessed bit, V3, and replies \
                 (linux-arm-kernel, 2018)"
            }
            Self::S4 => {
                "arm64: batched and deferred TLB shootdown during reclaim, v2, and replies \
                 (linux-mm, 2022)"
            }
            Self::Lists => "linux-mm, 2023 to 2026",
        }
    }
}

/// The direction of a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The state after is better.
    Better,
    /// The state after is worse.
    Worse,
    /// No difference is claimed, or none was found.
    Neither,
}

/// The thread's certainty of a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// Significant by a test.
    Tested,
    /// Stated, without a test.
    Claimed,
    /// Not significant, or no difference.
    No,
}

impl Certainty {
    /// Returns the certainty's name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tested => "tested",
            Self::Claimed => "claimed",
            Self::No => "no",
        }
    }
}

/// The figure that a thread gives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Theirs {
    /// A cost before and after; less is better.
    Costs {
        /// The cost before.
        before: f64,
        /// The cost after.
        after: f64,
        /// The unit of both.
        unit: &'static str,
    },
    /// Cost before over cost after. Above 1, the state after is better.
    Ratio {
        /// The smallest ratio.
        least: f64,
        /// The largest ratio, if the thread bounds it.
        most: Option<f64>,
    },
    /// A number, and a direction if it is about a difference.
    Value {
        /// The number.
        value: f64,
        /// The number's unit.
        unit: &'static str,
        /// The direction of the difference.
        side: Side,
    },
    /// Only the direction of a difference.
    Side(Side),
}

impl Theirs {
    /// Returns the direction of the difference.
    pub fn side(self) -> Side {
        match self {
            Self::Costs { before, after, .. } if after < before => Side::Better,
            Self::Costs { before, after, .. } if after > before => Side::Worse,
            Self::Costs { .. } => Side::Neither,
            Self::Ratio { least, .. } if least >= 1.0 => Side::Better,
            Self::Ratio { .. } => Side::Worse,
            Self::Value { side, .. } | Self::Side(side) => side,
        }
    }
}

/// A figure of a thread, and the methods by which we answer it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// The figure's name in records and tables.
    pub id: &'static str,
    /// The thread that the figure is from.
    pub thread: Thread,
    /// A description of what was measured.
    pub what: &'static str,
    /// The system that the figure was measured on.
    pub system: &'static str,
    /// The platform that models this system.
    pub platform: Option<&'static str>,
    /// The thread's figure.
    pub theirs: Theirs,
    /// The thread's certainty of a difference.
    pub said: Certainty,
    /// The methods of our answers, each of which gives one line.
    pub methods: &'static [Method],
}

/// Returns a figure. The arguments are in the order in which a table row reads.
pub(super) const fn figure(
    (thread, id): (Thread, &'static str),
    (system, platform): (&'static str, Option<&'static str>),
    what: &'static str,
    theirs: Theirs,
    said: Certainty,
    methods: &'static [Method],
) -> Figure {
    Figure { id, thread, what, system, platform, theirs, said, methods }
}

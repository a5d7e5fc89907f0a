//! What a figure of a thread is: where it stands, what was compared, and how sure the thread is.

use super::method::Method;

/// Which thread a figure stands in.
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
    /// Others on the lists, 2023 to 2026.
    Lists,
}

impl Thread {
    /// Every one, in the order of tables.
    pub const ALL: [Self; 6] = [Self::S0, Self::S1, Self::S2, Self::S3, Self::S4, Self::Lists];

    /// Its short name.
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

    /// What it is about.
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

/// Which way a difference goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// After is better.
    Better,
    /// After is worse.
    Worse,
    /// No difference is claimed, or none was found.
    Neither,
}

/// How sure the thread is of a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// Significant by a test.
    Tested,
    /// Stated, without a test.
    Claimed,
    /// Not significant, or no difference.
    No,
}

impl Said {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tested => "tested",
            Self::Claimed => "claimed",
            Self::No => "no",
        }
    }
}

/// What a thread gives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Theirs {
    /// A cost before and after; less is better.
    Costs {
        /// Before.
        before: f64,
        /// After.
        after: f64,
        /// The unit of both.
        unit: &'static str,
    },
    /// Cost before over cost after: above 1 is better after.
    Ratio {
        /// At least.
        least: f64,
        /// At most, if the thread bounds it.
        most: Option<f64>,
    },
    /// One number, and the way it goes if it tells of a difference.
    Value {
        /// The number.
        value: f64,
        /// Its unit.
        unit: &'static str,
        /// Which way it goes.
        side: Side,
    },
    /// Only which way a difference goes.
    Side(Side),
}

impl Theirs {
    /// Which way the difference goes.
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

/// A figure of a thread, and how ours comes about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// Its name in records and tables.
    pub id: &'static str,
    /// Where it stands.
    pub thread: Thread,
    /// What it is of.
    pub what: &'static str,
    /// What it was measured on.
    pub system: &'static str,
    /// The platform that answers to the system.
    pub platform: Option<&'static str>,
    /// The figure.
    pub theirs: Theirs,
    /// How sure the thread is.
    pub said: Said,
    /// How ours comes about, one line each.
    pub methods: &'static [Method],
}

/// A figure, from what is said of it in the order in which it is read.
pub(super) const fn figure(
    (thread, id): (Thread, &'static str),
    (system, platform): (&'static str, Option<&'static str>),
    what: &'static str,
    theirs: Theirs,
    said: Said,
    methods: &'static [Method],
) -> Figure {
    Figure { id, thread, what, system, platform, theirs, said, methods }
}

//! The properties that must hold.

use std::fmt;

/// A property that `check` holds the engine to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Property {
    /// No access through a stale translation reaches a freed or reused frame.
    StaleTranslation,
    /// Every load, on any CPU and through any mapping, finds the last value stored.
    StaleRead,
    /// No store is lost: the page holds it, now or after write-out and read.
    LostWrite,
    /// No TLB may hold entries of two sizes for one page, where hardware forbids that.
    TlbConflict,
    /// Once munmap, mprotect or truncate has returned, nothing it forbids succeeds.
    Protection,
    /// At the end mapcounts, references and lists add up.
    Accounts,
    /// Every call returns.
    Progress,
    /// The engine's own assertions hold.
    Assertions,
    /// A batch leaves the same state as its entries one by one.
    Batch,
    /// A young check returns and clears the right bits, whatever hardware does meanwhile.
    Young,
    /// An aging walk leaves the right state, and the next walk enters the tables that were worth
    /// it.
    Aging,
}

impl Property {
    /// Every property.
    pub const ALL: [Self; 11] = [
        Self::StaleTranslation,
        Self::StaleRead,
        Self::LostWrite,
        Self::TlbConflict,
        Self::Protection,
        Self::Accounts,
        Self::Progress,
        Self::Assertions,
        Self::Batch,
        Self::Young,
        Self::Aging,
    ];

    /// Returns the property's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StaleTranslation => "stale-translation",
            Self::StaleRead => "stale-read",
            Self::LostWrite => "lost-write",
            Self::TlbConflict => "tlb-conflict",
            Self::Protection => "protection",
            Self::Accounts => "accounts",
            Self::Progress => "progress",
            Self::Assertions => "assertions",
            Self::Batch => "batch",
            Self::Young => "young",
            Self::Aging => "aging",
        }
    }

    /// Returns the property in words.
    pub const fn says(self) -> &'static str {
        match self {
            Self::StaleTranslation => "no access reaches a frame that is freed or someone else's",
            Self::StaleRead => "a load finds what was stored last, whatever the TLB still holds",
            Self::LostWrite => "what was stored last is what the page holds, and write-out keeps",
            Self::TlbConflict => "no TLB may hold entries of two sizes for one page at once",
            Self::Protection => {
                "once munmap, mprotect or truncate has returned, nothing it forbids succeeds"
            }
            Self::Accounts => "in the end mapcounts, references, lists, frames and tables add up",
            Self::Progress => "every call comes to its end",
            Self::Assertions => "the engine's own assertions hold",
            Self::Batch => "a batch leaves what its entries would one by one",
            Self::Young => "a young check answers and clears what it must, and nothing else",
            Self::Aging => "an aging walk in batches ages what it must, and says where it did",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property that did not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The property.
    pub property: Property,
    /// The state that violates it.
    pub found: String,
}

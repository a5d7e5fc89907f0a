//! States of the kernel's reclaim that are compared.

use pageout_experiment::variant::{Lru, Variant};

/// A state of the kernel's reclaim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Classic lists, nothing batched.
    Stock,
    /// Classic lists, young bits batched.
    Young,
    /// Classic lists, young bits and unmapping batched.
    Unmap,
    /// Generations, unmapping batched.
    MglruUnmap,
    /// Generations, young bits and unmapping batched.
    Mglru,
}

impl Step {
    pub(super) const ALL: [Self; 5] =
        [Self::Stock, Self::Young, Self::Unmap, Self::MglruUnmap, Self::Mglru];

    pub(super) const fn variant(self) -> Variant {
        match self {
            Self::Stock => Variant::BEFORE,
            Self::Young => Variant::STEPS[0],
            Self::Unmap => Variant::STEPS[1],
            Self::MglruUnmap => Variant::MGLRU_BEFORE,
            Self::Mglru => Variant::MGLRU_STEPS[0],
        }
    }

    /// Returns the lab's kernel for this state.
    pub(super) const fn kernel(self) -> &'static str {
        match self {
            Self::Stock => "no-batch",
            // This kernel has no batched unmapping, which came after batched young bits.
            Self::Young => "no-unmap",
            Self::MglruUnmap => "no-mglru",
            Self::Unmap | Self::Mglru => "stock",
        }
    }

    pub(super) const fn lru(self) -> Lru {
        match self {
            Self::Stock | Self::Young | Self::Unmap => Lru::Classic,
            Self::MglruUnmap | Self::Mglru => Lru::Mglru,
        }
    }
}

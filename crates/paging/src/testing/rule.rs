//! The rules, as panics name them.

use core::fmt;

/// A rule of hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// An entry changes its frame, its size or its table only while no TLB may hold the old one.
    BreakBeforeMake,
    /// Entries that hardware may change are changed by atomic operations.
    OneAtomicOperation,
    /// An ASID names one address space, as long as a TLB may hold anything of it.
    OneAddressSpace,
    /// Frames are freed only when no TLB and no entry leads to them.
    FlushBeforeFree,
    /// A change that must not move pages moves none.
    SamePages,
}

impl Rule {
    const fn name(self) -> &'static str {
        match self {
            Self::BreakBeforeMake => "break before make",
            Self::OneAtomicOperation => "one atomic operation",
            Self::OneAddressSpace => "one ASID, one address space",
            Self::FlushBeforeFree => "flush before free",
            Self::SamePages => "same pages",
        }
    }

    /// Returns the places in the manuals: Arm's DDI 0487, Intel's volume 3A, the RISC-V privileged
    /// specification.
    const fn manual(self) -> &'static str {
        match self {
            Self::BreakBeforeMake => {
                "Arm: using break-before-make; Intel: recommended invalidation; RISC-V: SFENCE.VMA"
            }
            Self::OneAtomicOperation => {
                "Arm: hardware management of the Access flag and dirty state; Intel: accessed and \
                 dirty flags; RISC-V: the A and D bits"
            }
            Self::OneAddressSpace => "Arm: ASIDs; Intel: PCIDs; RISC-V: satp",
            Self::FlushBeforeFree => {
                "Arm: TLB maintenance; Intel: propagation of paging-structure changes; RISC-V: \
                 SFENCE.VMA"
            }
            Self::SamePages => "Arm: block descriptors; Intel: large pages; RISC-V: superpages",
        }
    }

    /// Panics with the rule, what broke it, and where the manuals have it.
    #[track_caller]
    pub(super) fn broken(self, how: fmt::Arguments<'_>) -> ! {
        panic!("{}: {how} [{}]", self.name(), self.manual())
    }
}

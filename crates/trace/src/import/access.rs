//! An access as an importer reads it, before the rule decides whether it is a reference.

use crate::reference::Reference;

/// An access in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// An instruction fetch, a load or a store.
    Reference(Reference),
    /// A prefetch, by an instruction or by the processor itself.
    Prefetch,
    /// An access whose address the processor did not report.
    Unknown,
}

/// Addresses from here on are the kernel's: the upper half of the address space on x86-64, Arm and
/// RISC-V.
const KERNEL: u64 = 1 << 63;

impl Access {
    /// The one rule of all importers: returns the reference that an access becomes, or the cause
    /// for which it is passed over.
    ///
    /// A page trace has the pages of one program. The kernel's pages are not the program's, and are
    /// not reclaimed. A prefetch may fail without a fault, and sets no young bit that the program
    /// asked for.
    pub(super) fn rule(self) -> Result<Reference, Cause> {
        match self {
            Self::Prefetch => Err(Cause::Prefetch),
            Self::Unknown => Err(Cause::UnknownAddress),
            Self::Reference(reference) if reference.address() >= KERNEL => Err(Cause::Kernel),
            Self::Reference(reference) => Ok(reference),
        }
    }
}

/// The reason why a line or a record of the input is not in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// An access to the kernel's half of the address space.
    Kernel,
    /// A prefetch.
    Prefetch,
    /// A sample whose address the processor did not report.
    UnknownAddress,
    /// A sample that was printed without its address.
    NoAddress,
    /// A line of a sample's call chain.
    CallChain,
    /// A line of another event.
    OtherEvent,
    /// An access of a process that was not asked for.
    OtherProcess,
    /// A cache flush.
    Flush,
    /// A marker between accesses.
    Marker,
    /// An entry of a type that the printing tool did not know.
    UnknownEntry,
    /// A remark of the tool that wrote the log.
    Remark,
    /// The snapshot that damo adds so that the last one has an end.
    ClosingSnapshot,
}

impl Cause {
    /// All causes, in the order in which they are printed.
    const ALL: [Self; 12] = [
        Self::Kernel,
        Self::Prefetch,
        Self::UnknownAddress,
        Self::NoAddress,
        Self::CallChain,
        Self::OtherEvent,
        Self::OtherProcess,
        Self::Flush,
        Self::Marker,
        Self::UnknownEntry,
        Self::Remark,
        Self::ClosingSnapshot,
    ];

    /// Returns the plural noun that messages use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "accesses to kernel addresses",
            Self::Prefetch => "prefetches",
            Self::UnknownAddress => "samples of an unknown address",
            Self::NoAddress => "samples printed without an address",
            Self::CallChain => "lines of call chains",
            Self::OtherEvent => "lines of other events",
            Self::OtherProcess => "lines of other processes",
            Self::Flush => "cache flushes",
            Self::Marker => "markers",
            Self::UnknownEntry => "entries of an unknown type",
            Self::Remark => "remarks of the tool",
            Self::ClosingSnapshot => "snapshots that only end the one before",
        }
    }
}

/// Lines and records of an input that are not in the trace, counted by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PassedOver([u64; Cause::ALL.len()]);

impl PassedOver {
    pub(super) fn add(&mut self, cause: Cause) {
        self.0[cause as usize] += 1;
    }

    /// Returns the causes that occurred, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (Cause, u64)> {
        Cause::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_addresses_and_prefetches_are_passed_over_and_the_rest_is_referenced() {
        let at = |address| Access::Reference(Reference::at(address, false));
        assert_eq!(at(KERNEL).rule(), Err(Cause::Kernel));
        for address in [0, KERNEL - 1] {
            assert_eq!(at(address).rule(), Ok(Reference::at(address, false)));
        }
        assert_eq!(Access::Prefetch.rule(), Err(Cause::Prefetch));
        assert_eq!(Access::Unknown.rule(), Err(Cause::UnknownAddress));
    }

    #[test]
    fn each_cause_has_its_own_count() {
        assert!(Cause::ALL.iter().enumerate().all(|(at, cause)| *cause as usize == at));
        let mut passed = PassedOver::default();
        passed.add(Cause::Marker);
        passed.add(Cause::Marker);
        passed.add(Cause::Kernel);
        let counts: Vec<_> = passed.counts().collect();
        assert_eq!(counts, [(Cause::Kernel, 1), (Cause::Marker, 2)]);
    }
}

//! TLB maintenance as the engine sees it: issue invalidations, complete them with a barrier.

use crate::VirtAddr;
use crate::pte::Level;

/// The tag of an address space in a TLB.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Asid(pub u32);

/// What an invalidation removes from TLBs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalidate {
    /// Leaf translations of `nr` entries of `level` from `start` on; walk caches are kept.
    Range {
        /// The address space.
        asid: Asid,
        /// First address.
        start: VirtAddr,
        /// Entries of `level`.
        nr: usize,
        /// Level of the leaf entries.
        level: Level,
    },
    /// Every translation of the address space.
    AddressSpace(Asid),
}

/// Order of memory and invalidations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Barrier {
    /// Entries written before are seen by walks after (arm64 DSB ISHST; nothing on x86).
    Publish,
    /// Invalidations issued before on this CPU have taken effect everywhere (arm64 DSB ISH).
    Complete,
}

/// What the memory-management hardware does by itself, on the CPUs that matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// Hardware sets the accessed bit of leaf entries; otherwise software does, in a fault.
    pub hardware_af: bool,
    /// Hardware sets the dirty bit of leaf entries.
    pub hardware_dirty: bool,
    /// Hardware sets the accessed bit of entries that lead to tables.
    pub nonleaf_af: bool,
    /// Entries at or above which a range becomes an invalidation of the whole address space.
    /// arm64 without range TLBI: 512 at 4K pages; with it 2^21 + 1; x86: 34; riscv: 65 [7.1.5].
    pub range_limit: usize,
}

/// TLB maintenance: broadcast to every CPU that may hold a translation.
pub trait Mmu {
    /// What the hardware does by itself.
    fn caps(&self) -> Caps;
    /// Issues an invalidation. It may not have taken effect before [`Barrier::Complete`].
    fn invalidate(&self, what: Invalidate);
    /// Orders memory and invalidations.
    fn barrier(&self, barrier: Barrier);
}

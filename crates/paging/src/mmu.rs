//! TLB maintenance as the engine uses it: issuing invalidations, and completing them with a
//! barrier.

use crate::VirtAddr;
use crate::pte::Level;

/// The tag of an address space in a TLB.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Asid(pub u32);

/// The translations that an invalidation removes from TLBs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalidate {
    /// Leaf translations of `nr` entries of `level` from `start` on; walk caches are kept.
    Range {
        /// The address space.
        asid: Asid,
        /// The first address.
        start: VirtAddr,
        /// The number of entries of `level`.
        nr: usize,
        /// The level of the leaf entries.
        level: Level,
    },
    /// Every translation of the address space.
    AddressSpace(Asid),
    /// Every translation of user address spaces, on every CPU: the one round of interrupts by which
    /// x86 flushes a batch of several address spaces.
    Everything,
}

/// An order between memory and invalidations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Barrier {
    /// Entries written before are seen by walks after (arm64 DSB ISHST; nothing on x86; riscv64
    /// FENCE RW, RW before other harts are interrupted, since SFENCE.VMA orders its own).
    Publish,
    /// Invalidations issued before *on this CPU* have taken effect everywhere (arm64 DSB ISH).
    /// Another CPU's invalidations are not waited for: only that CPU's own barrier completes them.
    Complete,
}

/// The way in which a deferred invalidation reaches other CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shootdown {
    /// Invalidations are issued as entries are cleared, and hardware broadcasts them; one barrier
    /// completes them all (arm64).
    Broadcast,
    /// Invalidations are not sent before the flush, which is one round of interprocessor interrupts
    /// (x86, riscv).
    Ipi,
}

/// The abilities of the memory-management hardware, on the CPUs that matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// True if hardware sets the accessed bit of leaf entries. Otherwise software does, in a fault.
    pub hardware_af: bool,
    /// True if hardware sets the dirty bit of leaf entries.
    pub hardware_dirty: bool,
    /// True if hardware sets the accessed bit of entries that lead to tables
    /// ([`Format::NONLEAF_YOUNG`](crate::Format)). x86 always does; arm64 does if every CPU has
    /// FEAT_HAFT, since no fault could replace it; riscv never does (Linux 7.3.4,
    /// arch_has_hw_nonleaf_pmd_young).
    pub nonleaf_af: bool,
    /// The number of entries from which on a range becomes an invalidation of the whole address
    /// space. arm64 without range TLBI: 512 at 4K pages; with it 2^21 + 1; x86: 34; riscv: 65
    /// [7.3.4].
    pub range_limit: usize,
    /// The way in which deferred invalidations reach other CPUs.
    pub shootdown: Shootdown,
    /// True if contiguous blocks may be converted without a flush in between (arm64 FEAT_BBM level
    /// 2 on CPUs known not to abort). Hardware returns the old translation or the new, never a
    /// mixture, and raises no fault.
    pub bbml2_noabort: bool,
    /// The number of CPUs, on which the use of deferring invalidations may depend.
    pub cpus: u16,
}

impl Caps {
    /// Hardware that sets the bits of leaf entries, invalidates ranges of any length by broadcast,
    /// and has as many CPUs as possible. It has no further abilities.
    pub const IDEAL: Self = Self {
        hardware_af: true,
        hardware_dirty: true,
        nonleaf_af: false,
        range_limit: usize::MAX,
        shootdown: Shootdown::Broadcast,
        bbml2_noabort: false,
        cpus: u16::MAX,
    };
}

/// TLB maintenance: broadcast to every CPU that may hold a translation.
pub trait Mmu {
    /// Returns the abilities of the hardware.
    fn caps(&self) -> Caps;
    /// Issues an invalidation. It may not have taken effect before [`Barrier::Complete`].
    fn invalidate(&self, what: Invalidate);
    /// Orders memory and invalidations.
    fn barrier(&self, barrier: Barrier);
    /// Invalidates in this CPU's TLB, and waits for it (arm64: a local TLBI between local
    /// barriers).
    fn invalidate_local(&self, what: Invalidate) {
        self.barrier(Barrier::Publish);
        self.invalidate(what);
        self.barrier(Barrier::Complete);
    }
    /// Returns true if a CPU other than this one may hold translations of the address space. x86
    /// defers an invalidation only then (Linux 7.3.4, should_defer_flush).
    fn remote(&self, _asid: Asid) -> bool {
        true
    }
    /// Notes a deferral: entries of the address space were cleared whose flush comes later
    /// ([`Shootdown::Ipi`]). x86 records here which CPUs to interrupt then, and that its generation
    /// moved (Linux 7.3.4, arch_tlbbatch_add_pending). The default does nothing.
    fn defer(&self, _asid: Asid) {}
}

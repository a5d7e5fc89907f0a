//! The modelled parts of a machine's hardware.

use super::architecture::Architecture;
use crate::tlb::TlbShape;
use pageout_paging::Format;
use pageout_paging::mmu::{Caps, Shootdown};

/// The hardware of a machine. No part of it is drawn from a range.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// The machine's architecture.
    pub architecture: Architecture,
    /// The number of cores, 1 to [`Shape::MAX_CORES`]; all alike.
    pub cores: u16,
    /// The updates of entries that its memory-management hardware makes.
    pub hardware: Hardware,
    /// The TLB of each core.
    pub tlb: TlbShape,
    /// The way in which invalidations reach other cores.
    pub invalidation: Invalidation,
    /// The machine's storage.
    pub storage: Storage,
}

impl Shape {
    /// The maximum number of cores a machine may have.
    pub const MAX_CORES: u16 = 256;

    /// Returns the hardware's properties for the engine, for entries of format `F`.
    pub fn caps<F: Format>(&self) -> Caps {
        Caps {
            hardware_af: self.hardware.accessed,
            hardware_dirty: self.hardware.dirty,
            nonleaf_af: self.hardware.nonleaf_accessed,
            range_limit: match self.invalidation {
                // One operation covers at most 2^21 entries: 32 · 2^(5·3+1).
                Invalidation::Broadcast(Broadcast { range_operations: true, .. }) => (1 << 21) + 1,
                // MAX_DVM_OPS [Linux 7.3.4, arm64 tlbflush.h]: the entries of one table.
                Invalidation::Broadcast(_) => 1 << F::TABLE_SHIFT,
                Invalidation::Ipi(ipi) => ipi.full_flush_ceiling as usize + 1,
            },
            shootdown: match self.invalidation {
                Invalidation::Broadcast(_) => Shootdown::Broadcast,
                Invalidation::Ipi(_) => Shootdown::Ipi,
            },
            bbml2_noabort: self.hardware.bbml2_noabort,
            cpus: self.cores,
        }
    }
}

/// The abilities of memory-management hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hardware {
    /// True if the hardware sets the accessed bit of leaf entries.
    pub accessed: bool,
    /// True if the hardware sets the dirty bit of leaf entries.
    pub dirty: bool,
    /// True if the hardware sets the accessed bit of entries that lead to tables.
    pub nonleaf_accessed: bool,
    /// True if contiguous blocks may be converted without a flush in between
    /// ([`Caps::bbml2_noabort`]).
    pub bbml2_noabort: bool,
}

/// The way in which invalidations reach other cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalidation {
    /// arm64.
    Broadcast(Broadcast),
    /// x86, riscv.
    Ipi(Ipi),
}

/// Invalidations as instructions that hardware broadcasts to every core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broadcast {
    /// Bits of an address-space identifier: 8 or 16.
    pub asid_bits: u8,
    /// True if one instruction may cover a range of pages (FEAT_TLBIRANGE); otherwise it covers one
    /// page.
    pub range_operations: bool,
    /// The number of invalidations that a core holds back until the buffer overflows or their
    /// issuer's barrier comes. 0: the core applies each as it arrives.
    pub hold: u16,
    /// True if a barrier also waits for outstanding device accesses of its own core.
    pub waits_for_devices: bool,
}

/// Invalidations as interrupts to the cores that may hold translations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipi {
    /// The number of address spaces that a core keeps apart by tags (Linux 7.3.4 on x86: 6,
    /// TLB_NR_DYN_ASIDS). 0: every switch flushes all but global translations.
    pub tag_slots: u8,
    /// The maximum number of entries that are flushed one by one. More entries flush the address
    /// space (Linux 7.3.4: x86 33, tlb_single_page_flush_ceiling; riscv 64).
    pub full_flush_ceiling: u32,
    /// True if idle cores keep their address space loaded and are not interrupted. They flush when
    /// they leave idleness if they missed an invalidation.
    pub lazy: bool,
}

/// The storage device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storage {
    /// The number of transfers that it works on at once, 1 to 65535; more wait.
    pub queue_depth: u16,
}

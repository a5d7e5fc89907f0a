//! What a machine has, as far as it is modelled.

use super::architecture::Architecture;
use crate::tlb::TlbShape;
use pageout_paging::Format;
use pageout_paging::mmu::{Caps, Shootdown};

/// What a machine has: nothing here is drawn from a range.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// Its architecture.
    pub architecture: Architecture,
    /// Cores, 1 to [`Shape::MAX_CORES`]; all alike.
    pub cores: u16,
    /// What its memory-management hardware does by itself.
    pub hardware: Hardware,
    /// The TLB of each core.
    pub tlb: TlbShape,
    /// How invalidations reach other cores.
    pub invalidation: Invalidation,
    /// Its storage.
    pub storage: Storage,
}

impl Shape {
    /// The most cores a machine may have.
    pub const MAX_CORES: u16 = 256;

    /// What the engine is told of the hardware, for entries of format `F`.
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

/// What memory-management hardware does by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hardware {
    /// It sets the accessed bit of leaf entries.
    pub accessed: bool,
    /// It sets the dirty bit of leaf entries.
    pub dirty: bool,
    /// It sets the accessed bit of entries that lead to tables.
    pub nonleaf_accessed: bool,
    /// Contiguous blocks may be converted without a flush in between ([`Caps::bbml2_noabort`]).
    pub bbml2_noabort: bool,
}

/// How invalidations reach other cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalidation {
    /// arm64.
    Broadcast(Broadcast),
    /// x86, riscv.
    Ipi(Ipi),
}

/// Invalidations as instructions that hardware tells every core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broadcast {
    /// Bits of an address-space identifier: 8 or 16.
    pub asid_bits: u8,
    /// One instruction may cover a range of pages (FEAT_TLBIRANGE); otherwise one a page.
    pub range_operations: bool,
    /// Invalidations that a core holds back until the buffer overflows or their issuer's barrier
    /// comes; 0: each is applied as it arrives.
    pub hold: u16,
    /// A barrier also waits for device accesses outstanding on its own core.
    pub waits_for_devices: bool,
}

/// Invalidations as interrupts to the cores that may hold translations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipi {
    /// Address spaces that a core keeps apart by tags (Linux 7.3.4 on x86: 6, TLB_NR_DYN_ASIDS).
    /// 0: every switch flushes all but global translations.
    pub tag_slots: u8,
    /// The most entries flushed one by one; more flush the address space (Linux 7.3.4: x86 33,
    /// tlb_single_page_flush_ceiling; riscv 64).
    pub full_flush_ceiling: u32,
    /// Idle cores keep their address space loaded, are not interrupted, and flush when they leave
    /// idleness if they missed something.
    pub lazy: bool,
}

/// The storage device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storage {
    /// Transfers that it works on at once, 1 to 65535; more wait.
    pub queue_depth: u16,
}

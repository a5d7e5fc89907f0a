//! What a secondary MMU (KVM, an IOMMU) is asked when the primary's young bits are read.

use crate::{VirtAddr, VirtRange};

/// A subscriber to the young checks of one address space (the kernel's `mmu_notifier`).
///
/// It is asked always, not only when the primary entry was old, and its answer is or-ed in. Ranges
/// are the checked pages; they are not widened to contiguous blocks, since only the primary's table
/// has those. Never called under an LRU lock.
pub trait Notifier {
    /// Clears the secondary's young bits in `range` and makes its TLB forget; whether any was set.
    fn clear_flush_young(&self, range: VirtRange) -> bool;
    /// Clears the secondary's young bits in `range`; its TLB may go on hiding accesses.
    fn clear_young(&self, range: VirtRange) -> bool;
    /// Whether the secondary's entry for `addr` is young. Clears nothing.
    fn test_young(&self, addr: VirtAddr) -> bool;
}

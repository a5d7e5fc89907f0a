//! What a secondary MMU (KVM, an IOMMU) is asked when the primary's young bits are read, and told
//! when its entries are taken away.

use crate::{VirtAddr, VirtRange};

/// A subscriber to one address space (the kernel's `mmu_notifier`).
///
/// It is asked for young bits always, not only when the primary entry was old, and its answer is
/// or-ed in. Ranges are the pages concerned; they are not widened to contiguous blocks, since only
/// the primary's table has those. Never called under an LRU lock.
pub trait Notifier {
    /// Clears the secondary's young bits in `range` and makes its TLB forget; whether any was set.
    fn clear_flush_young(&self, range: VirtRange) -> bool;
    /// Clears the secondary's young bits in `range`; its TLB may go on hiding accesses.
    fn clear_young(&self, range: VirtRange) -> bool;
    /// Whether the secondary's entry for `addr` is young. Clears nothing.
    fn test_young(&self, addr: VirtAddr) -> bool;
    /// The primary's entries for `range` were taken out or permit less, and their table is still
    /// locked: once this returns, the secondary reaches none of their frames (or writes to none it
    /// may no longer write to) without asking the primary again, and what it wrote is noted in
    /// their folios (Linux 7.3.4, arch_invalidate_secondary_tlbs).
    fn invalidate(&self, range: VirtRange);
}

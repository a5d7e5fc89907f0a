//! The calls of a secondary MMU (KVM, an IOMMU) when the primary's young bits are read and when its
//! entries are taken out.

use crate::{VirtAddr, VirtRange};

/// A subscriber to one address space (the kernel's `mmu_notifier`).
///
/// It is always called for young bits, not only if the primary entry was old, and its result is
/// or-ed in. Ranges are the pages concerned; they are not widened to contiguous blocks, since only
/// the primary's table has those. It is never called under an LRU lock.
pub trait Notifier {
    /// Clears the secondary's young bits in `range` and flushes its TLB. Returns true if any was
    /// set.
    fn clear_flush_young(&self, range: VirtRange) -> bool;
    /// Clears the secondary's young bits in `range`, and returns true if any was set. Its TLB may
    /// go on hiding accesses.
    fn clear_young(&self, range: VirtRange) -> bool;
    /// Returns true if the secondary's entry for `addr` is young. Clears nothing.
    fn test_young(&self, addr: VirtAddr) -> bool;
    /// Notes that the primary's entries for `range` were taken out or permit less. Their table is
    /// still locked. Once this returns, the secondary asks the primary again before it reaches any
    /// of their frames. If it has only lost the right to write, it asks before it writes. Its
    /// writes so far are recorded in their folios (Linux 7.3.4, arch_invalidate_secondary_tlbs).
    fn invalidate(&self, range: VirtRange);
}

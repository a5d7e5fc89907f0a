//! The secondary MMUs of one address space.

use pageout_paging::{Notifier, VirtAddr, VirtRange};

/// The subscribers of an address space, as one [`Notifier`]. Clears visit all of them and or the
/// results. The test stops at the first that is young (Linux 7.3.4, mmu_notifier.c).
#[derive(Clone, Copy)]
pub struct Subscribers<'a>(pub &'a [&'a dyn Notifier]);

impl Notifier for Subscribers<'_> {
    fn clear_flush_young(&self, range: VirtRange) -> bool {
        self.0.iter().fold(false, |young, one| young | one.clear_flush_young(range.clone()))
    }

    fn clear_young(&self, range: VirtRange) -> bool {
        self.0.iter().fold(false, |young, one| young | one.clear_young(range.clone()))
    }

    fn test_young(&self, addr: VirtAddr) -> bool {
        self.0.iter().any(|one| one.test_young(addr))
    }

    fn invalidate(&self, range: VirtRange) {
        self.0.iter().for_each(|one| one.invalidate(range.clone()));
    }
}

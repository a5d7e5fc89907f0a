//! The state of each anonymous page, a byte a frame.

use crate::maps::Maps;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Pfn;

/// The page belongs to one process alone, which may write it without copying.
const EXCLUSIVE: u8 = 1 << 0;

impl Maps<'_> {
    /// Whether the anonymous page in this frame belongs to one process alone (the kernel's
    /// PageAnonExclusive). Read and written under the lock of a table that maps it.
    #[inline]
    pub fn is_anon_exclusive(&self, pfn: Pfn) -> bool {
        self.folios.pages(pfn, 1)[0].load(Relaxed) & EXCLUSIVE != 0
    }

    /// Says so, or the contrary, of `nr` pages from this frame on.
    #[inline]
    pub(crate) fn set_anon_exclusive(&self, pfn: Pfn, nr: usize, exclusive: bool) {
        for page in self.folios.pages(pfn, nr) {
            page.store(if exclusive { EXCLUSIVE } else { 0 }, Relaxed);
        }
    }
}

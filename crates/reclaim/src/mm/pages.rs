//! The state of each anonymous page, one byte for each frame.

use crate::mm_state::MmState;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::Pfn;

/// The flag that the page belongs to only one process, which may write it without copying.
const EXCLUSIVE: u8 = 1 << 0;

impl MmState<'_> {
    /// Returns true if the anonymous page in this frame belongs to only one process (the kernel's
    /// PageAnonExclusive). It is read and written under the lock of a table that maps the page.
    #[inline]
    pub fn is_anon_exclusive(&self, pfn: Pfn) -> bool {
        self.folios.pages(pfn, 1)[0].load(Relaxed) & EXCLUSIVE != 0
    }

    /// Sets or clears that flag for `nr` pages from this frame on.
    #[inline]
    pub(crate) fn set_anon_exclusive(&self, pfn: Pfn, nr: usize, exclusive: bool) {
        for page in self.folios.pages(pfn, nr) {
            page.store(if exclusive { EXCLUSIVE } else { 0 }, Relaxed);
        }
    }
}

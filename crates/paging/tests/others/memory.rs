//! Physical memory for tables, as a kernel maps it: at an offset.

use pageout_paging::Pfn;
use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;

/// A page of memory.
#[repr(C, align(4096))]
struct Page(UnsafeCell<[u64; 512]>);

/// Frames for tables, given out in order. Frame 0 is never given out: some crates take it for none.
pub(crate) struct Memory {
    pages: Box<[Page]>,
    next: Cell<u64>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let pages = (0..64).map(|_| Page(UnsafeCell::new([0; 512]))).collect();
        Self { pages, next: Cell::new(1) }
    }

    pub(crate) fn alloc(&self) -> Pfn {
        let next = self.next.replace(self.next.get() + 1);
        assert!(next < self.pages.len() as u64, "there are frames enough for the test");
        Pfn::new(next)
    }

    /// Returns the address of a frame. With it the code under test may change the frame, while
    /// nothing else uses this memory.
    pub(crate) fn at(&self, frame: Pfn) -> NonNull<u64> {
        NonNull::from(&self.pages[frame.get() as usize].0).cast()
    }

    /// Reads an entry. The code under test is not at work: it is called with the tables borrowed.
    pub(crate) fn read(&self, table: Pfn, i: usize) -> u64 {
        // SAFETY: the pointer is that of a live page, `i` is below 512 (checked), and no code that
        // could write the page runs meanwhile.
        unsafe {
            *self
                .at(table)
                .add({
                    assert!(i < 512);
                    i
                })
                .as_ptr()
        }
    }
}

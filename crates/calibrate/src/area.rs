//! Memory of whole pages, alone in its mapping.

use memmap2::{Advice, MmapMut, MmapOptions};
use std::io;

/// The size of pages that the kernel is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pages {
    /// Base pages alone.
    Small,
    /// Huge ones where there are any.
    Huge,
}

/// Maps anonymous memory, which takes none until it is touched.
///
/// # Errors
/// The kernel's, if it has no address space or refuses.
pub(super) fn area(bytes: usize, pages: Pages) -> io::Result<MmapMut> {
    let area = MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?;
    // A kernel without huge pages refuses either advice, and needs none.
    let _ = area.advise(match pages {
        Pages::Small => Advice::NoHugePage,
        Pages::Huge => Advice::HugePage,
    });
    Ok(area)
}

/// [`area`] of base pages that the kernel joins with no neighbour, since nothing else in this
/// process has its flags; only one may live at a time.
///
/// # Errors
/// As [`area`].
pub(super) fn lone_area(bytes: usize) -> io::Result<MmapMut> {
    let area = area(bytes, Pages::Small)?;
    area.advise(Advice::DontFork)?;
    Ok(area)
}

/// Bytes of a base page.
pub(super) fn page_size() -> usize {
    rustix::param::page_size()
}

/// Stores to the first byte of each page.
pub(super) fn store_to_each_page(memory: &mut [u8]) {
    for byte in memory.iter_mut().step_by(page_size()) {
        *byte = 1;
    }
    std::hint::black_box(memory);
}

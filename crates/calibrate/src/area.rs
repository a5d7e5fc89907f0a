//! Memory of whole pages, the only one in its mapping.

use memmap2::{Advice, MmapMut, MmapOptions};
use std::io;

/// The size of pages that the kernel is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pages {
    /// Only base pages.
    Small,
    /// Huge pages if the kernel has any.
    Huge,
}

/// Maps anonymous memory, whose pages are allocated only when they are touched.
///
/// # Errors
/// The kernel's error, if there is no address space left or it refuses.
pub(super) fn area(bytes: usize, pages: Pages) -> io::Result<MmapMut> {
    let area = MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?;
    // A kernel without huge pages refuses both kinds of advice, and needs neither.
    let _ = area.advise(match pages {
        Pages::Small => Advice::NoHugePage,
        Pages::Huge => Advice::HugePage,
    });
    Ok(area)
}

/// Maps an [`area`] of base pages that the kernel joins with no neighbour, since no other mapping
/// of this process has its flags. Only one may live at a time.
///
/// # Errors
/// As [`area`].
pub(super) fn lone_area(bytes: usize) -> io::Result<MmapMut> {
    let area = area(bytes, Pages::Small)?;
    area.advise(Advice::DontFork)?;
    Ok(area)
}

/// Returns the bytes of a base page.
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

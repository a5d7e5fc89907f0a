//! What a policy is told, and what it says.

/// What a policy keeps of pages, and decides.
pub(super) trait Replacement {
    /// For pages with numbers below `nr_pages`, of which none is resident.
    fn new(nr_pages: usize, frames: usize) -> Self;

    /// Makes a page resident; whether it was.
    fn access(&mut self, page: u32) -> bool;
}

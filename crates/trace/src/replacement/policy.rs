//! What a policy is told, and what it says.

use crate::room::NoRoom;

/// What a policy keeps of pages, and decides.
pub(super) trait Replacement: Sized {
    /// For pages with numbers below `nr_pages`, of which none is resident.
    ///
    /// # Errors
    /// [`NoRoom`].
    fn new(nr_pages: usize, frames: usize) -> Result<Self, NoRoom>;

    /// Makes a page resident; whether it was.
    fn access(&mut self, page: u32) -> bool;
}

//! The interface of a policy.

use crate::room::NoRoom;

/// A policy's state and decisions.
pub(super) trait Replacement: Sized {
    /// Makes a policy for pages with numbers below `nr_pages`, of which none is resident.
    ///
    /// # Errors
    /// [`NoRoom`].
    fn new(nr_pages: usize, frames: usize) -> Result<Self, NoRoom>;

    /// Makes a page resident; returns true if it already was.
    fn access(&mut self, page: u32) -> bool;
}

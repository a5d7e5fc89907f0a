//! Records and comparisons as text.

mod comparison;
mod grid;
mod legend;
mod number;
mod published;

pub use comparison::{Options, comparison};
pub use grid::{Align, Grid};
pub use number::{exact, rounded};
pub use published::published;

//! Records and comparisons as text.

mod bar;
mod comparison;
mod fold;
mod grid;
mod legend;
mod number;
mod published;

pub use bar::bar;
pub use comparison::{Options, comparison};
pub use grid::{Align, Grid};
pub use number::{exact, rounded};
pub use published::published;

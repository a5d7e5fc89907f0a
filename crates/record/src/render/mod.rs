//! Records and comparisons as text.

mod bar;
mod comparison;
mod decision;
mod figures;
mod fold;
mod grid;
mod groups;
mod heads;
mod labelling;
mod legend;
mod list;
mod number;
mod picture;
mod published;
mod summaries;
mod text;
mod verdict;
mod words;
mod wrap;

pub use bar::bar;
pub use comparison::{Options, comparison};
pub use decision::{Decided, DecidedOn, decided, question};
pub use fold::is_same;
pub use grid::{Align, Grid};
pub use labelling::{Label, Labelling};
pub use legend::how_to_read;
pub use list::{LIST_WIDTH, List, list, mail};
pub use number::{column, estimate, exact, figure, fixed, grown, p_value, rounded};
pub use picture::{PICTURE_WIDTH, picture, pictures};
pub use published::{published, said};
pub use summaries::row_summaries;
pub use verdict::{Said, undeclared, verdicts};
pub use words::{pairs, with_unit};
pub use wrap::wrapped;

/// The minimum number of columns of characters that tables and pictures take.
pub const LEAST_WIDTH: usize = 40;

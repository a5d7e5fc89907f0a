//! Records and comparisons as text.

mod bar;
mod comparison;
mod fold;
mod grid;
mod legend;
mod list;
mod number;
mod picture;
mod published;
mod words;

pub use bar::bar;
pub use comparison::{Label, Labelling, Options, comparison, row_summaries, too_few};
pub use fold::is_same;
pub use grid::{Align, Grid};
pub use legend::how_to_read;
pub use list::{LIST_WIDTH, List, list};
pub use number::{exact, figure, p_value, rounded};
pub use picture::{PICTURE_WIDTH, picture, pictures};
pub use published::{published, said};
pub use words::{pairs, with_unit};

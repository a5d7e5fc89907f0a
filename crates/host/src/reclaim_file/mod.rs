//! Scenario `reclaim-file`: a clean file mapped by processes, beside it anonymous memory if asked
//! for, and a part of all that reclaimed through `memory.reclaim`.

mod cell;
mod generations;
mod setup;
#[cfg(test)]
mod tests;

pub use cell::{ABOUT_SAMPLING, WHOLE};
pub use generations::generations;
pub use setup::{Setup, range, young_pages};

use crate::layout::Arena;
use pageout_experiment::fields::OrderName;
use pageout_experiment::formats::{FormatName, with_format};
use pageout_experiment::rounds::Cell;
use pageout_experiment::scenarios::{Orders, ReclaimFile};
use pageout_experiment::variant::Variant;

/// The main table's. Single pages are of a smaller file, which says as much of them in a tenth of
/// the time.
pub fn main_table() -> Vec<ReclaimFile> {
    let of_format = |format| {
        ReclaimFile::ORDERS.map(|orders| {
            let single = orders == Orders::All(OrderName::Number(0));
            let bytes = if single { 1 << 30 } else { ReclaimFile::DEFAULT.bytes };
            ReclaimFile { format, orders, bytes, ..ReclaimFile::DEFAULT }
        })
    };
    FormatName::MAIN.into_iter().flat_map(of_format).collect()
}

/// The main table's for generations: the threads' folios in a smaller file, which says as much of
/// them in a tenth of the time.
pub fn mglru_table() -> Vec<ReclaimFile> {
    let of_format = |format| ReclaimFile { format, bytes: 1 << 30, ..ReclaimFile::DEFAULT };
    FormatName::MAIN.map(of_format).to_vec()
}

/// Whether the main table shows the stages of a scenario.
pub fn shows_stages(one: &ReclaimFile) -> bool {
    one.orders == ReclaimFile::DEFAULT.orders
}

/// The scenario on `arena`, ready to be measured under `variants`; by stage, if asked for and if
/// there is a CPU for the sampler.
pub fn cell<'a>(
    one: &ReclaimFile,
    arena: &'a mut Arena,
    variants: &[Variant],
    seed: u64,
    by_stage: bool,
) -> Box<dyn Cell + 'a> {
    with_format!(one.format, F => {
        Box::new(cell::ReclaimCell::<F>::new(*one, arena, variants, seed, by_stage))
    })
}

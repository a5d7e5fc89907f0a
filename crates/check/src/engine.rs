//! The engine, sound and faulty, and the comparisons that it must pass.

use super::aging::{aging, looking_around};
use super::batches::unmapping;
use super::format::{Small, in_small_formats};
use super::property::Property;
use super::stage::Stage;
use super::young::young;
use pageout_exhibits::Faulty;
use pageout_exhibits::harness::Counterexample;
use pageout_paging::pte::X86_64;
use pageout_paging::{Rules, Sound};
use std::sync::LazyLock;

/// Returns the number of cases compared, or the first that fails.
pub type Compare = fn() -> Result<u64, Box<Counterexample>>;

/// A case-by-case comparison of a property in a format.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The property.
    pub property: Property,
    /// The format.
    pub format: &'static str,
    /// The comparison.
    pub compare: Compare,
}

// Statics, not constants: a crate that uses a constant compiles the functions it names again, here
// the engine in every format.

/// The engine in every small format.
pub static ENGINE: &[Stage] = &in_small_formats!(F => Stage::of::<Sound, F>());

/// The engine with the thread's bug in every small format.
pub static FAULTY: &[Stage] = &in_small_formats!(F => Stage::of::<Faulty, F>());

/// Comparisons that the engine must pass.
pub static COMPARISONS: LazyLock<Vec<Comparison>> = LazyLock::new(comparisons::<Sound>);

/// The same of the engine with the thread's bug.
pub static FAULTY_COMPARISONS: LazyLock<Vec<Comparison>> = LazyLock::new(comparisons::<Faulty>);

/// Returns the comparisons, and those of a look-around, which needs a table of the real size.
fn comparisons<R: Rules>() -> Vec<Comparison> {
    let small = [
        in_small_formats!(F => of(Property::Batch, F::LABEL, unmapping::<R, F>)),
        in_small_formats!(F => of(Property::Young, F::LABEL, young::<R, F>)),
        in_small_formats!(F => of(Property::Aging, F::LABEL, aging::<R, F>)),
    ];
    let around = of(Property::Aging, "x86-64", looking_around::<R, X86_64>);
    small.into_iter().flatten().chain([around]).collect()
}

fn of(property: Property, format: &'static str, compare: Compare) -> Comparison {
    Comparison { property, format, compare }
}

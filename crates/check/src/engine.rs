//! The engine, sound and faulty, and the comparisons that it must pass.

use super::aging::{aging, looking_around};
use super::batches::unmapping;
use super::format::Small;
use super::property::Property;
use super::stage::Stage;
use super::young::young;
use pageout_exhibits::Faulty;
use pageout_exhibits::harness::Counterexample;
use pageout_paging::pte::{SmallArm2, SmallArm4, SmallRiscv, SmallX86, X86_64};
use pageout_paging::{Rules, Sound};

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
pub static ENGINE: &[Stage] = &stages::<Sound>();

/// The engine with the thread's bug in every small format.
pub static FAULTY: &[Stage] = &stages::<Faulty>();

/// Comparisons that the engine must pass.
pub static COMPARISONS: &[Comparison] = &comparisons::<Sound>();

/// The same of the engine with the thread's bug.
pub static FAULTY_COMPARISONS: &[Comparison] = &comparisons::<Faulty>();

const fn stages<R: Rules>() -> [Stage; 4] {
    [
        Stage::of::<R, SmallX86>(),
        Stage::of::<R, SmallArm2>(),
        Stage::of::<R, SmallArm4>(),
        Stage::of::<R, SmallRiscv>(),
    ]
}

const fn comparisons<R: Rules>() -> [Comparison; 13] {
    [
        of(Property::Batch, SmallX86::LABEL, unmapping::<R, SmallX86>),
        of(Property::Batch, SmallArm2::LABEL, unmapping::<R, SmallArm2>),
        of(Property::Batch, SmallArm4::LABEL, unmapping::<R, SmallArm4>),
        of(Property::Batch, SmallRiscv::LABEL, unmapping::<R, SmallRiscv>),
        of(Property::Young, SmallX86::LABEL, young::<R, SmallX86>),
        of(Property::Young, SmallArm2::LABEL, young::<R, SmallArm2>),
        of(Property::Young, SmallArm4::LABEL, young::<R, SmallArm4>),
        of(Property::Young, SmallRiscv::LABEL, young::<R, SmallRiscv>),
        of(Property::Aging, SmallX86::LABEL, aging::<R, SmallX86>),
        of(Property::Aging, SmallArm2::LABEL, aging::<R, SmallArm2>),
        of(Property::Aging, SmallArm4::LABEL, aging::<R, SmallArm4>),
        of(Property::Aging, SmallRiscv::LABEL, aging::<R, SmallRiscv>),
        of(Property::Aging, "x86-64", looking_around::<R, X86_64>),
    ]
}

const fn of(property: Property, format: &'static str, compare: Compare) -> Comparison {
    Comparison { property, format, compare }
}

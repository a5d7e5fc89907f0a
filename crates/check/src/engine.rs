//! The engine, and the comparisons that it must pass.

use super::aging::{aging, looking_around};
use super::batches::unmapping;
use super::property::Property;
use super::stage::Stage;
use super::young::young;
use pageout_exhibits::harness::{Counterexample, Engine};
use pageout_paging::pte::{SmallArm2, SmallArm4, SmallRiscv, SmallX86, X86_64};

/// A case-by-case comparison: returns the number of cases, or the first that fails.
pub type Compare = fn() -> Result<u64, Box<Counterexample>>;

// Statics, not constants: a crate that uses a constant compiles the functions it names again, here
// the engine in every format.

/// The engine in every small format.
pub static ENGINE: &[Stage] = &[
    Stage::of::<Engine, SmallX86>(),
    Stage::of::<Engine, SmallArm2>(),
    Stage::of::<Engine, SmallArm4>(),
    Stage::of::<Engine, SmallRiscv>(),
];

/// Comparisons that the engine must pass.
pub static COMPARISONS: &[(Property, &[(&str, Compare)])] = &[
    (
        Property::Batch,
        &[
            ("x86-small", unmapping::<Engine, SmallX86>),
            ("arm64-small-2", unmapping::<Engine, SmallArm2>),
            ("arm64-small-4", unmapping::<Engine, SmallArm4>),
            ("riscv-small", unmapping::<Engine, SmallRiscv>),
        ],
    ),
    (
        Property::Young,
        &[
            ("x86-small", young::<Engine, SmallX86>),
            ("arm64-small-2", young::<Engine, SmallArm2>),
            ("arm64-small-4", young::<Engine, SmallArm4>),
            ("riscv-small", young::<Engine, SmallRiscv>),
        ],
    ),
    (
        Property::Aging,
        &[
            ("x86-small", aging::<Engine, SmallX86>),
            ("arm64-small-2", aging::<Engine, SmallArm2>),
            ("arm64-small-4", aging::<Engine, SmallArm4>),
            ("riscv-small", aging::<Engine, SmallRiscv>),
            ("x86-64", looking_around::<Engine, X86_64>),
        ],
    ),
];

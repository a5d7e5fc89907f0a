//! Recipes for embedders, each run on one small machine, with the figures that it counted.
//!
//! ```text
//! cargo run -p pageout-reclaim --example recipes              # all of them
//! cargo run -p pageout-reclaim --example recipes no-hardware-bits
//! ```

pub(crate) mod guest_tables;
mod machine;
pub(crate) mod no_hardware_bits;
pub(crate) mod numa_demotion;
pub(crate) mod proactive_reclaim;
pub(crate) mod second_stage;
pub(crate) mod stage2;
pub(crate) mod system;
pub(crate) mod userfault_young;

use std::process::ExitCode;

/// The function that runs a recipe and returns the text it prints.
type Text = fn() -> String;

/// The recipes by name.
pub(crate) const RECIPES: [(&str, Text); 5] = [
    ("no-hardware-bits", no_hardware_bits::text),
    ("userfault-young", userfault_young::text),
    ("second-stage", second_stage::text),
    ("numa-demotion", numa_demotion::text),
    ("proactive-reclaim", proactive_reclaim::text),
];

pub(crate) fn main() -> ExitCode {
    let Some(named) = std::env::args().nth(1) else {
        RECIPES.iter().for_each(|(name, text)| println!("{name}\n{}", text()));
        return ExitCode::SUCCESS;
    };
    let Some((_, text)) = RECIPES.iter().find(|(name, _)| *name == named) else {
        eprintln!("no recipe {named}; there are {}", RECIPES.map(|(name, _)| name).join(", "));
        return ExitCode::FAILURE;
    };
    print!("{}", text());
    ExitCode::SUCCESS
}

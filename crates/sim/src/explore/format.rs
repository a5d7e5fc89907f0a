//! The small formats that are searched.

use pageout_exhibits::harness::Decode;
use pageout_paging::mmu::Shootdown;
use pageout_paging::pte::{SmallArm2, SmallArm4, SmallRiscv, SmallX86};

/// A real format in tables of 8.
pub trait Small: Decode {
    /// What tables of results call it.
    const LABEL: &'static str;
    /// How its CPUs make others forget.
    const SHOOTDOWN: Shootdown;
}

impl Small for SmallX86 {
    const LABEL: &'static str = "x86-small";
    const SHOOTDOWN: Shootdown = Shootdown::Ipi;
}

impl Small for SmallArm2 {
    const LABEL: &'static str = "arm64-small-2";
    const SHOOTDOWN: Shootdown = Shootdown::Broadcast;
}

impl Small for SmallArm4 {
    const LABEL: &'static str = "arm64-small-4";
    const SHOOTDOWN: Shootdown = Shootdown::Broadcast;
}

impl Small for SmallRiscv {
    const LABEL: &'static str = "riscv-small";
    const SHOOTDOWN: Shootdown = Shootdown::Ipi;
}

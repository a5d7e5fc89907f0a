//! The small formats that are searched.

use pageout_exhibits::harness::Decode;
use pageout_paging::mmu::Shootdown;
use pageout_paging::pte::{SmallArm2, SmallArm4, SmallRiscv, SmallX86};

/// A real format in tables of 8.
pub trait Small: Decode {
    /// The format's name in tables of results.
    const LABEL: &'static str;
    /// The behaviour of its hardware.
    const MACHINE: Machine;
}

/// The behaviour of hardware.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The way in which invalidations reach other CPUs.
    pub shootdown: Shootdown,
    /// True if no TLB may hold a page's entry beside one of another size that covers it (Arm ARM
    /// DDI 0487, D8.17, TLB conflict abort). Otherwise either may be used.
    pub one_size: bool,
}

/// x86 and RISC-V: a CPU interrupts the others.
pub(super) const INTERRUPTS: Machine = Machine { shootdown: Shootdown::Ipi, one_size: false };

/// arm64, without FEAT_BBM at level 2.
const BROADCASTS: Machine = Machine { shootdown: Shootdown::Broadcast, one_size: true };

impl Small for SmallX86 {
    const LABEL: &'static str = "x86-small";
    const MACHINE: Machine = INTERRUPTS;
}

impl Small for SmallArm2 {
    const LABEL: &'static str = "arm64-small-2";
    const MACHINE: Machine = BROADCASTS;
}

impl Small for SmallArm4 {
    const LABEL: &'static str = "arm64-small-4";
    const MACHINE: Machine = BROADCASTS;
}

impl Small for SmallRiscv {
    const LABEL: &'static str = "riscv-small";
    const MACHINE: Machine = INTERRUPTS;
}

/// Makes an array with an element for each small format, in which `$F` is the format's type.
macro_rules! in_small_formats {
    ($F:ident => $value:expr) => {
        in_small_formats!($F => $value; SmallX86 SmallArm2 SmallArm4 SmallRiscv)
    };
    ($F:ident => $value:expr; $($format:ident)*) => {
        [$({
            type $F = pageout_paging::pte::$format;
            $value
        }),*]
    };
}
pub(super) use in_small_formats;

//! Entry formats by name, and the behaviour of the kernels and the hardware that use them.

use pageout_paging::mmu::{Caps, Shootdown};
use pageout_paging::pte::{Arm64, Format, Riscv64, X86_64};
use pageout_paging::tlb::FlushPolicy;

/// The properties of an architecture besides the format of its entries. The hardware that the ideal
/// walker plays sets accessed and dirty bits of leaves on all architectures.
pub trait Arch: Format {
    /// The kernel's flush after it clears a young bit.
    const FLUSH: FlushPolicy;
    /// The capabilities of the hardware.
    const CAPS: Caps;
}

impl Arch for X86_64 {
    const FLUSH: FlushPolicy = FlushPolicy::X86;
    /// More than 33 pages become a full flush (`tlb_single_page_flush_ceiling`) [7.3.4].
    const CAPS: Caps =
        Caps { range_limit: 34, shootdown: Shootdown::Ipi, nonleaf_af: true, ..Caps::IDEAL };
}

impl<const PAGE: u32, const TABLE: u32, const CONT: u32> Arch for Arm64<PAGE, TABLE, CONT> {
    const FLUSH: FlushPolicy = FlushPolicy::ARM64;
    /// With range TLBI, which reaches over 2^21 pages [7.3.4]; without FEAT_HAFT.
    const CAPS: Caps =
        Caps { range_limit: (1 << 21) + 1, shootdown: Shootdown::Broadcast, ..Caps::IDEAL };
}

impl Arch for Riscv64 {
    const FLUSH: FlushPolicy = FlushPolicy::RISCV;
    /// With Svadu; more than 64 pages become a full flush [7.3.4].
    const CAPS: Caps = Caps { range_limit: 65, shootdown: Shootdown::Ipi, ..Caps::IDEAL };
}

/// An entry format by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FormatName {
    /// x86-64, 4K pages.
    X86_64,
    /// arm64, 4K granule.
    Arm64_4K,
    /// arm64, 16K granule.
    Arm64_16K,
    /// arm64, 64K granule.
    Arm64_64K,
    /// riscv64, Sv48 with Svnapot.
    Riscv64,
}

/// Evaluates an expression in which `$F` is the type of the format.
#[macro_export]
macro_rules! with_format {
    ($format:expr, $F:ident => $value:expr) => {
        match $format {
            $crate::formats::FormatName::X86_64 => {
                type $F = pageout_paging::pte::X86_64;
                $value
            }
            $crate::formats::FormatName::Arm64_4K => {
                type $F = pageout_paging::pte::Arm64_4K;
                $value
            }
            $crate::formats::FormatName::Arm64_16K => {
                type $F = pageout_paging::pte::Arm64_16K;
                $value
            }
            $crate::formats::FormatName::Arm64_64K => {
                type $F = pageout_paging::pte::Arm64_64K;
                $value
            }
            $crate::formats::FormatName::Riscv64 => {
                type $F = pageout_paging::pte::Riscv64;
                $value
            }
        }
    };
}
pub use with_format;

impl FormatName {
    /// Every format that a scenario can name.
    pub const ALL: [Self; 5] =
        [Self::X86_64, Self::Arm64_4K, Self::Arm64_16K, Self::Arm64_64K, Self::Riscv64];

    /// The formats of the main table, and of scenarios for which no format is given.
    pub const MAIN: [Self; 2] = [Self::X86_64, Self::Arm64_4K];

    /// Returns the format's name.
    pub const fn name(self) -> &'static str {
        with_format!(self, F => F::NAME)
    }

    /// Returns log2 of the bytes of a page.
    pub const fn page_shift(self) -> u32 {
        with_format!(self, F => F::PAGE_SHIFT)
    }

    /// Returns log2 of the number of pages that a PMD leaf maps.
    pub const fn pmd_order(self) -> u8 {
        with_format!(self, F => F::TABLE_SHIFT as u8)
    }

    /// Returns the flush policy of kernels on the architecture.
    pub const fn flush_policy(self) -> FlushPolicy {
        with_format!(self, F => F::FLUSH)
    }
}

//! Entry formats by name, and what kernels and hardware do where they are used.

use pageout_paging::mmu::{Caps, Shootdown};
use pageout_paging::pte::{Arm64, Format, Riscv64, X86_64};
use pageout_paging::tlb::FlushPolicy;

/// What differs between architectures besides the format of their entries. The hardware that the
/// ideal walker plays sets accessed and dirty bits of leaves on all of them.
pub trait Arch: Format {
    /// What kernels do after a young bit was cleared.
    const FLUSH: FlushPolicy;
    /// What its hardware can.
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

/// Evaluates an expression in which a name stands for the type of the format.
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
    /// Every format a scenario can name.
    pub const ALL: [Self; 5] =
        [Self::X86_64, Self::Arm64_4K, Self::Arm64_16K, Self::Arm64_64K, Self::Riscv64];

    /// The formats of the main table, and of scenarios that name none.
    pub const MAIN: [Self; 2] = [Self::X86_64, Self::Arm64_4K];

    /// The name.
    pub const fn name(self) -> &'static str {
        with_format!(self, F => F::NAME)
    }

    /// log2 of the bytes of a page.
    pub const fn page_shift(self) -> u32 {
        with_format!(self, F => F::PAGE_SHIFT)
    }

    /// log2 of the pages that a PMD leaf maps.
    pub const fn pmd_order(self) -> u8 {
        with_format!(self, F => F::TABLE_SHIFT as u8)
    }

    /// The flush policy that kernels have on the architecture.
    pub const fn flush_policy(self) -> FlushPolicy {
        with_format!(self, F => F::FLUSH)
    }
}

//! Entries read by the bit numbers of the manuals and kernel headers (Linux 7.1.5), not by the
//! formats' own code: what the oracle trusts.

use pageout_paging::pte::{Arm64, X86};
use pageout_paging::{Format, Pte};

/// An entry, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Hardware uses it.
    pub valid: bool,
    /// Maps a page, for hardware or for software alone.
    pub present: bool,
    /// Young.
    pub young: bool,
    /// Dirty, in hardware's form or software's.
    pub dirty: bool,
    /// Writable.
    pub write: bool,
    /// Soft-dirty.
    pub soft_dirty: bool,
    /// Write-protected by userfaultfd.
    pub uffd_wp: bool,
    /// Special.
    pub special: bool,
    /// Executable.
    pub exec: bool,
    /// Valid and part of a contiguous block.
    pub cont: bool,
    /// The frame, if present.
    pub pfn: u64,
    /// Which of several ways to be dirty, where there are several for a writable entry.
    pub dirty_form: bool,
    /// Every bit that is none of young, dirty, soft-dirty, writable and address.
    pub rest: u64,
}

/// Formats that can be decoded.
pub trait Decode: Format {
    /// Decodes a last-level entry.
    fn bits(pte: Pte) -> Bits;
}

#[inline]
const fn bit(pte: Pte, number: u32) -> bool {
    pte.0 >> number & 1 == 1
}

const ARM64_ADDRESS: u64 = 0x0000_ffff_ffff_f000;
const X86_ADDRESS: u64 = 0x000f_ffff_ffff_f000;

impl<const P: u32, const T: u32, const C: u32> Decode for Arm64<P, T, C> {
    #[inline]
    fn bits(pte: Pte) -> Bits {
        let valid = bit(pte, 0);
        let mutable = 1 << 10 | 1 << 55 | 1 << 51 | 1 << 7;
        Bits {
            valid,
            present: valid || bit(pte, 11),
            young: bit(pte, 10),
            dirty: bit(pte, 55) || (bit(pte, 51) && !bit(pte, 7)),
            write: bit(pte, 51),
            soft_dirty: false,
            uffd_wp: bit(pte, 58),
            special: bit(pte, 56),
            exec: !bit(pte, 54),
            cont: valid && bit(pte, 52),
            pfn: (pte.0 & ARM64_ADDRESS) >> 12,
            dirty_form: bit(pte, 55),
            rest: pte.0 & !ARM64_ADDRESS & !mutable,
        }
    }
}

impl<const T: u32> Decode for X86<T> {
    #[inline]
    fn bits(pte: Pte) -> Bits {
        let valid = bit(pte, 0);
        let mutable = 1 << 5 | 1 << 6 | 1 << 58 | 1 << 1 | 1 << 11;
        let address = if valid { pte.0 } else { !pte.0 };
        Bits {
            valid,
            present: valid || bit(pte, 8),
            young: bit(pte, 5),
            dirty: bit(pte, 6) || bit(pte, 58),
            write: bit(pte, 1),
            soft_dirty: bit(pte, 11),
            uffd_wp: bit(pte, 10),
            special: bit(pte, 9),
            exec: !bit(pte, 63),
            cont: false,
            pfn: (address & X86_ADDRESS) >> 12,
            dirty_form: false,
            rest: pte.0 & !X86_ADDRESS & !mutable,
        }
    }
}

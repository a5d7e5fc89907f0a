//! Decodes entries by the bit numbers of the manuals and kernel headers (Linux 7.3.4), and not by
//! the formats' own code. The oracle trusts only this module.

use pageout_paging::pte::{Arm64, Riscv, X86};
use pageout_paging::{Format, Pte};

/// An entry, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// True if hardware uses it.
    pub valid: bool,
    /// True if the entry maps a page, for hardware or only for software.
    pub present: bool,
    /// True if the entry is young.
    pub young: bool,
    /// True if the entry is dirty, in hardware's form or software's.
    pub dirty: bool,
    /// True if the entry is writable.
    pub write: bool,
    /// True if the entry is soft-dirty.
    pub soft_dirty: bool,
    /// True if the entry is write-protected by userfaultfd.
    pub uffd_wp: bool,
    /// True if the entry is special.
    pub special: bool,
    /// True if the entry is executable.
    pub exec: bool,
    /// True if the entry is valid and part of a contiguous block.
    pub cont: bool,
    /// The frame, if present.
    pub pfn: u64,
    /// The form of dirty, if there are several for a writable entry.
    pub dirty_form: bool,
    /// Every bit except young, dirty, soft-dirty, writable and those of the address.
    pub rest: u64,
}

/// Formats that can be decoded.
pub trait Decode: Format {
    /// Decodes a last-level entry.
    fn bits(pte: Pte) -> Bits;
    /// Returns the entry that stands in memory as `raw` at index `i`, with its own frame.
    fn read(raw: Pte, _i: usize) -> Pte {
        raw
    }
    /// Returns an entry as it stands in memory.
    fn stored(pte: Pte) -> Pte {
        pte
    }
}

#[inline]
const fn bit(pte: Pte, number: u32) -> bool {
    pte.0 >> number & 1 == 1
}

const ARM64_ADDRESS: u64 = 0x0000_ffff_ffff_ffff;
const RISCV_PFN: u64 = 0x003f_ffff_ffff_fc00;
const X86_ADDRESS: u64 = 0x000f_ffff_ffff_f000;

impl<const P: u32, const T: u32, const C: u32> Decode for Arm64<P, T, C> {
    #[inline]
    fn bits(pte: Pte) -> Bits {
        let valid = bit(pte, 0);
        let mutable = 1 << 10 | 1 << 55 | 1 << 51 | 1 << 7;
        let address = ARM64_ADDRESS & !0 << P;
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
            pfn: (pte.0 & address) >> P,
            dirty_form: bit(pte, 55),
            rest: pte.0 & !address & !mutable,
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

impl<const T: u32, const C: u32> Decode for Riscv<T, C> {
    #[inline]
    fn bits(pte: Pte) -> Bits {
        let valid = bit(pte, 0);
        let mutable = 1 << 6 | 1 << 7 | 1 << 2 | 1 << 59;
        Bits {
            valid,
            present: valid || bit(pte, 5),
            young: bit(pte, 6),
            dirty: bit(pte, 7),
            write: bit(pte, 2),
            soft_dirty: bit(pte, 59),
            uffd_wp: bit(pte, 60),
            special: bit(pte, 8),
            exec: bit(pte, 3),
            cont: valid && bit(pte, 63),
            pfn: (pte.0 & RISCV_PFN) >> 10,
            dirty_form: false,
            rest: pte.0 & !RISCV_PFN & !mutable,
        }
    }

    /// With Svnapot, the lowest set bit of an entry's frame number gives the size of its block: it
    /// is bit n - 1 for 2^n pages. The bits up to it are replaced by the number of the page in the
    /// block.
    fn read(raw: Pte, i: usize) -> Pte {
        if !bit(raw, 0) || !bit(raw, 63) {
            return raw;
        }
        let order = ((raw.0 & RISCV_PFN) >> 10).trailing_zeros() + 1;
        let frame = (raw.0 >> 10 >> order << order) | (i as u64 % (1 << order));
        Pte((frame << 10) | (raw.0 & 0x3ff))
    }

    fn stored(pte: Pte) -> Pte {
        if !bit(pte, 0) || !bit(pte, 63) {
            return pte;
        }
        Pte((pte.0 >> (10 + C) << (10 + C)) | (1 << (10 + C - 1)) | (pte.0 & 0x3ff))
    }
}

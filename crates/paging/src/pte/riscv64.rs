//! riscv64 entries (bits as Linux 7.3.4 defines them in pgtable-bits.h and pgtable-64.h, and the
//! privileged specification with Svnapot, Svpbmt and Svrsw60t59b).

use super::{Entry, Format, Level, Prot, Pte, SwapEntry, SwapKind, YoungClear};
use crate::Pfn;

/// riscv64 entries with a table geometry: table shift, contiguous-block shift. With blocks they
/// need Svnapot and Svrsw60t59b: a store through an entry with a bit of an extension that hardware
/// lacks faults for ever. Without blocks (shift 0) they have no bit of an extension: neither
/// soft-dirty nor userfaultfd's mark.
#[derive(Clone, Copy, Debug)]
pub struct Riscv<const TABLE_SHIFT: u32, const CONT_SHIFT: u32>;

/// Sv48: tables of 512, Svnapot blocks of 16 entries (64 KiB, the only size), with the bits of
/// Svrsw60t59b.
pub type Riscv64 = Riscv<9, 4>;

/// Sv48 without extensions: tables of 512, no blocks, no soft-dirty, no userfaultfd's mark.
pub type Riscv64Base = Riscv<9, 0>;

/// riscv64 entries in tables of 8 with blocks of 4, whose order entries encode as Svnapot's.
pub type SmallRiscv = Riscv<3, 2>;

const VALID: u64 = 1 << 0;
const READ: u64 = 1 << 1;
const WRITE: u64 = 1 << 2;
const EXEC: u64 = 1 << 3;
/// Any of these makes an entry a leaf.
const LEAF: u64 = READ | WRITE | EXEC;
const USER: u64 = 1 << 4;
/// With VALID: global.
const GLOBAL: u64 = 1 << 5;
/// With VALID clear: PROT_NONE. The bit is that of GLOBAL, which user entries never have.
const PROT_NONE: u64 = 1 << 5;
const ACCESSED: u64 = 1 << 6;
const DIRTY: u64 = 1 << 7;
const PFN_SHIFT: u32 = 10;
const PFN: u64 = ((1 << 44) - 1) << PFN_SHIFT;
/// Svnapot: the entry is part of a block, and its lowest frame bits only encode the block's size.
const NAPOT: u64 = 1 << 63;
const PAGE_SHIFT: u32 = 12;

// Swap entries, ours: VALID and PROT_NONE clear, 1 exclusive, 2 uffd-wp, 3 soft-dirty, 10:6 type,
// 63:14 offset. Bit 63 is payload here: it never means Svnapot.
const SWAP_EXCLUSIVE: u64 = 1 << 1;
const SWAP_UFFD_WP: u64 = 1 << 2;
const SWAP_SOFT_DIRTY: u64 = 1 << 3;
const SWAP_TYPE_SHIFT: u32 = 6;
const SWAP_OFFSET_SHIFT: u32 = 14;

impl<const T: u32, const C: u32> Riscv<T, C> {
    /// The frame bits that the entries of a block use for its size.
    const NAPOT_SIZE: u64 = ((1 << C) - 1) << PFN_SHIFT;
    /// The encoding of the size in those bits: as many trailing zeros as the block's order less
    /// one.
    const NAPOT_ORDER: u64 = (1 << C >> 1) << PFN_SHIFT;
}

impl<const T: u32, const C: u32> Format for Riscv<T, C> {
    const NAME: &'static str = match (T, C) {
        (9, 4) => "riscv64",
        (9, 0) => "riscv64-base",
        _ => "riscv-small",
    };
    const PAGE_SHIFT: u32 = PAGE_SHIFT;
    const TABLE_SHIFT: u32 = T;
    const CONT_SHIFT: u32 = C;
    const YOUNG: u64 = ACCESSED;
    const NONLEAF_YOUNG: bool = false;
    const PREFAULTED_OLD: bool = false;
    const VALID: u64 = VALID;
    const PRESENT: u64 = VALID | PROT_NONE;
    const WRITE: u64 = WRITE;
    const SPECIAL: u64 = 1 << 8;
    const UFFD_WP: u64 = if C > 0 { 1 << 60 } else { 0 };
    const SOFT_DIRTY: u64 = if C > 0 { 1 << 59 } else { 0 };
    const DIRTY_BITS: u64 = DIRTY;
    const IGNORED: u64 = ACCESSED | DIRTY | WRITE | Self::SOFT_DIRTY;
    const CONT: u64 = if C > 0 { NAPOT } else { 0 };
    const CLEAR: YoungClear = YoungClear::TestFirst;
    const STEP: u64 = 1 << PFN_SHIFT;

    #[inline]
    fn leaf(_level: Level, pfn: Pfn, prot: Prot) -> Pte {
        let kind = if prot.none { PROT_NONE } else { VALID | USER };
        let write = if prot.write && !prot.none { WRITE } else { 0 };
        let exec = if prot.exec { EXEC } else { 0 };
        Pte(kind | READ | write | exec | ((pfn.get() << PFN_SHIFT) & PFN))
    }

    #[inline]
    fn table(pfn: Pfn) -> Pte {
        Pte(VALID | ((pfn.get() << PFN_SHIFT) & PFN))
    }

    fn swap(entry: SwapEntry) -> Pte {
        let exclusive = if entry.exclusive { SWAP_EXCLUSIVE } else { 0 };
        let uffd_wp = if entry.uffd_wp { SWAP_UFFD_WP } else { 0 };
        let soft_dirty = if entry.soft_dirty { SWAP_SOFT_DIRTY } else { 0 };
        let kind = entry.kind.number() << SWAP_TYPE_SHIFT;
        Pte(exclusive | uffd_wp | soft_dirty | kind | (entry.offset << SWAP_OFFSET_SHIFT))
    }

    fn entry(pte: Pte) -> Entry {
        if pte.is_none() {
            Entry::None
        } else if Self::is_valid(pte) {
            Entry::Present
        } else if pte.has(PROT_NONE) {
            Entry::ProtNone
        } else {
            Entry::Swap(SwapEntry {
                kind: SwapKind::from_number((pte.0 >> SWAP_TYPE_SHIFT) & 31),
                offset: pte.0 >> SWAP_OFFSET_SHIFT,
                exclusive: pte.has(SWAP_EXCLUSIVE),
                soft_dirty: pte.has(SWAP_SOFT_DIRTY),
                uffd_wp: pte.has(SWAP_UFFD_WP),
            })
        }
    }

    #[inline]
    fn is_table(pte: Pte) -> bool {
        pte.0 & (VALID | LEAF) == VALID
    }

    #[inline]
    fn pfn(pte: Pte) -> Pfn {
        Pfn::new((pte.0 & PFN) >> PFN_SHIFT)
    }

    #[inline]
    fn is_global(pte: Pte) -> bool {
        pte.has(GLOBAL)
    }

    #[inline]
    fn is_dirty(pte: Pte) -> bool {
        pte.has(DIRTY)
    }

    #[inline]
    fn is_exec(pte: Pte) -> bool {
        pte.has(EXEC)
    }

    #[inline]
    fn mkdirty(pte: Pte) -> Pte {
        pte.with(DIRTY | Self::SOFT_DIRTY)
    }

    #[inline]
    fn mkclean(pte: Pte) -> Pte {
        pte.without(DIRTY)
    }

    #[inline]
    fn wrprotect(pte: Pte) -> Pte {
        pte.without(WRITE)
    }

    #[inline]
    fn mkwrite(pte: Pte) -> Pte {
        pte.with(WRITE)
    }

    #[inline]
    fn hardware_dirty(pte: Pte) -> Option<Pte> {
        (Self::is_valid(pte) && pte.has(WRITE)).then(|| pte.with(DIRTY))
    }

    #[inline]
    fn decode(raw: Pte, i: usize) -> Pte {
        if !Self::is_cont(raw) {
            return raw;
        }
        let page = (i as u64) << PFN_SHIFT;
        raw.without(Self::NAPOT_SIZE).with(page & Self::NAPOT_SIZE)
    }

    #[inline]
    fn encode(pte: Pte) -> Pte {
        if !Self::is_cont(pte) {
            return pte;
        }
        pte.without(Self::NAPOT_SIZE).with(Self::NAPOT_ORDER)
    }
}

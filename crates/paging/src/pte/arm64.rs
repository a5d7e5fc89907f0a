//! arm64 stage-1 entries (bits as Linux 7.3.4 defines them in pgtable-hwdef.h and pgtable-prot.h).

use super::{Entry, Format, Level, Prot, Pte, SwapEntry, SwapKind, YoungClear};
use crate::Pfn;

/// arm64 entries with a table geometry: page shift, table shift, contiguous-block shift.
#[derive(Clone, Copy, Debug)]
pub struct Arm64<const PAGE_SHIFT: u32, const TABLE_SHIFT: u32, const CONT_SHIFT: u32>;

/// 4K granule: tables of 512, contiguous blocks of 16 entries.
pub type Arm64_4K = Arm64<12, 9, 4>;

/// 16K granule: tables of 2048, contiguous blocks of 128 entries.
pub type Arm64_16K = Arm64<14, 11, 7>;

/// 64K granule: tables of 8192, contiguous blocks of 32 entries.
pub type Arm64_64K = Arm64<16, 13, 5>;

/// arm64 entries in tables of 8 with contiguous blocks of 2.
pub type SmallArm2 = Arm64<12, 3, 1>;

/// arm64 entries in tables of 8 with contiguous blocks of 4.
pub type SmallArm4 = Arm64<12, 3, 2>;

const VALID: u64 = 1 << 0;
/// With VALID: a table above the last level, a page at the last level. Without VALID it makes
/// no leaf.
const TABLE_OR_PAGE: u64 = 1 << 1;
const USER: u64 = 1 << 6;
const RDONLY: u64 = 1 << 7;
const INNER_SHAREABLE: u64 = 3 << 8;
/// In an entry that leads to a table too; without FEAT_HAFT hardware ignores it there.
const AF: u64 = 1 << 10;
/// With VALID clear this bit means "present but invalid": PROT_NONE.
const NG: u64 = 1 << 11;
/// DBM: hardware may write; the kernel's writable bit is the same.
const WRITE: u64 = 1 << 51;
const PXN: u64 = 1 << 53;
const UXN: u64 = 1 << 54;
const SW_DIRTY: u64 = 1 << 55;

// Swap entries, ours: bits 1:0 and 11 clear (neither valid nor PROT_NONE), 2 exclusive, 3 uffd-wp,
// 10:6 type, 61:12 offset. Bit 52 is payload here: it never means contiguous.
const SWAP_EXCLUSIVE: u64 = 1 << 2;
const SWAP_UFFD_WP: u64 = 1 << 3;
const SWAP_TYPE_SHIFT: u32 = 6;
const SWAP_OFFSET_SHIFT: u32 = 12;

impl<const P: u32, const T: u32, const C: u32> Arm64<P, T, C> {
    /// Bits 47 to the page shift: 48-bit physical addresses, no LPA.
    const ADDRESS: u64 = ((1 << 48) - 1) >> P << P;

    const fn hardware_writable(pte: Pte) -> bool {
        pte.has(WRITE) && !pte.has(RDONLY)
    }
}

impl<const P: u32, const T: u32, const C: u32> Format for Arm64<P, T, C> {
    const NAME: &'static str = match (P, T, C) {
        (12, 9, 4) => "arm64-4k",
        (14, 11, 7) => "arm64-16k",
        (16, 13, 5) => "arm64-64k",
        _ => "arm64-small",
    };
    const PAGE_SHIFT: u32 = P;
    const TABLE_SHIFT: u32 = T;
    const CONT_SHIFT: u32 = C;
    const YOUNG: u64 = AF;
    const NONLEAF_YOUNG: bool = true;
    const PREFAULTED_OLD: bool = true;
    const VALID: u64 = VALID;
    const PRESENT: u64 = VALID | NG;
    const WRITE: u64 = WRITE;
    const SPECIAL: u64 = 1 << 56;
    const UFFD_WP: u64 = 1 << 58;
    const SOFT_DIRTY: u64 = 0;
    const DIRTY_BITS: u64 = SW_DIRTY | WRITE;
    const IGNORED: u64 = AF | SW_DIRTY | WRITE | RDONLY;
    const CONT: u64 = if C > 0 { 1 << 52 } else { 0 };
    const CLEAR: YoungClear = YoungClear::CompareAndSwap;

    #[inline]
    fn leaf(level: Level, pfn: Pfn, prot: Prot) -> Pte {
        let kind = match (prot.none, level) {
            (true, _) => 0,
            (false, Level::Pte) => VALID | TABLE_OR_PAGE,
            (false, _) => VALID,
        };
        let user = if prot.none { 0 } else { USER };
        let write = if prot.write { WRITE } else { 0 };
        let exec = if prot.exec { PXN } else { PXN | UXN };
        let address = (pfn.get() << P) & Self::ADDRESS;
        Pte(kind | user | RDONLY | INNER_SHAREABLE | NG | write | exec | address)
    }

    #[inline]
    fn table(pfn: Pfn) -> Pte {
        Pte(VALID | TABLE_OR_PAGE | AF | ((pfn.get() << P) & Self::ADDRESS))
    }

    fn swap(entry: SwapEntry) -> Pte {
        let exclusive = if entry.exclusive { SWAP_EXCLUSIVE } else { 0 };
        let uffd_wp = if entry.uffd_wp { SWAP_UFFD_WP } else { 0 };
        let kind = entry.kind.number() << SWAP_TYPE_SHIFT;
        Pte(exclusive | uffd_wp | kind | entry.offset << SWAP_OFFSET_SHIFT)
    }

    fn entry(pte: Pte) -> Entry {
        if pte.is_none() {
            Entry::None
        } else if Self::is_valid(pte) {
            Entry::Present
        } else if pte.has(NG) {
            Entry::ProtNone
        } else {
            Entry::Swap(SwapEntry {
                kind: SwapKind::from_number((pte.0 >> SWAP_TYPE_SHIFT) & 31),
                offset: (pte.0 >> SWAP_OFFSET_SHIFT) & ((1 << SwapEntry::OFFSET_BITS) - 1),
                exclusive: pte.has(SWAP_EXCLUSIVE),
                soft_dirty: false,
                uffd_wp: pte.has(SWAP_UFFD_WP),
            })
        }
    }

    #[inline]
    fn is_table(pte: Pte) -> bool {
        pte.0 & (VALID | TABLE_OR_PAGE) == VALID | TABLE_OR_PAGE
    }

    #[inline]
    fn pfn(pte: Pte) -> Pfn {
        Pfn::new((pte.0 & Self::ADDRESS) >> P)
    }

    #[inline]
    fn is_global(pte: Pte) -> bool {
        !pte.has(NG)
    }

    #[inline]
    fn is_dirty(pte: Pte) -> bool {
        pte.has(SW_DIRTY) || Self::hardware_writable(pte)
    }

    #[inline]
    fn is_exec(pte: Pte) -> bool {
        !pte.has(UXN)
    }

    #[inline]
    fn mkdirty(pte: Pte) -> Pte {
        let dirty = pte.with(SW_DIRTY);
        if pte.has(WRITE) { dirty.without(RDONLY) } else { dirty }
    }

    #[inline]
    fn mkclean(pte: Pte) -> Pte {
        pte.without(SW_DIRTY).with(RDONLY)
    }

    #[inline]
    fn wrprotect(pte: Pte) -> Pte {
        let kept = if Self::hardware_writable(pte) { pte.with(SW_DIRTY) } else { pte };
        kept.without(WRITE).with(RDONLY)
    }

    #[inline]
    fn mkwrite(pte: Pte) -> Pte {
        let writable = pte.with(WRITE);
        if pte.has(SW_DIRTY) { writable.without(RDONLY) } else { writable }
    }

    #[inline]
    fn hardware_dirty(pte: Pte) -> Option<Pte> {
        (Self::is_valid(pte) && pte.has(WRITE)).then(|| pte.without(RDONLY))
    }
}

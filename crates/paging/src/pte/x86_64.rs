//! x86-64 entries (bits as Linux 7.3.4 defines them in pgtable_types.h).

use super::{Entry, Format, Level, Prot, Pte, SwapEntry, SwapKind, YoungClear};
use crate::Pfn;

/// x86-64 entries with tables of 2^`TABLE_SHIFT`.
#[derive(Clone, Copy, Debug)]
pub struct X86<const TABLE_SHIFT: u32>;

/// x86-64 as in hardware: tables of 512.
pub type X86_64 = X86<9>;

/// x86-64 entries in tables of 8.
pub type SmallX86 = X86<3>;

const PRESENT: u64 = 1 << 0;
const WRITE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
const ACCESSED: u64 = 1 << 5;
const DIRTY: u64 = 1 << 6;
/// Above the last level: the entry is a leaf.
const PSE: u64 = 1 << 7;
/// With PRESENT: global.
const GLOBAL: u64 = 1 << 8;
/// With PRESENT clear: PROT_NONE (bit 8 is global otherwise; user entries never are).
const PROTNONE: u64 = 1 << 8;
/// Dirty, for entries that are not writable: Write=0 with Dirty=1 means shadow stack.
const SAVED_DIRTY: u64 = 1 << 58;
const NX: u64 = 1 << 63;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
const PAGE_SHIFT: u32 = 12;

// Swap entries, ours: PRESENT and PROTNONE clear, 1 soft-dirty, 2 uffd-wp, 3 exclusive, 58:9 offset
// stored inverted, 63:59 type. Inverted offsets and frames (PROT_NONE below) keep the address that
// a processor with the L1 terminal fault might speculate on outside of memory.
const SWAP_SOFT_DIRTY: u64 = 1 << 1;
const SWAP_UFFD_WP: u64 = 1 << 2;
const SWAP_EXCLUSIVE: u64 = 1 << 3;
const SWAP_OFFSET_SHIFT: u32 = 9;
const SWAP_TYPE_SHIFT: u32 = 59;
const SWAP_OFFSET: u64 = ((1 << SwapEntry::OFFSET_BITS) - 1) << SWAP_OFFSET_SHIFT;

impl<const T: u32> X86<T> {
    /// Returns the address bits as hardware would read them: PROT_NONE entries store theirs
    /// inverted.
    const fn address(pte: Pte) -> u64 {
        let stored = if pte.has(PRESENT) { pte.0 } else { !pte.0 };
        stored & ADDRESS
    }
}

impl<const T: u32> Format for X86<T> {
    const NAME: &'static str = if T == 9 { "x86-64" } else { "x86-small" };
    const PAGE_SHIFT: u32 = PAGE_SHIFT;
    const TABLE_SHIFT: u32 = T;
    const CONT_SHIFT: u32 = 0;
    const YOUNG: u64 = ACCESSED;
    const NONLEAF_YOUNG: bool = true;
    const PREFAULTED_OLD: bool = false;
    const VALID: u64 = PRESENT;
    const PRESENT: u64 = PRESENT | PROTNONE;
    const WRITE: u64 = WRITE;
    const SPECIAL: u64 = 1 << 9;
    const UFFD_WP: u64 = 1 << 10;
    const SOFT_DIRTY: u64 = 1 << 11;
    const DIRTY_BITS: u64 = DIRTY | SAVED_DIRTY;
    const IGNORED: u64 = ACCESSED | DIRTY | SAVED_DIRTY | WRITE | Self::SOFT_DIRTY;
    const CONT: u64 = 0;
    const CLEAR: YoungClear = YoungClear::TestFirst;

    #[inline]
    fn leaf(level: Level, pfn: Pfn, prot: Prot) -> Pte {
        let address = (pfn.get() << PAGE_SHIFT) & ADDRESS;
        let exec = if prot.exec { 0 } else { NX };
        let size = if level == Level::Pte { 0 } else { PSE };
        if prot.none {
            return Pte(PROTNONE | exec | size | (!address & ADDRESS));
        }
        let write = if prot.write { WRITE } else { 0 };
        Pte(PRESENT | USER | write | exec | size | address)
    }

    #[inline]
    fn table(pfn: Pfn) -> Pte {
        let address = (pfn.get() << PAGE_SHIFT) & ADDRESS;
        Pte(PRESENT | WRITE | USER | ACCESSED | DIRTY | address)
    }

    fn swap(entry: SwapEntry) -> Pte {
        let soft_dirty = if entry.soft_dirty { SWAP_SOFT_DIRTY } else { 0 };
        let uffd_wp = if entry.uffd_wp { SWAP_UFFD_WP } else { 0 };
        let exclusive = if entry.exclusive { SWAP_EXCLUSIVE } else { 0 };
        let offset = (!entry.offset << SWAP_OFFSET_SHIFT) & SWAP_OFFSET;
        let kind = entry.kind.number() << SWAP_TYPE_SHIFT;
        // PROTNONE (bit 8) and PSE (bit 7) lie below the offset and stay clear.
        Pte(soft_dirty | uffd_wp | exclusive | offset | kind)
    }

    fn entry(pte: Pte) -> Entry {
        if pte.is_none() {
            Entry::None
        } else if Self::is_valid(pte) {
            Entry::Present
        } else if pte.has(PROTNONE) {
            Entry::ProtNone
        } else {
            Entry::Swap(SwapEntry {
                kind: SwapKind::from_number(pte.0 >> SWAP_TYPE_SHIFT),
                offset: (!pte.0 & SWAP_OFFSET) >> SWAP_OFFSET_SHIFT,
                exclusive: pte.has(SWAP_EXCLUSIVE),
                soft_dirty: pte.has(SWAP_SOFT_DIRTY),
                uffd_wp: pte.has(SWAP_UFFD_WP),
            })
        }
    }

    #[inline]
    fn is_table(pte: Pte) -> bool {
        pte.0 & (PRESENT | PSE) == PRESENT
    }

    #[inline]
    fn pfn(pte: Pte) -> Pfn {
        Pfn::new(Self::address(pte) >> PAGE_SHIFT)
    }

    #[inline]
    fn step(pte: Pte) -> u64 {
        // Wrapping: adding minus one page to an inverted frame number increases it.
        if pte.has(PRESENT) { Self::STEP } else { Self::STEP.wrapping_neg() }
    }

    #[inline]
    fn is_global(pte: Pte) -> bool {
        pte.has(GLOBAL)
    }

    #[inline]
    fn is_dirty(pte: Pte) -> bool {
        pte.has(DIRTY | SAVED_DIRTY)
    }

    #[inline]
    fn is_exec(pte: Pte) -> bool {
        !pte.has(NX)
    }

    #[inline]
    fn mkdirty(pte: Pte) -> Pte {
        pte.with(Self::SOFT_DIRTY | if pte.has(WRITE) { DIRTY } else { SAVED_DIRTY })
    }

    #[inline]
    fn mkclean(pte: Pte) -> Pte {
        pte.without(DIRTY | SAVED_DIRTY)
    }

    #[inline]
    fn wrprotect(pte: Pte) -> Pte {
        let saved = if pte.has(DIRTY) { SAVED_DIRTY } else { 0 };
        pte.without(WRITE | DIRTY).with(saved)
    }

    #[inline]
    fn mkwrite(pte: Pte) -> Pte {
        let dirty = if pte.has(SAVED_DIRTY) { DIRTY } else { 0 };
        pte.without(SAVED_DIRTY).with(WRITE | dirty)
    }

    #[inline]
    fn hardware_dirty(pte: Pte) -> Option<Pte> {
        (Self::is_valid(pte) && pte.has(WRITE)).then(|| pte.with(DIRTY))
    }
}

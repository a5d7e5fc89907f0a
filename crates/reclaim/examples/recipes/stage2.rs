//! The entry format of an arm64 second stage with 4K pages, written outside of `paging`. Levels,
//! accessed flag and contiguous bit are those of the first stage; permissions, memory type and
//! execution are elsewhere (Arm Architecture Reference Manual, DDI 0487, stage 2 attribute fields).
//!
//! EPT of Intel is written in the same way: read, write and execute in bits 0 to 2, the accessed
//! bit in bit 8 and the dirty bit in bit 9, no contiguous blocks (`CONT_SHIFT` and `CONT` are 0).

use pageout_paging::pte::{Arm64_4K, Entry, Prot, Pte, SwapEntry, YoungClear};
use pageout_paging::{Format, Level, Pfn};

/// Entries that translate guest-physical addresses, in tables of 512 with blocks of 16.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage2;

const TABLE_OR_PAGE: u64 = 1 << 1;
/// MemAttr: normal memory, write-back.
const WRITE_BACK: u64 = 0b1111 << 2;
/// S2AP: the guest may read, and may store now.
const READ: u64 = 1 << 6;
const STORE: u64 = 1 << 7;
const INNER_SHAREABLE: u64 = 3 << 8;
/// DBM: hardware sets `STORE` at the first store, which makes the entry dirty.
const WRITE: u64 = 1 << 51;
/// XN: the guest may not execute.
const EXECUTE_NEVER: u64 = 1 << 54;
const SOFTWARE_DIRTY: u64 = 1 << 55;

impl Format for Stage2 {
    const NAME: &'static str = "arm64-4k-stage2";
    const PAGE_SHIFT: u32 = Arm64_4K::PAGE_SHIFT;
    const TABLE_SHIFT: u32 = Arm64_4K::TABLE_SHIFT;
    const CONT_SHIFT: u32 = Arm64_4K::CONT_SHIFT;
    const YOUNG: u64 = Arm64_4K::YOUNG;
    const NONLEAF_YOUNG: bool = false;
    const PREFAULTED_OLD: bool = true;
    const VALID: u64 = Arm64_4K::VALID;
    const PRESENT: u64 = Arm64_4K::VALID;
    const WRITE: u64 = WRITE;
    const SPECIAL: u64 = 1 << 56;
    const UFFD_WP: u64 = 0;
    const SOFT_DIRTY: u64 = 0;
    const DIRTY_BITS: u64 = SOFTWARE_DIRTY | WRITE;
    const IGNORED: u64 = Self::YOUNG | SOFTWARE_DIRTY | WRITE | STORE;
    const CONT: u64 = Arm64_4K::CONT;
    const CLEAR: YoungClear = YoungClear::CompareAndSwap;

    fn leaf(level: Level, pfn: Pfn, prot: Prot) -> Pte {
        let page = if level == Level::Pte { TABLE_OR_PAGE } else { 0 };
        let kind = if prot.none { 0 } else { Self::VALID | page };
        let write = if prot.write { WRITE } else { 0 };
        let exec = if prot.exec { 0 } else { EXECUTE_NEVER };
        let address = pfn.get() << Self::PAGE_SHIFT;
        Pte(kind | WRITE_BACK | READ | INNER_SHAREABLE | write | exec | address)
    }
    fn table(pfn: Pfn) -> Pte {
        Pte(Self::VALID | TABLE_OR_PAGE | pfn.get() << Self::PAGE_SHIFT)
    }
    fn swap(entry: SwapEntry) -> Pte {
        Arm64_4K::swap(entry)
    }
    fn entry(pte: Pte) -> Entry {
        if pte.is_none() || Self::is_valid(pte) { Arm64_4K::entry(pte) } else { Entry::None }
    }
    fn is_table(pte: Pte) -> bool {
        Arm64_4K::is_table(pte)
    }
    fn pfn(pte: Pte) -> Pfn {
        Arm64_4K::pfn(pte)
    }
    fn is_global(_: Pte) -> bool {
        false
    }
    fn is_dirty(pte: Pte) -> bool {
        pte.0 & SOFTWARE_DIRTY != 0 || pte.0 & (WRITE | STORE) == WRITE | STORE
    }
    fn is_exec(pte: Pte) -> bool {
        pte.0 & EXECUTE_NEVER == 0
    }
    fn mkdirty(pte: Pte) -> Pte {
        let store = if Self::is_write(pte) { STORE } else { 0 };
        Pte(pte.0 | SOFTWARE_DIRTY | store)
    }
    fn mkclean(pte: Pte) -> Pte {
        Pte(pte.0 & !(SOFTWARE_DIRTY | STORE))
    }
    fn wrprotect(pte: Pte) -> Pte {
        let dirty = if Self::is_dirty(pte) { SOFTWARE_DIRTY } else { 0 };
        Pte((pte.0 | dirty) & !(WRITE | STORE))
    }
    fn mkwrite(pte: Pte) -> Pte {
        let store = if Self::is_dirty(pte) { STORE } else { 0 };
        Pte(pte.0 | WRITE | store)
    }
    fn hardware_dirty(pte: Pte) -> Option<Pte> {
        (Self::is_valid(pte) && Self::is_write(pte)).then_some(Pte(pte.0 | STORE))
    }
}

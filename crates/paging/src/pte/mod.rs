//! Entry formats: one file a format, one trait for what they share.

mod arm64;
mod riscv64;
mod small;
mod swap;
mod x86_64;

pub use arm64::{Arm64, Arm64_4K, Arm64_16K, Arm64_64K};
pub use riscv64::{Riscv, Riscv64};
pub use small::{SmallArm2, SmallArm4, SmallRiscv, SmallX86};
pub use swap::{Moving, SwapEntry, SwapKind};
pub use x86_64::{X86, X86_64};

use crate::{Pfn, VirtAddr};
use core::fmt;

/// One page-table entry as it stands in memory. What its bits mean is the [`Format`]'s.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Pte(pub u64);

impl Pte {
    /// The empty entry, in every format.
    pub const NONE: Self = Self(0);

    /// Whether the entry is empty.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    const fn has(self, bits: u64) -> bool {
        self.0 & bits != 0
    }

    const fn with(self, bits: u64) -> Self {
        Self(self.0 | bits)
    }

    const fn without(self, bits: u64) -> Self {
        Self(self.0 & !bits)
    }
}

impl fmt::Debug for Pte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pte {:#018x}", self.0)
    }
}

/// The level of a table, named as kernels name the entries it holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Last level: each entry maps one page.
    Pte,
    /// Each entry maps a PMD-sized leaf or leads to a PTE table.
    Pmd,
    /// Each entry leads to a PMD table (or maps a PUD-sized leaf, which we never make).
    Pud,
    /// The root.
    Pgd,
}

impl Level {
    /// The level whose tables this level's entries lead to.
    pub const fn below(self) -> Option<Self> {
        match self {
            Self::Pte => None,
            Self::Pmd => Some(Self::Pte),
            Self::Pud => Some(Self::Pmd),
            Self::Pgd => Some(Self::Pud),
        }
    }
}

/// What a new leaf entry permits. New entries are old and clean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prot {
    /// Writable.
    pub write: bool,
    /// Executable.
    pub exec: bool,
    /// Present for software, not for hardware: PROT_NONE.
    pub none: bool,
}

impl Prot {
    /// Readable.
    pub const READ: Self = Self { write: false, exec: false, none: false };
    /// Readable and writable.
    pub const WRITE: Self = Self { write: true, ..Self::READ };
    /// Readable and executable.
    pub const EXEC: Self = Self { exec: true, ..Self::READ };
    /// PROT_NONE.
    pub const NONE: Self = Self { none: true, ..Self::READ };
}

/// What an entry is, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Empty.
    None,
    /// Maps a page that hardware can reach.
    Present,
    /// Maps a page that only software sees: PROT_NONE.
    ProtNone,
    /// A swap entry or one of its special kinds.
    Swap(SwapEntry),
}

/// How the merged kernel code clears a young bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum YoungClear {
    /// Look first; one atomic bit clear only if the entry is young (x86, riscv).
    TestFirst,
    /// An unconditional compare-and-swap loop an entry visited (arm64).
    CompareAndSwap,
}

/// An entry format: bit layout and the rules of young, dirty and contiguous.
///
/// A present entry is `base + k · step` for the k-th page of a run, so that batches compare whole
/// words. Contiguous blocks are 2^`CONT_SHIFT` entries, aligned; zero means the format has none.
pub trait Format: Copy + fmt::Debug + Send + Sync + 'static {
    /// The name that scenarios and tables use.
    const NAME: &'static str;
    /// log2 of the page size in bytes.
    const PAGE_SHIFT: u32;
    /// log2 of the entries in a table.
    const TABLE_SHIFT: u32;
    /// log2 of the entries in a contiguous block; 0 where the format has none.
    const CONT_SHIFT: u32;
    /// The accessed bit of a leaf entry, at every level; of an entry that leads to a table too
    /// where [`Format::NONLEAF_YOUNG`] says so.
    const YOUNG: u64;
    /// Whether entries that lead to tables have an accessed bit. Whether hardware sets it is
    /// [`Caps::nonleaf_af`](crate::mmu::Caps)'s to say.
    const NONLEAF_YOUNG: bool;
    /// Whether entries mapped before their pages are asked for are old where hardware sets the
    /// accessed bit, so that it will say when one is used; elsewhere they are young (Linux 7.3.4,
    /// arch_wants_old_prefaulted_pte).
    const PREFAULTED_OLD: bool;
    /// The bit by which hardware uses an entry.
    const VALID: u64;
    /// Any of these: the entry maps a page, if only for software.
    const PRESENT: u64;
    /// Writable.
    const WRITE: u64;
    /// Special: no folio behind it.
    const SPECIAL: u64;
    /// Write-protected by userfaultfd.
    const UFFD_WP: u64;
    /// Soft-dirty; 0 where the format has no such bit.
    const SOFT_DIRTY: u64;
    /// Part of a contiguous block; 0 where the format has none.
    const CONT: u64;
    /// How merged kernels clear [`Format::YOUNG`].
    const CLEAR: YoungClear;
    /// What to add to a valid last-level entry to map the next frame.
    const STEP: u64 = Self::PAGE_SIZE;

    /// Entries in a table.
    const PTES: usize = 1 << Self::TABLE_SHIFT;
    /// Entries in a contiguous block; 1 where the format has none.
    const CONT_PTES: usize = 1 << Self::CONT_SHIFT;
    /// Bytes in a page.
    const PAGE_SIZE: u64 = 1 << Self::PAGE_SHIFT;

    /// A leaf that maps `pfn` at `level` ([`Level::Pte`] or [`Level::Pmd`]): old, clean, user.
    fn leaf(level: Level, pfn: Pfn, prot: Prot) -> Pte;
    /// An entry that leads to the table in frame `pfn`: young where such entries can be, as kernels
    /// install them (Linux 7.3.4, `_PAGE_TABLE` of x86, `PMD_TABLE_AF` of arm64).
    fn table(pfn: Pfn) -> Pte;
    /// A swap entry. See [`SwapEntry`] for what fits.
    fn swap(entry: SwapEntry) -> Pte;
    /// Decodes a last-level entry.
    fn entry(pte: Pte) -> Entry;

    /// Whether the entry maps a page: [`Entry::Present`] or [`Entry::ProtNone`].
    #[inline]
    fn is_present(pte: Pte) -> bool {
        pte.has(Self::PRESENT)
    }
    /// Whether hardware uses the entry.
    #[inline]
    fn is_valid(pte: Pte) -> bool {
        pte.has(Self::VALID)
    }
    /// Whether an entry above the last level leads to a table.
    fn is_table(pte: Pte) -> bool;
    /// The frame of a present entry or a table entry.
    fn pfn(pte: Pte) -> Pfn;
    /// What to add (wrapping) to a present last-level entry to map the next frame.
    #[inline]
    fn step(_pte: Pte) -> u64 {
        Self::STEP
    }

    /// Whether the entry is dirty, by hardware's bits or software's.
    fn is_dirty(pte: Pte) -> bool;
    /// Whether the entry is writable.
    #[inline]
    fn is_write(pte: Pte) -> bool {
        pte.has(Self::WRITE)
    }
    /// Whether the entry may be executed from user mode.
    fn is_exec(pte: Pte) -> bool;
    /// Whether the entry is special (no folio behind it).
    #[inline]
    fn is_special(pte: Pte) -> bool {
        pte.has(Self::SPECIAL)
    }
    /// Whether TLBs hold the valid leaf entry for every address space. [`Format::leaf`] makes none.
    fn is_global(pte: Pte) -> bool;
    /// Whether userfaultfd write-protects the entry.
    #[inline]
    fn is_uffd_wp(pte: Pte) -> bool {
        pte.has(Self::UFFD_WP)
    }
    /// Whether the entry is soft-dirty; false where the format has no such bit.
    #[inline]
    fn is_soft_dirty(pte: Pte) -> bool {
        pte.has(Self::SOFT_DIRTY)
    }
    /// Whether the entry is valid and part of a contiguous block. False for a swap entry, whatever
    /// its payload.
    #[inline]
    fn is_cont(pte: Pte) -> bool {
        Self::CONT_SHIFT > 0 && pte.has(Self::VALID) && pte.has(Self::CONT)
    }

    /// The entry, dirty.
    fn mkdirty(pte: Pte) -> Pte;
    /// The entry, clean.
    fn mkclean(pte: Pte) -> Pte;
    /// The entry, not writable; dirtiness is kept.
    fn wrprotect(pte: Pte) -> Pte;
    /// The entry, writable; dirtiness is kept.
    fn mkwrite(pte: Pte) -> Pte;
    /// The entry, special.
    #[inline]
    fn mkspecial(pte: Pte) -> Pte {
        pte.with(Self::SPECIAL)
    }
    /// The entry, write-protected by userfaultfd.
    #[inline]
    fn mkuffd_wp(pte: Pte) -> Pte {
        Self::wrprotect(pte).with(Self::UFFD_WP)
    }
    /// The entry, soft-dirty; unchanged where the format has no such bit.
    #[inline]
    fn mksoft_dirty(pte: Pte) -> Pte {
        pte.with(Self::SOFT_DIRTY)
    }
    /// The entry, not soft-dirty.
    #[inline]
    fn clear_soft_dirty(pte: Pte) -> Pte {
        pte.without(Self::SOFT_DIRTY)
    }
    /// The entry, part of a contiguous block; unchanged where the format has none.
    #[inline]
    fn mkcont(pte: Pte) -> Pte {
        pte.with(Self::CONT)
    }
    /// The entry, not part of a contiguous block.
    #[inline]
    fn mknoncont(pte: Pte) -> Pte {
        pte.without(Self::CONT)
    }
    /// What a walker that sets dirty bits makes of an entry on a store: `None` where the entry does
    /// not permit the store, which faults.
    fn hardware_dirty(pte: Pte) -> Option<Pte>;

    /// Whether the entry is young.
    #[inline]
    fn is_young(pte: Pte) -> bool {
        pte.has(Self::YOUNG)
    }
    /// The entry, young.
    #[inline]
    fn mkyoung(pte: Pte) -> Pte {
        pte.with(Self::YOUNG)
    }
    /// What the walker makes of an entry that leads to a table, when it goes through it and sets
    /// accessed bits there: unchanged where the format has none (riscv reserves the bit).
    #[inline]
    fn mkyoung_table(pte: Pte) -> Pte {
        if Self::NONLEAF_YOUNG { Self::mkyoung(pte) } else { pte }
    }
    /// The entry, old.
    #[inline]
    fn mkold(pte: Pte) -> Pte {
        pte.without(Self::YOUNG)
    }
    /// The present last-level entry that maps the frame `nr` further, otherwise equal.
    #[inline]
    fn advance(pte: Pte, nr: usize) -> Pte {
        Pte(pte.0.wrapping_add(Self::step(pte).wrapping_mul(nr as u64)))
    }
    /// The last-level entry that stands in memory as `raw` at index `i` of its table. Only a format
    /// whose contiguous entries don't hold their own frame, as RISC-V's, differs from what stands
    /// there.
    #[inline]
    fn decode(raw: Pte, _i: usize) -> Pte {
        raw
    }
    /// How a last-level entry stands in memory: what [`Format::decode`] undoes.
    #[inline]
    fn encode(pte: Pte) -> Pte {
        pte
    }
    /// The index of `addr` in a table of `level`.
    #[inline]
    fn index(level: Level, addr: VirtAddr) -> usize {
        (addr.get() >> Self::shift(level)) as usize & (Self::PTES - 1)
    }
    /// log2 of the bytes that one entry of `level` covers.
    #[inline]
    fn shift(level: Level) -> u32 {
        Self::PAGE_SHIFT + level as u32 * Self::TABLE_SHIFT
    }
    /// Pages that one entry of `level` covers.
    #[inline]
    fn nr_pages(level: Level) -> usize {
        1 << (level as u32 * Self::TABLE_SHIFT)
    }
}

//! Entry formats: one file for each, and one trait for all.
//!
//! The names of small formats for exhaustive search begin with `Small`. Small formats have the real
//! bit layouts in tables of 8 entries, which is one 64-byte line, with contiguous blocks of 2 or 4.
//! Only the geometry is small: the code is the shipped code.

mod arm64;
mod riscv64;
mod swap;
mod x86_64;

pub use arm64::{Arm64, Arm64_4K, Arm64_16K, Arm64_64K, SmallArm2, SmallArm4};
pub use riscv64::{Riscv, Riscv64, Riscv64Base, SmallRiscv};
pub use swap::{Moving, SwapEntry, SwapKind};
pub use x86_64::{SmallX86, X86, X86_64};

use crate::{Pfn, VirtAddr};
use core::fmt;

/// A page-table entry as it is in memory. The [`Format`] defines its bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Pte(pub u64);

impl Pte {
    /// The empty entry, in every format.
    pub const NONE: Self = Self(0);

    /// Returns true if the entry is empty.
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

/// The level of a table, with the kernel's name of its entries.
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
    /// Returns the level of the tables that this level's entries lead to.
    pub const fn below(self) -> Option<Self> {
        match self {
            Self::Pte => None,
            Self::Pmd => Some(Self::Pte),
            Self::Pud => Some(Self::Pmd),
            Self::Pgd => Some(Self::Pud),
        }
    }
}

/// The permissions of a new leaf entry. New entries are old and clean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prot {
    /// True if the page is writable.
    pub write: bool,
    /// True if the page is executable.
    pub exec: bool,
    /// True if the page is present only for software, not for hardware: PROT_NONE.
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

/// A decoded entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// An empty entry.
    None,
    /// An entry that maps a page that hardware can reach.
    Present,
    /// An entry that maps a page that only software sees: PROT_NONE.
    ProtNone,
    /// A swap entry or one of its special kinds.
    Swap(SwapEntry),
}

/// The way in which the merged kernel code clears a young bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum YoungClear {
    /// A read first, and one atomic bit clear only if the entry is young (x86, riscv).
    TestFirst,
    /// An unconditional compare-and-swap loop for each entry visited (arm64).
    CompareAndSwap,
}

/// An entry format: bit layout and the rules of young, dirty and contiguous.
///
/// A present entry is `base + k · step` for the k-th page of a run, so that batches compare whole
/// words. Contiguous blocks are 2^`CONT_SHIFT` entries, aligned; zero means the format has none.
pub trait Format: Copy + fmt::Debug + Send + Sync + 'static {
    /// The name that scenarios and tables use.
    const NAME: &'static str;
    /// The log2 of the page size in bytes.
    const PAGE_SHIFT: u32;
    /// The log2 of the entries in a table.
    const TABLE_SHIFT: u32;
    /// The log2 of the entries in a contiguous block; 0 if the format has none.
    const CONT_SHIFT: u32;
    /// The accessed bit of a leaf entry, at every level. If [`Format::NONLEAF_YOUNG`] is true, also
    /// that of an entry that leads to a table.
    const YOUNG: u64;
    /// True if entries that lead to tables have an accessed bit.
    /// [`Caps::nonleaf_af`](crate::mmu::Caps) says if hardware sets it.
    const NONLEAF_YOUNG: bool;
    /// True if entries that are mapped before their pages are accessed are old. It requires that
    /// hardware sets the accessed bit and so records the first use. Otherwise they are young (Linux
    /// 7.3.4, arch_wants_old_prefaulted_pte).
    const PREFAULTED_OLD: bool;
    /// The bit by which hardware uses an entry.
    const VALID: u64;
    /// The bits of which any means that the entry maps a page, if only for software.
    const PRESENT: u64;
    /// The writable bit.
    const WRITE: u64;
    /// The special bit: no folio is behind the entry.
    const SPECIAL: u64;
    /// The bit of write protection by userfaultfd; 0 if the format has none.
    const UFFD_WP: u64;
    /// The soft-dirty bit; 0 if the format has none.
    const SOFT_DIRTY: u64;
    /// The bits of which a dirty entry has at least one.
    const DIRTY_BITS: u64;
    /// The bits that entries of one batch may differ in: those that
    /// [`ignore`](crate::batch::ignore) changes under no flags.
    const IGNORED: u64;
    /// The bit of entries in a contiguous block; 0 if the format has none.
    const CONT: u64;
    /// The way in which merged kernels clear [`Format::YOUNG`].
    const CLEAR: YoungClear;
    /// The number to add to a valid last-level entry to map the next frame.
    const STEP: u64 = Self::PAGE_SIZE;

    /// The number of entries in a table.
    const PTES: usize = 1 << Self::TABLE_SHIFT;
    /// The number of entries in a contiguous block; 1 if the format has none.
    const CONT_PTES: usize = 1 << Self::CONT_SHIFT;
    /// The number of bytes in a page.
    const PAGE_SIZE: u64 = 1 << Self::PAGE_SHIFT;

    /// Makes a leaf that maps `pfn` at `level` ([`Level::Pte`] or [`Level::Pmd`]): old, clean,
    /// user.
    fn leaf(level: Level, pfn: Pfn, prot: Prot) -> Pte;
    /// Makes an entry that leads to the table in frame `pfn`. It is young if such entries can be,
    /// as kernels install them (Linux 7.3.4, `_PAGE_TABLE` of x86, `PMD_TABLE_AF` of arm64).
    fn table(pfn: Pfn) -> Pte;
    /// Makes a swap entry. [`SwapEntry`] documents the limits of its fields.
    fn swap(entry: SwapEntry) -> Pte;
    /// Decodes a last-level entry.
    fn entry(pte: Pte) -> Entry;

    /// Returns true if the entry maps a page: [`Entry::Present`] or [`Entry::ProtNone`].
    #[inline]
    fn is_present(pte: Pte) -> bool {
        pte.has(Self::PRESENT)
    }
    /// Returns true if hardware uses the entry.
    #[inline]
    fn is_valid(pte: Pte) -> bool {
        pte.has(Self::VALID)
    }
    /// Returns true if an entry above the last level leads to a table.
    fn is_table(pte: Pte) -> bool;
    /// Returns the frame of a present entry or a table entry.
    fn pfn(pte: Pte) -> Pfn;
    /// Returns the number to add (wrapping) to a present last-level entry to map the next frame.
    #[inline]
    fn step(_pte: Pte) -> u64 {
        Self::STEP
    }

    /// Returns true if the entry is dirty, by hardware's bits or software's.
    fn is_dirty(pte: Pte) -> bool;
    /// Returns true if the entry is writable.
    #[inline]
    fn is_write(pte: Pte) -> bool {
        pte.has(Self::WRITE)
    }
    /// Returns true if the entry may be executed from user mode.
    fn is_exec(pte: Pte) -> bool;
    /// Returns true if the entry is special (no folio behind it).
    #[inline]
    fn is_special(pte: Pte) -> bool {
        pte.has(Self::SPECIAL)
    }
    /// Returns true if TLBs hold the valid leaf entry for every address space. [`Format::leaf`]
    /// makes none.
    fn is_global(pte: Pte) -> bool;
    /// Returns true if userfaultfd write-protects the entry.
    #[inline]
    fn is_uffd_wp(pte: Pte) -> bool {
        pte.has(Self::UFFD_WP)
    }
    /// Returns true if the entry is soft-dirty; false if the format has no such bit.
    #[inline]
    fn is_soft_dirty(pte: Pte) -> bool {
        pte.has(Self::SOFT_DIRTY)
    }
    /// Returns true if the entry is valid and part of a contiguous block. It is false for a swap
    /// entry, whatever its payload.
    #[inline]
    fn is_cont(pte: Pte) -> bool {
        Self::CONT_SHIFT > 0 && pte.has(Self::VALID) && pte.has(Self::CONT)
    }

    /// Returns the entry, dirty.
    fn mkdirty(pte: Pte) -> Pte;
    /// Returns the entry, clean.
    fn mkclean(pte: Pte) -> Pte;
    /// Returns the entry, not writable. It stays dirty if it is.
    fn wrprotect(pte: Pte) -> Pte;
    /// Returns the entry, writable. It stays dirty if it is.
    fn mkwrite(pte: Pte) -> Pte;
    /// Returns the entry, special.
    #[inline]
    fn mkspecial(pte: Pte) -> Pte {
        pte.with(Self::SPECIAL)
    }
    /// Returns the entry, write-protected by userfaultfd.
    #[inline]
    fn mkuffd_wp(pte: Pte) -> Pte {
        Self::wrprotect(pte).with(Self::UFFD_WP)
    }
    /// Returns the entry, soft-dirty; unchanged if the format has no such bit.
    #[inline]
    fn mksoft_dirty(pte: Pte) -> Pte {
        pte.with(Self::SOFT_DIRTY)
    }
    /// Returns the entry, not soft-dirty.
    #[inline]
    fn clear_soft_dirty(pte: Pte) -> Pte {
        pte.without(Self::SOFT_DIRTY)
    }
    /// Returns the entry, part of a contiguous block; unchanged if the format has none.
    #[inline]
    fn mkcont(pte: Pte) -> Pte {
        pte.with(Self::CONT)
    }
    /// Returns the entry, not part of a contiguous block.
    #[inline]
    fn mknoncont(pte: Pte) -> Pte {
        pte.without(Self::CONT)
    }
    /// Returns the entry after a store by a walker that sets dirty bits. Returns `None` if the
    /// entry does not permit the store, which faults.
    fn hardware_dirty(pte: Pte) -> Option<Pte>;

    /// Returns true if the entry is young.
    #[inline]
    fn is_young(pte: Pte) -> bool {
        pte.has(Self::YOUNG)
    }
    /// Returns the entry, young.
    #[inline]
    fn mkyoung(pte: Pte) -> Pte {
        pte.with(Self::YOUNG)
    }
    /// Returns an entry that leads to a table after a walk through it by a walker that sets
    /// accessed bits there. It is unchanged if the format has no such bit (riscv reserves it).
    #[inline]
    fn mkyoung_table(pte: Pte) -> Pte {
        if Self::NONLEAF_YOUNG { Self::mkyoung(pte) } else { pte }
    }
    /// Returns the entry, old.
    #[inline]
    fn mkold(pte: Pte) -> Pte {
        pte.without(Self::YOUNG)
    }
    /// Returns the present last-level entry that maps the frame `nr` further, otherwise equal.
    #[inline]
    fn advance(pte: Pte, nr: usize) -> Pte {
        Pte(pte.0.wrapping_add(Self::step(pte).wrapping_mul(nr as u64)))
    }
    /// Decodes the last-level entry that is `raw` in memory, at index `i` of its table. The two
    /// differ only in formats whose contiguous entries don't hold their own frame, such as
    /// RISC-V's.
    #[inline]
    fn decode(raw: Pte, _i: usize) -> Pte {
        raw
    }
    /// Encodes a last-level entry for memory, which [`Format::decode`] undoes.
    #[inline]
    fn encode(pte: Pte) -> Pte {
        pte
    }
    /// Returns the index of `addr` in a table of `level`.
    #[inline]
    fn index(level: Level, addr: VirtAddr) -> usize {
        (addr.get() >> Self::shift(level)) as usize & (Self::PTES - 1)
    }
    /// Returns log2 of the bytes that one entry of `level` covers.
    #[inline]
    fn shift(level: Level) -> u32 {
        Self::PAGE_SHIFT + level as u32 * Self::TABLE_SHIFT
    }
    /// Returns the number of pages that one entry of `level` covers.
    #[inline]
    fn nr_pages(level: Level) -> usize {
        1 << (level as u32 * Self::TABLE_SHIFT)
    }
}

//! Tags, by which entries are found: address space, size and page number in one word.

use pageout_paging::mmu::Asid;

/// The size of the range that one entry translates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A single page.
    Page,
    /// An aligned run of pages that hardware found alike.
    Run,
    /// A contiguous block.
    Block,
    /// A PMD leaf.
    Pmd,
}

impl Class {
    pub(super) const ALL: [Self; 4] = [Self::Page, Self::Run, Self::Block, Self::Pmd];
}

/// An address space (22 bits), a class (2) and the number of the first page (40).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag(u64);

const PAGE_BITS: u32 = 40;
const PAGES: u64 = (1 << PAGE_BITS) - 1;
const CLASSES: u64 = 3 << PAGE_BITS;
const ASID_SHIFT: u32 = PAGE_BITS + 2;

/// The address space of a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner(u32);

impl Owner {
    /// The owner of entries that every address space shares.
    pub(super) const GLOBAL: Self = Self((1 << 22) - 2);

    #[inline]
    pub(super) fn of(asid: Asid) -> Self {
        assert!(asid.0 < Self::GLOBAL.0, "{asid:?} fits a tag");
        Self(asid.0)
    }

    pub(super) fn asid(self) -> Option<Asid> {
        (self != Self::GLOBAL).then_some(Asid(self.0))
    }
}

impl Tag {
    /// The tag that stands for no entry.
    pub(super) const NONE: Self = Self(u64::MAX);

    pub(super) const fn new(owner: Owner, class: Class, first: u64) -> Self {
        Self((owner.0 as u64) << ASID_SHIFT | (class as u64) << PAGE_BITS | first & PAGES)
    }

    pub(super) const fn owner(self) -> Owner {
        Owner((self.0 >> ASID_SHIFT) as u32)
    }

    pub(super) fn class(self) -> Class {
        Class::ALL[(self.0 >> PAGE_BITS) as usize & 3]
    }

    pub(super) const fn first(self) -> u64 {
        self.0 & PAGES
    }

    /// Returns the bits of a page's own tag that an entry with this tag of 2^`shift` pages
    /// compares.
    pub(super) fn mask(self, shift: u32) -> u64 {
        let pages = !CLASSES & !((1 << shift) - 1);
        if self.owner() == Owner::GLOBAL { pages & PAGES } else { pages }
    }

    /// Returns true if an entry with this tag and mask translates the page whose own tag is `page`.
    #[inline]
    pub(super) const fn covers(self, mask: u64, page: Self) -> bool {
        (self.0 ^ page.0) & mask == 0
    }

    /// Returns a number below 2^`bits`, different for pages near to each other.
    #[inline]
    pub(super) const fn hash(self, bits: u32) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }
}

//! The events of a trace.

/// Page numbers are below this: 64 address bits less the smallest page shift.
pub const PAGE_LIMIT: u64 = 1 << 52;

/// The number of a virtual page: an address shifted right by the header's page shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page(u64);

impl Page {
    /// Returns the page of this number, unless it is at or beyond [`PAGE_LIMIT`].
    pub const fn new(number: u64) -> Option<Self> {
        if number < PAGE_LIMIT { Some(Self(number)) } else { None }
    }

    /// Returns the page that holds `address`, with pages of `1 << shift` bytes, `shift` at least
    /// 12.
    pub(crate) const fn of_address(address: u64, shift: u8) -> Self {
        Self((address >> shift) & (PAGE_LIMIT - 1))
    }

    /// Returns the number itself.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// A run of pages, never empty, inside [`PAGE_LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageRange {
    start: u64,
    end: u64,
}

impl PageRange {
    /// Returns pages `start..end`; `None` if that is empty, negative or beyond [`PAGE_LIMIT`].
    pub const fn new(start: u64, end: u64) -> Option<Self> {
        if start < end && end <= PAGE_LIMIT { Some(Self { start, end }) } else { None }
    }

    /// Returns the range of one page.
    pub const fn single(page: Page) -> Self {
        Self { start: page.0, end: page.0 + 1 }
    }

    /// Returns the number of the first page.
    pub const fn start(self) -> u64 {
        self.start
    }

    /// Returns the number after the last page.
    pub const fn end(self) -> u64 {
        self.end
    }

    /// Returns the number of pages.
    pub const fn nr_pages(self) -> u64 {
        self.end - self.start
    }

    /// Returns true if `page` is in the range.
    pub const fn contains(self, page: Page) -> bool {
        self.start <= page.0 && page.0 < self.end
    }

    /// Returns the pages that both ranges have, if there are any.
    pub fn intersection(self, other: Self) -> Option<Self> {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// Returns both ranges as one, if `above` begins at the end of this one.
    pub(crate) fn joined(self, above: Self) -> Option<Self> {
        Self::new(self.start, above.end).filter(|_| self.end == above.start)
    }

    /// Returns the same number of pages from page number `start` on, if that is within the limit.
    pub fn moved_to(self, start: u64) -> Option<Self> {
        Self::new(start, start.checked_add(self.nr_pages())?)
    }

    /// Returns every page, ascending.
    pub fn pages(self) -> impl Iterator<Item = Page> {
        (self.start..self.end).map(Page)
    }
}

/// The accesses that a mapping allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Permissions {
    /// Loads are allowed (`PROT_READ`).
    pub readable: bool,
    /// Stores are allowed (`PROT_WRITE`).
    pub writable: bool,
    /// Instruction fetches are allowed (`PROT_EXEC`).
    pub executable: bool,
}

impl Permissions {
    /// Loads and stores.
    pub const READ_WRITE: Self = Self { readable: true, writable: true, executable: false };
}

/// Names one mapped file within one trace; the reader and the writer give its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// Returns the file's index: files count from 0 in the order in which the trace names them.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The backing of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Zero-filled memory from `mmap`, or the part of a program's data beyond its file.
    Anonymous,
    /// A file's pages.
    File {
        /// The file.
        file: FileId,
        /// The page of the file behind the mapping's first page.
        offset: u64,
    },
    /// The main stack, or a thread's (`MAP_STACK`).
    Stack,
    /// Memory from `brk`.
    Heap,
    /// Pages that the program used, although no event mapped them.
    Unknown,
}

/// A range of pages mapped alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// The mapped pages.
    pub pages: PageRange,
    /// The backing of the pages.
    pub kind: Kind,
    /// The accesses that are allowed.
    pub permissions: Permissions,
    /// Stores are seen by other processes (`MAP_SHARED`).
    pub shared: bool,
}

impl Mapping {
    /// Returns the part of this mapping inside `pages`, with the file offset of its first page.
    pub(crate) fn slice(&self, pages: PageRange) -> Option<Self> {
        let pages = self.pages.intersection(pages)?;
        let skipped = pages.start() - self.pages.start();
        let kind = match self.kind {
            Kind::File { file, offset } => {
                Kind::File { file, offset: offset.saturating_add(skipped) }
            }
            other => other,
        };
        Some(Self { pages, kind, ..*self })
    }

    /// Returns this mapping and the one above it as one, if `above` begins at its end and continues
    /// it in every respect.
    pub(crate) fn joined(&self, above: &Self) -> Option<Self> {
        let kind = match self.kind {
            Kind::File { file, offset } => {
                Kind::File { file, offset: offset.checked_add(self.pages.nr_pages())? }
            }
            other => other,
        };
        let next = Self { pages: above.pages, kind, ..*self };
        let pages = self.pages.joined(above.pages)?;
        (next == *above).then_some(Self { pages, ..*self })
    }
}

/// A step of a trace.
///
/// Events stand in the order in which the program made them. A trace lacks some of the program's
/// references, as the header's [`FilterShape`](super::FilterShape) allows. After an epoch's end or
/// a mapping change it lacks no access to a page until the first access to it. So young and dirty
/// bits are exact when an epoch ends and when a mapping changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Pages become mapped that were not.
    Map(Mapping),
    /// Pages, all of them mapped, are unmapped.
    Unmap(PageRange),
    /// Pages, all of them mapped, get other permissions.
    Protect {
        /// The pages.
        pages: PageRange,
        /// The accesses that are allowed from then on.
        permissions: Permissions,
    },
    /// Mapped pages move with their content (`mremap`) to an unmapped range.
    Remap {
        /// The pages, by their old numbers.
        pages: PageRange,
        /// The new number of the first.
        to: u64,
    },
    /// Mapped pages are dropped: anonymous content is lost, the mapping stays (`MADV_DONTNEED`).
    Discard(PageRange),
    /// A reference of the program to a page.
    Access {
        /// The page.
        page: Page,
        /// True if the reference is a store.
        store: bool,
        /// The number of references since that of the previous access, or since the first of the
        /// epoch; 0 if one reference touches two pages.
        after: u64,
    },
    /// The end of an epoch, after all its references.
    EpochEnd {
        /// The header's epoch length; less only in the last epoch.
        references: u64,
    },
}

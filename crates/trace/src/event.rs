//! What a trace says, one event at a time.

/// Page numbers are below this: 64 address bits less the smallest page shift.
pub const PAGE_LIMIT: u64 = 1 << 52;

/// The number of a virtual page: an address shifted right by the header's page shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page(u64);

impl Page {
    /// The page of this number, unless it is at or beyond [`PAGE_LIMIT`].
    pub const fn new(number: u64) -> Option<Self> {
        if number < PAGE_LIMIT { Some(Self(number)) } else { None }
    }

    /// The page that holds `address`, with pages of `1 << shift` bytes, `shift` at least 12.
    pub(crate) const fn of_address(address: u64, shift: u8) -> Self {
        Self((address >> shift) & (PAGE_LIMIT - 1))
    }

    /// The number itself.
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
    /// Pages `start..end`; `None` if that is empty, negative or beyond [`PAGE_LIMIT`].
    pub const fn new(start: u64, end: u64) -> Option<Self> {
        if start < end && end <= PAGE_LIMIT { Some(Self { start, end }) } else { None }
    }

    /// The range of one page.
    pub const fn single(page: Page) -> Self {
        Self { start: page.0, end: page.0 + 1 }
    }

    /// The number of the first page.
    pub const fn start(self) -> u64 {
        self.start
    }

    /// The number after the last page.
    pub const fn end(self) -> u64 {
        self.end
    }

    /// How many pages.
    pub const fn nr_pages(self) -> u64 {
        self.end - self.start
    }

    /// Whether `page` is one of them.
    pub const fn contains(self, page: Page) -> bool {
        self.start <= page.0 && page.0 < self.end
    }

    /// The pages of both ranges, if there are any.
    pub fn intersection(self, other: Self) -> Option<Self> {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// Both ranges as one, where `above` begins at the end of this one.
    pub(crate) fn joined(self, above: Self) -> Option<Self> {
        Self::new(self.start, above.end).filter(|_| self.end == above.start)
    }

    /// The same number of pages from page number `start` on, if that is within the limit.
    pub fn moved_to(self, start: u64) -> Option<Self> {
        Self::new(start, start.checked_add(self.nr_pages())?)
    }

    /// Every page, ascending.
    pub fn pages(self) -> impl Iterator<Item = Page> {
        (self.start..self.end).map(Page)
    }
}

/// What the program may do with a mapping's pages.
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
    /// Files count from 0 in the order in which the trace names them.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What backs a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Zero-filled memory from `mmap`, or the part of a program's data beyond its file.
    Anonymous,
    /// A file's pages.
    File {
        /// Which file.
        file: FileId,
        /// The page of the file behind the mapping's first page.
        offset: u64,
    },
    /// The main stack, or a thread's (`MAP_STACK`).
    Stack,
    /// Memory from `brk`.
    Heap,
    /// Nothing was seen to map these pages, but the program used them.
    Unknown,
}

/// A range of pages mapped alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// Which pages.
    pub pages: PageRange,
    /// What backs them.
    pub kind: Kind,
    /// What is allowed.
    pub permissions: Permissions,
    /// Stores are seen by other processes (`MAP_SHARED`).
    pub shared: bool,
}

impl Mapping {
    /// The part of this mapping inside `pages`, with the file offset of its first page.
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

    /// This mapping and the one above it as one, where `above` begins at its end and only
    /// continues it.
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

/// One step of a trace.
///
/// Events stand in the order in which the program made them. Of its references those are left out
/// that the header's [`FilterShape`](super::FilterShape) allows, and after an epoch's end or a
/// mapping change none before each page was accessed anew: young and dirty bits are exact when an
/// epoch ends and when a mapping changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Pages that were not mapped now are.
    Map(Mapping),
    /// Pages, all of them mapped, no longer are.
    Unmap(PageRange),
    /// Pages, all of them mapped, have other permissions now.
    Protect {
        /// Which pages.
        pages: PageRange,
        /// What is allowed from now on.
        permissions: Permissions,
    },
    /// Mapped pages move with their content (`mremap`) to where nothing is mapped.
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
        /// Which page.
        page: Page,
        /// It is stored to.
        store: bool,
        /// How many references further on than that of the access before, or than the first of
        /// the epoch; 0 where one reference touches two pages.
        after: u64,
    },
    /// So many references of the program have passed.
    EpochEnd {
        /// The header's epoch length; less only in the last epoch.
        references: u64,
    },
}

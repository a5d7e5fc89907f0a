//! The caller's memory: the size that an engine needs, and the tables it works in.

use crate::cgroup::Memcg;
use crate::folio::Folio;
use crate::id::MemcgId;
use crate::lru::mglru::BloomFilter;
use crate::lru::{Lruvec, Node};
use crate::mm::{Mapping, Mm, Vma};
use crate::page_cache::cache::ShadowEntry;
use crate::page_cache::{Slot, words_for};
use core::fmt;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use pageout_paging::table::Area;

/// The capacity of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The page frames, from the first that may hold a folio to the last. Frames of page tables
    /// need none. `add_folio` refuses a frame outside.
    pub frames: usize,
    /// The folios alive at once: as many as `frames`, since reclaim splits large ones. Without one
    /// a fault reclaims, and ends with `OutOfMemory` where that frees nothing.
    pub folios: usize,
    /// The VMAs of all processes, and two more for each call at work (`mremap`: three). `fork`
    /// takes as many as the parent has. Without one a call returns `MmapError` or `SpaceError`.
    pub vmas: usize,
    /// The address spaces at once, a child from the start of `fork`, one that has ended until
    /// aging walks have left it.
    pub mms: usize,
    /// The mappings at once: files mapped or in the index, shared memory, anonymous ones, and one
    /// for each family of processes that stores to private pages of files. Without one such a store
    /// ends with `OutOfMemory`.
    pub mappings: usize,
    /// The cgroups at once, in addition to the root.
    pub memcgs: usize,
    /// The nodes of memory, 1 to 16. Each cgroup has LRU lists on each.
    pub nodes: usize,
    /// The shadows of evicted pages: as many as `frames`, since later refaults do not matter. The
    /// oldest of four gives way.
    pub shadows: usize,
    /// The pages of swap. A page that came back keeps its slot while the swap cache has it. Without
    /// a slot pages stay in memory.
    pub slots: usize,
    /// The Bloom filters of page-table walks: two on each node for each cgroup whose address spaces
    /// the multi-generational LRU ages. Without a filter, walks enter every table.
    pub filters: usize,
}

impl Limits {
    /// No capacity, on one node: the base of a struct update.
    pub const NOTHING: Self = Self {
        frames: 0,
        folios: 0,
        vmas: 0,
        mms: 0,
        mappings: 0,
        memcgs: 0,
        nodes: 1,
        shadows: 0,
        slots: 0,
        filters: 0,
    };
}

/// The lengths of the slices that [`Memory`] takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The length of [`Memory::frames`]: 4 bytes a page.
    pub frames: usize,
    /// The length of [`Memory::pages`]: 1 byte a page.
    pub pages: usize,
    /// The length of [`Memory::folios`]: 64 bytes a folio.
    pub folios: usize,
    /// The length of [`Memory::tags`]: 65 bytes for 512 folios.
    pub tags: usize,
    /// The length of [`Memory::vmas`]: 112 bytes a VMA.
    pub vmas: usize,
    /// The length of [`Memory::mms`]: 64 bytes an address space.
    pub mms: usize,
    /// The length of [`Memory::mappings`]: 64 bytes a mapping.
    pub mappings: usize,
    /// The length of [`Memory::memcgs`], the root included.
    pub memcgs: usize,
    /// The length of [`Memory::nodes`].
    pub nodes: usize,
    /// The length of [`Memory::lruvecs`].
    pub lruvecs: usize,
    /// The length of [`Memory::shadows`]: 24 bytes a shadow.
    pub shadows: usize,
    /// The length of [`Memory::slots`]: 32 bytes a swap slot.
    pub slots: usize,
    /// The length of [`Memory::filters`]: 4 KiB a filter.
    pub filters: usize,
}

const _: () = assert!(size_of::<Folio>() <= 64, "at most 64 bytes a folio");

const _: () = assert!(size_of::<Slot>() == 32, "32 bytes a swap slot");

const _: () = assert!(size_of::<AtomicU32>() + size_of::<AtomicU8>() <= 6, "6 bytes a page");

impl Sizes {
    /// Returns the lengths that `limits` need.
    pub const fn for_limits(limits: &Limits) -> Self {
        Self {
            frames: limits.frames,
            pages: limits.frames,
            folios: limits.folios,
            tags: words_for(limits.folios),
            vmas: limits.vmas,
            mms: limits.mms,
            mappings: limits.mappings,
            memcgs: limits.memcgs + 1,
            nodes: limits.nodes,
            lruvecs: (limits.memcgs + 1) * limits.nodes,
            shadows: limits.shadows,
            slots: limits.slots,
            filters: limits.filters,
        }
    }

    /// Returns the total number of bytes.
    pub const fn bytes(&self) -> usize {
        self.frames * size_of::<AtomicU32>()
            + self.pages * size_of::<AtomicU8>()
            + self.folios * size_of::<Folio>()
            + self.tags * size_of::<AtomicU64>()
            + self.vmas * size_of::<Vma>()
            + self.mms * size_of::<Mm>()
            + self.mappings * size_of::<Mapping>()
            + self.memcgs * size_of::<Memcg>()
            + self.nodes * size_of::<Node>()
            + self.lruvecs * size_of::<Lruvec>()
            + self.shadows * size_of::<ShadowEntry>()
            + self.slots * size_of::<Slot>()
            + self.filters * size_of::<BloomFilter>()
    }
}

/// The caller's memory. Its contents are overwritten. [`Memory::carve`] cuts it from one run of
/// bytes.
#[derive(Debug)]
pub struct Memory<'m> {
    /// The folio of each frame.
    pub frames: &'m mut [AtomicU32],
    /// The state of each anonymous page.
    pub pages: &'m mut [AtomicU8],
    /// The folios.
    pub folios: &'m mut [Folio],
    /// A bit for each folio: those that lead to dirty ones.
    pub tags: &'m mut [AtomicU64],
    /// The VMAs.
    pub vmas: &'m mut [Vma],
    /// The address spaces.
    pub mms: &'m mut [Mm],
    /// The mappings.
    pub mappings: &'m mut [Mapping],
    /// The cgroups.
    pub memcgs: &'m mut [Memcg],
    /// The nodes.
    pub nodes: &'m mut [Node],
    /// The LRU lists of each cgroup on each node.
    pub lruvecs: &'m mut [Lruvec],
    /// The shadows of evicted pages of files.
    pub shadows: &'m mut [ShadowEntry],
    /// The swap slots.
    pub slots: &'m mut [Slot],
    /// The Bloom filters.
    pub filters: &'m mut [BloomFilter],
}

/// The alignment of each table's entries, in the order in which the tables are cut.
const ALIGNMENTS: [usize; 13] = [
    align_of::<Folio>(),
    align_of::<Memcg>(),
    align_of::<Node>(),
    align_of::<Lruvec>(),
    align_of::<Mm>(),
    align_of::<ShadowEntry>(),
    align_of::<Slot>(),
    align_of::<BloomFilter>(),
    align_of::<Vma>(),
    align_of::<Mapping>(),
    align_of::<AtomicU64>(),
    align_of::<AtomicU32>(),
    align_of::<AtomicU8>(),
];

// This order leaves no gap between two tables.
const _: () = {
    let mut k = 1;
    while k < ALIGNMENTS.len() {
        assert!(ALIGNMENTS[k - 1] >= ALIGNMENTS[k], "the largest alignment comes first");
        k += 1;
    }
};

impl<'m> Memory<'m> {
    /// Returns the number of bytes that [`Memory::carve`] needs for `limits`, whatever their
    /// alignment.
    pub const fn bytes_for(limits: &Limits) -> usize {
        Sizes::for_limits(limits).bytes() + (ALIGNMENTS[0] - 1)
    }

    /// Cuts all the tables that `limits` need from one run of bytes: a static, a range from a boot
    /// loader, or an allocation.
    ///
    /// ```
    /// use core::mem::MaybeUninit;
    /// use pageout_paging::Pfn;
    /// use pageout_reclaim::{Limits, MmState, Memory};
    ///
    /// const LIMITS: Limits = Limits { frames: 1024, folios: 256, mms: 8, ..Limits::NOTHING };
    /// let mut bytes = [const { MaybeUninit::uninit() }; Memory::bytes_for(&LIMITS)];
    /// let maps = MmState::new(Memory::carve(&mut bytes, &LIMITS)?, Pfn::new(0))?;
    /// # Ok::<(), pageout_reclaim::MemoryError>(())
    /// ```
    ///
    /// # Errors
    /// [`MemoryError::TooShort`] if the tables do not fit.
    pub fn carve(bytes: &'m mut [MaybeUninit<u8>], limits: &Limits) -> Result<Self, MemoryError> {
        let sizes = Sizes::for_limits(limits);
        let short = MemoryError::TooShort { found: bytes.len(), needed: Self::bytes_for(limits) };
        let mut area = Area::new(bytes);
        Self::cut(&mut area, &sizes).ok_or(short)
    }

    /// Cuts the tables in the order of [`ALIGNMENTS`].
    fn cut(area: &mut Area<'m>, sizes: &Sizes) -> Option<Self> {
        Some(Self {
            folios: area.take(sizes.folios)?,
            memcgs: area.take(sizes.memcgs)?,
            nodes: area.take(sizes.nodes)?,
            lruvecs: area.take(sizes.lruvecs)?,
            mms: area.take(sizes.mms)?,
            shadows: area.take(sizes.shadows)?,
            slots: area.take(sizes.slots)?,
            filters: area.take(sizes.filters)?,
            vmas: area.take(sizes.vmas)?,
            mappings: area.take(sizes.mappings)?,
            tags: area.take(sizes.tags)?,
            frames: area.take(sizes.frames)?,
            pages: area.take(sizes.pages)?,
        })
    }
}

/// The reason why the engine cannot work in the given memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MemoryError {
    /// A slice has more entries than can be numbered: 2^32 − 1 at most; 2^31 − 2 for folios and
    /// swap slots; 2^16 − 1 for cgroups; 16 for nodes. Frames end before frame 2^44.
    #[error("the table of {0} is too long to number its entries")]
    TooLong(TableKind),
    /// The tables that the limits ask for do not fit into the bytes given.
    #[error("the engine's tables take {needed} bytes, and {found} were given")]
    TooShort {
        /// The number of bytes given.
        found: usize,
        /// The number of bytes that is enough.
        needed: usize,
    },
    /// There is no tag for each folio.
    #[error("{folios} folios need {} words of tags", words_for(*.folios))]
    FewTags {
        /// The number of folios.
        folios: usize,
    },
    /// There is no room for the root cgroup.
    #[error("the table of cgroups has no room for the root")]
    NoRoot,
    /// There is no node.
    #[error("there is no node: memory lies on one at least")]
    NoNode,
    /// There are not as many LRU lists as cgroups on nodes.
    #[error("{memcgs} cgroups on {nodes} nodes need as many lruvecs, and {found} were given")]
    Lruvecs {
        /// The number of lruvecs given.
        found: usize,
        /// The number of cgroups, the root included.
        memcgs: usize,
        /// The number of nodes.
        nodes: usize,
    },
}

/// The kind of one of the caller's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableKind {
    /// [`Memory::frames`].
    Frames,
    /// [`Memory::folios`].
    Folios,
    /// [`Memory::vmas`].
    Vmas,
    /// [`Memory::mms`].
    Mms,
    /// [`Memory::mappings`].
    Mappings,
    /// [`Memory::memcgs`].
    Memcgs,
    /// [`Memory::nodes`].
    Nodes,
    /// [`Memory::shadows`].
    Shadows,
    /// [`Memory::slots`].
    Slots,
    /// [`Memory::filters`].
    Filters,
}

impl fmt::Display for TableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Frames => "frames",
            Self::Folios => "folios",
            Self::Vmas => "VMAs",
            Self::Mms => "address spaces",
            Self::Mappings => "mappings",
            Self::Memcgs => "cgroups",
            Self::Nodes => "nodes",
            Self::Shadows => "shadows",
            Self::Slots => "swap slots",
            Self::Filters => "Bloom filters",
        })
    }
}

/// The error that one of the caller's tables is full, or that a frame lies outside of it (ENOMEM).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no room in the table of {0}")]
pub struct OutOfTable(pub TableKind);

/// The error that an id names nothing in its table: what it named has ended, or the id was given
/// out by another engine (EINVAL).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the id names nothing in the table of {0}: it has ended, or another engine gave it out")]
pub struct BadId(pub TableKind);

/// The reason why references were not given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The folio is gone.
    #[error(transparent)]
    BadId(#[from] BadId),
    /// The caller drops more references than it holds: the rest would not cover the entries that
    /// map the folio, and the index or the swap cache.
    #[error("the caller drops more references than it holds")]
    TooMany,
    /// There are other references, such as that of an entry that maps the folio (EBUSY).
    #[error("there are other references to the folio")]
    InUse,
}

/// The resource that ran out (ENOMEM), after reclaim if that can help.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OutOfMemory {
    /// No frame is free for a page. If nothing in progress will free one, kernels end a process.
    #[error("no frame is free")]
    Frames,
    /// [`Frames::alloc_table`](crate::Frames::alloc_table) returned no frame.
    #[error("no frame for a page table")]
    PageTables,
    /// An engine's table is full.
    #[error(transparent)]
    Table(#[from] OutOfTable),
    /// The given cgroup is at its limit. Kernels end one of its processes then.
    #[error("cgroup {} is at its limit", .0.index())]
    Limit(MemcgId),
    /// A swap slot is named by as many entries as can be counted.
    #[error("the number of entries that name a swap slot is at its maximum")]
    SlotEntries,
}

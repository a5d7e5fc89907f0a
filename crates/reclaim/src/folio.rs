//! Folios: the unit of reclaim, 2^order frames with one state.

use crate::id::{LruvecNr, MappingNr, MemcgNr, NodeId, SwapSlot};
use crate::lock::{Lock, WriteGuard};
use crate::recency::Recency;
use core::ops::Range;
use core::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire,
    Ordering::Relaxed, Ordering::Release,
};
use pageout_paging::{Order, Pfn};

/// The number of zones of physical memory.
pub const MAX_NR_ZONES: usize = 3;

bitflags::bitflags! {
    /// The state of a folio, with the kernel's names.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct FolioFlags: u32 {
        /// Backed by swap, if by anything (anonymous and shared memory).
        const SWAPBACKED = 1 << 0;
        /// Locked into memory.
        const MLOCKED = 1 << 1;
        /// Watched by idle-page tracking.
        const IDLE = 1 << 2;
        /// Counted as young once, since idle-page tracking cleared a young bit.
        const YOUNG = 1 << 3;
        /// Device memory, which is never on an LRU list.
        const ZONE_DEVICE = 1 << 4;
        /// Anonymous memory.
        const ANON = 1 << 5;
        /// Different from its copy in storage.
        const DIRTY = 1 << 6;
        /// Being written out.
        const WRITEBACK = 1 << 7;
        /// Being read in.
        const READING = 1 << 8;
        /// Read: its content is valid.
        const UPTODATE = 1 << 9;
        /// In the swap cache, with [`Folio::swap`] as its first slot.
        const SWAPCACHE = 1 << 10;
        /// Failed in its last transfer.
        const ERROR = 1 << 11;
        /// In the index of its file or of shared memory (Linux: `folio->mapping` is set).
        const INDEXED = 1 << 12;
    }
}

bitflags::bitflags! {
    /// The folio's state among the LRU lists. It is written under the lock of its lruvec, or by the
    /// task that isolated it.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct LruFlags: u16 {
        /// On a list.
        const LRU = 1 << 0;
        /// Active: on the active list, or to be put there.
        const ACTIVE = 1 << 1;
        /// Unevictable: on the unevictable list, or to be put there.
        const UNEVICTABLE = 1 << 2;
    }
}

/// The shift in the word of [`LruFlags`] at which the generation of the folio's list is, counted
/// from 1.
const LISTED_SHIFT: u32 = 8;
/// The bits of that word that have the generation.
const LISTED: u16 = 0xf << LISTED_SHIFT;
/// The shift in the word of [`LruFlags`] at which the node is.
const NODE_SHIFT: u32 = 12;

/// The shift of the first frame in its word. Its number has at most 44 bits: addresses have 56
/// (RISC-V privileged specification, Sv39 to Sv57), offsets in pages 12.
const PFN_SHIFT: u32 = 20;
/// The bits of the word of the first frame that have the generation.
const GENERATION: u64 = (1 << PFN_SHIFT) - 1;

/// The number of frames that folios can be in, from frame 0 on.
pub(crate) const MAX_FRAMES: u64 = 1 << (u64::BITS - PFN_SHIFT);

/// Returns the place of a frame in its word.
#[inline]
pub(crate) fn placed(pfn: Pfn) -> u64 {
    debug_assert!(pfn.get() < MAX_FRAMES, "a frame's number has 44 bits");
    pfn.get() << PFN_SHIFT
}

/// The state of one folio, in one cache line of 64 bytes. Flags are plain stores under the folio's
/// lock. The state among the lists is written under the lruvec's lock, or by the task that isolated
/// the folio. Anyone may change the record of its use, by a read-modify-write.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Folio {
    index: AtomicU64,
    /// The first frame, and below it the generation of the table entry, which is odd while the
    /// entry is in use.
    pfn: AtomicU64,
    /// The mapping, or for a free folio the next free one.
    pub(crate) mapping: AtomicU32,
    mapcount: AtomicU32,
    refs: AtomicU32,
    flags: AtomicU32,
    lock: Lock,
    lru: AtomicU16,
    recency: AtomicU16,
    /// The neighbours on the folio's list; see `list`.
    pub(crate) prev: AtomicU32,
    pub(crate) next: AtomicU32,
    /// The head of the bucket of the file index that this table entry keeps. It has nothing to do
    /// with the folio in the entry, if there is one.
    pub(crate) bucket: AtomicU32,
    /// The next in the chain of the bucket that the folio is in.
    pub(crate) chain: AtomicU32,
    swap: AtomicU32,
    memcg: AtomicU16,
    order: AtomicU8,
    /// True if an entry that was dirty was taken out without the folio's lock.
    dirtied: AtomicBool,
}

/// The guard of a folio's lock.
#[derive(Debug)]
pub struct FolioGuard<'a> {
    folio: &'a Folio,
    lock: WriteGuard<'a>,
}

impl Folio {
    #[inline]
    pub(crate) fn init(
        &self,
        pfn: Pfn,
        order: Order,
        mapping: MappingNr,
        index: u64,
        flags: FolioFlags,
        node: NodeId,
    ) {
        let generation = (self.pfn.load(Relaxed) & GENERATION) + 1;
        self.pfn.store(placed(pfn) | generation, Relaxed);
        self.order.store(order.get(), Relaxed);
        self.index.store(index, Relaxed);
        self.flags.store(flags.bits(), Relaxed);
        self.dirtied.store(false, Relaxed);
        self.mapcount.store(0, Relaxed);
        self.refs.store(1, Relaxed);
        self.lru.store(u16::from(node.0) << NODE_SHIFT, Relaxed);
        self.recency.store(0, Relaxed);
        self.memcg.store(MemcgNr::NONE.0, Relaxed);
        self.mapping.store(mapping.0, Relaxed);
    }

    /// Makes this free entry the `k`-th page of a frozen folio, with that folio's state, and
    /// without references.
    pub(crate) fn init_page_of(&self, whole: &Folio, k: usize) {
        let (pfn, index) = (whole.pfn().add(k as u64), whole.index() + k as u64);
        self.init(pfn, Order::default(), whole.mapping(), index, whole.flags(), whole.node());
        self.refs.store(0, Relaxed);
        self.dirtied.store(whole.is_dirtied(), Relaxed);
        self.lru.store(whole.lru.load(Relaxed), Relaxed);
        self.recency.store(whole.recency.load(Relaxed), Relaxed);
        self.memcg.store(whole.memcg.load(Relaxed), Relaxed);
    }

    /// Reduces a frozen folio to its first page.
    pub(crate) fn keep_first_page(&self) {
        self.order.store(0, Relaxed);
    }

    /// Returns the first frame. It stays the same as long as an entry maps the folio, or there is a
    /// reference that migration does not know of.
    #[inline]
    pub fn pfn(&self) -> Pfn {
        Pfn::new(self.pfn.load(Relaxed) >> PFN_SHIFT)
    }

    /// Moves the folio, which is on no list, to other frames. If they lie on another node, the
    /// caller holds the lock of the lists that it would be put on.
    pub(crate) fn set_pfn(&self, pfn: Pfn, node: NodeId) {
        let generation = self.pfn.load(Relaxed) & GENERATION;
        self.pfn.store(placed(pfn) | generation, Relaxed);
        let lru = self.lru.load(Relaxed) & ((1 << NODE_SHIFT) - 1);
        self.lru.store(lru | u16::from(node.0) << NODE_SHIFT, Relaxed);
    }

    /// Returns the node of the folio's frames.
    #[inline]
    pub fn node(&self) -> NodeId {
        NodeId((self.lru.load(Relaxed) >> NODE_SHIFT) as u8)
    }

    /// Returns the name of the lists that the folio is on or would be put on.
    #[inline]
    pub(crate) fn lruvec(&self) -> LruvecNr {
        LruvecNr { memcg: self.memcg(), node: self.node() }
    }

    /// Makes the table entry free, with its first generation.
    pub(crate) fn clear_generation(&self) {
        self.pfn.store(0, Relaxed);
    }

    /// Ends the entry's use, or keeps it free if it was taken and not put into use. The first frame
    /// is lost.
    #[inline]
    pub(crate) fn end_generation(&self) {
        self.pfn.store((self.pfn.load(Relaxed) | 1).wrapping_add(1), Relaxed);
    }

    /// Returns the generation of the table entry: odd while it is in use.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        (self.pfn.load(Acquire) & GENERATION) as u32
    }

    /// Returns true if no frame of the folio is before the one whose place is `start`.
    #[inline]
    pub(crate) fn is_from(&self, start: u64) -> bool {
        start <= self.pfn.load(Relaxed)
    }

    /// Returns the size.
    #[inline]
    pub fn order(&self) -> Order {
        Order::new(self.order.load(Relaxed)).expect("a folio's order is one")
    }

    /// Returns the number of pages, a power of two.
    #[inline]
    pub fn nr_pages(&self) -> usize {
        1 << self.order.load(Relaxed)
    }

    /// Returns the offset of the first page in the mapping
    /// ([`MmState::mapping_of`](crate::MmState::mapping_of)), in pages.
    #[inline]
    pub fn index(&self) -> u64 {
        self.index.load(Relaxed)
    }

    /// Returns the folio's range of pages in its mapping.
    #[inline]
    pub(crate) fn range(&self) -> Range<u64> {
        self.index()..self.index() + self.nr_pages() as u64
    }

    /// Returns the entry of the mapping in which [`Folio::index`] is an offset.
    #[inline]
    pub(crate) fn mapping(&self) -> MappingNr {
        MappingNr(self.mapping.load(Relaxed))
    }

    /// Stores the place. Callers use `MmState::set_place`, which counts it.
    pub(crate) fn set_place(&self, mapping: MappingNr, index: u64) {
        self.mapping.store(mapping.0, Relaxed);
        self.index.store(index, Relaxed);
    }

    /// Returns the number of entries that map the folio. A PMD leaf counts once.
    #[inline]
    pub fn mapcount(&self) -> u32 {
        self.mapcount.load(Relaxed)
    }

    /// Returns the number of references. Each mapping entry holds one, and so does the file index
    /// or the swap cache. A task that isolated the folio from a list holds one, and the task that
    /// allocated it does until it gives that up. The holder of the last one that reads 1 sees all
    /// that was done under the others.
    #[inline]
    pub fn refs(&self) -> u32 {
        self.refs.load(Acquire)
    }

    /// Returns the flags.
    #[inline]
    pub fn flags(&self) -> FolioFlags {
        FolioFlags::from_bits_retain(self.flags.load(Relaxed))
    }

    /// Returns the folio's state among the LRU lists.
    #[inline]
    pub fn lru(&self) -> LruFlags {
        LruFlags::from_bits_truncate(self.lru.load(Relaxed))
    }

    /// Returns the generation on whose list the folio is. It may differ from the folio's own
    /// generation: the folio stays on its list until eviction finds it. Written under the lruvec's
    /// lock.
    #[inline]
    pub fn listed_in(&self) -> Option<usize> {
        match (self.lru.load(Relaxed) & LISTED) >> LISTED_SHIFT {
            0 => None,
            n => Some(usize::from(n - 1)),
        }
    }

    #[inline]
    pub(crate) fn set_listed_in(&self, generation: Option<usize>) {
        let n = generation.map_or(0, |generation| generation as u16 + 1);
        let others = self.lru.load(Relaxed) & !LISTED;
        self.lru.store(others | n << LISTED_SHIFT, Relaxed);
    }

    /// Changes the state among the lists. The caller holds the lruvec's lock, or has isolated the
    /// folio.
    #[inline]
    pub(crate) fn update_lru(&self, set: LruFlags, clear: LruFlags) {
        let word = self.lru.load(Relaxed);
        self.lru.store((word | set.bits()) & !clear.bits(), Relaxed);
    }

    /// Returns the record of the folio's use.
    #[inline]
    pub fn recency(&self) -> Recency {
        Recency(self.recency.load(Relaxed))
    }

    /// Changes the record of the folio's use, and returns the old one. Anyone may call this at any
    /// time. If `change` returns `None`, the record stays, and is returned as the error.
    #[inline]
    pub(crate) fn update_recency(
        &self,
        change: impl Fn(Recency) -> Option<Recency>,
    ) -> Result<Recency, Recency> {
        let changed =
            self.recency.fetch_update(Relaxed, Relaxed, |now| change(Recency(now)).map(|r| r.0));
        changed.map(Recency).map_err(Recency)
    }

    /// Sets and clears parts of the record of the folio's use, and returns the old record. It
    /// stores only if something changes.
    #[inline]
    pub fn note_use(&self, set: Recency, clear: Recency) -> Recency {
        let change = |now: Recency| {
            let new = now.with(set, clear);
            (new != now).then_some(new)
        };
        self.update_recency(change).unwrap_or_else(|same| same)
    }

    /// Returns the cgroup that the folio is charged to, or the root if it is not charged.
    #[inline]
    pub(crate) fn memcg(&self) -> MemcgNr {
        match MemcgNr(self.memcg.load(Relaxed)) {
            MemcgNr::NONE => MemcgNr::ROOT,
            memcg => memcg,
        }
    }

    /// Returns true if the folio is charged to a cgroup.
    #[inline]
    pub(crate) fn is_charged(&self) -> bool {
        MemcgNr(self.memcg.load(Relaxed)) != MemcgNr::NONE
    }

    #[inline]
    pub(crate) fn set_memcg(&self, memcg: MemcgNr) {
        self.memcg.store(memcg.0, Relaxed);
    }

    /// Moves the charge from one cgroup to another. Returns false if it is not charged to the
    /// first.
    pub(crate) fn move_memcg(&self, from: MemcgNr, to: MemcgNr) -> bool {
        self.memcg.compare_exchange(from.0, to.0, Relaxed, Relaxed).is_ok()
    }

    /// Removes the charge, and returns the cgroup it was charged to.
    #[inline]
    pub(crate) fn take_memcg(&self) -> Option<MemcgNr> {
        let memcg = MemcgNr(self.memcg.swap(MemcgNr::NONE.0, Relaxed));
        (memcg != MemcgNr::NONE).then_some(memcg)
    }

    /// Returns the first swap slot, which is valid while [`FolioFlags::SWAPCACHE`] is set.
    #[inline]
    pub fn swap(&self) -> SwapSlot {
        SwapSlot(self.swap.load(Relaxed))
    }

    #[inline]
    pub(crate) fn set_swap(&self, slot: SwapSlot) {
        self.swap.store(slot.0, Relaxed);
    }

    /// Takes the folio's lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<FolioGuard<'_>> {
        self.lock.try_write().map(|lock| FolioGuard { folio: self, lock })
    }

    /// Returns the guard of a folio that the caller left locked by [`FolioGuard::leak_lock`].
    #[inline]
    pub(crate) fn assume_locked(&self) -> FolioGuard<'_> {
        FolioGuard { folio: self, lock: self.lock.still_written() }
    }

    /// Changes flags. The caller holds the folio's lock.
    #[inline]
    pub(crate) fn update_flags(&self, set: FolioFlags, clear: FolioFlags) {
        self.flags.store(((self.flags() | set) - clear).bits(), Relaxed);
    }

    pub(crate) fn add_mappings(&self, nr: u32) {
        self.refs.fetch_add(nr, Relaxed);
        self.mapcount.fetch_add(nr, Relaxed);
    }

    /// Takes a reference. Returns false if there is none left: the folio is being freed.
    #[inline]
    pub(crate) fn try_get(&self) -> bool {
        let taken = self
            .refs
            .fetch_update(Relaxed, Relaxed, |refs| if refs == 0 { None } else { Some(refs + 1) });
        taken.is_ok()
    }

    /// Gives up `nr` references. Returns true if they were the last: the caller frees the folio.
    #[inline]
    #[must_use]
    pub(crate) fn put(&self, nr: u32) -> bool {
        let before = self.refs.fetch_sub(nr, AcqRel);
        debug_assert!(before >= nr, "{before} references cover the {nr} given up");
        before == nr
    }

    /// Returns true if the references that are left after `nr` cover the entries that map the
    /// folio, and the index or the swap cache.
    pub(crate) fn can_spare(&self, nr: u32) -> bool {
        let refs = self.refs();
        let cached = self.flags().intersects(FolioFlags::INDEXED | FolioFlags::SWAPCACHE);
        refs >= nr.saturating_add(self.mapcount()).saturating_add(u32::from(cached))
    }

    /// Drops all `expected` references at once, so that no one can take another. Returns false and
    /// changes nothing if their number differs (the kernel's `folio_ref_freeze`).
    #[inline]
    pub(crate) fn freeze(&self, expected: u32) -> bool {
        self.refs.compare_exchange(expected, 0, AcqRel, Relaxed).is_ok()
    }

    /// Gives back the references that [`Folio::freeze`] dropped.
    #[inline]
    pub(crate) fn unfreeze(&self, refs: u32) {
        self.refs.store(refs, Release);
    }

    /// Takes `nr` references. The caller holds one already, so the folio exists.
    #[inline]
    pub(crate) fn get(&self, nr: u32) {
        self.refs.fetch_add(nr, Relaxed);
    }

    /// Notes that an entry is dirty, or was when it was taken out, without telling flushers
    /// (`MmState::note_dirty` does).
    #[inline]
    pub(crate) fn note_dirty(&self) {
        self.dirtied.store(true, Release);
    }

    /// Returns true if the folio may differ from its copy in storage, as far as is known without
    /// its lock.
    #[inline]
    pub(crate) fn may_be_dirty(&self) -> bool {
        // In this order: `FolioGuard::is_dirty` turns the one into the other.
        self.is_dirtied() || self.flags().contains(FolioFlags::DIRTY)
    }

    /// Returns true if the folio was noted to be dirty since the flags were last brought up to
    /// date.
    #[inline]
    pub(crate) fn is_dirtied(&self) -> bool {
        self.dirtied.load(Acquire)
    }

    /// Subtracts `nr` mapping entries. Their references pass to the caller.
    #[inline]
    pub(crate) fn sub_mapcount(&self, nr: u32) {
        let before = self.mapcount.fetch_sub(nr, Relaxed);
        assert!(before >= nr, "mapcount {before} covers the {nr} entries removed");
    }

    #[inline]
    pub(crate) fn remove_mappings(&self, nr: u32) {
        self.sub_mapcount(nr);
        // This comes last: from here on the folio may be freed and used anew.
        self.refs.fetch_sub(nr, Release);
    }
}

impl<'a> FolioGuard<'a> {
    /// Returns the folio.
    pub fn folio(&self) -> &'a Folio {
        self.folio
    }

    /// Leaves the folio locked, for [`Folio::assume_locked`]: for batches whose folios are known
    /// only by their numbers.
    #[inline]
    pub(crate) fn leak_lock(self) {
        self.lock.stay();
    }

    /// Sets flags, with a plain store. To make a file's folio dirty, call
    /// [`MmState::note_dirty`](crate::MmState::note_dirty) instead, so that flushers find it.
    #[inline]
    pub fn set(&self, flags: FolioFlags) {
        self.folio.update_flags(flags, FolioFlags::empty());
    }

    /// Clears flags, with a plain store, and returns those of them that were set.
    #[inline]
    pub fn test_and_clear(&self, flags: FolioFlags) -> FolioFlags {
        let were = self.folio.flags() & flags;
        self.folio.update_flags(FolioFlags::empty(), flags);
        were
    }

    /// Makes the folio clean without writing it, since its content is no longer needed.
    #[inline]
    pub(crate) fn forget_dirty(&self) {
        self.folio.dirtied.store(false, Relaxed);
        self.test_and_clear(FolioFlags::DIRTY);
    }

    /// Brings [`FolioFlags::DIRTY`] up to date with entries taken out meanwhile, and returns true
    /// if it is set.
    #[inline]
    pub fn is_dirty(&self) -> bool {
        if self.folio.is_dirtied() {
            self.set(FolioFlags::DIRTY);
            self.folio.dirtied.store(false, Release);
        }
        self.folio.flags().contains(FolioFlags::DIRTY)
    }
}

/// The kind of a mapping's pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappingKind {
    /// Pages of a file, shared by every VMA that maps them (the kernel's `address_space`).
    File,
    /// Pages shared by every VMA that maps them, with no file behind them. A page that is not in
    /// memory is in swap; one that was never stored to is zeros (Linux 7.3.4, mm/shmem.c: shared
    /// anonymous mappings, memfd, tmpfs).
    Shmem,
    /// Anonymous memory of one process and those forked from it. Kernels have chained `anon_vma`s,
    /// one for each process. One for the whole family only makes walks visit VMAs that map none of
    /// a folio.
    Anon,
}

impl MappingKind {
    /// Returns the flags that every folio of such a mapping has.
    pub fn folio_flags(self) -> FolioFlags {
        match self {
            Self::File => FolioFlags::empty(),
            Self::Shmem => FolioFlags::SWAPBACKED,
            Self::Anon => FolioFlags::ANON | FolioFlags::SWAPBACKED,
        }
    }
}

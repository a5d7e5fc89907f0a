//! Folios: the unit of reclaim, 2^order frames with one state.

use crate::id::{MappingId, MemcgId, SwapSlot};
use crate::lock::{Lock, WriteGuard};
use crate::recency::Recency;
use core::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire,
    Ordering::Relaxed, Ordering::Release,
};
use pageout_paging::{Order, Pfn};

bitflags::bitflags! {
    /// State of a folio, named as kernels name it.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct FolioFlags: u32 {
        /// Swap, if anything, backs it (anonymous and shared memory).
        const SWAPBACKED = 1 << 0;
        /// Locked into memory.
        const MLOCKED = 1 << 1;
        /// Being watched by idle-page tracking.
        const IDLE = 1 << 2;
        /// Idle-page tracking cleared a young bit: counts as young once.
        const YOUNG = 1 << 3;
        /// Device memory: never on an LRU list.
        const ZONE_DEVICE = 1 << 4;
        /// Anonymous memory.
        const ANON = 1 << 5;
        /// Content differs from what backs it.
        const DIRTY = 1 << 6;
        /// Being written out.
        const WRITEBACK = 1 << 7;
        /// Being read in.
        const READING = 1 << 8;
        /// Content is valid.
        const UPTODATE = 1 << 9;
        /// In the swap cache: [`Folio::swap`] is its first slot.
        const SWAPCACHE = 1 << 10;
        /// Its last write-out failed.
        const ERROR = 1 << 11;
        /// In the index of its file or of shared memory (Linux: `folio->mapping` is set).
        const INDEXED = 1 << 12;
    }
}

bitflags::bitflags! {
    /// Where a folio stands among the LRU lists. Written under the lock of its lruvec, or by
    /// whoever isolated it.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct LruFlags: u16 {
        /// On a list.
        const LRU = 1 << 0;
        /// Active: of the active list, or to be put there.
        const ACTIVE = 1 << 1;
        /// Of the unevictable list, or to be put there.
        const UNEVICTABLE = 1 << 2;
    }
}

/// Where the word of [`LruFlags`] keeps the generation on whose list the folio is, from 1.
const LISTED_SHIFT: u32 = 8;

/// One folio's state, one cache line of 64 bytes. Flags are plain stores by whoever holds the
/// folio's lock; its standing on the lists, by whoever holds the lruvec's lock or has isolated the
/// folio; what is known of its use is a read-modify-write of anyone's.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Folio {
    index: AtomicU64,
    pfn: AtomicU64,
    /// The mapping, or for a free folio the next free one.
    pub(crate) mapping: AtomicU32,
    mapcount: AtomicU32,
    refs: AtomicU32,
    flags: AtomicU32,
    lock: Lock,
    lru: AtomicU16,
    recency: AtomicU16,
    /// Neighbours on the list it is on; see `list`.
    pub(crate) prev: AtomicU32,
    pub(crate) next: AtomicU32,
    /// The first folio of the bucket of the file index that this table entry keeps, whatever folio
    /// the entry is or whether it is one.
    pub(crate) bucket: AtomicU32,
    /// The next folio of its own bucket.
    pub(crate) chain: AtomicU32,
    swap: AtomicU32,
    memcg: AtomicU16,
    order: AtomicU8,
    /// A dirty entry was taken out by someone without the folio's lock.
    dirtied: AtomicBool,
}

/// A folio's lock, held.
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
        mapping: MappingId,
        index: u64,
        flags: FolioFlags,
    ) {
        self.pfn.store(pfn.get(), Relaxed);
        self.order.store(order.get(), Relaxed);
        self.index.store(index, Relaxed);
        self.flags.store(flags.bits(), Relaxed);
        self.dirtied.store(false, Relaxed);
        self.mapcount.store(0, Relaxed);
        self.refs.store(1, Relaxed);
        self.lru.store(0, Relaxed);
        self.recency.store(0, Relaxed);
        self.memcg.store(MemcgId::NONE.0, Relaxed);
        self.mapping.store(mapping.0, Relaxed);
    }

    /// Makes this free entry the `k`-th page of a frozen folio: all that is known of that, and no
    /// references either.
    pub(crate) fn init_page_of(&self, whole: &Folio, k: usize) {
        let (pfn, index) = (whole.pfn().add(k as u64), whole.index() + k as u64);
        self.init(pfn, Order::default(), whole.mapping(), index, whole.flags());
        self.refs.store(0, Relaxed);
        self.dirtied.store(whole.is_dirtied(), Relaxed);
        self.lru.store(whole.lru.load(Relaxed), Relaxed);
        self.recency.store(whole.recency.load(Relaxed), Relaxed);
        self.memcg.store(whole.memcg.load(Relaxed), Relaxed);
    }

    /// Leaves a frozen folio its first page alone.
    pub(crate) fn keep_first_page(&self) {
        self.order.store(0, Relaxed);
    }

    /// First frame: the same for as long as there is a reference that migration does not know of,
    /// or an entry that maps the folio.
    #[inline]
    pub fn pfn(&self) -> Pfn {
        Pfn::new(self.pfn.load(Relaxed))
    }

    pub(crate) fn set_pfn(&self, pfn: Pfn) {
        self.pfn.store(pfn.get(), Relaxed);
    }

    /// Size.
    #[inline]
    pub fn order(&self) -> Order {
        Order::new(self.order.load(Relaxed)).expect("a folio's order is one")
    }

    /// Pages, a power of two.
    #[inline]
    pub fn nr_pages(&self) -> usize {
        1 << self.order.load(Relaxed)
    }

    /// Offset of the first page in the mapping, in pages.
    #[inline]
    pub fn index(&self) -> u64 {
        self.index.load(Relaxed)
    }

    /// Whose page offsets [`Folio::index`] counts.
    #[inline]
    pub fn mapping(&self) -> MappingId {
        MappingId(self.mapping.load(Relaxed))
    }

    /// Makes it hold the pages of `mapping` from page `index` on. The caller holds its lock, and no
    /// entry maps it.
    pub(crate) fn set_place(&self, mapping: MappingId, index: u64) {
        self.mapping.store(mapping.0, Relaxed);
        self.index.store(index, Relaxed);
    }

    /// Entries that map the folio; a PMD leaf counts once.
    #[inline]
    pub fn mapcount(&self) -> u32 {
        self.mapcount.load(Relaxed)
    }

    /// References: one a mapping entry, one of the file index or the swap cache, one of whoever
    /// isolated it from a list, one of whoever allocated it until that is given up. Whoever holds
    /// the last one and reads 1 sees all that was done under the others.
    #[inline]
    pub fn refs(&self) -> u32 {
        self.refs.load(Acquire)
    }

    /// Flags.
    #[inline]
    pub fn flags(&self) -> FolioFlags {
        FolioFlags::from_bits_retain(self.flags.load(Relaxed))
    }

    /// Where it stands among the LRU lists.
    #[inline]
    pub fn lru(&self) -> LruFlags {
        LruFlags::from_bits_truncate(self.lru.load(Relaxed))
    }

    /// The generation on whose list it is, which need not be the one it is in: the list is left as
    /// it is until eviction meets the folio. Written under the lruvec's lock.
    #[inline]
    pub fn listed_in(&self) -> Option<usize> {
        match self.lru.load(Relaxed) >> LISTED_SHIFT {
            0 => None,
            n => Some(usize::from(n - 1)),
        }
    }

    #[inline]
    pub(crate) fn set_listed_in(&self, generation: Option<usize>) {
        let n = generation.map_or(0, |generation| generation as u16 + 1);
        let flags = self.lru.load(Relaxed) & ((1 << LISTED_SHIFT) - 1);
        self.lru.store(flags | n << LISTED_SHIFT, Relaxed);
    }

    /// Changes where it stands. The caller holds the lruvec's lock, or has isolated the folio.
    #[inline]
    pub(crate) fn update_lru(&self, set: LruFlags, clear: LruFlags) {
        let word = self.lru.load(Relaxed);
        self.lru.store((word | set.bits()) & !clear.bits(), Relaxed);
    }

    /// What is known of its use.
    #[inline]
    pub fn recency(&self) -> Recency {
        Recency(self.recency.load(Relaxed))
    }

    /// Changes what is known of its use, at any time, by anyone: what it was before. `None` from
    /// `change` leaves it as it is.
    #[inline]
    pub(crate) fn update_recency(
        &self,
        change: impl Fn(Recency) -> Option<Recency>,
    ) -> Result<Recency, Recency> {
        let changed =
            self.recency.fetch_update(Relaxed, Relaxed, |now| change(Recency(now)).map(|r| r.0));
        changed.map(Recency).map_err(Recency)
    }

    /// Sets and clears some of what is known of its use, with no store where nothing changes: what
    /// it was before.
    #[inline]
    pub fn note_use(&self, set: Recency, clear: Recency) -> Recency {
        let change = |now: Recency| {
            let new = now.with(set, clear);
            (new != now).then_some(new)
        };
        self.update_recency(change).unwrap_or_else(|same| same)
    }

    /// The cgroup it is charged to; the root for a folio that is charged to none.
    #[inline]
    pub fn memcg(&self) -> MemcgId {
        match MemcgId(self.memcg.load(Relaxed)) {
            MemcgId::NONE => MemcgId::ROOT,
            memcg => memcg,
        }
    }

    /// Whether it is charged to a cgroup.
    #[inline]
    pub(crate) fn is_charged(&self) -> bool {
        MemcgId(self.memcg.load(Relaxed)) != MemcgId::NONE
    }

    #[inline]
    pub(crate) fn set_memcg(&self, memcg: MemcgId) {
        self.memcg.store(memcg.0, Relaxed);
    }

    /// Moves the charge from one cgroup to another, unless it is no longer there.
    pub(crate) fn move_memcg(&self, from: MemcgId, to: MemcgId) -> bool {
        self.memcg.compare_exchange(from.0, to.0, Relaxed, Relaxed).is_ok()
    }

    /// Takes the charge away: whose it was.
    #[inline]
    pub(crate) fn take_memcg(&self) -> Option<MemcgId> {
        let memcg = MemcgId(self.memcg.swap(MemcgId::NONE.0, Relaxed));
        (memcg != MemcgId::NONE).then_some(memcg)
    }

    /// Its first swap slot, while [`FolioFlags::SWAPCACHE`] is set.
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

    /// The guard of a folio that [`FolioGuard::stay_locked`] left locked, by whoever locked it.
    #[inline]
    pub(crate) fn still_locked(&self) -> FolioGuard<'_> {
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

    /// Takes a reference, unless there is none left: then the folio is being freed.
    #[inline]
    pub(crate) fn try_get(&self) -> bool {
        let taken = self
            .refs
            .fetch_update(Relaxed, Relaxed, |refs| if refs == 0 { None } else { Some(refs + 1) });
        taken.is_ok()
    }

    /// Gives up `nr` references; whether they were the last, so that the caller frees the folio.
    #[inline]
    #[must_use]
    pub(crate) fn put(&self, nr: u32) -> bool {
        let before = self.refs.fetch_sub(nr, AcqRel);
        debug_assert!(before >= nr, "{before} references cover the {nr} given up");
        before == nr
    }

    /// Drops all `expected` references at once, so that no one can take another; false, and
    /// nothing changed, if there are more (the kernel's `folio_ref_freeze`).
    #[inline]
    pub(crate) fn freeze(&self, expected: u32) -> bool {
        self.refs.compare_exchange(expected, 0, AcqRel, Relaxed).is_ok()
    }

    /// Gives back the references that [`Folio::freeze`] dropped.
    #[inline]
    pub(crate) fn unfreeze(&self, refs: u32) {
        self.refs.store(refs, Release);
    }

    /// Takes `nr` references. The caller holds one, so the folio is in being.
    #[inline]
    pub(crate) fn get(&self, nr: u32) {
        self.refs.fetch_add(nr, Relaxed);
    }

    /// Notes that an entry was found dirty as it was taken out, or a device's was, before its
    /// reference is given up: whoever then holds all references that are left sees it. Needs no
    /// lock, since the table's is held.
    #[inline]
    pub fn note_dirty(&self) {
        self.dirtied.store(true, Release);
    }

    /// Whether [`Folio::note_dirty`] was called since the flags were last brought up to date.
    #[inline]
    pub(crate) fn is_dirtied(&self) -> bool {
        self.dirtied.load(Acquire)
    }

    /// Counts `nr` mapping entries less. Their references pass to the caller.
    #[inline]
    pub(crate) fn take_mappings(&self, nr: u32) {
        let before = self.mapcount.fetch_sub(nr, Relaxed);
        assert!(before >= nr, "mapcount {before} covers the {nr} entries removed");
    }

    #[inline]
    pub(crate) fn remove_mappings(&self, nr: u32) {
        self.take_mappings(nr);
        // After all else: from here on the folio may be freed and used anew.
        self.refs.fetch_sub(nr, Release);
    }
}

impl<'a> FolioGuard<'a> {
    /// The folio.
    pub fn folio(&self) -> &'a Folio {
        self.folio
    }

    /// Leaves the folio locked, for [`Folio::still_locked`]: one of a batch, of which each is known
    /// by its number alone.
    #[inline]
    pub(crate) fn stay_locked(self) {
        self.lock.stay();
    }

    /// Sets flags, with a plain store.
    #[inline]
    pub fn set(&self, flags: FolioFlags) {
        self.folio.update_flags(flags, FolioFlags::empty());
    }

    /// Clears flags, with a plain store; which of them were set.
    #[inline]
    pub fn test_and_clear(&self, flags: FolioFlags) -> FolioFlags {
        let were = self.folio.flags() & flags;
        self.folio.update_flags(FolioFlags::empty(), flags);
        were
    }

    /// Makes the folio clean without writing it: its content is not needed any more.
    #[inline]
    pub(crate) fn forget_dirty(&self) {
        self.folio.dirtied.store(false, Relaxed);
        self.test_and_clear(FolioFlags::DIRTY);
    }

    /// Brings [`FolioFlags::DIRTY`] up to date with entries taken out meanwhile; whether it is set.
    #[inline]
    pub fn is_dirty(&self) -> bool {
        if self.folio.is_dirtied() {
            self.folio.dirtied.store(false, Relaxed);
            self.set(FolioFlags::DIRTY);
        }
        self.folio.flags().contains(FolioFlags::DIRTY)
    }
}

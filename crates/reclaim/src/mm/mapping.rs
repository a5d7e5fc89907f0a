//! Mappings: files, shared memory and anonymous memory, whose pages VMAs map.

use crate::folio::MappingKind;
use crate::life::Generation;
use crate::lock::{Lock, QueuedLock};
use crate::world::IoError;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::Order;

/// The pages that VMAs map runs of, and the reverse map: an interval tree of these VMAs by page
/// offset.
#[derive(Debug, Default)]
pub struct Mapping {
    pub(crate) lock: QueuedLock,
    /// The lock of the places of its pages, in the file index and in swap.
    pub(crate) places: QueuedLock,
    /// The top of the tree of VMAs. A free mapping has none, so that a late reader finds none.
    pub(super) vmas: AtomicU32,
    /// The number of folios and of swap slots that name the mapping. Folios may outlive it: its
    /// number keeps the count of them.
    pub(crate) named: AtomicU32,
    /// The number of address spaces whose private copies of files' pages are here.
    pub(crate) users: AtomicU32,
    /// The orders of the folios that the file index ever had of it, one bit each. In a free
    /// mapping, the next free one.
    pub(crate) orders: AtomicU32,
    pub(super) generation: Generation,
    kind: AtomicU8,
    order: AtomicU8,
    /// The errors of writes since they were last taken, one bit for each [`IoError`].
    write_errors: AtomicU8,
    size: AtomicU64,
    /// The end of the pages that the index has had since the mapping was last truncated there.
    pub(crate) past: AtomicU64,
    /// A salt of its shadows' keys. It changes when shadows kept under its number must not be found
    /// any more.
    pub(crate) salt: AtomicU32,
}

impl Mapping {
    pub(super) fn init(&self, kind: MappingKind) {
        self.kind.store(kind as u8, Relaxed);
        self.past.store(0, Relaxed);
        self.forget_shadows();
        self.order.store(0, Relaxed);
        self.write_errors.store(0, Relaxed);
        self.size.store(u64::MAX, Relaxed);
        self.users.store(0, Relaxed);
        self.orders.store(0, Relaxed);
    }

    /// Makes all shadows that were kept for its pages unfindable.
    pub(crate) fn forget_shadows(&self) {
        self.salt.store(self.salt.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Returns the largest order of the folios that faults make for it; 0 at first.
    #[inline]
    pub fn order(&self) -> Order {
        Order::new(self.order.load(Relaxed)).unwrap_or_default()
    }

    /// Sets the largest order of the folios that faults make for it from now on.
    pub fn set_order(&self, order: Order) {
        self.order.store(order.get(), Relaxed);
    }

    /// Returns the number of pages it has, from page 0. It is `u64::MAX` at first, which means no
    /// end.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size.load(Relaxed)
    }

    /// Sets the number of pages of a file or shared memory: its bytes, rounded up to pages. A fault
    /// past the end, where nothing is mapped, is refused
    /// ([`Fault::PastEnd`](crate::Fault::PastEnd)). A fault before the end maps no page past it,
    /// whatever folio has that page (Linux 7.3.4, `i_size` in filemap_fault, filemap_map_pages and
    /// finish_fault). Kernels let a PMD leaf of shared memory reach past it. Pages that are mapped
    /// stay so: after shrinking, call [`Engine::truncate`](crate::Engine::truncate).
    pub fn set_size(&self, pages: u64) {
        self.size.store(pages, Relaxed);
    }

    pub(crate) fn note_write_error(&self, error: IoError) {
        self.write_errors.fetch_or(1 << error as u8, Relaxed);
    }

    /// Returns an error of the writes of its pages since the last call, for fsync or close to
    /// report; a device's failure comes before others (Linux, filemap_check_errors).
    pub fn take_write_error(&self) -> Option<IoError> {
        let errors = self.write_errors.swap(0, Relaxed);
        IoError::ALL.into_iter().find(|error| errors & 1 << *error as u8 != 0)
    }

    /// Returns the kind of the pages.
    #[inline]
    pub fn kind(&self) -> MappingKind {
        const SHMEM: u8 = MappingKind::Shmem as u8;
        const ANON: u8 = MappingKind::Anon as u8;
        match self.kind.load(Relaxed) {
            ANON => MappingKind::Anon,
            SHMEM => MappingKind::Shmem,
            _ => MappingKind::File,
        }
    }

    /// Returns the lock of the reverse map, for a caller that changes the VMAs' mappings. Reclaim
    /// only tries this lock, and keeps a folio whose reverse map is locked.
    pub fn lock(&self) -> &Lock {
        self.lock.unqueued()
    }
}

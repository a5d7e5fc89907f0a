//! The environment: the ground that the engine runs on, passed with each call.

use crate::mmu::Mmu;
use crate::notifier::Notifier;
use crate::observer::Observer;
use crate::pte::Format;
use crate::rules::Rules;
use crate::table::Table;
use crate::{Pfn, mmu::Asid};
use core::sync::atomic::AtomicU32;

/// A ground that the engine runs on: host memory, a modelled machine, a kernel.
///
/// `examples/hypervisor.rs` has one, and makes with it the calls that need one: young checks,
/// walks, and making tables. It is cheap to consult and holds no policy. The engine has no
/// conditional compilation for any ground: every difference between grounds is behind this trait.
pub trait Env {
    /// The entry format of the tables.
    type Format: Format;
    /// The handle to one table.
    type Table: Table;
    /// TLB maintenance.
    type Mmu: Mmu;
    /// The soundness decisions: [`Sound`](crate::Sound), except where a test injects a bug.
    type Rules: Rules;
    /// The type of the observer; `()` for none.
    type Observer: Observer;
    /// The guard of a table's lock (the kernel's PTL).
    type TableGuard<'a>
    where
        Self: 'a;

    /// Returns the handle of the table in `frame`.
    fn table(&self, frame: Pfn) -> Self::Table;
    /// Returns the TLB maintenance.
    fn mmu(&self) -> &Self::Mmu;
    /// Takes the lock of the table in `frame` if it is free.
    fn try_lock_table(&self, frame: Pfn) -> Option<Self::TableGuard<'_>>;
    /// Takes the lock of the table in `frame`, waiting for it. The default tries, and calls
    /// [`Env::relax`] between tries; an environment whose lock has a queue enters it here.
    #[inline]
    fn lock_table(&self, frame: Pfn) -> Self::TableGuard<'_> {
        loop {
            if let Some(guard) = self.try_lock_table(frame) {
                return guard;
            }
            self.relax();
        }
    }
    /// Returns true if tasks that wait for a lock of the engine get it in the order in which they
    /// came, as in kernels, where nobody is preempted who waits for one. Threads and virtual CPUs
    /// may be preempted between two tries, and all behind would wait for them: false lets the first
    /// have it that tries. The default is true.
    fn locks_in_order(&self) -> bool {
        true
    }
    /// Returns the secondary MMUs that mirror the address space, if there are any.
    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier>;
    /// Waits between two tries for a lock, or pauses in a long call that holds none: spins, waits
    /// for an event, or yields.
    fn relax(&self);
    /// Waits for a lock that another task may hold long, until `word` is no longer `seen`. It may
    /// return earlier, and is called again then. A kernel checks the word under the lock of a wait
    /// queue that it finds by the word's address, and sleeps in it, as futexes do; then it has
    /// [`Env::wake`] too. The default is [`Env::relax`].
    #[inline]
    fn sleep(&self, word: &AtomicU32, seen: u32) {
        let _ = (word, seen);
        self.relax();
    }
    /// Wakes all tasks that sleep until `word` changes, which it has. The default does nothing.
    #[inline]
    fn wake(&self, word: &AtomicU32) {
        let _ = word;
    }
    /// Returns true if another task waits for this CPU. A walk of page tables then stops at its
    /// next PUD, to be resumed (Linux 7.3.4, walk_pud_range). The default is false.
    #[inline]
    fn need_resched(&self) -> bool {
        false
    }
    /// Takes note of damage that a call found in its own state or in what the environment gave it.
    /// An embedder halts here, or logs and returns; the default panics.
    #[cold]
    fn corrupted(&self, damage: &dyn core::error::Error) {
        panic!("{damage}");
    }
    /// Returns the observer, which is notified of the engine's stages.
    fn observer(&self) -> &Self::Observer;
}

/// A table whose lock is held. Every function that changes entries requires one.
pub struct LockedTable<'e, E: Env + 'e> {
    table: E::Table,
    ahead: Option<E::Table>,
    _guard: E::TableGuard<'e>,
}

impl<'e, E: Env> LockedTable<'e, E> {
    /// Takes the lock of the table in `frame`, waiting for it.
    #[inline]
    pub fn lock(env: &'e E, frame: Pfn) -> Self {
        let guard = env.lock_table(frame);
        Self { table: env.table(frame), ahead: None, _guard: guard }
    }

    /// Takes the lock of the table in `frame` if it is free.
    #[inline]
    pub fn try_lock(env: &'e E, frame: Pfn) -> Option<Self> {
        let guard = env.try_lock_table(frame)?;
        Some(Self { table: env.table(frame), ahead: None, _guard: guard })
    }

    /// Sets the table that a sweep in address order will reach after this one. The young check of
    /// the `line` algorithm prefetches from it; prefetching further ahead does not pay.
    #[must_use]
    pub fn prefetching(self, ahead: Option<E::Table>) -> Self {
        Self { ahead, ..self }
    }

    /// Returns the handle.
    pub fn table(&self) -> E::Table {
        self.table
    }

    /// Returns the table set by [`LockedTable::prefetching`].
    pub fn ahead(&self) -> Option<E::Table> {
        self.ahead
    }
}

//! The environment: the ground that the engine runs on, passed with each call.

use crate::mmu::Mmu;
use crate::notifier::Notifier;
use crate::observer::Observer;
use crate::pte::Format;
use crate::rules::Rules;
use crate::table::Table;
use crate::{Pfn, mmu::Asid};

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
    /// Returns the secondary MMUs that mirror the address space, if there are any.
    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier>;
    /// Waits between two tries for a lock, or pauses in a long call that holds none: spins, waits
    /// for an event, or yields.
    fn relax(&self);
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
        loop {
            if let Some(locked) = Self::try_lock(env, frame) {
                return locked;
            }
            env.relax();
        }
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

//! The environment: what the engine runs on, passed with each call.

use crate::mmu::Mmu;
use crate::notifier::Notifier;
use crate::observer::Observer;
use crate::pte::Format;
use crate::rules::Rules;
use crate::table::Table;
use crate::{Pfn, mmu::Asid};

/// A ground the engine stands on: host memory, a modelled machine, a kernel.
///
/// `examples/hypervisor.rs` has one, and calls with it what takes one: young checks, walks, and
/// what makes tables. It is `Copy`-cheap to consult and holds no policy. The engine has no
/// conditional compilation for any ground: everything a ground does differently is behind this
/// trait.
pub trait Env {
    /// The entry format of the tables.
    type Format: Format;
    /// The handle to one table.
    type Table: Table;
    /// TLB maintenance.
    type Mmu: Mmu;
    /// The soundness decisions; [`Sound`](crate::Sound) but for exhibits of known bugs.
    type Rules: Rules;
    /// Who is told what the engine does; `()` for no one.
    type Observer: Observer;
    /// What holds a table's lock (the kernel's PTL) until dropped.
    type TableGuard<'a>
    where
        Self: 'a;

    /// The handle of the table in `frame`.
    fn table(&self, frame: Pfn) -> Self::Table;
    /// TLB maintenance.
    fn mmu(&self) -> &Self::Mmu;
    /// Takes the lock of the table in `frame` if it is free.
    fn try_lock_table(&self, frame: Pfn) -> Option<Self::TableGuard<'_>>;
    /// The secondary MMUs that mirror the address space, if there are any.
    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier>;
    /// Called between two tries for a lock: spin, wait for an event, or yield.
    fn relax(&self);
    /// Whether another task waits for this CPU: a walk of page tables then stops at its next PUD,
    /// to be resumed (Linux 7.3.4, walk_pud_range). By default never.
    #[inline]
    fn need_resched(&self) -> bool {
        false
    }
    /// Who is told what the engine does.
    fn observer(&self) -> &Self::Observer;
}

/// A table whose lock is held. Whatever changes entries demands one.
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

    /// Names the table that a sweep in address order will reach after this one. The young check of
    /// the `line` family prefetches from it, one table being as far ahead as pays.
    #[must_use]
    pub fn prefetching(self, ahead: Option<E::Table>) -> Self {
        Self { ahead, ..self }
    }

    /// The handle.
    pub fn table(&self) -> E::Table {
        self.table
    }

    /// The table named by [`LockedTable::prefetching`].
    pub fn ahead(&self) -> Option<E::Table> {
        self.ahead
    }
}

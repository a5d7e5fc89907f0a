//! What the machine knows of tasks.

use crate::Time;
use crate::account::NodeId;
use crate::core_set::CoreId;
use crate::fabric::Pending;
use crate::task::LockId;
use pageout_paging::mmu::Asid;
use std::cell::{Cell, RefCell};

/// A task, by its number in the order in which tasks were given to
/// [`Machine::run`](crate::Machine::run).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub u32);

/// Why a task does not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// It runs, or waits for a core.
    Runnable,
    /// It waits for this time.
    Until(Time),
    /// It waits to be woken; for what.
    Blocked(&'static str),
    Done,
}

/// What the machine knows of a task.
pub(crate) struct TaskState {
    pub(crate) name: String,
    pub(crate) pinned: Option<CoreId>,
    pub(crate) status: Cell<Status>,
    /// Where it runs or last ran.
    pub(crate) core: Cell<CoreId>,
    /// It was given its core, and what that took is not charged yet.
    pub(crate) switched: Cell<bool>,
    /// It was woken before it blocked.
    pub(crate) token: Cell<bool>,
    /// What it runs in user mode.
    pub(crate) mm: Cell<Option<Asid>>,
    /// What it does.
    pub(crate) node: Cell<NodeId>,
    /// The lock it waits for, spinning.
    pub(crate) spins_for: Cell<Option<LockId>>,
    /// Invalidations by interrupts that it has queued or put off.
    pub(crate) pending: RefCell<Pending>,
}

impl TaskState {
    pub(crate) fn new(name: String, pinned: Option<CoreId>, core: CoreId, node: NodeId) -> Self {
        Self {
            name,
            pinned,
            status: Cell::new(Status::Blocked("its beginning")),
            core: Cell::new(core),
            switched: Cell::new(false),
            token: Cell::new(false),
            mm: Cell::new(None),
            node: Cell::new(node),
            spins_for: Cell::new(None),
            pending: RefCell::default(),
        }
    }
}

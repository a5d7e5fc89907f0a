//! The state that the machine keeps of tasks.

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

/// The state of a task: able to run, waiting or done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// The task runs, or waits for a core.
    Runnable,
    /// The task waits for this time.
    Until(Time),
    /// The task waits to be woken; the text says for what.
    Blocked(&'static str),
    Done,
}

/// The state that the machine keeps of a task.
pub(crate) struct TaskState {
    pub(crate) name: String,
    pub(crate) pinned: Option<CoreId>,
    pub(crate) status: Cell<Status>,
    /// The core where the task runs or last ran.
    pub(crate) core: Cell<CoreId>,
    /// True if the task was given its core and the time of the switch is not charged yet.
    pub(crate) switched: Cell<bool>,
    /// True if the task was woken before it blocked.
    pub(crate) token: Cell<bool>,
    /// The address space that the task runs in user mode.
    pub(crate) mm: Cell<Option<Asid>>,
    /// The node of the task's current activity.
    pub(crate) node: Cell<NodeId>,
    /// The lock the task waits for, spinning.
    pub(crate) spins_for: Cell<Option<LockId>>,
    /// The invalidations by interrupts that it has queued or put off.
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

//! The locks that were ever taken.

use crate::core_set::CoreId;
use crate::sched::TaskId;
use std::collections::HashMap;
use std::fmt;

/// A lock, by a number that the caller chooses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LockId(pub u64);

impl LockId {
    /// A lock that the machine does not know: software says only that it waits for one.
    pub const ANY: Self = Self(u64::MAX);
}

impl fmt::Display for LockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ANY => f.write_str("a lock"),
            Self(number) => write!(f, "lock {number:#x}"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lock {
    pub(super) holder: Option<TaskId>,
    /// The core that took it last, whose cache has its line.
    pub(super) last: CoreId,
}

/// All locks that were ever taken.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    pub(super) all: HashMap<LockId, Lock>,
    /// The turns of waiting since the last check of progress, and the progress by then.
    pub(super) spins: u64,
    pub(super) seen: u64,
}

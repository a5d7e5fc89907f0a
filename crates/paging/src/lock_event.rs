//! Events of the engine's own locks, for grounds that price them.

/// A lock of the engine's. Locks of page tables are the environment's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LockWord {
    /// The name of the lock's rank.
    pub rank: &'static str,
    /// A number that no other lock has as long as this one exists.
    pub number: usize,
    /// True for a reader's hold, beside which there may be others.
    pub shared: bool,
}

/// An event of a lock on the calling CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockEvent {
    /// The CPU is about to try to take the lock.
    Try,
    /// The last try failed, and the CPU is about to call [`Env::relax`](crate::Env::relax).
    Wait,
    /// The last try succeeded: the CPU holds the lock.
    Hold,
    /// The CPU is about to release the lock.
    Release,
}

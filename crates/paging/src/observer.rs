//! The observer, which is notified of the engine's stages.

use crate::lock_event::{LockEvent, LockWord};
use crate::stage::Stage;

/// An observer that attributes time to the engine's stages, for profiles of an embedder's own.
/// Nothing depends on it. `()` is no observer.
///
/// An environment names its observer ([`Env::observer`](crate::Env::observer)), so that an
/// environment that wraps another cannot forget to pass notifications on.
pub trait Observer {
    /// Notes that the engine enters a stage. The default does nothing.
    #[inline]
    fn enter(&self, _stage: Stage) {}

    /// Does `check`, with which an aging walk checks one run of a folio's entries. It shows the
    /// limits of a run to a ground with prices for software, which it cannot see from the tables.
    #[inline(always)] // so that one entry costs as little as the single check
    fn check_run<R>(&self, check: impl FnOnce() -> R) -> R {
        check()
    }

    /// Notes an event of one of the engine's locks, except those of folios. The default does
    /// nothing.
    #[inline]
    fn lock(&self, _event: LockEvent, _lock: LockWord) {}
}

impl Observer for () {}

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

    /// Notes that an aging walk begins to check one run of a folio's entries. A ground with prices
    /// for software cannot see the limits of a run from the tables. The default does nothing.
    #[inline]
    fn begin_run(&self) {}

    /// Notes that the check of a run has ended. The default does nothing.
    #[inline]
    fn end_run(&self) {}

    /// Notes an event of one of the engine's locks, except those of folios. The default does
    /// nothing.
    #[inline]
    fn lock(&self, _event: LockEvent, _lock: LockWord) {}
}

impl Observer for () {}

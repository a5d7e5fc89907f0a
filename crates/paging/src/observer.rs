//! Who is told what the engine does.

use crate::stage::Stage;

/// Whoever attributes time to what the engine does. Nothing depends on it. `()` is no one.
///
/// An environment names its observer ([`Env::observer`](crate::Env::observer)), so that one that
/// wraps another cannot forget to pass on what is told.
pub trait Observer {
    /// The engine enters a stage.
    fn enter(&self, stage: Stage);

    /// Does `check`, with which an aging walk checks one run of a folio's entries: a ground that
    /// prices software cannot see from the tables where a run begins and ends.
    #[inline(always)] // one entry is to cost what the single check costs
    fn check_run<R>(&self, check: impl FnOnce() -> R) -> R {
        check()
    }
}

impl Observer for () {
    #[inline]
    fn enter(&self, _stage: Stage) {}
}

//! The messages that travel to every core.

use crate::core_set::CoreId;
use pageout_paging::mmu::Invalidate;

/// A broadcast invalidation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub(crate) issuer: CoreId,
    pub(crate) what: Invalidate,
}

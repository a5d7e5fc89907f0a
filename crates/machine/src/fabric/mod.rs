//! How cores are told to forget translations, and what they have loaded.

mod asid;
mod broadcast;
mod ipi;
mod range;

pub(crate) use asid::Identifiers;
pub(crate) use ipi::{Pending, RoundId, Rounds, TRIM_EVERY};

use crate::Time;
use crate::core::{Core, CoreId, Mm};
use crate::machine::Machine;
use crate::platform::{Invalidation, InvalidationPrices};
use pageout_paging::Format;
use pageout_paging::mmu::{Asid, Invalidate};

/// A broadcast invalidation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub(crate) issuer: CoreId,
    pub(crate) what: Invalidate,
}

/// What a core runs in user mode, and which address spaces its TLB keeps apart.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The address space in its registers.
    pub(crate) mm: Option<Asid>,
    /// It is loaded, but nothing of it runs: invalidations may wait until something does.
    pub(crate) lazy: bool,
    /// The address spaces that have a tag, and up to which generation each is flushed (x86 with
    /// PCID); without tags, the one that is loaded.
    tags: Vec<(Asid, u64)>,
    slots: usize,
    /// The tag given away next.
    next: usize,
    /// Hardware identifiers were given anew: all is flushed at the next switch (arm64).
    flush_pending: bool,
}

impl Loaded {
    pub(crate) fn new(slots: u8) -> Self {
        let slots = usize::from(slots).max(1);
        let tags = Vec::new();
        Self { mm: None, lazy: false, tags, slots, next: 0, flush_pending: false }
    }
}

impl<F: Format> Machine<'_, F> {
    /// The core has switched to a task of the address space, or to one without (`None`: a thread of
    /// the kernel, or nothing).
    pub(crate) fn switch_in(&self, core: &Core<'_, F>, mm: Option<Asid>) {
        match (self.setup.shape.invalidation, self.setup.prices.invalidation) {
            (Invalidation::Broadcast(shape), InvalidationPrices::Broadcast(_)) => {
                if let Some(asid) = mm {
                    self.load_broadcast(core, shape, asid);
                }
            }
            (Invalidation::Ipi(shape), InvalidationPrices::Ipi(prices)) => match mm {
                Some(asid) => self.load_ipi(core, shape, prices, asid),
                None => core.loaded.borrow_mut().lazy = shape.lazy,
            },
            _ => unreachable!("prices of the shape's architecture"),
        }
    }

    /// Removes what an invalidation names from a core's TLB.
    fn apply(&self, core: &Core<'_, F>, what: Invalidate, now: Time) {
        let removed = core.tlb.borrow_mut().forget(what, now);
        crate::account::count_by(&core.tally.removed, removed as u64);
    }

    /// Changes what is known of an address space.
    ///
    /// # Panics
    /// If it was never loaded.
    fn with_mm<T>(&self, asid: Asid, f: impl FnOnce(&mut Mm) -> T) -> T {
        let mut mms = self.mms.borrow_mut();
        f(mms.get_mut(&asid.0).unwrap_or_else(|| panic!("{asid:?} was never loaded")))
    }
}

//! The fabric: it carries invalidations to cores, and knows the address spaces that they have
//! loaded.

mod asid;
mod broadcast;
mod ipi;
mod load;
mod loaded;
mod message;
mod range;
mod rounds;

pub(crate) use load::Traffic;
pub use load::{Fabric, FabricLoad, Sent};
pub(crate) use loaded::{Identifiers, Loaded};
pub(crate) use message::Message;
pub(crate) use rounds::{Pending, RoundId, Rounds, TRIM_EVERY};

use crate::Time;
use crate::core::{Core, Mm};
use crate::machine::Machine;
use crate::platform::{Invalidation, InvalidationPrices};
use pageout_paging::Format;
use pageout_paging::mmu::{Asid, Invalidate};

impl<F: Format> Machine<'_, F> {
    /// Switches the core to a task of the address space; `None` is a kernel thread, or no task at
    /// all.
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

    /// Changes the state of an address space.
    ///
    /// # Panics
    /// If it was never loaded.
    fn with_mm<T>(&self, asid: Asid, f: impl FnOnce(&mut Mm) -> T) -> T {
        let mut mms = self.mms.borrow_mut();
        f(mms.get_mut(&asid.0).unwrap_or_else(|| panic!("{asid:?} was never loaded")))
    }
}

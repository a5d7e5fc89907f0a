//! Hardware identifiers of address spaces on arm64: no switch flushes, but they run out.

use super::Loaded;
use crate::account::count;
use crate::core::{Core, Mm};
use crate::machine::Machine;
use crate::platform::Broadcast;
use pageout_paging::Format;
use pageout_paging::mmu::Asid;

impl<F: Format> Machine<'_, F> {
    /// Loads an address space, and gives it an identifier if it has none of this generation. A core
    /// that has not flushed since the generation began does so (Linux 7.3.4,
    /// check_and_switch_context).
    pub(super) fn load_broadcast(&self, core: &Core<'_, F>, shape: Broadcast, asid: Asid) {
        let identifiers = &self.identifiers;
        if identifiers.generation.get() == 0 {
            identifiers.generation.set(1);
        }
        let its = self.with_mm(asid, |mm| mm.asid_generation);
        if its != identifiers.generation.get() {
            // Identifier 0 belongs to no address space.
            if identifiers.given.get() == (1 << shape.asid_bits) - 1 {
                self.roll_over(core);
            }
            identifiers.given.set(identifiers.given.get() + 1);
            self.with_mm(asid, |mm| mm.asid_generation = identifiers.generation.get());
        }
        let mut loaded = core.loaded.borrow_mut();
        if std::mem::take(&mut loaded.flush_pending) {
            count(&core.tally.local_full);
            core.tlb.borrow_mut().forget_all_but_global(core.clock.get());
        }
        loaded.mm = Some(asid);
    }

    /// Begins a generation: what runs keeps its identifier, and every core must flush.
    fn roll_over(&self, core: &Core<'_, F>) {
        count(&core.tally.rollovers);
        let generation = self.identifiers.generation.get() + 1;
        self.identifiers.generation.set(generation);
        self.identifiers.given.set(0);
        for other in &self.cores {
            let mut loaded: std::cell::RefMut<'_, Loaded> = other.loaded.borrow_mut();
            loaded.flush_pending = true;
            let Some(running) = loaded.mm else { continue };
            let keeps = |mm: &mut Mm| std::mem::replace(&mut mm.asid_generation, generation);
            if self.with_mm(running, keeps) != generation {
                self.identifiers.given.set(self.identifiers.given.get() + 1);
            }
        }
    }
}

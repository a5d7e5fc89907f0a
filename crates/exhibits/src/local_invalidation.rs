use crate::harness::Subject;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::{Mmu, Sound, Table};

/// Constructed: invalidations reach only the CPU that issues them.
///
/// On arm64 it is `TLBI VALE1` in place of `VALE1IS`; on x86, a flush that sends no interrupts. One
/// CPU sees no fault, but on others translations outlive their entries.
#[derive(Clone, Copy, Debug)]
pub struct LocalInvalidation;

/// An MMU whose invalidations stay on this CPU.
#[derive(Clone, Copy, Debug)]
pub struct LocalMmu<M>(M);

impl<M: Mmu> Mmu for LocalMmu<M> {
    fn caps(&self) -> Caps {
        self.0.caps()
    }

    fn invalidate(&self, what: Invalidate) {
        self.0.invalidate_local(what);
    }

    fn barrier(&self, barrier: Barrier) {
        self.0.barrier(barrier);
    }

    fn invalidate_local(&self, what: Invalidate) {
        self.0.invalidate_local(what);
    }

    fn remote(&self, asid: Asid) -> bool {
        self.0.remote(asid)
    }

    fn defer(&self, asid: Asid) {
        self.0.defer(asid);
    }
}

impl Subject for LocalInvalidation {
    type Rules = Sound;
    type Table<T: Table> = T;
    type Mmu<M: Mmu> = LocalMmu<M>;

    fn table<T: Table>(table: T) -> T {
        table
    }

    fn mmu<M: Mmu>(mmu: M) -> LocalMmu<M> {
        LocalMmu(mmu)
    }
}

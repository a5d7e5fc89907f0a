//! The environment of a check: a world, and the code under check in it.

use super::World;
use super::world::WorldTable;
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Format, Notifier, Pfn, Rules};
use std::marker::PhantomData;

/// A world in which the code runs under the rules `R`.
pub struct Ground<'w, R, F> {
    world: &'w World<F>,
    rules: PhantomData<R>,
}

impl<'w, R, F> Ground<'w, R, F> {
    /// Returns the ground over `world`.
    pub const fn new(world: &'w World<F>) -> Self {
        Self { world, rules: PhantomData }
    }
}

/// A table's lock, held.
pub struct Guard<'w, F: Format> {
    world: &'w World<F>,
    frame: Pfn,
}

impl<F: Format> Drop for Guard<'_, F> {
    fn drop(&mut self) {
        self.world.unlock(self.frame);
    }
}

impl<'w, R: Rules, F: Format> Env for Ground<'w, R, F> {
    type Format = F;
    type Table = WorldTable<'w, F>;
    type Mmu = World<F>;
    type Rules = R;
    type Observer = ();
    type TableGuard<'a>
        = Guard<'w, F>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> Self::Table {
        self.world.table(frame)
    }

    fn mmu(&self) -> &World<F> {
        self.world
    }

    fn try_lock_table(&self, frame: Pfn) -> Option<Guard<'w, F>> {
        let world = self.world;
        world.try_lock(frame).then_some(Guard { world, frame })
    }

    fn notifier(&self, _asid: Asid) -> Option<&dyn Notifier> {
        self.world.has_secondary().then_some(self.world as &dyn Notifier)
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {
        // There is only one thread: to wait for a lock would never end.
        panic!("a table's lock is taken twice");
    }
}

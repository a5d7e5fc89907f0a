//! The environment of a check: a world, and the code under check in it.

use super::{Subject, World};
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Format, Notifier, Pfn};
use std::marker::PhantomData;

/// A world in which the code runs under `S`.
pub struct Ground<'w, S, F> {
    world: &'w World<F>,
    subject: PhantomData<S>,
}

impl<'w, S, F> Ground<'w, S, F> {
    /// Returns the ground over `world`.
    pub const fn new(world: &'w World<F>) -> Self {
        Self { world, subject: PhantomData }
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

impl<'w, S: Subject, F: Format> Env for Ground<'w, S, F> {
    type Format = F;
    type Table = S::Table<super::world::WorldTable<'w, F>>;
    type Mmu = World<F>;
    type Rules = S::Rules;
    type Observer = ();
    type TableGuard<'a>
        = Guard<'w, F>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> Self::Table {
        S::table(self.world.table(frame))
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

use crate::harness::Subject;
use pageout_paging::table::{LINE, Table};
use pageout_paging::{Mmu, Pte, Sound};

/// Constructed: bits are cleared by a load and a store.
///
/// Bits that hardware sets between the two are overwritten: the dirty bit of a write, so that a
/// modified page is dropped as clean, or the young bit of an access. That is why kernels clear by
/// one atomic operation wherever hardware manages the bits (the reason for Linux's compare-and-swap
/// loop in arm64's `__ptep_test_and_clear_young`).
#[derive(Clone, Copy, Debug)]
pub struct LoadAndStore;

/// A table whose clears are a load and a store.
#[derive(Clone, Copy, Debug)]
pub struct TornTable<T>(T);

impl<T: Table> Table for TornTable<T> {
    fn load(self, i: usize) -> Pte {
        self.0.load(i)
    }

    fn line(self, i: usize) -> [u64; LINE] {
        self.0.line(i)
    }

    fn test_and_clear_bit(self, i: usize, bit: u64) -> bool {
        let old = self.0.load(i);
        self.0.set(i, Pte(old.0 & !bit));
        old.0 & bit != 0
    }

    fn clear_bits(self, i: usize, bits: u64) {
        let old = self.0.load(i);
        self.0.set(i, Pte(old.0 & !bits));
    }

    fn cas(self, i: usize, old: Pte, new: Pte) -> Result<(), Pte> {
        let found = self.0.load(i);
        if found != old {
            return Err(found);
        }
        self.0.set(i, new);
        Ok(())
    }

    fn swap(self, i: usize, new: Pte) -> Pte {
        let old = self.0.load(i);
        self.0.set(i, new);
        old
    }

    fn set(self, i: usize, pte: Pte) {
        self.0.set(i, pte);
    }

    fn prefetch_write(self, i: usize) {
        self.0.prefetch_write(i);
    }
}

impl Subject for LoadAndStore {
    type Rules = Sound;
    type Table<T: Table> = TornTable<T>;
    type Mmu<M: Mmu> = M;

    fn table<T: Table>(table: T) -> TornTable<T> {
        TornTable(table)
    }

    fn mmu<M: Mmu>(mmu: M) -> M {
        mmu
    }
}

//! The rules of the translations that a TLB holds, each as a test.

use super::tables::{Map, Tables};
use super::{A, B, PLAIN, level, page};
use crate::Time;
use crate::tlb::{FaultKind, Found, Tlb, TlbShape, Walk, Walks};
use pageout_paging::mmu::{Caps, Invalidate};
use pageout_paging::pte::{SmallArm2, SmallArm4, SmallRiscv, SmallX86};
use pageout_paging::{Format, Pte};

const WIDE: TlbShape = TlbShape { l1: level(1, 8), walk_cache: 8, ..PLAIN };

/// A TLB over tables, in which time passes with each access.
struct Core<'a, F: Format> {
    tables: &'a Tables<F>,
    tlb: Tlb<'a, F>,
    caps: Caps,
    now: u64,
}

impl<'a, F: Format> Core<'a, F> {
    fn new(tables: &'a Tables<F>, shape: &TlbShape) -> Self {
        Self { tables, tlb: Tlb::new(shape, tables.all()), caps: Caps::IDEAL, now: 0 }
    }

    fn find(&mut self, page: u64, store: bool) -> Found {
        self.now += 10;
        self.tlb.find(A, Tables::<F>::address(page), store, Time::from_ps(self.now))
    }

    fn walk(&mut self, page: u64, store: bool) -> Walk {
        let space = self.tables.space(A, self.caps);
        self.tlb.walk(&space, Tables::<F>::address(page), store, Time::from_ps(self.now))
    }

    /// Makes an access that nothing held translates, and walks.
    fn misses(&mut self, page: u64, store: bool) -> Walk {
        assert_eq!(self.find(page, store), Found::Miss);
        self.walk(page, store)
    }

    fn fault(&mut self, page: u64, store: bool) -> FaultKind {
        self.misses(page, store).fault.expect("a fault").kind
    }

    fn forget(&mut self, what: Invalidate) -> usize {
        self.tlb.forget(what, Time::from_ps(self.now))
    }

    fn pte(&self, page: u64) -> Pte {
        self.tables.load(self.tables.slot(A, page).get())
    }

    fn is_young(&self, page: u64) -> bool {
        F::is_young(self.pte(page))
    }

    fn held(&self) -> Vec<u64> {
        self.tlb.entries().map(|e| e.start.get() >> F::PAGE_SHIFT).collect()
    }
}

#[test]
fn no_old_entry_is_held_on_arm64_nor_x86() {
    fn check<F: Format>() {
        let tables = Tables::<F>::new();
        let mut core = Core::new(&tables, &WIDE);
        core.caps.hardware_af = false;
        assert_eq!(core.fault(3, false), FaultKind::Accessed);
        assert!(!core.is_young(3) && core.held().is_empty());
        tables.make_young(A, 3);
        assert_eq!(core.misses(3, false).fault, None, "no flush was needed");
        core.caps.hardware_af = true;
        assert!(core.misses(4, false).changed && core.is_young(4), "set by the walk that fills");
    }
    check::<SmallArm4>();
    check::<SmallX86>();
}

#[test]
fn faults_are_not_held_but_by_riscv_that_holds_what_is_invalid() {
    let tables = Tables::<SmallX86>::new();
    let mut core = Core::new(&tables, &WIDE);
    tables.map(A, 0, Map::Nothing);
    tables.map(A, 1, Map::Read);
    assert_eq!(core.fault(0, false), FaultKind::Absent);
    assert_eq!(core.fault(1, true), FaultKind::Permission);
    assert_eq!((core.held(), core.is_young(1)), (vec![], false));
    tables.map(A, 0, Map::Write);
    assert_eq!(core.misses(0, true).fault, None);

    let tables = Tables::<SmallRiscv>::new();
    let mut core = Core::new(&tables, &TlbShape { caches_invalid: true, ..WIDE });
    tables.map(A, 0, Map::Nothing);
    assert_eq!(core.fault(0, false), FaultKind::Absent);
    tables.map(A, 0, Map::Write);
    assert_eq!(core.find(0, false), Found::Fault, "what was mapped since faults once more");
    assert_eq!(core.misses(0, false).fault, None);
}

#[test]
fn an_access_through_a_stale_entry_is_hidden_until_the_entry_is_evicted() {
    let tables = Tables::<SmallX86>::new();
    let shape = TlbShape { l1: level(1, 2), l2: Some(level(1, 4)), ..PLAIN };
    let mut core = Core::new(&tables, &shape);
    core.misses(0, true);
    tables.make_old(A, 0);
    assert_eq!(core.find(0, false), Found::L1);
    let first = core.now;
    for page in 1..5 {
        assert!(!core.is_young(0), "while either level holds the page");
        assert_eq!(core.tlb.hidden().ended(), 0);
        core.misses(page, false);
    }
    let gone = core.now;
    assert_eq!((core.tlb.hidden().accesses, core.tlb.hidden().ended()), (1, 1));
    assert_eq!(core.tlb.hidden().longest().ps(), gone - first);
    assert!(core.misses(0, false).changed && core.is_young(0), "seen");
}

#[test]
fn hiding_ends_when_the_page_is_seen_young_or_the_entry_is_invalidated() {
    let tables = Tables::<SmallX86>::new();
    let mut core = Core::new(&tables, &WIDE);
    core.misses(0, false);
    tables.make_old(A, 0);
    assert_eq!([core.find(0, false), core.find(0, false)], [Found::L1; 2]);
    tables.make_young(A, 0); // another core's walk
    assert_eq!(core.find(0, false), Found::L1);
    assert_eq!((core.tlb.hidden().accesses, core.tlb.hidden().longest().ps()), (2, 20));
    tables.make_old(A, 0);
    core.find(0, false);
    core.now += 100;
    assert_eq!(core.forget(page(A, 0)), 1);
    assert_eq!((core.tlb.hidden().ended(), core.tlb.hidden().longest().ps()), (2, 100));
    tables.map(A, 0, Map::Write);
    core.misses(0, false);
    tables.map(A, 0, Map::Nothing);
    assert_eq!(core.find(0, false), Found::L1);
    assert_eq!((core.tlb.hidden().accesses, core.tlb.hidden().after_unmap), (3, 1));
}

#[test]
fn a_contiguous_block_is_one_entry_and_hides_only_if_none_of_its_entries_is_young() {
    let tables = Tables::<SmallArm4>::new();
    tables.map_block(A, 0, true);
    let mut core = Core::new(&tables, &TlbShape { contiguous: true, ..WIDE });
    core.misses(1, false);
    assert_eq!((core.find(0, false), core.find(3, false)), (Found::L1, Found::L1));
    assert_eq!([0, 1, 2, 3].map(|page| core.is_young(page)), [false, true, false, false]);
    assert_eq!(core.tlb.hidden().accesses, 0);
    tables.make_young(A, 2);
    tables.make_old(A, 1);
    core.find(1, false);
    assert_eq!(core.tlb.hidden().accesses, 0, "another entry speaks for the block");
    tables.make_old(A, 2);
    core.find(3, false);
    assert_eq!(core.tlb.hidden().accesses, 1);
    assert_eq!(core.forget(page(A, 2)), 1, "any of its pages names the block");

    let mut without = Core::new(&tables, &WIDE);
    (0..4).for_each(|page| assert_eq!(without.misses(page, false).fault, None));
}

#[test]
fn only_young_entries_are_merged_and_each_speaks_for_its_own_page() {
    let tables = Tables::<SmallArm2>::new();
    let mut core = Core::new(&tables, &TlbShape { coalesce: 4, ..WIDE });
    for page in 0..3 {
        core.misses(page, false);
    }
    assert_eq!(core.held().len(), 3, "page 3 is old");
    core.misses(3, false);
    assert_eq!(core.held(), [0], "the run replaces what it overlaps");
    tables.make_old(A, 2);
    core.find(1, false);
    assert_eq!(core.tlb.hidden().accesses, 0);
    core.find(2, false);
    assert_eq!(core.tlb.hidden().accesses, 1);
    tables.map(A, 5, Map::Elsewhere);
    (4..8).for_each(|page| assert!(core.misses(page, false).changed));
    assert_eq!(core.held().len(), 5, "frames that don't follow one another stay single");
}

#[test]
fn a_store_to_a_clean_entry_walks_and_makes_it_dirty() {
    let tables = Tables::<SmallArm4>::new();
    let mut core = Core::new(&tables, &WIDE);
    core.misses(0, false);
    assert!(core.misses(0, true).changed && SmallArm4::is_dirty(core.pte(0)));
    assert_eq!((core.find(0, true), core.held()), (Found::L1, vec![0]));
    core.caps.hardware_dirty = false;
    core.misses(1, false);
    assert_eq!(core.fault(1, true), FaultKind::Dirty);
}

#[test]
fn a_page_s_invalidation_drops_the_cached_walks_that_its_architecture_says() {
    for (page_drops, [here, beside]) in
        [(Walks::None, [1, 1]), (Walks::ToPage, [4, 1]), (Walks::AddressSpace, [4, 2])]
    {
        let tables = Tables::<SmallX86>::new();
        let mut core = Core::new(&tables, &TlbShape { page_drops, ..WIDE });
        assert_eq!(core.misses(0, false).levels, 4);
        assert_eq!(core.misses(1, false).levels, 1);
        assert_eq!(core.misses(8, false).levels, 2, "another table of the same PMD table");
        core.forget(page(B, 0));
        assert_eq!(core.misses(2, false).levels, 1, "{page_drops:?}: another address space's");
        assert_eq!(core.forget(page(A, 0)), 1);
        assert_eq!(core.misses(0, false).levels, here, "{page_drops:?}");
        assert_eq!(core.misses(9, false).levels, beside, "{page_drops:?}");
    }
}

#[test]
fn flushes_of_address_spaces_drop_cached_walks() {
    let tables = Tables::<SmallX86>::new();
    let mut core = Core::new(&tables, &WIDE);
    assert_eq!(core.misses(0, false).levels, 4);
    assert_eq!(core.misses(1, false).levels, 1);
    core.forget(Invalidate::AddressSpace(B));
    assert_eq!(core.misses(2, false).levels, 1, "another address space's");
    assert_eq!(core.forget(Invalidate::AddressSpace(A)), 3);
    assert_eq!(core.misses(0, false).levels, 4);
}

#[test]
fn a_cached_walk_does_not_make_its_table_young_again() {
    let tables = Tables::<SmallX86>::new();
    let mut core = Core::new(&tables, &WIDE);
    core.caps.nonleaf_af = true;
    core.misses(0, false);
    tables.make_table_old(A);
    assert_eq!(core.misses(1, false).made_table_young, None);
    core.forget(Invalidate::AddressSpace(A));
    assert!(core.misses(1, false).made_table_young.is_some());
}

#[test]
fn global_entries_outlive_flushes_of_address_spaces() {
    let tables = Tables::<SmallX86>::new();
    let mut core = Core::new(&tables, &WIDE);
    tables.map(A, 0, Map::Global);
    core.misses(0, false);
    core.misses(1, false);
    assert_eq!(core.forget(Invalidate::AddressSpace(A)), 1);
    assert_eq!(core.forget(Invalidate::Everything), 0);
    assert_eq!(core.tlb.find(B, Tables::<SmallX86>::address(0), false, Time::ZERO), Found::L1);
    assert_eq!(core.forget(page(B, 0)), 1, "an address names it, whatever the address space");
}

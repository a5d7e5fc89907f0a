//! `aarch64-paging`: changes of a mapping that is live. Its barriers are instructions of arm64 that
//! are left out elsewhere, so their places are taken from its source: stores, DSB ISHST, each TLBI,
//! DSB ISH, and then tables are freed.

use crate::memory::Memory;
use aarch64_paging::descriptor::{El1Attributes, PhysicalAddress, VirtualAddress};
use aarch64_paging::paging::{
    Constraints, MemoryRegion, PageTable, Translation, TranslationRegime, VaRange,
};
use aarch64_paging::{MapError, Mapping};
use pageout_paging::Pfn;
use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::pte::Arm64_4K;
use pageout_paging::testing::{Tlbs, WatchedTables};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

const HELD: usize = 2048;
const ASID: Asid = Asid(3);
const PAGE: usize = 4096;
const BLOCK: usize = 512 * PAGE;
const ATTRIBUTES: El1Attributes = El1Attributes::VALID
    .union(El1Attributes::ACCESSED)
    .union(El1Attributes::NON_GLOBAL)
    .union(El1Attributes::INNER_SHAREABLE);

thread_local! {
    /// The addresses that the crate invalidated.
    static INVALIDATED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// EL1's regime, whose TLBI is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Recorded;

impl TranslationRegime for Recorded {
    type Attributes = El1Attributes;
    type Asid = usize;
    type VaRange = VaRange;

    fn invalidate_va(va: VirtualAddress) {
        INVALIDATED.with_borrow_mut(|addrs| addrs.push(va.0));
    }

    unsafe fn activate(_: PhysicalAddress, _: usize, _: VaRange) -> usize {
        0
    }

    unsafe fn deactivate(_: usize, _: usize, _: VaRange) {}
}

/// Tables in memory, and those that the crate gave back.
struct Tables {
    memory: Rc<Memory>,
    freed: Rc<RefCell<Vec<Pfn>>>,
}

impl Translation<El1Attributes> for Tables {
    fn allocate_table(&mut self) -> (NonNull<PageTable<El1Attributes>>, PhysicalAddress) {
        let pfn = self.memory.alloc();
        let pa = PhysicalAddress(pfn.get() as usize * PAGE);
        (self.physical_to_virtual(pa), pa)
    }

    unsafe fn deallocate_table(&mut self, table: NonNull<PageTable<El1Attributes>>) {
        let first = self.memory.at(Pfn::new(0)).as_ptr() as usize;
        let nr = (table.as_ptr() as usize - first) / PAGE;
        self.freed.borrow_mut().push(Pfn::new(nr as u64));
    }

    fn physical_to_virtual(&self, pa: PhysicalAddress) -> NonNull<PageTable<El1Attributes>> {
        self.memory.at(Pfn::new((pa.0 / PAGE) as u64)).cast()
    }
}

type Change<'a> = &'a dyn Fn(&mut Mapping<Tables, Recorded>) -> Result<(), MapError>;

/// Makes changes of one live mapping, each checked after it. Returns the number of tables freed.
fn change(changes: &[Change<'_>]) -> usize {
    let (memory, freed) = (Rc::new(Memory::new()), Rc::new(RefCell::new(Vec::new())));
    let tlbs = Tlbs::<Arm64_4K, HELD>::new(Caps::IDEAL);
    let watched = WatchedTables::new(&tlbs, |table, i| memory.read(table, i));
    let translation = Tables { memory: Rc::clone(&memory), freed: Rc::clone(&freed) };
    let mut mapping =
        Mapping::with_asid_and_va_range(translation, ASID.0 as usize, 0, Recorded, VaRange::Lower);
    tlbs.run(ASID, Pfn::new((mapping.root_address().0 / PAGE) as u64));
    mapping.mark_active();
    let mut nr = 0;
    for change in changes {
        INVALIDATED.take();
        change(&mut mapping).expect("the change is allowed");
        watched.cpu(0).dsb("ishst");
        for addr in INVALIDATED.take() {
            watched.cpu(0).tlbi("vaae1is", (addr >> 12) as u64);
        }
        watched.cpu(0).dsb("ish");
        for table in freed.take() {
            watched.check_free(0, table..table.add(1));
            nr += 1;
        }
    }
    mapping.mark_inactive();
    nr
}

fn map(
    pages: std::ops::Range<usize>,
    to: usize,
    flags: El1Attributes,
) -> impl Fn(&mut Mapping<Tables, Recorded>) -> Result<(), MapError> {
    move |mapping| {
        let region = MemoryRegion::new(pages.start * PAGE, pages.end * PAGE);
        mapping.map_range(&region, PhysicalAddress(to), flags, Constraints::NO_BLOCK_MAPPINGS)
    }
}

#[test]
fn tables_of_a_range_that_is_unmapped_are_free() {
    let changes: [Change<'_>; 2] =
        [&map(0..512, 1 << 30, ATTRIBUTES), &map(0..512, 0, El1Attributes::empty())];
    assert_eq!(change(&changes), 1, "the last-level table");
}

#[test]
fn tables_that_are_compacted_are_free() {
    let changes: [Change<'_>; 3] =
        [&map(0..5, 1 << 30, ATTRIBUTES), &map(0..5, 0, El1Attributes::empty()), &|mapping| {
            mapping.compact_subtables();
            Ok(())
        }];
    assert_eq!(change(&changes), 3, "one table of each level below the root");
}

#[test]
fn another_frame_in_place_is_refused() {
    let mapped = map(0..5, 1 << 30, ATTRIBUTES);
    let moved = map(0..5, (1 << 30) + BLOCK, ATTRIBUTES);
    let refused: Change<'_> = &|mapping| {
        assert!(matches!(moved(mapping), Err(MapError::BreakBeforeMakeViolation(_))));
        Ok(())
    };
    assert_eq!(change(&[&mapped, refused]), 0);
}

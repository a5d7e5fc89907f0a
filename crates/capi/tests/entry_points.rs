//! The entry points, called as C calls them. The tests are small enough for Miri.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pageout_capi::entry_points::{
    pageout_clear_flush_young_ptes, pageout_error_text, pageout_folio_pte_batch,
    pageout_pmdp_clear_flush_young, pageout_pmdp_test_and_clear_young, pageout_ptep_get,
    pageout_test_and_clear_young_ptes,
};
use pageout_capi::types::{
    Batch, Error, Family, Flush, Format, Level, LockedTable, Mmu, YoungCheck,
};
use pageout_paging::pte::{Arm64_4K, Prot};
use pageout_paging::{Format as _, Pfn, contig, table::HostTable};

/// A page table as in hardware.
#[repr(align(4096))]
struct Page([AtomicU64; 512]);

impl Page {
    /// Makes 32 young pages of one folio from entry 16 on, in two contiguous blocks.
    fn new() -> Self {
        let page = Self([const { AtomicU64::new(0) }; 512]);
        let leaf = Arm64_4K::leaf(pageout_paging::Level::Pte, Pfn::new(64), Prot::WRITE);
        let table = HostTable::<Arm64_4K>::new(&page.0).expect("512 entries");
        contig::set_ptes::<Arm64_4K, _>(table, 16, Arm64_4K::mkyoung(leaf), 32);
        page
    }

    fn locked(&self) -> LockedTable {
        LockedTable { entries: self.0.as_ptr().cast_mut().cast(), format: Format::Arm64_4K as u32 }
    }

    fn young(&self) -> usize {
        let young = |entry: &&AtomicU64| entry.load(Relaxed) & Arm64_4K::YOUNG != 0;
        self.0.iter().filter(young).count()
    }
}

/// The calls of the MMU.
#[derive(Default)]
struct Asked {
    range: Cell<Option<(u32, u64, usize, u32)>>,
    address_spaces: Cell<u32>,
    barriers: Cell<(u32, u32)>,
}

/// Returns the calls of the MMU with this context.
fn asked<'c>(context: *mut c_void) -> &'c Asked {
    // SAFETY: each check below is given one of these, which outlives it.
    unsafe { &*context.cast::<Asked>() }
}

unsafe extern "C" fn invalidate_range(
    to: *mut c_void,
    asid: u32,
    start: u64,
    nr: usize,
    level: u32,
) {
    asked(to).range.set(Some((asid, start, nr, level)));
}

unsafe extern "C" fn invalidate_address_space(to: *mut c_void, _asid: u32) {
    let count = &asked(to).address_spaces;
    count.set(count.get() + 1);
}

unsafe extern "C" fn publish(to: *mut c_void) {
    let (publish, complete) = asked(to).barriers.get();
    asked(to).barriers.set((publish + 1, complete));
}

unsafe extern "C" fn complete(to: *mut c_void) {
    let (publish, complete) = asked(to).barriers.get();
    asked(to).barriers.set((publish, complete + 1));
}

fn mmu(asked: &Asked) -> Mmu {
    Mmu {
        context: std::ptr::from_ref(asked).cast_mut().cast(),
        invalidate_range: Some(invalidate_range),
        invalidate_address_space: Some(invalidate_address_space),
        publish: Some(publish),
        complete: Some(complete),
        range_limit: 512,
    }
}

fn check_with(mmu: *const Mmu, flush: Flush) -> YoungCheck {
    YoungCheck { mmu, family: Family::Line as u32, flush: flush as u32, asid: 7 }
}

#[test]
fn a_check_clears_whole_blocks_and_answers_once() {
    for family in [Family::PerEntry, Family::Batched, Family::Line] {
        let page = Page::new();
        let check = |addr, nr| {
            // SAFETY: the table is a page of this format, which nobody else touches.
            unsafe { pageout_test_and_clear_young_ptes(&page.locked(), family as u32, addr, nr) }
        };
        assert_eq!((check(20 << 12, 4), page.young()), (1, 16), "{family:?}: the first block");
        assert_eq!((check(16 << 12, 16), page.young()), (0, 16), "{family:?}: it is old");
    }
}

#[test]
fn a_flush_is_of_the_widened_run() {
    let (page, asked) = (Page::new(), Asked::default());
    let mmu = mmu(&asked);
    let check = check_with(&mmu, Flush::Sync);
    // SAFETY: as above; the functions of the MMU get the context they are for.
    let young = unsafe { pageout_clear_flush_young_ptes(&page.locked(), &check, 20 << 12, 20) };
    assert_eq!((young, page.young()), (1, 0));
    assert_eq!(asked.range.get(), Some((7, 16 << 12, 32, Level::Pte as u32)));
    assert_eq!((asked.barriers.get(), asked.address_spaces.get()), ((1, 1), 0));
}

#[test]
fn a_long_flush_is_of_the_address_space() {
    let (page, asked) = (Page::new(), Asked::default());
    let mmu = Mmu { range_limit: 8, ..mmu(&asked) };
    let check = check_with(&mmu, Flush::Nosync);
    // SAFETY: as above.
    let young = unsafe { pageout_clear_flush_young_ptes(&page.locked(), &check, 16 << 12, 32) };
    assert_eq!((young, asked.address_spaces.get(), asked.range.get()), (1, 1, None));
}

#[test]
fn leaves_of_the_level_above_have_young_bits_too() {
    let (page, asked) = (Page::new(), Asked::default());
    let mmu = mmu(&asked);
    let check = check_with(&mmu, Flush::Sync);
    page.0[3].store(Arm64_4K::YOUNG | 1, Relaxed);
    page.0[4].store(Arm64_4K::YOUNG | 1, Relaxed);
    // SAFETY: as above.
    unsafe {
        assert_eq!(pageout_pmdp_test_and_clear_young(&page.locked(), 3 << 21), 1);
        assert_eq!(pageout_pmdp_test_and_clear_young(&page.locked(), 3 << 21), 0);
        assert_eq!(asked.range.get(), None);
        assert_eq!(pageout_pmdp_clear_flush_young(&page.locked(), &check, 4 << 21 | 5), 1);
    }
    assert_eq!(asked.range.get(), Some((7, 4 << 21, 1, Level::Pmd as u32)));
}

#[test]
fn a_batch_and_its_first_entry() {
    let (page, mut pte) = (Page::new(), 0);
    let pt = page.locked();
    page.0[20].fetch_and(!Arm64_4K::YOUNG, Relaxed);
    // SAFETY: as above; the result is an integer of ours, or null.
    unsafe {
        assert_eq!(pageout_folio_pte_batch(&pt, 20 << 12, 100, 0, null_mut()), 28);
        let flags = Batch::MergeYoungDirty as u32;
        assert_eq!(pageout_folio_pte_batch(&pt, 20 << 12, 9, flags, &mut pte), 9);
        assert_ne!(pte & Arm64_4K::YOUNG, 0);
        assert_eq!(pageout_ptep_get(&pt, 20 << 12, &mut pte), 0);
    }
    let of_block = page.0[20].load(Relaxed) | Arm64_4K::YOUNG;
    assert_eq!(pte, of_block, "young by the other entries of its block");
}

/// The results of calls with one mistake each.
#[test]
fn a_wrong_call_does_nothing() {
    let (page, asked) = (Page::new(), Asked::default());
    let (pt, mmu) = (page.locked(), mmu(&asked));
    let good = check_with(&mmu, Flush::Sync);
    let run = |pt: *const LockedTable, check: *const YoungCheck, i: u64, nr| {
        // SAFETY: pointers are null or to structures above; entries are null, not aligned (and so
        // not accessed), or the page's.
        unsafe { pageout_clear_flush_young_ptes(pt, check, i << 12, nr) }
    };
    let with = |check: YoungCheck| run(&pt, &check, 16, 8);
    let over = |pt: LockedTable| run(&pt, &good, 16, 8);
    // SAFETY: as above.
    let batch =
        |i: u64, flags| unsafe { pageout_folio_pte_batch(&pt, i << 12, 8, flags, null_mut()) };
    // SAFETY: as above.
    let no_result = unsafe { pageout_ptep_get(&pt, 0, null_mut()) };
    let bare = Mmu { complete: None, ..mmu };
    let misaligned = page.0[1].as_ptr();
    for (answer, expected) in [
        (run(null(), &good, 16, 8), Error::Null),
        (run(&pt, null(), 16, 8), Error::Null),
        (no_result, Error::Null),
        (over(LockedTable { entries: null_mut(), ..pt }), Error::Table),
        (over(LockedTable { entries: misaligned, ..pt }), Error::Table),
        (over(LockedTable { format: 5, ..pt }), Error::Format),
        (with(YoungCheck { family: 3, ..good }), Error::Family),
        (with(YoungCheck { flush: 3, ..good }), Error::Flush),
        (with(YoungCheck { mmu: null(), ..good }), Error::Mmu),
        (with(YoungCheck { mmu: &bare, ..good }), Error::Mmu),
        (run(&pt, &good, 16, 0), Error::Range),
        (run(&pt, &good, 510, 3), Error::Range),
        (batch(0, 0), Error::Entry),
        (batch(16, 32), Error::Batch),
    ] {
        assert_eq!(answer, expected as i32, "{expected:?}");
    }
    assert_eq!((page.young(), asked.barriers.get()), (32, (0, 0)));
    assert_eq!(with(YoungCheck { mmu: null(), flush: Flush::None as u32, ..good }), 1);
}

#[test]
fn each_error_has_a_text_of_its_own() {
    // SAFETY: the text is a constant.
    let text = |error| unsafe { CStr::from_ptr(pageout_error_text(error)) };
    let mut texts: Vec<_> = Error::all().map(|error| text(error as i32)).into();
    assert_eq!((text(0), text(1)), (c"", c""));
    assert!(texts.iter().all(|text| !text.is_empty()));
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), Error::all().len());
}

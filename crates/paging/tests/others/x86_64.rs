//! `x86_64`: `OffsetPageTable`, and its cleaning up of empty tables.

use crate::memory::Memory;
use pageout_paging::mmu::{Asid, Caps, Shootdown};
use pageout_paging::pte::X86_64;
use pageout_paging::testing::{Tlbs, WatchedTables};
use pageout_paging::{Pfn, VirtAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use x86_64::structures::paging::mapper::CleanUp;
use x86_64::structures::paging::{
    FrameAllocator, FrameDeallocator, Mapper, OffsetPageTable, Page, PageTable, PageTableFlags,
    PhysFrame, Size4KiB,
};

const ASID: Asid = Asid(1);
const ADDR: u64 = 5 << 12;
const TARGET: Pfn = Pfn::new(1 << 20);

/// Frames for the crate, and those that it gave back.
struct Frames<'m> {
    memory: &'m Memory,
    freed: Vec<Pfn>,
}

// SAFETY: each frame is given out once.
unsafe impl FrameAllocator<Size4KiB> for Frames<'_> {
    fn allocate_frame(&mut self) -> Option<PhysFrame> {
        Some(frame(self.memory.alloc()))
    }
}

impl FrameDeallocator<Size4KiB> for Frames<'_> {
    unsafe fn deallocate_frame(&mut self, frame: PhysFrame) {
        self.freed.push(Pfn::new(frame.start_address().as_u64() >> 12));
    }
}

fn frame(pfn: Pfn) -> PhysFrame {
    PhysFrame::containing_address(x86_64::PhysAddr::new(pfn.get() << 12))
}

fn page() -> Page {
    Page::containing_address(x86_64::VirtAddr::new(ADDR))
}

/// Runs code of the crate on the tables under `root`.
fn with_tables<R>(
    memory: &Memory,
    root: Pfn,
    run: impl FnOnce(&mut OffsetPageTable<'_>) -> R,
) -> R {
    let offset = x86_64::VirtAddr::from_ptr(memory.at(Pfn::new(0)).as_ptr());
    // SAFETY: a page is as large and as aligned as a table, any content is one, and nothing else
    // uses the memory while `run` does.
    let table = unsafe { memory.at(root).cast::<PageTable>().as_mut() };
    // SAFETY: all frames of the memory are mapped from `offset` on.
    run(&mut unsafe { OffsetPageTable::new(table, offset) })
}

/// Maps a page, takes it out with the flush that the crate asks for on each CPU, and cleans up.
/// `flushed` flushes before the tables are freed, which the crate cannot.
fn life(flushed: bool) {
    let memory = Memory::new();
    let tlbs = Tlbs::<X86_64, 64>::new(Caps { shootdown: Shootdown::Ipi, ..Caps::IDEAL });
    let tables = WatchedTables::new(&tlbs, |table, i| memory.read(table, i));
    let root = memory.alloc();
    tlbs.run(ASID, root);

    let mut frames = Frames { memory: &memory, freed: Vec::new() };
    let flags = PageTableFlags::PRESENT | PageTableFlags::WRITABLE;
    with_tables(&memory, root, |mapper| {
        // SAFETY: nothing uses the page.
        let made = unsafe { mapper.map_to(page(), frame(TARGET), flags, &mut frames) };
        made.expect("a table for each level").ignore();
    });
    tables.cpu(0);

    let (taken, flush) = with_tables(&memory, root, |mapper| mapper.unmap(page()).expect("mapped"));
    assert_eq!(taken, frame(TARGET));
    let addr = VirtAddr::new(flush.page().start_address().as_u64());
    flush.ignore();
    let shoot_down = || (0..64).for_each(|cpu| tables.cpu(cpu).invlpg(ASID, addr));
    shoot_down();
    tables.check_free(0, TARGET..TARGET.add(1));

    // SAFETY: the tables are of this address space alone.
    with_tables(&memory, root, |mapper| unsafe { mapper.clean_up(&mut frames) });
    if flushed {
        shoot_down();
    }
    assert_eq!(frames.freed.len(), 3, "one table of each level below the root");
    for freed in frames.freed {
        tables.check_free(0, freed..freed.add(1));
    }
}

#[test]
fn tables_that_are_flushed_after_clean_up_are_free() {
    life(true);
}

/// `clean_up` hands a table to the deallocator right after it cleared the entry. A CPU may have
/// walked there since the page's own INVLPG, and walks on through the table when it is reused.
#[test]
fn clean_up_frees_tables_that_walk_caches_may_lead_to() {
    let panic = catch_unwind(AssertUnwindSafe(|| life(false))).expect_err("0.15.5 does this");
    let text = panic.downcast_ref::<String>().expect("a formatted message");
    assert!(text.starts_with("flush before free: "), "{text}");
    assert!(text.contains("a step from pages"), "{text}");
}

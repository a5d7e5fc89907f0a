//! Bugs, and the engine's decisions with the bug of the thread.

use pageout_paging::{Format, Level, Pte, Rules, Run, Sound, VirtAddr, contig};
use std::cell::Cell;

/// A bug, known from a commit or a thread, or constructed. It is one wrong decision of soundness,
/// or one faulty operation of a page table or an MMU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// Constructed: a batch of young entries extends past the end of its VMA, or of a look-around's
    /// window.
    ///
    /// Two VMAs may map the same folio side by side, and one of them may be left out of aging
    /// (`MADV_SEQUENTIAL`). An aging walk that takes the folio as one batch counts accesses to that
    /// VMA as uses, and clears the young bits that it should leave (Linux 7.3.4, `walk_pte_range`
    /// and `lru_gen_look_around` end a batch where their range does).
    BatchPastEnd,
    /// Constructed: a batch of young entries extends into the next folio.
    ///
    /// If the frames after a folio belong to another one that is mapped behind it, only the folio's
    /// own end separates the two (Linux 7.3.4 limits `folio_pte_batch` to the rest of the folio).
    /// An aging walk then clears the neighbour's young bits for this folio, and the neighbour's use
    /// is lost.
    BatchPastFolio,
    /// Constructed: a batch of young entries extends past its page table. It ends with its folio
    /// and its VMA.
    BatchPastTable,
    /// Constructed: a batch of young entries ends only with its folio.
    BatchPastWindow,
    /// Known: a byte length in place of a number of entries.
    ///
    /// Linux's contpte clear of young and dirty bits, fixed in 2024 by commit 6434e69814b1. The end
    /// of the run was its start address plus its number of entries. Once rounded to block edges,
    /// the distance in bytes was passed as the number of entries to clear: 65536 for a block of
    /// sixteen, far beyond the page table. Runs without a contiguous entry at an edge were cleared
    /// correctly.
    ByteLength,
    /// Constructed: a page is copied to another frame while the invalidation of its entries is
    /// still owed.
    ///
    /// Migration would have this bug without `try_to_unmap_flush` between unmapping a batch of
    /// folios and moving them (Linux 7.3.4, `migrate_pages_batch`). A store of another CPU in the
    /// meantime goes to the old frame and is lost.
    CopyBeforeFlush,
    /// Constructed: a fault maps, or copies, a file's folio that reclaim has locked and unmapped.
    ///
    /// Fault-around would have this bug without `folio_trylock` (Linux 7.3.4,
    /// `next_uptodate_folio`). The invalidation of the previous entries is still owed. So some CPUs
    /// do not see the copy of a private page, and a block is mapped where TLBs may hold single
    /// entries.
    FaultWithoutLock,
    /// Constructed: a walk adds the tables worth entering to the filter that it tests itself.
    ///
    /// There are two filters, for the walk of this generation and for that of the next (Linux
    /// 7.3.4, `walk_pmd_range` tests `seq` and updates `seq + 1`). The next walk finds its own
    /// filter empty, and enters no table.
    FilterNotedHere,
    /// Constructed: only the first entry decides whether the run is contiguous.
    ///
    /// David Hildenbrand's question about the batched arm64 clear warns of this design (mailing
    /// list, "support batched checking of the young flag for MGLRU", v3 6/6, 2026); it was never
    /// merged. If only later entries are contiguous, a block at the end is not rounded to its edge.
    /// The hardware may have set the young bit in a sibling past the run, so an access is not
    /// reported. If only the first entry is contiguous, the end is rounded into pages that belong
    /// to another folio.
    FirstEntryAlone,
    /// Constructed: part of a contiguous block is unmapped, and the rest stays marked contiguous.
    ///
    /// `contpte_try_unfold_partial` prevents this (Linux 7.3.4): a walk through a remaining entry
    /// caches a translation of the whole block, with the unmapped pages.
    FoldedEdges,
    /// Constructed: frames are freed while the invalidation of their entries is still owed.
    ///
    /// Deferred shootdown would have this bug without `try_to_unmap_flush` before each batch of
    /// frees (Linux 7.3.4, `shrink_folio_list`): another CPU still uses a frame after it was
    /// allocated again.
    FreeBeforeFlush,
    /// Constructed: access flags count as set if any entry of a contiguous block has them.
    GatheredFlags,
    /// Constructed: the index of shared memory counts as two entries of each slot.
    IndexCountsTwice,
    /// Constructed: folios join the classic lists until a switch to generations has ended.
    JoinOnceSettled,
    /// Constructed: folios join generations until a switch to the classic lists has ended.
    JoinWhileSwitching,
    /// Constructed: a contiguous block in which a run of several entries ends is checked only up to
    /// the end of the run.
    ///
    /// A walk's batch ends with its VMA, and that end may be inside a block, whose young bit
    /// hardware may have set in any entry. If it is set past the end, the access is not reported,
    /// though each entry that is read through the getter is young (Linux 7.3.4, contpte young ops
    /// round both ends). A walk cannot show the fault of
    /// [`FirstEntryAlone`](Self::FirstEntryAlone), since its batches have either only contiguous
    /// entries or none.
    LastBlockCut,
    /// Constructed: bits are cleared by a load and a store.
    ///
    /// Bits that hardware sets between the two are overwritten: the dirty bit of a write, so that a
    /// modified page is dropped as clean, or the young bit of an access. That is why kernels clear
    /// by one atomic operation wherever hardware manages the bits (the reason for Linux's
    /// compare-and-swap loop in arm64's `__ptep_test_and_clear_young`).
    LoadAndStore,
    /// Constructed: invalidations reach only the CPU that issues them.
    ///
    /// On arm64 it is `TLBI VALE1` in place of `VALE1IS`; on x86, a flush that sends no interrupts.
    /// One CPU sees no fault, but on others translations outlive their entries.
    LocalInvalidation,
    /// Known: a look-around counts one young entry for its folio, however many of the folio's
    /// entries were checked at once.
    ///
    /// Linux 7.1's `lru_gen_look_around` began its count with one when it was changed to check
    /// runs. Before, it met and counted the folio's other entries on the way. So some tables that
    /// were worth a walk before are no longer walked. Linux 7.3's begins with the run.
    LookAroundOne,
    /// Constructed: a contiguous block is split without an invalidation in between.
    ///
    /// Arm's break-before-make forbids it (Arm ARM DDI 0487, D8.17; Linux 7.3.4,
    /// `contpte_convert`): a TLB may hold the block beside one of its single entries.
    MakeBeforeBreak,
    /// Constructed: a batch of entries is unmapped, and the mapcount falls by one.
    ///
    /// Batched unmapping would have this bug with the single entry's accounting (Linux 7.3.4,
    /// `folio_remove_rmap_ptes` takes the number of entries): the folio seems mapped for ever.
    MapcountOnce,
    /// Constructed: generations grow and shrink by one for a folio of any size.
    MovesFolios,
    /// Known: a change of entries relies on them although reclaim still owes their invalidation.
    ///
    /// Linux before commit 3ea277194daa (2017, "mm, mprotect: flush TLB if potentially racing with
    /// a parallel reclaim leaving stale TLB entries"). mprotect or munmap found an entry empty,
    /// because reclaim had unmapped it and deferred the flush, and so flushed nothing. Once it had
    /// returned, the process could still write through the old translation.
    PendingFlushMissed,
    /// By source: a folio leaves the file index, or the swap cache, while the invalidation of its
    /// entries is still owed.
    ///
    /// Linux 7.3.4 has this order (`shrink_folio_list`: `__remove_mapping` comes before
    /// `try_to_unmap_flush`); no failure was seen there. Another thread or process that maps the
    /// file faults, finds no folio, reads the page into another frame and stores there. A CPU that
    /// still uses the old entry still reads the old frame.
    RemoveBeforeFlush,
    /// By source: entries of a lazily freed page that was written to are put back while their own
    /// invalidation is still owed.
    ///
    /// Linux 7.3.4 has this order (`try_to_unmap_one`: `set_ptes` after
    /// `set_tlb_ubc_flush_pending`); no failure was seen there. Single entries return as a
    /// contiguous block, which a TLB may then hold beside them: that violates arm64's
    /// break-before-make.
    RestoreBeforeFlush,
    /// Constructed: only the first page of a PMD leaf that is shared with a child loses its
    /// exclusive state.
    SharedOnce,
    /// Constructed: the index of shared memory forgets one of a folio's slots.
    SlotForgotten,
    /// Constructed: a slot stays in use once its page of shared memory is in the index again.
    SlotLeaked,
    /// Constructed: a PMD leaf is split, and TLBs keep it beside the entries that replace it.
    ///
    /// Kernels first invalidate the leaf and flush it from every TLB (Linux 7.3.4,
    /// `pmdp_invalidate` in `__split_huge_pmd_locked`), since a TLB must not hold both (Arm ARM DDI
    /// 0487, D8.17).
    SplitBeforeFlush,
    /// Constructed: the entries that replace a PMD leaf count as one mapping.
    SplitCountsOnce,
    /// Constructed: a PMD leaf that is dirty is split into entries that are clean.
    ///
    /// Stores through the leaf are then dropped as if storage had them (in Linux 7.3.4,
    /// `__split_huge_pmd_locked` makes the entries dirty).
    SplitLosesDirty,
    /// Constructed: the page table in reserve for a PMD leaf stays when the leaf is taken out.
    TableKept,
    /// Constructed: a folio of shared memory that was swapped in is clean.
    TakenBackClean,
    /// Known: several entries that userfaultfd write-protects are unmapped as one.
    ///
    /// Found by Dev Jain in v5 of the series that batches the unmapping of file folios (mailing
    /// list, 2026). Each entry needs a marker of its own in its place, and only the first of the
    /// batch got one, so the others lost their write protection. Linux 7.1 did not batch in such
    /// VMAs; 7.3 marks each entry of a batch (`cond_install_uffd_wp_ptes`).
    UffdWpBatched,
    /// By source: a file's dirty folio is unmapped and unlocked while the invalidation of its
    /// entries is still owed.
    ///
    /// Linux 7.3.4 has this order (`shrink_folio_list`, `activate_locked`); no failure was seen
    /// there. A flusher finds no mapping to clean, clears the folio's dirty flag and writes it out.
    /// A store through the old entry, which is dirty already, is recorded nowhere.
    UnlockBeforeFlush,
    /// Constructed: a dirty folio is written out while a CPU may still write to it.
    ///
    /// Deferred shootdown would have this bug without `try_to_unmap_flush_dirty` (Linux 7.3.4,
    /// `pageout` in `shrink_folio_list`). A store through a translation that is cached dirty
    /// reaches memory after the content was read for write-out. No entry is left to record it, and
    /// the folio is dropped as clean.
    WriteOutBeforeFlush,
    /// By source: the lock of a page table is released while an invalidation is owed for a page
    /// that was freed lazily.
    ///
    /// Linux 7.3.4 has this order (`try_to_unmap_one` with `TTU_BATCH_FLUSH`); no failure was seen
    /// there. No index leads to such a page: the next fault maps zeros. A CPU that still uses the
    /// old entry does not see stores to the new page.
    ZerosBeforeFlush,
}

thread_local! {
    static CURRENT: Cell<Option<Bug>> = const { Cell::new(None) };
}

impl Bug {
    /// Returns the bug of this thread, if it has one.
    pub fn current() -> Option<Self> {
        CURRENT.get()
    }

    /// Runs `work` while this thread has the bug, or none.
    pub fn during<T>(bug: Option<Self>, work: impl FnOnce() -> T) -> T {
        struct Restore(Option<Bug>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(bug));
        work()
    }
}

/// The engine with the bug that the thread has ([`Bug::during`]), or sound without one. With a
/// type for each bug, the engine would be compiled for each.
#[derive(Clone, Copy, Debug)]
pub struct Faulty;

/// Defines a rule that is [`Sound`]'s, but for these bugs.
macro_rules! rule {
    ($rule:ident($($arg:ident: $of:ty),*) -> $out:ty { $($bug:ident => $wrong:expr),* }) => {
        fn $rule($($arg: $of),*) -> $out {
            match Bug::current() {
                $(Some(Bug::$bug) => $wrong,)*
                _ => Sound::$rule($($arg),*),
            }
        }
    };
}

impl Rules for Faulty {
    rule!(flush_before_free() -> bool { FreeBeforeFlush => false });
    rule!(flush_before_write_out() -> bool { WriteOutBeforeFlush => false });
    // Freeing before the flush implies removing before it.
    rule!(flush_before_remove() -> bool {
        FreeBeforeFlush => false,
        RemoveBeforeFlush => false
    });
    rule!(flush_before_unlock() -> bool { UnlockBeforeFlush => false });
    rule!(flush_before_restore() -> bool { RestoreBeforeFlush => false });
    rule!(flush_before_zeros() -> bool { ZerosBeforeFlush => false });
    rule!(flush_before_copy() -> bool { CopyBeforeFlush => false });
    rule!(flush_pending_before_change() -> bool { PendingFlushMissed => false });
    rule!(faults_lock_folios() -> bool { FaultWithoutLock => false });
    rule!(entries_marked(nr: usize) -> usize { UffdWpBatched => 1 });
    rule!(mappings_removed(nr: u32) -> u32 { MapcountOnce => 1 });
    rule!(unfold_edges() -> bool { FoldedEdges => false });
    rule!(break_before_make() -> bool { MakeBeforeBreak => false });
    rule!(access_flags_of_each_entry() -> bool { GatheredFlags => false });
    rule!(flush_before_split() -> bool { SplitBeforeFlush => false });
    rule!(split_keeps_dirty() -> bool { SplitLosesDirty => false });
    rule!(mappings_of_split(nr: u32) -> u32 { SplitCountsOnce => 1 });
    rule!(pages_shared(nr: usize) -> usize { SharedOnce => 1 });
    rule!(leaf_gives_up_its_table() -> bool { TableKept => false });
    rule!(pages_moved(nr: usize) -> i64 { MovesFolios => 1 });
    rule!(joins_generation(in_use: bool, switching: bool) -> bool {
        JoinOnceSettled => in_use && !switching,
        JoinWhileSwitching => in_use || switching
    });
    rule!(filter_noted(seq: u64) -> u64 { FilterNotedHere => seq });
    rule!(look_around_young(nr: usize) -> usize { LookAroundOne => 1 });
    rule!(slots_indexed(nr: usize) -> usize { SlotForgotten => nr - 1 });
    rule!(entries_of_index() -> u16 { IndexCountsTwice => 2 });
    rule!(slot_entries_left() -> u16 { SlotLeaked => 1 });
    rule!(taken_back_dirty() -> bool { TakenBackClean => false });

    fn extend_to_blocks<F: Format>(run: Run, first: Pte, last: Pte) -> Run {
        let sound = Sound::extend_to_blocks::<F>(run, first, last);
        match Bug::current() {
            Some(Bug::FirstEntryAlone) if F::is_cont(first) => {
                let start = contig::align_down(run.first, F::CONT_PTES);
                Run::between(start, contig::align_up(run.end(), F::CONT_PTES))
            }
            Some(Bug::FirstEntryAlone) => run,
            Some(Bug::LastBlockCut) if run.nr > 1 => Run::between(sound.first, run.end()),
            Some(Bug::ByteLength) => byte_length::<F>(run, first, last),
            _ => sound,
        }
    }

    fn max_batch<F: Format>(addr: VirtAddr, in_folio: usize, end: VirtAddr) -> usize {
        let in_range = ((end.get() - addr.get()) >> F::PAGE_SHIFT) as usize;
        let in_table = F::PTES - F::index(Level::Pte, addr);
        match Bug::current() {
            Some(Bug::BatchPastEnd) => in_folio.min(in_table),
            Some(Bug::BatchPastFolio) => in_range.min(in_table),
            Some(Bug::BatchPastTable) => in_folio.min(in_range),
            Some(Bug::BatchPastWindow) => in_folio,
            _ => Sound::max_batch::<F>(addr, in_folio, end),
        }
    }
}

/// Returns the entries of a check that takes bytes for entries.
fn byte_length<F: Format>(run: Run, first: Pte, last: Pte) -> Run {
    let block_bytes = F::CONT_PTES << F::PAGE_SHIFT;
    let mut start = run.first << F::PAGE_SHIFT;
    let mut end = start + run.nr; // the first half of the bug: entries added to bytes
    if F::is_cont(last) {
        end = contig::align_up(end, block_bytes);
    }
    if F::is_cont(first) {
        start = contig::align_down(start, block_bytes);
    }
    // The second: bytes taken for entries.
    Run { first: start >> F::PAGE_SHIFT, nr: end - start }
}

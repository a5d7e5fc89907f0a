//! The number of instructions of each effort of a kernel, and the source of each figure.
//!
//! Fitted costs are those under which the counted work of our engine in scenario `reclaim-file`,
//! and of single aging passes, costs closest to what was counted of Linux 6.12 at the same orders
//! in `crates/lab/files/records/linux-6.12.json` (instructions under QEMU: kernels stock, s1, s2
//! and s3; configs arm64-4k and x86-64): least squares of relative differences over the rows of
//! classic and generational reclaim, none below zero. `tests.rs` holds each row's difference. They
//! are costs of Linux's path; variants differ in how often each is paid.

use super::KernelOp;
use pageout_record::schema::Basis;

/// The cost of one effort.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The effort.
    pub effort: KernelOp,
    /// The cost in instructions on arm64.
    pub arm64: u32,
    /// The cost in instructions on x86-64. riscv64, for which none were counted, is taken to be the
    /// same.
    pub x86: u32,
    /// [`Basis::Fitted`] or [`Basis::Guessed`].
    pub basis: Basis,
    /// The way in which the figures were found.
    pub source: &'static str,
}

const fn fitted(effort: KernelOp, arm64: u32, x86: u32, source: &'static str) -> Cost {
    Cost { effort, arm64, x86, basis: Basis::Fitted, source }
}

const fn guessed(effort: KernelOp, cost: u32, source: &'static str) -> Cost {
    Cost { effort, arm64: cost, x86: cost, basis: Basis::Guessed, source }
}

const FIT: &str = "least squares over the rows of reclaim-file";
const SPLIT: &str = "least squares give 1768 and 1733 a folio reclaimed; shared out as lab profile \
    has it for stock at order 4";
const PAGES: &str = "least squares give 80 and 40 a page reclaimed, of which free_tail_page_prepare \
    has 14 in lab profile";

/// The cost of each effort, in the order of [`KernelOp::ALL`].
pub const COSTS: [Cost; KernelOp::ALL.len()] = [
    fitted(KernelOp::Ask, 542, 808, FIT),
    fitted(KernelOp::Keep, 409, 23, FIT),
    fitted(KernelOp::Check, 0, 92, FIT),
    fitted(
        KernelOp::AskBlock,
        20,
        0,
        "least squares; an rmap walk of 6.12 gathers a block twice a step, 14.5 a read in lab \
         profile, of which what our walk gathers once",
    ),
    fitted(KernelOp::RunRead, 0, 13, "least squares; arm64's reads are of the loop that clears"),
    fitted(KernelOp::Clear, 26, 25, FIT),
    fitted(KernelOp::AgeRead, 37, 42, "least squares; age-file has 34.4 to 44.5 an old entry"),
    fitted(
        KernelOp::AgeBlock,
        15,
        42,
        "least squares; age-file has 271.5 an old entry of a block of 16: 17 reads",
    ),
    fitted(KernelOp::AgeRun, 65, 76, FIT),
    guessed(
        KernelOp::Line,
        24,
        "eight reads and what is done with each in our own check of a line, which no kernel has",
    ),
    fitted(KernelOp::Unmap, 268, 263, SPLIT),
    fitted(KernelOp::Take, 438, 413, FIT),
    guessed(
        KernelOp::TakeEntry,
        15,
        "lab profile, stock at order 4: contpte_convert has 30.5 a page, which it changes twice; \
         x86 taken to be the same",
    ),
    fitted(KernelOp::UnmapPage, 65, 25, PAGES),
    fitted(KernelOp::Remove, 1000, 980, SPLIT),
    fitted(KernelOp::Slot, 140, 142, FIT),
    fitted(KernelOp::Free, 500, 490, SPLIT),
    fitted(KernelOp::FreePage, 15, 15, PAGES),
    guessed(
        KernelOp::Invalidate,
        40,
        "issuing one: lab profile has 83 for __flush_tlb_range_nosync with its barriers, most of \
         which the machine prices",
    ),
    guessed(KernelOp::Entry, 10, "a read or change of an entry in a fault, fork or munmap"),
    guessed(KernelOp::Fault, 900, "handle_mm_fault without what it allocates, zeroes and maps"),
    guessed(KernelOp::Alloc, 700, "a folio: allocation, charge, list; as much as freeing costs"),
    guessed(KernelOp::AllocPage, 15, "each page of it; as freeing"),
    guessed(KernelOp::Submit, 4000, "a request of a block device and its completion"),
    guessed(
        KernelOp::Notify,
        150,
        "__mmu_notifier_clear_flush_young to kvm_handle_hva_range and back: two read sections, the \
         memory slots of the range, the VM's lock; read, not counted",
    ),
    guessed(
        KernelOp::NotifyEntry,
        30,
        "a step of kvm_tdp_mmu_age_gfn_range or of arm64's stage2_age_walker",
    ),
    guessed(
        KernelOp::GuestExit,
        2500,
        "saving and restoring a guest, kvm_tdp_page_fault or user_mem_abort: slot, frame, lock and \
         retry, without the host's own fault; read, not counted",
    ),
];

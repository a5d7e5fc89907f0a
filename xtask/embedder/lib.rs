//! A crate outside the workspace that depends on its packages: it has young checks, wrappers for
//! tests, and the engine over a world of its own.
#![no_std]
#![forbid(unsafe_code)]

use pageout_paging::mmu::{Asid, Caps};
use pageout_paging::pte::X86_64;
use pageout_paging::testing::Tlbs;
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::young::{YoungAlgorithm, YoungCheck};
use pageout_paging::{Env, LockedTable, Pfn, VirtAddr};
use pageout_reclaim::{Limits, Sizes};
use pageout_uapi::{Errno, ReclaimRequest};

/// Returns true if any of the pages was used.
pub fn was_used<E: Env>(env: &E, table: Pfn, addr: VirtAddr, nr: usize) -> bool {
    let (algorithm, flush, asid) = (YoungAlgorithm::Line, FlushPolicy::GENERIC, Asid(1));
    let check = YoungCheck { env, algorithm, flush, asid };
    check.clear_flush_young_ptes(&LockedTable::lock(env, table), addr, nr)
}

/// Returns the memory that the engine needs.
pub fn sizes(limits: &Limits) -> Sizes {
    Sizes::for_limits(limits)
}

/// Returns the bytes that a write to `memory.reclaim` asks for.
///
/// # Errors
/// Those of the text.
pub fn asked(text: &str) -> Result<u64, Errno> {
    ReclaimRequest::parse(text).map(|request| request.bytes)
}

/// TLBs to test with.
pub const TLBS: Tlbs<X86_64, 16> = Tlbs::new(Caps::IDEAL);

/// A function of the C interface.
pub use pageout_capi::entry_points::pageout_clear_flush_young_ptes;

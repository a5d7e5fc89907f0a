//! A machine with prices: cores with TLBs, the fabric that invalidations and interrupts travel, and
//! a clock that counts what everything takes.
//!
//! It sees entry formats, page tables and the contract of [`pageout_paging::mmu`]; never a folio, a
//! list or a decision of reclaim, so that no price can be tuned to a policy.
#![forbid(unsafe_code)]

mod hidden;
pub mod platform;
mod time;
pub mod tlb;

pub use hidden::Hidden;
pub use time::Time;

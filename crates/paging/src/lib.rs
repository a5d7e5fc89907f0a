//! What hardware sees of page aging: page-table entries, batches, contiguous blocks and the checks
//! that read and clear their young (accessed) bits.
//!
//! The crate allocates nothing, knows no folio lists and takes no decision: it serves an engine
//! ([`pageout-reclaim`](https://docs.rs/pageout-reclaim)), and equally a hypervisor or a kernel
//! with maps and locks of its own. Everything is generic over [`Env`], which names the entry
//! [`Format`], hands out [`Table`] handles and reaches the [`Mmu`].
//!
//! ```
//! use core::sync::atomic::AtomicU64;
//! use pageout_paging::pte::{Format, Level, Prot, X86_64};
//! use pageout_paging::table::{HostTable, Table};
//! use pageout_paging::{Pfn, young::line};
//!
//! let memory: Vec<AtomicU64> = (0..512).map(|_| AtomicU64::new(0)).collect();
//! let table = HostTable::<X86_64>::new(&memory).expect("512 entries");
//! let leaf = X86_64::leaf(Level::Pte, Pfn::new(7), Prot::READ);
//! table.set(3, X86_64::mkyoung(leaf));
//!
//! // No one else knows the table yet; otherwise its lock would have to be held.
//! assert!(line::test_and_clear_young(table, None, 0..8, X86_64::YOUNG));
//! assert!(!line::test_and_clear_young(table, None, 0..8, X86_64::YOUNG));
//! ```
#![no_std]
#![deny(unsafe_code)]

mod addr;
pub mod batch;
pub mod contig;
mod env;
pub mod flush_batch;
pub mod mmu;
pub mod notifier;
pub mod pte;
mod rules;
mod stage;
pub mod table;
pub mod testing;
pub mod tlb;
pub mod walk;
pub mod young;

pub use addr::{Order, Pfn, VirtAddr, VirtRange};
pub use env::{Env, LockedTable};
pub use flush_batch::FlushBatch;
pub use mmu::Mmu;
pub use notifier::Notifier;
pub use pte::{Format, Level, Pte};
pub use rules::{Rules, Sound};
pub use stage::Stage;
pub use table::Table;

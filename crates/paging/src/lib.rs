#![doc = include_str!("../README.md")]
#![no_std]
#![deny(unsafe_code)]

mod addr;
pub mod batch;
pub mod contig;
mod env;
pub mod flush_batch;
mod lock_event;
pub mod mmu;
pub mod notifier;
mod observer;
pub mod pte;
mod rules;
mod run;
mod stage;
pub mod table;
pub mod testing;
pub mod tlb;
pub mod walk;
pub mod young;

pub use addr::{Order, Pfn, VirtAddr, VirtRange};
pub use env::{Env, LockedTable};
pub use flush_batch::FlushBatch;
pub use lock_event::{LockEvent, LockWord};
pub use mmu::Mmu;
pub use notifier::Notifier;
pub use observer::Observer;
pub use pte::{Format, Level, Pte};
pub use rules::{Rules, Sound};
pub use run::Run;
pub use stage::Stage;
pub use table::Table;

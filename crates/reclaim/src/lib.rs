//! Folios, address spaces, reverse maps and the question reclaim asks of them: was this folio
//! referenced?
//!
//! The engine allocates nothing: [`Maps`] works in slices that the caller sizes with
//! [`Sizes::for_limits`]. Operations take `&self` and a [`CpuCtx`]; everything they change is
//! atomic or under a lock of the order ARCHITECTURE.md lists.
//!
//! The ground the tables live on comes with each call as a [`pageout_paging::Env`].
#![no_std]
#![forbid(unsafe_code)]

mod balance;
pub mod cache;
mod charge;
mod cpu;
mod decision;
mod errno;
mod fault;
mod folio;
mod free;
mod gather;
mod hierarchy;
mod list;
mod lock;
mod lru;
mod lruvec;
mod map;
mod maps;
mod memcg;
mod memory_reclaim;
mod mm;
mod mmap;
mod notifier;
mod pages;
mod protection;
mod reclaim;
mod referenced;
mod rmap;
mod scan;
mod shrink;
mod space;
mod stat_text;
pub mod swap;
mod tuning;
mod unmap;
mod vma;
mod vmstat;
mod workingset;
mod world;
mod writeback;

pub use cache::{Exists, ShadowEntry};
pub use charge::OutOfMemory;
pub use cpu::{CpuCtx, Events, Rank};
pub use decision::{FolioRef, folio_check_references};
pub use errno::Errno;
pub use fault::{Access, Fault, FaultKind, handle_fault};
pub use folio::{Folio, FolioFlags, FolioGuard, FolioId, LruFlags};
pub use gather::{Gather, flush_tlb_batched_pending};
pub use hierarchy::MemcgBusy;
pub use lock::{Lock, ReadGuard, WriteGuard};
pub use lruvec::LruList;
pub use map::{MapAs, MapError, Zapped, map_folio, zap_folio};
pub use maps::{Limits, Maps, Memory, MemoryError, NewFolio, OutOfTable, Sizes, TableKind};
pub use memcg::{Memcg, MemcgId};
pub use memory_reclaim::ReclaimRequest;
pub use mm::{Mm, MmId};
pub use mmap::MmapError;
pub use notifier::Subscribers;
pub use reclaim::ReclaimOptions;
pub use referenced::{Aging, Referenced, Refs, folio_referenced};
pub use rmap::{Mapping, MappingId, MappingKind};
pub use scan::{Agent, ScanControl};
pub use space::{Advice, SpaceError};
pub use swap::{Slot, SwapSlot};
pub use tuning::{ShootdownWhen, Tuning, UnmapBy, Unmapping};
pub use unmap::{Unmapped, try_to_unmap};
pub use vma::{NewVma, VmFlags, Vma, VmaId};
pub use vmstat::{Counter, VmStat};
pub use workingset::Shadow;
pub use world::{Backing, Frames, Io, Place, Submitted, World};

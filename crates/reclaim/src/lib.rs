#![doc = include_str!("../README.md")]
//!
//! ## Where to begin
//! The engine allocates nothing. [`Memory::carve`] cuts the tables of [`MmState`] from the caller's
//! bytes, as large as [`Limits`] ask. [`MmState::on`] makes an [`Engine`], the handle of the
//! calling CPU, whose methods are the operations. It takes these tables, the world they run on, the
//! CPU's [`CpuCtx`] and a [`Tuning`]. Everything that they change is atomic or under a lock, and
//! locks are taken in one order. No operation waits for storage.
//!
//! The world is a [`pageout_paging::Env`] (page tables, TLBs). Operations that need frames or
//! storage ask for a [`World`], which adds [`Frames`] and [`Backing`]. `examples/kernel.rs` is the
//! smallest program that supplies one, `examples/reclaim.rs` a larger operating system;
//! `examples/embed.rs` only asks which folios were used, and
//! `examples/vmas.rs` measures what many VMAs cost. [`contract`] states what the types do not:
//! which calls are allowed in which context, and the locks held at each callback.
//!
//! | for | modules | start at |
//! |---|---|---|
//! | the handle | `engine`, `tuning` | [`MmState::on`], [`Tuning::recommended`] |
//! | the caller's memory | `memory` | [`Memory::carve`] |
//! | tables | `mm_state`, `folio`, `vma`, `mm`, `mapping`, `cpu`, `lock` | [`MmState::new`] |
//! | what it stands on | `world`, `notifier` | [`World`] |
//! | address spaces | `mmap`, `space`, `map` | [`Engine::mmap`], [`Engine::fork`] |
//! | page faults | `fault` | [`Engine::handle_fault`] |
//! | files' pages, swap, writing | [`cache`], [`swap`], `writeback` | [`Engine::write_done`] |
//! | shared memory | `shmem` | [`MappingKind::Shmem`], [`Engine::truncate`] |
//! | was it used, and what then | `referenced`, `decision` | [`Engine::folio_referenced`] |
//! | taking entries out | `unmap`, `tlb_batch` | [`Engine::try_to_unmap`] |
//! | large folios, PMD leaves, splitting | `split`, `huge`, `deposit` | [`Tuning::pmd_leaves`] |
//! | moving folios to other frames | `migrate`, `compaction` | [`Engine::migrate_range`] |
//! | lists and refaults | `lru_list`, `lruvec`, `lru`, `workingset` | [`Engine::mark_accessed`] |
//! | cgroups | `memcg`, `hierarchy`, `charge`, `protection` | [`Engine::add_memcg`] |
//! | reclaim | `reclaim`, `scan`, `balance`, `shrink` | [`Engine::balance`] |
//! | requests, and counters | `memory_reclaim`, `stats`, `vmstat` | [`Engine::memory_reclaim`] |
//! | generations, and `lru_gen` | [`mglru`] | [`Engine::lru_gen_command`] |
#![no_std]
#![forbid(unsafe_code)]

mod balance;
pub mod cache;
mod charge;
mod compaction;
#[doc = include_str!("../contract.md")]
pub mod contract {}
mod corruption;
mod cpu;
mod decision;
mod deposit;
mod engine;
mod fault;
mod folio;
mod folio_list;
mod free;
mod guards;
mod hierarchy;
mod huge;
mod id;
mod life;
mod list;
mod lock;
mod lru;
mod lru_list;
mod lruvec;
mod map;
mod mapping;
mod memcg;
mod memory;
mod memory_reclaim;
pub mod mglru;
mod migrate;
mod mm;
mod mm_state;
mod mmap;
mod notifier;
mod pages;
mod protection;
mod rank;
mod recency;
mod reclaim;
mod referenced;
mod rmap;
mod scan;
mod shmem;
mod shrink;
mod space;
mod split;
mod stats;
pub mod swap;
mod testing;
mod tlb_batch;
mod tree;
mod tuning;
mod unmap;
mod vma;
mod vmstat;
mod workingset;
mod world;
mod writeback;

pub use cache::dirty::DirtyFolios;
pub use cache::{Exists, ShadowEntry};
pub use compaction::Compacted;
pub use corruption::Corruption;
pub use cpu::{CpuCtx, Events};
pub use decision::{FolioRef, folio_check_references, lru_gen_check_references};
pub use engine::Engine;
pub use fault::{Access, Fault, FaultKind};
pub use folio::{Folio, FolioFlags, FolioGuard, LruFlags};
pub use hierarchy::MemcgBusy;
pub use id::{FolioId, MappingId, MemcgId, MmId, SwapSlot, VmaId};
pub use lock::{Lock, ReadGuard, WriteGuard};
pub use lru_list::LruList;
pub use map::{MapAs, MapError, Zapped};
pub use mapping::{Mapping, MappingKind};
pub use memcg::Memcg;
pub use memory::{BadId, Limits, Memory, MemoryError, OutOfMemory, OutOfTable, Sizes, TableKind};
pub use migrate::{Migrated, Targets};
pub use mm::Mm;
pub use mm_state::{AddFolioError, MmState, NewFolio, RemoveError};
pub use mmap::MmapError;
pub use notifier::Subscribers;
pub use pageout_uapi::{Errno, ReclaimRequest};
pub use recency::Recency;
pub use reclaim::ReclaimOptions;
pub use referenced::{Referenced, Refs};
pub use scan::{Agent, ScanControl};
pub use space::{Advice, SpaceError, TruncateError};
pub use swap::Slot;
pub use tlb_batch::{FREE_BATCH, ReleaseError, TlbBatch, flush_tlb_batched_pending};
pub use tuning::{Aging, FlushTiming, PmdLeaves, Thp, Tuning, UnmapGranularity, Unmapping};
pub use unmap::Unmapped;
pub use vma::{NewVma, VmFlags, Vma};
pub use vmstat::{Counter, VmStat};
pub use workingset::Shadow;
pub use world::{Backing, Frames, FreeBlocks, Io, Place, Submitted, World};
pub use writeback::TransferError;

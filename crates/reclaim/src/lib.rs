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
//! | tables | `mm_state`, `folio`, `cpu`, `lock` | [`MmState::new`] |
//! | what it stands on | `world`, `notifier` | [`World`] |
//!
//! All else is in rooms. Each uses only the rooms above it in this list, and shows the others only
//! what its first file names.
//!
//! | for | room | start at |
//! |---|---|---|
//! | cgroups: their tree, charges, protection | `cgroup` | [`MmState::memcg`] |
//! | VMAs, mappings, reverse maps, PMD leaves | `mm` | [`Engine::mmap`] |
//! | files, shared memory, swap | `page_cache` ([`cache`], [`swap`]) | [`Engine::truncate`] |
//! | lists, refaults, generations | `lru` ([`mglru`]) | [`Engine::mark_accessed`] |
//! | taking entries out, what is owed, writing | `unmap` | [`Engine::try_to_unmap`], [`TlbBatch`] |
//! | what goes, requests, counters | `reclaim` | [`Engine::balance`], [`Engine::memory_reclaim`] |
//! | moving folios to other frames | `compaction` | [`Engine::migrate_range`] |
//! | the calls of processes | `space` | [`Engine::fork`], [`Engine::truncate`] |
//! | page faults | `fault` | [`Engine::handle_fault`] |
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
mod bare;
mod cgroup;
mod compaction;
#[doc = include_str!("../contract.md")]
pub mod contract {}
mod corruption;
mod cpu;
mod engine;
mod fault;
mod folio;
mod folio_list;
mod guards;
mod id;
mod life;
mod list;
mod lock;
mod lru;
mod memory;
mod mm;
mod mm_state;
mod noted;
mod notifier;
mod page_cache;
mod rank;
mod recency;
mod reclaim;
mod space;
mod table;
mod testing;
mod tuning;
mod unmap;
mod vmstat;
mod world;

pub use lru::mglru;
pub use page_cache::{cache, swap};

pub use cgroup::Memcg;
pub use compaction::{Compacted, Migrated, Offlined, Targets};
pub use corruption::Corruption;
pub use cpu::{CpuCtx, Events};
pub use engine::Engine;
pub use fault::{Access, Fault, FaultKind};
pub use folio::{Folio, FolioFlags, FolioGuard, LruFlags, MappingKind};
pub use id::{FolioId, LruvecId, MAX_NUMNODES, MappingId, MemcgId, MmId, NodeId, SwapSlot, VmaId};
pub use lock::{Lock, ReadGuard, WriteGuard};
pub use lru::{AddMemcgError, LruAddError, LruList, Lruvec, MemcgBusy, Node};
pub use memory::{
    BadId, Limits, Memory, MemoryError, OutOfMemory, OutOfTable, ReleaseError, Sizes, TableKind,
};
pub use mm::{Chunk, GrowError, Growth};
pub use mm::{MapAs, MapError, Mapping, Mm, MmapError, NewFolio, NewVma, RemoveError};
pub use mm::{VmFlags, Vma, Zapped};
pub use mm_state::{AddFolioError, MmState, NodeStartError};
pub use notifier::Subscribers;
pub use page_cache::cache::dirty::DirtyFolios;
pub use page_cache::cache::{IndexError, ShadowEntry};
pub use page_cache::{Shadow, Slot, SlotError};
pub use pageout_uapi::{Errno, ReclaimRequest};
pub use recency::Recency;
pub use reclaim::{Agent, ChargeError, FolioRef, ReclaimOptions, Referenced, Refs};
pub use reclaim::{folio_check_references, lru_gen_check_references};
pub use space::{Advice, SpaceError, TruncateError};
pub use tuning::{Aging, FlushTiming, PmdLeaves, Thp, Tuning, UnmapGranularity, Unmapping};
pub use unmap::{FREE_BATCH, TlbBatch, TransferError, Unmapped, flush_tlb_batched_pending};
pub use vmstat::{Counter, VmStat};
pub use world::{Backing, Frames, FreeBlocks, Io, IoError, Place, Submitted, World};

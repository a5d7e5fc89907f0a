//! The multi-generational LRU (Linux 7.3.4, `CONFIG_LRU_GEN`).
//!
//! Folios of each type are in two to four generations, numbered by sequence: the youngest is
//! `max_seq`, the oldest of a type `min_seq`. Aging opens a new generation and moves used folios
//! into it, by walking page tables; eviction empties the oldest. A walk changes a folio's
//! generation without any lock ([`Recency`](crate::Recency)). Eviction that meets the folio on an
//! old list moves it to its generation's list.

mod batch;
mod bloom;
mod caps;
pub(super) mod generation;
mod hand_in;
pub(super) mod lrugen;
mod memcg_lru;
mod mm_list;
mod parts;
mod refault;
mod reparent;
mod seq;
mod shown;
mod switch;
mod tier;
mod view;

pub use crate::folio::MAX_NR_ZONES;
pub use batch::MmStats;
pub(crate) use batch::MmWalk;
pub use bloom::BloomFilter;
pub(crate) use bloom::PmdEntry;
pub use caps::LruGenCaps;
pub(crate) use caps::LruGenState;
pub(crate) use generation::{End, folio_update_gen, is_executable, lru_gen_set_refs};
pub(crate) use memcg_lru::{MemcgLru, MemcgLruLink, MemcgLruOp, NextMemcg};
pub(crate) use mm_list::iterate::Next;
pub(crate) use mm_list::{Membership, MmIteration, MmList};
pub(crate) use parts::Parts;
pub(crate) use seq::evictable_types;
pub(crate) use tier::{get_tier_idx, get_type_to_scan, is_lazily_promoted, tier_of};

/// The number of generations that eviction leaves (`MIN_NR_GENS`). Folios in them count as active.
pub const MIN_NR_GENS: u64 = 2;
/// The largest number of generations (`MAX_NR_GENS`).
pub const MAX_NR_GENS: usize = 4;
/// The number of tiers of a generation (`MAX_NR_TIERS`). They are for up to one, two, and up to
/// four uses through file descriptors, and for folios of a working set.
pub const MAX_NR_TIERS: usize = pageout_uapi::lru_gen::NR_TIERS;
/// The number of folios, or of pages, that make a batch worthwhile (`MIN_LRU_BATCH`).
pub(crate) const MIN_LRU_BATCH: u64 = 64;
/// The number of folios moved under one hold of a lock, or updated before a walk pauses
/// (`MAX_LRU_BATCH`).
pub(crate) const MAX_LRU_BATCH: u64 = 4096;

/// A number for each generation, type and zone.
pub(crate) type PerGeneration<T> = [[[T; MAX_NR_ZONES]; 2]; MAX_NR_GENS];

/// Returns the place, of the four, of the generation with this sequence number.
pub(crate) const fn gen_from_seq(seq: u64) -> usize {
    (seq % MAX_NR_GENS as u64) as usize
}

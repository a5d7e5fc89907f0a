//! Address spaces: their VMAs, the mappings whose pages these map, and the entries and reverse maps
//! of both.

mod deposit;
mod entries;
mod growth;
mod huge;
mod map;
mod mapping;
mod mm_struct;
mod mmap;
mod pages;
mod rmap;
mod spaces;
mod tables;
mod tree;
mod vma;

pub(crate) use deposit::Deposits;
pub use entries::{NewFolio, RemoveError};
pub use growth::{Chunk, GrowError, Growth};
pub(crate) use huge::{keep_state, leaf_at, leaf_start, prot_of, rewrite_leaf, set_leaf_if_vacant};
pub use map::{MapAs, MapError, Zapped};
pub use mapping::Mapping;
pub use mm_struct::Mm;
pub use mmap::MmapError;
pub(crate) use mmap::is_pages;
pub(crate) use spaces::Spaces;
pub(crate) use tables::{WorldTables, frames, maps_whole, max_batch, pages, run};
#[cfg(test)]
pub(crate) use tree::numbers;
pub use vma::{NewVma, VmFlags, Vma};

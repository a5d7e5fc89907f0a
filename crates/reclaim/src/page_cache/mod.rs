//! Pages by their place in a file, in shared memory or in swap: the file index and the swap cache.

pub mod cache;
mod shmem;
mod stored;
pub mod swap;

pub(crate) use cache::SLOT;
pub(crate) use cache::index::{Found, IndexWalk, forget_shadows, unlink};
pub use cache::shadow::Shadow;
pub(crate) use cache::tags::{Tags, words_for};
pub(crate) use stored::Stored;
pub use swap::Slot;
pub use swap::cache::SlotError;
pub(crate) use swap::cache::delete_from_swap_cache;

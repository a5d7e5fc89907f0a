//! The LRU lists, classic and by generations: the folios on them, and the cgroups that have them.

mod free;
mod lists;
mod lru_list;
mod lruvec;
pub mod mglru;
mod node;
mod on_nodes;
mod online;
mod state;
mod workingset;

pub(crate) use lists::Isolate;
pub use lists::LruAddError;
pub use lru_list::LruList;
pub(crate) use lru_list::{ANON, FILE, SWAP_CLUSTER_MAX, kind_of};
pub use lruvec::Lruvec;
pub(crate) use lruvec::place::LruGuard;
pub use node::Node;
pub use online::{AddMemcgError, MemcgBusy};
pub(crate) use state::LruState;

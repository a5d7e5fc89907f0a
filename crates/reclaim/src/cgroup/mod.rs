//! Memory cgroups: their tree, their charges, and the memory that they keep from reclaim.

mod charge;
mod hierarchy;
mod memcg;
mod protection;
mod state;

pub(crate) use charge::counters;
pub use memcg::Memcg;
pub(crate) use protection::Protected;
pub(crate) use state::Cgroups;

//! Checks of the young-bit code against an oracle, in a world where hardware can act between any
//! two table operations. A check returns a [`Counterexample`]; it never panics because of the
//! subject.

mod case;
mod check;
mod counterexample;
mod decode;
mod ground;
mod hardware;
mod oracle;
mod search;
mod world;

pub use case::{BASE, Case, Layout, Outside, PageKind};
pub use check::{Call, Op, check_call, choice};
pub use counterexample::Counterexample;
pub use decode::{Bits, Decode};
pub use ground::{Ground, Guard};
pub use hardware::{Tried, check_hardware, try_every_access};
pub use oracle::{Expected, batch_len, gathered, merged};
pub use search::{case_numbers, each_edge_case, each_small_case, random_case};
pub use world::{Access, Counts, Event, FIRST_TABLE, World};

//! The machine's protocols, each fact by its name.

mod ground;
mod sched;
mod young;

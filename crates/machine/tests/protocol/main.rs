//! The machine's protocols, each fact by its name.

mod broadcast;
mod determinism;
mod engine;
mod ground;
mod ipi;
mod lines;
mod sched;
mod words;
mod young;

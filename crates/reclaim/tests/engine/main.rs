//! The engine's rules, each a test by name, on page tables in memory that count what is done to
//! them. Small formats and real ones, all families of young checks.

mod accounting;
mod advise;
mod agreement;
mod batches;
mod busy;
mod cow;
mod cpu;
mod crowd;
mod decision;
mod env;
mod faults;
mod fork;
mod formats;
mod ground;
mod lists;
mod locking;
mod locks;
mod lru_gen_text;
mod mapping;
mod mglru_uses;
mod mlock;
mod pressure;
mod protect;
mod remap;
mod secondary;
mod sharing;
mod shrink;
mod stats;
mod swappiness;
mod tables;
mod threads;
mod unmap;
mod vmas;
mod world;
mod zones;

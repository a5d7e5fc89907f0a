//! Aging and eviction of generations.

pub(super) mod age;
mod command;
mod entries;
mod evict;
mod look_around;
mod min_ttl;
mod node;
mod walk;

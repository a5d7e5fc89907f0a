//! The tables of cgroups.

use super::memcg::{Memcg, MemcgTree};
use crate::id::MemcgNr;
use core::sync::atomic::Ordering::Relaxed;

/// The table of cgroups, and their tree.
#[derive(Debug)]
pub(crate) struct Cgroups<'m> {
    pub(crate) table: &'m [Memcg],
    pub(super) tree: MemcgTree,
}

impl<'m> Cgroups<'m> {
    /// Makes a tree of only the root.
    pub(crate) fn new(table: &'m [Memcg]) -> Self {
        let tree = MemcgTree::default();
        table.iter().for_each(|memcg| memcg.generation.clear());
        table[0].init(MemcgNr::ROOT, Memcg::SWAPPINESS);
        let rest = &table[1..];
        for (next, memcg) in (2..).zip(rest) {
            let last = usize::from(next) == table.len();
            memcg.parent.store(if last { MemcgNr::NONE.0 } else { next }, Relaxed);
        }
        tree.free.store(if rest.is_empty() { MemcgNr::NONE.0 } else { 1 }, Relaxed);
        Self { table, tree }
    }
}

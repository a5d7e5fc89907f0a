//! The tree of cgroups: its shape, and walks over it.

use super::memcg::Memcg;
use crate::engine::Engine;
use crate::guards::{LongRead, LongWrite};
use crate::id::MemcgId;
use crate::mm_state::MmState;
use crate::rank::Rank;
use core::sync::atomic::{AtomicU16, Ordering::Relaxed};
use pageout_paging::Env;

/// Returns the cgroup that a link names.
#[inline]
fn link(link: &AtomicU16) -> Option<MemcgId> {
    let id = MemcgId(link.load(Relaxed));
    (id != MemcgId::NONE).then_some(id)
}

impl<'e, E: Env> Engine<'e, E> {
    /// Locks the tree against changes, to walk it.
    pub(crate) fn lock_tree(&self) -> LongRead<'e, E> {
        self.lock_read_long(Rank::Memcgs, &self.maps.cgroups.tree.lock)
    }

    /// Returns true if a number names a cgroup that was added and not removed since, or the root.
    /// It walks the whole tree: ids of cgroups carry no generation, and a free entry may look like
    /// one in use.
    pub fn memcg_is_online(&self, id: MemcgId) -> bool {
        let tree = self.lock_tree();
        let online = self.maps.subtree(MemcgId::ROOT).any(|at| at == id);
        drop(tree);
        online
    }

    /// Locks the tree to change it.
    pub(crate) fn lock_tree_to_change(&self) -> LongWrite<'e, E> {
        self.lock_write_long(Rank::Memcgs, &self.maps.cgroups.tree.lock)
    }
}

impl<'m> MmState<'m> {
    /// Returns a cgroup.
    #[inline]
    pub fn memcg(&self, id: MemcgId) -> &Memcg {
        &self.cgroups.table[usize::from(id.0)]
    }
}

impl MmState<'_> {
    /// Puts a free entry of the table on the tree, below `parent` and with its swappiness; returns
    /// `None` if no entry is free. The caller holds the tree's lock to write.
    pub(crate) fn put_on_tree(&self, parent: MemcgId) -> Option<MemcgId> {
        let id = link(&self.cgroups.tree.free)?;
        let (memcg, above) = (self.memcg(id), self.memcg(parent));
        self.cgroups.tree.free.store(memcg.parent.load(Relaxed), Relaxed);
        memcg.init(parent, above.swappiness.load(Relaxed));
        memcg.sibling.store(above.child.load(Relaxed), Relaxed);
        above.child.store(id.0, Relaxed);
        Some(id)
    }

    /// Takes a cgroup without children off the tree. The caller holds the tree's lock to write.
    pub(crate) fn take_off_tree(&self, id: MemcgId, parent: MemcgId) {
        let memcg = self.memcg(id);
        let mut at = &self.memcg(parent).child;
        while at.load(Relaxed) != id.0 {
            let next = link(at).expect("a cgroup is among its parent's children");
            at = &self.memcg(next).sibling;
        }
        at.store(memcg.sibling.load(Relaxed), Relaxed);
        self.memcg(parent).vmstat.absorb(&memcg.vmstat);
        memcg.parent.store(self.cgroups.tree.free.load(Relaxed), Relaxed);
        self.cgroups.tree.free.store(id.0, Relaxed);
    }

    /// Returns the next cgroup of the subtree, parents before children.
    #[inline]
    pub(crate) fn next_memcg(&self, top: MemcgId, at: MemcgId) -> Option<MemcgId> {
        let child = link(&self.memcg(at).child);
        if child.is_some() {
            return child;
        }
        let mut id = at;
        while id != top {
            let sibling = link(&self.memcg(id).sibling);
            if sibling.is_some() {
                return sibling;
            }
            id = self.memcg(id).parent();
        }
        None
    }

    /// Returns a cgroup and all below it, parents first. The caller holds the tree's lock.
    pub(crate) fn subtree(&self, top: MemcgId) -> impl Iterator<Item = MemcgId> {
        core::iter::successors(Some(top), move |at| self.next_memcg(top, *at))
    }

    /// Returns the children of a cgroup.
    pub(crate) fn children(&self, id: MemcgId) -> impl Iterator<Item = &Memcg> {
        let first = link(&self.memcg(id).child);
        core::iter::successors(first, |id| link(&self.memcg(*id).sibling)).map(|id| self.memcg(id))
    }

    /// Sets whether children share the part of their parent's protection that no child claims (the
    /// mount option `memory_recursiveprot`). It is off at first.
    pub fn set_recursive_protection(&self, on: bool) {
        self.cgroups.tree.recursive.store(on, Relaxed);
    }

    /// Returns true if a cgroup is `top` or below it.
    #[inline]
    pub(crate) fn is_within(&self, mut id: MemcgId, top: MemcgId) -> bool {
        while id != top && id != MemcgId::ROOT {
            id = self.memcg(id).parent();
        }
        id == top
    }

    /// Returns a cgroup, its parent and so on up to the root.
    #[inline]
    pub(crate) fn ancestors(&self, id: MemcgId) -> impl Iterator<Item = &Memcg> {
        let parent = |id: &MemcgId| (*id != MemcgId::ROOT).then(|| self.memcg(*id).parent());
        core::iter::successors(Some(id), parent).map(|id| self.memcg(id))
    }
}

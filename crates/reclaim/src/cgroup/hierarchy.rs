//! The tree of cgroups: its shape, and walks over it.

use super::memcg::Memcg;
use crate::engine::Engine;
use crate::folio::Folio;
use crate::guards::{LongRead, LongWrite};
use crate::id::{MemcgId, MemcgNr};
use crate::memory::{BadId, TableKind};
use crate::mm_state::MmState;
use crate::rank::Rank;
use core::sync::atomic::{AtomicU16, Ordering::Relaxed};
use pageout_paging::Env;

/// Returns the cgroup that a link names.
#[inline]
fn link(link: &AtomicU16) -> Option<MemcgNr> {
    let id = MemcgNr(link.load(Relaxed));
    (id != MemcgNr::NONE).then_some(id)
}

impl<'e, E: Env> Engine<'e, E> {
    /// Locks the tree against changes, to walk it.
    pub(crate) fn lock_tree(&self) -> LongRead<'e, E> {
        self.lock_read_long(Rank::Memcgs, &self.maps.cgroups.tree.lock)
    }

    /// Locks the tree to change it.
    pub(crate) fn lock_tree_to_change(&self) -> LongWrite<'e, E> {
        self.lock_write_long(Rank::Memcgs, &self.maps.cgroups.tree.lock)
    }
}

impl<'m> MmState<'m> {
    /// Returns a cgroup.
    ///
    /// # Errors
    /// [`BadId`] if it was removed.
    pub fn memcg(&self, id: MemcgId) -> Result<&Memcg, BadId> {
        Ok(self.memcg_at(self.memcg_nr(id)?))
    }

    /// Returns the entry of a cgroup.
    #[inline]
    pub(crate) fn memcg_at(&self, nr: MemcgNr) -> &Memcg {
        &self.cgroups.table[usize::from(nr.0)]
    }

    /// Returns the entry of the cgroup that a caller names.
    pub(crate) fn memcg_nr(&self, id: MemcgId) -> Result<MemcgNr, BadId> {
        let memcg = self.cgroups.table.get(usize::from(id.nr));
        let online = memcg.is_some_and(|memcg| memcg.is_online_as(id.before));
        online.then_some(MemcgNr(id.nr)).ok_or(BadId(TableKind::Memcgs))
    }

    /// Returns the id of the cgroup that an entry has now.
    pub(crate) fn memcg_id(&self, nr: MemcgNr) -> MemcgId {
        MemcgId { nr: nr.0, before: self.memcg_at(nr).before() }
    }

    /// Returns the cgroup that a folio is charged to, or the root if it is not charged.
    pub fn memcg_of(&self, folio: &Folio) -> MemcgId {
        self.memcg_id(folio.memcg())
    }
}

impl MmState<'_> {
    /// Puts a free entry of the table on the tree, below `parent` and with its swappiness; returns
    /// `None` if no entry is free. The caller holds the tree's lock to write.
    pub(crate) fn put_on_tree(&self, parent: MemcgNr) -> Option<MemcgNr> {
        let id = link(&self.cgroups.tree.free)?;
        let (memcg, above) = (self.memcg_at(id), self.memcg_at(parent));
        self.cgroups.tree.free.store(memcg.parent.load(Relaxed), Relaxed);
        memcg.init(parent, above.swappiness.load(Relaxed));
        memcg.sibling.store(above.child.load(Relaxed), Relaxed);
        above.child.store(id.0, Relaxed);
        Some(id)
    }

    /// Takes a cgroup without children off the tree. The caller holds the tree's lock to write.
    pub(crate) fn take_off_tree(&self, id: MemcgNr, parent: MemcgNr) {
        let memcg = self.memcg_at(id);
        let mut at = &self.memcg_at(parent).child;
        while at.load(Relaxed) != id.0 {
            let next = link(at).expect("a cgroup is among its parent's children");
            at = &self.memcg_at(next).sibling;
        }
        at.store(memcg.sibling.load(Relaxed), Relaxed);
        self.memcg_at(parent).vmstat.absorb(&memcg.vmstat);
        let ended = memcg.generation.end(memcg.generation.now());
        assert!(ended, "a cgroup ends once");
        memcg.parent.store(self.cgroups.tree.free.load(Relaxed), Relaxed);
        self.cgroups.tree.free.store(id.0, Relaxed);
    }

    /// Returns the next cgroup of the subtree, parents before children.
    #[inline]
    pub(crate) fn next_memcg(&self, top: MemcgNr, at: MemcgNr) -> Option<MemcgNr> {
        let child = link(&self.memcg_at(at).child);
        if child.is_some() {
            return child;
        }
        let mut id = at;
        while id != top {
            let sibling = link(&self.memcg_at(id).sibling);
            if sibling.is_some() {
                return sibling;
            }
            id = self.memcg_at(id).parent();
        }
        None
    }

    /// Returns a cgroup and all below it, parents first. The caller holds the tree's lock.
    pub(crate) fn subtree(&self, top: MemcgNr) -> impl Iterator<Item = MemcgNr> {
        core::iter::successors(Some(top), move |at| self.next_memcg(top, *at))
    }

    /// Returns the children of a cgroup.
    pub(crate) fn children(&self, id: MemcgNr) -> impl Iterator<Item = &Memcg> {
        let first = link(&self.memcg_at(id).child);
        core::iter::successors(first, |id| link(&self.memcg_at(*id).sibling))
            .map(|id| self.memcg_at(id))
    }

    /// Sets whether children share the part of their parent's protection that no child claims (the
    /// mount option `memory_recursiveprot`). It is off at first.
    pub fn set_recursive_protection(&self, on: bool) {
        self.cgroups.tree.recursive.store(on, Relaxed);
    }

    /// Returns true if a cgroup is `top` or below it.
    #[inline]
    pub(crate) fn is_within(&self, mut id: MemcgNr, top: MemcgNr) -> bool {
        while id != top && id != MemcgNr::ROOT {
            id = self.memcg_at(id).parent();
        }
        id == top
    }

    /// Returns a cgroup, its parent and so on up to the root.
    #[inline]
    pub(crate) fn ancestors(&self, id: MemcgNr) -> impl Iterator<Item = &Memcg> {
        let parent = |id: &MemcgNr| (*id != MemcgNr::ROOT).then(|| self.memcg_at(*id).parent());
        core::iter::successors(Some(id), parent).map(|id| self.memcg_at(id))
    }
}

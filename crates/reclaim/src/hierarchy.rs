//! The tree of cgroups: its shape, and walks over it.

use crate::engine::Engine;
use crate::folio::LruFlags;
use crate::folio_list::FolioList;
use crate::id::MemcgId;
use crate::lock::ReadGuard;
use crate::lru::Isolate;
use crate::lru_list::LruList;
use crate::memcg::Memcg;
use crate::memory::{OutOfTable, TableKind};
use crate::mglru::MAX_NR_ZONES;
use crate::mm_state::MmState;
use crate::rank::{Rank, Ranked};
use crate::world::World;
use core::sync::atomic::{AtomicU16, Ordering::Relaxed};
use pageout_paging::Env;

/// The reason why [`Engine::remove_memcg`] refused (EBUSY).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MemcgBusy {
    /// The cgroup is the root.
    #[error("the root cgroup stays")]
    Root,
    /// The cgroup has children.
    #[error("the cgroup has children")]
    HasChildren,
    /// A process is in the cgroup.
    #[error("a process is in the cgroup")]
    HasProcesses,
}

/// The number of pages isolated under one hold of a lock.
const BATCH: u64 = 32;

/// Returns the cgroup that a link names.
#[inline]
fn link(link: &AtomicU16) -> Option<MemcgId> {
    let id = MemcgId(link.load(Relaxed));
    (id != MemcgId::NONE).then_some(id)
}

impl<'e, E: Env> Engine<'e, E> {
    /// Locks the tree against changes, to walk it.
    pub(crate) fn lock_tree(&self) -> Ranked<'e, ReadGuard<'e>> {
        self.lock_read(Rank::Memcgs, &self.maps.cgroups.tree.lock)
    }
}

impl<W: World> Engine<'_, W> {
    /// Adds a cgroup without limits or protection below `parent`, with the parent's swappiness.
    ///
    /// # Errors
    /// [`OutOfTable`] if the table of cgroups is full.
    pub fn add_memcg(&mut self, parent: MemcgId) -> Result<MemcgId, OutOfTable> {
        let (maps, world) = (self.maps, self.world);
        let guard = self.lock_write(Rank::Memcgs, &maps.cgroups.tree.lock);
        let added = link(&maps.cgroups.tree.free);
        if let Some(id) = added {
            let (memcg, above) = (maps.memcg(id), maps.memcg(parent));
            maps.cgroups.tree.free.store(memcg.parent.load(Relaxed), Relaxed);
            memcg.init(
                parent,
                above.swappiness.load(Relaxed),
                maps.lru_gen_enabled(),
                world.now_ms(),
            );
            memcg.sibling.store(above.child.load(Relaxed), Relaxed);
            above.child.store(id.0, Relaxed);
            self.memcg_lru_add(id);
        }
        drop(guard);
        added.ok_or(OutOfTable(TableKind::Memcgs))
    }

    /// Removes a cgroup without processes, to which nothing will be charged any more. Its remaining
    /// folios are charged to its parent and join the parent's lists.
    ///
    /// # Errors
    /// [`MemcgBusy`]; nothing is changed then.
    pub fn remove_memcg(&mut self, id: MemcgId) -> Result<(), MemcgBusy> {
        let maps = self.maps;
        if id == MemcgId::ROOT {
            return Err(MemcgBusy::Root);
        }
        let guard = self.lock_write(Rank::Memcgs, &maps.cgroups.tree.lock);
        let removed = match link(&maps.memcg(id).child) {
            Some(_) => Err(MemcgBusy::HasChildren),
            None if !maps.memcg(id).mm_list.is_empty() => Err(MemcgBusy::HasProcesses),
            None => {
                let parent = MemcgId(maps.memcg(id).parent.load(Relaxed));
                self.reparent(id, parent);
                self.put_filters(id);
                self.memcg_lru_remove(id);
                maps.take_off_tree(id, parent);
                Ok(())
            }
        };
        drop(guard);
        removed
    }
}

impl MmState<'_> {
    fn take_off_tree(&self, id: MemcgId, parent: MemcgId) {
        let memcg = self.memcg(id);
        let mut at = &self.memcg(parent).child;
        while at.load(Relaxed) != id.0 {
            let next = link(at).expect("a cgroup is among its parent's children");
            at = &self.memcg(next).sibling;
        }
        at.store(memcg.sibling.load(Relaxed), Relaxed);
        for above in self.ancestors(parent) {
            // A walk that stopped at this cgroup begins anew.
            let _ = above.walked.compare_exchange(id.0, MemcgId::NONE.0, Relaxed, Relaxed);
        }
        self.memcg(parent).vmstat.absorb(&memcg.vmstat);
        memcg.parent.store(self.cgroups.tree.free.load(Relaxed), Relaxed);
        self.cgroups.tree.free.store(id.0, Relaxed);
    }
}

impl<W: World> Engine<'_, W> {
    /// Moves all charges of `from` to its parent. Isolated folios are moved without a list; those
    /// about to be freed are waited for. Its slots in swap become the parent's too.
    fn reparent(&mut self, from: MemcgId, to: MemcgId) {
        let maps = self.maps;
        while maps.memcg(from).usage() > 0 {
            self.reparent_generations(from, to);
            for list in LruList::ALL {
                let mut moved = FolioList::default();
                let reclaim_idx = MAX_NR_ZONES - 1;
                let what = Isolate { memcg: from, list, nr_to_scan: BATCH, reclaim_idx };
                while self.isolate(what, &mut moved).taken > 0 {
                    maps.move_charges(&moved, from, to);
                    self.putback(&mut moved);
                }
            }
            if maps.memcg(from).usage() == 0 {
                break;
            }
            // Folios that are isolated or about to be freed are on no list: only the table of all
            // folios leads to them.
            for folio in maps.charged_to(from) {
                let guard = self.lock_lruvec(from);
                if !folio.lru().contains(LruFlags::LRU) {
                    maps.move_charge(folio, from, to);
                }
                drop(guard);
            }
            self.world.relax();
        }
        for slot in maps.stored.slots {
            let _ = slot.memcg.compare_exchange(from.0, to.0, Relaxed, Relaxed);
        }
    }
}

impl MmState<'_> {
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
            id = MemcgId(self.memcg(id).parent.load(Relaxed));
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

    /// Returns the next cgroup of a walk that goes on where the last one stopped, and ends with the
    /// subtree. Concurrent walks share the cgroups among them (Linux 7.3.4, `mem_cgroup_iter` with
    /// a cookie).
    pub(crate) fn walk_on(&self, top: MemcgId, first: bool) -> Option<MemcgId> {
        let walked = &self.memcg(top).walked;
        loop {
            let at = walked.load(Relaxed);
            let next = match MemcgId(at) {
                MemcgId::NONE => first.then_some(top),
                at => self.next_memcg(top, at),
            };
            let to = next.unwrap_or(MemcgId::NONE).0;
            let claimed = walked.compare_exchange(at, to, Relaxed, Relaxed).is_ok();
            if claimed && (next.is_some() || !first) {
                return next;
            }
        }
    }

    /// Sets whether children share the part of their parent's protection that no child claims (the
    /// mount option `memory_recursiveprot`). It is off at first.
    pub fn set_recursive_protection(&self, on: bool) {
        self.cgroups.tree.recursive.store(on, Relaxed);
    }

    /// Sets the number of pages that background reclaim leaves free. It is 0 at first.
    pub fn set_high_watermark(&self, pages: u64) {
        self.cgroups.tree.high_watermark.store(pages, Relaxed);
    }

    /// Returns the number of pages that background reclaim leaves free.
    #[inline]
    pub fn high_watermark(&self) -> u64 {
        self.cgroups.tree.high_watermark.load(Relaxed)
    }

    /// Returns true if a cgroup is `top` or below it.
    #[inline]
    pub(crate) fn is_within(&self, mut id: MemcgId, top: MemcgId) -> bool {
        while id != top && id != MemcgId::ROOT {
            id = MemcgId(self.memcg(id).parent.load(Relaxed));
        }
        id == top
    }

    /// Returns a cgroup, its parent and so on up to the root.
    #[inline]
    pub(crate) fn ancestors(&self, id: MemcgId) -> impl Iterator<Item = &Memcg> {
        let parent = |id: &MemcgId| {
            (*id != MemcgId::ROOT).then(|| MemcgId(self.memcg(*id).parent.load(Relaxed)))
        };
        core::iter::successors(Some(id), parent).map(|id| self.memcg(id))
    }
}

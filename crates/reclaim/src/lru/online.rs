//! Adding and removing cgroups, whose folios go to the parent.

use super::lists::Isolate;
use super::lru_list::LruList;
use crate::engine::Engine;
use crate::folio::{Folio, LruFlags, MAX_NR_ZONES};
use crate::folio_list::FolioList;
use crate::id::{LruvecNr, MemcgId, MemcgNr};
use crate::memory::{BadId, OutOfTable, TableKind};
use crate::mm_state::MmState;
use crate::world::World;

/// The reason why a cgroup was not added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddMemcgError {
    /// The table of cgroups is full.
    #[error(transparent)]
    OutOfTable(#[from] OutOfTable),
    /// The parent was removed.
    #[error(transparent)]
    BadId(#[from] BadId),
}

/// The reason why [`Engine::remove_memcg`] refused (EBUSY, but for the last).
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
    /// The cgroup was removed already.
    #[error(transparent)]
    BadId(#[from] BadId),
}

/// The number of pages isolated under one hold of a lock.
const BATCH: u64 = 32;

impl<W: World> Engine<'_, W> {
    /// Adds a cgroup without limits or protection below `parent`, with the parent's swappiness.
    ///
    /// # Errors
    /// [`AddMemcgError`].
    pub fn add_memcg(&mut self, parent: MemcgId) -> Result<MemcgId, AddMemcgError> {
        let maps = self.maps;
        let guard = self.lock_tree_to_change();
        let added = maps.memcg_nr(parent).map(|parent| self.bring_online(parent));
        drop(guard);
        let nr = added?.ok_or(OutOfTable(TableKind::Memcgs))?;
        Ok(maps.memcg_id(nr))
    }

    /// Puts a cgroup on the tree, with lists on each node. The caller holds the tree's lock to
    /// write.
    fn bring_online(&mut self, parent: MemcgNr) -> Option<MemcgNr> {
        let (maps, world) = (self.maps, self.world);
        let added = maps.put_on_tree(parent);
        if let Some(id) = added {
            let now = world.now_ms();
            maps.lruvecs_of(id).for_each(|lruvec| lruvec.init(maps.lru_gen_enabled(), now));
            maps.nodes().for_each(|node| self.memcg_lru_add(LruvecNr { memcg: id, node }));
        }
        added
    }

    /// Removes a cgroup without processes, to which nothing will be charged any more. Its remaining
    /// folios are charged to its parent and join the parent's lists.
    ///
    /// # Errors
    /// [`MemcgBusy`]; nothing is changed then.
    pub fn remove_memcg(&mut self, id: MemcgId) -> Result<(), MemcgBusy> {
        let guard = self.lock_tree_to_change();
        let removed = self.take_offline(id);
        drop(guard);
        removed
    }

    /// Removes a cgroup. The caller holds the tree's lock to write.
    fn take_offline(&mut self, id: MemcgId) -> Result<(), MemcgBusy> {
        let maps = self.maps;
        let id = maps.memcg_nr(id)?;
        if id == MemcgNr::ROOT {
            return Err(MemcgBusy::Root);
        }
        match maps.children(id).next() {
            Some(_) => Err(MemcgBusy::HasChildren),
            None if !maps.memcg_at(id).mm_list.is_empty() => Err(MemcgBusy::HasProcesses),
            None => {
                let parent = maps.memcg_at(id).parent();
                self.reparent(id, parent);
                for node in maps.nodes() {
                    let [from, to] = [id, parent].map(|memcg| LruvecNr { memcg, node });
                    self.put_filters(from);
                    self.memcg_lru_remove(from);
                    maps.lruvec(to).stat.absorb(&maps.lruvec(from).stat);
                }
                maps.forget_walked(id, parent);
                maps.take_off_tree(id, parent);
                Ok(())
            }
        }
    }

    /// Moves all charges of `from` to its parent. Isolated folios are moved without a list; those
    /// about to be freed are waited for. Its slots in swap become the parent's too.
    fn reparent(&mut self, from: MemcgNr, to: MemcgNr) {
        let maps = self.maps;
        while maps.memcg_at(from).usage() > 0 {
            for lruvec in maps.nodes().map(|node| LruvecNr { memcg: from, node }) {
                self.reparent_generations(lruvec, to);
                self.reparent_lists(lruvec, to);
            }
            if maps.memcg_at(from).usage() == 0 {
                break;
            }
            // Folios that are isolated or about to be freed are on no list: only the table of all
            // folios leads to them.
            for folio in maps.charged_to(from) {
                let guard = self.lock_lruvec_of(folio);
                if !folio.lru().contains(LruFlags::LRU) {
                    maps.move_charge(folio, from, to);
                }
                drop(guard);
            }
            self.world.relax();
        }
        maps.move_slots(from, to);
    }

    /// Moves the folios of a cgroup's classic lists on a node, with their charges.
    fn reparent_lists(&mut self, from: LruvecNr, to: MemcgNr) {
        let maps = self.maps;
        for list in LruList::ALL {
            let mut moved = FolioList::default();
            let reclaim_idx = MAX_NR_ZONES - 1;
            let what = Isolate { lruvec: from, list, nr_to_scan: BATCH, reclaim_idx };
            while self.isolate(what, &mut moved).taken > 0 {
                maps.move_charges(&moved, from.memcg, to);
                self.putback(&mut moved);
            }
        }
    }
}

impl<'m> MmState<'m> {
    /// Returns the folios charged to a cgroup itself. It reads the whole table of folios, for those
    /// that are on no list.
    fn charged_to(&self, memcg: MemcgNr) -> impl Iterator<Item = &'m Folio> {
        self.folios.table.iter().filter(move |folio| folio.memcg() == memcg)
    }
}

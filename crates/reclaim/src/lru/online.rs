//! Adding and removing cgroups, whose folios go to the parent.

use super::lists::Isolate;
use super::lru_list::LruList;
use crate::engine::Engine;
use crate::folio::{Folio, LruFlags, MAX_NR_ZONES};
use crate::folio_list::FolioList;
use crate::id::MemcgId;
use crate::memory::{OutOfTable, TableKind};
use crate::mm_state::MmState;
use crate::world::World;

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

impl<W: World> Engine<'_, W> {
    /// Adds a cgroup without limits or protection below `parent`, with the parent's swappiness.
    ///
    /// # Errors
    /// [`OutOfTable`] if the table of cgroups is full.
    pub fn add_memcg(&mut self, parent: MemcgId) -> Result<MemcgId, OutOfTable> {
        let (maps, world) = (self.maps, self.world);
        let guard = self.lock_tree_to_change();
        let added = maps.put_on_tree(parent, maps.lru_gen_enabled(), world.now_ms());
        if let Some(id) = added {
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
        let guard = self.lock_tree_to_change();
        let removed = match maps.children(id).next() {
            Some(_) => Err(MemcgBusy::HasChildren),
            None if !maps.memcg(id).mm_list.is_empty() => Err(MemcgBusy::HasProcesses),
            None => {
                let parent = maps.memcg(id).parent();
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
        maps.move_slots(from, to);
    }
}

impl<'m> MmState<'m> {
    /// Returns the folios charged to a cgroup itself. It reads the whole table of folios, for those
    /// that are on no list.
    fn charged_to(&self, memcg: MemcgId) -> impl Iterator<Item = &'m Folio> {
        self.folios.table.iter().filter(move |folio| folio.memcg() == memcg)
    }
}

//! Migration: a folio's pages go to other frames, under whoever uses them.
//!
//! A folio is unmapped, each entry leaving a migration entry that whoever meets it waits on; the
//! flush owed is completed; the content is copied; the folio gets its new frames, and its entries
//! back (Linux 7.3.4, migrate_pages). What makes it safe is what makes reclaim safe: a folio to
//! which there is a reference more than is known of stays where it is.
//!
//! In kernels a folio is its frames' own descriptor, so what names the old one has to be pointed to
//! the new: index, swap cache, lists, cgroup. Here it keeps its entry in the table of folios, and
//! nothing but the table of frames changes. While it moves it has no references, so that no one
//! finds it in an index: who looks for it then takes it to be on its way in or out, and comes
//! again.

mod restore;

use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::folio_list::FolioList;
use crate::gather::Gather;
use crate::id::{FolioId, MemcgId};
use crate::maps::Maps;
use crate::rank::Rank;
use crate::unmap::Unmapped;
use crate::vmstat::Counter;
use crate::world::World;
use core::ops::{AddAssign, Range};
use pageout_paging::{Observer, Order, Pfn, Rules, Stage};

/// Folios that move after one flush (Linux 7.3.4, COMPACT_CLUSTER_MAX).
pub(crate) const BATCH: usize = 32;

/// Where folios move to.
pub trait Targets {
    /// A free run of 2^`order` frames, aligned to its size. `None` ends nothing: a smaller folio
    /// may still be asked for.
    fn take(&mut self, order: Order) -> Option<Pfn>;
    /// Takes back what it gave, unused.
    fn give_back(&mut self, pfn: Pfn, order: Order);
}

/// What became of folios that were to move, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Migrated {
    /// Moved.
    pub moved: u64,
    /// Not moved: locked, being transferred, without a target, mapped by what does not come off, or
    /// referred to by someone else.
    pub failed: u64,
}

impl AddAssign for Migrated {
    fn add_assign(&mut self, other: Self) {
        self.moved += other.moved;
        self.failed += other.failed;
    }
}

impl<W: World> Engine<'_, W> {
    /// Moves the folios of a range of frames that are on an LRU list to frames of `targets`, which
    /// lie elsewhere; all of a folio that lies there in part. Those that cannot move now stay, in
    /// use as they were.
    pub fn migrate_range(&mut self, range: Range<Pfn>, targets: &mut dyn Targets) -> Migrated {
        let maps = self.maps;
        let mut done = Migrated::default();
        let mut isolated = FolioList::default();
        let mut pfn = range.start;
        while pfn < range.end {
            let found = self.isolate_movable(pfn);
            pfn = pfn.add(1);
            if let Some(id) = found {
                let folio = maps.folio(id);
                pfn = folio.pfn().add(folio.nr_pages() as u64);
                isolated.push(maps, id);
            }
            if isolated.len == BATCH || pfn >= range.end {
                done += self.migrate_folios(&mut isolated, targets);
            }
        }
        done
    }

    /// The folio in a frame, off its list, with a reference; none if it is on no list.
    pub(crate) fn isolate_movable(&mut self, pfn: Pfn) -> Option<FolioId> {
        let maps = self.maps;
        let id = maps.folio_of(pfn)?;
        if !self.isolate_one(id) {
            return None;
        }
        let folio = maps.folio(id);
        if pfn.offset_from(folio.pfn()) < folio.nr_pages() as u64 {
            return Some(id);
        }
        // Freed and used anew, or moved, since it was found.
        let mut list = FolioList::default();
        list.push(maps, id);
        self.putback(&mut list);
        None
    }

    /// Moves isolated folios, at most [`BATCH`], and puts all of them back on their lists. They
    /// keep what is known of their use (Linux 7.3.4, migrate_pages_batch; in one pass, waiting for
    /// no transfer and no other holder of a folio's lock).
    pub(crate) fn migrate_folios(
        &mut self,
        isolated: &mut FolioList,
        targets: &mut dyn Targets,
    ) -> Migrated {
        let (maps, world) = (self.maps, self.world);
        debug_assert!(isolated.len <= BATCH, "one batch");
        let mut done = Migrated::default();
        let mut settled = FolioList::default();
        let mut batch = [const { None }; BATCH];
        let mut gather = Gather::new(self);
        let rank = self.ranks.enter(Rank::Folio);
        let mut migration = Migration { engine: self, targets };
        for slot in &mut batch {
            let Some(id) = isolated.pop(maps) else {
                break;
            };
            settled.push(maps, id);
            *slot = migration.begin(&mut gather, id);
            done.failed += if slot.is_none() { maps.folio(id).nr_pages() as u64 } else { 0 };
        }
        world.observer().enter(Stage::Flush);
        if <W::Rules as Rules>::flush_before_copy() {
            gather.flush();
        }
        world.observer().enter(Stage::Other);
        for moving in batch.into_iter().flatten() {
            let nr = moving.guard.folio().nr_pages() as u64;
            match migration.end(moving) {
                true => done.moved += nr,
                false => done.failed += nr,
            }
        }
        drop(rank);
        gather.finish(self);
        self.putback(&mut settled);
        let vmstat = &maps.memcg(MemcgId::ROOT).vmstat;
        vmstat.add(Counter::PgmigrateSuccess, done.moved);
        vmstat.add(Counter::PgmigrateFail, done.failed);
        done
    }
}

impl Maps<'_> {
    /// Makes the folio's pages those of as many frames from `to` on, which belong to no folio. The
    /// caller has frozen it, and no entry maps it.
    fn move_frames(&self, id: FolioId, to: Pfn) {
        let folio = self.folio(id);
        debug_assert_eq!((folio.refs(), folio.mapcount()), (0, 0), "no one is at the frames");
        self.folios.forget_frames(folio);
        folio.set_pfn(to);
        self.folios.take_frames(id);
    }
}

/// A folio that is unmapped and has a target, locked.
struct Moving<'a> {
    id: FolioId,
    guard: FolioGuard<'a>,
    to: Pfn,
    unmapped: Unmapped,
}

struct Migration<'a, 'e, W> {
    engine: &'a mut Engine<'e, W>,
    targets: &'a mut dyn Targets,
}

impl<'e, W: World> Migration<'_, 'e, W> {
    /// Locks and unmaps a folio; none, and nothing changed, if it cannot move now (Linux 7.3.4,
    /// migrate_folio_unmap).
    fn begin(&mut self, gather: &mut Gather<'_, W>, id: FolioId) -> Option<Moving<'e>> {
        let folio = self.engine.maps.folio(id);
        let guard = folio.try_lock()?;
        if folio.flags().intersects(FolioFlags::WRITEBACK | FolioFlags::READING) {
            return None;
        }
        let to = self.targets.take(folio.order())?;
        let unmapped = match folio.mapcount() {
            0 => Unmapped { all: true, refs: 0 },
            _ => self.engine.try_to_migrate(&guard, gather),
        };
        Some(Moving { id, guard, to, unmapped })
    }

    /// Copies the folio to its new frames and maps it there, or in the old ones again; whether it
    /// moved (Linux 7.3.4, migrate_folio_move).
    fn end(&mut self, moving: Moving<'_>) -> bool {
        let Moving { id, guard, to, unmapped } = moving;
        let (maps, world, folio) = (self.engine.maps, self.engine.world, guard.folio());
        let (from, order) = (folio.pfn(), folio.order());
        let flags = folio.flags();
        let cached = flags & (FolioFlags::ANON | FolioFlags::SWAPCACHE) != FolioFlags::ANON;
        let known = 1 + u32::from(cached);
        let moves = unmapped.all && folio.freeze(known + unmapped.refs);
        if moves {
            world.copy(from, to, order.nr_pages());
            maps.move_frames(id, to);
            folio.unfreeze(known);
        }
        let locked = self.engine.remove_migration_ptes(&guard, from);
        // What took the entries away meanwhile did not find the folio in the page table.
        if unmapped.all && !locked {
            guard.test_and_clear(FolioFlags::MLOCKED);
        }
        if unmapped.refs > 0 && folio.mapcount() == 0 {
            self.engine.try_to_free_swap(&guard);
        }
        drop(guard);
        if moves {
            world.free(from, order);
        } else {
            self.targets.give_back(to, order);
            let last = unmapped.refs > 0 && folio.put(unmapped.refs);
            debug_assert!(!last, "whoever isolated the folio holds a reference");
        }
        moves
    }
}

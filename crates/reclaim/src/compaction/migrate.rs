//! Migration: a folio's pages move to other frames, while they are in use.
//!
//! A folio is unmapped, and each entry leaves a migration entry on which faults wait. The flush
//! owed is completed, and the content is copied. Then the folio gets its new frames, and its
//! entries back (Linux 7.3.4, migrate_pages). It is safe for the same reason as reclaim: a folio
//! with an unknown reference stays where it is.
//!
//! In kernels a folio is the descriptor of its frames. So all that refers to the old one has to be
//! changed: index, swap cache, lists, cgroup. Here the folio keeps its entry in the table of
//! folios, and only the table of frames changes. While it moves it has no references, so that no
//! one gets it from an index. A look-up treats it as being added or removed, and tries again.

use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::folio_list::FolioList;
use crate::id::{FolioNr, MemcgNr};
use crate::rank::Rank;
use crate::unmap::{TlbBatch, Unmapped};
use crate::vmstat::Counter;
use crate::world::World;
use core::ops::{AddAssign, Range};
use pageout_paging::{Env, Observer, Order, Pfn, Rules, Stage};

/// The number of folios that move after one flush (Linux 7.3.4, COMPACT_CLUSTER_MAX).
pub(super) const BATCH: usize = 32;

/// A supply of the frames that folios move to.
pub trait Targets {
    /// Returns a free run of 2^`order` frames, aligned to its size. After `None`, a smaller folio
    /// may still be asked for.
    fn take(&mut self, order: Order) -> Option<Pfn>;
    /// Takes back an unused run that it supplied.
    fn give_back(&mut self, pfn: Pfn, order: Order);
}

/// The result of a migration, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Migrated {
    /// The number of pages moved.
    pub moved: u64,
    /// The pages not moved. Their folio was locked, in a transfer, without a target, mapped by an
    /// entry that does not come off, or held by another reference.
    pub failed: u64,
    /// A target that was refused, if one was: not all of its frames are in the table, it is not
    /// aligned to its size, or a folio has one of its frames. The pages count as failed.
    pub bad_target: Option<Pfn>,
}

impl AddAssign for Migrated {
    fn add_assign(&mut self, other: Self) {
        self.moved += other.moved;
        self.failed += other.failed;
        self.bad_target = self.bad_target.or(other.bad_target);
    }
}

impl<W: World> Engine<'_, W> {
    /// Moves the folios of a range of frames that are on an LRU list to frames of `targets`, which
    /// lie elsewhere. A folio that lies partly in the range moves as a whole. Folios that cannot
    /// move now stay in use. In the multi-generational LRU all of them join their lists anew, moved
    /// or not: their generation follows from their use, as that of a new folio does (Linux 7.3.4,
    /// `folio_putback_lru`).
    pub fn migrate_range(&mut self, range: Range<Pfn>, targets: &mut dyn Targets) -> Migrated {
        let maps = self.maps;
        let mut done = Migrated::default();
        let mut isolated = FolioList::default();
        let mut pfn = range.start;
        while pfn < range.end {
            let found = self.isolate_movable(pfn);
            pfn = pfn.add(1);
            if let Some(id) = found {
                let folio = maps.folio_at(id);
                pfn = folio.pfn().add(folio.nr_pages() as u64);
                isolated.push(maps, id);
            }
            if isolated.len == BATCH || pfn >= range.end {
                done += self.migrate_folios(&mut isolated, targets);
            }
        }
        done
    }

    /// Takes the folio in a frame off its list, with a reference. Returns `None` if it is on no
    /// list.
    pub(super) fn isolate_movable(&mut self, pfn: Pfn) -> Option<FolioNr> {
        let maps = self.maps;
        let id = maps.folio_nr_of(pfn)?;
        if !self.isolate_one(id) {
            return None;
        }
        let folio = maps.folio_at(id);
        if pfn.offset_from(folio.pfn()) < folio.nr_pages() as u64 {
            return Some(id);
        }
        // It was freed and used anew, or moved, since it was found.
        let mut list = FolioList::default();
        list.push(maps, id);
        self.putback(&mut list);
        None
    }

    /// Moves isolated folios, at most [`BATCH`], and puts all of them back on their lists. They
    /// keep the record of their use (Linux 7.3.4, migrate_pages_batch; in one pass, which waits for
    /// no transfer and no other holder of a folio's lock).
    pub(super) fn migrate_folios(
        &mut self,
        isolated: &mut FolioList,
        targets: &mut dyn Targets,
    ) -> Migrated {
        let (maps, world) = (self.maps, self.world);
        debug_assert!(isolated.len <= BATCH, "one batch");
        let mut done = Migrated::default();
        let mut settled = FolioList::default();
        let mut batch = [const { None }; BATCH];
        let mut tlb_batch = TlbBatch::new(self);
        let rank = self.ranks.enter(Rank::Folio);
        let mut migration = Migration { engine: self, targets, bad_target: None };
        for slot in &mut batch {
            let Some(id) = isolated.pop(maps) else {
                break;
            };
            settled.push(maps, id);
            *slot = migration.begin(&mut tlb_batch, id);
            done.failed += if slot.is_none() { maps.folio_at(id).nr_pages() as u64 } else { 0 };
        }
        world.observer().enter(Stage::Flush);
        if <W::Rules as Rules>::flush_before_copy() {
            tlb_batch.flush();
        }
        world.observer().enter(Stage::Other);
        for moving in batch.into_iter().flatten() {
            let nr = moving.guard.folio().nr_pages() as u64;
            match migration.end(moving) {
                true => done.moved += nr,
                false => done.failed += nr,
            }
        }
        done.bad_target = migration.bad_target;
        drop(rank);
        tlb_batch.finish(self);
        self.putback(&mut settled);
        let vmstat = &maps.memcg_at(MemcgNr::ROOT).vmstat;
        vmstat.add(Counter::PgmigrateSuccess, done.moved);
        vmstat.add(Counter::PgmigrateFail, done.failed);
        done
    }
}

impl<E: Env> Engine<'_, E> {
    /// Moves the folio to as many frames from `to` on, which belong to no folio. The caller has
    /// frozen it, and no entry maps it. Its node changes under the lock of the lists that it would
    /// be put on: a task that has that lock may be about to charge it to another cgroup.
    fn move_frames(&self, id: FolioNr, to: Pfn) {
        let maps = self.maps;
        let (folio, node) = (maps.folio_at(id), maps.node_of(to));
        debug_assert_eq!((folio.refs(), folio.mapcount()), (0, 0), "no one is at the frames");
        maps.folios.forget_frames(folio);
        let guard = (folio.node() != node).then(|| self.lock_lruvec_of(folio));
        folio.set_pfn(to, node);
        drop(guard);
        maps.folios.take_frames(id);
    }
}

/// A locked folio that is unmapped and has a target.
struct Moving<'a> {
    id: FolioNr,
    guard: FolioGuard<'a>,
    to: Pfn,
    unmapped: Unmapped,
}

struct Migration<'a, 'e, W> {
    engine: &'a mut Engine<'e, W>,
    targets: &'a mut dyn Targets,
    bad_target: Option<Pfn>,
}

impl<'e, W: World> Migration<'_, 'e, W> {
    /// Locks and unmaps a folio. Returns `None` and changes nothing if it cannot move now (Linux
    /// 7.3.4, migrate_folio_unmap).
    fn begin(&mut self, tlb_batch: &mut TlbBatch<'_, W>, id: FolioNr) -> Option<Moving<'e>> {
        let folio = self.engine.maps.folio_at(id);
        let guard = folio.try_lock()?;
        if folio.flags().intersects(FolioFlags::WRITEBACK | FolioFlags::READING) {
            return None;
        }
        let to = self.take_target(folio.order())?;
        let unmapped = match folio.mapcount() {
            0 => Unmapped { all: true, refs: 0 },
            _ => self.engine.try_to_migrate(&guard, tlb_batch),
        };
        Some(Moving { id, guard, to, unmapped })
    }

    fn take_target(&mut self, order: Order) -> Option<Pfn> {
        let to = self.targets.take(order)?;
        let good = self.engine.maps.folios.check_free(to, order).is_ok();
        if !good {
            self.bad_target = Some(to);
        }
        good.then_some(to)
    }

    /// Copies the folio to its new frames and maps it there, or maps it in the old ones again.
    /// Returns true if it moved (Linux 7.3.4, migrate_folio_move).
    fn end(&mut self, moving: Moving<'_>) -> bool {
        let Moving { id, guard, to, unmapped } = moving;
        let (maps, world, folio) = (self.engine.maps, self.engine.world, guard.folio());
        let (from, order) = (folio.pfn(), folio.order());
        let flags = folio.flags();
        let cached = flags & (FolioFlags::ANON | FolioFlags::SWAPCACHE) != FolioFlags::ANON;
        let known = 1 + u32::from(cached);
        // Another folio of the batch has them if the target was given twice.
        let free = maps.folios.check_free(to, order).is_ok();
        if !free {
            self.bad_target = Some(to);
        }
        let moves = free && unmapped.all && folio.freeze(known + unmapped.refs);
        if moves {
            world.copy(from, to, order.nr_pages());
            self.engine.move_frames(id, to);
            folio.unfreeze(known);
        }
        let locked = self.engine.remove_migration_ptes(&guard, from);
        // A task that took the entries away meanwhile did not find the folio in the page table.
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
            if free {
                self.targets.give_back(to, order);
            }
            let last = unmapped.refs > 0 && folio.put(unmapped.refs);
            debug_assert!(!last, "whoever isolated the folio holds a reference");
        }
        moves
    }
}

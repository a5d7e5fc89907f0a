//! `try_to_unmap`: takes out every entry that maps a folio, in the fewest operations that are
//! sound, and leaves entries that lead to its content.

use super::tlb_batch::TlbBatch;
use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::mm::{Mm, VmFlags, Vma, maps_whole, max_batch, pages};
use crate::rank::Rank;
use crate::tuning::{FlushTiming, UnmapGranularity};
use crate::world::World;
use core::mem;
use core::ops::ControlFlow;
use core::sync::atomic::{Ordering::Acquire, fence};
use pageout_paging::batch::{BatchFlags, folio_pte_batch_flags};
use pageout_paging::contig::{self, Getter};
use pageout_paging::pte::{Moving, SwapEntry, SwapKind};
use pageout_paging::walk::{Hit, LockWhen, Match, RmapTarget};
use pageout_paging::{
    Format, Level, LockedTable, Observer, Pte, Rules, Run, Stage, Table, VirtAddr, tlb,
};

/// The result of [`Engine::try_to_unmap`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the references are the caller's to give up"]
pub struct Unmapped {
    /// True if no entry maps the folio any more. Otherwise some remain: the reverse map was locked,
    /// a VMA is mlocked, or a lazyfree page was written to after all.
    pub all: bool,
    /// The number of references of entries taken out. They pass to the caller, who can drop them
    /// together with others in one operation.
    pub refs: u32,
}

/// The kind of entry to leave in place of one that is taken out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaves {
    /// None, or a marker of userfaultfd: the file has the content.
    Nothing,
    /// None, if the page was not written to since it became lazyfree.
    NothingIfClean,
    /// The page's swap slot.
    SwapSlot,
    /// A migration entry: the page is about to move.
    Migration,
}

impl Leaves {
    /// Returns true if each entry leaves a different one, so that they are taken out one by one.
    const fn one_each(self) -> bool {
        matches!(self, Self::SwapSlot | Self::Migration)
    }
}

impl<W: World> Engine<'_, W> {
    /// Takes out the entries that map a locked folio, to which the caller holds a reference (Linux
    /// 7.3.4, try_to_unmap). The TLB batch gets the flush, and the folio the dirty bits. An
    /// anonymous folio that is not lazyfree must be in the swap cache.
    pub fn try_to_unmap(
        &mut self,
        guard: &FolioGuard<'_>,
        tlb_batch: &mut TlbBatch<'_, W>,
    ) -> Unmapped {
        let (maps, world) = (self.maps, self.world);
        let folio = guard.folio();
        let flags = folio.flags();
        let leaves = if !flags.contains(FolioFlags::ANON) {
            Leaves::Nothing
        } else if !flags.contains(FolioFlags::SWAPBACKED) {
            Leaves::NothingIfClean
        } else {
            assert!(flags.contains(FolioFlags::SWAPCACHE), "a swap slot for what is unmapped");
            Leaves::SwapSlot
        };
        let mut refs = 0;
        world.observer().enter(Stage::Unmap);
        let lock = &maps.mapping_at(folio.mapping()).lock;
        if let Some(_lock) = self.try_lock_read(Rank::Rmap, lock) {
            let unmap = Unmap { engine: self, guard, leaves, tlb_batch, refs: 0, cleared: false };
            refs = unmap.all();
        } else {
            self.cpu.events.rmap_lock_failed += 1;
        }
        Unmapped { all: folio.mapcount() == 0, refs }
    }

    /// Replaces the entries that map a locked folio by migration entries. The caller holds a
    /// reference to it (Linux 7.3.4, try_to_migrate). The TLB batch gets the flush; dirty bits go
    /// to the folio as well as into the new entries. Faults on those wait until the page has moved.
    pub(crate) fn try_to_migrate(
        &mut self,
        guard: &FolioGuard<'_>,
        tlb_batch: &mut TlbBatch<'_, W>,
    ) -> Unmapped {
        let (maps, world) = (self.maps, self.world);
        let folio = guard.folio();
        world.observer().enter(Stage::Unmap);
        let _lock = self.lock_read(Rank::Rmap, &maps.mapping_at(folio.mapping()).lock);
        let leaves = Leaves::Migration;
        let refs = Unmap { engine: self, guard, leaves, tlb_batch, refs: 0, cleared: false }.all();
        Unmapped { all: folio.mapcount() == 0, refs }
    }
}

struct Unmap<'a, 'e, 'g, W: World> {
    engine: &'a mut Engine<'e, W>,
    guard: &'a FolioGuard<'a>,
    leaves: Leaves,
    tlb_batch: &'a mut TlbBatch<'g, W>,
    refs: u32,
    /// True if entries of the current VMA were taken out and secondary MMUs were not notified yet.
    cleared: bool,
}

impl<W: World> Unmap<'_, '_, '_, W> {
    /// Takes out the entries of each VMA, until none is left or one has to stay. Returns the number
    /// of their references. The caller holds the lock of the reverse map.
    fn all(mut self) -> u32 {
        let (maps, folio) = (self.engine.maps, self.guard.folio());
        let mapping = maps.mapping_at(folio.mapping());
        for vma in maps.vmas_of::<W::Format>(mapping, folio.range()) {
            if self.one(vma).is_break() || folio.mapcount() == 0 {
                break;
            }
        }
        self.refs
    }

    /// Takes out the entries of one VMA. Breaks if one has to stay.
    fn one(&mut self, vma: &Vma) -> ControlFlow<()> {
        let folio = self.guard.folio();
        let Some((range, _)) = vma.range_of::<W::Format>(folio) else {
            return ControlFlow::Continue(());
        };
        let mm = self.engine.maps.mm_at(vma.mm());
        let (start, nr) = (range.start, pages::<W::Format>(&range));
        // A task may be in the middle of replacing entries of a large folio by others.
        let lock = if folio.nr_pages() > 1 { LockWhen::Always } else { LockWhen::Plausible };
        let target = RmapTarget {
            root: mm.root(),
            range,
            pfn: folio.pfn(),
            nr_pages: folio.nr_pages(),
            matches: Match::Mapped,
            lock,
            getter: Getter::Raw,
        };
        let mut walk = self.engine.walk_mapped(target);
        let (mut done, mut kept) = (ControlFlow::Continue(()), 0);
        while let Some(hit) = walk.next_hit() {
            // Pages of an mlocked VMA may move, but are not unmapped. The folio is marked as
            // mlocked again, in case munlock of another VMA took the mark away.
            if vma.flags().contains(VmFlags::LOCKED) && self.leaves != Leaves::Migration {
                done = ControlFlow::Break(());
                kept += 1;
                if maps_whole(&walk, hit, kept, folio) {
                    self.guard.set(FolioFlags::MLOCKED);
                }
                continue;
            }
            let taken = match hit {
                Hit::Pte(addr, pte) if W::Format::is_present(pte) => {
                    self.ptes(walk.locked(), vma, mm, addr, pte)
                }
                Hit::Pmd(addr) if folio.flags().contains(FolioFlags::ANON) => {
                    let none = self.engine.split_huge_pmd(walk.locked(), (mm, vma), addr);
                    debug_assert_eq!(none, None, "an anonymous leaf becomes entries");
                    walk.descend_again(addr);
                    continue;
                }
                Hit::Pmd(addr) => {
                    self.pmd(walk.locked(), mm, addr);
                    Some(1)
                }
                // The page is lent to a device.
                Hit::Pte(..) => None,
            };
            let Some(nr) = taken else {
                done = ControlFlow::Break(());
                break;
            };
            walk.skip(nr);
            let counted = <W::Rules as Rules>::mappings_removed(nr as u32);
            folio.sub_mapcount(counted);
            self.refs += counted;
        }
        // Secondary MMUs are notified once for all entries, as in kernels (Linux 7.3.4,
        // mmu_notifier_invalidate_range_start).
        if mem::take(&mut self.cleared) {
            tlb::forget_secondary(self.engine.world, mm.asid(), start, nr, Level::Pte);
        }
        drop(walk);
        done
    }

    /// Takes out the run of entries at `addr`, which `pte` begins, and returns their number.
    /// Returns `None` and changes nothing if they have to stay.
    fn ptes(
        &mut self,
        pt: &LockedTable<'_, W>,
        vma: &Vma,
        mm: &Mm,
        addr: VirtAddr,
        pte: Pte,
    ) -> Option<usize> {
        let nr = self.batch(pt, vma, addr, pte);
        let was = contig::get_and_clear_ptes(self.engine.world, pt, mm.asid(), addr, nr);
        self.cleared = true;
        self.tlb_batch.cleared(
            mm,
            self.engine.tuning.unmapping.shootdown,
            addr,
            nr,
            Level::Pte,
            was,
        );
        if W::Format::is_dirty(was) {
            self.guard.set(FolioFlags::DIRTY);
            self.engine.maps.tag_dirty(self.guard.folio());
        }
        let i = W::Format::index(Level::Pte, addr);
        let left = match self.leaves {
            Leaves::Nothing => marker::<W::Format>(was),
            Leaves::NothingIfClean if self.may_discard() => {
                // No index leads to the folio: a fault maps zeros once the table's lock is free.
                if <W::Rules as Rules>::flush_before_zeros() {
                    tlb::forget_secondary(self.engine.world, mm.asid(), addr, nr, Level::Pte);
                    self.cleared = false;
                    self.tlb_batch.flush();
                }
                Pte::NONE
            }
            Leaves::NothingIfClean => {
                // A run of single entries comes back as a block.
                if <W::Rules as Rules>::flush_before_restore() {
                    self.tlb_batch.flush();
                }
                contig::set_ptes::<W::Format, _>(pt.table(), i, was, nr);
                return None;
            }
            Leaves::SwapSlot => {
                let Some(entry) = self.swap_entry(was) else {
                    contig::set_ptes::<W::Format, _>(pt.table(), i, was, nr);
                    return None;
                };
                W::Format::swap(entry)
            }
            Leaves::Migration => W::Format::swap(self.migration_entry(was)),
        };
        if !left.is_none() {
            // Markers are alike. Swap and migration entries differ, and are taken out one by one.
            let marked = <W::Rules as Rules>::entries_marked(nr);
            (i..i + marked).for_each(|i| pt.table().set(i, left));
        }
        Some(nr)
    }

    /// Returns the number of entries from `addr` on that may be taken out at once (Linux 7.3.4,
    /// folio_unmap_pte_batch).
    fn batch(&self, pt: &LockedTable<'_, W>, vma: &Vma, addr: VirtAddr, mut pte: Pte) -> usize {
        let folio = self.guard.folio();
        let batched = self.engine.tuning.unmapping.by == UnmapGranularity::Batched
            && folio.nr_pages() > 1
            && !self.leaves.one_each();
        if !batched {
            return 1;
        }
        let flags = BatchFlags {
            respect_write: true,
            respect_soft_dirty: true,
            read: self.engine.tuning.unmapping.read,
            ..BatchFlags::NONE
        };
        let max_nr = max_batch::<W>(folio, vma.end(), addr, pte);
        let run = Run { first: W::Format::index(Level::Pte, addr), nr: max_nr };
        folio_pte_batch_flags::<W::Format, _>(pt.table(), run, &mut pte, flags)
    }

    /// Returns true if a lazyfree folio may be thrown away. It must be clean, with only the
    /// references of the entries and of the task that isolated it. If it was written to, it is
    /// backed by swap again.
    fn may_discard(&self) -> bool {
        let folio = self.guard.folio();
        let refs = folio.refs();
        // A task that held a reference and wrote through it made the folio dirty before it dropped
        // the reference (Linux 6c8e2a256915).
        fence(Acquire);
        if self.guard.is_dirty() {
            self.guard.set(FolioFlags::SWAPBACKED);
            return false;
        }
        refs == 1 + folio.mapcount() + self.refs
    }

    /// Makes the entry that names the slot of the page that `was` mapped, and counts it. Returns
    /// `None` if no more can be counted.
    fn swap_entry(&mut self, was: Pte) -> Option<SwapEntry> {
        let folio = self.guard.folio();
        let pfn = W::Format::pfn(was);
        let slot = folio.swap().nth(pfn.offset_from(folio.pfn()) as usize);
        if !self.engine.dup_entries(slot, 1) {
            return None;
        }
        let exclusive = self.engine.maps.is_anon_exclusive(pfn);
        self.engine.maps.set_anon_exclusive(pfn, 1, false);
        Some(SwapEntry {
            exclusive,
            soft_dirty: W::Format::is_soft_dirty(was),
            uffd_wp: W::Format::is_uffd_wp(was),
            ..slot.entry()
        })
    }

    /// Makes the entry that stands for `was` while its page moves.
    fn migration_entry(&self, was: Pte) -> SwapEntry {
        let pfn = W::Format::pfn(was);
        let moving = Moving {
            write: W::Format::is_write(was),
            young: W::Format::is_young(was),
            dirty: W::Format::is_dirty(was),
        };
        let entry = SwapEntry::migration(pfn, moving).expect("a frame that was mapped");
        let anon = self.guard.folio().flags().contains(FolioFlags::ANON);
        let exclusive = anon && self.engine.maps.is_anon_exclusive(pfn);
        if exclusive {
            self.engine.maps.set_anon_exclusive(pfn, 1, false);
        }
        SwapEntry {
            exclusive,
            soft_dirty: W::Format::is_soft_dirty(was),
            uffd_wp: W::Format::is_uffd_wp(was),
            ..entry
        }
    }

    /// Takes out a file's PMD leaf, and flushes it at once (Linux 7.3.4, pmdp_huge_clear_flush).
    #[cold]
    fn pmd(&mut self, pt: &LockedTable<'_, W>, mm: &Mm, addr: VirtAddr) {
        let i = W::Format::index(Level::Pmd, addr);
        let was = pt.table().swap(i, Pte::NONE);
        self.cleared = true;
        self.tlb_batch.cleared(mm, FlushTiming::Immediate, addr, 1, Level::Pmd, was);
        if W::Format::is_dirty(was) {
            self.guard.set(FolioFlags::DIRTY);
            self.engine.maps.tag_dirty(self.guard.folio());
        }
    }
}

/// Returns the entry that keeps a page of a file write-protected by userfaultfd while it is not
/// mapped.
fn marker<F: Format>(was: Pte) -> Pte {
    if !F::is_uffd_wp(was) {
        return Pte::NONE;
    }
    let marker = SwapEntry::new(SwapKind::Marker, 0).expect("0 fits");
    F::swap(SwapEntry { uffd_wp: true, ..marker })
}

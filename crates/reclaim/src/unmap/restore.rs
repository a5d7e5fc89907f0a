//! Entries for folios that moved, or that stayed after all.

use crate::engine::Engine;
use crate::folio::{FolioFlags, FolioGuard};
use crate::mm::{VmFlags, Vma, frames, prot_of};
use crate::rank::Rank;
use pageout_paging::contig::{Getter, set_pte};
use pageout_paging::pte::{Entry, SwapEntry};
use pageout_paging::walk::{Hit, LockWhen, Match, RmapTarget};
use pageout_paging::{Env, Format, Level, LockedTable, Pfn, Pte, VirtAddr};

impl<E: Env> Engine<'_, E> {
    /// Replaces the migration entries that name a locked folio's frames from `from` on by entries
    /// that map its pages where they are now. They are young, dirty and writable as before, as far
    /// as the VMA still permits. Blocks that are whole again are contiguous. Returns true if a VMA
    /// that is locked into memory has one of the entries (Linux 7.3.4, remove_migration_ptes).
    pub(crate) fn remove_migration_ptes(&mut self, guard: &FolioGuard<'_>, from: Pfn) -> bool {
        let maps = self.maps;
        let folio = guard.folio();
        let mapping = maps.mapping_at(folio.mapping());
        let _lock = self.lock_read(Rank::Rmap, &mapping.lock);
        let mut restore = Restore { engine: self, guard, from };
        let mut locked = false;
        for vma in maps.vmas_of::<E::Format>(mapping, folio.range()) {
            locked |= restore.one(vma);
        }
        locked
    }
}

struct Restore<'a, 'e, E> {
    engine: &'a mut Engine<'e, E>,
    guard: &'a FolioGuard<'a>,
    from: Pfn,
}

impl<E: Env> Restore<'_, '_, E> {
    /// Restores the entries of one VMA. Returns true if there was one and the VMA is locked into
    /// memory.
    fn one(&mut self, vma: &Vma) -> bool {
        let folio = self.guard.folio();
        let Some((range, _)) = vma.range_of::<E::Format>(folio) else {
            return false;
        };
        let target = RmapTarget {
            root: self.engine.maps.mm_at(vma.mm()).root(),
            range,
            pfn: self.from,
            nr_pages: folio.nr_pages(),
            matches: Match::Migration,
            lock: LockWhen::Always,
            getter: Getter::Raw,
        };
        let mut locked = false;
        let mut walk = self.engine.walk_mapped(target);
        while let Some(hit) = walk.next_hit() {
            let Hit::Pte(addr, pte) = hit else {
                unreachable!("only present entries are leaves");
            };
            let Entry::Swap(entry) = E::Format::entry(pte) else {
                unreachable!("migration entries alone match");
            };
            // The flags are read under the table's lock. So a task that changes them finds the new
            // entry, or this code finds the new flags.
            locked |= vma.flags().contains(VmFlags::LOCKED);
            self.entry(walk.locked(), vma, addr, entry);
        }
        locked
    }

    fn entry(&self, pt: &LockedTable<'_, E>, vma: &Vma, addr: VirtAddr, entry: SwapEntry) {
        let folio = self.guard.folio();
        let page = entry.pfn().expect("a frame moves").offset_from(self.from);
        let pfn = folio.pfn().add(page);
        if folio.flags().contains(FolioFlags::ANON) {
            self.engine.maps.set_anon_exclusive(pfn, 1, entry.exclusive);
        }
        folio.add_mappings(1);
        let pte = self.restored(vma, pfn, entry);
        let asid = self.engine.maps.mm_at(vma.mm()).asid();
        set_pte(self.engine.world, pt, asid, addr, pte, &frames(folio));
    }

    fn restored(&self, vma: &Vma, pfn: Pfn, entry: SwapEntry) -> Pte {
        let was = entry.moving().expect("a migration entry");
        let write = was.write && !entry.uffd_wp;
        let mut pte = E::Format::leaf(Level::Pte, pfn, prot_of(vma.flags(), write));
        if was.young {
            pte = E::Format::mkyoung(pte);
        }
        if was.dirty && self.guard.is_dirty() {
            pte = E::Format::mkdirty(pte);
        }
        if entry.soft_dirty {
            pte = E::Format::mksoft_dirty(pte);
        }
        if entry.uffd_wp { E::Format::mkuffd_wp(pte) } else { pte }
    }
}

//! The VMAs of an address space: finding, adding, removing, splitting and merging them.

use super::mm_struct::Mm;
use super::tree::{Entries, Links, Side, Tree};
use super::vma::{NewVma, Vma};
use crate::engine::Engine;
use crate::guards::{Read, Write};
use crate::id::{MmId, NONE, VmaId, VmaNr};
use crate::memory::{BadId, OutOfTable};
use crate::mm_state::MmState;
use crate::rank::Rank;
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::{Env, Format, VirtAddr, VirtRange};

/// The reason why [`Engine::mmap`] refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MmapError {
    /// The range is empty, or not page-aligned, or ends past the last page offset.
    #[error("the range is empty, not page-aligned or too far into the mapping")]
    BadRange,
    /// A VMA of the address space is in the way.
    #[error("a VMA of the address space is in the way")]
    Overlap,
    /// The caller's table of VMAs is full (ENOMEM).
    #[error(transparent)]
    OutOfTable(OutOfTable),
    /// The address space or the mapping has ended.
    #[error(transparent)]
    BadId(#[from] BadId),
}

/// Returns true if `range` is page-aligned and not empty.
pub(crate) fn is_pages<F: Format>(range: &VirtRange) -> bool {
    let aligned = |addr: VirtAddr| addr.get().is_multiple_of(F::PAGE_SIZE);
    range.start < range.end && aligned(range.start) && aligned(range.end)
}

impl<'e, E: Env> Engine<'e, E> {
    /// Adds a VMA, without mapping any page.
    ///
    /// # Errors
    /// [`MmapError`]; nothing is changed then.
    pub fn mmap(&mut self, new: &NewVma) -> Result<VmaId, MmapError> {
        if !is_pages::<E::Format>(&new.range) {
            return Err(MmapError::BadRange);
        }
        let pages = (new.range.end.get() - new.range.start.get()) >> E::Format::PAGE_SHIFT;
        new.pgoff.checked_add(pages).ok_or(MmapError::BadRange)?;
        let (mm, guard) = self.lock_mm(new.mm)?;
        let made = self.add_vma(mm, new).map(|nr| self.maps.vma_id(nr));
        drop(guard);
        made
    }

    fn add_vma(&mut self, mm: &Mm, new: &NewVma) -> Result<VmaNr, MmapError> {
        let maps = self.maps;
        let kind = maps.mapping(new.mapping)?.kind();
        if maps.first_vma_after(mm, new.range.start, new.range.end).is_some() {
            return Err(MmapError::Overlap);
        }
        let id = self.take_vma().map_err(MmapError::OutOfTable)?;
        maps.vma_at(id).init(new, kind);
        self.list_vma(id);
        Ok(id)
    }

    /// Removes a VMA that maps no folio any more. Once this returns, no reverse map leads reclaim
    /// to the VMA's page tables: those that map nothing else may be freed.
    ///
    /// # Errors
    /// [`BadId`] if it has ended.
    pub fn munmap(&mut self, id: VmaId) -> Result<(), BadId> {
        let maps = self.maps;
        let mm = maps.mm_at(maps.vma(id)?.mm());
        let guard = self.lock_mmap(mm);
        // Another task may have removed it before this one had the lock.
        let found = maps.vma_nr(id);
        if let Ok(nr) = found {
            self.remove_vma(nr);
        }
        drop(guard);
        found.map(|_| ())
    }

    /// Takes the mmap lock of an address space for writing.
    ///
    /// # Errors
    /// [`BadId`] if the address space has ended, or ends while this waits for its lock.
    pub(crate) fn lock_mm(&self, id: MmId) -> Result<(&'e Mm, Write<'e, E>), BadId> {
        let guard = self.lock_mmap(self.maps.mm(id)?);
        Ok((self.maps.mm(id)?, guard))
    }

    /// Takes the mmap lock of an address space to read.
    ///
    /// # Errors
    /// As [`Engine::lock_mm`].
    #[inline]
    pub(crate) fn read_mm(&self, id: MmId) -> Result<(&'e Mm, Read<'e, E>), BadId> {
        let guard = self.lock_read(Rank::Mmap, &self.maps.mm(id)?.lock);
        Ok((self.maps.mm(id)?, guard))
    }

    /// Takes the mmap lock for writing.
    pub(crate) fn lock_mmap(&self, mm: &'e Mm) -> Write<'e, E> {
        self.lock_write(Rank::Mmap, &mm.lock)
    }
}

/// The VMAs of an address space, by address.
struct ByAddress<'a, 'm>(&'a MmState<'m>);

impl<'m> Entries<'m> for ByAddress<'_, 'm> {
    #[inline]
    fn links(&self, id: u32) -> &'m Links {
        &self.0.vma_at(VmaNr(id)).by_address
    }
}

impl<'m> MmState<'m> {
    fn by_address<'a>(&'a self, mm: &'a Mm) -> Tree<'a, ByAddress<'a, 'm>> {
        Tree { top: &mm.vmas, entries: ByAddress(self) }
    }

    /// Returns the VMA that holds `addr`. The caller holds the mmap lock.
    pub(crate) fn find_vma(&self, mm: &Mm, addr: VirtAddr) -> Option<VmaNr> {
        let holds = |id: &VmaNr| self.vma_at(*id).start() <= addr && addr < self.vma_at(*id).end();
        let last = mm.found.load(Relaxed);
        if let Some(id) = (last != NONE).then_some(VmaNr(last)).filter(holds) {
            return Some(id);
        }
        let id = self.first_past(mm, addr).filter(holds)?;
        mm.found.store(id.0, Relaxed);
        Some(id)
    }

    /// Returns the first VMA of an address space. The caller holds the mmap lock.
    pub(crate) fn first_vma(&self, mm: &Mm) -> Option<VmaNr> {
        self.by_address(mm).first().map(VmaNr)
    }

    /// Returns the VMA after this one in its address space. The caller holds the mmap lock.
    #[inline]
    pub(crate) fn next_vma(&self, mm: &Mm, id: VmaNr) -> Option<VmaNr> {
        self.by_address(mm).next(id.0, Side::After).map(VmaNr)
    }

    /// Returns the first VMA that ends after `start`, if it begins before `end`. A caller that
    /// steps by the VMA's end visits the VMAs of a range while it changes them.
    pub(crate) fn first_vma_after(&self, mm: &Mm, start: VirtAddr, end: VirtAddr) -> Option<VmaNr> {
        self.first_past(mm, start).filter(|id| self.vma_at(*id).start() < end)
    }

    /// Returns the first VMA that ends after `addr`.
    fn first_past(&self, mm: &Mm, addr: VirtAddr) -> Option<VmaNr> {
        let tree = self.by_address(mm);
        let (mut at, mut found) = (tree.top(), None);
        while let Some(id) = at {
            let past = self.vma_at(VmaNr(id)).end() > addr;
            found = if past { Some(VmaNr(id)) } else { found };
            at = tree.below(id, if past { Side::Before } else { Side::After });
        }
        found
    }
}

impl<E: Env> Engine<'_, E> {
    /// Adds a VMA to its address space and to its reverse maps.
    pub(crate) fn list_vma(&mut self, id: VmaNr) {
        let maps = self.maps;
        let vma = maps.vma_at(id);
        maps.insert_by_address(id);
        let guards = self.lock_rmaps(vma);
        maps.rmap_insert::<E::Format>(id);
        drop(guards);
    }
}

impl MmState<'_> {
    fn insert_by_address(&self, id: VmaNr) {
        let vma = self.vma_at(id);
        let start = vma.start();
        let precedes = |other: u32| start < self.vma_at(VmaNr(other)).start();
        self.by_address(self.mm_at(vma.mm())).insert(id.0, precedes);
    }

    fn remove_by_address(&self, id: VmaNr) {
        let mm = self.mm_at(self.vma_at(id).mm());
        self.by_address(mm).remove(id.0);
        mm.found.store(NONE, Relaxed);
    }
}

impl<E: Env> Engine<'_, E> {
    /// Takes a VMA out of all trees and frees it. The caller holds the mmap lock.
    pub(crate) fn remove_vma(&mut self, id: VmaNr) {
        let maps = self.maps;
        maps.remove_by_address(id);
        let guards = self.lock_rmaps(maps.vma_at(id));
        maps.rmap_remove::<E::Format>(id);
        drop(guards);
        self.put_vma(id);
    }

    /// Makes `addr` an edge between VMAs, if it lies inside one.
    ///
    /// # Errors
    /// [`OutOfTable`] if the table of VMAs is full; nothing is changed then.
    fn split_at(&mut self, mm: &Mm, addr: VirtAddr) -> Result<(), OutOfTable> {
        let maps = self.maps;
        let inside = |id: &VmaNr| maps.vma_at(*id).start() < addr;
        let Some(id) = maps.find_vma(mm, addr).filter(inside) else {
            return Ok(());
        };
        let (vma, upper) = (maps.vma_at(id), self.take_vma()?);
        let pgoff = vma.pgoff_at::<E::Format>(addr);
        let guards = self.lock_rmaps(vma);
        maps.vma_at(upper).init_like(vma, vma.mm(), &(addr..vma.end()), pgoff);
        vma.set_range(&(vma.start()..addr), vma.pgoff());
        maps.rmap_resized::<E::Format>(id);
        maps.rmap_insert::<E::Format>(upper);
        drop(guards);
        maps.insert_by_address(upper);
        Ok(())
    }

    /// Makes both ends of `range` edges between VMAs, so that each VMA lies inside or outside. The
    /// caller holds the mmap lock for writing.
    ///
    /// # Errors
    /// [`OutOfTable`] if the table of VMAs is full; nothing is changed then.
    pub(crate) fn split_range(&mut self, mm: &Mm, range: &VirtRange) -> Result<(), OutOfTable> {
        self.split_at(mm, range.start)?;
        let split = self.split_at(mm, range.end);
        if split.is_err() {
            self.merge_at(mm, range.start);
        }
        split
    }

    /// Merges VMAs that meet in `range` or at its ends, if the one could continue the other. The
    /// caller holds the mmap lock for writing.
    pub(crate) fn merge_range(&mut self, mm: &Mm, range: &VirtRange) {
        let maps = self.maps;
        let mut edge = range.start;
        while edge <= range.end {
            self.merge_at(mm, edge);
            let Some(next) = maps.first_vma_after(mm, edge, VirtAddr::new(u64::MAX)) else {
                return;
            };
            edge = maps.vma_at(next).end();
        }
    }

    /// Merges the two VMAs that meet at `edge` if they are alike. Returns true if it did.
    fn merge_at(&mut self, mm: &Mm, edge: VirtAddr) -> bool {
        let maps = self.maps;
        let Some(upper) = maps.find_vma(mm, edge).filter(|id| maps.vma_at(*id).start() == edge)
        else {
            return false;
        };
        let below = maps.by_address(mm).next(upper.0, Side::Before).map(VmaNr);
        let Some(below) = below.filter(|id| maps.vma_at(*id).end() == edge) else {
            return false;
        };
        let (lower, next) = (maps.vma_at(below), maps.vma_at(upper));
        if !continues::<E::Format>(lower, next) {
            return false;
        }
        maps.remove_by_address(upper);
        let guards = self.lock_rmaps(next);
        maps.rmap_remove::<E::Format>(upper);
        lower.set_range(&(lower.start()..next.end()), lower.pgoff());
        maps.rmap_resized::<E::Format>(below);
        drop(guards);
        self.put_vma(upper);
        true
    }
}

/// Returns true if `next`, which begins where `vma` ends, could be a part of it.
fn continues<F: Format>(vma: &Vma, next: &Vma) -> bool {
    let alike = vma.flags() == next.flags();
    let mapped = (vma.file(), vma.anon()) == (next.file(), next.anon());
    alike && mapped && vma.past::<F>() == next.pgoff()
}

#[cfg(test)]
mod tests;

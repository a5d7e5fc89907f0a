//! Mapping of folios into an address space, and unmapping.

use super::huge::set_leaf_if_vacant;
use super::tables::run;
use super::vma::VmFlags;
use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags};
use crate::id::{FolioId, VmaId};
use crate::memory::BadId;
use crate::rank::Rank;
use pageout_paging::batch::BatchFlags;
use pageout_paging::pte::Prot;
use pageout_paging::walk::{self, Descent, Hit, LockWhen, Match, RmapTarget, TableFrames};
use pageout_paging::{
    Env, Format, Level, LockedTable, Pfn, Pte, Table, VirtAddr, VirtRange, contig, tlb,
};

/// The kind of entries that map a folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapAs {
    /// An entry for each page; contiguous blocks if the format has them and alignment allows.
    Ptes,
    /// A PMD leaf. A leaf of anonymous memory has a page table in reserve, for its split.
    PmdLeaf,
}

/// The reason why [`Engine::map_folio`] refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MapError {
    /// The VMA maps none of the folio's pages.
    #[error("the VMA maps none of the folio's pages")]
    Outside,
    /// There is no frame for a page table (ENOMEM).
    #[error("no frame for a page table")]
    NoTable,
    /// An entry is in use.
    #[error("an entry is in use")]
    Busy,
    /// A PMD leaf needs a folio of that size, aligned, wholly inside the VMA.
    #[error("a PMD leaf needs an aligned folio of its size, wholly inside the VMA")]
    NotPmdSized,
    /// The VMA has ended, or the folio was freed.
    #[error(transparent)]
    BadId(#[from] BadId),
}

/// The result of [`Engine::zap_folio`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Zapped {
    /// The number of entries taken out.
    pub entries: u32,
    /// True if one was dirty.
    pub dirty: bool,
    /// True if one was young.
    pub young: bool,
}

impl<E: Env> Engine<'_, E> {
    /// Maps the pages of the folio that lie in the VMA by old, clean entries, writable and
    /// executable as the VMA is. `frames` supplies page tables.
    ///
    /// The caller keeps others from mapping the same pages meanwhile, and keeps the folio and the
    /// VMA alive. Reclaim may run concurrently.
    ///
    /// # Errors
    /// [`MapError`]. Page tables made stay. After [`MapError::Busy`] and [`MapError::NoTable`],
    /// entries set before stay mapped and counted.
    pub fn map_folio(
        &mut self,
        vma: VmaId,
        id: FolioId,
        map_as: MapAs,
        frames: &mut dyn TableFrames,
    ) -> Result<(), MapError> {
        let (maps, env) = (self.maps, self.world);
        let (vma, folio) = (maps.vma(vma)?, maps.folio(id)?);
        let (range, skipped) = vma.range_of::<E::Format>(folio).ok_or(MapError::Outside)?;
        let root = maps.mm_at(vma.mm()).root();
        let flags = vma.flags();
        let prot = Prot {
            write: flags.contains(VmFlags::WRITE),
            exec: flags.contains(VmFlags::EXEC),
            none: false,
        };
        let first = folio.pfn().add(skipped as u64);
        let _rank = self.ranks.enter(Rank::PageTable);
        match map_as {
            MapAs::Ptes => map_ptes(env, root, range, first, prot, folio, frames),
            MapAs::PmdLeaf => self.map_pmd(root, &range, prot, folio, frames),
        }
    }

    fn map_pmd(
        &self,
        root: Pfn,
        range: &VirtRange,
        prot: Prot,
        folio: &Folio,
        frames: &mut dyn TableFrames,
    ) -> Result<(), MapError> {
        let env = self.world;
        let size = 1 << E::Format::shift(Level::Pmd);
        let whole = range.end.get() - range.start.get() == size;
        let sized = folio.nr_pages() == E::Format::nr_pages(Level::Pmd);
        if !whole || !sized || !range.start.get().is_multiple_of(size) {
            return Err(MapError::NotPmdSized);
        }
        let pmd_table = table_for(env, root, range.start, Level::Pmd, frames)?;
        let mut reserve = None;
        if folio.flags().contains(FolioFlags::ANON) {
            let table = self.take_spare_table().or_else(|| frames.take());
            reserve = Some(table.ok_or(MapError::NoTable)?);
        }
        let pt = LockedTable::lock(env, pmd_table);
        let leaf = E::Format::leaf(Level::Pmd, folio.pfn(), prot);
        if !set_leaf_if_vacant(&pt, range.start, leaf) {
            reserve.into_iter().for_each(|table| self.put_spare_table(table));
            return Err(MapError::Busy);
        }
        reserve.into_iter().for_each(|table| self.deposit(table));
        folio.add_mappings(1);
        Ok(())
    }
}

fn map_ptes<E: Env>(
    env: &E,
    root: Pfn,
    range: VirtRange,
    first: Pfn,
    prot: Prot,
    folio: &Folio,
    frames: &mut dyn TableFrames,
) -> Result<(), MapError> {
    let mut addr = range.start;
    let mut pfn = first;
    while addr < range.end {
        let i = E::Format::index(Level::Pte, addr);
        let left = ((range.end.get() - addr.get()) >> E::Format::PAGE_SHIFT) as usize;
        let nr = left.min(E::Format::PTES - i);
        let pt = LockedTable::lock(env, table_for(env, root, addr, Level::Pte, frames)?);
        if (i..i + nr).any(|k| !pt.table().load(k).is_none()) {
            return Err(MapError::Busy);
        }
        let pte = E::Format::leaf(Level::Pte, pfn, prot);
        folio.add_mappings(nr as u32);
        contig::set_ptes::<E::Format, _>(pt.table(), i, pte, nr);
        addr = addr.add((nr as u64) << E::Format::PAGE_SHIFT);
        pfn = pfn.add(nr as u64);
    }
    Ok(())
}

/// Returns the frame of the table of `level` that covers `addr`, made if it is missing.
fn table_for<E: Env>(
    env: &E,
    root: Pfn,
    addr: VirtAddr,
    level: Level,
    frames: &mut dyn TableFrames,
) -> Result<Pfn, MapError> {
    let made = walk::make_table(env, root, addr, level, frames);
    made.ok_or_else(|| match walk::descend(env, root, addr) {
        Descent::PmdLeaf(_) => MapError::Busy,
        _ => MapError::NoTable,
    })
}

impl<E: Env> Engine<'_, E> {
    /// Takes out every entry of the VMA that maps the folio, and flushes them from TLBs before it
    /// returns. If a block also holds pages of another VMA, those stay mapped, by single entries.
    ///
    /// # Errors
    /// [`BadId`] if the VMA has ended, or the folio was freed.
    pub fn zap_folio(&mut self, vma: VmaId, id: FolioId) -> Result<Zapped, BadId> {
        let (maps, env) = (self.maps, self.world);
        let (vma, folio) = (maps.vma(vma)?, maps.folio(id)?);
        let mut zapped = Zapped::default();
        let Some((range, _)) = vma.range_of::<E::Format>(folio) else {
            return Ok(zapped);
        };
        let mm = maps.mm_at(vma.mm());
        let target = RmapTarget {
            root: mm.root(),
            range: range.clone(),
            pfn: folio.pfn(),
            nr_pages: folio.nr_pages(),
            matches: Match::Mapped,
            lock: LockWhen::Always,
            getter: contig::Getter::Contpte,
        };
        let mut walk = self.walk_mapped(target);
        while let Some(hit) = walk.next_hit() {
            let pt = walk.locked();
            let (addr, level, nr, was) = match hit {
                Hit::Pte(addr, mut pte) if E::Format::is_present(pte) => {
                    let nr = run(maps, pt, addr, range.end, &mut pte, BatchFlags::NONE);
                    let was = contig::get_and_clear_ptes(env, pt, mm.asid(), addr, nr);
                    (addr, Level::Pte, nr, was)
                }
                Hit::Pte(addr, _) => (addr, Level::Pte, 1, take_out(pt, Level::Pte, addr)),
                Hit::Pmd(addr) => {
                    if folio.flags().contains(FolioFlags::ANON) {
                        self.leave_table_spare();
                    }
                    (addr, Level::Pmd, 1, take_out(pt, Level::Pmd, addr))
                }
            };
            tlb::forget(env, mm.asid(), addr, nr, level);
            zapped.entries += nr as u32;
            zapped.dirty |= E::Format::is_present(was) && E::Format::is_dirty(was);
            zapped.young |= E::Format::is_present(was) && E::Format::is_young(was);
            folio.remove_mappings(nr as u32);
            walk.skip(nr);
        }
        Ok(zapped)
    }
}

/// Empties one entry, and returns its old value.
fn take_out<E: Env>(pt: &LockedTable<'_, E>, level: Level, addr: VirtAddr) -> Pte {
    pt.table().swap(E::Format::index(level, addr), Pte::NONE)
}

//! Taking PMD leaves out of page tables, and splitting them.

use crate::engine::Engine;
use crate::folio::FolioFlags;
use crate::id::{FolioNr, MemcgNr};
use crate::mm::{Mm, Vma, leaf_at, leaf_start};
use crate::recency::Recency;
use crate::vmstat::Counter;
use pageout_paging::{Env, Format, Level, LockedTable, Pfn, Pte, Rules, Table, VirtAddr, tlb};

/// A leaf that was taken out. The caller releases its parts, without the table's lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafTaken {
    /// The old entry.
    pub(crate) was: Pte,
    /// The folio it mapped. The caller has its mapping's reference.
    pub(crate) folio: Option<FolioNr>,
    /// The empty table that was in reserve for it.
    pub(crate) table: Option<Pfn>,
}

impl<E: Env> Engine<'_, E> {
    /// Splits the leaf that maps `addr`, if the locked PMD table has one there. A leaf of anonymous
    /// memory becomes entries. A file's leaf is taken out, since faults find its folio again (Linux
    /// 7.3.4, __split_huge_pmd_locked). Returns the folio of a leaf that was taken out: the caller
    /// gives up its mapping's reference, without the table's lock.
    #[cold] // entries are unmapped without making room for it
    #[inline(never)]
    pub(crate) fn split_huge_pmd(
        &self,
        pt: &LockedTable<'_, E>,
        (mm, vma): (&Mm, &Vma),
        addr: VirtAddr,
    ) -> Option<FolioNr> {
        let pmd = leaf_at(pt, addr)?;
        self.maps.memcg_at(MemcgNr::ROOT).vmstat.add(Counter::ThpSplitPmd, 1);
        if self.is_anon_leaf(pmd) {
            let table = self.withdraw();
            self.split_into(pt, (mm, vma), addr, table);
            return None;
        }
        let taken = self.take_out_leaf(pt, mm, addr)?;
        if let Some(id) = taken.folio.filter(|_| E::Format::is_young(taken.was)) {
            self.maps.folio_at(id).note_use(Recency::REFERENCED, Recency::NONE);
        }
        taken.folio
    }

    /// Takes out the leaf that maps `addr`, if the locked PMD table has one there, and flushes it
    /// from every TLB. Its folio becomes dirty if the leaf was, and has one mapping less (Linux
    /// 7.3.4, zap_huge_pmd).
    pub(crate) fn take_out_leaf(
        &self,
        pt: &LockedTable<'_, E>,
        mm: &Mm,
        addr: VirtAddr,
    ) -> Option<LeafTaken> {
        let i = E::Format::index(Level::Pmd, addr);
        leaf_at(pt, addr)?;
        let was = pt.table().swap(i, Pte::NONE);
        if E::Format::is_valid(was) {
            tlb::forget(self.world, mm.asid(), leaf_start::<E::Format>(addr), 1, Level::Pmd);
        }
        let folio = self.maps.folio_nr_of(E::Format::pfn(was));
        let mut table = None;
        if let Some(folio) = folio.map(|id| self.maps.folio_at(id)) {
            if E::Format::is_dirty(was) {
                self.maps.note_dirty(folio);
            }
            folio.sub_mapcount(1);
            let gives_up = <E::Rules as Rules>::leaf_gives_up_its_table();
            if folio.flags().contains(FolioFlags::ANON) && gives_up {
                table = Some(self.withdraw());
            }
        }
        Some(LeafTaken { was, folio, table })
    }
}

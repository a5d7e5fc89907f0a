//! Accounting under any order of operations, failures included. A folio's mappings and references
//! match the tables, frames know their folio, and no entry of the caller's tables is lost.

use crate::world::{Arena, World, pages};
use pageout_paging::pte::{SmallArm2, SmallArm4, SmallX86};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Level, Order, Pfn};
use pageout_reclaim::{
    FolioFlags, FolioId, Limits, MapAs, MapError, MappingId, MmId, NewFolio, NewVma, OutOfTable,
    TableKind, VmFlags, VmaId,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::ops::Range;

const SMALL: Limits =
    Limits { frames: 32, folios: 5, vmas: 5, mms: 2, mappings: 1, ..Limits::NOTHING };

/// The length of each VMA's own part of the address space.
const SLOT: u64 = 32;

/// An operation on some of the objects that exist then.
#[derive(Clone, Debug)]
enum Op {
    AddFolio { order: u8, place: u64 },
    RemoveFolio(Index),
    Mmap { process: usize, slot: u64, shift: u64, pages: u64, pgoff: u64 },
    Munmap(Index),
    Map { vma: Index, folio: Index, leaf: bool },
    Zap { vma: Index, folio: Index },
    Touch { vma: Index, page: u64 },
    Ask { folio: Index, algorithm: usize },
}

fn op() -> impl Strategy<Value = Op> {
    let some = any::<Index>;
    let pair = || (some(), some());
    prop_oneof![
        3 => (0..=3_u8, 0..32_u64).prop_map(|(order, place)| Op::AddFolio { order, place }),
        1 => some().prop_map(Op::RemoveFolio),
        // A third of the VMAs are aligned, and so may hold a PMD leaf.
        3 => (0..2_usize, 0..6_u64, (0..24_u64), 1..=20_u64, 0..24_u64).prop_map(
            |(process, slot, shift, pages, pgoff)| {
                let aligned = shift % 3 == 0;
                let shift = if aligned { 0 } else { shift % 12 };
                let pgoff = if aligned { pgoff & !7 } else { pgoff };
                Op::Mmap { process, slot, shift, pages, pgoff }
            }
        ),
        1 => some().prop_map(Op::Munmap),
        6 => (pair(), any::<bool>())
            .prop_map(|((vma, folio), leaf)| Op::Map { vma, folio, leaf }),
        3 => pair().prop_map(|(vma, folio)| Op::Zap { vma, folio }),
        3 => (some(), 0..20_u64).prop_map(|(vma, page)| Op::Touch { vma, page }),
        3 => (some(), 0..3_usize).prop_map(|(folio, algorithm)| Op::Ask { folio, algorithm }),
    ]
}

/// A world and the objects in it.
struct Run<'a, F> {
    world: World<'a, F>,
    mms: Vec<MmId>,
    file: MappingId,
    folios: Vec<FolioId>,
    /// The VMAs, with their pages and their slot.
    vmas: Vec<(VmaId, Range<u64>, u64)>,
}

fn pick<T: Clone>(of: &[T], index: &Index) -> Option<T> {
    (!of.is_empty()).then(|| index.get(of).clone())
}

impl<'a, F: Format> Run<'a, F> {
    fn new(mut world: World<'a, F>, tables: usize) -> Self {
        let mms = (0..SMALL.mms).map(|_| world.process()).collect();
        let file = world.file();
        world.tables.set_left(Some(tables));
        Self { world, mms, file, folios: Vec::new(), vmas: Vec::new() }
    }

    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            Op::AddFolio { order, place } => self.add_folio(*order, *place)?,
            Op::RemoveFolio(index) => {
                let folio = pick(&self.folios, index);
                if let Some(folio) = folio.filter(|folio| self.world.mapcount(*folio) == 0) {
                    self.world.engine().remove_folio(folio).expect("nothing else uses it");
                    self.folios.retain(|left| *left != folio);
                }
            }
            Op::Mmap { process, slot, shift, pages, pgoff } => {
                self.mmap(*process, *slot, *shift, *pages, *pgoff)?;
            }
            Op::Munmap(index) => {
                if let Some((vma, _, slot)) = pick(&self.vmas, index) {
                    for folio in &self.folios {
                        self.world.zap(vma, *folio);
                    }
                    self.world.munmap(vma);
                    self.vmas.retain(|(_, _, left)| *left != slot);
                }
            }
            Op::Map { vma, folio, leaf } => {
                if let Some((vma, folio)) = self.pair(vma, folio) {
                    self.map(vma, folio, *leaf)?;
                }
            }
            Op::Zap { vma, folio } => {
                if let Some((vma, folio)) = self.pair(vma, folio) {
                    let before = self.world.mapcount(folio);
                    let zapped = self.world.zap(vma, folio);
                    prop_assert_eq!(self.world.mapcount(folio), before - zapped.entries);
                }
            }
            Op::Touch { vma, page } => {
                let place = pick(&self.vmas, vma).filter(|(_, at, _)| at.start + page < at.end);
                if let Some((vma, at, _)) = place {
                    let (mm, page) = (
                        self.world.maps.mm_of(self.world.maps.vma(vma).expect("it lives")),
                        at.start + page,
                    );
                    if !self.world.entry(mm, page).is_none() {
                        self.world.touch(mm, page);
                    }
                }
            }
            Op::Ask { folio, algorithm } => {
                if let Some(folio) = pick(&self.folios, folio) {
                    self.world.referenced(folio, YoungAlgorithm::ALL[*algorithm]);
                }
            }
        }
        Ok(())
    }

    fn pair(&self, vma: &Index, folio: &Index) -> Option<(VmaId, FolioId)> {
        let (vma, _, _) = pick(&self.vmas, vma)?;
        Some((vma, pick(&self.folios, folio)?))
    }

    /// Adds a folio if its frames are free. A full table must return its error.
    fn add_folio(&mut self, order: u8, place: u64) -> Result<(), TestCaseError> {
        let order = Order::new(order).expect("a small order");
        let nr = order.nr_pages() as u64;
        let first = place & !(nr - 1);
        let mut frames = (first..first + nr).map(Pfn::new);
        if frames.any(|frame| self.world.maps.folio_of(frame).is_some()) {
            return Ok(());
        }
        let added = self.world.add_folio(NewFolio {
            pfn: Pfn::new(first),
            order,
            mapping: self.file,
            index: first,
            flags: FolioFlags::empty(),
        });
        let full = self.folios.len() == SMALL.folios;
        prop_assert_eq!(added.err(), full.then_some(OutOfTable(TableKind::Folios).into()));
        self.folios.extend(added);
        Ok(())
    }

    /// Maps a range of the file into a free slot. A full table must return its error.
    fn mmap(
        &mut self,
        process: usize,
        slot: u64,
        shift: u64,
        len: u64,
        pgoff: u64,
    ) -> Result<(), TestCaseError> {
        let key = process as u64 * 6 + slot;
        if self.vmas.iter().any(|(_, _, taken)| *taken == key) {
            return Ok(());
        }
        let start = slot * SLOT + shift;
        let at = start..start + len;
        let new = NewVma {
            mm: self.mms[process],
            range: pages::<F>(at.clone()),
            flags: VmFlags::READ,
            mapping: self.file,
            pgoff,
        };
        let made = self.world.engine().mmap(&new);
        prop_assert_eq!(made.is_err(), self.vmas.len() == SMALL.vmas);
        self.vmas.extend(made.map(|vma| (vma, at, key)));
        Ok(())
    }

    /// Maps a folio. Errors that must change nothing by their contract are checked for that.
    fn map(&mut self, vma: VmaId, folio: FolioId, leaf: bool) -> Result<(), TestCaseError> {
        let map_as = if leaf { MapAs::PmdLeaf } else { MapAs::Ptes };
        let before = self.world.mapcount(folio);
        let done = self.world.try_map(vma, folio, map_as);
        let after = self.world.mapcount(folio);
        match done {
            Ok(()) if leaf => prop_assert_eq!(after, before + 1),
            Ok(()) => prop_assert!(after > before),
            Err(MapError::Outside | MapError::NotPmdSized) => prop_assert_eq!(after, before),
            Err(MapError::Busy | MapError::NoTable) => {
                prop_assert!(after >= before && (after == before || !leaf));
            }
            Err(MapError::BadId(bad)) => panic!("both live: {bad}"),
        }
        Ok(())
    }

    /// Returns the number of entries that map the folio in all address spaces.
    fn entries_of(&self, folio: FolioId) -> u32 {
        let maps = |mm: MmId, page: u64| {
            let Some((_, _, level)) = self.world.place(mm, page) else {
                return false;
            };
            let first = level == Level::Pte || page.is_multiple_of(F::PTES as u64);
            let pte = self.world.entry(mm, page);
            first && F::is_present(pte) && self.world.maps.folio_of(F::pfn(pte)) == Some(folio)
        };
        let count = |mm: &MmId| (0..6 * SLOT).filter(|page| maps(*mm, *page)).count();
        self.mms.iter().map(count).sum::<usize>() as u32
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let mut owned = 0;
        for id in &self.folios {
            let folio = self.world.maps.folio(*id).expect("it lives");
            let entries = self.entries_of(*id);
            prop_assert_eq!((folio.mapcount(), folio.refs()), (entries, 1 + entries));
            for k in 0..folio.nr_pages() as u64 {
                prop_assert_eq!(self.world.maps.folio_of(folio.pfn().add(k)), Some(*id));
            }
            owned += folio.nr_pages();
        }
        let found = (0..32).filter(|pfn| self.world.maps.folio_of(Pfn::new(*pfn)).is_some());
        prop_assert_eq!(found.count(), owned);
        Ok(())
    }

    /// Removes everything, and checks that all of the caller's tables are free again.
    fn finish(mut self) -> Result<(), TestCaseError> {
        for (vma, _, _) in std::mem::take(&mut self.vmas) {
            for folio in &self.folios {
                self.world.zap(vma, *folio);
            }
            self.world.munmap(vma);
        }
        self.check()?;
        for folio in std::mem::take(&mut self.folios) {
            prop_assert_eq!(self.world.mapcount(folio), 0);
            self.world.engine().remove_folio(folio).expect("nothing else uses it");
        }
        for k in 0..=SMALL.folios as u64 {
            self.add_folio(0, k)?;
            self.mmap(0, k, 0, 1, 0)?;
        }
        prop_assert_eq!((self.folios.len(), self.vmas.len()), (SMALL.folios, SMALL.vmas));
        self.check()
    }
}

fn hold<F: Format>(ops: &[Op], tables: usize) -> Result<(), TestCaseError> {
    let mut arena = Arena::new::<F>(&SMALL);
    let mut run = Run::new(arena.world::<F>(), tables);
    for op in ops {
        run.apply(op)?;
        run.check()?;
    }
    run.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn counts_equal_the_tables_on_small_x86(ops in vec(op(), 1..60), tables in 0..22_usize) {
        hold::<SmallX86>(&ops, tables)?;
    }

    #[test]
    fn counts_equal_the_tables_in_blocks_of_2(ops in vec(op(), 1..60), tables in 0..22_usize) {
        hold::<SmallArm2>(&ops, tables)?;
    }

    #[test]
    fn counts_equal_the_tables_in_blocks_of_4(ops in vec(op(), 1..60), tables in 0..22_usize) {
        hold::<SmallArm4>(&ops, tables)?;
    }
}

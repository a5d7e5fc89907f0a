//! A small world of processes, files, folios and page tables. Tests act as the hardware.

use crate::cpu::{CPUS, Faults};
use crate::env::{MmuLog, Secondary, TableCounts, Task, TestCpu, TestEnv};
use pageout_paging::contig::Getter;
use pageout_paging::mmu::Asid;
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::walk::{Descent, TableFrames, descend};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Level, Order, Pfn, Pte, Table, VirtAddr, VirtRange};
use pageout_reclaim::{
    AddFolioError, Aging, CpuCtx, Engine, FlushTiming, FolioFlags, FolioId, Frames, IoError,
    Limits, MapAs, MapError, MappingId, MappingKind, MmId, MmState, NewFolio, NewVma, OutOfTable,
    PmdLeaves, Referenced, SpaceError, Thp, Tuning, UnmapGranularity, Unmapping, VmFlags, VmaId,
    Zapped,
};
use pageout_sim::{EngineMemory, Hardware, Levels, Memory, PageTables, Tlbs};
use std::iter::repeat_with;
use std::marker::PhantomData;
use std::mem::take;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// The limits of all tests but the largest.
pub(crate) const LIMITS: Limits =
    Limits { frames: 4096, folios: 32, vmas: 16, mms: 8, mappings: 4, ..Limits::NOTHING };

/// The number of page tables for each address space.
const TABLES: usize = 8;

/// The memory of a world.
#[derive(Debug)]
pub(crate) struct Arena {
    hardware: Hardware,
    counts: Vec<TableCounts>,
    secondaries: Vec<Secondary>,
    mmu: MmuLog,
    task: Task,
    engine: EngineMemory,
}

fn filled<T: Default>(len: usize) -> Vec<T> {
    repeat_with(T::default).take(len).collect()
}

impl Arena {
    pub(crate) fn new<F: Format>(limits: &Limits) -> Self {
        let tables = TABLES * (limits.mms + 1);
        Self {
            hardware: Hardware::new(
                PageTables::new::<F>(tables),
                Memory::new(Pfn::new(0)..Pfn::new(limits.frames as u64)),
                Tlbs::new(CPUS, Levels::Named),
            ),
            counts: filled(tables),
            secondaries: filled(limits.mms),
            mmu: MmuLog::default(),
            task: Task::default(),
            engine: EngineMemory::new(limits),
        }
    }

    pub(crate) fn world<F: Format>(&mut self) -> World<'_, F> {
        World {
            maps: self.engine.state(Pfn::new(0)),
            env: TestEnv::new(TestCpu {
                hardware: &self.hardware,
                counts: &self.counts,
                mmu: &self.mmu,
                secondaries: &self.secondaries,
                task: &self.task,
                at: &|_| {},
                locks: &|_, _| {},
                format: PhantomData,
            }),
            cpu: CpuCtx::new(),
            tables: &self.hardware.tables,
            faults: Faults::default(),
            next_asid: 0,
        }
    }
}

/// The engine on a counting ground, and one CPU.
pub(crate) struct World<'a, F> {
    pub(crate) maps: MmState<'a>,
    pub(crate) env: TestEnv<'a, F>,
    pub(crate) cpu: CpuCtx,
    pub(crate) tables: &'a PageTables,
    /// The faults of accesses so far.
    pub(crate) faults: Faults,
    next_asid: u32,
}

/// Returns the flush that kernels use which have no rule of their own.
pub(crate) const fn aging(algorithm: YoungAlgorithm) -> Aging {
    Aging { algorithm, flush: FlushPolicy::GENERIC }
}

/// Returns the kernels' current choices, for tests that ask for nothing else.
pub(crate) const fn tuning() -> Tuning {
    let (by, shootdown) = (UnmapGranularity::Batched, FlushTiming::Deferred);
    let unmapping = Unmapping { by, read: Getter::Contpte, shootdown };
    let (thp, pmd_leaves) = (Thp::Never, PmdLeaves::Never);
    Tuning { aging: aging(YoungAlgorithm::Batched), unmapping, thp, pmd_leaves }
}

pub(crate) fn page<F: Format>(number: u64) -> VirtAddr {
    VirtAddr::new(number << F::PAGE_SHIFT)
}

pub(crate) fn pages<F: Format>(range: Range<u64>) -> VirtRange {
    page::<F>(range.start)..page::<F>(range.end)
}

impl<'a, F: Format> World<'a, F> {
    /// Returns the engine on the world's one CPU.
    pub(crate) fn engine(&mut self) -> Engine<'_, TestEnv<'a, F>> {
        self.tuned(tuning())
    }

    /// Does the same, with the test's own tuning.
    pub(crate) fn tuned(&mut self, tuning: Tuning) -> Engine<'_, TestEnv<'a, F>> {
        self.maps.on(&self.env, &mut self.cpu, tuning)
    }

    pub(crate) fn try_process(&mut self) -> Result<MmId, OutOfTable> {
        let root = self.tables.take().expect("a root table");
        let asid = Asid(self.next_asid);
        let mm = self.engine().add_mm(root, asid)?;
        self.next_asid += 1;
        Ok(mm)
    }

    /// Forks a process.
    pub(crate) fn try_fork(&mut self, parent: MmId) -> Result<MmId, SpaceError> {
        let root = self.tables.take().expect("a root table");
        let (env, cpu, asid) = (&self.env, &mut self.cpu, Asid(self.next_asid));
        self.next_asid += 1;
        let child = self.maps.on(env, cpu, tuning()).fork(parent, root, asid);
        if child.is_err() {
            self.tables.give_back(root);
        }
        child
    }

    pub(crate) fn fork(&mut self, parent: MmId) -> MmId {
        self.try_fork(parent).expect("room for a child")
    }

    /// Ends a process, which gives back all its tables.
    pub(crate) fn exit(&mut self, mm: MmId) {
        let root = self.maps.mm(mm).expect("it lives").root();
        self.engine().exit_mm(mm).expect("it lives");
        self.tables.give_back(root);
    }

    pub(crate) fn process(&mut self) -> MmId {
        self.try_process().expect("room for an address space")
    }

    pub(crate) fn try_mapping(&mut self, kind: MappingKind) -> Result<MappingId, OutOfTable> {
        self.engine().add_mapping(kind)
    }

    pub(crate) fn mapping(&mut self, kind: MappingKind) -> MappingId {
        self.try_mapping(kind).expect("room for a mapping")
    }

    pub(crate) fn file(&mut self) -> MappingId {
        self.mapping(MappingKind::File)
    }

    pub(crate) fn anon(&mut self) -> MappingId {
        self.mapping(MappingKind::Anon)
    }

    pub(crate) fn add_folio(&mut self, new: NewFolio) -> Result<FolioId, AddFolioError> {
        self.engine().add_folio(new)
    }

    /// Makes a folio of `mapping` from page `index` on, over fresh frames.
    pub(crate) fn folio(&mut self, mapping: MappingId, order: u8, index: u64) -> FolioId {
        let order = Order::new(order).expect("a small order");
        let pfn = self.env.alloc(order).expect("free frames");
        let new = NewFolio { pfn, order, mapping, index, flags: FolioFlags::empty() };
        self.add_folio(new).expect("room for a folio")
    }

    /// Makes a VMA over pages `at` of the address space that maps `mapping` from page `pgoff` on.
    pub(crate) fn vma(
        &mut self,
        mm: MmId,
        at: Range<u64>,
        flags: VmFlags,
        mapping: MappingId,
        pgoff: u64,
    ) -> VmaId {
        let new = NewVma { mm, range: pages::<F>(at), flags, mapping, pgoff };
        let made = self.engine().mmap(&new);
        made.expect("room for a VMA, and a good range")
    }

    pub(crate) fn try_map(
        &mut self,
        vma: VmaId,
        folio: FolioId,
        map_as: MapAs,
    ) -> Result<(), MapError> {
        let (env, cpu) = (&self.env, &mut self.cpu);
        self.maps.on(env, cpu, tuning()).map_folio(vma, folio, map_as, &mut self.tables)
    }

    pub(crate) fn map(&mut self, vma: VmaId, folio: FolioId) {
        self.try_map(vma, folio, MapAs::Ptes).expect("room in the tables");
    }

    pub(crate) fn map_pmd(&mut self, vma: VmaId, folio: FolioId) {
        self.try_map(vma, folio, MapAs::PmdLeaf).expect("a PMD-sized folio");
    }

    pub(crate) fn zap(&mut self, vma: VmaId, folio: FolioId) -> Zapped {
        self.engine().zap_folio(vma, folio).expect("it lives")
    }

    pub(crate) fn munmap(&mut self, vma: VmaId) {
        self.engine().munmap(vma).expect("it lives");
    }

    /// Checks the folio for use, with its lock free.
    pub(crate) fn referenced(&mut self, folio: FolioId, algorithm: YoungAlgorithm) -> Referenced {
        self.tuned(Tuning { aging: aging(algorithm), ..tuning() })
            .folio_referenced(folio, None, None)
            .expect("it lives")
    }

    /// Ends the late transfers, which fail unless `ok`. Returns their number.
    pub(crate) fn finish_io(&mut self, ok: bool) -> usize {
        let late = take(&mut self.env.memory().storage.late);
        let result = if ok { Ok(()) } else { Err(IoError::TimedOut) };
        for transfer in &late {
            self.env.memory().end(transfer, ok);
            let (env, cpu, id) = (&self.env, &mut self.cpu, transfer.io.folio);
            match transfer.writes {
                true => {
                    self.maps.on(env, cpu, tuning()).write_done(id, result).expect("it goes on");
                }
                false => {
                    self.maps.on(env, cpu, tuning()).read_done(id, result).expect("it goes on");
                }
            }
        }
        late.len()
    }

    pub(crate) fn flag(&self, folio: FolioId, flags: FolioFlags) {
        let guard = self.maps.folio(folio).expect("it lives").try_lock();
        guard.expect("no one holds the folio").set(flags);
    }

    pub(crate) fn flags(&self, folio: FolioId) -> FolioFlags {
        self.maps.folio(folio).expect("it lives").flags()
    }

    pub(crate) fn mapcount(&self, folio: FolioId) -> u32 {
        self.maps.folio(folio).expect("it lives").mapcount()
    }

    pub(crate) fn secondary(&self, mm: MmId) -> &Secondary {
        &self.env.secondaries[self.maps.mm(mm).expect("it lives").asid().0 as usize]
    }

    /// Attaches the secondary MMU of an address space, with these pages young.
    pub(crate) fn attach(&self, mm: MmId, young: impl IntoIterator<Item = u64>) {
        let secondary = self.secondary(mm);
        secondary.attached.store(true, Relaxed);
        let young = young.into_iter().map(page::<F>);
        secondary.young.lock().unwrap().extend(young);
    }

    /// Returns the place of a page's entry: its table, its index and its level.
    pub(crate) fn place(&self, mm: MmId, number: u64) -> Option<(Pfn, usize, Level)> {
        let addr = page::<F>(number);
        let (table, level) =
            match descend(&self.env, self.maps.mm(mm).expect("it lives").root(), addr) {
                Descent::Absent(_) => return None,
                Descent::PmdLeaf(table) => (table, Level::Pmd),
                Descent::PteTable(table, _) => (table, Level::Pte),
            };
        Some((table, F::index(level, addr), level))
    }

    /// Returns the raw entry that maps a page. It is empty if there is no table.
    pub(crate) fn entry(&self, mm: MmId, number: u64) -> Pte {
        let place = self.place(mm, number);
        place.map_or(Pte::NONE, |(table, i, _)| self.env.hardware.table::<F>(table).load(i))
    }

    pub(crate) fn entries(&self, mm: MmId, at: Range<u64>) -> Vec<Pte> {
        at.map(|number| self.entry(mm, number)).collect()
    }

    pub(crate) fn change(&self, mm: MmId, number: u64, change: impl Fn(Pte) -> Pte) {
        let (table, i, _) = self.place(mm, number).expect("the page has a table");
        let table = self.env.hardware.table::<F>(table);
        table.set(i, change(table.load(i)));
    }

    /// Reads a page, as the hardware walker does.
    pub(crate) fn touch(&self, mm: MmId, number: u64) {
        self.change(mm, number, F::mkyoung);
    }

    pub(crate) fn young(&self, mm: MmId, at: Range<u64>) -> Vec<u64> {
        at.filter(|number| F::is_young(self.entry(mm, *number))).collect()
    }

    /// Returns the frame of the PTE table of a page.
    pub(crate) fn pte_table(&self, mm: MmId, number: u64) -> Pfn {
        let (table, _, level) = self.place(mm, number).expect("the page has a table");
        assert_eq!(level, Level::Pte);
        table
    }

    /// Resets all counts and records.
    pub(crate) fn forget(&self) {
        for counts in self.env.counts {
            counts.accesses.store(0, Relaxed);
            counts.locked.store(0, Relaxed);
        }
        self.env.mmu.invalidations();
        self.env.mmu.completions();
        for secondary in self.env.secondaries {
            secondary.asked();
        }
    }

    /// Returns true if the tables of an address space were walked since [`World::forget`].
    pub(crate) fn walked(&self, mm: MmId) -> bool {
        let root = self.env.counts_of(self.maps.mm(mm).expect("it lives").root());
        root.accesses.load(Relaxed) > 0
    }

    /// Returns the number of times that a table was locked since [`World::forget`].
    pub(crate) fn locked(&self, table: Pfn) -> u64 {
        self.env.counts_of(table).locked.load(Relaxed)
    }
}

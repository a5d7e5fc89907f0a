//! A traced program on the engine: its mappings, its accesses, and the faults that they take.

use super::history::{History, on_lists};
use super::mistakes::Mistakes;
use super::pages::Pages;
use crate::env::HostEnv;
use crate::generations::{Refused, after};
use crate::journal::Journal;
use crate::layout::Ground;
use crate::residency::{Cuts, ReplayError, canonical_range, page_number};
use crate::walker::{Touch, touch};
use pageout_experiment::formats::Arch;
use pageout_experiment::variant::Lru;
use pageout_paging::contig::gather;
use pageout_paging::mmu::Asid;
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Env, Level, Order, Pfn, VirtAddr, VirtRange};
use pageout_reclaim::{
    Access, Advice, CpuCtx, Engine, Fault, FolioId, MappingId, MappingKind, MemcgId, MmId, MmState,
    MmapError, NewVma, SpaceError, Tuning, VmFlags, VmStat, World,
};
use pageout_record::schema::Metric;
use pageout_trace::{Areas, Event, FileId, Kind, Mapping, Page, PageRange, Permissions};
use std::collections::{BTreeSet, HashMap};

const SIZED: &str = "the arena is sized by reading the trace";

/// The maximum number of faults of an access: for a page that is swapped out or not present, for a
/// store to a page that was mapped read-only, and once more for a copy.
const FAULTS_AN_ACCESS: usize = 4;

/// The program in a cgroup of its own, whose limit applies to its faults. The engine's operations
/// for it go to the `world` of each call.
pub struct Program<'a, F> {
    maps: MmState<'a>,
    /// The ground for the accesses of hardware, which are not the engine's and are not counted.
    hardware: HostEnv<'a, F>,
    /// The journal of frames in every world.
    journal: &'a Journal,
    cuts: &'a Cuts,
    mm: MmId,
    root: Pfn,
    memcg: MemcgId,
    anon: MappingId,
    files: HashMap<FileId, MappingId>,
    /// The pages at which a VMA may begin or end.
    edges: BTreeSet<u64>,
    order: Order,
    tuning: Tuning,
    /// True if the program's trace lacks mappings: then all addresses are one area of anonymous
    /// memory.
    maps_all: bool,
    mistakes: Mistakes,
    history: History,
    lru: Lru,
}

/// The setting that a program runs in.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) cuts: &'a Cuts,
    /// The number of pages that its cgroup may use.
    pub(super) limit: u64,
    pub(super) order: Order,
    pub(super) tuning: Tuning,
    /// The pages of the program's reference string.
    pub(super) pages: &'a Pages,
    /// The number of frames of the ground.
    pub(super) frames: usize,
    /// The ground's lists.
    pub(super) lru: Lru,
    /// True if the program's trace has its mappings; otherwise all addresses are anonymous memory.
    pub(super) mappings: bool,
}

impl<'a, F: Arch> Program<'a, F> {
    /// Returns a program on a ground whose lists are chosen.
    pub(super) fn new(ground: Ground<'a, F>, journal: &'a Journal, setting: Setting<'a>) -> Self {
        let Ground { env: world, maps, supply } = ground;
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(&world, cpu, setting.tuning);
        let root = supply.alloc_table().expect(SIZED);
        let mm = engine.add_mm(root, Asid(0)).expect(SIZED);
        let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
        maps.memcg(memcg).expect("it is online").set_max(setting.limit);
        engine.set_memcg(mm, memcg).expect("it lives");
        let anon = engine.add_mapping(MappingKind::Anon).expect(SIZED);
        maps.mapping(anon).expect("it lives").set_order(setting.order);
        let Setting { cuts, order, tuning, pages, frames, lru, mappings, .. } = setting;
        let mistakes = Mistakes::new(pages.nr(), frames);
        let history = History::new(pages);
        let (files, edges) = (HashMap::new(), BTreeSet::new());
        let program = Self {
            maps,
            hardware: world,
            journal,
            cuts,
            mm,
            root,
            memcg,
            anon,
            files,
            edges,
            order,
            tuning,
            maps_all: !mappings,
            mistakes,
            history,
            lru,
        };
        if !mappings {
            let (first, end) = cuts.interval(0);
            let flags = VmFlags::READ | VmFlags::WRITE;
            program.add_vma(&world, first..end, flags, anon, first).expect("nothing is mapped yet");
        }
        program
    }

    /// Plays one event that is no access.
    ///
    /// # Errors
    /// [`ReplayError::FileOffset`].
    pub fn play<W: World<Format = F>>(
        &mut self,
        world: &W,
        event: &Event,
    ) -> Result<(), ReplayError> {
        self.note_edges(event);
        match *event {
            Event::Access { .. } => unreachable!("accesses come with their pages"),
            Event::EpochEnd { .. } => self.end_epochs(1),
            Event::Map(mapping) => self.map(world, &mapping)?,
            Event::Unmap(pages) => {
                self.change(world, pages, |engine, mm, range| engine.munmap_range(mm, range));
            }
            Event::Discard(pages) => {
                self.change(world, pages, |engine, mm, range| {
                    engine.madvise(mm, range, Advice::DontNeed)
                });
            }
            Event::Protect { pages, permissions } => {
                self.change(world, pages, |engine, mm, range| {
                    engine.mprotect(mm, range, flags(permissions))
                });
            }
            Event::Remap { pages, to } => self.remap(world, pages, to),
        }
        for frame in self.journal.take_freed() {
            self.mistakes.given_up(frame);
        }
        Ok(())
    }

    /// Notes the edges of VMAs that an event makes, but for those at the target of a move.
    fn note_edges(&mut self, event: &Event) {
        if let Event::Map(Mapping { pages, .. })
        | Event::Unmap(pages)
        | Event::Protect { pages, .. }
        | Event::Remap { pages, .. } = *event
        {
            let (start, end) = canonical_range(pages);
            self.edges.extend([start, end]);
        }
    }

    /// Ends `nr` epochs.
    pub fn end_epochs(&mut self, nr: u64) {
        self.mistakes.end_epochs(nr);
        let Self { history, maps, memcg, lru, .. } = self;
        history.end_epochs(nr, || on_lists(maps, *memcg, *lru));
    }

    /// Returns the engine's counters of the program's cgroup.
    pub(super) fn vmstat(&self) -> &VmStat {
        self.maps.memcg(self.memcg).expect("it is online").vmstat()
    }

    /// Writes commands to `lru_gen`; returns its content after them.
    pub(super) fn lru_gen_after<W: World<Format = F>>(
        &self,
        world: &W,
        commands: &[String],
    ) -> Result<String, Refused> {
        after((&self.maps, world), (self.memcg, "trace"), commands, self.tuning)
    }

    /// Returns the number of hot pages reclaimed by mistake so far.
    pub(super) fn mistakes(&self) -> u64 {
        self.mistakes.nr()
    }

    /// Returns the history of the program's pages over its epochs, as metrics of records.
    pub fn history(&self) -> Vec<Metric> {
        self.history.metrics(self.lru)
    }

    /// Returns the root of the program's page tables.
    pub fn root(&self) -> Pfn {
        self.root
    }

    /// Returns the engine's maps, with its address space and its cgroup.
    pub fn maps(&self) -> &MmState<'a> {
        &self.maps
    }

    /// Returns the address of a page.
    pub fn address(at: Page) -> VirtAddr {
        VirtAddr::new(page_number(at) << F::PAGE_SHIFT)
    }

    /// Accesses `at`, which is `page` of the reference string, on hardware without a TLB, where
    /// transfers are complete at once.
    ///
    /// # Errors
    /// [`ReplayError::OutOfMemory`].
    pub(super) fn access<W: World<Format = F>>(
        &mut self,
        world: &W,
        page: u32,
        at: Page,
        store: bool,
    ) -> Result<(), ReplayError> {
        let addr = Self::address(at);
        self.maps.lru_gen_use_mm(self.mm).expect("it lives");
        let mut faults = 0;
        while touch(&self.hardware, self.root, addr, store) == Touch::Fault {
            faults += 1;
            assert!(faults <= FAULTS_AN_ACCESS, "a fault that was handled does not recur");
            let pending = self.fault(world, &mut CpuCtx::new(), addr, store)?;
            assert!(pending.is_none(), "transfers are done at once");
        }
        self.used(page, addr, faults > 0);
        Ok(())
    }

    /// Handles a fault. Returns the folio whose transfer the access has to wait for, if any.
    ///
    /// # Errors
    /// [`ReplayError::OutOfMemory`].
    pub fn fault<W: World<Format = F>>(
        &mut self,
        world: &W,
        cpu: &mut CpuCtx,
        addr: VirtAddr,
        store: bool,
    ) -> Result<Option<FolioId>, ReplayError> {
        let access = if store { Access::Write } else { Access::Read };
        // The program has run since the last fault, and no walk came before this one.
        self.maps.lru_gen_use_mm(self.mm).expect("it lives");
        let fault = self.maps.on(world, cpu, self.tuning).handle_fault(self.mm, addr, access);
        // Only reclaim frees the program's frames here.
        for frame in self.journal.take_freed() {
            if let Some(page) = self.mistakes.reclaimed(frame) {
                self.history.reclaimed(page);
            }
        }
        match fault {
            Fault::Done(_) => Ok(None),
            Fault::Pending(folio) => Ok(Some(folio)),
            Fault::OutOfMemory(_) => Err(ReplayError::OutOfMemory {
                limit: self.maps.memcg(self.memcg).expect("it is online").max(),
                page: addr.get() >> F::PAGE_SHIFT,
            }),
            other => unreachable!("all is mapped, and transfers succeed: {other:?}"),
        }
    }

    /// Notes a completed access to `page` of the reference string, after a fault or without one.
    #[inline]
    pub fn used(&mut self, page: u32, addr: VirtAddr, faulted: bool) {
        let page = page as usize;
        self.history.used(page);
        if (faulted || !self.mistakes.knows(page)) && self.mistakes.used(page, self.frame_at(addr))
        {
            self.history.refaulted(page);
        }
    }

    /// Ends the program, whose remaining mappings in the trace are given. Another one can begin in
    /// its place: files stay in memory, and its own pages do not.
    ///
    /// # Errors
    /// Only those that its mappings could already return.
    pub fn exit<W: World<Format = F>>(
        &mut self,
        world: &W,
        areas: &Areas,
    ) -> Result<(), ReplayError> {
        if self.maps_all {
            let (first, end) = self.cuts.interval(0);
            self.change_range(world, range::<F>(first, end), |engine, mm, range| {
                engine.madvise(mm, range, Advice::DontNeed)
            });
        }
        let mapped: Vec<_> = areas.iter().map(|area| area.pages).collect();
        mapped.into_iter().try_for_each(|pages| self.play(world, &Event::Unmap(pages)))?;
        for frame in self.journal.take_freed() {
            self.mistakes.given_up(frame);
        }
        self.mistakes.begin_again();
        Ok(())
    }

    fn frame_at(&self, addr: VirtAddr) -> Pfn {
        let Descent::PteTable(table, _) = descend(&self.hardware, self.root, addr) else {
            unreachable!("faults map single pages");
        };
        let i = F::index(Level::Pte, addr);
        F::pfn(gather::<F, _>(self.hardware.table(table), i))
    }

    fn map<W: World<Format = F>>(
        &mut self,
        world: &W,
        mapping: &Mapping,
    ) -> Result<(), ReplayError> {
        let (first, end) = canonical_range(mapping.pages);
        let mut flags = flags(mapping.permissions);
        let (backing, pgoff) = match mapping.kind {
            Kind::File { file, offset } => {
                flags.set(VmFlags::SHARED, mapping.shared);
                (self.file(world, file), offset)
            }
            // With only one process, shared anonymous memory behaves like private.
            _ => (self.anon, first),
        };
        match self.add_vma(world, first..end, flags, backing, pgoff) {
            Ok(()) => Ok(()),
            Err(MmapError::BadRange) => Err(ReplayError::FileOffset { page: pgoff }),
            Err(error) => panic!("{SIZED}, which has no two mappings in one place: {error}"),
        }
    }

    fn file<W: World<Format = F>>(&mut self, world: &W, file: FileId) -> MappingId {
        *self.files.entry(file).or_insert_with(|| {
            let cpu = &mut CpuCtx::new();
            let added =
                self.maps.on(world, cpu, self.tuning).add_mapping(MappingKind::File).expect(SIZED);
            self.maps.mapping(added).expect("it lives").set_order(self.order);
            added
        })
    }

    fn add_vma<W: World<Format = F>>(
        &self,
        world: &W,
        pages: std::ops::Range<u64>,
        flags: VmFlags,
        mapping: MappingId,
        pgoff: u64,
    ) -> Result<(), MmapError> {
        let range = range::<F>(pages.start, pages.end);
        let new = NewVma { mm: self.mm, range, flags, mapping, pgoff };
        self.maps.on(world, &mut CpuCtx::new(), self.tuning).mmap(&new).map(|_| ())
    }

    /// Moves pages piece by piece, each of one VMA. A region that grew before has several, since
    /// what was added has page offsets of its own.
    fn remap<W: World<Format = F>>(&mut self, world: &W, pages: PageRange, to: u64) {
        let target = pages.moved_to(to).expect("the trace's rules keep moves in the address space");
        let ((start, end), (to, _)) = (canonical_range(pages), canonical_range(target));
        let inside: Vec<u64> = self.edges.range(start + 1..end).copied().collect();
        let mut at = start;
        for next in inside.iter().copied().chain([end]) {
            let new = range::<F>(at - start + to, next - start + to);
            self.change_range(world, range::<F>(at, next), |engine, mm, range| {
                engine.mremap(mm, range, &new)
            });
            at = next;
        }
        for edge in &inside {
            self.edges.remove(edge);
        }
        let moved = inside.iter().chain([&start, &end]).map(|edge| edge - start + to);
        self.edges.extend(moved);
    }

    fn change<W: World<Format = F>>(
        &self,
        world: &W,
        pages: PageRange,
        call: impl FnOnce(&mut Engine<'_, W>, MmId, &VirtRange) -> Result<(), SpaceError>,
    ) {
        let (first, end) = canonical_range(pages);
        self.change_range(world, range::<F>(first, end), call);
    }

    /// Makes a call that changes the address space. By the trace's rules all of its pages are
    /// mapped, and its target is free.
    fn change_range<W: World<Format = F>>(
        &self,
        world: &W,
        range: VirtRange,
        call: impl FnOnce(&mut Engine<'_, W>, MmId, &VirtRange) -> Result<(), SpaceError>,
    ) {
        let cpu = &mut CpuCtx::new();
        call(&mut self.maps.on(world, cpu, self.tuning), self.mm, &range).expect(SIZED);
    }
}

/// Returns flags that permit loads and stores: the trace has only accesses that were permitted.
/// Reclaim spares executable pages of files.
fn flags(permissions: Permissions) -> VmFlags {
    let mut flags = VmFlags::READ | VmFlags::WRITE;
    flags.set(VmFlags::EXEC, permissions.executable);
    flags
}

fn range<F: Arch>(first: u64, end: u64) -> VirtRange {
    let addr = |page: u64| VirtAddr::new(page << F::PAGE_SHIFT);
    addr(first)..addr(end)
}

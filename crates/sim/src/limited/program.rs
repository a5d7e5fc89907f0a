//! A traced program on the engine: its mappings, its accesses, and the faults that they take.

use super::mistakes::Mistakes;
use super::world::{Journal, NotingWorld};
use crate::counting::{Counter as Counting, CountingEnv};
use crate::formats::Arch;
use crate::generations::{Refused, after};
use crate::host::HostEnv;
use crate::layout::{Arena, Ground};
use crate::residency::{Cuts, ReplayError, canonical_range, page_number};
use crate::trace::{Event, FileId, Kind, Mapping, Page, PageRange, Permissions};
use crate::variant::Lru;
use crate::walker::{Touch, touch};
use pageout_paging::contig::gather_early;
use pageout_paging::mmu::Asid;
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Env, Level, Order, Pfn, VirtAddr, VirtRange};
use pageout_reclaim::{
    Access, Advice, CpuCtx, Fault, MappingId, MappingKind, Maps, MemcgId, MmId, MmapError, NewVma,
    SpaceError, Tuning, VmFlags, VmStat, handle_fault,
};
use std::collections::HashMap;

const SIZED: &str = "the arena is sized by reading the trace";

/// An access faults at most for a page that is swapped out or not there, for a store to what was
/// mapped to be read, and once more for a copy.
const FAULTS_AN_ACCESS: usize = 4;

/// The program in a cgroup of its own, whose limit its faults meet.
pub(super) struct Program<'a, F> {
    maps: Maps<'a>,
    /// The ground as hardware sees it: its accesses are not the engine's, and not counted.
    hardware: HostEnv<'a, F>,
    world: NotingWorld<'a, F>,
    cuts: &'a Cuts,
    mm: MmId,
    root: Pfn,
    memcg: MemcgId,
    anon: MappingId,
    files: HashMap<FileId, MappingId>,
    order: Order,
    tuning: Tuning,
    mistakes: Mistakes,
}

/// What a program is to run with.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) cuts: &'a Cuts,
    /// Pages that its cgroup may use.
    pub(super) limit: u64,
    pub(super) order: Order,
    pub(super) lru: Lru,
    pub(super) tuning: Tuning,
    /// Pages of its reference string.
    pub(super) nr_pages: usize,
    /// Whether its trace tells its mappings; otherwise all addresses are anonymous memory.
    pub(super) mappings: bool,
}

impl<'a, F: Arch> Program<'a, F> {
    pub(super) fn new(
        arena: &'a mut Arena,
        counting: &'a Counting,
        journal: &'a Journal,
        setting: Setting<'a>,
    ) -> Self {
        let ground = arena.ground::<F>();
        ground.switch_to(setting.lru);
        let Ground { env, maps, supply } = ground;
        let world = NotingWorld { env: CountingEnv::new(env, counting), journal };
        let cpu = &mut CpuCtx::new();
        let root = supply.alloc_table().expect(SIZED);
        let mm = maps.add_mm(&world, cpu, root, Asid(0)).expect(SIZED);
        let memcg = maps.add_memcg(&world, cpu, MemcgId::ROOT).expect(SIZED);
        maps.memcg(memcg).set_max(setting.limit);
        maps.set_memcg(&world, cpu, mm, memcg);
        let anon = maps.add_mapping(&world, cpu, MappingKind::Anon).expect(SIZED);
        maps.mapping(anon).set_order(setting.order);
        let Setting { cuts, order, tuning, nr_pages, mappings, .. } = setting;
        let mistakes = Mistakes::new(nr_pages);
        let files = HashMap::new();
        let program = Self {
            maps,
            hardware: env,
            world,
            cuts,
            mm,
            root,
            memcg,
            anon,
            files,
            order,
            tuning,
            mistakes,
        };
        if !mappings {
            let (first, end) = cuts.interval(0);
            let flags = VmFlags::READ | VmFlags::WRITE;
            program.add_vma(first..end, flags, anon, first).expect("nothing is mapped yet");
        }
        program
    }

    /// Plays one event that is no access.
    ///
    /// # Errors
    /// [`ReplayError::FileOffset`].
    pub(super) fn play(&mut self, event: &Event) -> Result<(), ReplayError> {
        match *event {
            Event::Access { .. } => unreachable!("accesses come with their pages"),
            Event::EpochEnd { .. } => self.mistakes.end_epoch(),
            Event::Map(mapping) => self.map(&mapping)?,
            Event::Unmap(pages) => self.change(pages, |Call { maps, world, cpu, mm, range }| {
                maps.munmap_range(world, cpu, mm, range)
            }),
            Event::Discard(pages) => self.change(pages, |Call { maps, world, cpu, mm, range }| {
                maps.madvise(world, cpu, mm, range, Advice::DontNeed, self.tuning)
            }),
            Event::Protect { pages, permissions } => {
                self.change(pages, |Call { maps, world, cpu, mm, range }| {
                    maps.mprotect(world, cpu, mm, range, flags(permissions))
                });
            }
            Event::Remap { pages, to } => self.remap(pages, to),
        }
        for frame in self.world.journal.take_freed() {
            self.mistakes.given_up(frame);
        }
        Ok(())
    }

    /// What the engine counted of the program's cgroup.
    pub(super) fn vmstat(&self) -> &VmStat {
        self.maps.memcg(self.memcg).vmstat()
    }

    /// Writes commands to `lru_gen`; what that says then.
    pub(super) fn lru_gen_after(&self, commands: &[String]) -> Result<String, Refused> {
        after((&self.maps, &self.world), (self.memcg, "trace"), commands, self.tuning)
    }

    /// Hot pages reclaimed by mistake so far.
    pub(super) fn mistakes(&self) -> u64 {
        self.mistakes.nr()
    }

    /// An access to `at`, which is `page` of the reference string.
    ///
    /// # Errors
    /// [`ReplayError::OutOfMemory`].
    pub(super) fn access(&mut self, page: usize, at: Page, store: bool) -> Result<(), ReplayError> {
        let addr = VirtAddr::new(page_number(at) << F::PAGE_SHIFT);
        self.maps.lru_gen_use_mm(self.mm);
        let mut faults = 0;
        while touch(&self.hardware, self.root, addr, store) == Touch::Fault {
            faults += 1;
            assert!(faults <= FAULTS_AN_ACCESS, "a fault that was handled does not recur");
            self.fault(addr, store)?;
        }
        if faults > 0 || !self.mistakes.knows(page) {
            self.mistakes.used(page, self.frame_at(addr));
        }
        Ok(())
    }

    fn fault(&mut self, addr: VirtAddr, store: bool) -> Result<(), ReplayError> {
        let access = if store { Access::Write } else { Access::Read };
        let cpu = &mut CpuCtx::new();
        let fault = handle_fault(&self.maps, &self.world, cpu, self.mm, addr, access, self.tuning);
        // Nothing but reclaim gives up what the program had.
        for frame in self.world.journal.take_freed() {
            self.mistakes.reclaimed(frame);
        }
        match fault {
            Fault::Done(_) => Ok(()),
            Fault::OutOfMemory => Err(ReplayError::OutOfMemory {
                limit: self.maps.memcg(self.memcg).max(),
                page: addr.get() >> F::PAGE_SHIFT,
            }),
            other => unreachable!("all is mapped, and transfers are done at once: {other:?}"),
        }
    }

    fn frame_at(&self, addr: VirtAddr) -> Pfn {
        let Descent::PteTable(table, _) = descend(&self.hardware, self.root, addr) else {
            unreachable!("faults map single pages");
        };
        let i = F::index(Level::Pte, addr);
        F::pfn(gather_early::<F, _>(self.hardware.table(table), i))
    }

    fn map(&mut self, mapping: &Mapping) -> Result<(), ReplayError> {
        let (first, end) = canonical_range(mapping.pages);
        let mut flags = flags(mapping.permissions);
        let (backing, pgoff) = match mapping.kind {
            Kind::File { file, offset } => {
                flags.set(VmFlags::SHARED, mapping.shared);
                (self.file(file), offset)
            }
            // One process alone cannot tell shared anonymous memory from private.
            _ => (self.anon, first),
        };
        match self.add_vma(first..end, flags, backing, pgoff) {
            Ok(()) => Ok(()),
            Err(MmapError::BadRange) => Err(ReplayError::FileOffset { page: pgoff }),
            Err(error) => panic!("{SIZED}, which has no two mappings in one place: {error}"),
        }
    }

    fn file(&mut self, file: FileId) -> MappingId {
        *self.files.entry(file).or_insert_with(|| {
            let cpu = &mut CpuCtx::new();
            let added = self.maps.add_mapping(&self.world, cpu, MappingKind::File).expect(SIZED);
            self.maps.mapping(added).set_order(self.order);
            added
        })
    }

    fn add_vma(
        &self,
        pages: std::ops::Range<u64>,
        flags: VmFlags,
        mapping: MappingId,
        pgoff: u64,
    ) -> Result<(), MmapError> {
        let range = range::<F>(pages.start, pages.end);
        let new = NewVma { mm: self.mm, range, flags, mapping, pgoff };
        self.maps.mmap(&self.world, &mut CpuCtx::new(), &new).map(|_| ())
    }

    /// Moves pages piece by piece: the program changed its mappings only between pieces, so that
    /// each lies in one VMA.
    fn remap(&self, pages: PageRange, to: u64) {
        let target = pages.moved_to(to).expect("the trace's rules keep moves in the address space");
        let ((start, end), (to, _)) = (canonical_range(pages), canonical_range(target));
        let mut at = start;
        while at < end {
            let next = self.cuts.interval(at).1.min(end);
            let new = range::<F>(at - start + to, next - start + to);
            self.change_range(range::<F>(at, next), |Call { maps, world, cpu, mm, range }| {
                maps.mremap(world, cpu, mm, range, &new)
            });
            at = next;
        }
    }

    fn change(
        &self,
        pages: PageRange,
        call: impl FnOnce(Call<'_, 'a, F>) -> Result<(), SpaceError>,
    ) {
        let (first, end) = canonical_range(pages);
        self.change_range(range::<F>(first, end), call);
    }

    /// A call that changes the address space. By the trace's rules all is mapped that it is about,
    /// and nothing is in the way.
    fn change_range(
        &self,
        range: VirtRange,
        call: impl FnOnce(Call<'_, 'a, F>) -> Result<(), SpaceError>,
    ) {
        let Self { maps, world, mm, .. } = self;
        call(Call { maps, world, cpu: &mut CpuCtx::new(), mm: *mm, range: &range }).expect(SIZED);
    }
}

/// What a call that changes an address space takes.
struct Call<'c, 'a, F> {
    maps: &'c Maps<'a>,
    world: &'c NotingWorld<'a, F>,
    cpu: &'c mut CpuCtx,
    mm: MmId,
    range: &'c VirtRange,
}

/// All may be read and written: the trace has only accesses that were permitted. Reclaim spares
/// executable pages of files.
fn flags(permissions: Permissions) -> VmFlags {
    let mut flags = VmFlags::READ | VmFlags::WRITE;
    flags.set(VmFlags::EXEC, permissions.executable);
    flags
}

fn range<F: Arch>(first: u64, end: u64) -> VirtRange {
    let addr = |page: u64| VirtAddr::new(page << F::PAGE_SHIFT);
    addr(first)..addr(end)
}

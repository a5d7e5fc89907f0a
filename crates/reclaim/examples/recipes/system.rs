//! The operating system of the recipes: the engine on the machine, with processes that use pages.

use super::machine::{Hardware, Machine, address, entries};
use core::ops::Range;
use pageout_paging::mmu::Asid;
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::{Format, Order, Pfn};
use pageout_reclaim::{
    Access, Counter, CpuCtx, Engine, Fault, FaultKind, Frames, Limits, LruvecId, MappingId,
    MappingKind, MemcgId, Memory, MmId, MmState, NewVma, Tuning, VmFlags, VmaId,
};
use pageout_uapi::lru_gen::{Command, Operation};

pub(crate) const ROOM: &str = "the limits hold all of it";

pub(crate) const TUNING: Tuning = Tuning::recommended(FlushPolicy::ARM64);

/// The first page of each process.
pub(crate) const START: u64 = 0x1000;

/// The limits of a recipe with as many frames.
pub(crate) const fn limits(frames: usize) -> Limits {
    Limits {
        frames,
        folios: frames,
        vmas: 8,
        mms: 4,
        mappings: 4,
        memcgs: 3,
        nodes: 2,
        shadows: 4 * frames,
        slots: 4 * frames,
        filters: 8,
    }
}

/// The engine, the machine and the faults so far.
pub(crate) struct System<'e, 'm, F: Format> {
    pub(crate) maps: &'e MmState<'m>,
    pub(crate) machine: Machine<'e, F>,
    pub(crate) cpu: CpuCtx,
    /// The faults whose page was in memory, and those that read it.
    pub(crate) minor: u64,
    pub(crate) major: u64,
}

/// Boots a system with as many frames, and returns the result of what runs on it.
pub(crate) fn boot<F: Format, R>(
    frames: usize,
    hardware: Hardware<'_>,
    run: impl FnOnce(&mut System<'_, '_, F>) -> R,
) -> R {
    let limits = limits(frames);
    let mut bytes = Box::new_uninit_slice(Memory::bytes_for(&limits));
    let memory = Memory::carve(&mut bytes, &limits).expect("as many bytes as they take");
    let maps = MmState::new(memory, Pfn::new(0)).expect("few enough to be numbered");
    let entries = entries::<F>();
    let machine = Machine::new(&entries, frames, hardware);
    run(&mut System { maps: &maps, machine, cpu: CpuCtx::new(), minor: 0, major: 0 })
}

impl<'e, F: Format> System<'e, '_, F> {
    pub(crate) fn engine(&mut self) -> Engine<'_, Machine<'e, F>> {
        self.maps.on(&self.machine, &mut self.cpu, TUNING)
    }

    /// Starts a process that maps `pages` pages of memory of its own, in folios of `order`.
    pub(crate) fn spawn(&mut self, memcg: MemcgId, pages: u64, order: u8) -> MmId {
        let anon = self.engine().add_mapping(MappingKind::Anon).expect(ROOM);
        let order = Order::new(order).expect("a small order");
        self.maps.mapping(anon).expect("it lives").set_order(order);
        self.spawn_on(memcg, anon, pages).0
    }

    /// Starts a process that maps the first `pages` pages of a mapping, from page [`START`] on.
    /// Returns it with its VMA.
    pub(crate) fn spawn_on(
        &mut self,
        memcg: MemcgId,
        mapping: MappingId,
        pages: u64,
    ) -> (MmId, VmaId) {
        let root = self.machine.alloc_table().expect(ROOM);
        let mut engine = self.engine();
        let mm = engine.add_mm(root, Asid(root.get() as u32)).expect(ROOM);
        engine.set_memcg(mm, memcg).expect("it lives");
        let range = address::<F>(START)..address::<F>(START + pages);
        let flags = VmFlags::READ | VmFlags::WRITE;
        let vma = engine.mmap(&NewVma { mm, range, flags, mapping, pgoff: 0 }).expect(ROOM);
        self.maps.lru_gen_use_mm(mm).expect("it lives");
        (mm, vma)
    }

    /// Handles one fault, and counts it.
    pub(crate) fn fault(&mut self, mm: MmId, page: u64, access: Access) {
        match self.engine().handle_fault(mm, address::<F>(page), access) {
            Fault::Done(FaultKind::Minor) => self.minor += 1,
            Fault::Done(FaultKind::Major) => self.major += 1,
            fault => panic!("page {page}: {fault:?}"),
        }
    }

    /// Uses a page, with faults until the access succeeds. Returns the page's frame. A store leaves
    /// the page's number in its word, and a load finds that or zero.
    pub(crate) fn touch(&mut self, mm: MmId, page: u64, access: Access) -> Pfn {
        let root = self.maps.mm(mm).expect("it lives").root();
        loop {
            if let Some(pfn) = self.machine.walk(root, address::<F>(page), access) {
                let word = self.machine.word(pfn);
                assert!([0, page].contains(&word.get()), "another page's word at {page}");
                if access == Access::Write {
                    word.set(page);
                }
                return pfn;
            }
            self.fault(mm, page, access);
        }
    }

    /// Stores to pages counted from the process's first.
    pub(crate) fn store(&mut self, mm: MmId, pages: Range<u64>) {
        pages.for_each(|page| {
            self.touch(mm, START + page, Access::Write);
        });
    }

    /// Opens a generation of the root cgroup on each node, after a walk of all page tables for used
    /// folios (`lru_gen`).
    pub(crate) fn age(&mut self) {
        for node in self.maps.nodes() {
            let (seq, _) = self
                .maps
                .lru_gen_seqs(LruvecId { memcg: MemcgId::ROOT, node })
                .expect("it is online");
            let (operation, node) = (Operation::Age, node.0.into());
            let age = Command { operation, memcg: 0, node, seq, swappiness: None, option: 1 };
            self.engine().lru_gen_command(&age).expect("no other task ages");
        }
    }

    /// Returns a counter of the root cgroup and all below it.
    pub(crate) fn count(&mut self, counter: Counter) -> u64 {
        self.engine().counter(MemcgId::ROOT, counter).expect("it is online")
    }
}

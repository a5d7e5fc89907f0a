//! The least that a kernel writes so that the engine manages its memory. The parts are page tables
//! with an array of locks, frames, swap, and a fault handler. A process then uses twice as much
//! memory as there is, and finds the values it stored.
//!
//! The process, and the parts that a kernel and its machine have anyway, are in
//! `kernel/machine.rs`. `reclaim.rs` is a larger example: two CPUs, files, fork, limits, a disk
//! that takes its time.
//!
//! ```text
//! cargo run -p pageout-reclaim --example kernel
//! ```

#[path = "kernel/machine.rs"]
mod machine;

use core::array::from_fn;
use core::mem::MaybeUninit;
use core::ops::Range;
use machine::{FIRST, Machine, RAM, Tlb};
use pageout_paging::mmu::Asid;
use pageout_paging::pte::X86_64;
use pageout_paging::table::HostTable;
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::{Env, Notifier, Order, Pfn, Sound, VirtAddr};
use pageout_reclaim::{
    Access, Backing, CpuCtx, Engine, Fault, Frames, Io, IoError, Limits, Lock, MappingKind, Memory,
    MmId, MmState, NewVma, NodeId, Place, Submitted, Tuning, VmFlags, World, WriteGuard,
};

/// The capacity of the engine: a folio for each frame, one process, and swap.
const LIMITS: Limits = Limits {
    frames: RAM,
    folios: RAM,
    vmas: 1,
    mms: 1,
    mappings: 1,
    slots: 256,
    ..Limits::NOTHING
};
const TUNING: Tuning = Tuning::recommended(FlushPolicy::X86);

/// The kernel. Any frame may become a page table, so each has a lock.
pub(crate) struct Kernel<'m> {
    machine: Machine<'m>,
    locks: [Lock; RAM],
}

impl<'m> Env for Kernel<'m> {
    type Format = X86_64;
    type Table = HostTable<'m, X86_64>;
    type Mmu = Tlb;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a>
        = WriteGuard<'a>
    where
        Self: 'a;

    fn table(&self, frame: Pfn) -> Self::Table {
        self.machine.tables.table(frame) // on hardware: `DirectMap::table`
    }
    fn mmu(&self) -> &Tlb {
        &self.machine.tlb
    }
    fn try_lock_table(&self, frame: Pfn) -> Option<WriteGuard<'_>> {
        self.locks[frame.offset_from(FIRST) as usize].try_write()
    }
    fn notifier(&self, _: Asid) -> Option<&dyn Notifier> {
        None
    }
    fn observer(&self) -> &() {
        &()
    }
    fn relax(&self) {
        core::hint::spin_loop();
    }
}

/// The supply of single frames, from the kernel's allocator.
impl Frames for Kernel<'_> {
    fn alloc(&self, order: Order) -> Option<Pfn> {
        if order == Order::default() { self.machine.take_frame() } else { None }
    }
    fn free(&self, pfn: Pfn, _: Order) {
        self.machine.give_frame(pfn);
    }
    fn alloc_table(&self) -> Option<Pfn> {
        self.machine.take_frame().inspect(|frame| self.machine.clear(*frame))
    }
    fn free_table(&self, frame: Pfn) {
        self.machine.give_frame(frame);
    }
    fn zero(&self, pfn: Pfn, _: usize) {
        self.machine.clear(pfn);
    }
    fn copy(&self, from: Pfn, to: Pfn, _: usize) {
        self.machine.copy(from, to);
    }
    fn free_pages(&self) -> usize {
        self.machine.free_frames()
    }
}

/// The swap device, whose transfers complete at once.
impl Backing for Kernel<'_> {
    fn read(&self, io: Io) -> Submitted {
        let Place::Swap(slot) = io.place else { return Submitted::Failed(IoError::Device) };
        self.machine.read_swap(slot.0, io.pfn)
    }
    fn write(&self, io: Io) -> Submitted {
        let Place::Swap(slot) = io.place else { return Submitted::Failed(IoError::Device) };
        self.machine.write_swap(slot.0, io.pfn)
    }
}

impl World for Kernel<'_> {
    fn now_ms(&self) -> u64 {
        self.machine.now_ms()
    }
}

/// Handles a page fault. An error is the reason why the process dies.
pub(crate) fn page_fault(
    engine: &mut Engine<'_, Kernel<'_>>,
    mm: MmId,
    addr: VirtAddr,
    access: Access,
) -> Result<(), Fault> {
    match engine.handle_fault(mm, addr, access) {
        // If reads take time, a task queues itself and sleeps while `MmState::transfer_is_pending`.
        Fault::Done(_) | Fault::Pending(_) => Ok(()),
        fault => Err(fault),
    }
}

/// Boots, runs one process in `pages`, and then frees 16 more frames, as background reclaim does.
pub(crate) fn run(pages: Range<u64>) -> Result<machine::Report, Fault> {
    let mut bytes = [const { MaybeUninit::uninit() }; Memory::bytes_for(&LIMITS)];
    let memory = Memory::carve(&mut bytes, &LIMITS).expect("as many bytes as they take");
    let maps = MmState::new(memory, FIRST).expect("few enough to be numbered");
    let ram = machine::ram();
    let kernel = Kernel { machine: Machine::new(&ram), locks: from_fn(|_| Lock::default()) };
    let mut cpu = CpuCtx::new();
    let mut engine = maps.on(&kernel, &mut cpu, TUNING);
    let root = kernel.alloc_table().expect("all is free");
    let mm = engine.add_mm(root, Asid(1)).expect("the first");
    let mapping = engine.add_mapping(MappingKind::Anon).expect("the first");
    let range = machine::address(pages.start)..machine::address(pages.end);
    let flags = VmFlags::READ | VmFlags::WRITE;
    engine.mmap(&NewVma { mm, range, flags, mapping, pgoff: pages.start }).expect("all is free");
    let report = machine::run_process(&mut engine, &kernel, mm, pages)?;
    maps.set_high_watermark(NodeId(0), kernel.free_pages() as u64 + 16).expect("a node");
    assert!((0..8).any(|_| engine.balance(NodeId(0)).expect("a node")), "16 pages are to be had");
    engine.exit_mm(mm).expect("it lives");
    engine.remove_mapping(mapping).expect("it lives");
    kernel.free_table(root);
    assert_eq!(kernel.free_pages(), RAM, "all is free again");
    Ok(report)
}

pub(crate) fn main() {
    let report = run(0x1000..0x1000 + 2 * RAM as u64).expect("swap has room for all");
    println!("{} loads found what was stored last, after {} faults", report.found, report.faults);
}

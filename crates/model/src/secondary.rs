//! A secondary MMU like KVM: a virtual machine's own page table and TLB tag. The engine reads its
//! young bits and removes its entries through a notifier.
//!
//! A task that installs an entry here holds the lock of the primary's table, and so does the engine
//! when it calls the notifier. So no entry outlives the primary's entry that it was copied from.

use super::activity;
use super::software::{KernelOp, Meter};
use crate::architecture_of;
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::metrics::reclaim_file::SECONDARY;
use pageout_machine::platform::Architecture;
use pageout_machine::{Task, TaskTable};
use pageout_paging::mmu::{Asid, Barrier, Invalidate, Mmu};
use pageout_paging::pte::Prot;
use pageout_paging::walk::{Descent, Span, TableFrames, descend, make_table, next_boundary, spans};
use pageout_paging::{
    Env, Format, Level, LockedTable, Notifier, Pfn, Pte, Table, VirtAddr, VirtRange,
};
use std::cell::Cell;

/// The events that are counted for a virtual machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VmCount {
    /// Calls that clear young bits and may flush.
    ClearFlushYoung,
    /// Calls that clear young bits without a flush.
    ClearYoung,
    /// Calls that look at a young bit.
    TestYoung,
    /// Calls that remove entries.
    Invalidate,
    /// Entries that calls looked at.
    Read,
    /// Young bits cleared.
    Cleared,
    /// The number of entries removed.
    Taken,
    /// Flushes of all translations of the virtual machine.
    Flush,
    /// Faults of the guest, which end in the host.
    Exit,
}

impl VmCount {
    /// All counts, in the order of their metrics.
    pub const ALL: [Self; SECONDARY.len()] = [
        Self::ClearFlushYoung,
        Self::ClearYoung,
        Self::TestYoung,
        Self::Invalidate,
        Self::Read,
        Self::Cleared,
        Self::Taken,
        Self::Flush,
        Self::Exit,
    ];
}

/// A virtual machine whose memory is an address space: its guest-physical addresses are the address
/// space's virtual ones.
#[derive(Debug)]
pub struct Vm {
    /// The address space, and its root table.
    primary: (Asid, Pfn),
    /// The tag of the virtual machine's own translations (VMID), and its own root table.
    own: (Asid, Pfn),
    counts: [Cell<u64>; VmCount::ALL.len()],
}

impl Vm {
    /// Makes a virtual machine that has mapped no page yet. The root of `own` is an empty table.
    pub fn new(primary: (Asid, Pfn), own: (Asid, Pfn)) -> Self {
        Self { primary, own, counts: Default::default() }
    }

    /// Returns the number of times that an event happened.
    pub fn times(&self, what: VmCount) -> u64 {
        self.counts[what as usize].get()
    }

    pub(super) fn count(&self, what: VmCount) {
        let count = &self.counts[what as usize];
        count.set(count.get() + 1);
    }

    /// Makes a task its guest: a thread of the address space's process, whose core runs the VM.
    pub fn enter<F: Format>(&self, task: &Task<'_, '_, F>) {
        task.load_mm(self.primary.0, self.primary.1);
        task.load_mm(self.own.0, self.own.1);
    }

    /// Returns the virtual machine's tag in TLBs.
    pub const fn vmid(&self) -> Asid {
        self.own.0
    }

    /// Maps the page of `at`, young, with the primary's frame, page by page. Returns true if the
    /// primary allows the access. The entry is writable only if the primary's is dirty, so that no
    /// write is lost when this entry goes (Linux 7.3.4, kvm_mmu_faultin_pfn and user_mem_abort,
    /// with their retry).
    ///
    /// # Panics
    /// If there is no frame for a table.
    pub fn map<E: Env>(
        &self,
        env: &E,
        at: VirtAddr,
        store: bool,
        frames: &mut dyn TableFrames,
    ) -> bool {
        let Descent::PteTable(frame, _) = descend(env, self.primary.1, at) else {
            return false;
        };
        let primary = LockedTable::lock(env, frame);
        let i = E::Format::index(Level::Pte, at);
        let pte = E::Format::decode(primary.table().load(i), i);
        let passes = E::Format::is_valid(pte) && (!store || may_store::<E::Format>(pte));
        if passes {
            let table = make_table(env, self.own.1, at, Level::Pte, frames).expect(TABLES);
            env.table(table).set(i, E::Format::mkyoung(copy::<E::Format>(pte)));
        }
        passes
    }

    /// Maps all pages that the primary maps, while no other task runs, as if only guests had used
    /// them. Young bits move here, and the primary's entries become old.
    ///
    /// # Panics
    /// If there is no frame for a table, or a PMD leaf.
    pub fn take_over<E: Env>(&self, env: &E, frames: &mut dyn TableFrames) {
        for span in spans(env, self.primary.1, VirtAddr::new(0)..end::<E::Format>()) {
            let Span::Ptes { frame, range, .. } = span else {
                panic!("mapped page by page: {span:?}");
            };
            let from = env.table(frame);
            let to = make_table(env, self.own.1, range.start, Level::Pte, frames).expect(TABLES);
            for at in pages::<E::Format>(range) {
                let i = E::Format::index(Level::Pte, at);
                let raw = from.load(i);
                if E::Format::is_valid(raw) {
                    let copied = copy::<E::Format>(E::Format::decode(raw, i));
                    let young = E::Format::is_young(raw);
                    let copied = if young { E::Format::mkyoung(copied) } else { copied };
                    env.table(to).set(i, copied);
                    from.set(i, E::Format::mkold(raw));
                }
            }
        }
    }
}

const TABLES: &str = "there is room for as many tables as the primary has";

/// Returns the end of the addresses that the root's entries map. Higher addresses would lead to the
/// same entries again.
fn end<F: Format>() -> VirtAddr {
    VirtAddr::new(1 << (F::shift(Level::Pgd) + F::TABLE_SHIFT))
}

fn pages<F: Format>(range: VirtRange) -> impl Iterator<Item = VirtAddr> {
    let nr = (range.end.get() - range.start.get()).div_ceil(F::PAGE_SIZE);
    (0..nr).map(move |k| range.start.add(k << F::PAGE_SHIFT))
}

fn may_store<F: Format>(pte: Pte) -> bool {
    F::is_write(pte) && F::is_dirty(pte)
}

/// Copies an entry of the primary for the secondary, as old.
fn copy<F: Format>(pte: Pte) -> Pte {
    let write = may_store::<F>(pte);
    let prot = Prot { write, exec: F::is_exec(pte), none: false };
    let leaf = F::leaf(Level::Pte, F::pfn(pte), prot);
    if write { F::mkdirty(leaf) } else { leaf }
}

/// The calls of a host's task to a virtual machine's notifier.
pub(super) struct VmNotifier<'e, 'a, F: Arch> {
    vm: &'e Vm,
    task: &'e Task<'e, 'a, F>,
    meter: &'e Meter<'e>,
}

impl<'e, 'a, F: Arch> VmNotifier<'e, 'a, F> {
    pub(super) fn new(vm: &'e Vm, task: &'e Task<'e, 'a, F>, meter: &'e Meter<'e>) -> Self {
        Self { vm, task, meter }
    }

    /// Returns the address space whose changes it follows.
    pub(super) const fn asid(&self) -> Asid {
        self.vm.primary.0
    }

    /// Makes a call, under its own frame of the folded stack.
    fn called<R>(&self, what: VmCount, work: impl FnOnce() -> R) -> R {
        let _frame = self.task.activity(activity::NOTIFIER);
        self.vm.count(what);
        self.task.instructions(self.meter.does(KernelOp::Notify, 1));
        work()
    }

    /// Returns the last table on the way to `at`, or the level of the entry that leads no further.
    fn table(&self, at: VirtAddr) -> Result<TaskTable<'e, 'a, F>, Level> {
        let mut frame = self.vm.own.1;
        for level in [Level::Pgd, Level::Pud, Level::Pmd] {
            let pte = self.task.table(frame).load(F::index(level, at));
            if !F::is_table(pte) {
                return Err(level);
            }
            frame = F::pfn(pte);
        }
        Ok(self.task.table(frame))
    }

    /// Visits all entries of `range`, and calls `act` for those that map a page.
    fn each(&self, range: VirtRange, mut act: impl FnMut(TaskTable<'e, 'a, F>, usize, Pte)) {
        let (mut at, range_end) = (range.start, range.end.min(end::<F>()));
        while at < range_end {
            let table = self.table(at);
            let covered = table.as_ref().err().copied().unwrap_or(Level::Pmd);
            let start = at;
            at = next_boundary::<F>(at, covered).min(range_end);
            let Ok(table) = table else { continue };
            for page in pages::<F>(start..at) {
                let i = F::index(Level::Pte, page);
                let pte = table.load(i);
                self.vm.count(VmCount::Read);
                self.task.instructions(self.meter.does(KernelOp::NotifyEntry, 1));
                if F::is_valid(pte) {
                    act(table, i, pte);
                }
            }
        }
    }

    fn age(&self, range: VirtRange) -> bool {
        let mut young = false;
        self.each(range, |table, i, pte| {
            if F::is_young(pte) && table.test_and_clear_bit(i, F::YOUNG) {
                self.vm.count(VmCount::Cleared);
                young = true;
            }
        });
        young
    }

    /// Makes every core forget its translations of the virtual machine, and waits.
    fn flush(&self) {
        self.vm.count(VmCount::Flush);
        self.task.barrier(Barrier::Publish);
        self.task.invalidate(Invalidate::AddressSpace(self.vm.vmid()));
        self.task.barrier(Barrier::Complete);
    }

    /// Returns true if KVM flushes after it cleared young bits. On x86 it does not (Linux 6.13,
    /// KVM_ELIDE_TLB_FLUSH_IF_YOUNG).
    fn flushes_young() -> bool {
        architecture_of::<F>() != Architecture::X86
    }
}

impl<F: Arch> Notifier for VmNotifier<'_, '_, F> {
    fn clear_flush_young(&self, range: VirtRange) -> bool {
        self.called(VmCount::ClearFlushYoung, || {
            let young = self.age(range);
            if young && Self::flushes_young() {
                self.flush();
            }
            young
        })
    }

    fn clear_young(&self, range: VirtRange) -> bool {
        self.called(VmCount::ClearYoung, || self.age(range))
    }

    fn test_young(&self, addr: VirtAddr) -> bool {
        self.called(VmCount::TestYoung, || {
            let mut young = false;
            let page = addr.align_down(F::PAGE_SHIFT);
            self.each(page..page.add(F::PAGE_SIZE), |_, _, pte| young = F::is_young(pte));
            young
        })
    }

    fn invalidate(&self, range: VirtRange) {
        self.called(VmCount::Invalidate, || {
            let mut taken = false;
            self.each(range, |table, i, _| {
                table.swap(i, Pte::NONE);
                self.vm.count(VmCount::Taken);
                taken = true;
            });
            if taken {
                self.flush();
            }
        });
    }
}

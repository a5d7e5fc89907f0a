//! The ground: page tables, memory and CPUs. These act in each of the engine's calls to the ground.

use crate::device::Mirror;
use crate::hardware::{CPUS, Walker, Watched};
use crate::steps::{Meanwhile, PROCESSES, What};
use crate::truth::{Home, Process, Protected, Truth};
use pageout_paging::mmu::{Asid, Caps, Shootdown};
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Format, Level, Notifier, Pfn, Pte, Rules, Stage, Table, VirtAddr};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{Access, CpuCtx, Fault, MappingId, MemcgId, MmState, Tuning, VmFlags};
use pageout_sim::{Call, Cpu, Ground, Hardware, Held};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// The abilities of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Machine {
    pub(crate) shootdown: Shootdown,
    /// True for each CPU whose hardware sets accessed and dirty bits.
    pub(crate) sets_bits: [bool; CPUS],
    pub(crate) range_limit: usize,
    /// True if the hardware sets accessed bits of entries that lead to tables. It does so on all
    /// CPUs or on none.
    pub(crate) nonleaf: bool,
    /// True if memory has three zones, not one.
    pub(crate) zones: bool,
    /// True if some runs of frames lie on a second node.
    pub(crate) nodes: bool,
    /// The parts of the multi-generational LRU that are on at first.
    pub(crate) lru_gen: LruGenCaps,
}

impl Machine {
    pub(crate) const IDEAL: Self = Self {
        shootdown: Shootdown::Broadcast,
        sets_bits: [true; CPUS],
        range_limit: usize::MAX,
        nonleaf: false,
        zones: false,
        nodes: false,
        lru_gen: LruGenCaps::empty(),
    };

    fn sets_nonleaf(self) -> bool {
        self.nonleaf && self.sets_bits == [true; CPUS]
    }
}

/// The end of an access of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// The access succeeded.
    Done,
    /// The access waits for a read.
    Blocked,
    /// The process got a signal.
    Refused,
}

/// The events inside of the current operation.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) next: VecDeque<Meanwhile>,
    /// The number of calls of the ground since the last event.
    passed: u8,
    /// The process whose address space an operation changes: its mappings are not settled.
    pub(crate) changing: Option<usize>,
    /// The file that an operation truncates, and the page it ends with. From there on, the contents
    /// that CPUs find, and the fate of their stores, are not settled.
    pub(crate) truncating: Option<(MappingId, u64)>,
    /// True if other operations may interrupt the outermost one.
    pub(crate) interruptible: bool,
}

/// The engine, its ground, and the contents that processes must find.
pub(crate) struct Model<'g, 'm, F, R> {
    pub(crate) maps: &'g MmState<'m>,
    pub(crate) cpus: [RefCell<CpuCtx>; CPUS],
    /// The CPU that the engine runs on.
    pub(crate) cpu: Cell<usize>,
    pub(crate) hardware: &'g Hardware,
    pub(crate) walker: &'g Walker<'g>,
    /// The pages that a device reaches of each process.
    pub(crate) mirrors: [Mirror<'g, 'm>; PROCESSES],
    pub(crate) truth: RefCell<Truth>,
    pub(crate) script: RefCell<Script>,
    pub(crate) machine: Cell<Machine>,
    pub(crate) tuning: Cell<Tuning>,
    pub(crate) memcgs: RefCell<Vec<(MemcgId, MemcgId)>>,
    pub(crate) files: RefCell<Vec<MappingId>>,
    pub(crate) areas: RefCell<Vec<MappingId>>,
    /// The number of swap slots, and of filters of page tables.
    pub(crate) slots: usize,
    pub(crate) filters: usize,
    waited: Cell<u32>,
    /// True while the lists are being switched.
    pub(crate) switching: Cell<bool>,
    pub(crate) now_ms: Cell<u64>,
    rules: PhantomData<(F, R)>,
}

impl<'g, 'm, F: Format, R> Model<'g, 'm, F, R> {
    pub(crate) fn new(maps: &'g MmState<'m>, walker: &'g Walker<'g>) -> Self {
        Self {
            maps,
            hardware: walker.hardware,
            walker,
            cpus: Default::default(),
            cpu: Cell::new(0),
            mirrors: std::array::from_fn(|_| Mirror::new(maps, F::PAGE_SHIFT)),
            truth: RefCell::default(),
            script: RefCell::default(),
            machine: Cell::new(Machine::IDEAL),
            tuning: Cell::new(crate::steps::tuning(0)),
            memcgs: RefCell::default(),
            files: RefCell::default(),
            areas: RefCell::default(),
            slots: maps.free_slots(),
            filters: maps.lru_gen_free_filters().count(),
            waited: Cell::new(0),
            switching: Cell::new(false),
            now_ms: Cell::new(0),
            rules: PhantomData,
        }
    }

    pub(crate) fn page(number: u64) -> VirtAddr {
        VirtAddr::new(number << F::PAGE_SHIFT)
    }

    /// Returns the ground that the engine runs on.
    pub(crate) fn ground(&self) -> Ground<&Self, R>
    where
        R: Rules,
    {
        Ground::new(self)
    }
}

impl<F: Format, R: Rules> Model<'_, '_, F, R> {
    /// Plays the events that are due at a call of the ground. `calm` is true if the engine holds no
    /// lock that another operation might wait for.
    fn meanwhile(&self, calm: bool) {
        if std::thread::panicking() {
            return; // a tlb_batch pays what it owes as it is dropped
        }
        loop {
            let mut script = self.script.borrow_mut();
            let calm = calm && script.interruptible;
            let Some(next) = script.next.front() else {
                return;
            };
            let waits = match next.what {
                What::Access { .. } | What::Held { .. } | What::Device { .. } => false,
                What::Op { .. } | What::Race { .. } => !calm,
            };
            if script.passed < next.after || waits {
                script.passed = script.passed.saturating_add(1);
                return;
            }
            let next = script.next.pop_front().expect("the one just seen");
            let passed = std::mem::take(&mut script.passed);
            drop(script);
            match next.what {
                What::Access { cpu, process, page, store } => {
                    let pick = self.pick(page);
                    self.touch(cpu % CPUS, process, page, store, pick);
                }
                What::Device { pick, store } => self.device_access(pick, store),
                What::Held { cpu, pick, store } => self.touch_held(cpu % CPUS, pick, store),
                What::Op { cpu, ref op } => {
                    self.interrupt(cpu % CPUS, op);
                }
                What::Race { cpu, holder, race } => {
                    if !self.race(cpu, holder, race) {
                        let mut script = self.script.borrow_mut();
                        script.passed = passed;
                        script.next.push_front(next);
                        return;
                    }
                }
            }
        }
    }

    /// Accesses a page as hardware, if that needs no fault.
    pub(crate) fn touch(&self, cpu: usize, process: usize, page: u64, store: bool, pick: usize) {
        if self.is_settled(process, page, store) {
            self.access(cpu, process, page, store, pick);
        }
    }

    /// Does the same for a page of which the CPU holds an old translation.
    fn touch_held(&self, cpu: usize, pick: usize, store: bool) {
        let tlbs = self.hardware.tlbs();
        let held = &tlbs.cpus[cpu].held;
        let Some(by) = held.get(pick % held.len().max(1)).copied() else {
            return;
        };
        drop(tlbs);
        let page = by.page + pick as u64 / 7 % by.nr;
        // Otherwise it is about to exit, and no CPU runs in it.
        if let Some(process) = self.process_of(by.asid) {
            self.touch(cpu, process, page, store, pick);
        }
    }

    pub(crate) fn process_of(&self, asid: Asid) -> Option<usize> {
        let truth = self.truth.borrow();
        let is = |p: &Option<Process>| p.as_ref().is_some_and(|p| p.asid == asid);
        truth.processes.iter().position(is)
    }

    /// Returns true if the result of an access is settled. While an operation changes an address
    /// space, that is so only for accesses permitted before and after.
    pub(crate) fn is_settled(&self, process: usize, page: u64, store: bool) -> bool {
        let script = self.script.borrow();
        let home = self.truth.borrow().page(process, page).map(|page| page.home);
        let ends = match (script.truncating, home) {
            (Some((of, from)), Some(Home::Private(file, at) | Home::Shared(file, at))) => {
                of == file && at >= from
            }
            _ => false,
        };
        let changing = script.changing == Some(process);
        drop(script);
        !ends && (!changing || self.permits(process, page, store))
    }

    /// Picks one of the translations that a CPU may use for an access. Any may be picked, but all
    /// tries of one access pick the same, if it still exists.
    fn pick(&self, page: u64) -> usize {
        let mixed = (self.now_ms.get() ^ page << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize
    }

    pub(crate) fn permits(&self, process: usize, page: u64, store: bool) -> bool {
        let needed = if store { VmFlags::WRITE } else { VmFlags::READ };
        self.truth.borrow().page(process, page).is_some_and(|page| page.flags.contains(needed))
    }

    /// Accesses a page as hardware does. Returns false if it faults.
    ///
    /// # Panics
    /// If the access succeeds and must not, or if it does not find the value stored last.
    fn access(&self, cpu: usize, process: usize, page: u64, store: bool, pick: usize) -> bool {
        let Some(by) = self.translate(cpu, process, page, store, pick) else {
            return false;
        };
        self.reach_by(&by, process, page, store);
        true
    }

    /// Accesses a page through a translation.
    ///
    /// # Panics
    /// If the access must not succeed, or if it does not find the value stored last.
    pub(crate) fn reach_by(&self, by: &Held, process: usize, page: u64, store: bool) {
        assert!(
            self.permits(process, page, store),
            "process {process} reaches page {page} (store: {store}) against its VMA: {by:?}"
        );
        let mut truth = self.truth.borrow_mut();
        let frame = self.walker.reached(by, page);
        let mut memory = self.hardware.memory();
        if store {
            let wp = truth.page(process, page).expect("permitted").wp;
            assert!(wp != Protected::Yes, "userfaultfd's protection of page {page} is lost");
            let value = truth.fresh();
            memory.set_content(frame, value);
            truth.stored(process, page, value);
        } else {
            truth.loaded(process, page, memory.content(frame));
        }
    }

    /// Returns the translation by which an access succeeds: that of the entry now, or an old one
    /// that the CPU may still hold.
    fn translate(
        &self,
        cpu: usize,
        process: usize,
        page: u64,
        store: bool,
        pick: usize,
    ) -> Option<Held> {
        let truth = self.truth.borrow();
        let process = truth.processes.get(process)?.as_ref()?;
        let (root, asid) = (process.root, process.asid);
        drop(truth);
        let mut tlbs = self.hardware.tlbs();
        let tlb = &mut tlbs.cpus[cpu];
        tlb.enter(asid);
        let held = tlb.of_page(asid, page).count();
        if let Some(by) = tlb.of_page(asid, page).nth(pick % (held + 1)).copied() {
            if !store || by.stores {
                return Some(by);
            }
            if !by.write {
                return None;
            }
        }
        drop(tlbs);
        let addr = Self::page(page);
        if self.machine.get().sets_nonleaf() {
            self.walk_down(root, addr);
        }
        let (frame, level) = match descend(&self.ground(), root, addr) {
            Descent::PteTable(frame, _) => (frame, Level::Pte),
            Descent::PmdLeaf(frame) => (frame, Level::Pmd),
            Descent::Absent(_) => return None,
        };
        let (table, i) = (self.walker.table::<F>(frame), F::index(level, addr));
        let raw = table.load(i);
        let walked = self.walked(cpu, raw, store)?;
        if walked != raw {
            table.cas(i, raw, walked).ok()?;
        }
        Some(self.walker.translation::<F>(asid, (page, level), walked))
    }

    /// Makes each entry that leads to a table young, as the walk of an access does.
    fn walk_down(&self, root: Pfn, addr: VirtAddr) {
        let mut frame = root;
        for level in [Level::Pgd, Level::Pud, Level::Pmd] {
            let (table, i) = (self.walker.table::<F>(frame), F::index(level, addr));
            let entry = table.load(i);
            if !F::is_table(entry) {
                return;
            }
            table.cas(i, entry, F::mkyoung_table(entry)).expect("no one else is at it");
            frame = F::pfn(entry);
        }
    }

    /// Returns the entry as the walk of an access leaves it, or `None` for a fault.
    fn walked(&self, cpu: usize, raw: Pte, store: bool) -> Option<Pte> {
        if !F::is_valid(raw) {
            return None;
        }
        if !self.machine.get().sets_bits[cpu] {
            let stored = F::is_write(raw) && F::is_dirty(raw);
            return (F::is_young(raw) && (!store || stored)).then_some(raw);
        }
        let young = F::mkyoung(raw);
        if store { F::hardware_dirty(young) } else { Some(young) }
    }

    /// Accesses a page as the program, with all faults it takes.
    pub(crate) fn reach(&self, process: usize, page: u64, store: bool) -> Ended {
        let mm = self.truth.borrow_mut().process(process).mm;
        self.maps.lru_gen_use_mm(mm).expect("it lives");
        let pick = self.pick(page);
        for _ in 0..16 {
            if self.access(self.cpu.get(), process, page, store, pick) {
                return Ended::Done;
            }
            let access = if store { Access::Write } else { Access::Read };
            let fault = {
                let mut cpu = self.cpus[self.cpu.get()].borrow_mut();
                let (tuning, addr) = (self.tuning.get(), Self::page(page));
                self.maps.on(&self.ground(), &mut cpu, tuning).handle_fault(mm, addr, access)
            };
            match fault {
                Fault::Done(_) => continue,
                Fault::BadAddress => assert!(
                    !self.permits(process, page, store),
                    "process {process} is refused page {page} (store: {store})"
                ),
                Fault::WriteProtected => {
                    let truth = self.truth.borrow();
                    let wp = truth.page(process, page).expect("a page that is mapped").wp;
                    assert!(store && wp != Protected::No, "page {page} is not write-protected");
                }
                Fault::Unsupported => {
                    self.take_back(process, page);
                    continue;
                }
                Fault::Pending(_) | Fault::OutOfMemory(_) | Fault::IoError(_) => {}
                Fault::PastEnd => panic!("a file ends only while faults on it wait"),
                Fault::BadId(bad) => panic!("process {process} lives: {bad}"),
            }
            if store {
                self.truth.borrow_mut().may_be_copied(process, page);
            }
            return match fault {
                Fault::Pending(_) => Ended::Blocked,
                _ => Ended::Refused,
            };
        }
        panic!("process {process} faults for ever on page {page} (store: {store})");
    }
}

impl<'g, F: Format, R: Rules> Cpu for &Model<'g, '_, F, R> {
    type Format = F;
    type Table = Watched<'g, F>;

    fn hardware(&self) -> &Hardware {
        self.hardware
    }

    fn number(&self) -> usize {
        self.cpu.get()
    }

    fn caps(&self) -> Caps {
        let machine = self.machine.get();
        let Machine { shootdown, sets_bits, range_limit, .. } = machine;
        let [hardware_af, hardware_dirty] = [sets_bits[self.cpu.get()]; 2];
        let nonleaf_af = machine.sets_nonleaf();
        Caps { shootdown, hardware_af, hardware_dirty, nonleaf_af, range_limit, ..Caps::IDEAL }
    }

    fn table(&self, frame: Pfn) -> Watched<'g, F> {
        self.walker.table(frame)
    }

    fn before(&self, call: Call) {
        match call {
            Call::Write(_) => self.meanwhile(true),
            // In these stages reclaim holds at most the lock of one folio, for which no address
            // space waits.
            Call::Enter(Stage::CacheRemoval | Stage::Flush | Stage::Free) => self.meanwhile(true),
            Call::FreeTable(frame) => self.walker.unlink_table(frame),
            Call::InvalidateLocal(_) | Call::Defer(_) | Call::Free(..) => {}
            _ => self.meanwhile(false),
        }
    }

    fn after(&self, call: Call) {
        match call {
            Call::Free(..) => self.meanwhile(true),
            Call::Copy { .. } => self.meanwhile(false),
            _ => {}
        }
    }

    fn within_write(&self) {
        self.meanwhile(true);
    }

    fn relax(&self) {
        self.waited.set(self.waited.get() + 1);
        assert!(self.waited.get() < 1 << 20, "a lock is waited for that no one gives up");
        // In operations that others may interrupt, a task that gives up the CPU holds nothing of
        // theirs.
        self.meanwhile(true);
    }

    fn remote(&self, asid: Asid) -> bool {
        self.hardware.tlbs().remote(self.cpu.get(), asid)
    }

    fn notifier(&self, asid: Asid) -> Option<&dyn Notifier> {
        let mirror = self.mirror(asid);
        (!mirror.reaches_nothing()).then_some(mirror as &dyn Notifier)
    }

    fn low_watermark(&self) -> Option<usize> {
        Some(4)
    }

    fn need_resched(&self) -> bool {
        let script = self.script.borrow();
        script.next.front().is_some_and(|next| script.interruptible && script.passed >= next.after)
    }

    fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }
}

impl<F: Format, R: Rules> Model<'_, '_, F, R> {
    /// Sets the events inside of the next operation.
    pub(crate) fn play(&self, next: VecDeque<Meanwhile>, interruptible: bool) {
        let mut script = self.script.borrow_mut();
        (script.next, script.passed, script.interruptible) = (next, 0, interruptible);
    }
}

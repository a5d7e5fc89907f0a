//! The engine's calls for each operation, and the contents that processes must find after it.

use crate::model::{Ended, Machine, Model};
use crate::steps::{self, Meanwhile, Op, Span, Step};
use crate::truth::{Content, Home, Page, Process, Protected};
use pageout_paging::mmu::Asid;
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Format, Level, Notifier, Order, Pfn, Rules, Table, VirtAddr, VirtRange};
use pageout_reclaim::{
    Advice, Compacted, Engine, Frames, Growth, IoError, MappingKind, MemcgId, MmapError, NewVma,
    NodeId, SpaceError, TruncateError, VmFlags,
};
use pageout_sim::{Answer, Ground, Tlb, Transfer};
use std::ops::Range;

fn range_of(span: Span) -> Range<u64> {
    span.at..span.at + span.nr
}

impl<F: Format, R: Rules> Model<'_, '_, F, R> {
    /// Makes the files, the anonymous areas and a process.
    pub(crate) fn begin(&self) {
        self.with_engine(|engine| {
            let mut make = |kind| engine.add_mapping(kind);
            for _ in 0..steps::FILES {
                let file = make(MappingKind::File).expect("room for the files");
                self.files.borrow_mut().push(file);
            }
            for _ in 0..steps::SHMEMS {
                let shmem = make(MappingKind::Shmem).expect("room for shared memory");
                self.files.borrow_mut().push(shmem);
                self.truth.borrow_mut().files.truncated(shmem, 0);
            }
            for _ in 0..2 {
                let area = make(MappingKind::Anon).expect("room for the areas");
                self.areas.borrow_mut().push(area);
            }
        });
        self.memcgs.borrow_mut().push((MemcgId::ROOT, MemcgId::ROOT));
        let Machine { zones, nodes, lru_gen, .. } = self.machine.get();
        let frames = self.hardware.memory().frames().len();
        for zone in if zones { 1..3 } else { 0..0 } {
            self.maps.set_zone_start(zone, Pfn::new((zone * frames / 3) as u64));
        }
        // Node 1 has frames of two zones, between two runs of node 0.
        let starts = [(frames / 2, 1), (frames / 6 * 5, 0)];
        for (first, node) in starts.into_iter().filter(|_| nodes) {
            let (first, node) = (Pfn::new(first as u64), NodeId(node));
            self.maps.set_node_start(first, node).expect("in order");
            self.hardware.memory().nodes.push((first, node));
        }
        self.run(&Op::SwitchLruGen { caps: lru_gen.bits() });
        self.truth.borrow_mut().processes.resize(steps::PROCESSES, None);
        self.run(&Op::Spawn { memcg: 0 });
    }

    pub(crate) fn with_engine<T>(
        &self,
        work: impl FnOnce(&mut Engine<'_, Ground<&Self, R>>) -> T,
    ) -> T {
        let cpu = &mut self.cpus[self.cpu.get()].borrow_mut();
        work(&mut self.maps.on(&self.ground(), cpu, self.tuning.get()))
    }

    /// Makes a call that changes the address space of a process.
    pub(crate) fn changing<T>(
        &self,
        process: usize,
        call: impl FnOnce(&mut Engine<'_, Ground<&Self, R>>) -> T,
    ) -> T {
        let before = self.script.borrow_mut().changing.replace(process);
        let done = self.with_engine(call);
        self.script.borrow_mut().changing = before;
        done
    }

    /// Runs a step, with the events inside of it.
    pub(crate) fn step(&self, step: &Step) {
        self.truth.borrow_mut().stores.clear();
        self.cpu.set(step.cpu);
        self.now_ms.set(self.now_ms.get() + 1);
        let interruptible = matches!(
            step.op,
            Op::ReclaimCgroup { .. }
                | Op::ReclaimAll
                | Op::ReclaimZone { .. }
                | Op::Balance { .. }
                | Op::Age { .. }
                | Op::EvictGenerations { .. }
                | Op::SwitchLruGen { .. }
                | Op::WriteFile { .. }
                | Op::Migrate { .. }
                | Op::Grow { .. }
                | Op::Offline { .. }
                | Op::Compact
        );
        let next =
            step.meanwhile.iter().cloned().collect::<std::collections::VecDeque<Meanwhile>>();
        self.play(next, interruptible);
        self.run(&step.op);
        self.play(Default::default(), false);
    }

    /// Returns the living process for a number.
    fn living(&self, number: usize) -> usize {
        let truth = self.truth.borrow();
        let living: Vec<_> =
            (0..truth.processes.len()).filter(|p| truth.processes[*p].is_some()).collect();
        living.get(number % living.len().max(1)).copied().unwrap_or(0)
    }

    /// Returns the run of mapped pages for a span: moved up to the first mapped page, and ended
    /// with the last. Longer spans are used as they are, and are refused where there are holes.
    pub(crate) fn aim(&self, span: Span) -> Span {
        let process = self.living(span.process);
        let found = self.alive(process).map(|process| process.pages).unwrap_or_default();
        let ahead = found.range(span.at..).next().or(found.iter().next());
        let (at, nr) = match ahead {
            Some((at, _)) if span.nr < 12 => {
                (*at, (0..span.nr).take_while(|k| found.contains_key(&(at + k))).count() as u64)
            }
            _ => (span.at, span.nr),
        };
        Span { process, at, nr }
    }

    fn access_one(&self, process: usize, page: u64, store: bool) {
        let at = self.aim(Span { process, at: page, nr: 1 });
        self.try_reach(at.process, at.at, store);
    }

    /// Runs an operation on the current CPU.
    pub(crate) fn run(&self, op: &Op) {
        match *op {
            Op::Load { process, page } => self.access_one(process, page, false),
            Op::Store { process, page } => self.access_one(process, page, true),
            Op::Fill(span) => {
                let span = self.aim(span);
                range_of(span).for_each(|page| self.try_reach(span.process, page, true));
            }
            Op::MapAnonymous { span, order } => {
                let process = self.living(span.process);
                self.map_anonymous(Span { process, ..span }, order);
            }
            Op::MapFile { span, file, pgoff, order, shared, write } => {
                let span = Span { process: self.living(span.process), ..span };
                self.map_file(span, (file, pgoff), order, shared, write);
            }
            Op::Truncate { file, from } => self.truncate(file, from),
            Op::Unmap(span) => self.unmap(self.aim(span)),
            Op::Protect { span, prot } => self.protect(self.aim(span), prot),
            Op::Remap { span, to, nr } => {
                let whole = nr == span.nr;
                let span = self.aim(span);
                let nr = if whole { span.nr } else { nr };
                self.remap(span, to, nr.min(steps::SPACE - to));
            }
            Op::Advise { span, advice } => self.advise(self.aim(span), advice),
            Op::Lock { span, on } => self.lock(self.aim(span), on),
            Op::WriteProtect { span, on } => self.write_protect(self.aim(span), on),
            Op::Spawn { memcg } => self.spawn(memcg),
            Op::Fork { process } => self.fork(self.living(process)),
            Op::Exit { process } => self.exit(process),
            Op::FaultAround { process, pages } => self.set_fault_around(process, pages),
            Op::ReclaimCgroup { .. }
            | Op::ReclaimAll
            | Op::ReclaimZone { .. }
            | Op::Balance { .. }
            | Op::SwitchLruGen { .. }
            | Op::MinTtl { .. }
            | Op::Age { .. }
            | Op::EvictGenerations { .. }
            | Op::MarkAccessed { .. } => self.reclaim(op),
            Op::SetMax { .. }
            | Op::Protection { .. }
            | Op::MoveProcess { .. }
            | Op::AddCgroup { .. }
            | Op::RemoveCgroup { .. } => self.change_cgroups(op),
            Op::Migrate { at, nr, high } => self.migrate(at, nr, high),
            Op::Grow { vmas, mms, mappings } => {
                self.grow(&Growth { vmas, mms, mappings });
            }
            Op::Offline { at, nr } => self.offline(at, nr),
            Op::Online => self.online(),
            Op::Compact => self.with_engine(|engine| {
                let done = engine.compact_memory();
                assert_eq!(done, Compacted::Complete, "the scanners meet");
            }),
            Op::Storage { reads, writes } => {
                let storage = &mut self.hardware.memory().storage;
                (storage.reads, storage.writes) = (reads, writes);
            }
            Op::Finish { nr, ok } => self.finish(nr, ok),
            Op::WriteFile { file, page } => self.write_file(file, page),
            Op::Evict => self.hardware.tlbs().cpus[self.cpu.get()] = Tlb::default(),
            Op::Lend { process, page, kind } => {
                let at = self.aim(Span { process, at: page, nr: 1 });
                self.lend(at.process, at.at, kind);
            }
            Op::Tune(number) => self.tuning.set(steps::tuning(number)),
        }
    }

    fn set_fault_around(&self, process: usize, pages: u32) {
        if let Some(process) = self.alive(process) {
            self.maps.mm(process.mm).expect("it lives").set_fault_around(pages << F::PAGE_SHIFT);
        }
    }

    pub(crate) fn alive(&self, process: usize) -> Option<Process> {
        self.truth.borrow().processes[process].clone()
    }

    fn try_reach(&self, process: usize, page: u64, store: bool) {
        if self.alive(process).is_some() {
            self.reach(process, page, store);
        }
    }

    fn range(at: Range<u64>) -> VirtRange {
        Self::page(at.start)..Self::page(at.end)
    }

    pub(crate) fn memcg(&self, number: usize) -> MemcgId {
        let memcgs = self.memcgs.borrow();
        memcgs[number % memcgs.len()].0
    }

    fn map_anonymous(&self, span: Span, order: u8) {
        let area = self.areas.borrow()[usize::from(order & 1)];
        self.maps
            .mapping(area)
            .expect("it lives")
            .set_order(Order::new(order).expect("a small order"));
        let flags = VmFlags::READ | VmFlags::WRITE;
        let new = |mm| NewVma {
            mm,
            range: Self::range(range_of(span)),
            flags,
            mapping: area,
            pgoff: span.at,
        };
        self.map(span, flags, new, |_| Home::Anonymous);
    }

    fn map_file(
        &self,
        span: Span,
        (file, pgoff): (usize, u64),
        order: u8,
        shared: bool,
        write: bool,
    ) {
        let file = self.files.borrow()[file];
        self.maps
            .mapping(file)
            .expect("it lives")
            .set_order(Order::new(order).expect("a small order"));
        let mut flags = VmFlags::READ;
        flags.set(VmFlags::WRITE, write);
        flags.set(VmFlags::SHARED, shared);
        let range = Self::range(range_of(span));
        let new = |mm| NewVma { mm, range, flags, mapping: file, pgoff };
        self.map(span, flags, new, |k| match shared {
            true => Home::Shared(file, pgoff + k),
            false => Home::Private(file, pgoff + k),
        });
    }

    fn map(
        &self,
        span: Span,
        flags: VmFlags,
        new: impl FnOnce(pageout_reclaim::MmId) -> NewVma,
        home: impl Fn(u64) -> Home,
    ) {
        let Some(process) = self.alive(span.process) else {
            return;
        };
        let taken = process.pages.range(range_of(span)).next().is_some();
        match self.changing(span.process, |engine| engine.mmap(&new(process.mm))) {
            Ok(_) => {
                assert!(!taken, "a VMA over another");
                let mut truth = self.truth.borrow_mut();
                let pages = range_of(span).map(|at| (at, Page::new(home(at - span.at), flags)));
                truth.process(span.process).pages.extend(pages);
            }
            Err(MmapError::Overlap) => assert!(taken, "the range is free"),
            Err(MmapError::OutOfTable(_)) => {}
            Err(MmapError::BadRange) => panic!("the range is good"),
            Err(MmapError::BadId(bad)) => panic!("both live: {bad}"),
        }
    }

    /// Changes the pages of a range, as an operation that succeeded does.
    fn change(&self, span: Span, change: impl Fn(u64, &mut Page)) {
        let mut truth = self.truth.borrow_mut();
        let pages = &mut truth.process(span.process).pages;
        pages.range_mut(range_of(span)).for_each(|(at, page)| change(*at, page));
    }

    fn unmap(&self, span: Span) {
        let Some(process) = self.alive(span.process) else {
            return;
        };
        let range = Self::range(range_of(span));
        if self.changing(span.process, |engine| engine.munmap_range(process.mm, &range)).is_ok() {
            let mut truth = self.truth.borrow_mut();
            truth.process(span.process).pages.retain(|at, _| !range_of(span).contains(at));
        }
    }

    /// Returns true if an operation that needs all of a range to be mapped succeeded. Checks that
    /// it did only if the range is.
    fn done(&self, process: &Process, span: Span, result: Result<(), SpaceError>) -> bool {
        let covered = process.covers(range_of(span));
        match result {
            Ok(()) => assert!(covered, "{span:?} is not mapped"),
            Err(SpaceError::NotMapped) => assert!(!covered, "{span:?} is mapped"),
            Err(_) => {}
        }
        result.is_ok()
    }

    fn protect(&self, span: Span, prot: VmFlags) {
        let Some(process) = self.alive(span.process) else {
            return;
        };
        let range = Self::range(range_of(span));
        let done = self.changing(span.process, |engine| engine.mprotect(process.mm, &range, prot));
        if self.done(&process, span, done) {
            let all = VmFlags::READ | VmFlags::WRITE | VmFlags::EXEC;
            self.change(span, |_, page| page.flags = (page.flags - all) | prot);
        }
    }

    fn remap(&self, span: Span, to: u64, nr: u64) {
        let Some(process) = self.alive(span.process) else {
            return;
        };
        let (old, new) = (range_of(span), to..to + nr);
        let (from, target) = (Self::range(old.clone()), Self::range(new.clone()));
        let done = self.changing(span.process, |engine| engine.mremap(process.mm, &from, &target));
        if done.is_err() {
            return;
        }
        assert!(process.covers(old.clone()), "{span:?} is not mapped");
        let in_place = old.start == new.start;
        let taken = new
            .clone()
            .any(|at| process.pages.contains_key(&at) && !(in_place && old.contains(&at)));
        assert!(!taken, "{new:?} is taken");
        let mut truth = self.truth.borrow_mut();
        let pages = &mut truth.process(span.process).pages;
        let moved: Vec<_> =
            old.map(|at| pages.remove(&at).expect("its pages were mapped")).collect();
        let first = moved[0].clone();
        for (k, at) in new.enumerate() {
            let beyond = || Page::new(further(first.home, k as u64), first.flags);
            pages.insert(at, moved.get(k).cloned().unwrap_or_else(beyond));
        }
    }

    fn advise(&self, span: Span, advice: Advice) {
        let Some(process) = self.alive(span.process) else {
            return;
        };
        let since = self.truth.borrow().stores.len();
        let range = Self::range(range_of(span));
        let done = self.with_engine(|engine| engine.madvise(process.mm, &range, advice));
        if !self.done(&process, span, done) {
            return;
        }
        let stores: Vec<_> = self.truth.borrow().stores[since..].to_vec();
        let to = |at: u64| {
            let here = move |s: &&(usize, u64, u64)| (s.0, s.1) == (span.process, at);
            stores.iter().filter(here).map(|(_, _, value)| *value)
        };
        match advice {
            Advice::DontNeed => self.change(span, |at, page| {
                page.drop_content(to(at));
                page.wp = Protected::No;
            }),
            Advice::Free => self.change(span, |_, page| {
                page.lazy = true;
                if page.wp == Protected::Yes {
                    page.wp = Protected::Perhaps;
                }
            }),
            _ => {}
        }
    }

    fn lock(&self, span: Span, on: bool) {
        let Some(process) = self.alive(span.process) else {
            return;
        };
        let range = Self::range(range_of(span));
        let done = self.with_engine(|engine| match on {
            true => engine.mlock(process.mm, &range),
            false => engine.munlock(process.mm, &range),
        });
        if self.done(&process, span, done) {
            self.change(span, |_, page| page.flags.set(VmFlags::LOCKED, on));
        }
    }

    /// Returns true if the entry for a page is not empty.
    fn stands(&self, process: &Process, page: u64) -> bool {
        let addr = Self::page(page);
        match descend(&self.ground(), process.root, addr) {
            Descent::PteTable(frame, _) => {
                !self.walker.table::<F>(frame).load(F::index(Level::Pte, addr)).is_none()
            }
            Descent::PmdLeaf(_) => true,
            _ => false,
        }
    }

    fn write_protect(&self, span: Span, on: bool) {
        let Some(process) = self.alive(span.process) else {
            return;
        };
        let stood: Vec<bool> = range_of(span).map(|at| self.stands(&process, at)).collect();
        let range = Self::range(range_of(span));
        let done = self.with_engine(|engine| engine.set_uffd_wp(process.mm, &range, on));
        if self.done(&process, span, done) {
            self.change(span, |at, page| {
                page.flags.set(VmFlags::UFFD_WP, on);
                match on {
                    // Lazyfree pages go without a marker, in kernels as well.
                    true if page.lazy => page.wp = Protected::Perhaps,
                    true if stood[(at - span.at) as usize] => page.wp = Protected::Yes,
                    true => {}
                    false => page.wp = Protected::No,
                }
            });
        }
    }

    fn free_process(&self) -> Option<usize> {
        self.truth.borrow().processes.iter().position(Option::is_none)
    }

    fn asid_of(process: usize) -> Asid {
        Asid(process as u32 + 1)
    }

    fn spawn(&self, memcg: usize) {
        let Some(process) = self.free_process() else {
            return;
        };
        let Some(root) = self.ground().alloc_table() else {
            return;
        };
        let asid = Self::asid_of(process);
        self.walker.set_root(root, asid);
        match self.with_engine(|engine| engine.add_mm(root, asid)) {
            Ok(mm) => {
                let memcg = self.memcg(memcg);
                self.with_engine(|engine| engine.set_memcg(mm, memcg).expect("it lives"));
                let pages = Default::default();
                let new = Process { mm, root, asid, memcg, pages };
                self.truth.borrow_mut().processes[process] = Some(new);
            }
            Err(_) => self.ground().free_table(root),
        }
    }

    fn fork(&self, parent: usize) {
        let (Some(before), Some(child)) = (self.alive(parent), self.free_process()) else {
            return;
        };
        let Some(root) = self.ground().alloc_table() else {
            return;
        };
        let since = self.truth.borrow().stores.len();
        let asid = Self::asid_of(child);
        self.walker.set_root(root, asid);
        let forked = self.with_engine(|engine| engine.fork(before.mm, root, asid));
        let Ok(mm) = forked else {
            return self.ground().free_table(root);
        };
        let mut truth = self.truth.borrow_mut();
        let mut pages = before.pages;
        for (at, page) in &mut pages {
            if !matches!(page.home, Home::Shared(..)) {
                page.may.extend(truth.stores_to(since, parent, *at).into_iter().map(Content::Own));
            }
            if page.wp == Protected::Yes {
                page.wp = Protected::Perhaps;
            }
        }
        truth.processes[child] = Some(Process { mm, root, asid, memcg: before.memcg, pages });
    }

    fn exit(&self, process: usize) {
        let taken = self.truth.borrow_mut().processes[process].take();
        if let Some(process) = taken {
            self.mirror(process.asid).invalidate(VirtAddr::new(0)..VirtAddr::new(u64::MAX));
            self.with_engine(|engine| engine.exit_mm(process.mm).expect("it lives"));
            let leave = |tlb: &mut Tlb| tlb.leave(process.asid);
            self.hardware.tlbs().cpus.iter_mut().for_each(leave);
            self.ground().free_table(process.root);
        }
    }

    fn change_cgroups(&self, op: &Op) {
        match *op {
            Op::SetMax { memcg, pages } if self.memcg(memcg) != MemcgId::ROOT => {
                self.maps.memcg(self.memcg(memcg)).expect("it is online").set_max(pages);
            }
            Op::Protection { memcg, min, low } => {
                let memcg = self.maps.memcg(self.memcg(memcg)).expect("it is online");
                memcg.set_min(min);
                memcg.set_low(low);
            }
            Op::MoveProcess { process, memcg } => {
                let memcg = self.memcg(memcg);
                if let Some(process) = &mut self.truth.borrow_mut().processes[process] {
                    self.with_engine(|engine| {
                        engine.set_memcg(process.mm, memcg).expect("it lives");
                    });
                    process.memcg = memcg;
                }
            }
            Op::AddCgroup { parent } => {
                let parent = self.memcg(parent);
                if let Ok(id) = self.with_engine(|engine| engine.add_memcg(parent)) {
                    self.memcgs.borrow_mut().push((id, parent));
                }
            }
            Op::RemoveCgroup { memcg } => {
                let memcg = self.memcg(memcg);
                let truth = self.truth.borrow();
                let lives = truth.processes.iter().flatten().any(|p| p.memcg == memcg);
                drop(truth);
                let gone = || self.with_engine(|engine| engine.remove_memcg(memcg)).is_ok();
                if !lives && gone() {
                    self.memcgs.borrow_mut().retain(|(id, _)| *id != memcg);
                }
            }
            _ => {}
        }
    }

    /// Ends the oldest transfers in progress.
    pub(crate) fn finish(&self, nr: usize, ok: bool) {
        for _ in 0..nr {
            let mut memory = self.hardware.memory();
            if memory.storage.late.is_empty() {
                return;
            }
            let transfer = memory.storage.late.remove(0);
            memory.end(&transfer, ok);
            drop(memory);
            let id = transfer.io.folio;
            let result = if ok { Ok(()) } else { Err(IoError::GivenUp) };
            self.with_engine(|engine| match transfer.writes {
                true => engine.write_done(id, result).expect("it goes on"),
                false => engine.read_done(id, result).expect("it goes on"),
            });
        }
    }

    /// Writes a dirty folio of a file, as flushers do.
    fn write_file(&self, file: usize, page: u64) {
        let file = self.files.borrow()[file];
        self.with_engine(|engine| {
            if let Some(id) = engine.filemap_get_folio(file, page).expect("it lives") {
                // A folio that is clean, or in a transfer, stays as it is.
                let _ = engine.write_back(id).expect("it lives");
                engine.release(id, 1).expect("the caller has it");
            }
        });
    }

    /// Truncates a file, in as many calls as it takes: between them the transfer that blocks it
    /// ends.
    fn truncate(&self, file: usize, from: u64) {
        let file = self.files.borrow()[file];
        self.script.borrow_mut().truncating = Some((file, from));
        self.maps.mapping(file).expect("it lives").set_size(from);
        while let Err(why) = self.with_engine(|engine| engine.truncate(file, from)) {
            let TruncateError::Pending(id) = why else { panic!("{why}") };
            let of_it = |transfer: &Transfer| transfer.io.folio == id;
            let late = self.hardware.memory().storage.late.iter().any(of_it);
            assert!(late, "a transfer of {id:?} goes on");
            self.finish(usize::MAX, true);
        }
        self.script.borrow_mut().truncating = None;
        // The file grows again at once.
        self.maps.mapping(file).expect("it lives").set_size(u64::MAX);
        self.hardware.memory().storage.truncated(file, from);
        self.truth.borrow_mut().truncated(file, from);
    }

    /// Ends shared memory that is mapped nowhere.
    pub(crate) fn end_shmem(&self) {
        for number in steps::FILES..steps::SHARED {
            self.truncate(number, 0);
            let shmem = self.files.borrow()[number];
            assert!(
                !self.maps.mapping_is_used(shmem).expect("it lives"),
                "{shmem:?} has no page left"
            );
            self.with_engine(|engine| engine.remove_mapping(shmem).expect("it lives"));
        }
    }

    /// Makes storage work again, lifts limits and protection, and reads every page twice: as it is,
    /// and after as much as possible was reclaimed.
    pub(crate) fn read_back(&self) {
        self.run(&Op::Storage { reads: Answer::AtOnce, writes: Answer::AtOnce });
        self.finish(usize::MAX, true);
        for number in 0..self.memcgs.borrow().len() {
            self.run(&Op::SetMax { memcg: number, pages: u64::MAX });
            self.run(&Op::Protection { memcg: number, min: 0, low: 0 });
        }
        for _ in 0..2 {
            for process in 0..steps::PROCESSES {
                let pages = self.alive(process).map(|p| p.pages).unwrap_or_default();
                for (at, page) in pages {
                    if page.flags.contains(VmFlags::READ) {
                        let ended = self.reach(process, at, false);
                        assert_ne!(ended, Ended::Blocked, "storage answers");
                    }
                }
            }
            (0..4).for_each(|_| self.run(&Op::ReclaimAll));
        }
    }
}

/// Returns the place `k` pages further.
fn further(home: Home, k: u64) -> Home {
    match home {
        Home::Anonymous => Home::Anonymous,
        Home::Private(file, index) => Home::Private(file, index + k),
        Home::Shared(file, index) => Home::Shared(file, index + k),
    }
}

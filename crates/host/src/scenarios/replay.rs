//! Scenario `trace`: a real program's accesses set young bits through the ideal walker, and at each
//! epoch's end every resident folio is aged under every variant. With a memory limit, the program
//! instead runs on the engine ([`crate::memcg_trace`]).
//!
//! Protection changes are not replayed: every mapping is treated as writable, since only young bits
//! are read. Pages that move (`mremap`) are faulted in again at their next access.

use crate::counting::{Counter, CountingEnv, Counts};
use crate::env::HostEnv;
use crate::layout::{Arena, Ground};
use crate::memcg_trace::{Decisions, Limited};
use crate::residency::{
    Cuts, EpochEnds, Needs, Placed, ReplayError, Residency, canonical_range, page_number,
};
use crate::steps::{Step, Steps};
use crate::walker::{Touch, touch};
use pageout_experiment::clock::timed;
use pageout_experiment::declare::{Checked, Declared};
use pageout_experiment::fields::{FieldError, OrderName, pairs};
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::kinds::Kind;
use pageout_experiment::metrics::labels;
use pageout_experiment::rounds::{Cell, turns};
use pageout_experiment::scenarios::metrics::trace::{NR_AGINGS, PAGES_AGED};
use pageout_experiment::scenarios::metrics::{FOLIO_REFERENCED, FOLIOS_REFERENCED};
use pageout_experiment::scenarios::{MemoryLimit, TraceAged, TraceLimited};
use pageout_experiment::this_machine;
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_paging::mmu::Asid;
use pageout_paging::{Order, Pfn, VirtAddr};
use pageout_reclaim::{
    Aging, CpuCtx, FolioFlags, FolioId, MapAs, MappingId, MappingKind, MmId, NewFolio, NewVma,
    Tuning, VmFlags, VmaId,
};
use pageout_record::schema::{Ground as RecordGround, Labels, Metric, Record};
use pageout_trace::PageRange;
use pageout_trace::room::NoRoom;
use pageout_trace::source::TraceSource;
use std::collections::BTreeMap;

const SIZED: &str = "the arena is sized by playing the trace through";

/// The maximum number of agings of a run of empty epochs, which are all alike. In a longer run each
/// stands for several.
const MOST_ALIKE: u64 = 1000;

/// The scenario, with one value a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    /// The trace.
    pub source: TraceSource,
    /// Entry format.
    pub format: FormatName,
    /// Largest folio order; folios are smaller where mappings begin, end or change.
    pub order: OrderName,
    /// The use that is made of the program.
    pub what: What,
}

/// The use that is made of a traced program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// All its pages are resident, and aged whenever this number of epochs has ended.
    Age(u32),
    /// The program runs with a memory limit.
    Limit(MemoryLimit),
}

impl Replay {
    /// Parses scenarios from `FIELD=VALUE` arguments, each a value or several with commas between.
    /// Every combination is one scenario. With `limit` it runs in a cgroup; without, all its pages
    /// are aged.
    ///
    /// # Errors
    /// [`FieldError`] names the field, the value found and the accepted values.
    pub fn parse(arguments: &[String], trace: &TraceSource) -> Result<Vec<Self>, FieldError> {
        let with = |format, order, what| Self { source: trace.clone(), format, order, what };
        let given: Vec<_> = pairs(arguments)?.into_iter().map(|(field, _)| field).collect();
        if !given.contains(&"limit") {
            let all = TraceAged::parse(arguments)?.into_iter();
            return Ok(all.map(|of| with(of.format, of.order, What::Age(of.every))).collect());
        }
        let all = TraceLimited::parse(arguments)?.into_iter();
        Ok(all.map(|of| with(of.format, of.order, What::Limit(of.limit))).collect())
    }

    /// Returns the axes in which variants of it may differ.
    pub const fn axes(&self) -> Axes {
        match self.what {
            What::Age(_) => Axes::Aging,
            What::Limit(_) => Axes::Reclaim,
        }
    }

    /// Reads the trace once and prepares to replay it.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn plan(self, variants: &[Variant]) -> Result<Box<dyn Cell>, ReplayError> {
        match self.what {
            What::Age(every) => {
                with_format!(self.format, F => ReplayCell::<F>::plan(self, every, variants))
            }
            What::Limit(limit) => {
                with_format!(self.format, F => self.run_limited::<F>(limit, variants))
            }
        }
    }

    /// Runs the program once under every variant, since nothing is measured.
    fn run_limited<F: Arch>(
        &self,
        limit: MemoryLimit,
        variants: &[Variant],
    ) -> Result<Box<dyn Cell>, ReplayError> {
        let order = self.order.in_format(self.format);
        let limited = Limited::plan::<F>(&self.source, limit, order)?;
        let min = limited.min()?.faults(limited.frames());
        let min = min.map_err(|NoRoom| ReplayError::no_room(limited.bytes_by_access()))?;
        let mut first: Vec<(Lru, Decisions)> = Vec::new();
        let mut record = |variant: &Variant| {
            let (decisions, counts) = limited.run::<F>(*variant)?;
            let lru = variant.lru;
            let like = first.iter().find(|first| first.0 == lru);
            // Generations weigh batches of entries only if folios have several.
            if lru == Lru::Classic || order == 0 {
                let expected = like.map_or(decisions, |first| first.1);
                assert_eq!(decisions, expected, "variants on the same lists decide alike");
            }
            if like.is_none() {
                first.push((lru, decisions));
            }
            let metrics = limited.metrics(&decisions, min).into_iter().chain(counts).collect();
            Ok(self.record(*variant, Axes::Reclaim, metrics))
        };
        let records: Result<Vec<_>, ReplayError> = variants.iter().map(&mut record).collect();
        Ok(Box::new(Counted(records?)))
    }

    /// Runs the program under a variant of generations, then writes each of `commands` to `lru_gen`
    /// in a call of its own. Returns the final content of that file for the root and for the
    /// program's cgroup. Returns `None` if it runs without a limit: then its folios are on no list.
    ///
    /// # Errors
    /// [`ReplayError`], also for the first command that is refused.
    pub fn generations(
        &self,
        variant: Variant,
        commands: &[String],
    ) -> Result<Option<String>, ReplayError> {
        let What::Limit(limit) = self.what else {
            return Ok(None);
        };
        let order = self.order.in_format(self.format);
        with_format!(self.format, F => {
            let limited = Limited::plan::<F>(&self.source, limit, order)?;
            limited.generations::<F>(variant, commands).map(Some)
        })
    }

    fn record(&self, variant: Variant, axes: Axes, metrics: Vec<Metric>) -> Record {
        Record {
            scenario: TraceAged::NAME.to_owned(),
            ground: RecordGround::Host,
            seed: 0,
            fields: self.labels(),
            variant: variant.labels(axes),
            metrics,
        }
    }

    /// Returns the scenario's fields as records have them.
    pub fn labels(&self) -> Labels {
        let what = match self.what {
            What::Age(every) => ("every", every.to_string()),
            What::Limit(limit) => ("limit", MemoryLimit::text(&limit)),
        };
        labels([
            ("format", self.format.name().to_owned()),
            ("order", self.order.to_string()),
            ("trace", self.source.name().to_owned()),
            what,
            ("sha256", self.source.sha256()),
        ])
    }
}

/// The result of one replay under one variant.
#[derive(Clone, Copy, Default, Debug)]
struct Found {
    agings: u64,
    /// The number of pages of the folios aged, over all agings.
    pages: u64,
    /// Folios found referenced, over all agings.
    referenced: u64,
    ns: u64,
    counts: Counts,
}

/// Records that were counted already.
struct Counted(Vec<Record>);

impl Cell for Counted {
    fn sample(&mut self, _round: usize) {}

    fn records(&mut self) -> Vec<Record> {
        self.0.clone()
    }
}

struct ReplayCell<F> {
    replay: Replay,
    every: u32,
    cuts: Cuts,
    steps: Steps,
    needs: Needs,
    variants: Vec<Variant>,
    /// The times of every variant, with one sample for each replay.
    samples: Vec<Vec<f64>>,
    found: Vec<Found>,
    format: std::marker::PhantomData<F>,
}

impl<F: Arch> ReplayCell<F> {
    fn plan(
        replay: Replay,
        every: u32,
        variants: &[Variant],
    ) -> Result<Box<dyn Cell>, ReplayError> {
        let cuts = Cuts::of_trace(&replay.source)?;
        let steps = Steps::of_trace(&replay.source, this_machine::available_memory())?;
        let needs = Needs::of_steps::<F>(
            &steps,
            &cuts,
            replay.order.in_format(replay.format),
            every,
            this_machine::available_memory().map(|bytes| bytes / variants.len() as u64),
        )?;
        if needs.folios_aged == 0 {
            return Err(ReplayError::Empty);
        }
        Ok(Box::new(Self {
            replay,
            every,
            cuts,
            steps,
            needs,
            variants: variants.to_vec(),
            samples: vec![Vec::new(); variants.len()],
            found: vec![Found::default(); variants.len()],
            format: std::marker::PhantomData,
        }))
    }

    fn aging(&self, variant: Variant) -> Aging {
        variant.aging(self.replay.format.flush_policy())
    }

    fn arena(&self) -> Arena {
        Arena::new::<F>(&self.needs.limits(), self.needs.tables)
    }

    /// Replays the trace once under every variant, interleaved epoch by epoch and beginning with
    /// another each time. `age` ages all folios of a program.
    fn replay(&self, round: usize, age: fn(&Program<'_, F>, Aging) -> Found) -> Vec<Found> {
        let mut arenas: Vec<_> = self.variants.iter().map(|_| self.arena()).collect();
        // The memory of a variant is random, so it is another each time.
        arenas.rotate_left(round % self.variants.len());
        let mut programs: Vec<_> = arenas.iter_mut().map(Program::<F>::new).collect();
        let mut residency =
            Residency::new(&self.cuts, self.replay.order.in_format(self.replay.format));
        let mut found = vec![Found::default(); self.variants.len()];
        let mut ends = EpochEnds::new(self.every);
        let mut agings = round;
        let mut age_all = |programs: &[Program<'_, F>], times: u64| {
            agings += 1;
            for k in turns(programs.len(), agings) {
                found[k].add(age(&programs[k], self.aging(self.variants[k])), times);
            }
        };
        for step in self.steps.iter() {
            match step {
                Step::Access { page, store, kind } => {
                    self.access(&mut programs, &mut residency, page_number(page), store, kind);
                }
                Step::Drop { pages, unmapped } => {
                    let gone = residency.drop_range(pages);
                    for program in &mut programs {
                        program.discard(&gone);
                        if unmapped {
                            program.unmap(&self.cuts, pages);
                        }
                    }
                }
                Step::EpochEnds(nr) => {
                    let due = (0..nr).filter(|_| ends.is_due()).count() as u64;
                    if due > 0 {
                        age_all(&programs, 1);
                    }
                    // All epochs but the first are empty: the agings after it find nothing young.
                    let alike = due.saturating_sub(1);
                    let made = alike.min(MOST_ALIKE);
                    for k in 0..made {
                        age_all(&programs, alike * (k + 1) / made - alike * k / made);
                    }
                }
            }
        }
        if ends.is_left_over() {
            age_all(&programs, 1);
        }
        found
    }

    fn access(
        &self,
        programs: &mut [Program<'_, F>],
        residency: &mut Residency<'_>,
        number: u64,
        store: bool,
        kind: MappingKind,
    ) {
        let mut placed = None;
        for program in programs {
            if program.touch(number, store) == Touch::Done {
                continue;
            }
            placed = placed.or_else(|| residency.fault(number));
            let placed = placed.expect("every variant has the same folios resident");
            program.fault(self.cuts.interval(number), kind, placed);
            let touched = program.touch(number, store);
            assert_eq!(touched, Touch::Done, "a faulted page can be touched");
        }
    }
}

impl<F: Arch> Cell for ReplayCell<F> {
    fn sample(&mut self, round: usize) {
        let found = self.replay(round, |program, aging| program.age_timed(aging));
        for (samples, found) in self.samples.iter_mut().zip(&found) {
            samples.push(found.ns as f64 / found.pages as f64);
        }
        self.found = found;
        let first = self.found[0];
        let agree =
            |found: &Found| (found.pages, found.referenced) == (first.pages, first.referenced);
        assert!(self.found.iter().all(agree), "variants agree on what was young: {:?}", self.found);
    }

    fn records(&mut self) -> Vec<Record> {
        let counting = self.replay(0, |program, aging| program.age_counted(aging));
        let record = |k: usize| {
            let found = counting[k];
            let mut metrics = vec![FOLIO_REFERENCED.of(&self.samples[k])];
            metrics.extend(found.counts.metrics(found.pages as f64));
            metrics.push(NR_AGINGS.one(found.agings as f64));
            metrics.push(PAGES_AGED.one(found.pages as f64));
            metrics.push(FOLIOS_REFERENCED.one(found.referenced as f64));
            self.replay.record(self.variants[k], Axes::Aging, metrics)
        };
        (0..self.variants.len()).map(record).collect()
    }
}

impl Found {
    /// Adds an aging that stands for that many.
    fn add(&mut self, one: Self, times: u64) {
        self.agings += times;
        self.pages += one.pages * times;
        self.referenced += one.referenced * times;
        self.ns += one.ns * times;
        self.counts.add(one.counts, times);
    }
}

/// The traced program's address space under one variant.
struct Program<'a, F> {
    ground: Ground<'a, F>,
    mm: MmId,
    root: Pfn,
    /// The VMA of each touched interval between cuts, by its first page.
    vmas: BTreeMap<u64, (VmaId, MappingId)>,
    /// Folios in the order of their faults, like an LRU list.
    list: BTreeMap<u64, (FolioId, VmaId)>,
    /// The place of a folio in the list, by its first page.
    faulted: BTreeMap<u64, u64>,
    next_fault: u64,
}

impl<'a, F: Arch> Program<'a, F> {
    fn new(arena: &'a mut Arena) -> Self {
        let ground = arena.ground::<F>();
        let root = ground.supply.alloc_table().expect(SIZED);
        let mm = ground
            .maps
            .on(&ground.env, &mut CpuCtx::new(), Tuning::recommended(F::FLUSH))
            .add_mm(root, Asid(0))
            .expect(SIZED);
        Self {
            ground,
            mm,
            root,
            vmas: BTreeMap::new(),
            list: BTreeMap::new(),
            faulted: BTreeMap::new(),
            next_fault: 0,
        }
    }

    fn touch(&self, page: u64, store: bool) -> Touch {
        touch(&self.ground.env, self.root, VirtAddr::new(page << F::PAGE_SHIFT), store)
    }

    /// Maps a newly placed folio, in the VMA of its interval.
    fn fault(&mut self, interval: (u64, u64), kind: MappingKind, placed: Placed) {
        let (vma, mapping) = self.vma(interval, kind);
        let (env, maps) = (&self.ground.env, &self.ground.maps);
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
        let new = NewFolio {
            pfn: placed.pfn,
            order: Order::new(placed.order).expect("parsed orders are small"),
            mapping,
            index: placed.page - interval.0,
            flags: FolioFlags::empty(),
        };
        let folio = engine.add_folio(new).expect(SIZED);
        engine.map_folio(vma, folio, MapAs::Ptes, &mut { self.ground.supply }).expect(SIZED);
        self.list.insert(self.next_fault, (folio, vma));
        self.faulted.insert(placed.page, self.next_fault);
        self.next_fault += 1;
    }

    fn vma(&mut self, (start, end): (u64, u64), kind: MappingKind) -> (VmaId, MappingId) {
        if let Some(known) = self.vmas.get(&start) {
            return *known;
        }
        let (env, maps) = (&self.ground.env, &self.ground.maps);
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
        let mapping = engine.add_mapping(kind).expect(SIZED);
        let addr = |page: u64| VirtAddr::new(page << F::PAGE_SHIFT);
        let new = NewVma {
            mm: self.mm,
            range: addr(start)..addr(end),
            flags: VmFlags::READ | VmFlags::WRITE,
            mapping,
            pgoff: 0,
        };
        let vma = engine.mmap(&new).expect(SIZED);
        self.vmas.insert(start, (vma, mapping));
        (vma, mapping)
    }

    /// Drops folios whose content the program freed.
    fn discard(&mut self, gone: &[Placed]) {
        let (env, maps) = (&self.ground.env, &self.ground.maps);
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
        for placed in gone {
            let at = self.faulted.remove(&placed.page).expect("a resident folio was faulted");
            let (folio, vma) = self.list.remove(&at).expect("a faulted folio is listed");
            engine.zap_folio(vma, folio).expect("it lives");
            engine.remove_folio(folio).expect("nothing else uses it");
        }
    }

    /// Drops the VMAs of intervals that no longer hold a folio.
    fn unmap(&mut self, cuts: &Cuts, pages: PageRange) {
        let (first, end) = canonical_range(pages);
        let (env, maps) = (&self.ground.env, &self.ground.maps);
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(env, cpu, Tuning::recommended(F::FLUSH));
        let mut page = first;
        while page < end {
            let (start, next) = cuts.interval(page);
            if let Some((vma, mapping)) = self.vmas.remove(&start) {
                engine.munmap(vma).expect("it lives");
                engine.remove_mapping(mapping).expect("it lives");
            }
            page = next;
        }
    }

    fn age_timed(&self, aging: Aging) -> Found {
        let env: HostEnv<'a, F> = self.ground.env;
        let list = self.lru_list();
        let (referenced, ns) = timed(|| self.ground.age(&env, &list, aging));
        Found { pages: self.pages(&list), referenced, ns, ..Found::default() }
    }

    fn age_counted(&self, aging: Aging) -> Found {
        let (list, counter) = (self.lru_list(), Counter::of::<F>());
        let env = CountingEnv::new(self.ground.env, &counter);
        let referenced = self.ground.age(&env, &list, aging);
        let (pages, counts) = (self.pages(&list), counter.counts());
        Found { pages, referenced, counts, ..Found::default() }
    }

    fn lru_list(&self) -> Vec<FolioId> {
        self.list.values().map(|(folio, _)| *folio).collect()
    }

    fn pages(&self, list: &[FolioId]) -> u64 {
        list.iter()
            .map(|folio| self.ground.maps.folio(*folio).expect("it lives").nr_pages() as u64)
            .sum()
    }
}

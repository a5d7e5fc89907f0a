//! The process and its cgroup: its accesses, its faults, and reclaim between rounds.

use crate::counting::{Counter as Counting, CountingEnv, Counts};
use crate::env::HostEnv;
use crate::generations::{Refused, after};
use crate::layout::{Arena, Ground, MAP_START};
use crate::walker::{Touch, touch};
use pageout_experiment::declare::Declared;
use pageout_experiment::formats::Arch;
use pageout_experiment::scenarios::{AgingRounds, FAULT_AROUND};
use pageout_experiment::variant::Variant;
use pageout_paging::mmu::Asid;
use pageout_paging::{Order, Pfn, VirtAddr};
use pageout_reclaim::mglru::{MAX_NR_GENS, MmStats};
use pageout_reclaim::{
    Access, Counter, CpuCtx, Errno, Fault, FaultKind, MappingId, MappingKind, MemcgId, MmId,
    MmState, NewVma, ReclaimRequest, Tuning, VmFlags,
};

/// The file begins in the middle of a table, as kernels under test place it so that no folio is
/// mapped by a PMD leaf.
const OFF_TABLES: u64 = 1 << 20;

const SIZED: &str = "the arena is sized for the scenario";

/// The counts, in pages unless a field says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tally {
    /// The number of generations opened.
    pub(super) generations: u64,
    /// The counts of walks.
    pub(super) walks: MmStats,
    /// The number of bits set in the filter that the next walk tests, summed over the ends of
    /// rounds.
    pub(super) filter_bits: u64,
    /// The number of rounds at whose end there is no filter for the next walk.
    pub(super) unfiltered: u64,
    /// The number of pages examined by eviction.
    pub(super) scanned: u64,
    /// The number of pages that eviction met on an old list and moved to another generation.
    pub(super) sorted: u64,
    /// The number of pages that are in a younger generation after `memory.reclaim` than before, and
    /// still in memory.
    pub(super) promoted: u64,
    pub(super) reclaimed: u64,
    /// Pages of hot folios out of memory at the ends of rounds, up to the number of cold ones in
    /// memory.
    pub(super) mistakes: u64,
    /// Pages read because a hot page was used.
    pub(super) hot_reads: u64,
    /// All pages that were read again.
    pub(super) refaults: u64,
    /// The number of requests that reclaimed less than they asked for.
    pub(super) short: u64,
    /// The operations on tables and TLBs, also those of faults.
    pub(super) tables: Counts,
}

pub(super) struct Process<'a, F> {
    maps: MmState<'a>,
    /// The ground for the accesses of hardware and of the scenario, which are not counted.
    hardware: HostEnv<'a, F>,
    world: CountingEnv<'a, F>,
    counting: &'a Counting,
    scenario: AgingRounds,
    tuning: Tuning,
    mm: MmId,
    root: Pfn,
    memcg: MemcgId,
    file: MappingId,
    start: VirtAddr,
    /// The page at which the additional reads continue.
    next_scanned: u64,
    /// The counts that are taken here, and not by the engine.
    own: Tally,
}

impl<'a, F: Arch> Process<'a, F> {
    /// Maps the file and reads all of it.
    pub(super) fn new(
        arena: &'a mut Arena,
        counting: &'a Counting,
        scenario: &AgingRounds,
        variant: Variant,
    ) -> Self {
        let ground = arena.ground::<F>();
        ground.switch_to(variant.lru);
        let Ground { env, maps, supply } = ground;
        let world = CountingEnv::new(env, counting);
        let cpu = &mut CpuCtx::new();
        let engine = &mut maps.on(&world, cpu, Tuning::recommended(F::FLUSH));
        let memcg = engine.add_memcg(MemcgId::ROOT).expect(SIZED);
        maps.memcg(memcg).expect("it is online").set_max(scenario.limit_bytes() >> F::PAGE_SHIFT);
        let root = supply.alloc_table().expect(SIZED);
        let mm = engine.add_mm(root, Asid(0)).expect(SIZED);
        engine.set_memcg(mm, memcg).expect("it lives");
        maps.mm(mm).expect("it lives").set_fault_around(FAULT_AROUND);
        let file = engine.add_mapping(MappingKind::File).expect(SIZED);
        let order = scenario.order.in_format(scenario.format);
        maps.mapping(file)
            .expect("it lives")
            .set_order(Order::new(order).expect("parsed orders are small"));
        let beside = if scenario.aligned { 0 } else { F::PAGE_SIZE };
        let start = MAP_START.add(OFF_TABLES + beside);
        let range = start..start.add(scenario.bytes);
        let new = NewVma { mm, range, flags: VmFlags::READ, mapping: file, pgoff: 0 };
        engine.mmap(&new).expect(SIZED);
        let process = Self {
            maps,
            hardware: env,
            world,
            counting,
            scenario: *scenario,
            tuning: variant.tuning(F::FLUSH),
            mm,
            root,
            memcg,
            file,
            start,
            next_scanned: 0,
            own: Tally::default(),
        };
        for page in 0..process.pages() {
            process.read(page);
        }
        process
    }

    /// Runs the rounds twice: first uncounted, to warm the filters, then counted. Returns the
    /// counts.
    pub(super) fn run(&mut self) -> Tally {
        for _ in 0..self.scenario.rounds {
            self.round();
        }
        self.own = Tally::default();
        let before = self.tally();
        for _ in 0..self.scenario.rounds {
            self.round();
        }
        self.tally().since(&before)
    }

    /// Writes commands to `lru_gen`; returns its content after them.
    pub(super) fn lru_gen_after(&self, commands: &[String]) -> Result<String, Refused> {
        after((&self.maps, &self.world), (self.memcg, AgingRounds::NAME), commands, self.tuning)
    }

    fn round(&mut self) {
        self.maps.lru_gen_use_mm(self.mm).expect("it lives");
        self.use_pattern();
        self.scan();
        let before = self.generations();
        self.reclaim();
        let after = self.generations();
        let promoted = before.iter().zip(&after).filter(|(before, after)| after > before).count();
        self.own.promoted += promoted as u64 * self.folio_pages();
        self.own.mistakes += self.mistakes(&after);
        match self.maps.filter_population(self.memcg).expect("it is online") {
            Some(bits) => self.own.filter_bits += u64::from(bits),
            None => self.own.unfiltered += 1,
        }
    }

    pub(super) fn use_pattern(&mut self) {
        let (pattern, pages) = (self.scenario.pattern, self.pages());
        for page in (0..pages).filter(|page| pattern.has(*page, pages)) {
            let read = self.read(page);
            self.own.hot_reads += read;
        }
    }

    fn scan(&mut self) {
        let pages = self.pages();
        for _ in 0..pages * u64::from(self.scenario.scan_percent) / 100 {
            self.read(self.next_scanned);
            self.next_scanned = (self.next_scanned + 1) % pages;
        }
    }

    /// Reads a page as the program; returns the number of pages that had to be read for it.
    fn read(&self, page: u64) -> u64 {
        let addr = self.start.add(page << F::PAGE_SHIFT);
        let mut read = 0;
        while touch(&self.hardware, self.root, addr, false) == Touch::Fault {
            let cpu = &mut CpuCtx::new();
            let (mm, tuning) = (self.mm, self.tuning);
            match self.maps.on(&self.world, cpu, tuning).handle_fault(mm, addr, Access::Read) {
                Fault::Done(FaultKind::Major) => {
                    read += self.folio_pages();
                    // The process waited for the read, and a CPU switched back to it.
                    self.maps.lru_gen_use_mm(self.mm).expect("it lives");
                }
                Fault::Done(FaultKind::Minor) => {}
                other => panic!("clean pages of a file can make room for others: {other:?}"),
            }
        }
        read
    }

    /// Reclaims the scenario's part of the limit.
    fn reclaim(&mut self) {
        let bytes = self.scenario.limit_bytes() * u64::from(self.scenario.reclaim_percent) / 100;
        let (cpu, request) = (&mut CpuCtx::new(), ReclaimRequest::of(bytes));
        match self.maps.on(&self.world, cpu, self.tuning).memory_reclaim(self.memcg, request) {
            Ok(_) => {}
            Err(Errno::EAGAIN) => self.own.short += 1,
            Err(error) => panic!("no signal comes: {error}"),
        }
    }

    /// Returns the number of the generation of each folio of the file; `None` if the folio is not
    /// in memory or in no generation.
    fn generations(&self) -> Vec<Option<u64>> {
        let nr = self.folio_pages();
        (0..self.pages() / nr).map(|k| self.generation_at(k * nr)).collect()
    }

    fn generation_at(&self, page: u64) -> Option<u64> {
        let cpu = &mut CpuCtx::new();
        let engine = &mut self.maps.on(&self.hardware, cpu, self.tuning);
        let id = engine.filemap_get_folio(self.file, page).expect("it lives")?;
        let generation = self.maps.folio(id).expect("it lives").recency().generation();
        engine.release(id, 1).expect("the caller has it");
        let youngest = self.maps.lru_gen_seqs(self.memcg).expect("it is online").0;
        let gens = MAX_NR_GENS as u64;
        generation.map(|generation| youngest - (youngest + gens - generation as u64) % gens)
    }

    /// Returns the number of pages of hot folios that are not in memory, up to the number of cold
    /// ones that are; `generations` has the generation of each folio.
    fn mistakes(&self, generations: &[Option<u64>]) -> u64 {
        let (nr, pages, pattern) = (self.folio_pages(), self.pages(), self.scenario.pattern);
        let is_hot = |k: usize| {
            let first = k as u64 * nr;
            (first..first + nr).any(|page| pattern.has(page, pages))
        };
        let is_in = |k: &usize| generations[*k].is_some();
        let (hot, cold): (Vec<_>, Vec<_>) = (0..generations.len()).partition(|k| is_hot(*k));
        let hot_out = hot.iter().filter(|k| !is_in(k)).count();
        let cold_in = cold.iter().filter(|k| is_in(k)).count();
        hot_out.min(cold_in) as u64 * nr
    }

    fn pages(&self) -> u64 {
        self.scenario.bytes >> F::PAGE_SHIFT
    }

    fn folio_pages(&self) -> u64 {
        1 << self.scenario.order.in_format(self.scenario.format)
    }

    /// Returns all counts so far.
    fn tally(&self) -> Tally {
        let vmstat = self.maps.memcg(self.memcg).expect("it is online").vmstat();
        Tally {
            generations: self.maps.lru_gen_seqs(self.memcg).expect("it is online").0,
            walks: self.maps.mm_stats(self.memcg).expect("it is online"),
            scanned: vmstat.get(Counter::PgscanFile),
            sorted: vmstat.get(Counter::Pgrefill),
            reclaimed: vmstat.get(Counter::PgstealFile),
            refaults: vmstat.get(Counter::WorkingsetRefaultFile),
            tables: self.counting.counts(),
            ..self.own
        }
    }

    /// Ages the cgroup's folios once by a walk that visits every table; returns the counts of the
    /// walk.
    #[cfg(test)]
    pub(super) fn age_by_force(&self) -> MmStats {
        let (cpu, seq) =
            (&mut CpuCtx::new(), self.maps.lru_gen_seqs(self.memcg).expect("it is online").0);
        let before = self.tally();
        let opened = self
            .maps
            .on(&self.world, cpu, self.tuning)
            .try_to_inc_max_seq(self.memcg, seq, 200, true)
            .expect("it is online");
        assert!(opened, "no one else walks");
        self.tally().since(&before).walks
    }
}

impl Tally {
    /// Returns the difference to `before`.
    fn since(&self, before: &Self) -> Self {
        let walks = |of: fn(&MmStats) -> u64| of(&self.walks) - of(&before.walks);
        let tables = |of: fn(&Counts) -> u64| of(&self.tables) - of(&before.tables);
        Self {
            generations: self.generations - before.generations,
            walks: MmStats {
                leaf_total: walks(|stats| stats.leaf_total),
                leaf_young: walks(|stats| stats.leaf_young),
                nonleaf_found: walks(|stats| stats.nonleaf_found),
                nonleaf_added: walks(|stats| stats.nonleaf_added),
            },
            scanned: self.scanned - before.scanned,
            sorted: self.sorted - before.sorted,
            reclaimed: self.reclaimed - before.reclaimed,
            refaults: self.refaults - before.refaults,
            tables: Counts {
                entries_visited: tables(|counts| counts.entries_visited),
                atomics: tables(|counts| counts.atomics),
                invalidations: tables(|counts| counts.invalidations),
                barriers: tables(|counts| counts.barriers),
            },
            ..*self
        }
    }
}

//! Scenario `age-file`: a clean file mapped by processes, and one aging pass over all its folios.

use crate::counting::{Counter, CountingEnv, Counts};
use crate::layout::{Arena, FileLayout, FileSpec};
use crate::walker::make_young;
use pageout_experiment::clock::timed;
use pageout_experiment::fields::{self, FieldError, OrderName, bad};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::{NS_PER_PAGE, counted, labels, measured, per_page};
use pageout_experiment::rounds::{Cell, turns};
use pageout_experiment::this_machine;
use pageout_experiment::variant::{Axes, Variant};
use pageout_paging::walk::{Span, spans};
use pageout_paging::young::YoungCheck;
use pageout_paging::{Env, LockedTable, Order};
use pageout_reclaim::{Aging, MapAs};
use pageout_record::schema::{Better, Ground, Labels, Metric, Record};

const NAME: &str = "age-file";
const FIELDS: &str = "format, order, size, processes, young and map";

/// The scenario, with one value a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgeFile {
    /// Entry format.
    pub format: FormatName,
    /// Folio order.
    pub order: OrderName,
    /// Bytes of the file.
    pub bytes: u64,
    /// Processes that map it.
    pub processes: u32,
    /// Per cent of leaf entries that are young when the pass begins, chosen at random.
    pub young_percent: u8,
    /// Entries that map a folio.
    pub map: MapAs,
}

impl AgeFile {
    /// The threads' layout: 10 GiB mapped once, every entry young.
    pub const DEFAULT: Self = Self {
        format: FormatName::X86_64,
        order: OrderName::Number(4),
        bytes: 10 << 30,
        processes: 1,
        young_percent: 100,
        map: MapAs::Ptes,
    };

    /// The orders of the main table.
    pub const ORDERS: [OrderName; 3] = [OrderName::Number(0), OrderName::Number(4), OrderName::Pmd];

    /// The main table's: [`AgeFile::parse`] of nothing, and PMD leaves as rows of their own.
    pub fn main_table() -> Vec<Self> {
        let ptes = FormatName::MAIN
            .into_iter()
            .flat_map(|format| Self::ORDERS.map(|order| Self { format, order, ..Self::DEFAULT }));
        let leaf = Self { order: OrderName::Pmd, map: MapAs::PmdLeaf, ..Self::DEFAULT };
        let leaves = FormatName::MAIN.map(|format| Self { format, ..leaf });
        ptes.chain(leaves).collect()
    }

    /// Scenarios from `FIELD=VALUE` arguments: format, order and young may be comma-separated
    /// lists, of which every combination is one scenario. Fields left out have
    /// [`AgeFile::DEFAULT`]'s value, but formats and orders those of the main table.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String]) -> Result<Vec<Self>, FieldError> {
        let mut formats = FormatName::MAIN.to_vec();
        let mut orders = Self::ORDERS.to_vec();
        let mut young = vec![Self::DEFAULT.young_percent];
        let mut one = Self::DEFAULT;
        for (field, value) in fields::pairs(arguments)? {
            match field {
                "format" => formats = fields::list("format", value, FormatName::parse)?,
                "order" => orders = fields::list("order", value, OrderName::parse)?,
                "young" => young = fields::list("young", value, parse_percent)?,
                "size" => one.bytes = fields::parse_size(value)?,
                "processes" => one.processes = fields::parse_processes(value)?,
                "map" => one.map = parse_map(value)?,
                _ => {
                    return Err(FieldError::Unknown {
                        scenario: NAME,
                        field: field.to_owned(),
                        accepted: FIELDS,
                    });
                }
            }
        }
        fields::distinct(&orders, &formats)?;
        let mut all = Vec::new();
        for format in formats {
            for order in &orders {
                for young_percent in &young {
                    all.push(Self { format, order: *order, young_percent: *young_percent, ..one });
                }
            }
        }
        all.iter().try_for_each(Self::check)?;
        Ok(all)
    }

    fn check(&self) -> Result<(), FieldError> {
        let folio = (1u64 << self.format.page_shift()) << self.order.in_format(self.format);
        fields::check_size(self.bytes, folio, "folio", MAX_BYTES)?;
        let pmd = self.order.in_format(self.format) == self.format.pmd_order();
        if self.map == MapAs::PmdLeaf && !pmd {
            let problem = format!("map=pmd-leaf needs order=pmd, not order={}", self.order);
            return Err(FieldError::Together { scenario: NAME, problem });
        }
        let leaf = match self.map {
            MapAs::Ptes => 0,
            MapAs::PmdLeaf => u32::from(self.format.pmd_order()),
        };
        let entries = self.bytes >> (self.format.page_shift() + leaf);
        let tables = u128::from(entries) * 8 * u128::from(self.processes);
        if tables > u128::from(MAX_TABLE_BYTES) {
            let problem = format!(
                "{} processes mapping {} need {} MiB of page tables, more than {} MiB",
                self.processes,
                fields::display_size(self.bytes),
                tables >> 20,
                MAX_TABLE_BYTES >> 20,
            );
            return Err(FieldError::Together { scenario: NAME, problem });
        }
        Ok(())
    }

    /// The scenario's fields as records carry them.
    pub fn labels(&self) -> Labels {
        let map = match self.map {
            MapAs::Ptes => "ptes",
            MapAs::PmdLeaf => "pmd-leaf",
        };
        labels([
            ("format", self.format.name().to_owned()),
            ("order", self.order.to_string()),
            ("size", fields::display_size(self.bytes)),
            ("processes", self.processes.to_string()),
            ("young", format!("{}%", self.young_percent)),
            ("map", map.to_owned()),
        ])
    }

    fn spec(&self) -> FileSpec {
        let order = Order::new(self.order.in_format(self.format)).expect("parsed orders are small");
        FileSpec { bytes: self.bytes, order, processes: self.processes, map_as: self.map }
    }

    /// What the scenario takes, table by table.
    pub fn footprint(&self) -> Footprint {
        with_format!(self.format, F => self.spec().footprint::<F>())
    }

    /// Checks that the scenarios' memory, all at once, is there.
    ///
    /// # Errors
    /// [`FieldError::Together`] with what they need and what there is.
    pub fn check_memory(all: &[Self]) -> Result<(), FieldError> {
        let needed = all.iter().map(|one| one.footprint().bytes()).sum();
        this_machine::check_memory(needed)
            .map_err(|problem| FieldError::Together { scenario: NAME, problem })
    }

    /// Memory for [`AgeFile::cell`].
    pub fn arena(&self) -> Arena {
        with_format!(self.format, F => self.spec().arena::<F>())
    }

    /// The scenario set up on `arena`, ready to be measured under `variants`.
    pub fn cell<'a>(
        &self,
        arena: &'a mut Arena,
        variants: &[Variant],
        seed: u64,
    ) -> Box<dyn Cell + 'a> {
        with_format!(self.format, F => AgeCell::<F>::boxed(*self, arena, variants, seed))
    }
}

/// Largest file: its metadata at order 0 is near 12 GiB.
const MAX_BYTES: u64 = 1 << 40;
/// Most memory for page tables.
const MAX_TABLE_BYTES: u64 = 4 << 30;

fn parse_percent(text: &str) -> Result<u8, FieldError> {
    let number = fields::number(text.strip_suffix('%').unwrap_or(text));
    let percent = number.filter(|percent| *percent <= 100);
    percent.ok_or_else(|| bad("young", text, "per cent from 0% to 100%"))
}

fn parse_map(text: &str) -> Result<MapAs, FieldError> {
    match text {
        "ptes" => Ok(MapAs::Ptes),
        "pmd-leaf" => Ok(MapAs::PmdLeaf),
        _ => Err(bad("map", text, "ptes or pmd-leaf")),
    }
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// `folio_referenced` of every folio, in file order.
    FolioReferenced,
    /// The young helper alone over every folio's entries.
    Helper,
}

const STAGES: [Stage; 2] = [Stage::FolioReferenced, Stage::Helper];

impl Stage {
    const fn metric(self) -> &'static str {
        match self {
            Self::FolioReferenced => "folio_referenced",
            Self::Helper => "helper alone",
        }
    }
}

/// Times of one variant, a list a stage, in [`STAGES`]' order.
type Samples = [Vec<f64>; STAGES.len()];

struct AgeCell<'a, F> {
    scenario: AgeFile,
    layout: FileLayout<'a, F>,
    variants: Vec<(Variant, Samples)>,
    seed: u64,
}

impl<'a, F: Arch> AgeCell<'a, F> {
    fn boxed(
        scenario: AgeFile,
        arena: &'a mut Arena,
        variants: &[Variant],
        seed: u64,
    ) -> Box<dyn Cell + 'a>
    where
        F: 'a,
    {
        let layout = FileLayout::<F>::build(arena, &scenario.spec());
        let variants = variants.iter().map(|variant| (*variant, Samples::default())).collect();
        Box::new(Self { scenario, layout, variants, seed })
    }

    /// Makes the scenario's share of entries young, the same ones for every variant.
    fn make_young(&self) {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let percent = self.scenario.young_percent;
        let env = &self.layout.ground.env;
        for mm in &self.layout.mms {
            let root = self.layout.ground.maps.mm(*mm).root();
            make_young(env, root, self.layout.range.clone(), |_| random.u8(0..100) < percent);
        }
    }

    /// 4K pages mapped, each as often as processes map it.
    fn pages(&self) -> f64 {
        (self.scenario.bytes >> 12) as f64 * f64::from(self.scenario.processes)
    }

    /// Asks every folio once; how many were referenced.
    fn age<E: Env<Format = F>>(&self, env: &E, aging: Aging) -> u64 {
        self.layout.ground.age(env, &self.layout.folios, aging)
    }

    /// Checks the entries of every folio with the helper alone; how many calls found one young.
    fn sweep<E: Env<Format = F>>(&self, env: &E, aging: Aging) -> u64 {
        let nr = self.scenario.spec().order.nr_pages();
        let mut young = 0;
        for mm in &self.layout.mms {
            let mm = self.layout.ground.maps.mm(*mm);
            let check =
                YoungCheck { env, family: aging.family, flush: aging.flush, asid: mm.asid() };
            for span in spans(env, mm.root(), self.layout.range.clone()) {
                match span {
                    Span::PmdLeaf { frame, range } => {
                        let pt = LockedTable::lock(env, frame);
                        young += u64::from(check.pmdp_clear_flush_young(&pt, range.start));
                    }
                    Span::Ptes { frame, ahead, range } => {
                        let pt = LockedTable::lock(env, frame)
                            .prefetching(ahead.map(|frame| env.table(frame)));
                        let mut addr = range.start;
                        while addr < range.end {
                            young += u64::from(check.clear_flush_young_ptes(&pt, addr, nr));
                            addr = addr.add((nr as u64) << F::PAGE_SHIFT);
                        }
                    }
                }
            }
        }
        young
    }

    fn aging(&self, variant: Variant) -> Aging {
        variant.aging(self.scenario.format.flush_policy())
    }

    /// What `stage` did, and the folios (or calls) that it found young.
    fn counted(&self, stage: Stage, variant: Variant) -> (Counts, u64) {
        self.make_young();
        let counter = Counter::of::<F>();
        let env = CountingEnv::new(self.layout.ground.env, &counter);
        let aging = self.aging(variant);
        let young = match stage {
            Stage::FolioReferenced => self.age(&env, aging),
            Stage::Helper => self.sweep(&env, aging),
        };
        (counter.counts(), young)
    }
}

impl<F: Arch> Cell for AgeCell<'_, F> {
    fn sample(&mut self, round: usize) {
        let pages = self.pages();
        for (k, stage) in STAGES.into_iter().enumerate() {
            for v in turns(self.variants.len(), round) {
                self.make_young();
                let aging = self.aging(self.variants[v].0);
                let (_, ns) = timed(|| match stage {
                    Stage::FolioReferenced => self.age(&self.layout.ground.env, aging),
                    Stage::Helper => self.sweep(&self.layout.ground.env, aging),
                });
                self.variants[v].1[k].push(ns as f64 / pages);
            }
        }
    }

    fn records(&mut self) -> Vec<Record> {
        let pages = self.pages();
        let record = |variant: Variant, metrics: Vec<Metric>| Record {
            scenario: NAME.to_owned(),
            ground: Ground::Host,
            seed: self.seed,
            fields: self.scenario.labels(),
            variant: variant.labels(Axes::Aging),
            metrics,
        };
        let with_counts = |(variant, samples): &(Variant, Samples)| {
            let (counts, referenced) = self.counted(Stage::FolioReferenced, *variant);
            let (helper, _) = self.counted(Stage::Helper, *variant);
            let times = STAGES.into_iter().zip(samples);
            let mut metrics: Vec<_> =
                times.map(|(stage, ns)| measured(stage.metric(), NS_PER_PAGE, ns)).collect();
            metrics.extend(counts.metrics(pages));
            let by_helper = helper.entries_visited as f64 / pages;
            metrics.push(per_page("entries visited by the helper alone", by_helper));
            metrics.push(counted(
                "folios referenced",
                "folios",
                referenced as f64,
                Better::Neither,
            ));
            record(*variant, metrics)
        };
        self.variants.iter().map(with_counts).collect()
    }
}

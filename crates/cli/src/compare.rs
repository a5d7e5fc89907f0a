//! `compare`, and the main table: variants against a base.

use crate::args::{CompareArgs, RunArgs};
use crate::error::CliError;
use crate::options::{Common, Rows};
use crate::request::{Request, distinct};
use crate::tables::comparison;
use crate::this_run::this_run;
use crate::trace::{name_of, source_of};
use crate::{fail_on, files, model, output, progress, tables};
use pageout_experiment::declare::{Checked, Declared};
use pageout_experiment::rounds::{Cell, Rounds, measure};
use pageout_experiment::scenarios::{AgeFile, AgingRounds, MadvFree, ReclaimFile, Scenario};
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_host::floor::Floors;
use pageout_host::layout::Arena;
use pageout_host::reclaim_file;
use pageout_host::replay::Replay;
use pageout_host::scenario::OnHost;
use pageout_host::{age_file, aging_rounds, madv_free};
use pageout_model::access_patterns;
use pageout_model::memcg_trace::PricedTrace;
use pageout_model::sweep::FlushSweep;
use pageout_model::thpscale::Thpscale;
use pageout_record::compare::compare as compare_records;
use pageout_record::render;
use pageout_record::schema::{Basis, Ground, Labels, Metric, Record, RecordSet};
use pageout_reproduce::published;
use std::process::ExitCode;

/// What to measure.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub reclaims: Vec<ReclaimFile>,
    pub files: Vec<AgeFile>,
    pub replays: Vec<Replay>,
    pub rounds: Vec<AgingRounds>,
    pub freed: Vec<MadvFree>,
    /// The main table is more than its scenarios.
    main: bool,
}

/// The variants of scenarios of either kind, the base first.
#[derive(Debug)]
pub(crate) struct Variants {
    pub aging: Vec<Variant>,
    pub reclaim: Vec<Variant>,
}

/// Bytes of page tables that map the threads' 10 GiB.
const FLOOR_TABLES: usize = 20 << 20;

const CAUTION: &str = "\
All young means every entry. With contiguous TLB entries hardware may set one entry of a block for
all of them: that leaves per-entry and batched as they are on arm64-4k and spares line its atomics.
Compare nanoseconds saved per page, not percentages: around what is batched, Linux's reclaim has
more fixed cost than ours, so the percentages above are larger by nature. Rows called arm64-4k or
x86-64 are that entry format and its algorithm on this CPU, whatever it is. Stages are the time
measured with nobody looking, shared out as a sampler on another CPU saw them in runs of their own.
";

pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode, CliError> {
    if let Some(named) = files::named(args) {
        return files::compare(&named, args);
    }
    files::refuse(args)?;
    let common = &args.common;
    let request = Request::new(args.scenario.as_deref(), &args.fields, common)?;
    let variants = Variants::of(args, &request)?;
    if common.ground == Ground::Model {
        return model::compare(&request, args, &variants.reclaim);
    }
    let plan = Plan::new(&request, common)?;
    variants.check(&plan)?;
    if plan.main && !args.fail_on.is_empty() {
        return Err(CliError::FailOnMainTable);
    }
    output::check(&common.output.paths(), &common.inputs())?;
    let mut records = plan.measure(common, &variants)?;
    if plan.main {
        records.extend(published::records());
    }
    let set = RecordSet::new(this_run(), records);
    let base = match plan.reclaims() {
        false => variants.aging[0].labels(plan.aging_axes()),
        true => variants.reclaim[0].labels(Axes::Reclaim),
    };
    let parts = if plan.main { main_parts(&set, &variants) } else { Vec::new() };
    let mut compared: Vec<_> = parts.iter().map(|part| (&part.times, &part.base)).collect();
    if !plan.main {
        compared.push((&set, &base));
    }
    let told = output::emit(&common.output, &set, &compared, |set| match plan.main {
        true => main_table(set, &parts, &variants, common.rows),
        false => comparison(set, &base, common.rows),
    });
    fail_on::judge(args, &set.into(), &base, None, told)
}

impl Variants {
    /// What the arguments ask for, all on the request's lists if it names any. Without any, what
    /// the scenario is about.
    fn of(args: &CompareArgs, request: &Request) -> Result<Self, CliError> {
        let parse = |text: &String| Variant::parse_on(request.lru, text);
        let base = args.base.as_ref().map(parse).transpose()?;
        let new = args.new.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let families = |base: Variant| base.in_every_family().filter(|v| *v != base).collect();
        let lru = request.lru.unwrap_or(Lru::Classic);
        let aging = base.unwrap_or(Variant::UNBATCHED_AGING.on(lru));
        let with = |base: Variant, others: Vec<Variant>| {
            let others = if new.is_empty() { others } else { new.clone() };
            [base].into_iter().chain(others).collect::<Vec<_>>()
        };
        let reclaim = match base {
            Some(base) => with(base, families(base)),
            None => {
                let mut own = about(request.scenario, args.common.ground, request.lru);
                let base = own.remove(0);
                with(base, own)
            }
        };
        // The policies of 2018 are compared all together.
        Ok(Self { aging: with(aging, families(aging)), reclaim })
    }

    /// One variant, whatever runs under it.
    pub(crate) fn one(variant: Variant) -> Self {
        Self { aging: vec![variant], reclaim: vec![variant] }
    }

    /// Refuses variants that are the same to the scenarios.
    fn check(&self, plan: &Plan) -> Result<(), CliError> {
        let aging = !plan.files.is_empty() || !plan.replays.is_empty();
        let aging = aging.then_some((&self.aging, plan.aging_axes()));
        let reclaim = plan.reclaims().then_some((&self.reclaim, Axes::Reclaim));
        let mut all = aging.into_iter().chain(reclaim);
        all.try_for_each(|(variants, axes)| distinct(variants, axes))
    }
}

/// What is compared of a scenario that reclaims where nothing else is asked; the base first.
fn about(scenario: Option<Scenario>, ground: Ground, lru: Option<Lru>) -> Vec<Variant> {
    let on = |variants: &[Variant]| {
        let on = |variant: &Variant| variant.on(lru.unwrap_or(Lru::Classic));
        variants.iter().map(on).collect()
    };
    match scenario {
        Some(Scenario::Thpscale) => on(&Thpscale::VARIANTS),
        Some(Scenario::PageoutShared | Scenario::ForkHeavy) => on(&FlushSweep::variants()),
        Some(Scenario::AccessPatterns) => access_patterns::POLICIES.to_vec(),
        Some(Scenario::Trace) if ground == Ground::Model => PricedTrace::variants(lru),
        _ if lru == Some(Lru::Mglru) => {
            [&[Variant::MGLRU_BEFORE][..], &Variant::MGLRU_STEPS].concat()
        }
        _ => [&[Variant::BEFORE][..], &Variant::STEPS].concat(),
    }
}

impl Plan {
    /// What the request asks for; without a scenario, the main table's.
    pub(crate) fn new(request: &Request, common: &Common) -> Result<Self, CliError> {
        model::refuse(&common.machine)?;
        let source = || source_of(common.trace.as_deref());
        let fields = &request.fields;
        let plan = match request.scenario {
            None => Self {
                reclaims: reclaim_file::main_table(),
                replays: Replay::parse(&[], &source()?)?,
                main: true,
                ..Self::default()
            },
            Some(Scenario::AgingRounds) => {
                Self { rounds: AgingRounds::parse(fields)?, ..Self::default() }
            }
            Some(Scenario::ReclaimFile) => {
                Self { reclaims: ReclaimFile::parse(fields)?, ..Self::default() }
            }
            Some(Scenario::AgeFile) => Self { files: AgeFile::parse(fields)?, ..Self::default() },
            Some(Scenario::MadvFree) => Self { freed: MadvFree::parse(fields)?, ..Self::default() },
            Some(Scenario::Trace) => {
                Self { replays: Replay::parse(fields, &source()?)?, ..Self::default() }
            }
            Some(
                Scenario::Thpscale
                | Scenario::PageoutShared
                | Scenario::ForkHeavy
                | Scenario::AccessPatterns,
            ) => unreachable!("a request names a scenario of its ground"),
        };
        AgeFile::check_memory(&plan.files)?;
        ReclaimFile::check_memory(&plan.reclaims)?;
        AgingRounds::check_memory(&plan.rounds)?;
        MadvFree::check_memory(&plan.freed)?;
        Ok(plan)
    }

    /// Whether its scenarios are about reclaim.
    fn reclaims(&self) -> bool {
        !(self.reclaims.is_empty() && self.rounds.is_empty() && self.freed.is_empty())
    }

    /// The axes in which variants differ where nothing is reclaimed.
    fn aging_axes(&self) -> Axes {
        self.replays.first().map_or(Axes::Aging, Replay::axes)
    }

    /// What each scenario takes of memory, as text.
    pub(crate) fn sizes(&self) -> Result<String, CliError> {
        if !self.replays.is_empty() {
            return Err(CliError::SizesOfTrace);
        }
        let reclaims = self.reclaims.iter().map(|one| (one.labels(), one.footprint()));
        let files = self.files.iter().map(|one| (one.labels(), one.footprint()));
        let rounds = self.rounds.iter().map(|one| (one.record_labels(), one.footprint()));
        let freed = self.freed.iter().map(|one| (one.labels(), one.footprint()));
        Ok(reclaims
            .chain(files)
            .chain(rounds)
            .chain(freed)
            .map(|(fields, of)| tables::footprint(&fields, &of))
            .collect())
    }

    /// The generations that each scenario leaves, and what commands make of them, as text; nothing
    /// where there are none. Run apart, and first: a command that is refused ends it.
    pub(crate) fn generations(&self, variant: Variant, args: &RunArgs) -> Result<String, CliError> {
        let (commands, Common { measuring, output, trace, .. }) = (&args.lru_gen, &args.common);
        let mut left = Vec::new();
        if variant.lru == Lru::Mglru && !(output.json || output.csv) {
            for one in &self.reclaims {
                let text = reclaim_file::generations(one, variant, measuring.seed, commands)?;
                left.push((one.labels(), text));
            }
            for one in &self.rounds {
                let text = aging_rounds::generations(one, variant, commands)?;
                left.push((one.record_labels(), text));
            }
            let failed = |source| CliError::Replay { name: name_of(trace.as_deref()), source };
            for one in &self.replays {
                let text = one.generations(variant, commands).map_err(failed)?;
                left.extend(text.map(|text| (one.labels(), text)));
            }
        }
        if left.is_empty() && !commands.is_empty() {
            return Err(CliError::NoGenerations);
        }
        Ok(left.iter().map(|(fields, text)| tables::generations(fields, text)).collect())
    }

    /// Measures all of it under every variant, interleaved; for the main table, the floors too.
    pub(crate) fn measure(
        &self,
        common: &Common,
        variants: &Variants,
    ) -> Result<Vec<Record>, CliError> {
        let seed = common.measuring.seed;
        let mut arenas: Vec<Arena> = self.files.iter().map(AgeFile::arena).collect();
        let mut reclaimed: Vec<Arena> = self.reclaims.iter().map(ReclaimFile::arena).collect();
        let mglru = if self.main { reclaim_file::mglru_table() } else { Vec::new() };
        let mut on_generations: Vec<Arena> = mglru.iter().map(ReclaimFile::arena).collect();
        let mut freed: Vec<Arena> = self.freed.iter().map(MadvFree::arena).collect();
        let mut cells: Vec<Box<dyn Cell + '_>> = Vec::new();
        for (reclaim, arena) in self.reclaims.iter().zip(&mut reclaimed) {
            let by_stage = !self.main || reclaim_file::shows_stages(reclaim);
            cells.push(reclaim_file::cell(reclaim, arena, &variants.reclaim, seed, by_stage));
        }
        let steps = [&[Variant::MGLRU_BEFORE][..], &Variant::MGLRU_STEPS].concat();
        for (reclaim, arena) in mglru.iter().zip(&mut on_generations) {
            cells.push(reclaim_file::cell(reclaim, arena, &steps, seed, true));
        }
        let failed = |source| CliError::Replay { name: name_of(common.trace.as_deref()), source };
        cells
            .extend(self.rounds.iter().map(|rounds| aging_rounds::cell(rounds, &variants.reclaim)));
        for replay in &self.replays {
            let planned = replay.clone().plan(&variants.aging);
            cells.push(planned.map_err(failed)?);
        }
        for (file, arena) in self.files.iter().zip(&mut arenas) {
            cells.push(age_file::cell(file, arena, &variants.aging, seed));
        }
        for (one, arena) in self.freed.iter().zip(&mut freed) {
            cells.push(madv_free::cell(one, arena, &variants.reclaim, seed));
        }
        if self.main {
            cells.push(Box::new(Floors::new(FLOOR_TABLES)));
        }
        let bar = progress::bar("measuring");
        let rounds = if self.main { Rounds::MAIN_TABLE } else { Rounds::DEFAULT };
        let rounds = common.measuring.rounds_or(rounds);
        let records = measure(&mut cells, rounds, &mut progress::steps(&bar));
        bar.finish_and_clear();
        Ok(records)
    }
}

/// The records of `reclaim-file` on these lists.
fn reclaims_on(set: &RecordSet, lru: Lru) -> RecordSet {
    let lru = lru.to_string();
    let of = |record: &Record| record.variant.get("lru") == Some(&lru);
    tables::only(set, |record| record.scenario == ReclaimFile::NAME && of(record))
}

/// A part of the main table: times, with what they are compared with.
struct MainPart {
    title: &'static str,
    times: RecordSet,
    base: Labels,
}

/// The parts of the main table.
fn main_parts(set: &RecordSet, variants: &Variants) -> Vec<MainPart> {
    let part = |title, mut times: RecordSet, base| {
        for record in &mut times.records {
            let shown = |metric: &Metric| !reclaim_file::ABOUT_SAMPLING.contains(&&*metric.name);
            record.metrics.retain(|metric| metric.basis == Basis::Measured && shown(metric));
        }
        MainPart { title, times, base }
    };
    vec![
        part(
            "A clean mapped file, all young once: memory.reclaim of 80%",
            reclaims_on(set, Lru::Classic),
            variants.reclaim[0].labels(Axes::Reclaim),
        ),
        part(
            "The same on generations, where unmapping was batched before",
            reclaims_on(set, Lru::Mglru),
            Variant::MGLRU_BEFORE.labels(Axes::Reclaim),
        ),
        part(
            "A real program: all resident folios aged at the end of each epoch",
            tables::only(set, |record| record.scenario == "trace"),
            variants.aging[0].labels(Axes::Aging),
        ),
    ]
}

/// The main table: times of both scenarios, the floors, and figures of real kernels.
fn main_table(
    set: &RecordSet,
    parts: &[MainPart],
    variants: &Variants,
    rows: Rows,
) -> Result<String, CliError> {
    let classic = reclaims_on(set, Lru::Classic);
    let mglru = reclaims_on(set, Lru::Mglru);
    let base = variants.reclaim[0].labels(Axes::Reclaim);
    let mglru_base = Variant::MGLRU_BEFORE.labels(Axes::Reclaim);
    let mut text = String::new();
    for MainPart { title, times, base } in parts {
        text += &format!("{title}\n\n{}\n", comparison(times, base, rows)?);
    }
    for (records, base) in [(&classic, &base), (&mglru, &mglru_base)] {
        let compared = compare_records(records, base)?;
        text += &format!("{}\n", tables::saved(&compared, reclaim_file::WHOLE));
    }
    text += &format!("{}\n", tables::floors(set));
    for base in [&base, &mglru_base] {
        let base = published::compared(base);
        let same = |record: &Record| record.variant.get("lru") == base.get("lru");
        let figures = tables::only(set, same);
        text += &render::published(&figures, &base).unwrap_or_default();
        text += "\n";
    }
    Ok(text + CAUTION)
}

//! `compare`, and the main table: variants against a base.

use crate::args::{Common, CompareArgs, RunArgs};
use crate::error::CliError;
use crate::this_run::this_run;
use crate::trace::{name_of, source_of};
use crate::{files, model, output, progress, tables};
use pageout_experiment::rounds::{Cell, Rounds, measure};
use pageout_experiment::variant::{Axes, Lru, Variant, VariantError, architecture_flush};
use pageout_host::age_file::AgeFile;
use pageout_host::aging_rounds::{self, AgingRounds};
use pageout_host::floor::Floors;
use pageout_host::layout::Arena;
use pageout_host::reclaim_file::{self, ReclaimFile};
use pageout_host::replay::Replay;
use pageout_model::access_patterns;
use pageout_model::fork_heavy;
use pageout_model::memcg_trace::PricedTrace;
use pageout_model::pageout_shared;
use pageout_model::sweep::FlushSweep;
use pageout_model::thpscale::{self, Thpscale};
use pageout_record::compare::compare as compare_records;
use pageout_record::render::{self, Options};
use pageout_record::schema::{Basis, Labels, Metric, Record, RecordSet};
use pageout_reproduce::published;

/// What to measure.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub reclaims: Vec<ReclaimFile>,
    pub files: Vec<AgeFile>,
    pub replays: Vec<Replay>,
    pub rounds: Vec<AgingRounds>,
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

pub(crate) fn compare(args: &CompareArgs) -> Result<(), CliError> {
    if let Some(paths) = files::named(args) {
        return files::compare(&paths, args);
    }
    let common = &args.common;
    let scenario = args.scenario.as_deref();
    let (lru, fields) = lru_of(scenario, &args.fields, &common.ground)?;
    let mut variants = Variants::of(args, lru)?;
    if scenario == Some(access_patterns::NAME) && args.base.is_none() && args.new.is_empty() {
        variants.reclaim = access_patterns::POLICIES.to_vec();
    }
    if common.ground == "model" {
        return model::compare(scenario, &fields, common, &variants.reclaim);
    }
    let plan = Plan::new(scenario, &fields, common)?;
    variants.check(&plan)?;
    output::check(&[common.output.path()], &common.inputs())?;
    let mut records = plan.measure(common, &variants)?;
    if plan.main {
        records.extend(published::records());
    }
    let set = RecordSet::new(this_run(), records);
    output::emit(&common.output, &set, |set| match (plan.main, plan.reclaims()) {
        (true, _) => main_table(set, &variants),
        (false, false) => table(set, &variants.aging[0].labels(plan.aging_axes())),
        (false, true) => table(set, &variants.reclaim[0].labels(Axes::Reclaim)),
    })
}

/// Takes `lru=` from among the fields of a scenario that reclaims: it is an axis of all variants.
/// One scenario is about generations.
pub(crate) fn lru_of(
    scenario: Option<&str>,
    fields: &[String],
    ground: &str,
) -> Result<(Option<Lru>, Vec<String>), VariantError> {
    let reclaims = match scenario {
        Some(aging_rounds::NAME) => return Ok((Some(Lru::Mglru), fields.to_vec())),
        Some("reclaim-file" | thpscale::NAME | pageout_shared::NAME | fork_heavy::NAME) => true,
        Some("trace") => {
            ground == "model" || fields.iter().any(|field| field.starts_with("limit="))
        }
        _ => false,
    };
    let place = fields.iter().position(|field| field.starts_with("lru=")).filter(|_| reclaims);
    let mut fields = fields.to_vec();
    let lru = place.map(|place| Lru::parse(&fields.remove(place)["lru=".len()..]));
    Ok((lru.transpose()?, fields))
}

/// Whether a scenario is about when other CPUs are told, and not about batches.
fn is_about_shootdowns(scenario: Option<&str>) -> bool {
    matches!(scenario, Some(pageout_shared::NAME | fork_heavy::NAME))
}

/// The variant of a text that leaves `lru` to the scenario, if that names it.
pub(crate) fn variant_on(lru: Option<Lru>, text: &str) -> Result<Variant, VariantError> {
    match lru {
        Some(lru) => format!("lru={lru},{text}").parse(),
        None => text.parse(),
    }
}

impl Variants {
    /// What the arguments ask for, all on `lru`. Without any, aging is compared in every family,
    /// and reclaim in steps from what kernels did before.
    fn of(args: &CompareArgs, lru: Option<Lru>) -> Result<Self, CliError> {
        let parse = |text: &String| variant_on(lru, text);
        let base = args.base.as_ref().map(parse).transpose()?;
        let new = args.new.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let against = |base: Variant, others: Vec<Variant>| {
            let others = if new.is_empty() { others } else { new.clone() };
            [base].into_iter().chain(others).collect()
        };
        let families = |base: Variant| base.in_every_family().filter(|v| *v != base).collect();
        let flushes = args.scenario.as_deref() == Some("trace") && args.common.ground == "model";
        let named = lru;
        let lru = lru.unwrap_or(Lru::Classic);
        let aging = base.unwrap_or(Variant::UNBATCHED_AGING.on(lru));
        Ok(Self {
            aging: against(aging, families(aging)),
            reclaim: match (base, lru) {
                (Some(base), _) => against(base, families(base)),
                (None, lru) if args.scenario.as_deref() == Some(thpscale::NAME) => {
                    let [base, other] = Thpscale::VARIANTS.map(|variant| variant.on(lru));
                    against(base, vec![other])
                }
                (None, lru) if is_about_shootdowns(args.scenario.as_deref()) => {
                    let [base, other] = FlushSweep::variants().map(|variant| variant.on(lru));
                    against(base, vec![other])
                }
                (None, _) if flushes => {
                    let mut all = PricedTrace::variants(named);
                    let base = all.remove(0);
                    against(base, all)
                }
                (None, Lru::Classic) => against(Variant::BEFORE, Variant::STEPS.to_vec()),
                (None, Lru::Mglru) => against(Variant::MGLRU_BEFORE, Variant::MGLRU_STEPS.to_vec()),
            },
        })
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

/// Refuses variants that are the same on these axes.
pub(crate) fn distinct(variants: &[Variant], axes: Axes) -> Result<(), CliError> {
    for (k, variant) in variants.iter().enumerate() {
        let same = |other: &Variant| other.labels(axes) == variant.labels(axes);
        if variants[..k].iter().any(same) {
            return Err(CliError::SameVariant { variant: variant.to_string() });
        }
    }
    Ok(())
}

impl Plan {
    /// What the arguments ask for; without a scenario, the main table's.
    pub(crate) fn new(
        scenario: Option<&str>,
        fields: &[String],
        common: &Common,
    ) -> Result<Self, CliError> {
        match common.ground.as_str() {
            "host" => {}
            "linux" => return Err(CliError::GroundIsTheLab),
            "guest" => return Err(CliError::GroundNotYet(common.ground.clone())),
            _ => return Err(CliError::UnknownGround(common.ground.clone())),
        }
        model::refuse(&common.machine)?;
        let source = || source_of(common.trace.as_deref());
        let plan = match scenario {
            None => Self {
                reclaims: ReclaimFile::main_table(),
                replays: Replay::parse(&[], &source()?)?,
                main: true,
                ..Self::default()
            },
            Some(file @ ("age-file" | "reclaim-file" | aging_rounds::NAME))
                if common.trace.is_some() =>
            {
                return Err(CliError::TraceNotUsed(file.to_owned()));
            }
            Some(aging_rounds::NAME) => {
                Self { rounds: AgingRounds::parse(fields)?, ..Self::default() }
            }
            Some(access_patterns::NAME) => {
                return Err(CliError::ModelAlone(access_patterns::NAME));
            }
            Some(thpscale::NAME) => return Err(CliError::ModelAlone(thpscale::NAME)),
            Some(pageout_shared::NAME) => return Err(CliError::ModelAlone(pageout_shared::NAME)),
            Some(fork_heavy::NAME) => return Err(CliError::ModelAlone(fork_heavy::NAME)),
            Some("reclaim-file") => {
                Self { reclaims: ReclaimFile::parse(fields)?, ..Self::default() }
            }
            Some("age-file") => Self { files: AgeFile::parse(fields)?, ..Self::default() },
            Some("trace") => {
                Self { replays: Replay::parse(fields, &source()?)?, ..Self::default() }
            }
            Some(field) if field.contains('=') => {
                return Err(CliError::FieldsWithoutScenario(field.to_owned()));
            }
            Some(unknown) => return Err(CliError::UnknownScenario(unknown.to_owned())),
        };
        AgeFile::check_memory(&plan.files)?;
        ReclaimFile::check_memory(&plan.reclaims)?;
        AgingRounds::check_memory(&plan.rounds)?;
        Ok(plan)
    }

    /// Whether its scenarios are about reclaim of files.
    fn reclaims(&self) -> bool {
        !(self.reclaims.is_empty() && self.rounds.is_empty())
    }

    /// The axes in which variants differ where no file is reclaimed.
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
        let rounds = self.rounds.iter().map(|one| (one.labels(), one.footprint()));
        Ok(reclaims
            .chain(files)
            .chain(rounds)
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
                left.push((one.labels(), one.generations(variant, measuring.seed, commands)?));
            }
            for one in &self.rounds {
                left.push((one.labels(), one.generations(variant, commands)?));
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
        let mglru = if self.main { ReclaimFile::mglru_table() } else { Vec::new() };
        let mut on_generations: Vec<Arena> = mglru.iter().map(ReclaimFile::arena).collect();
        let mut cells: Vec<Box<dyn Cell + '_>> = Vec::new();
        for (reclaim, arena) in self.reclaims.iter().zip(&mut reclaimed) {
            let by_stage = !self.main || reclaim.shows_stages();
            cells.push(reclaim.cell(arena, &variants.reclaim, seed, by_stage));
        }
        let steps = [&[Variant::MGLRU_BEFORE][..], &Variant::MGLRU_STEPS].concat();
        for (reclaim, arena) in mglru.iter().zip(&mut on_generations) {
            cells.push(reclaim.cell(arena, &steps, seed, true));
        }
        let failed = |source| CliError::Replay { name: name_of(common.trace.as_deref()), source };
        cells.extend(self.rounds.iter().map(|rounds| rounds.cell(&variants.reclaim)));
        for replay in &self.replays {
            let planned = replay.clone().plan(&variants.aging);
            cells.push(planned.map_err(failed)?);
        }
        for (file, arena) in self.files.iter().zip(&mut arenas) {
            cells.push(file.cell(arena, &variants.aging, seed));
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

/// One comparison with everything counted and measured.
pub(crate) fn table(set: &RecordSet, base: &Labels) -> Result<String, CliError> {
    let options = Options { intervals: true, ..Options::default() };
    let table = render::comparison(&compare_records(set, base)?, options);
    let flush = |record: &Record| record.variant.get("flush").is_some_and(|f| f == "architecture");
    let flush = set.records.iter().any(flush).then(|| architecture_flush() + "\n");
    Ok(table + &flush.unwrap_or_default())
}

/// The records of `reclaim-file` on these lists.
fn reclaims_on(set: &RecordSet, lru: Lru) -> RecordSet {
    let lru = lru.to_string();
    let of = |record: &Record| record.variant.get("lru") == Some(&lru);
    tables::only(set, |record| record.scenario == reclaim_file::NAME && of(record))
}

/// The main table: times of both scenarios, the floors, and figures of real kernels.
fn main_table(set: &RecordSet, variants: &Variants) -> Result<String, CliError> {
    let classic = reclaims_on(set, Lru::Classic);
    let mglru = reclaims_on(set, Lru::Mglru);
    let base = variants.reclaim[0].labels(Axes::Reclaim);
    let mglru_base = Variant::MGLRU_BEFORE.labels(Axes::Reclaim);
    let traces = tables::only(set, |record| record.scenario == "trace");
    let mut text = String::new();
    for (records, base, title) in [
        (&classic, &base, "A clean mapped file, all young once: memory.reclaim of 80%"),
        (&mglru, &mglru_base, "The same on generations, where unmapping was batched before"),
        (
            &traces,
            &variants.aging[0].labels(Axes::Aging),
            "A real program: all resident folios aged at the end of each epoch",
        ),
    ] {
        let mut times = records.clone();
        for record in &mut times.records {
            let shown = |metric: &Metric| !reclaim_file::ABOUT_SAMPLING.contains(&&*metric.name);
            record.metrics.retain(|metric| metric.basis == Basis::Measured && shown(metric));
        }
        text += &format!("{title}\n\n{}\n", table(&times, base)?);
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

//! `compare`, and the main table: variants against a base.

use crate::args::{CompareArgs, RunArgs};
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::{Common, Form, Shown};
use crate::request::{Request, distinct};
use crate::tables::comparison;
use crate::this_run::this_run;
use crate::trace::{failed, source_of};
use crate::{fail_on, files, help, model, output, paths, progress, tables};
use pageout_experiment::declare::Declared;
use pageout_experiment::rounds::{Cell, Rounds, measure};
use pageout_experiment::scenarios::metrics::reclaim_file::{SAMPLING_ERROR, WHILE_SAMPLED, WHOLE};
use pageout_experiment::scenarios::{Compared, ReclaimFile, Scenario as Of};
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_host::floor::Floors;
use pageout_host::layout::Arena;
use pageout_host::residency::ReplayError;
use pageout_host::scenario::RunOptions;
use pageout_host::scenarios::reclaim_file;
use pageout_host::{Scenario, check_memory, scenarios};
use pageout_record::compare::compare as compare_records;
use pageout_record::render;
use pageout_record::schema::{Basis, Ground, Labels, Metric, Record, RecordSet};
use pageout_reproduce::published;
use pageout_trace::source::TraceSource;
use std::process::ExitCode;

/// The measurements to make.
pub(crate) struct Plan {
    all: Vec<Planned>,
    /// True for the main table, which has floors besides its scenarios.
    main: bool,
}

/// A scenario with the variants that it is measured under.
struct Planned {
    scenario: Box<dyn Scenario>,
    variants: Vec<Variant>,
    by_stage: bool,
}

/// The variants asked for.
#[derive(Debug)]
pub(crate) struct Variants {
    base: Option<Variant>,
    /// The variants that the base is compared with. `None` for those that the scenario, or the
    /// base, suggests.
    others: Option<Vec<Variant>>,
    /// The lists that all of them are on, if any are named.
    lru: Option<Lru>,
}

/// Bytes of page tables that map the threads' 10 GiB.
const FLOOR_TABLES: usize = 20 << 20;

const CAUTION: &str = "\
All young means every entry. With contiguous TLB entries hardware may set one entry of a block \
for all of them: that leaves per-entry and batched as they are on arm64-4k and spares line its atomics. \
Compare nanoseconds saved per page, not percentages: around what is batched, Linux's reclaim has \
more fixed cost than ours, so the percentages above are larger by nature. Rows called arm64-4k or \
x86-64 are that entry format and its algorithm on this CPU, whatever it is. Stages are the time \
measured with nobody looking, shared out as a sampler on another CPU saw them in runs of their own.
";

pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode, CliError> {
    if let Some(named) = files::named(args) {
        return files::compare(&named, args);
    }
    files::refuse(args)?;
    let common = &args.common;
    paths::check(common, &[])?;
    let request = Request::new(args.scenario.as_deref(), &args.fields, common)?;
    if let Some(scenario) = request.scenario {
        fail_on::check(args, scenario.name(), &request.metrics)?;
    }
    let variants = Variants::of_arguments(args, request.lru)?;
    if common.ground == Ground::Model {
        return model::compare(&request, args, &variants.of(request.compared));
    }
    if args.min_gain.is_some() {
        return Err(CliError::ModelAlone("--min-gain"));
    }
    let plan = Plan::new(&request, common, &variants)?;
    if plan.main && !args.fail_on.is_empty() {
        return Err(CliError::FailOnMainTable);
    }
    let mut records = plan.measure(common)?;
    if plan.main {
        records.extend(published::records());
    }
    let set = RecordSet::new(this_run(), records);
    let base = plan.base();
    let parts = if plan.main { main_parts(&set, &variants) } else { Vec::new() };
    let mut compared: Vec<_> = parts.iter().map(|part| (&part.times, &part.base)).collect();
    if !plan.main {
        compared.push((&set, &base));
    }
    let told = output::emit(&common.output, &set, &compared, |set, columns| match plan.main {
        true => main_table(set, &parts, &variants, common.shown, columns),
        false => comparison(set, &base, common.shown, &[], columns),
    });
    fail_on::judge(args, &set.into(), &base, None, told)
}

impl Variants {
    /// Reads the variants of the arguments. All are on the lists that the fields name, if they name
    /// any.
    fn of_arguments(args: &CompareArgs, lru: Option<Lru>) -> Result<Self, CliError> {
        let parse = |text: &String| Variant::parse_on(lru, text);
        let base = args.base.as_ref().map(parse).transpose()?;
        let new = args.new.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { base, others: (!new.is_empty()).then_some(new), lru })
    }

    /// Returns a single variant without others, whatever runs under it.
    pub(crate) fn one(variant: Variant) -> Self {
        Self { base: Some(variant), others: Some(Vec::new()), lru: None }
    }

    /// Returns the variants that a cell of a sweep names, the base first.
    pub(crate) fn of_cell(texts: &[String], lru: Option<Lru>) -> Result<Self, CliError> {
        let all = texts.iter().map(|text| Variant::parse_on(lru, text));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let others = all.get(1..).map(<[_]>::to_vec);
        Ok(Self { base: all.first().copied(), others, lru })
    }

    /// Returns the variants of a scenario whose default comparison is `compared`, the base first.
    pub(crate) fn of(&self, compared: Compared) -> Vec<Variant> {
        let suggested = match self.base {
            Some(base) => base.with_every_algorithm(),
            None => compared.variants(self.lru),
        };
        match &self.others {
            Some(others) => [&suggested[..1], others].concat(),
            None => suggested,
        }
    }
}

impl Plan {
    /// Plans the request; without a scenario, the main table.
    ///
    /// # Errors
    /// [`CliError`], also for variants that are the same to a scenario.
    pub(crate) fn new(
        request: &Request,
        common: &Common,
        variants: &Variants,
    ) -> Result<Self, CliError> {
        model::refuse(&common.machine)?;
        let trace = source_of(common.trace.as_deref())?;
        let plan = match request.scenario {
            None => Self::main_table(&trace, variants)?,
            Some(scenario) => Self::of_scenario(scenario, request, variants, &trace, true)?,
        };
        plan.check_memory(1)?;
        Ok(plan)
    }

    /// Plans the measurements of a scenario, without checking memory.
    ///
    /// # Errors
    /// [`CliError`], also for variants that are the same to it.
    pub(crate) fn of_scenario(
        scenario: Of,
        request: &Request,
        variants: &Variants,
        trace: &TraceSource,
        by_stage: bool,
    ) -> Result<Self, CliError> {
        let all = scenarios(scenario, &request.fields, trace)?;
        let variants = variants.of(request.compared);
        let planned = |one| Planned::new(one, &variants, by_stage);
        let plan = Self { all: all.into_iter().map(planned).collect(), main: false };
        plan.distinct()?;
        Ok(plan)
    }

    fn distinct(&self) -> Result<(), CliError> {
        self.all.iter().try_for_each(|one| distinct(&one.variants, one.scenario.axes()))
    }

    /// Checks that there is memory to run the plan `times` times at once.
    pub(crate) fn check_memory(&self, times: usize) -> Result<(), CliError> {
        let all = || self.all.iter().map(|one| &*one.scenario);
        Ok(check_memory((0..times).flat_map(|_| all()))?)
    }

    fn main_table(trace: &TraceSource, variants: &Variants) -> Result<Self, CliError> {
        let steps = variants.of(Compared::Steps);
        let classic = reclaim_file::main_table()
            .into_iter()
            .map(|one| Planned::new(Box::new(one), &steps, reclaim_file::shows_stages(&one)));
        let steps = Compared::Steps.variants(Some(Lru::Mglru));
        let mglru = reclaim_file::mglru_table().into_iter();
        let mglru = mglru.map(|one| Planned::new(Box::new(one), &steps, true));
        let algorithms = variants.of(Compared::Algorithms);
        let traces = scenarios(Of::Trace, &[], trace)?.into_iter();
        let traces = traces.map(|one| Planned::new(one, &algorithms, true));
        let plan = Self { all: classic.chain(mglru).chain(traces).collect(), main: true };
        plan.distinct()?;
        Ok(plan)
    }

    /// Returns the base of the comparison.
    fn base(&self) -> Labels {
        let Planned { scenario, variants, .. } = &self.all[0];
        variants[0].labels(scenario.axes())
    }

    /// Writes the memory that each scenario takes.
    pub(crate) fn sizes(&self, columns: usize) -> Result<String, CliError> {
        let size = |one: &Planned| {
            let footprint = one.scenario.footprint().ok_or(CliError::SizesOfTrace)?;
            Ok(tables::footprint(&one.scenario.labels(), &footprint, columns))
        };
        self.all.iter().map(size).collect()
    }

    /// Returns a text of the generations that each scenario leaves after its commands; empty if
    /// there are none. These runs are apart from the measured ones and come first, so that a
    /// refused command ends the program early.
    pub(crate) fn generations(&self, variant: Variant, args: &RunArgs) -> Result<String, CliError> {
        let (commands, Common { measuring, output, shown, trace, .. }) =
            (&args.lru_gen, &args.common);
        let printed = shown.format == Form::Table && !(output.json || output.csv);
        let mut left = Vec::new();
        if variant.lru == Lru::Mglru && printed {
            for Planned { scenario, .. } in &self.all {
                let text = scenario.generations(variant, measuring.seed, commands);
                let text = text.map_err(|error| failed(error, trace.as_deref()))?;
                left.extend(text.map(|text| (scenario.labels(), text)));
            }
        }
        if left.is_empty() && !commands.is_empty() {
            return Err(CliError::NoGenerations);
        }
        Ok(left.iter().map(|(fields, text)| tables::generations(fields, text)).collect())
    }

    /// Measures the plan with the rounds, seed and progress that the command line asks for.
    pub(crate) fn measure(&self, common: &Common) -> Result<Vec<Record>, CliError> {
        let bar = progress::bar("measuring");
        let rounds = if self.main { Rounds::MAIN_TABLE } else { Rounds::DEFAULT };
        let rounds = common.measuring.rounds_or(rounds);
        let records = self.measured(common.measuring.seed, rounds, &mut progress::steps(&bar));
        bar.finish_and_clear();
        records.map_err(|error| failed(error, common.trace.as_deref()))
    }

    /// Measures the plan, with interleaved rounds; for the main table also the floors.
    ///
    /// # Errors
    /// [`ReplayError`] for a trace that cannot be replayed.
    pub(crate) fn measured(
        &self,
        seed: u64,
        rounds: Rounds,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, ReplayError> {
        let mut arenas: Vec<Arena> = self.all.iter().map(|one| one.scenario.arena()).collect();
        let mut cells: Vec<Box<dyn Cell + '_>> = Vec::new();
        for (one, arena) in self.all.iter().zip(&mut arenas) {
            let cell = one.scenario.cell(
                arena,
                &one.variants,
                RunOptions { seed, by_stage: one.by_stage },
            );
            cells.push(cell?);
        }
        if self.main {
            cells.push(Box::new(Floors::new(FLOOR_TABLES)));
        }
        Ok(measure(&mut cells, rounds, progress))
    }
}

impl Planned {
    fn new(scenario: Box<dyn Scenario>, variants: &[Variant], by_stage: bool) -> Self {
        Self { scenario, variants: variants.to_vec(), by_stage }
    }
}

/// Returns the records of `reclaim-file` on these lists.
fn reclaims_on(set: &RecordSet, lru: Lru) -> RecordSet {
    let lru = lru.to_string();
    let of = |record: &Record| record.variant.get("lru") == Some(&lru);
    tables::only(set, |record| record.scenario == ReclaimFile::NAME && of(record))
}

/// A part of the main table: times, and the base that they are compared with.
struct MainPart {
    title: &'static str,
    times: RecordSet,
    base: Labels,
}

/// Returns the parts of the main table.
fn main_parts(set: &RecordSet, variants: &Variants) -> Vec<MainPart> {
    let part = |title, mut times: RecordSet, base| {
        for record in &mut times.records {
            let sampler = [WHILE_SAMPLED.name, SAMPLING_ERROR.name];
            let shown = |metric: &Metric| !sampler.contains(&&*metric.name);
            record.metrics.retain(|metric| metric.basis == Basis::Measured && shown(metric));
        }
        MainPart { title, times, base }
    };
    vec![
        part(
            "A clean mapped file, all young once: memory.reclaim of 80%",
            reclaims_on(set, Lru::Classic),
            variants.of(Compared::Steps)[0].labels(Axes::Reclaim),
        ),
        part(
            "The same on generations, where unmapping was batched before",
            reclaims_on(set, Lru::Mglru),
            Variant::MGLRU_BEFORE.labels(Axes::Reclaim),
        ),
        part(
            "A real program: all resident folios aged at the end of each epoch",
            tables::only(set, |record| record.scenario == "trace"),
            variants.of(Compared::Algorithms)[0].labels(Axes::Aging),
        ),
    ]
}

/// Writes the main table: times of both scenarios, the floors, and figures of real kernels.
fn main_table(
    set: &RecordSet,
    parts: &[MainPart],
    variants: &Variants,
    shown: Shown,
    columns: usize,
) -> Result<String, CliError> {
    let classic = reclaims_on(set, Lru::Classic);
    let mglru = reclaims_on(set, Lru::Mglru);
    let base = variants.of(Compared::Steps)[0].labels(Axes::Reclaim);
    let mglru_base = Variant::MGLRU_BEFORE.labels(Axes::Reclaim);
    let mut text = String::new();
    for MainPart { title, times, base } in parts {
        text += &format!("{title}\n\n{}\n", comparison(times, base, shown, &[], columns)?);
    }
    if shown.format != Form::Table {
        return Ok(text);
    }
    for (records, base) in [(&classic, &base), (&mglru, &mglru_base)] {
        let compared = compare_records(records, base, &DECLARED)?;
        text += &format!("{}\n", tables::saved(&compared, WHOLE.name, columns));
    }
    text += &format!("{}\n", tables::floors(set, columns));
    for base in [&base, &mglru_base] {
        let base = published::compared(base);
        let same = |record: &Record| record.variant.get("lru") == base.get("lru");
        let figures = tables::only(set, same);
        text += &render::published(&figures, &base, columns).unwrap_or_default();
        text += "\n";
    }
    Ok(text + &help::wrapped(CAUTION.trim_end(), "", columns))
}

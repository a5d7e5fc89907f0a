//! `compare`, and the main table: variants against a base.

use crate::args::{Common, CompareArgs};
use crate::error::CliError;
use crate::trace::{name_of, source_of};
use crate::{files, output, progress, tables};
use pageout_record::compare::compare as compare_records;
use pageout_record::render::{self, Options};
use pageout_record::schema::{Basis, Labels, Record, RecordSet};
use pageout_sim::age_file::AgeFile;
use pageout_sim::floor::Floors;
use pageout_sim::layout::Arena;
use pageout_sim::published;
use pageout_sim::replay::Replay;
use pageout_sim::rounds::{Cell, measure};
use pageout_sim::this_machine::this_run;
use pageout_sim::variant::{Axes, Variant, architecture_flush};

/// What to measure.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub files: Vec<AgeFile>,
    pub replays: Vec<Replay>,
}

/// Bytes of page tables that map the threads' 10 GiB.
const FLOOR_TABLES: usize = 20 << 20;

const CAUTION: &str = "\
All young means every entry. With contiguous TLB entries hardware may set one entry of a block for
all of them: that leaves per-entry and batched as they are on arm64-4k and spares line its atomics.
Compare nanoseconds saved per page, not percentages: around the check, Linux's whole reclaim has
more fixed cost than ours, so the percentages above are larger by nature. Rows called arm64-4k or
x86-64 are that entry format and its algorithm on this CPU, whatever it is.
";

pub(crate) fn compare(args: &CompareArgs) -> Result<(), CliError> {
    if let Some(paths) = files::named(args) {
        return files::compare(&paths, args);
    }
    let common = &args.common;
    let base = args.base.as_deref().unwrap_or("young=per-entry").parse::<Variant>()?;
    let mut variants = vec![base];
    for new in &args.new {
        variants.push(new.parse()?);
    }
    if args.new.is_empty() {
        variants.extend(base.in_every_family().filter(|variant| *variant != base));
    }
    for (k, variant) in variants.iter().enumerate() {
        let same = |other: &Variant| other.labels(Axes::Aging) == variant.labels(Axes::Aging);
        if variants[..k].iter().any(same) {
            return Err(CliError::SameVariant { variant: variant.to_string() });
        }
    }
    let main = args.scenario.is_none();
    let plan = Plan::new(args.scenario.as_deref(), &args.fields, common)?;
    output::check(&common.output)?;
    let mut records = plan.measure(common, &variants, main)?;
    if main {
        records.extend(published::records());
    }
    let set = RecordSet::new(this_run(), records);
    let base = base.labels(Axes::Aging);
    output::emit(&common.output, &set, |set| {
        if main { main_table(set, &base) } else { table(set, &base) }
    })
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
            "model" | "guest" => {
                return Err(CliError::GroundNotYet(common.ground.clone()));
            }
            _ => return Err(CliError::UnknownGround(common.ground.clone())),
        }
        let source = || source_of(common.trace.as_deref());
        let plan = match scenario {
            None => Self { files: AgeFile::main_table(), replays: Replay::parse(&[], &source()?)? },
            Some("age-file") if common.trace.is_some() => {
                return Err(CliError::TraceNotUsed("age-file".to_owned()));
            }
            Some("age-file") => Self { files: AgeFile::parse(fields)?, replays: Vec::new() },
            Some("trace") => {
                Self { files: Vec::new(), replays: Replay::parse(fields, &source()?)? }
            }
            Some(field) if field.contains('=') => {
                return Err(CliError::FieldsWithoutScenario(field.to_owned()));
            }
            Some(unknown) => return Err(CliError::UnknownScenario(unknown.to_owned())),
        };
        AgeFile::check_memory(&plan.files)?;
        Ok(plan)
    }

    /// Measures all of it under every variant, interleaved, with the floors if asked for.
    pub(crate) fn measure(
        &self,
        common: &Common,
        variants: &[Variant],
        floors: bool,
    ) -> Result<Vec<Record>, CliError> {
        let seed = common.measuring.seed;
        let mut arenas: Vec<Arena> = self.files.iter().map(AgeFile::arena).collect();
        let mut cells: Vec<Box<dyn Cell + '_>> = Vec::new();
        let failed = |source| CliError::Replay { name: name_of(common.trace.as_deref()), source };
        for replay in &self.replays {
            let planned = replay.clone().plan(variants);
            cells.push(planned.map_err(failed)?);
        }
        for (file, arena) in self.files.iter().zip(&mut arenas) {
            cells.push(file.cell(arena, variants, seed));
        }
        if floors {
            cells.push(Box::new(Floors::new(FLOOR_TABLES)));
        }
        let bar = progress::bar("measuring");
        let records = measure(&mut cells, common.measuring.rounds(), &mut progress::steps(&bar));
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

/// The main table: times of both scenarios, the floors, and figures of real kernels.
fn main_table(set: &RecordSet, base: &Labels) -> Result<String, CliError> {
    let mut text = String::new();
    for (scenario, title) in [
        ("age-file", "A clean file's folios, all young: one aging pass over the threads' layout"),
        ("trace", "A real program: all resident folios aged at the end of each epoch"),
    ] {
        let mut times = tables::only(set, |record| record.scenario == scenario);
        for record in &mut times.records {
            record.metrics.retain(|metric| metric.basis == Basis::Measured);
        }
        text += &format!("{title}\n\n{}\n", table(&times, base)?);
    }
    let files = tables::only(set, |record| record.scenario == "age-file");
    text += &format!("{}\n", tables::saved(&compare_records(&files, base)?));
    text += &format!("{}\n", tables::floors(set));
    text += &render::published(set, &published::compared(base)).unwrap_or_default();
    Ok(text + "\n" + CAUTION)
}

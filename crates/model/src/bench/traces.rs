//! The part of `bench machine` about real programs: a sample trace is repeated in half of its
//! memory on a modelled core, with its faults and the engine's work in them.

use crate::scenarios::memcg_trace::MemcgTrace;
use crate::{Model, ModelRun};
use pageout_experiment::clock::timed;
use pageout_experiment::formats::FormatName;
use pageout_experiment::metrics::{counted, labels, measured};
use pageout_experiment::scenarios::TraceModelledLists;
use pageout_experiment::variant::Variant;
use pageout_host::bench::{Bound, goal_record};
use pageout_machine::platform::Draw;
use pageout_paging::young::YoungAlgorithm;
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record};
use pageout_trace::source::TraceSource;
use std::num::NonZeroUsize;

/// The scenario of its records.
pub const PROGRAMS: &str = "bench machine, programs";
/// The metrics of its records. Accesses that a trace leaves out hit in any TLB here. The machine
/// does not look them up: it only adds their time.
pub const PROGRAM_COLUMNS: [&str; 7] = [
    "accesses, million",
    "simulated, million",
    "accesses, million/s",
    "simulated, million/s",
    "faults per million",
    "hidden, of simulated",
    "bytes a page",
];

/// Least number of a program's accesses in all its repetitions.
const ACCESSES: u64 = 1_000_000_000;
/// Least million accesses of a program a second.
const RATE: f64 = 20.0;
/// Most bytes for each page of the program. They depend on its pages, not on its accesses.
const BYTES: f64 = 2048.0;

/// Returns a record for each sample on each format's server, and its goals. Each sample is repeated
/// `repeat` times, or until it has made the accesses that the goal is about.
pub(super) fn programs(
    repeat: Option<u16>,
    seed: u64,
    progress: &mut dyn FnMut(usize, usize),
) -> Vec<Record> {
    let samples: Vec<_> = TraceSource::samples().collect();
    let each = samples.iter().flat_map(|sample| FormatName::MAIN.map(|format| (sample, format)));
    let all = samples.len() * FormatName::MAIN.len();
    let mut records = Vec::new();
    for (done, (sample, format)) in each.enumerate() {
        records.extend(program(sample, format, repeat, seed));
        progress(done + 1, all);
    }
    records
}

fn program(
    sample: &TraceSource,
    format: FormatName,
    repeat: Option<u16>,
    seed: u64,
) -> Vec<Record> {
    let threads = NonZeroUsize::MIN;
    let model = Model { platform: None, cores: Some(1), draws: 0, runs: 1, seed, threads };
    let info = sample.info().expect("a sample is a trace");
    let repeat = repeat.map_or(ACCESSES.div_ceil(info.totals.references), u64::from);
    let repeat = u32::try_from(repeat).expect("samples are long");
    let lists =
        TraceModelledLists { format: vec![format], repeat: vec![repeat], ..Default::default() };
    let parsed = MemcgTrace::all(&lists, sample, &model).expect("samples suit the servers");
    let [one] = &parsed[..] else { unreachable!("one format and order are one scenario") };
    let plan = one.plan().expect("a sample fits");
    let (variant, run) =
        (Variant::of(YoungAlgorithm::Line), ModelRun { draw: Draw::Nominal, seed });
    let (outcome, ns) = timed(|| one.run(&plan, &model, variant, run));
    let outcome = outcome.expect("half of a sample's memory is enough");
    let [made, simulated] = [outcome.played.accesses(), outcome.played.simulated];
    let each = |nr: u64| nr as f64 * 1e3 / ns as f64;
    let decisions = &outcome.decisions;
    let faults = (decisions.major_faults + decisions.minor_faults) as f64 * 1e6 / made as f64;
    let hidden = outcome.report.hidden.accesses as f64 / simulated as f64;
    let bytes = outcome.bytes as f64 / decisions.pages as f64;
    let [of_made, of_simulated, rate, looked_up, of_faults, of_hidden, of_bytes] = PROGRAM_COLUMNS;
    let count = |name, unit, value| counted(name, unit, value, Better::Neither);
    let fast = |name, value| Metric { better: Better::Higher, ..measured(name, "", &[value]) };
    let fields = labels([
        ("trace", sample.name().to_owned()),
        ("format", format.name().to_owned()),
        ("repeat", repeat.to_string()),
    ]);
    let name = format!("{}, {}", sample.name(), format.name());
    let goal = |what: &str, bound, unit, value| {
        goal_record(&format!("{name}: {what}"), bound, unit, vec![value], seed)
    };
    let metrics = vec![
        count(of_made, "", made as f64 / 1e6),
        count(of_simulated, "", simulated as f64 / 1e6),
        fast(rate, each(made)),
        fast(looked_up, each(simulated)),
        count(of_faults, "", faults),
        count(of_hidden, "", hidden),
        count(of_bytes, "", bytes),
    ];
    vec![
        Record {
            scenario: PROGRAMS.to_owned(),
            ground: Ground::Host,
            seed,
            fields,
            variant: Labels::new(),
            metrics,
        },
        goal("accesses", Bound::AtLeast(RATE), ("million/s", Basis::Measured), each(made)),
        goal("memory a page", Bound::AtMost(BYTES), ("bytes", Basis::Counted), bytes),
    ]
}

//! The tables of scenario `thpscale`, as mmtests prints them: the mean time of a slot by threads,
//! and where the time of all rows went.

use pageout_experiment::scenarios::metrics::machine::{BROADCASTS, HIDDEN, INTERRUPTS};
use pageout_experiment::scenarios::metrics::thpscale::{
    AMEAN, BOTH, ELAPSED, HUGE_SHARE, SYSTEM, USER, WAITING,
};
use pageout_model::interval;
use pageout_record::render::{Align, Grid, estimate, exact, rounded};
use pageout_record::schema::{Labels, Record, RecordSet};
use pageout_record::stats::{Interval, Mean};

/// Of intervals around means.
const LEVEL: f64 = 0.95;

/// What is told of every row beside its time.
const COUNTS: [&str; 9] = [
    "pgmigrate_success",
    "compact_stall",
    "compact_success",
    "allocstall_normal",
    "pgsteal_file",
    BROADCASTS.name,
    INTERRUPTS.name,
    HIDDEN.name,
    WAITING.name,
];

const LEGEND: &str = "\
Amean: the mean of all slots' times (fault-both).
gain: against the base; negative is slower; * where the two 95% intervals do not meet.
sd: standard deviation. huge: slots whose first store got 2 MiB.
user, system, waiting: of the threads, all together.
Slots of one run depend on one another: intervals tell how much slots vary, not machines.
Modelled; docs/model.md has what a small memory distorts.
";

/// All of it; `base` is the variant that others are compared with.
pub(crate) fn table(set: &RecordSet, base: &Labels, columns: usize) -> String {
    let title = Titles::of(set);
    let drawn = set.records.iter().any(|record| values(record, &AMEAN.drawn_name()).is_some());
    let mut text = format!(
        "{}, {}\n\n{}\n",
        pairs(&common(set, |record| &record.fields)),
        pairs(&common(set, |record| &record.variant)),
        times(set, base, &title, drawn).text(columns)
    );
    for grid in [durations(set, base, &title), counts(set, &title)] {
        text += &format!("{}\n", grid.text(columns));
    }
    text += LEGEND;
    if drawn {
        text += "drawn: the gain's 5th and 95th percentile over draws of all prices\n";
    }
    text
}

fn times(set: &RecordSet, base: &Labels, title: &Titles, drawn: bool) -> Grid {
    let columns =
        ["threads", "variant", "slots", "Amean, us", "gain", "95% interval", "sd, us", "huge"];
    let columns = columns.into_iter().chain(drawn.then_some("gain, drawn"));
    let align = |column| match column {
        "threads" | "variant" => Align::Left,
        _ => Align::Right,
    };
    let mut grid = Grid::new(columns.map(|column| (column, align(column))));
    for record in &set.records {
        let Some((of, interval)) = mean(record) else { continue };
        let against = set.records.iter().find(|other| is_base_of(other, record, base));
        let against = against.filter(|other| other.variant != record.variant);
        let gain = against.and_then(mean).map(|(before, other)| {
            let apart = interval.zip(other).is_some_and(|(a, b)| a.high < b.low || b.high < a.low);
            format!("{}{}", percent(before.mean, of.mean), if apart { "*" } else { " " })
        });
        let ends = interval.map_or([of.mean; 2], |of| [of.low, of.high]);
        let [mean, low, high] = estimate(of.mean, ends);
        let mut cells = vec![
            field(record, "threads"),
            title.of_variant(&record.variant),
            exact(of.n as f64),
            mean,
            gain.unwrap_or_default(),
            interval.map_or_else(String::new, |_| format!("{low} to {high}")),
            rounded(of.deviation),
            format!("{:.1}%", values(record, HUGE_SHARE.name).map_or(f64::NAN, |share| share[0])),
        ];
        if drawn {
            cells.push(against.and_then(|other| drawn_gain(other, record)).unwrap_or_default());
        }
        grid.row(cells);
    }
    grid
}

/// The mean of a record's slots, and its interval, if they are several.
fn mean(record: &Record) -> Option<(Mean, Option<Interval>)> {
    let of = Mean::of(values(record, BOTH.name)?)?;
    Some((of, of.interval(LEVEL)))
}

/// The ends of the gain over draws, of which both have the same.
fn drawn_gain(before: &Record, after: &Record) -> Option<String> {
    let drawn = AMEAN.drawn_name();
    let pairs = values(before, &drawn)?.iter().zip(values(after, &drawn)?);
    let ratios: Vec<_> = pairs.map(|(before, after)| after / before).collect();
    let Interval { low, high, .. } = interval(&ratios)?;
    Some(format!("{} to {}", percent(1.0, high), percent(1.0, low)))
}

/// Seconds of all rows together.
fn durations(set: &RecordSet, base: &Labels, title: &Titles) -> Grid {
    let mut variants: Vec<&Labels> = Vec::new();
    for record in &set.records {
        if !variants.contains(&&record.variant) {
            variants.push(&record.variant);
        }
    }
    let columns = ["Duration, s", "variant", "all rows", "gain"];
    let align = [Align::Left, Align::Left, Align::Right, Align::Right];
    let mut grid = Grid::new(columns.into_iter().zip(align));
    let sum = |variant: &Labels, name: &str| -> f64 {
        let of = set.records.iter().filter(|record| record.variant == *variant);
        let mean = |record| Mean::of(values(record, name)?);
        of.filter_map(mean).map(|mean| mean.mean).sum()
    };
    for name in [USER, SYSTEM, ELAPSED].map(|metric| metric.name) {
        for variant in &variants {
            let is_base = *variant == base;
            let gain = || percent(sum(base, name), sum(variant, name));
            grid.row([
                name.to_owned(),
                title.of_variant(variant),
                rounded(sum(variant, name)),
                if is_base { String::new() } else { gain() },
            ]);
        }
    }
    grid
}

fn counts(set: &RecordSet, title: &Titles) -> Grid {
    let told = |name: &&&str| {
        let nonzero = |values: &[f64]| values[0] > 0.0;
        set.records.iter().any(|record| values(record, name).is_some_and(nonzero))
    };
    let counts: Vec<_> = COUNTS.iter().filter(told).copied().collect();
    let labels = ["threads", "variant"].map(|head| (head, Align::Left));
    let counted = counts.iter().map(|head| (*head, Align::Right));
    let mut grid = Grid::new(labels.into_iter().chain(counted));
    for record in &set.records {
        let cells = [field(record, "threads"), title.of_variant(&record.variant)];
        let count = |name: &&str| values(record, name).map_or_else(String::new, |v| shown(v[0]));
        grid.row(cells.into_iter().chain(counts.iter().map(count)));
    }
    grid
}

/// How variants are told apart.
struct Titles(Vec<String>);

impl Titles {
    fn of(set: &RecordSet) -> Self {
        let same = common(set, |record| &record.variant);
        let axes = set.records.iter().flat_map(|record| record.variant.keys());
        let mut differ: Vec<_> = axes.filter(|axis| !same.contains_key(axis)).cloned().collect();
        differ.sort();
        differ.dedup();
        Self(differ)
    }

    fn of_variant(&self, variant: &Labels) -> String {
        let part = |axis: &String| variant.get(axis).map(|choice| format!("{axis}={choice}"));
        let parts: Vec<_> = self.0.iter().filter_map(part).collect();
        if parts.is_empty() { "all".to_owned() } else { parts.join(" ") }
    }
}

/// What all records have in common.
fn common(set: &RecordSet, of: fn(&Record) -> &Labels) -> Labels {
    let mut records = set.records.iter().map(of);
    let mut same = records.next().cloned().unwrap_or_default();
    for labels in records {
        same.retain(|name, value| labels.get(name).is_some_and(|other| other == value));
    }
    same
}

fn is_base_of(other: &Record, record: &Record, base: &Labels) -> bool {
    other.fields == record.fields && other.seed == record.seed && other.variant == *base
}

/// Counts exactly, seconds with the digits that matter.
fn shown(value: f64) -> String {
    if value.fract() == 0.0 { exact(value) } else { rounded(value) }
}

fn percent(before: f64, after: f64) -> String {
    format!("{:.2}%", 100.0 * (before - after) / before)
}

fn field(record: &Record, name: &str) -> String {
    record.fields.get(name).cloned().unwrap_or_default()
}

fn values<'a>(record: &'a Record, name: &str) -> Option<&'a [f64]> {
    let metric = record.metrics.iter().find(|metric| metric.name == name)?;
    Some(&metric.values)
}

fn pairs(labels: &Labels) -> String {
    let pairs = labels.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

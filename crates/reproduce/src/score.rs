//! The score: the distance of predictions of identified figures from the threads', compared with
//! two simpler predictions, and the width of their intervals.

use super::answer::RATIO;
use super::cause;
use super::figures::all;
use super::platforms::{ARM, KUNPENG, SNAPDRAGON, X86};
use super::rows::{Row, rows};
use super::split::{self, Class};
use pageout_experiment::metrics::labels;
use pageout_record::render::{Align, Grid, estimate, rounded};
use pageout_record::schema::{Basis, Better, Ground, Labels, Metric, Record};
use pageout_record::stats::{Interval, Kind};
use std::fmt::Write;

/// The scenario of the records that compare predictions with the threads' numbers.
const SCORE: &str = "reproduce score";
/// Their metric.
const FACTOR: &str = "ours / theirs";

/// The clusters of figures: machines that were measured, and the platforms that model them.
pub(super) const CLUSTERS: [(&str, &str); 4] = [
    ("arm64 server, 32 cores", ARM),
    ("x86 server", X86),
    ("phone, 8 cores", SNAPDRAGON),
    ("Kunpeng 920, 96 cores", KUNPENG),
];

/// The 90th and the 95th percentile of the normal distribution.
const P90: f64 = 1.2816;
const P95: f64 = 1.6449;

/// An identified number with its prediction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Scored<'a, 'b> {
    figure: &'a str,
    quantity: &'a str,
    unit: &'a str,
    why: &'static str,
    /// The index in [`CLUSTERS`].
    pub(super) cluster: usize,
    pub(super) theirs: f64,
    /// The prediction at nominal prices.
    pub(super) ours: f64,
    /// Standard deviations of the logarithm over draws of prices, below and above.
    spread: [f64; 2],
    /// The ratio of Linux's instructions, for a ratio.
    instructions: f64,
    /// The predictions with one other setting each, for a ratio.
    pub(super) otherwise: &'b [(&'a str, f64)],
}

/// Returns every identified number of the rows that has a prediction. A state that two figures
/// have, after one step and before the next, counts once.
pub(super) fn scored<'a, 'b>(rows: &'b [Row<'a>]) -> Vec<Scored<'a, 'b>> {
    let mut found: Vec<Scored<'a, 'b>> = Vec::new();
    for row in rows {
        let Some(split) = split::of(row.figure) else { continue };
        let platform = all().find(|figure| figure.id == row.figure).and_then(|one| one.platform);
        let cluster = CLUSTERS.iter().position(|(_, of)| platform == Some(of));
        let (Class::Identified, Some(cluster)) = (split.class, cluster) else { continue };
        let counted =
            row.lines.iter().find(|line| line.ground == Ground::Linux && line.quantity == RATIO);
        for line in row.lines.iter().filter(|line| line.ground == Ground::Model) {
            let bound = row.bound(line.quantity);
            let theirs = bound.and_then(|bound| bound.at_least.or(bound.at_most));
            let (Some(theirs), Some(interval)) = (theirs, line.interval) else { continue };
            let ours = line.middle();
            let spread = [ours / interval.low, interval.high / ours];
            let known = found
                .iter()
                .any(|one| one.cluster == cluster && one.theirs == theirs && one.ours == ours);
            if !known {
                found.push(Scored {
                    figure: row.figure,
                    quantity: line.quantity,
                    unit: line.unit,
                    why: split.why,
                    cluster,
                    theirs,
                    ours,
                    spread: spread.map(|factor| factor.ln().max(0.0) / P95),
                    instructions: counted.map_or(1.0, |line| line.middle()),
                    otherwise: if line.quantity == RATIO { &row.otherwise } else { &[] },
                });
            }
        }
    }
    found
}

impl Scored<'_, '_> {
    /// Returns true for cost before over cost after.
    pub(super) fn is_ratio(&self) -> bool {
        self.quantity == RATIO
    }

    /// Returns the name of the number: `s0-young-arm64 before`.
    fn name(&self) -> String {
        let quantity = if self.quantity == "value" { "" } else { self.quantity };
        format!("{} {quantity}", self.figure).trim_end().to_owned()
    }

    /// Returns the logarithm of our figure over the thread's.
    fn error(&self) -> f64 {
        (self.ours / self.theirs).ln()
    }

    /// Returns the error of what the model leaves out, as the standard deviation of a logarithm. It
    /// is the root mean square of the errors of such numbers in the other clusters.
    fn discrepancy(&self, all: &[Scored<'_, '_>]) -> f64 {
        let others = all
            .iter()
            .filter(|other| other.cluster != self.cluster && other.is_ratio() == self.is_ratio());
        let squares: Vec<_> = others.map(|other| other.error().powi(2)).collect();
        if squares.is_empty() { 0.0 } else { mean(&squares).sqrt() }
    }

    /// Returns the ends of the interval of 80 %, for prices and for what the model leaves out
    /// together.
    fn interval(&self, all: &[Scored<'_, '_>]) -> [f64; 2] {
        let left_out = self.discrepancy(all);
        let [below, above] = self.spread.map(|spread| (P90 * spread.hypot(left_out)).exp());
        [self.ours / below, self.ours * above]
    }

    /// Returns the continuous ranked probability score of the logarithm, whose distribution is
    /// taken to be normal. 0 is best; the score of a certain prediction is its absolute error.
    fn crps(&self, all: &[Scored<'_, '_>]) -> f64 {
        let [below, above] = self.spread;
        let prices = (below.powi(2) + above.powi(2)) / 2.0;
        let sigma = (prices + self.discrepancy(all).powi(2)).sqrt().max(f64::MIN_POSITIVE);
        let z = self.error() / sigma;
        let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let pi = std::f64::consts::PI;
        sigma * (z * (2.0 * normal_cdf(z) - 1.0) + 2.0 * density - 1.0 / pi.sqrt())
    }
}

/// Returns the cumulative distribution function of the standard normal distribution, within 1e-7
/// (Abramowitz and Stegun, 26.2.17).
fn normal_cdf(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let terms = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    let tail = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * sum;
    if z < 0.0 { tail } else { 1.0 - tail }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns true if the rows are of several threads, which the score is of.
pub(super) fn is_of_all(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|row| row.thread != rows[0].thread)
}

/// Returns a record for each identified number: the prediction over the thread's number, with the
/// interval of 80 %. There is none if the records are of one thread.
pub fn score(records: &[Record]) -> Vec<Record> {
    let rows = rows(records);
    if !is_of_all(&rows) {
        return Vec::new();
    }
    let scored = scored(&rows);
    let record = |one: &Scored<'_, '_>| {
        let [low, high] = one.interval(&scored).map(|end| end / one.theirs);
        let interval = Some(Interval { kind: Kind::Prediction, low, high, level: 0.8 });
        let values = vec![one.ours / one.theirs];
        let factor = Metric::new(FACTOR, "times", Basis::Modelled, Better::Neither, values);
        Record {
            scenario: SCORE.to_owned(),
            ground: Ground::Model,
            seed: 0,
            fields: labels([("figure", one.name())]),
            variant: Labels::new(),
            metrics: vec![Metric { interval, ..factor }],
        }
    };
    scored.iter().map(record).collect()
}

/// Returns the score in a sentence; `None` if the records are of one thread.
pub fn answer(records: &[Record]) -> Option<String> {
    let rows = rows(records);
    if !is_of_all(&rows) {
        return None;
    }
    let scored = scored(&rows);
    let [ours, no_change, instructions] = skill(scored.iter().filter(|one| one.is_ratio()))?;
    let percent = |mean: f64| format!("{:.0} %", mean.exp_m1() * 100.0);
    let held = scored.iter().filter(|one| holds(one, &scored)).count();
    Some(format!(
        "Of {} figures that the threads give, {held} lie inside of the prediction's interval. \
         Predicted gains are {} off in the mean; \u{201c}no change\u{201d} is {} off, the ratio of \
         instructions {}.",
        scored.len(),
        percent(ours),
        percent(no_change),
        percent(instructions)
    ))
}

/// Returns the mean absolute logarithms of three predictions over the threads' figures: ours, "no
/// change", and the ratio of instructions.
fn skill<'a>(ratios: impl Iterator<Item = &'a Scored<'a, 'a>>) -> Option<[f64; 3]> {
    let errors: Vec<[f64; 3]> = ratios
        .map(|one| [one.ours, 1.0, one.instructions].map(|it| (it / one.theirs).ln().abs()))
        .collect();
    let of = |which: usize| mean(&errors.iter().map(|error| error[which]).collect::<Vec<_>>());
    (!errors.is_empty()).then(|| [0, 1, 2].map(of))
}

/// Prints the score of all threads in one screen.
pub(super) fn screen(rows: &[Row<'_>], columns: usize) -> String {
    let scored = scored(rows);
    let ratios = || scored.iter().filter(|one| one.is_ratio());
    let mut text = String::new();
    if let Some([ours, no_change, instructions]) = skill(ratios()) {
        let [ours, no_change, instructions] = [ours, no_change, instructions].map(rounded);
        writeln!(
            text,
            "skill {ours} (no change {no_change}, instructions alone {instructions}): mean \
             |ln ours/theirs|"
        )
        .expect("text grows");
        writeln!(text, "{}", by_cluster(&scored)).expect("text grows");
    }
    text += &numbers(&scored).text(columns);
    if !scored.is_empty() {
        let crps: Vec<_> = scored.iter().map(|one| one.crps(&scored)).collect();
        let held = scored.iter().filter(|one| holds(one, &scored)).count();
        writeln!(
            text,
            "* outside of its interval; {held} of {} are inside. CRPS of the logarithm: {}",
            scored.len(),
            rounded(mean(&crps))
        )
        .expect("text grows");
    }
    text += &cause::of_misses(&scored);
    text + "\n" + &split::others()
}

/// Prints the skill in each cluster, in a line.
fn by_cluster(scored: &[Scored<'_, '_>]) -> String {
    let clusters = CLUSTERS.iter().enumerate().filter_map(|(at, (name, _))| {
        let ratios = scored.iter().filter(|one| one.is_ratio() && one.cluster == at);
        let [ours, _, instructions] = skill(ratios)?;
        let name = name.split(',').next().unwrap_or(name);
        Some(format!("{name} {} ({})", rounded(ours), rounded(instructions)))
    });
    let clusters: Vec<_> = clusters.collect();
    format!("  and by cluster: {}\n", clusters.join(", "))
}

/// Returns true if the thread's number lies in the interval of 80 %.
pub(super) fn holds(one: &Scored<'_, '_>, all: &[Scored<'_, '_>]) -> bool {
    let [low, high] = one.interval(all);
    (low..=high).contains(&one.theirs)
}

/// Returns a table of the identified numbers, cluster by cluster.
fn numbers(scored: &[Scored<'_, '_>]) -> Grid {
    let columns = [
        ("identified", Align::Left),
        ("unit", Align::Left),
        ("theirs", Align::Right),
        ("ours", Align::Right),
        ("80 %", Align::Right),
        ("factor", Align::Right),
    ];
    let mut grid = Grid::new(columns);
    for (at, (name, _)) in CLUSTERS.iter().enumerate() {
        let mut of = scored.iter().filter(|one| one.cluster == at).peekable();
        if let Some(first) = of.peek() {
            grid.heading(format!("{name}: {}", first.why));
        }
        for one in of {
            let [ours, low, high] = estimate(one.ours, one.interval(scored));
            let miss = if holds(one, scored) { "" } else { " *" };
            grid.row([
                one.name(),
                one.unit.to_owned(),
                rounded(one.theirs),
                ours,
                format!("{low}–{high}"),
                format!("{}{miss}", rounded(one.ours / one.theirs)),
            ]);
        }
    }
    grid
}

//! A comparison as a table in the style of mmtests.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::fold::fold;
use super::grid::{Align, Grid};
use super::legend;
use super::number::figure;
use crate::compare::{Change, Comparison, Row, Summary};
use crate::schema::Basis;
use crate::stats::Interval;

/// What a table shows besides medians and changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Print the intervals of the medians.
    pub intervals: bool,
    /// Columns of text the intervals may use; where they would need more, they get a table of
    /// their own below.
    pub width: usize,
    /// Print every row. Otherwise those that are the same under every variant are left out, and
    /// counted below the table.
    pub full: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { intervals: false, width: 120, full: false }
    }
}

/// The table with what is common to all rows above it and how to read it below.
pub fn comparison(of: &Comparison, options: Options) -> String {
    let (shown, folded) = if options.full { (of.clone(), None) } else { fold(of) };
    let of = &shown;
    let labels = Labelling::of(&of.rows);
    let mut text = legend::above(of, &labels.constant);
    text.push('\n');
    let intervals = options.intervals && summaries(of).any(|summary| summary.interval.is_some());
    let whole = grid(of, &labels, Part::Changes { intervals });
    if intervals && whole.width() > options.width {
        text += &grid(of, &labels, Part::Changes { intervals: false }).to_string();
        text += "\nintervals of the medians\n\n";
        text += &grid(of, &labels, Part::Intervals).to_string();
    } else {
        text += &whole.to_string();
    }
    text.push('\n');
    text += &legend::below(of, intervals, folded);
    text
}

/// All summaries of the table.
pub(super) fn summaries(of: &Comparison) -> impl Iterator<Item = &Summary> {
    of.rows.iter().flat_map(row_summaries)
}

/// The base's summary of a row, then the others'.
pub fn row_summaries(row: &Row) -> impl Iterator<Item = &Summary> {
    row.base.iter().chain(row.others.iter().flatten().map(|change| &change.summary))
}

/// A name that may tell rows apart. A field may be called as an axis is, or `seed`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// The scenario.
    Scenario,
    /// The ground.
    Ground,
    /// The seed.
    Seed,
    /// A field of the scenario, by name.
    Field(String),
    /// An axis of the variants, by name.
    Axis(String),
}

impl Label {
    fn all(rows: &[Row]) -> Vec<Self> {
        let fields: BTreeSet<&String> = rows.iter().flat_map(|row| row.fields.keys()).collect();
        let axes: BTreeSet<&String> = rows.iter().flat_map(|row| row.axes.keys()).collect();
        let fields = fields.into_iter().cloned().map(Self::Field);
        let axes = axes.into_iter().cloned().map(Self::Axis);
        [Self::Scenario, Self::Ground, Self::Seed].into_iter().chain(fields).chain(axes).collect()
    }

    /// The name that a table's column has.
    pub fn name(&self) -> &str {
        match self {
            Self::Scenario => "scenario",
            Self::Ground => "ground",
            Self::Seed => "seed",
            Self::Field(name) | Self::Axis(name) => name,
        }
    }

    /// What a row has under it; empty where it has nothing.
    pub fn of<'a>(&self, row: &'a Row) -> Cow<'a, str> {
        match self {
            Self::Scenario => row.scenario.as_str().into(),
            Self::Ground => row.ground.name().into(),
            Self::Seed => row.seed.to_string().into(),
            Self::Field(name) => row.fields.get(name).map_or("", String::as_str).into(),
            Self::Axis(name) => row.axes.get(name).map_or("", String::as_str).into(),
        }
    }
}

/// Which names tell the rows apart, and which are the same in all of them.
#[derive(Debug, Clone)]
pub struct Labelling {
    /// Those that tell them apart.
    pub varying: Vec<Label>,
    /// Those that are the same in all, with what they are.
    pub constant: Vec<(String, String)>,
    basis: bool,
    samples: bool,
}

impl Labelling {
    /// Of these rows.
    pub fn of(rows: &[Row]) -> Self {
        let (mut varying, mut constant) = (Vec::new(), Vec::new());
        for label in Label::all(rows) {
            match rows.first().map(|row| label.of(row)) {
                Some(value) if rows.iter().all(|row| label.of(row) == value) => {
                    constant.push((label.name().to_owned(), value.into_owned()));
                }
                _ => varying.push(label),
            }
        }
        let bases: BTreeSet<Basis> = rows.iter().map(|row| row.basis).collect();
        let measured = rows.iter().filter(|row| row.basis == Basis::Measured);
        let samples: BTreeSet<usize> =
            measured.flat_map(row_summaries).map(|summary| summary.n).collect();
        Self { varying, constant, basis: bases.len() > 1, samples: samples.len() > 1 }
    }

    /// What tells a row's group from others: `order=4 young=100%`.
    pub fn group(&self, row: &Row) -> String {
        let told = self.varying.iter().map(|label| (label.name(), label.of(row)));
        let told = told.filter(|(_, value)| !value.is_empty());
        told.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    /// The same behind a name, if there is anything.
    pub fn titled(&self, name: &str, row: &Row) -> String {
        let group = self.group(row);
        if group.is_empty() { name.to_owned() } else { format!("{name} ({group})") }
    }

    fn columns(&self) -> Vec<(String, Align)> {
        let mut columns: Vec<String> =
            self.varying.iter().map(|label| label.name().to_owned()).collect();
        columns.extend(["metric", "unit"].map(str::to_owned));
        columns.extend(self.basis.then(|| "basis".to_owned()));
        let mut columns: Vec<_> = columns.into_iter().map(|name| (name, Align::Left)).collect();
        columns.extend(self.samples.then(|| ("n".to_owned(), Align::Right)));
        columns
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let mut cells: Vec<String> =
            self.varying.iter().map(|label| label.of(row).into_owned()).collect();
        cells.extend([row.metric.clone(), row.unit.clone()]);
        cells.extend(self.basis.then(|| row.basis.to_string()));
        cells.extend(self.samples.then(|| {
            let n: BTreeSet<usize> = row_summaries(row).map(|summary| summary.n).collect();
            legend::range(&n)
        }));
        cells
    }
}

/// What the cells of a variant hold.
#[derive(Clone, Copy)]
enum Part {
    Changes { intervals: bool },
    Intervals,
}

fn grid(of: &Comparison, labels: &Labelling, part: Part) -> Grid {
    let rows = of.rows.iter();
    let rows = rows.filter(|row| match part {
        Part::Changes { .. } => true,
        Part::Intervals => row_summaries(row).any(|summary| summary.interval.is_some()),
    });
    let rows: Vec<&Row> = rows.collect();
    let mut columns = labels.columns();
    columns.push((of.base.clone(), Align::Right));
    columns.extend(of.others.iter().map(|title| (title.clone(), Align::Right)));
    let base = rows.iter().map(|row| cell(row, row.base.as_ref(), None, part));
    let mut variants = vec![join(base.collect())];
    for index in 0..of.others.len() {
        let cells = rows.iter().map(|row| {
            let change = row.others[index].as_ref();
            cell(row, change.map(|change| &change.summary), change, part)
        });
        variants.push(join(cells.collect()));
    }
    let mut grid = Grid::new(columns);
    let mut last: Vec<String> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let mut cells = labels.cells(row);
        let told = cells[..labels.varying.len()].to_vec();
        // Leading labels the line above has too are left out.
        let same = told.iter().zip(&last).take_while(|(here, above)| here == above).count();
        cells[..same].iter_mut().for_each(String::clear);
        last = told;
        cells.extend(variants.iter().map(|cells| cells[index].clone()));
        grid.row(cells);
    }
    grid
}

/// The pieces of a cell: value, interval, change.
type Pieces = [String; 3];

/// Whether a row's samples are too few on either side to say by how much they differ: too few for
/// an interval of the median, or pairs too few for one of their change. What is counted or computed
/// needs no samples.
pub fn too_few(row: &Row, change: &Change) -> bool {
    let few = |base: Summary| match change.pairs() {
        Some(pairs) => pairs.interval.is_none(),
        None => base.interval.is_none() || change.summary.interval.is_none(),
    };
    row.basis == Basis::Measured && row.base.is_some_and(few)
}

fn cell(row: &Row, summary: Option<&Summary>, change: Option<&Change>, part: Part) -> Pieces {
    let Some(summary) = summary else {
        return ["-".to_owned(), String::new(), String::new()];
    };
    let basis = row.basis;
    let number = |value| figure(basis, value);
    let between =
        |interval: Interval| format!("[{}, {}]", number(interval.low), number(interval.high));
    let interval = summary.interval.map(between);
    match part {
        Part::Intervals => [interval.unwrap_or_else(|| "-".to_owned()), "".into(), "".into()],
        Part::Changes { intervals } => {
            let spread = basis != Basis::Measured && !summary.is_constant();
            let mark = if spread { "~" } else { "" };
            let interval = interval.filter(|_| intervals).unwrap_or_default();
            let change = change.filter(|change| !too_few(row, change));
            let of_change = change.and_then(|change| change.pairs()?.interval);
            let of_change = of_change.filter(|_| intervals);
            let of_change = of_change.map(|[low, high]| format!(" [{low:.2}, {high:.2}]"));
            let change = change.map(percent).unwrap_or_default() + &of_change.unwrap_or_default();
            [format!("{mark}{}", number(summary.median)), interval, change]
        }
    }
}

/// `(  12.34%)`, or `*  12.34%*` where significant.
fn percent(change: &Change) -> String {
    let number = match change.percent {
        // No "-0.00".
        Some(percent) if percent.abs() < 0.005 => format!("{:>7.2}%", 0.0),
        Some(percent) => format!("{percent:>7.2}%"),
        None => format!("{:>8}", "-"),
    };
    if change.test.is_some() && change.verdict.is_difference() {
        format!("*{number}*")
    } else {
        format!("({number})")
    }
}

/// Joins the pieces of a column's cells so that each piece is aligned.
fn join(cells: Vec<Pieces>) -> Vec<String> {
    let width = |piece: usize| cells.iter().map(|cell| cell[piece].chars().count()).max();
    let (interval, change) = (width(1).unwrap_or(0), width(2).unwrap_or(0));
    let pad = |text: &str, width: usize| {
        if width == 0 { String::new() } else { format!(" {text:>width$}") }
    };
    let joined =
        |cell: &Pieces| format!("{}{}{}", cell[0], pad(&cell[1], interval), pad(&cell[2], change));
    cells.iter().map(joined).collect()
}

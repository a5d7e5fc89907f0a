//! Additions to the lab's table: the savings, and the sources of the figures.

use super::{flushes, scans};
use crate::caution::{CAUTION, one_line};
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::options::{Form, Shown};
use pageout_lab::{Built, Fetched, Kernel, Profiled};
use pageout_record::compare::{
    Change, Comparison, Row, Summary, Verdict, compare as compare_records,
};
use pageout_record::render::{self, Align, Grid, LIST_WIDTH, Options, exact};
use pageout_record::schema::{Better, Labels, Metric, Record, RecordSet};
use std::collections::BTreeSet;

const TIMED: &str = "\
Times of cpu host were measured on this machine, by KVM. Each value is the median of one boot.
";
/// The unit of counted instructions, and that of time.
const UNITS: [&str; 2] = ["instructions/4K page", "ns/4K page"];

/// Returns the labels of a kernel's variant in records.
pub(super) fn of_kernel(name: &str) -> Labels {
    [("kernel".to_owned(), name.to_owned())].into()
}

/// Returns the set without metrics that are the same on every kernel and have no better direction:
/// scans, entries and the like, which show that kernels decide alike.
fn differing(set: &RecordSet) -> RecordSet {
    let mut differing = set.clone();
    for record in &mut differing.records {
        let fields = record.fields.clone();
        record.metrics.retain(|metric| !is_alike(set, &fields, metric));
    }
    differing
}

/// Names the metrics that [`differing`] leaves out everywhere.
fn alike(set: &RecordSet) -> Option<String> {
    let all = set.records.iter().flat_map(|record| {
        record.metrics.iter().map(|metric| (is_alike(set, &record.fields, metric), &metric.name))
    });
    let (mut alike, mut differing) = (BTreeSet::new(), BTreeSet::new());
    for (is_alike, name) in all {
        if is_alike {
            alike.insert(name.as_str())
        } else {
            differing.insert(name.as_str())
        };
    }
    let names: Vec<&str> = alike.difference(&differing).copied().collect();
    let names = names.join(", ");
    (!names.is_empty())
        .then(|| format!("the same on every kernel (--json has the values): {names}"))
}

/// Returns true if every record with these fields has this metric with the same samples, and the
/// metric has no better direction.
fn is_alike(set: &RecordSet, fields: &Labels, metric: &Metric) -> bool {
    // A kernel without results does not differ.
    let mut siblings =
        set.records.iter().filter(|of| of.fields == *fields && !of.metrics.is_empty());
    metric.better == Better::Neither && siblings.all(|record| record.metrics.contains(metric))
}

/// Writes the instructions or the time a page that each kernel saves; empty if every row says
/// that no difference is shown.
fn saved(of: &Comparison, columns: usize) -> String {
    UNITS.map(|unit| saved_of(of, unit, columns)).concat()
}

fn saved_of(of: &Comparison, unit: &str, columns: usize) -> String {
    let times = times(of, unit);
    let changes = times.iter().flat_map(|row| row.others.iter().flatten());
    let may_differ = |of: &Change| of.verdict != Verdict::NoDifference;
    let names = telling(&times).filter(|_| changes.into_iter().any(may_differ));
    let Some(names) = names else { return String::new() };
    let labels = names.iter().map(|name| ((*name).clone(), Align::Left));
    let metric = [("metric".to_owned(), Align::Left)].into_iter();
    let heads = of.others.iter().map(|other| (format!("{other} saves"), Align::Right));
    let mut grid = Grid::new(labels.chain(metric).chain(heads));
    for row in times {
        let saved = row.others.iter().map(|other| difference(row.base, other.map(summary)));
        grid.row(label(row, &names).into_iter().chain([row.metric.clone()]).chain(saved));
    }
    let (what, _) = unit.split_once('/').expect("units are per page");
    format!("{what} saved per 4K page against {}\n\n{}\n", of.base, grid.text(columns))
}

/// Writes a row for each patch: the figure with this patch and all before it, and the saving
/// against the row before. Tables are as wide as their form allows; form `picture` has no such
/// table.
pub(super) fn steps(of: &Comparison, parts: &Parts, form: Form, columns: usize) -> String {
    let (width, subjects) = match form {
        Form::Table => (columns, parts.as_slice()),
        Form::List => (LIST_WIDTH, &[][..]),
        Form::Picture => return String::new(),
    };
    let times = times(of, UNITS[0]);
    let Some(names) = telling(&times) else { return String::new() };
    let mut text = "instructions per 4K page, and what each patch saves\n".to_owned();
    let mut from = 0;
    while from < times.len() {
        let fits = |to: &usize| of_patches(of, &times[from..*to], &names, subjects).fits(width);
        let to = (from + 2..=times.len()).take_while(fits).last().unwrap_or(from + 1);
        text += &format!("\n{}", of_patches(of, &times[from..to], &names, subjects).text(width));
        from = to;
    }
    text
}

/// Makes a row for the base and one for each patch, with its subject if there are any.
fn of_patches(
    of: &Comparison,
    rows: &[&Row],
    names: &[&String],
    subjects: &[(String, Vec<String>)],
) -> Grid {
    let figures = rows.iter().flat_map(|row| {
        let words = [label(row, names), vec![row.metric.clone()]].concat();
        [words.join(" "), "saves".to_owned()].map(|head| (head, Align::Right))
    });
    let subject = (!subjects.is_empty()).then(|| (String::new(), Align::Left));
    let first = [(String::new(), Align::Left)].into_iter();
    let mut grid = Grid::new(first.chain(figures).chain(subject));
    let kernels = std::iter::once(&of.base).chain(&of.others);
    for (at, kernel) in kernels.enumerate() {
        let of_row = |row: &&Row| {
            let now = |at: usize| match at.checked_sub(1) {
                None => row.base,
                Some(at) => row.others[at].map(summary),
            };
            let figure = now(at).map_or("-".to_owned(), |of| exact(tenths(of.median)));
            let saves = at.checked_sub(1).map(|at| difference(now(at), now(at + 1)));
            [figure, saves.unwrap_or_default()]
        };
        let subject = (!subjects.is_empty()).then(|| {
            let found = subjects.iter().find(|(name, _)| name == kernel);
            found.map_or_else(String::new, |(_, what)| what.concat())
        });
        grid.row([kernel.clone()].into_iter().chain(rows.iter().flat_map(of_row)).chain(subject));
    }
    grid
}

fn summary(of: Change) -> Summary {
    of.summary
}

/// Writes the first median minus the second.
fn difference(before: Option<Summary>, after: Option<Summary>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => exact(tenths(before.median - after.median)),
        _ => "-".to_owned(),
    }
}

/// Returns the rows of a unit.
fn times<'c>(of: &'c Comparison, unit: &str) -> Vec<&'c Row> {
    of.rows.iter().filter(|row| row.unit == unit).collect()
}

/// Returns only the fields in which rows differ; `None` without a row.
fn telling<'r>(rows: &[&'r Row]) -> Option<Vec<&'r String>> {
    let first = rows.first()?;
    let differs =
        |name: &&String| rows.iter().any(|row| row.fields.get(name) != first.fields.get(name));
    let mut names: Vec<&String> = rows.iter().flat_map(|row| row.fields.keys()).collect();
    names.sort();
    names.dedup();
    names.retain(differs);
    Some(names)
}

/// Returns the values of these fields in a row.
fn label(row: &Row, names: &[&String]) -> Vec<String> {
    names.iter().map(|name| row.fields.get(name).cloned().unwrap_or_default()).collect()
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The parts that were built and booted: names, each with a description.
pub(super) type Parts = Vec<(String, Vec<String>)>;

/// Returns the parts of kernels, and the programs that built and ran them.
pub(super) fn parts(kernels: &[Kernel], built: &[Built], emulators: &[String]) -> Parts {
    let of = |kernel: &Kernel| {
        let found = built.iter().find(|built| built.kernel == *kernel);
        let source = found.map(|built| built.source.clone());
        let patches = kernel.patches.iter().map(|patch| format!("+ {}", patch.subject));
        let parameters = kernel.parameters.iter().map(|with| format!("booted with {with}"));
        (kernel.name.clone(), source.into_iter().chain(patches).chain(parameters).collect())
    };
    kernels.iter().map(of).chain(tools(built, emulators)).collect()
}

/// Returns the programs that built and ran kernels.
fn tools(built: &[Built], emulators: &[String]) -> [(String, Vec<String>); 2] {
    let tools = [("compiler", compilers(built)), ("emulator", emulators.to_vec())];
    tools.map(|(what, all)| (what.to_owned(), vec![all.join("; ")]))
}

/// Returns the parts of a series. Each kernel except the base is described by its own patch.
pub(super) fn parts_of_series(kernels: &[Kernel], built: &[Built], emulators: &[String]) -> Parts {
    let of = |kernel: &Kernel| {
        let what = kernel.patches.last().map(|patch| patch.subject.clone());
        let source = || built.first().map(|built| built.source.clone());
        (kernel.name.clone(), what.or_else(source).into_iter().collect())
    };
    kernels.iter().map(of).chain(tools(built, emulators)).collect()
}

/// Prints a comparison and a description of the kernels. Unless all rows are asked for, rows that
/// were the same are left out.
pub(super) fn compared(
    set: &RecordSet,
    base: &Labels,
    as_shown: Shown,
    parts: &Parts,
    columns: usize,
) -> Result<String, CliError> {
    let full = as_shown.rows.full;
    let shown = if full { set.clone() } else { differing(set) };
    let scans = scans::differing(set);
    let alike = if full { None } else { alike(set) };
    let comparison = compare_records(&shown, base, &DECLARED)?;
    let notes: Vec<String> =
        alike.into_iter().chain(scans).chain(flushes::fewer(&comparison)).collect();
    if as_shown.format != Form::Table {
        let about = [origin(parts), notes, caution(set)].concat();
        return Ok(crate::tables::compared(&comparison, &shown, as_shown, &about, columns));
    }
    let options = Options { width: columns, full, ..Options::default() };
    let table = render::comparison(&comparison, options);
    let notes: String = notes.into_iter().map(|line| line + "\n\n").collect();
    let (saved, provenance) = (saved(&comparison, columns), provenance(parts, columns));
    let cautions = cautions(set).concat();
    Ok(format!("{table}\n{notes}{saved}{provenance}\n{cautions}"))
}

/// Writes the parts as a table.
pub(super) fn provenance(parts: &Parts, columns: usize) -> String {
    let mut grid = Grid::new([("", Align::Left), ("", Align::Left)]);
    for (name, parts) in parts {
        let names = std::iter::once(name.as_str()).chain(std::iter::repeat(""));
        names.zip(parts).for_each(|(name, part)| grid.row([name, part]));
    }
    grid.text(columns)
}

/// Writes the parts, a line each.
fn origin(parts: &Parts) -> Vec<String> {
    parts.iter().map(|(name, parts)| format!("{name}: {}", parts.join(" "))).collect()
}

/// Returns the warnings on the figures, a line each.
fn caution(set: &RecordSet) -> Vec<String> {
    cautions(set).into_iter().map(one_line).collect()
}

/// Returns the warnings on the figures of the set's processors.
fn cautions(set: &RecordSet) -> Vec<&'static str> {
    let is_timed = |record: &Record| record.fields.get("cpu").is_some_and(|cpu| cpu == "host");
    let has = |timed: bool| set.records.iter().any(|record| is_timed(record) == timed);
    let all = [(false, CAUTION), (true, TIMED)].into_iter();
    all.filter(|(timed, _)| has(*timed)).map(|(_, text)| text).collect()
}

/// Returns every compiler once.
pub(super) fn compilers(all: &[Built]) -> Vec<String> {
    let mut compilers: Vec<String> = all.iter().map(|built| built.compiler.clone()).collect();
    compilers.sort();
    compilers.dedup();
    compilers
}

/// Writes the places of kernels.
pub(super) fn built(all: &[Built], columns: usize) -> String {
    let mut grid = Grid::new(["kernel", "config", "source"].map(|head| (head, Align::Left)));
    let mut images = String::new();
    for built in all {
        let (name, config) = (&built.kernel.name, built.config.to_string());
        // A path is not broken, so that it can be copied.
        images += &format!("{name}, {config}:\n  {}\n", built.image().display());
        grid.row([name, &config, &built.source]);
    }
    format!("{}\n\n{}\n{images}", compilers(all).join("; "), grid.text(columns))
}

/// Describes the fetched files, their origin and the checks of them.
pub(super) fn fetched(of: &Fetched) -> String {
    let (keyring, tarball) = (of.keyring.display(), of.tarball.display());
    format!(
        "fetched {}\nfrom {}\nsignature checked by apt with {keyring}\nkept as {tarball}\n\n\
         Nothing outside of that directory was changed.\n",
        of.package, of.from
    )
}

/// Describes a machine and its run, without the fields that the machine's name has already.
fn title(of: &Profiled) -> String {
    let Some(record) = of.records.first() else { return of.title.clone() };
    let fields =
        record.fields.iter().filter(|(name, _)| !["config", "cpu"].contains(&name.as_str()));
    let fields = fields.map(|(name, value)| format!(" {name}={value}")).collect::<String>();
    format!("{}: {}{fields}", of.title, record.scenario)
}

/// Writes the functions of each machine that cost most.
pub(super) fn profiles(all: &[Profiled], functions: usize, columns: usize) -> String {
    let table = |of: &Profiled| {
        let table = of.profile.table(functions, of.pages, columns);
        format!("{}\n\n{table}\n", title(of))
    };
    all.iter().map(table).collect::<String>() + CAUTION
}

/// Writes the folded stacks of all machines; of several machines, each under its name.
pub(super) fn folded(all: &[Profiled]) -> String {
    if let [only] = all {
        return only.profile.folded();
    }
    let lines = |of: &Profiled| {
        let folded = of.profile.folded();
        let title = title(of);
        folded.lines().map(|line| format!("{title};{line}\n")).collect::<String>()
    };
    all.iter().map(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_run::this_run;
    use pageout_record::schema::{Basis, Ground};

    /// Returns the table of what `patched` saves against `stock`, whose samples these are.
    fn saves(stock: [f64; 3], patched: [f64; 3]) -> String {
        let labels = |name: &str, value: &str| Labels::from_iter([(name.into(), value.into())]);
        let record = |(kernel, samples): (&str, [f64; 3])| Record {
            scenario: "reclaim-file".to_owned(),
            ground: Ground::Linux,
            seed: 0,
            fields: labels("order", "4"),
            variant: labels("kernel", kernel),
            metrics: vec![Metric::new(
                "reclaim",
                UNITS[0],
                Basis::Counted,
                Better::Lower,
                samples.to_vec(),
            )],
        };
        let records = [("stock", stock), ("patched", patched)].map(record);
        let set = RecordSet::new(this_run(), records.to_vec());
        let base = labels("kernel", "stock");
        saved(&compare_records(&set, &base, &DECLARED).expect("records of one kind"), 80)
    }

    #[test]
    fn what_is_saved_is_not_told_where_no_difference_is_shown() {
        let told = saves([500.0, 501.0, 502.0], [400.0, 401.0, 402.0]);
        assert!(told.contains("patched saves") && told.contains("100"), "{told}");
        assert_eq!(saves([500.0, 501.0, 502.0], [499.0, 501.0, 503.0]), "");
    }
}

//! What stands beside the lab's table: what was saved, and what the figures are of.

use pageout_lab::{Built, Fetched, Kernel, Measured, Profiled};
use pageout_record::compare::Comparison;
use pageout_record::render::{Align, Grid, exact};
use pageout_record::schema::{Better, Labels, Metric, RecordSet};
use std::collections::BTreeSet;

const CAUTION: &str = "\
Times are instructions under QEMU, one nanosecond each: no cache misses, no cost of TLBI or DSB.
Gains from skipping work therefore look larger than on silicon; `pageout lab script` measures there.
";

/// The set without what is the same on every kernel and no improvement either way: scans, entries
/// and the like, which are there to show that kernels decide alike.
pub(super) fn differing(set: &RecordSet) -> RecordSet {
    let mut differing = set.clone();
    for record in &mut differing.records {
        let fields = record.fields.clone();
        record.metrics.retain(|metric| !is_alike(set, &fields, metric));
    }
    differing
}

/// The metrics that [`differing`] leaves out everywhere, named.
pub(super) fn alike(set: &RecordSet) -> Option<String> {
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

/// Whether every record with these fields has this metric with the same samples, and no direction
/// of it is better.
fn is_alike(set: &RecordSet, fields: &Labels, metric: &Metric) -> bool {
    let mut siblings = set.records.iter().filter(|record| record.fields == *fields);
    metric.better == Better::Neither && siblings.all(|record| record.metrics.contains(metric))
}

/// What each kernel saves, in instructions a page.
pub(super) fn saved(of: &Comparison) -> String {
    let times: Vec<_> = of.rows.iter().filter(|row| row.unit == "instructions/4K page").collect();
    if times.is_empty() {
        return String::new();
    }
    // Fields that tell the rows apart, and no others.
    let differs = |name: &&String| {
        times.iter().any(|row| row.fields.get(*name) != times[0].fields.get(*name))
    };
    let mut names: Vec<&String> = times.iter().flat_map(|row| row.fields.keys()).collect();
    names.sort();
    names.dedup();
    names.retain(differs);
    let labels = names.iter().map(|name| ((*name).clone(), Align::Left));
    let columns = [("metric".to_owned(), Align::Left)].into_iter();
    let others = of.others.iter().map(|other| (format!("{other} saves"), Align::Right));
    let mut grid = Grid::new(labels.chain(columns).chain(others));
    for row in times {
        let field = |name: &&String| row.fields.get(*name).cloned().unwrap_or_default();
        let saved = row.others.iter().map(|other| match (&row.base, other) {
            (Some(base), Some(other)) => exact(tenths(base.median - other.summary.median)),
            _ => "-".to_owned(),
        });
        let metric = std::iter::once(row.metric.clone());
        grid.row(names.iter().map(field).chain(metric).chain(saved));
    }
    format!("instructions saved per 4K page against {}\n\n{grid}\n", of.base)
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// What was built and booted: names, each with what it is, in parts.
fn parts(kernels: &[Kernel], measured: &Measured) -> Vec<(String, Vec<String>)> {
    let of = |kernel: &Kernel| {
        let built = measured.built.iter().find(|built| built.kernel == *kernel);
        let source = built.map(|built| built.source.clone());
        let patches = kernel.patches.iter().map(|patch| format!("+ {}", patch.subject()));
        let parameters = kernel.parameters.iter().map(|with| format!("booted with {with}"));
        (kernel.name.clone(), source.into_iter().chain(patches).chain(parameters).collect())
    };
    let tools =
        [("compiler", compilers(&measured.built)), ("emulator", measured.emulators.clone())];
    let tools = tools.map(|(what, all)| (what.to_owned(), vec![all.join("; ")]));
    kernels.iter().map(of).chain(tools).collect()
}

/// The same as a table, with what to be careful of.
pub(super) fn provenance(kernels: &[Kernel], measured: &Measured) -> String {
    let mut grid = Grid::new([("", Align::Left), ("", Align::Left)]);
    for (name, parts) in parts(kernels, measured) {
        let names = std::iter::once(name.as_str()).chain(std::iter::repeat(""));
        names.zip(&parts).for_each(|(name, part)| grid.row([name, part]));
    }
    format!("{grid}\n{CAUTION}")
}

/// The same as a line each.
pub(super) fn origin(kernels: &[Kernel], measured: &Measured) -> Vec<String> {
    let parts = parts(kernels, measured).into_iter();
    parts.map(|(name, parts)| format!("{name}: {}", parts.join(" "))).collect()
}

/// What to be careful of, as a line.
pub(super) fn caution() -> String {
    CAUTION.trim_end().replace('\n', " ")
}

/// Every compiler once.
pub(super) fn compilers(all: &[Built]) -> Vec<String> {
    let mut compilers: Vec<String> = all.iter().map(|built| built.compiler.clone()).collect();
    compilers.sort();
    compilers.dedup();
    compilers
}

/// Where kernels are.
pub(super) fn built(all: &[Built]) -> String {
    let columns = ["kernel", "config", "source", "image"].map(|column| (column, Align::Left));
    let mut grid = Grid::new(columns);
    for built in all {
        let image = built.image().display().to_string();
        let (name, config) = (built.kernel.name.clone(), built.config.to_string());
        grid.row([name, config, built.source.clone(), image]);
    }
    format!("{}\n\n{grid}", compilers(all).join("; "))
}

/// What was fetched, from where, and what was checked.
pub(super) fn fetched(of: &Fetched) -> String {
    let mut grid = Grid::new([("", Align::Left), ("", Align::Left)]);
    grid.row(["fetched", &of.package]);
    grid.row(["from", &of.from]);
    grid.row(["signature", &format!("checked by apt with {}", of.keyring.display())]);
    grid.row(["kept as", &of.tarball.display().to_string()]);
    format!("{grid}\nNothing outside of that directory was changed.\n")
}

/// A machine and what it ran, without what the machine's name says already.
fn title(of: &Profiled) -> String {
    let Some(record) = of.records.first() else { return of.title.clone() };
    let fields =
        record.fields.iter().filter(|(name, _)| !["config", "cpu"].contains(&name.as_str()));
    let fields = fields.map(|(name, value)| format!(" {name}={value}")).collect::<String>();
    format!("{}: {}{fields}", of.title, record.scenario)
}

/// The functions of each machine that cost most.
pub(super) fn profiles(all: &[Profiled], functions: usize) -> String {
    let table = |of: &Profiled| {
        let table = of.profile.table(functions, of.pages);
        format!("{}\n\n{table}\n", title(of))
    };
    all.iter().map(table).collect::<String>() + CAUTION
}

/// Folded stacks of all machines; where they are several, each under its name.
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

//! What stands beside the lab's table: what was saved, and what the figures are of.

use pageout_record::compare::Comparison;
use pageout_record::render::{Align, Grid, exact};
use pageout_record::schema::{Better, Labels, Metric, RecordSet};
use pageout_sim::lab::{Builds, Kernel, Measured, Profiled};
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
pub(super) fn alike(set: &RecordSet) -> String {
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
    if names.is_empty() {
        return String::new();
    }
    format!("the same on every kernel (--json has the values): {}\n\n", names.join(", "))
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

/// What was built and booted.
pub(super) fn provenance(builds: &Builds, measured: &Measured) -> String {
    let mut grid = Grid::new([("", Align::Left), ("", Align::Left)]);
    grid.row(["stock", &builds.source]);
    for kernel in kernels(builds) {
        let patches = kernel.patches.iter().map(|patch| format!("+ {}", patch.subject()));
        let parameters = kernel.parameters.iter().map(|with| format!("booted with {with}"));
        let name = std::iter::once(kernel.name.as_str()).chain(std::iter::repeat(""));
        for (name, line) in name.zip(patches.chain(parameters)) {
            grid.row([name, &line]);
        }
    }
    for (what, all) in [("compiler", &compilers(builds)), ("emulator", &measured.emulators)] {
        grid.row([what.to_owned(), all.join("; ")]);
    }
    format!("{grid}\n{CAUTION}")
}

/// Every kernel once.
fn kernels(builds: &Builds) -> Vec<&Kernel> {
    let mut kernels: Vec<&Kernel> = Vec::new();
    for built in &builds.all {
        if !kernels.contains(&&built.kernel) {
            kernels.push(&built.kernel);
        }
    }
    kernels
}

/// Every compiler once.
pub(super) fn compilers(builds: &Builds) -> Vec<String> {
    let mut compilers: Vec<String> =
        builds.all.iter().map(|built| built.compiler.clone()).collect();
    compilers.sort();
    compilers.dedup();
    compilers
}

/// Where kernels are.
pub(super) fn built(builds: &Builds) -> String {
    let columns = [("kernel", Align::Left), ("config", Align::Left), ("image", Align::Left)];
    let mut grid = Grid::new(columns);
    for built in &builds.all {
        let image = built.image().display().to_string();
        grid.row([built.kernel.name.clone(), built.config.to_string(), image]);
    }
    format!("{}; {}\n\n{grid}", builds.source, compilers(builds).join("; "))
}

/// The functions of each machine that cost most.
pub(super) fn profiles(all: &[Profiled], functions: usize) -> String {
    let table = |of: &Profiled| {
        let table = of.profile.table(functions, of.pages);
        format!("{}\n\n{table}\n", of.title)
    };
    all.iter().map(table).collect::<String>() + CAUTION
}

/// Folded stacks of all machines; where they are several, each under its kernel's name.
pub(super) fn folded(all: &[Profiled]) -> String {
    if let [only] = all {
        return only.profile.folded();
    }
    let lines = |of: &Profiled| {
        let folded = of.profile.folded();
        folded.lines().map(|line| format!("{};{line}\n", of.title)).collect::<String>()
    };
    all.iter().map(lines).collect()
}

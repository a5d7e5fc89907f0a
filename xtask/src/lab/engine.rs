//! The engine's counts beside the kernel's, which show whether `per-entry` is a faithful before and
//! `batched` a faithful after.

use anyhow::{Context, Result};
use pageout_record::render::{Align, Grid};
use pageout_record::schema::{Record, RecordSet};

use super::call::{self, Call};
use super::checks::value;
use super::report::{begin, none};

/// Kernels, each with the variant that does the same.
const PAIRS: [(&str, &str); 2] =
    [("no-batch", "young=per-entry,unmap=per-entry"), ("stock", "young=batched,unmap=batched")];

/// Entries of a contiguous block. A gathering read of a clean entry loads that many besides the
/// entry itself.
const BLOCK: f64 = 16.0;

const RECLAIM: Call = Call {
    name: "engine-reclaim",
    words: "lab run --kernel 7.3 no-batch stock reclaim-file order=0,4,8,9 lru=classic,mglru \
        --runs 1",
};

/// Counts for each reclaimed page, in [`COUNTED`]'s order.
type Counts = [f64; 3];

const COUNTED: [&str; 3] =
    ["entries read through the getter", "compare-and-swaps", "invalidations"];

/// Decisions of a reclaim: the kernel's name and the engine's. The last four are of generations.
const DECIDED: [(&str, &str); 7] = [
    ("pgscan", "pages examined"),
    ("pgsteal", "pages reclaimed"),
    ("pgactivate", "pages activated"),
    ("walk: entries", "walk: entries"),
    ("walk: young", "walk: young"),
    ("walk: tables", "walk: tables"),
    ("walk: tables added", "walk: tables added"),
];

/// The largest differences allowed between counts of an order. docs/kernel-map.md has the reasons.
const NAMED: [(&str, &str, f64); 1] = [("0", "walk: young", 38.0)];

/// The number of times that `folio_referenced` checks a page for each reclaimed page, while the
/// page is young and when it is old.
struct Checks {
    young: f64,
    old: f64,
}

/// Prints the counts of both, one a line, and fails if the kernel and the engine decide otherwise.
pub(super) fn beside() -> Result<()> {
    begin("the engine's counts beside the kernel's: arm64-4k");
    let reclaimed = RECLAIM.records()?;
    decisions(&reclaimed)?;
    referenced(&reclaimed)
}

/// The maximum number of columns of a line of a table.
const COLUMNS: usize = 100;

/// Prints and compares the decisions for each order and each kind of lists.
fn decisions(reclaimed: &RecordSet) -> Result<()> {
    let columns = ["kernel", "lru", "order", "count", "kernel", "engine"];
    let columns = columns.map(|name| (name.to_owned(), Align::Right));
    let mut grid = Grid::new(columns.to_vec());
    let mut otherwise = Vec::new();
    for record in &reclaimed.records {
        let field = |name: &str| record.fields.get(name).map_or("", String::as_str);
        let (order, lru) = (field("order"), field("lru"));
        let kernel = record.variant.get("kernel").map_or("", String::as_str);
        let variant = PAIRS.iter().find(|(name, _)| *name == kernel);
        let (_, variant) = variant.with_context(|| format!("kernel {kernel} has a variant"))?;
        let engine = engine_reclaim(order, lru, variant)?;
        let engine = engine.records.first().context("no record of the engine")?;
        let decided = if lru == "classic" { &DECIDED[..3] } else { &DECIDED[..] };
        for (theirs, ours) in decided {
            let (there, mut here) = (value(record, theirs)?, value(engine, ours)?);
            if (kernel, *theirs) == ("no-batch", "walk: young") && order != "0" {
                here += more_of_singles(record)?;
            }
            grid.row(
                [kernel, lru, order, theirs]
                    .map(str::to_owned)
                    .into_iter()
                    .chain([format!("{there:.0}"), format!("{here:.0}")]),
            );
            let is = |(at, name, _): &&(&str, &str, f64)| *at == order && name == theirs;
            let named = NAMED.iter().find(is).map_or(0.0, |(_, _, by)| *by);
            if (there - here).abs() > named {
                otherwise.push(format!("{kernel} {lru} order={order} {theirs}: {there} → {here}"));
            }
        }
    }
    println!("{}", grid.text(COLUMNS));
    none(&otherwise, "the engine decides otherwise than the kernel")
}

/// Returns the number of additional young entries that a walk without batches counts in a kernel,
/// which leaves some blocks of a large folio as single entries. The walk counts all entries of such
/// a block. Of a contiguous block it counts only the first, whose check clears the others.
fn more_of_singles(record: &Record) -> Result<f64> {
    let singles = value(record, "before: present")? - value(record, "before: contiguous")?;
    Ok(singles / BLOCK * (BLOCK - 1.0))
}

fn engine_reclaim(order: &str, lru: &str, variant: &str) -> Result<RecordSet> {
    let words = format!(
        "run reclaim-file order={order} lru={lru} format=arm64-4k size=1GiB align=half-table \
         --variant {variant} --runs 1"
    );
    call::records(&format!("engine-{lru}-{order}-{}", variant.len()), &words)
}

/// Prints the operations under `folio_referenced`, for order 4 on the classic lists.
fn referenced(reclaimed: &RecordSet) -> Result<()> {
    let mut columns = vec![("under folio_referenced, per reclaimed page".to_owned(), Align::Left)];
    let mut counts = Vec::new();
    let mut checks = Vec::new();
    for (kernel, variant) in PAIRS {
        let record = of_kernel(reclaimed, kernel)?;
        let asked = Checks::of(record)?;
        let family = variant.split(['=', ',']).nth(1).context("a variant names its family")?;
        columns.push((format!("{kernel} (kernel)"), Align::Right));
        counts.push(of_the_kernel(kernel)?);
        columns.push((format!("{family} (engine)"), Align::Right));
        counts.push(of_the_engine(family, &asked)?);
        checks.push(format!("{kernel}: {:.3} young and {:.3} old", asked.young, asked.old));
    }
    let mut grid = Grid::new(columns);
    for (k, name) in COUNTED.into_iter().enumerate() {
        let values = counts.iter().map(|counts| format!("{:.3}", counts[k]));
        grid.row([name.to_owned()].into_iter().chain(values));
    }
    println!("{}", grid.text(COLUMNS));
    println!("checks of a page for each page reclaimed: {}", checks.join("; "));
    println!("docs/kernel-map.md names every difference");
    Ok(())
}

impl Checks {
    /// Computes the checks from the record: every mapped page is found young once, and pages are
    /// reclaimed when they are found old.
    fn of(record: &Record) -> Result<Self> {
        let reclaimed = value(record, "pgsteal")?;
        let young = value(record, "before: young")? / reclaimed;
        Ok(Self { young, old: value(record, "pgscan")? / reclaimed - young })
    }
}

fn of_kernel<'a>(set: &'a RecordSet, kernel: &str) -> Result<&'a Record> {
    let is = |record: &&Record| {
        let of = |name: &str| record.fields.get(name).map(String::as_str);
        let named = record.variant.get("kernel").is_some_and(|found| found == kernel);
        named && of("order") == Some("4") && of("lru") == Some("classic")
    };
    set.records.iter().find(is).with_context(|| format!("no record of {kernel}"))
}

/// Returns the operations of each kind that ran under `folio_referenced`.
fn of_the_kernel(kernel: &str) -> Result<Counts> {
    let words = format!(
        "lab profile --kernel 7.3 {kernel} reclaim-file order=4 lru=classic \
         --root folio_referenced --runs 1"
    );
    let set = call::records(&format!("engine-profile-{kernel}"), &words)?;
    let function = |name: &str| {
        let is = |record: &&Record| record.fields.get("function").is_some_and(|f| f == name);
        set.records.iter().find(is)
    };
    let root = function("folio_referenced").context("folio_referenced was not profiled")?;
    let getters = ["contpte_ptep_get", "contpte_ptep_get_lockless"];
    let calls = getters.map(|name| function(name).map_or(Ok(0.0), |of| value(of, "calls")));
    let calls: Result<Vec<f64>> = calls.into_iter().collect();
    let read = calls?.iter().sum::<f64>() * (1.0 + BLOCK);
    Ok([read, value(root, "compare-and-swaps")?, value(root, "invalidations")?])
}

/// Returns the counts of the engine, weighted by how often the kernel checks.
fn of_the_engine(family: &str, asked: &Checks) -> Result<Counts> {
    let pass = |young: &str| -> Result<Counts> {
        let words = format!(
            "run age-file order=4 format=arm64-4k size=1GiB young={young} \
             --variant young={family} --runs 1"
        );
        let set = call::records(&format!("engine-{family}-{young}"), &words)?;
        let record = set.records.first().context("no record of the engine")?;
        let helper = value(record, "entries visited by the helper alone")?;
        let read = value(record, "entries visited")? - helper;
        Ok([read, value(record, "atomics")?, value(record, "invalidations")?])
    };
    let (young, old) = (pass("100%")?, pass("0%")?);
    Ok(std::array::from_fn(|k| asked.young * young[k] + asked.old * old[k]))
}

//! The engine's counts beside the kernel's: is `per-entry` a faithful before, and `batched` a
//! faithful after?

use anyhow::{Context, Result};
use pageout_record::render::{Align, Grid};
use pageout_record::schema::{Record, RecordSet};

use super::begin;
use super::call::Call;
use super::checks::value;

/// A kernel, and the family that does what it does.
const PAIRS: [(&str, &str); 2] = [("stock", "per-entry"), ("s1", "batched")];

/// Entries of a contiguous block: what one gathering read loads beside the entry itself.
const BLOCK: f64 = 16.0;

const RECLAIM: Call = Call {
    name: "engine-reclaim",
    words: "lab run --kernel 6.12 stock s1 reclaim-file order=4 lru=classic --runs 1",
};

/// What is counted a reclaimed page, in [`COUNTED`]'s order.
type Counts = [f64; 3];

const COUNTED: [&str; 3] =
    ["entries read through the getter", "compare-and-swaps", "invalidations"];

/// How often `folio_referenced` asks a page for each page that is reclaimed: while it is young, and
/// when it is old.
struct Checks {
    young: f64,
    old: f64,
}

/// Prints both, a line a count.
pub(super) fn beside() -> Result<()> {
    begin("the engine's counts beside the kernel's: arm64-4k, order 4, classic LRU");
    let reclaimed = RECLAIM.records()?;
    let mut columns = vec![("under folio_referenced, per reclaimed page".to_owned(), Align::Left)];
    let mut counts = Vec::new();
    let mut checks = Vec::new();
    for (kernel, family) in PAIRS {
        let record = of_kernel(&reclaimed, kernel)?;
        let asked = Checks::of(record)?;
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
    println!("{grid}\nchecks of a page for each page reclaimed: {}", checks.join("; "));
    println!("docs/kernel-map.md names every difference");
    Ok(())
}

impl Checks {
    /// Every mapped page is found young once; pages are reclaimed when they are found old.
    fn of(record: &Record) -> Result<Self> {
        let reclaimed = value(record, "pgsteal")?;
        let young = value(record, "before: young")? / reclaimed;
        Ok(Self { young, old: value(record, "pgscan")? / reclaimed - young })
    }
}

fn of_kernel<'a>(set: &'a RecordSet, kernel: &str) -> Result<&'a Record> {
    let is = |record: &&Record| record.variant.get("kernel").is_some_and(|name| name == kernel);
    set.records.iter().find(is).with_context(|| format!("no record of {kernel}"))
}

/// Instructions of each kind that ran under `folio_referenced`.
fn of_the_kernel(kernel: &str) -> Result<Counts> {
    let words = format!(
        "lab profile --kernel 6.12 {kernel} reclaim-file order=4 lru=classic \
         --root folio_referenced --runs 1"
    );
    let set = super::call::records(&format!("engine-profile-{kernel}"), &words)?;
    let function = |name: &str| {
        let is = |record: &&Record| record.fields.get("function").is_some_and(|f| f == name);
        set.records.iter().find(is)
    };
    let root = function("folio_referenced").context("folio_referenced was not profiled")?;
    let gathers = function("contpte_ptep_get").map_or(Ok(0.0), |record| value(record, "calls"))?;
    let read = gathers * (1.0 + BLOCK);
    Ok([read, value(root, "compare-and-swaps")?, value(root, "invalidations")?])
}

/// The counting runs of the engine, weighed by how often the kernel asks.
fn of_the_engine(family: &str, asked: &Checks) -> Result<Counts> {
    let pass = |young: &str| -> Result<Counts> {
        let words = format!(
            "run age-file order=4 format=arm64-4k size=1GiB young={young} \
             --variant young={family} --runs 1"
        );
        let set = super::call::records(&format!("engine-{family}-{young}"), &words)?;
        let record = set.records.first().context("no record of the engine")?;
        let helper = value(record, "entries visited by the helper alone")?;
        let read = value(record, "entries visited")? - helper;
        Ok([read, value(record, "atomics")?, value(record, "invalidations")?])
    };
    let (young, old) = (pass("100%")?, pass("0%")?);
    Ok(std::array::from_fn(|k| asked.young * young[k] + asked.old * old[k]))
}

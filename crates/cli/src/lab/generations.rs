//! `lab lru-gen --read`: generations of a machine, from the text of its `lru_gen`.

use crate::error::CliError;
use crate::output;
use crate::this_run::this_run;
use pageout_experiment::{input, named, shown};
use pageout_lab::{Generation, MAX_LRU_GEN, Pages, Shown};
use pageout_record::render::{Align, Grid};
use pageout_record::schema::{Basis, Better, Ground, Metric, Record, RecordSet};
use std::collections::BTreeSet;
use std::path::Path;

/// The number of columns of a line.
const WIDTH: usize = 80;

/// Reads a file and shows its generations, as a table or as records.
pub(super) fn show(path: &Path, json: bool, to: Option<&Path>) -> Result<(), CliError> {
    output::check(&[to], &[Some(path)])?;
    let read = |source| CliError::Read { path: path.to_owned(), source };
    let text = input::read_text(path, MAX_LRU_GEN).map_err(read)?;
    let shown = Shown::parse(&named(path), &text)?;
    let content = match json {
        true => {
            RecordSet::new(this_run(), shown.generations.iter().map(record).collect()).to_json()?
        }
        false => output::printable(&tables(&shown)).into_owned(),
    };
    output::to(to, content.as_bytes())
}

/// Writes a table for each cgroup, below its path, and sums.
fn tables(shown: &Shown) -> String {
    let of_one = |a: &Generation, b: &Generation| a.memcg == b.memcg;
    let mut text: String = shown.generations.chunk_by(of_one).map(of_cgroup).collect();
    let count = |noun: &str, count: usize| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    let of = |id: fn(&Generation) -> u64| shown.generations.iter().map(id).collect::<BTreeSet<_>>();
    let cgroups = count("cgroup", of(|generation| generation.memcg).len());
    let nodes = count("node", of(|generation| generation.node.into()).len());
    let [anon, file] = [0, 1].map(|kind| {
        let pages = shown.generations.iter().map(|of| i128::from(of.pages[kind].count));
        pages.sum::<i128>()
    });
    text += &format!("{cgroups}, {nodes}: {anon} anonymous pages and {file} file pages\n");
    if shown.passed_over > 0 {
        text += &format!("passed over: {} of tiers and walks\n", count("line", shown.passed_over));
    }
    text
}

fn of_cgroup(generations: &[Generation]) -> String {
    let Generation { memcg, path, .. } = &generations[0];
    let mut grid = Grid::new([
        ("node", Align::Right),
        ("generation", Align::Right),
        ("age, s", Align::Right),
        ("anon pages", Align::Right),
        ("file pages", Align::Right),
    ]);
    for Generation { node, number, age_ms, pages, .. } in generations {
        let age = format!("{}.{:03}", age_ms / 1000, age_ms % 1000);
        let [anon, file] = pages.map(
            |Pages { count, is_gone }| {
                if is_gone { format!("{count}x") } else { count.to_string() }
            },
        );
        grid.row([node.to_string(), number.to_string(), age, anon, file]);
    }
    let path = broken(&format!("cgroup {memcg} {}", shown(path)));
    format!("{path}\n\n{}\n", grid.text(WIDTH))
}

/// Breaks a text into lines of [`WIDTH`]: a path may be longer, and has no blanks to break it at.
fn broken(text: &str) -> String {
    let text: Vec<char> = text.chars().collect();
    let lines: Vec<String> = text.chunks(WIDTH).map(|line| line.iter().collect()).collect();
    lines.join("\n")
}

/// Returns a record of a generation's age and pages, without those of a type that no longer has the
/// generation.
fn record(of: &Generation) -> Record {
    let metric = |name: &str, unit: &str, basis: Basis, value: f64| {
        Metric::new(name, unit, basis, Better::Neither, vec![value])
    };
    let age = metric("age", "ms", Basis::Measured, of.age_ms as f64);
    let pages = ["anon pages", "file pages"].into_iter().zip(of.pages);
    let pages = pages.filter(|(_, pages)| !pages.is_gone);
    let pages =
        pages.map(|(name, pages)| metric(name, "pages", Basis::Counted, pages.count as f64));
    let fields = [
        ("memcg", of.memcg.to_string()),
        ("path", shown(&of.path).into_owned()),
        ("node", of.node.to_string()),
        ("generation", of.number.to_string()),
    ];
    Record {
        scenario: "lru-gen".to_owned(),
        ground: Ground::Linux,
        seed: 0,
        fields: fields.map(|(name, value)| (name.to_owned(), value)).into(),
        variant: [].into(),
        metrics: [age].into_iter().chain(pages).collect(),
    }
}

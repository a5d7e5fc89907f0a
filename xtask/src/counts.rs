//! The program that counts the engine's instructions on bare arm64 (`xtask/counts`): compiled, run
//! under QEMU, and compared with the table of the documentation.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::kernel::TARGET;
use crate::{cmd, kernel, setup};

/// The processor's atomics in one instruction, as kernels choose them, and the program's place in
/// memory.
const FLAGS: &str =
    "-Ctarget-feature=+lse -Clink-arg=--entry=start -Clink-arg=--image-base=0x40080000";

/// The board's memory, CPU and clock, which advances by 2^0 ns for each instruction.
const BOARD: [&str; 6] = ["-m", "256M", "-cpu", "max", "-icount", "shift=0,sleep=off"];

/// The pages with a table each. Its rows begin with what is counted and an order, and end with the
/// engine's figure.
const PAGES: [&str; 2] = ["docs/beyond-7.3.md", "docs/contract.md"];
const TABLE: &str = "<!-- counted by `cargo xtask counts` -->\n";

/// The figures, by what is counted and the order.
type Figures = BTreeMap<(String, String), String>;

/// Counts, and compares the figures with those of the pages, or stores them there.
pub(crate) fn run(update: bool) -> Result<()> {
    setup::kernel()?;
    let figures = count()?;
    for ((what, order), figure) in &figures {
        println!("{what}, order {order}: {figure}");
    }
    let mut left = figures;
    let mut other = Vec::new();
    for name in PAGES {
        let path = cmd::root().join(name);
        let page = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        let now = with_figures(&page, &mut left).with_context(|| name.to_owned())?;
        if update {
            fs::write(&path, &now).with_context(|| format!("cannot write {name}"))?;
        } else if now != page {
            other.push(name);
        }
    }
    if let Some((what, order)) = left.keys().next() {
        bail!("no table has a row for {what}, order {order}");
    }
    if !other.is_empty() {
        let other = other.join(" and ");
        bail!("other figures than those of {other}; to store them: cargo xtask counts --update");
    }
    Ok(())
}

/// Returns the figure of each measurement and order.
fn count() -> Result<Figures> {
    let mut build = cmd::cargo(&["build", "--release", "--locked", "--package", "pageout-counts"]);
    // Other flags than those of the kernel in C: a folder of its own keeps both builds.
    let folder = cmd::target().join("counts");
    build.args(["--target", TARGET, "--target-dir"]).arg(&folder).env("RUSTFLAGS", FLAGS);
    cmd::run(&mut build)?;
    let mut machine = kernel::board("300"); // a run takes ten
    machine.args(BOARD).arg("-kernel").arg(folder.join(TARGET).join("release/pageout-counts"));
    let said = cmd::output(&mut machine).context("the program that counts")?;
    said.lines().map(figure).collect()
}

/// Reads a line of the program.
fn figure(line: &str) -> Result<((String, String), String)> {
    let [what, order, figure] = line.split('\t').collect::<Vec<_>>()[..] else {
        bail!("the program that counts said: {line}");
    };
    Ok(((what.to_owned(), order.to_owned()), figure.to_owned()))
}

/// Returns the page with the figures of its table's rows in the last column. They are removed.
fn with_figures(page: &str, left: &mut Figures) -> Result<String> {
    let (before, rest) = page.split_once(TABLE).context("it has no table")?;
    let (table, after) = rest.split_once("\n\n").context("an empty line ends the table")?;
    let mut rows = Vec::new();
    for row in table.lines() {
        let mut cells: Vec<_> = row.split('|').map(str::trim).collect();
        let named = cells.get(1..3).map(|named| (named[0].to_owned(), named[1].to_owned()));
        let figure = named.and_then(|named| left.remove(&named));
        rows.push(match &figure {
            Some(figure) => {
                let last = cells.len() - 2;
                cells[last] = figure;
                cells.join(" | ").trim().to_owned()
            }
            None => row.to_owned(),
        });
    }
    Ok(format!("{before}{TABLE}{}\n\n{after}", rows.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_stored_in_the_last_column() {
        let page = |ours: &str| {
            let head = "| what | order | ours |\n|---|--:|--:|";
            format!("Text.\n\n{TABLE}{head}\n| a | 4 | {ours} |\n\nEnd.\n")
        };
        let rows = ["a\t4\t2.0", "b\t4\t3.0"].map(|row| figure(row).unwrap());
        let mut left = BTreeMap::from(rows);
        assert_eq!(with_figures(&page("1.0"), &mut left).unwrap(), page("2.0"));
        assert!(left.keys().eq([&("b".to_owned(), "4".to_owned())]), "what another page has");
        assert!(with_figures("Text.", &mut left).is_err());
    }

    #[test]
    fn a_panic_of_the_program_is_shown() {
        let error = figure("panicked at xtask/counts").unwrap_err().to_string();
        assert_eq!(error, "the program that counts said: panicked at xtask/counts");
    }
}

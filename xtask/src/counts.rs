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

/// The page with the table. Its rows begin with what is counted and an order, and end with the
/// engine's figure.
const PAGE: &str = "docs/beyond-7.3.md";
const TABLE: &str = "<!-- counted by `cargo xtask counts` -->\n";

/// Counts, and compares the figures with those of the page, or stores them there.
pub(crate) fn run(update: bool) -> Result<()> {
    setup::kernel()?;
    let figures = count()?;
    let path = cmd::root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let now = with_figures(&page, &figures)?;
    for ((what, order), figure) in &figures {
        println!("{what}, order {order}: {figure}");
    }
    if update {
        fs::write(&path, now).with_context(|| format!("cannot write {PAGE}"))?;
    } else if now != page {
        bail!("other figures than those of {PAGE}; to store them: cargo xtask counts --update");
    }
    Ok(())
}

/// Returns the figure of each measurement and order.
fn count() -> Result<BTreeMap<(String, String), String>> {
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

/// Returns the page with these figures in the last column of its table, which has a row for each.
fn with_figures(page: &str, figures: &BTreeMap<(String, String), String>) -> Result<String> {
    let (before, rest) = page.split_once(TABLE).with_context(|| format!("{PAGE} has no table"))?;
    let (table, after) = rest.split_once("\n\n").context("an empty line ends the table")?;
    let mut left = figures.clone();
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
    if let Some((what, order)) = left.keys().next() {
        bail!("{PAGE} has no row for {what}, order {order}");
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
        let figures = BTreeMap::from([figure("a\t4\t2.0").unwrap()]);
        assert_eq!(with_figures(&page("1.0"), &figures).unwrap(), page("2.0"));
        let unknown = BTreeMap::from([figure("b\t4\t2.0").unwrap()]);
        let error = with_figures(&page("1.0"), &unknown).unwrap_err().to_string();
        assert_eq!(error, "docs/beyond-7.3.md has no row for b, order 4");
    }

    #[test]
    fn a_panic_of_the_program_is_shown() {
        let error = figure("panicked at xtask/counts").unwrap_err().to_string();
        assert_eq!(error, "the program that counts said: panicked at xtask/counts");
    }
}

//! Tests of pages in a browser, and the library that draws their charts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{cmd, setup};

/// The folder of the library that draws charts, with its licences and versions.
const ASSETS: &str = "crates/report/assets";
/// The files of the library.
const MADE: [&str; 3] = ["charts.js", "charts.LICENCES.txt", "charts.json"];
/// The folder that names and locks the packages, with the scripts that use them.
const SOURCES: &str = "xtask/pages";

/// Records that pages are made of, and the arguments that make other pages: one page of each kind.
const MADE_BY: [(&str, &str); 11] = [
    ("compare", "compare reclaim-file size=8MiB order=4 young=0%,100% format=x86-64 --runs 7"),
    ("curves", "compare reclaim-file size=4MiB order=0,2,4 format=arm64-4k --runs 6"),
    ("run", "run reclaim-file size=8MiB order=4 format=x86-64 --runs 6"),
    ("model", "compare reclaim-file size=4MiB order=4 --ground model --draws 8"),
    ("sweep", "sweep flush --platform kunpeng-920-class --cores 1,2,4 --processes 1 --size 1MiB"),
    ("bench", "bench flush-reach"),
    ("reproduce", "reproduce --thread lists"),
    ("score", "reproduce --quick"),
    ("check", "check --exhibit free-before-flush"),
    ("kernels", "report crates/lab/files/records/linux-7.3.json"),
    ("pictures", "report crates/report/tests/files/pictures.json"),
];

/// Fetches the locked packages and makes the library from them again.
pub(crate) fn charts() -> Result<()> {
    let place = install()?;
    bundle(&place, &cmd::root().join(ASSETS))
}

/// Makes a page of each kind and loads it in a browser without a network.
pub(crate) fn test() -> Result<Vec<String>> {
    let place = install()?;
    stored_is_made(&place)?;
    let program = cmd::program_of_tests()?;
    let pages = place.join("made");
    // Results of an earlier run must not be tested.
    if pages.exists() {
        fs::remove_dir_all(&pages)?;
    }
    fs::create_dir_all(&pages)?;
    for (name, words) in MADE_BY {
        let page = pages.join(format!("{name}.html"));
        let option = if words.starts_with("report ") { "--output" } else { "--html" };
        let mut pageout = cmd::program(&program);
        let pageout = pageout.args(words.split(' ')).arg(option).arg(&page);
        cmd::output(pageout).with_context(|| format!("the page {name} is made"))?;
    }
    hostile(&program, &pages)?;
    traced(&program, &pages)?;
    let mut node = cmd::program("node");
    node.current_dir(&place).arg("test.mjs").arg(&pages);
    cmd::run_keeping(&mut node, |line| line.starts_with("test result: "))
}

/// Makes a page of records whose names would run a script if they could.
fn hostile(program: &Path, pages: &Path) -> Result<()> {
    let records = cmd::root().join("crates/report/tests/files/hostile.json");
    let mut pageout = cmd::program(program);
    pageout.arg("report").arg(records).arg("--output").arg(pages.join("hostile.html"));
    cmd::output(&mut pageout).map(drop)
}

/// Makes a page of a program's history under a limit. The program uses eight pages all the time,
/// and sweeps over 56 others. A trace this short is replayed at once.
fn traced(program: &Path, pages: &Path) -> Result<()> {
    let (log, trace) = (pages.join("accesses.txt"), pages.join("accesses.pgt"));
    let page = |i: u32| if i.is_multiple_of(2) { i / 2 % 8 } else { 8 + i / 2 % 56 };
    let access = |i: u32| format!(" {} {:08x},8\n", ["S", "L"][i as usize % 2], page(i) << 12);
    fs::write(&log, (0..4096).map(access).collect::<String>())?;
    let mut import = cmd::program(program);
    import.args(["trace", "import", "--epoch", "128"]).arg(&log).arg("--output").arg(&trace);
    cmd::output(&mut import)?;
    let words = "compare trace limit=50% format=x86-64 --runs 1 --base lru=classic --new lru=mglru";
    let mut pageout = cmd::program(program);
    pageout.args(words.split(' ')).arg("--trace").arg(&trace);
    cmd::output(pageout.arg("--html").arg(pages.join("trace.html"))).map(drop)
}

/// Installs node, a browser and the locked packages where they are missing.
fn install() -> Result<PathBuf> {
    setup::pages()?;
    let (from, place) = (cmd::root().join(SOURCES), cmd::target().join("pages"));
    fs::create_dir_all(&place)?;
    let lock = fs::read(from.join("package-lock.json"))?;
    let installed = place.join("installed.json");
    for name in ["package.json", "package-lock.json", "bundle.mjs", "test.mjs"] {
        fs::copy(from.join(name), place.join(name)).with_context(|| name.to_owned())?;
    }
    if fs::read(&installed).ok().as_ref() != Some(&lock) {
        let mut npm = cmd::program("npm");
        npm.current_dir(&place).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        cmd::run(&mut npm)?;
        fs::write(&installed, &lock)?;
    }
    Ok(place)
}

fn bundle(place: &Path, to: &Path) -> Result<()> {
    let mut node = cmd::program("node");
    cmd::run(node.current_dir(place).arg("bundle.mjs").arg(to))
}

/// Checks that the stored library is the one that the locked packages make.
fn stored_is_made(place: &Path) -> Result<()> {
    let made = place.join("bundle");
    fs::create_dir_all(&made)?;
    bundle(place, &made)?;
    for name in MADE {
        let stored = cmd::root().join(ASSETS).join(name);
        if fs::read(&stored)? != fs::read(made.join(name))? {
            bail!("{ASSETS}/{name} is not what the locked packages make: run `cargo xtask charts`");
        }
    }
    Ok(())
}

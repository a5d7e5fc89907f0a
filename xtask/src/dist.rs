//! `cargo xtask dist`: the program and the Python wheel, as they are distributed.
//!
//! The program is one static file, which needs nothing of the machine that it runs on. The wheel
//! has the book too. This task tests what it built: the program's size, that it links nothing at
//! run time, and that the wheel, installed into an empty environment, gives a first result.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::{book, cmd, licences, python};

/// The maximum number of bytes that the program may have.
const LIMIT: u64 = 30_000_000;

/// The licences of crates, as the wheel has them.
const LICENCES: &str = "crates.LICENCES.txt";

/// The book's folder in the package.
const BOOK: &str = "src/pageout/html";

/// A program that asks the installed wheel for a first result.
const FIRST_RESULT: &str = "\
import pageout
records = pageout.run('aging-rounds', size='8MiB', order=0, rounds=2, format='x86-64')
print(records.frame())";

pub(crate) fn run() -> Result<()> {
    let place = cmd::target().join("distribution");
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("cannot remove {}", place.display()))?;
    }
    fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    let host = host()?;
    fs::write(place.join(LICENCES), licences::texts(&host)?)?;
    fs::copy(place.join(LICENCES), python::sources().join(LICENCES))?;
    put_book()?;
    let wheel = build(&place, &host)?;
    let program = place.join("pageout");
    let built = cmd::target().join(&host).join("dist/pageout");
    fs::copy(&built, &program).with_context(|| format!("{} is not there", built.display()))?;
    check(&program)?;
    try_out(&place, &wheel)?;
    for path in [&program, &wheel] {
        println!("{}: {:.1} MiB", path.display(), mib(fs::metadata(path)?.len()));
    }
    Ok(())
}

/// Returns the machine that this runs on, as targets name it.
fn host() -> Result<String> {
    let said = cmd::output(cmd::program("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say which host it is for")?.to_owned())
}

/// Puts the book into the package.
fn put_book() -> Result<()> {
    let (made, into) = (book::run()?, python::sources().join(BOOK));
    if into.exists() {
        fs::remove_dir_all(&into).with_context(|| format!("cannot remove {}", into.display()))?;
    }
    cmd::run(cmd::program("cp").arg("-r").args([made, into]))
}

/// Builds the wheel, and with it the program.
fn build(place: &Path, host: &str) -> Result<PathBuf> {
    let mut maturin = python::tool("maturin")?;
    maturin.args(["build", "--profile", "dist", "--locked", "--target", host, "--out"]).arg(place);
    // With a named target, programs that run during the build are linked as usual.
    // Engines of different entry formats have many functions with the same code, which are kept
    // once.
    maturin.env("RUSTFLAGS", "-C target-feature=+crt-static -C link-arg=-Wl,--icf=all");
    cmd::run(&mut maturin)?;
    let files = fs::read_dir(place)?.collect::<Result<Vec<_>, _>>()?;
    let mut wheels = files.iter().map(fs::DirEntry::path);
    wheels.find(|path| path.extension().is_some_and(|end| end == "whl")).context("no wheel")
}

/// Checks the promises about the program.
fn check(program: &Path) -> Result<()> {
    let size = fs::metadata(program)?.len();
    ensure!(size <= LIMIT, "the program has {size} bytes, at most {LIMIT} are meant");
    let headers = cmd::output(cmd::program("readelf").args(["--wide", "--segments"]).arg(program))?;
    if headers.contains("INTERP") {
        bail!("{} is linked at run time", program.display());
    }
    Ok(())
}

/// Installs the wheel into an empty environment and asks it for a result.
fn try_out(place: &Path, wheel: &Path) -> Result<()> {
    let environment = place.join("environment");
    let begun = Instant::now();
    cmd::run(cmd::program("python3").args(["-m", "venv"]).arg(&environment))?;
    let bin = environment.join("bin");
    cmd::run(cmd::program(bin.join("pip")).args(["install", "--quiet"]).arg(wheel))?;
    let installed = begun.elapsed();
    let listed = cmd::output(cmd::program("python3").args(["-m", "zipfile", "--list"]).arg(wheel))?;
    ensure!(listed.contains(LICENCES), "the wheel lacks {LICENCES}");
    cmd::run(cmd::program(bin.join("pageout")).arg("--version"))?;
    cmd::run(cmd::program(bin.join("python")).args(["-c", FIRST_RESULT]))?;
    // No browser is wanted here.
    let mut book = cmd::program(bin.join("python"));
    cmd::run(book.args(["-m", "pageout.book"]).env("BROWSER", "true"))?;
    let all = begun.elapsed();
    println!(
        "xtask: the wheel was installed in {:.1} s, with a first result after {:.1} s",
        installed.as_secs_f64(),
        all.as_secs_f64()
    );
    Ok(())
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

//! `cargo xtask test`: every step in order, each with its time. After a step that fails the others
//! still run, so one run shows all faults.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::{
    api, asm, book, cmd, counts, kernel, licences, package, pages, pictures, python, setup, tidy,
};

/// A step of the run. Cheap checks come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Step {
    /// Install what the other steps need.
    Setup,
    /// Check the layout with rustfmt.
    Format,
    /// Hold the house style.
    Tidy,
    /// Hold what `deny.toml` says of licences and sources of the dependencies.
    Licences,
    /// Lint every target of the workspace.
    Clippy,
    /// Build the documentation without warnings.
    Doc,
    /// Run the workspace's tests.
    Test,
    /// Hold the pictures of the documentation against what the program prints.
    Pictures,
    /// Make the book, and follow its links.
    Book,
    /// Look at a page of each kind in a browser.
    Pages,
    /// Lint and test the Python package, with its notebooks.
    Python,
    /// Package what embedders link, and build another crate of it for bare metal.
    Package,
    /// Boot the kernel in C that links the engine, under QEMU.
    Kernel,
    /// Compare what embedders see of the crates with what they are listed to see.
    Api,
    /// Read the compiled young-bit helpers.
    Asm,
    /// Count the engine's instructions on bare arm64.
    Counts,
    /// Run the tests of the crates with unsafe code under Miri.
    Miri,
}

impl Step {
    /// Runs the step; returns the closing lines of the test runners it started.
    fn run(self) -> Result<Vec<String>> {
        match self {
            Step::Setup => setup::all().map(|()| Vec::new()),
            Step::Format => quiet(&["fmt", "--all", "--check"]),
            Step::Tidy => tidy::run().map(|()| Vec::new()),
            Step::Licences => licences::check().map(|()| Vec::new()),
            Step::Clippy => {
                let scope = ["clippy", "--workspace", "--all-targets", "--keep-going"];
                quiet(&[&scope[..], &["--", "-D", "warnings"]].concat())
            }
            Step::Doc => doc(),
            Step::Test => cmd::run_keeping(
                &mut cmd::cargo(&["test", "--workspace", "--no-fail-fast"]),
                is_closing_line,
            ),
            Step::Pictures => pictures::test().map(|()| Vec::new()),
            Step::Book => book::run().map(|_| Vec::new()),
            Step::Pages => pages::test(),
            Step::Python => python::test(),
            Step::Package => package::run().map(|()| Vec::new()),
            Step::Kernel => kernel::test(),
            Step::Api => api::run(false).map(|()| Vec::new()),
            Step::Asm => asm::run().map(|()| Vec::new()),
            Step::Counts => counts::run(false).map(|()| Vec::new()),
            Step::Miri => miri(),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Runs the given steps, or all of them if none is given.
pub(crate) fn run(chosen: &[Step]) -> Result<()> {
    let steps = Step::value_variants();
    let steps = steps.iter().filter(|step| chosen.is_empty() || chosen.contains(step));
    let mut times: Vec<(String, Duration)> = Vec::new();
    let mut failed = Vec::new();
    let mut closing_lines = Vec::new();
    for step in steps {
        let name = step.name();
        println!("\n== {name}");
        let start = Instant::now();
        let result = step.run();
        let took = start.elapsed();
        match result {
            Ok(lines) => {
                println!("== {name}: ok, {}", seconds(took));
                closing_lines.extend(lines);
            }
            Err(error) => {
                println!("\n== {name} FAILED after {}: {error:#}", seconds(took));
                failed.push((name.clone(), error));
            }
        }
        times.push((name, took));
    }
    println!();
    for (name, took) in &times {
        println!("{name:>8} {:>9}", seconds(*took));
    }
    println!("{:>8} {:>9}\n", "all", seconds(times.iter().map(|(_, took)| *took).sum()));
    for line in closing_lines {
        println!("{line}");
    }
    println!("{} passed, {} failed", times.len() - failed.len(), failed.len());
    // Errors are repeated at the end, where the output of other steps does not hide them.
    for (name, error) in &failed {
        println!("{name}: {error:#}");
    }
    if let [(first, _), ..] = &failed[..] {
        let all = failed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        bail!("failed: {all}; `cargo xtask test {first}` runs one step alone");
    }
    Ok(())
}

fn quiet(args: &[&str]) -> Result<Vec<String>> {
    cmd::run(&mut cmd::cargo(args)).map(|()| Vec::new())
}

fn doc() -> Result<Vec<String>> {
    let mut command = cmd::cargo(&["doc", "--no-deps", "--workspace", "--keep-going"]);
    cmd::run(command.env("RUSTDOCFLAGS", "-D warnings")).map(|()| Vec::new())
}

fn miri() -> Result<Vec<String>> {
    let mut command = setup::nightly_cargo();
    command.args(["miri", "test"]);
    command.args(["--package", "pageout-paging", "--package", "pageout-capi"]);
    // A failed random case stores its seed in a file, which isolation would hide.
    command.env("MIRIFLAGS", "-Zmiri-strict-provenance -Zmiri-disable-isolation");
    cmd::run_keeping(&mut command, is_closing_line)
}

/// Returns true if the line is a test runner's closing line about at least one test.
fn is_closing_line(line: &str) -> bool {
    line.starts_with("test result: ") && !line.contains(" 0 passed; 0 failed;")
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_those_of_runs_with_tests() {
        assert!(is_closing_line("test result: ok. 3 passed; 0 failed; 0 ignored;"));
        assert!(is_closing_line("test result: ok. 10 passed; 0 failed; 0 ignored;"));
        assert!(!is_closing_line("test result: ok. 0 passed; 0 failed; 0 ignored;"));
        assert!(!is_closing_line("test a::b ... ok"));
    }

    #[test]
    fn steps_are_named_as_they_are_typed() {
        assert_eq!(Step::Package.name(), "package");
        assert_eq!(Step::value_variants().first(), Some(&Step::Setup));
    }
}

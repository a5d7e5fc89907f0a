//! Running other programs from the workspace root.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// Returns the workspace root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace root")
}

/// Returns the folder of build results.
pub(crate) fn target() -> PathBuf {
    let given = std::env::var_os("CARGO_TARGET_DIR");
    root().join(given.map_or_else(|| "target".into(), PathBuf::from))
}

/// Builds the program as the tests do, and returns its path. To build its package by itself would
/// choose other features, and so compile everything again.
pub(crate) fn program_of_tests() -> Result<PathBuf> {
    run(&mut cargo(&["test", "--workspace", "--no-run", "--quiet"]))?;
    Ok(target().join("debug/pageout"))
}

/// Returns a command that runs in the workspace root.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Returns a command for the cargo that started this program, so that every step uses one
/// toolchain.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// Runs the command with our own standard output and error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    println!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs the command like [`run`], and returns the lines of its standard output that `keep` picks.
/// If it fails, the error has the lines that report failures.
pub(crate) fn run_keeping(command: &mut Command, keep: fn(&str) -> bool) -> Result<Vec<String>> {
    let shown = show(command);
    println!("$ {shown}");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let stdout = child.stdout.take().expect("standard output is piped");
    let (mut kept, mut failures) = (Vec::new(), String::new());
    for line in BufReader::new(stdout).split(b'\n') {
        // A test may print bytes that are not UTF-8.
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        // Lines of cargo's tests, of pytest's and of the pages' tests.
        if line.ends_with("FAILED") || line.starts_with("FAILED ") {
            failures.extend(["\n", &line]);
        }
        if keep(&line) {
            kept.push(line);
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{shown}` failed ({status}){failures}");
    }
    Ok(kept)
}

/// Runs the command silently and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let stdout = silently(command)?.stdout;
    String::from_utf8(stdout).with_context(|| format!("`{}` printed no UTF-8", show(command)))
}

/// Runs the command silently and returns what it wrote to standard error.
pub(crate) fn complaints(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8_lossy(&silently(command)?.stderr).into_owned())
}

/// Runs the command silently and returns its output. If the command fails, the error has its
/// standard error.
fn silently(command: &mut Command) -> Result<Output> {
    let shown = show(command);
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed ({}):\n{}", output.status, stderr.trim_end());
    }
    Ok(output)
}

/// Returns the command as a person would type it, with the variables it sets.
fn show(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}='{}'", name.to_string_lossy(), value?.to_string_lossy()))
    });
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    let words = words.map(|word| quote(&word.to_string_lossy()));
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// Quotes a word that a shell would split or expand.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:@,".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let mut command = cargo(&["doc", "--config", "profile.release.lto=\"off\""]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        let expected =
            "RUSTDOCFLAGS='-D warnings' cargo doc --config 'profile.release.lto=\"off\"'";
        assert_eq!(show(&command), expected);
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = run(&mut program("false")).unwrap_err().to_string();
        assert!(error.starts_with("`false` failed (exit status: 1)"), "{error}");
        let error = run(&mut program("no-such-program")).unwrap_err().to_string();
        assert_eq!(error, "cannot start `no-such-program`");
    }

    #[test]
    fn chosen_lines_are_kept() {
        let mut command = program("printf");
        let lines = run_keeping(command.args(["a 1\\nb 2\\na 3\\n"]), |l| l.starts_with('a'));
        assert_eq!(lines.unwrap(), ["a 1", "a 3"]);
    }

    #[test]
    fn a_failure_has_the_lines_that_say_so() {
        let mut command = program("sh");
        command.args(["-c", "echo a ok; echo b FAILED; exit 3"]);
        let error = run_keeping(&mut command, |_| true).unwrap_err().to_string();
        assert!(error.ends_with("failed (exit status: 3)\nb FAILED"), "{error}");
    }
}

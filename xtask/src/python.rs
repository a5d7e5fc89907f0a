//! The Python package: its environment, lints, tests and notebooks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cmd, setup};

/// The folder of the package and of the lock files for its tests.
const SOURCES: &str = "python";
/// The lock file of the tool that installs the rest, with hashes.
const INSTALLER: &str = "installer.txt";
/// The lock file of everything else.
const LOCK: &str = "uv.lock";

/// Checks the layout, the lints and the types, and runs the tests with the program of this build.
pub(crate) fn test() -> Result<Vec<String>> {
    let environment = install()?;
    let program = cmd::program_of_tests()?;
    let tool = |name: &str, args: &[&str]| {
        let mut command = tool_of(&environment, name);
        command.args(args).env("PAGEOUT", &program);
        // Compiled files must not lie beside the sources.
        command.env("PYTHONPYCACHEPREFIX", cmd::target().join("python/compiled"));
        command
    };
    cmd::run(&mut tool("ruff", &["format", "--check", "."]))?;
    cmd::run(&mut tool("ruff", &["check", "."]))?;
    cmd::run(&mut tool("mypy", &["--python-executable", &python(&environment)]))?;
    cmd::run_keeping(&mut tool("pytest", &["--quiet"]), |line| line.contains(" passed"))
}

/// Returns a command for a tool of the environment, which works on the package.
pub(crate) fn tool(name: &str) -> Result<Command> {
    Ok(tool_of(&install()?, name))
}

fn tool_of(environment: &Path, name: &str) -> Command {
    let mut command = cmd::program(environment.join("bin").join(name));
    command.current_dir(sources());
    command
}

/// Makes an environment of the locked packages, if there is none.
fn install() -> Result<PathBuf> {
    setup::python()?;
    let place = cmd::target().join("python");
    let environment = place.join("environment");
    let installed = place.join("installed.txt");
    let locks = [INSTALLER, LOCK].map(|name| fs::read_to_string(sources().join(name)));
    let [installer, lock] = locks;
    let locked = installer.context(INSTALLER)? + &lock.context(LOCK)?;
    if fs::read_to_string(&installed).is_ok_and(|before| before == locked) {
        return Ok(environment);
    }
    let tools = place.join("tools");
    cmd::run(cmd::program("python3").args(["-m", "venv", "--clear"]).arg(&tools))?;
    let mut pip = cmd::program(tools.join("bin/pip"));
    pip.current_dir(sources());
    cmd::run(pip.args(["install", "--quiet", "--require-hashes", "-r", INSTALLER]))?;
    let mut uv = cmd::program(tools.join("bin/uv"));
    uv.current_dir(sources()).env("UV_PROJECT_ENVIRONMENT", &environment);
    let what = ["sync", "--locked", "--all-extras", "--no-install-project", "--quiet"];
    cmd::run(uv.args(what).args(["--python", &python(&tools)]))?;
    fs::write(&installed, locked)?;
    Ok(environment)
}

pub(crate) fn sources() -> PathBuf {
    cmd::root().join(SOURCES)
}

/// Returns the interpreter of an environment.
fn python(environment: &Path) -> String {
    environment.join("bin/python").display().to_string()
}

//! The kernel in C that links the engine (`crates/capi/examples/kernel`): compiled, and booted
//! under QEMU.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{cmd, setup};

/// The target of programs for the board.
pub(crate) const TARGET: &str = "aarch64-unknown-none";

/// The sources, in the kernel's folder.
const SOURCES: [&str; 4] = ["start.S", "kernel.c", "machine.c", "memory.c"];

/// The options of the compiler: neither a system nor its library is there.
const COMPILER: [&str; 17] = [
    "-std=c11",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pedantic",
    "-ffreestanding",
    "-nostdlib",
    "-static",
    "-fno-pic",
    "-no-pie",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-mgeneral-regs-only",
    "-mno-outline-atomics",
    "-Wl,--gc-sections",
    "-Wl,--build-id=none",
];

/// The emulator of the board.
const BOARD: [&str; 11] = [
    "qemu-system-aarch64",
    "-machine",
    "virt",
    "-display",
    "none",
    "-monitor",
    "none",
    "-serial",
    "stdio",
    "-nodefaults",
    "-no-user-config",
];

/// The CPUs to emulate: one that sets accessed and dirty flags, and one that leaves that to faults.
const CPUS: [&str; 2] = ["max", "cortex-a57"];

/// Returns the command that emulates the board for so many seconds at most.
pub(crate) fn board(seconds: &str) -> Command {
    let mut machine = cmd::program("timeout");
    machine.arg(seconds).args(BOARD);
    machine
}

/// Builds the kernel and boots it on each CPU. Returns the closing line of each run.
pub(crate) fn test() -> Result<Vec<String>> {
    setup::kernel()?;
    let program = compile()?;
    let mut lines = Vec::new();
    for cpu in CPUS {
        let mut machine = board("120"); // a run takes two
        machine.args(["-m", "64M", "-semihosting", "-cpu", cpu, "-kernel"]).arg(&program);
        let said = cmd::output(&mut machine).with_context(|| format!("the kernel on {cpu}"))?;
        print!("{said}");
        let all: Vec<_> = said.lines().collect();
        let [.., faults, _, "all is well"] = all[..] else {
            bail!("the kernel on {cpu} ended without its last line");
        };
        lines.push(format!("kernel on {cpu}: {faults}"));
    }
    Ok(lines)
}

/// Compiles the library and the kernel, and returns the kernel's path.
fn compile() -> Result<PathBuf> {
    let args = ["build", "--release", "--locked", "--package", "pageout-capi", "--target", TARGET];
    cmd::run(&mut cmd::cargo(&args))?;
    let library = cmd::target().join(TARGET).join("release/libpageout_capi.a");
    let folder = cmd::target().join("kernel");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {folder:?}"))?;
    let (capi, program) = (cmd::root().join("crates/capi"), folder.join("kernel.elf"));
    let sources = capi.join("examples/kernel");
    let mut compiler = cmd::program("aarch64-linux-gnu-gcc");
    compiler.args(COMPILER).arg("-I").arg(capi.join("include"));
    compiler.arg("-T").arg(sources.join("kernel.ld"));
    compiler.arg("-o").arg(&program).args(SOURCES.map(|name| sources.join(name))).arg(library);
    cmd::run(&mut compiler)?;
    Ok(program)
}

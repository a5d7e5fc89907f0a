//! `cargo xtask asm`: the machine code of the young-bit helpers.
//!
//! A clear of a live entry is one atomic read-modify-write, and how it is written decides which: on
//! x86 a `fetch_and` whose old word is used becomes a compare-and-swap loop. So the compiled code
//! is read. Each helper holds one kind of atomic operation, and no entry sees two of them; none
//! stores otherwise, panics, or calls what is not shown.

mod check;
mod isa;
mod listing;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::cmd;
use check::Demand;
use isa::{Atomic, Isa};

/// One way the helpers are compiled.
struct Build {
    name: &'static str,
    isa: Isa,
    target: &'static str,
    /// Processor features beyond the target's.
    features: &'static str,
    demands: &'static [Demand],
}

const fn holds(atomic: Atomic, name: &'static str) -> Demand {
    Demand { name, atomic }
}

const BUILDS: [Build; 3] = [
    Build {
        name: "x86-64",
        isa: Isa::X86,
        target: "x86_64-unknown-linux-gnu",
        features: "",
        demands: &[
            holds(Atomic::TestAndClear, "probe_per_entry_x86_64"),
            holds(Atomic::TestAndClear, "probe_batched_x86_64"),
            holds(Atomic::Clear, "probe_line_x86_64"),
            holds(Atomic::Clear, "probe_fused_x86_64"),
            holds(Atomic::CompareAndSwap, "probe_per_entry_arm64"),
            holds(Atomic::CompareAndSwap, "probe_batched_arm64"),
            holds(Atomic::Clear, "probe_line_arm64"),
            holds(Atomic::Clear, "probe_fused_arm64"),
        ],
    },
    Build {
        name: "arm64 with LSE",
        isa: Isa::Arm64,
        target: "aarch64-unknown-none",
        features: "+lse",
        demands: &[
            holds(Atomic::CompareAndSwap, "probe_per_entry_arm64"),
            holds(Atomic::CompareAndSwap, "probe_batched_arm64"),
            holds(Atomic::Clear, "probe_line_arm64"),
            holds(Atomic::Clear, "probe_fused_arm64"),
        ],
    },
    Build {
        name: "arm64 without LSE",
        isa: Isa::Arm64,
        target: "aarch64-unknown-none",
        features: "",
        demands: &[
            holds(Atomic::Exclusive, "probe_per_entry_arm64"),
            holds(Atomic::Exclusive, "probe_batched_arm64"),
            holds(Atomic::Exclusive, "probe_line_arm64"),
            holds(Atomic::Exclusive, "probe_fused_arm64"),
        ],
    },
];

/// Compiles the helpers each way and checks what came out.
pub(crate) fn run() -> Result<()> {
    let mut wrong = 0;
    for build in &BUILDS {
        let path = compile(build)?;
        let text = fs::read_to_string(&path)
            .with_context(|| format!("{} is gone: run `cargo clean`", path.display()))?;
        let functions = listing::split(&text);
        for demand in build.demands {
            for what in check::check(&functions, build.isa, *demand) {
                eprintln!("{}: {}: {what}", build.name, demand.name);
                wrong += 1;
            }
        }
        println!("asm: {}: {} functions read", build.name, build.demands.len());
    }
    if wrong > 0 {
        bail!("{wrong} demand(s) on the compiled helpers not met");
    }
    Ok(())
}

/// Compiles the probe crate and returns the path of its listing.
fn compile(build: &Build) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let folder = cmd::root().join(target).join("asm").join(build.name.replace(' ', "-"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join("probe.s");
    let mut command = cmd::cargo(&["rustc", "--package", "pageout-asm-probe", "--lib"]);
    command.args(["--release", "--target", build.target, "--target-dir"]).arg(&folder);
    // As the engine is compiled where it is timed; link-time optimisation would put off the code
    // that we want to read.
    command.args([
        "--config",
        "profile.release.lto=\"off\"",
        "--config",
        "profile.release.opt-level=3",
        "--config",
        "profile.release.codegen-units=1",
    ]);
    command.arg("--").arg(format!("--emit=link,asm={}", path.display()));
    // Names as they were written, and each loop once.
    command.args(["-Csymbol-mangling-version=v0", "-Cllvm-args=-unroll-runtime=false"]);
    if !build.features.is_empty() {
        command.arg(format!("-Ctarget-feature={}", build.features));
    }
    cmd::run(command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    Ok(path)
}

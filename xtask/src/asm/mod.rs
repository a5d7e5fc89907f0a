//! `cargo xtask asm`: the machine code of the young-bit helpers.
//!
//! A clear of a live entry is one atomic read-modify-write. Its wording in Rust decides which one:
//! on x86 a `fetch_and` whose old word is used becomes a compare-and-swap loop. So this task reads
//! the compiled code. Each helper has one kind of atomic operation, and no entry sees two of them.
//! No helper stores otherwise, panics, or calls a function that the listing lacks.
//!
//! The same holds where embedders optimise for size. There a helper that reads before it clears
//! passes old entries in at most 1.3 times the instructions: functions that are called once for a
//! line are inlined, and loops over the eight entries of a line are unrolled.

mod check;
mod isa;
mod listing;
mod round;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::cmd;
use check::Demand;
use isa::{Atomic, Isa};
use listing::Listing;

/// The maximum number of instructions to pass an old entry when optimised for size, as a multiple
/// of those when optimised for speed.
const SIZE_COSTS: f64 = 1.3;

/// A way to compile the helpers.
struct Build {
    name: &'static str,
    isa: Isa,
    target: &'static str,
    /// Processor features beyond the target's.
    features: &'static str,
    demands: &'static [Demand],
}

/// Describes a helper that changes every entry that it visits.
const fn changes(atomic: Atomic, name: &'static str) -> Demand {
    Demand { name, atomic, at_once: None }
}

/// Describes a helper that reads first, one entry in each round of its loop.
const fn looks(atomic: Atomic, name: &'static str) -> Demand {
    Demand { name, atomic, at_once: Some(1) }
}

/// Describes a helper that reads first, one line in each round of its loop.
const fn looks_at_lines(atomic: Atomic, name: &'static str) -> Demand {
    Demand { name, atomic, at_once: Some(8) }
}

const BUILDS: [Build; 3] = [
    Build {
        name: "x86-64",
        isa: Isa::X86,
        target: "x86_64-unknown-linux-gnu",
        features: "",
        demands: &[
            looks(Atomic::TestAndClear, "probe_per_entry_x86_64"),
            looks(Atomic::TestAndClear, "probe_batched_x86_64"),
            looks_at_lines(Atomic::Clear, "probe_line_x86_64"),
            looks_at_lines(Atomic::Clear, "probe_fused_x86_64"),
            changes(Atomic::CompareAndSwap, "probe_per_entry_arm64"),
            changes(Atomic::CompareAndSwap, "probe_batched_arm64"),
            looks_at_lines(Atomic::Clear, "probe_line_arm64"),
            looks_at_lines(Atomic::Clear, "probe_fused_arm64"),
        ],
    },
    Build {
        name: "arm64 with LSE",
        isa: Isa::Arm64,
        target: "aarch64-unknown-none",
        features: "+lse",
        demands: &[
            changes(Atomic::CompareAndSwap, "probe_per_entry_arm64"),
            changes(Atomic::CompareAndSwap, "probe_batched_arm64"),
            looks_at_lines(Atomic::Clear, "probe_line_arm64"),
            looks_at_lines(Atomic::Clear, "probe_fused_arm64"),
        ],
    },
    Build {
        name: "arm64 without LSE",
        isa: Isa::Arm64,
        target: "aarch64-unknown-none",
        features: "",
        demands: &[
            changes(Atomic::Exclusive, "probe_per_entry_arm64"),
            changes(Atomic::Exclusive, "probe_batched_arm64"),
            looks_at_lines(Atomic::Exclusive, "probe_line_arm64"),
            looks_at_lines(Atomic::Exclusive, "probe_fused_arm64"),
        ],
    },
];

/// Compiles the helpers each way and checks the code.
pub(crate) fn run() -> Result<()> {
    let mut wrong = 0;
    for build in &BUILDS {
        let [fast, small] = ["3", "s"].map(|level| read(build, level));
        let (fast, small) = (fast?, small?);
        for demand in build.demands {
            let found = [("3", &fast), ("s", &small)].into_iter().flat_map(|(level, listing)| {
                let found = check::check(listing, build.isa, *demand);
                found.into_iter().map(move |what| format!("opt-level {level}: {what}"))
            });
            for what in found.chain(size_costs(build.isa, *demand, &fast, &small)) {
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

/// Prints the instructions that a helper takes to pass an old entry, optimised for speed and for
/// size; returns what is wrong with them.
fn size_costs(isa: Isa, demand: Demand, fast: &Listing, small: &Listing) -> Vec<String> {
    let Some(at_once) = demand.at_once else { return Vec::new() };
    let rounds = [("3", fast), ("s", small)].map(|(level, listing)| {
        let symbol = check::symbol(listing, demand.name);
        symbol
            .and_then(|symbol| round::shortest(listing, isa, symbol, at_once))
            .ok_or_else(|| format!("opt-level {level}: no round passes {at_once} old entries"))
    });
    match rounds {
        [Ok(fast), Ok(small)] => {
            let [fast, small] = [fast, small].map(|round| round as f64 / at_once as f64);
            let name = demand.name;
            println!("  {name}: {fast:.2} instructions for an old entry, {small:.2} for size");
            let costs = small / fast;
            let why = format!("costs {costs:.2} times as much for size");
            if costs > SIZE_COSTS { vec![why] } else { Vec::new() }
        }
        rounds => rounds.into_iter().filter_map(Result::err).collect(),
    }
}

/// Compiles the probe crate and reads its listing.
fn read(build: &Build, level: &str) -> Result<Listing> {
    let path = compile(build, level)?;
    let text = fs::read_to_string(&path)
        .with_context(|| format!("{} is gone: run `cargo clean`", path.display()))?;
    Ok(listing::split(&text))
}

/// Compiles the probe crate and returns the path of its listing.
fn compile(build: &Build, level: &str) -> Result<PathBuf> {
    let name = format!("{}-{level}", build.name.replace(' ', "-"));
    let folder = cmd::target().join("asm").join(name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join("probe.s");
    let mut command = cmd::cargo(&["rustc", "--package", "pageout-asm-probe", "--lib"]);
    command.args(["--release", "--target", build.target, "--target-dir"]).arg(&folder);
    // The engine is compiled like this where it is timed, or where an embedder wants it small.
    // Link-time optimisation would put off the code generation that this task reads.
    let level = if level == "s" { "\"s\"" } else { level };
    for setting in ["lto=\"off\"", "codegen-units=1", &format!("opt-level={level}")] {
        command.args(["--config", &format!("profile.release.{setting}")]);
    }
    let paging = format!("profile.release.package.pageout-paging.opt-level={level}");
    command.args(["--config", &paging]);
    command.arg("--").arg(format!("--emit=link,asm={}", path.display()));
    // Names are kept as they were written, and each loop stands only once.
    command.args(["-Csymbol-mangling-version=v0", "-Cllvm-args=-unroll-runtime=false"]);
    if !build.features.is_empty() {
        command.arg(format!("-Ctarget-feature={}", build.features));
    }
    cmd::run(command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    Ok(path)
}

//! `lab lru-gen`: a session of `lru_gen` on real kernels.

use super::args::LruGenArgs;
use super::generations;
use super::progress::ShownProgress;
use crate::error::CliError;
use crate::output;
use pageout_experiment::input;
use pageout_experiment::lru_gen::{SHIPPED, Session, shipped};
use pageout_lab::{Captured, Needs};
use pageout_run::unread;
use std::path::Path;
use std::time::Duration;

pub(crate) fn lru_gen(args: &LruGenArgs) -> Result<(), CliError> {
    if args.json && args.read.is_none() {
        return Err(CliError::SessionJson);
    }
    let name = match (&args.read, &args.session) {
        (Some(path), _) => return generations::show(path, args.json, args.output.as_deref()),
        (None, name) => name.as_deref().expect("clap asks for a session or --read"),
    };
    args.patched.check_paths()?;
    let mut inputs = args.patched.inputs();
    inputs.push(Some(Path::new(name)));
    output::check(&[args.output.as_deref()], &inputs)?;
    let session = read(name)?;
    let building = &args.patched.building;
    let [_, after] = building.kernel.before_and_after();
    let default = if building.tree.is_some() { "stock" } else { after };
    let kernels = args.patched.kernels(&args.kernels, &[default])?;
    let told = ShownProgress::new();
    let (lab, configs) = building.open(&told, &kernels, &Needs::SWAP, Some(&args.cpus))?;
    let limit = args.time_limit.map(|seconds| Duration::from_secs(seconds.into()));
    let captured = lab.lru_gen(&kernels, &configs, &args.cpus, &session, limit)?;
    for Captured { header, warned, .. } in &captured {
        if let Some(log) = warned {
            let log = log.display();
            output::say(&format!("warning: {header}: the kernel warned, see {log}"));
        }
    }
    let texts = captured.iter().map(|captured| format!("{}\n{}", captured.header, captured.text));
    let text = texts.collect::<Vec<_>>().join("\n");
    output::to(args.output.as_deref(), output::printable(&text).as_bytes())
}

/// Reads a session that comes with the program, or else a file's.
fn read(name: &str) -> Result<Session, CliError> {
    let text = match shipped(name) {
        Some(_) if Path::new(name).exists() => {
            return Err(CliError::SessionOrFile(name.to_owned()));
        }
        Some(text) => text.to_owned(),
        None => input::read_text(Path::new(name), input::MAX_TEXT).map_err(|error| {
            let names = SHIPPED.iter().map(|(name, _)| *name);
            unread("session", Path::new(name), error, names)
        })?,
    };
    Ok(Session::parse(name, &text)?)
}

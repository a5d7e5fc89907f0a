//! `lab`: real kernels, built and booted under QEMU.

pub(crate) mod args;
mod lru_gen;
mod progress;
mod request;
mod tables;

pub(crate) use request::scenarios;

use crate::error::CliError;
use crate::output;
use args::{BuildArgs, Building, CompareArgs, LabArgs, LabCommand, ProfileArgs, RunArgs, Running};
use pageout_record::compare::compare as compare_records;
use pageout_record::render::{self, Options};
use pageout_record::schema::{Labels, RecordSet};
use pageout_sim::lab::{
    Bench, Builds, Cache, Config, Kernel, KernelError, Lab, LabError, Measured, Patch, Runs, Source,
};
use pageout_sim::this_machine::this_run;
use progress::Told;
use request::{Request, kernel_or_scenario};
use std::time::Instant;

/// What is compared if no scenario is given.
const COMPARED: [&str; 2] = ["order=4", "lru=classic,mglru"];
/// What is profiled if no scenario is given.
const PROFILED: [&str; 2] = ["order=4", "lru=classic"];
/// How many functions a profile shows.
const FUNCTIONS: usize = 25;

pub(crate) fn lab(args: &LabArgs) -> Result<(), CliError> {
    match &args.command {
        LabCommand::Build(args) => build(args),
        LabCommand::Run(args) => run(args),
        LabCommand::Compare(args) => compare(args),
        LabCommand::Profile(args) => profile(args),
        LabCommand::LruGen(args) => lru_gen::lru_gen(args),
        LabCommand::Script { output } => {
            output::to(output.as_deref(), pageout_sim::lab::script().as_bytes())
        }
    }
}

fn build(args: &BuildArgs) -> Result<(), CliError> {
    let since = Instant::now();
    let patches = args.building.patches()?;
    let names = or_default(&args.kernels, &patches, &["stock"]);
    let kernels = Kernel::resolve(&names, &patches)?;
    let told = Told::new();
    let lab = args.building.lab(&told)?;
    let configs = args.building.configs_or(Config::Arm64_4K);
    lab.check(&configs, None)?;
    let builds = lab.build(&kernels, &configs)?;
    eprintln!("built in {}", elapsed(since));
    output::print(tables::built(&builds).as_bytes())
}

fn run(args: &RunArgs) -> Result<(), CliError> {
    let patches = args.building.patches()?;
    let request = Request::parse(&args.words);
    let names = or_default(&request.kernels, &patches, &["stock"]);
    let kernels = Kernel::resolve(&names, &patches).map_err(kernel_or_scenario)?;
    let plan = request.plan()?;
    output::check(&args.output)?;
    let runs = args.running.runs(plan)?;
    let (_, measured) = measure(&kernels, &runs, &args.building)?;
    let set = RecordSet::new(this_run(), measured.records);
    output::emit(&args.output, &set, |set| Ok(crate::tables::metrics(set)))
}

fn compare(args: &CompareArgs) -> Result<(), CliError> {
    let since = Instant::now();
    let patches = args.building.patches()?;
    let request = Request::parse(&args.words);
    // With patches, stock is what they are compared with; else the series is compared with it.
    let default: &[&str] = if patches.is_empty() { &["stock", "s3"] } else { &["stock"] };
    let names = or_default(&request.kernels, &[], default);
    let kernels = Kernel::resolve(&names, &patches).map_err(kernel_or_scenario)?;
    if let [only] = &kernels[..] {
        return Err(CliError::LabOneKernel(only.name.clone()));
    }
    let plan = request.plan_or(&COMPARED)?;
    output::check(&args.output)?;
    let runs = args.running.runs(plan)?;
    let (builds, measured) = measure(&kernels, &runs, &args.building)?;
    let base: Labels = [("kernel".to_owned(), kernels[0].name.clone())].into();
    let set = RecordSet::new(this_run(), measured.records.clone());
    output::emit(&args.output, &set, |set| {
        let comparison = compare_records(&tables::differing(set), &base)?;
        let table = render::comparison(&comparison, Options::default());
        let alike = tables::alike(set);
        let provenance = tables::provenance(&builds, &measured);
        Ok(format!("{table}\n{alike}{}{provenance}", tables::saved(&comparison)))
    })?;
    eprintln!("built and compared in {}", elapsed(since));
    Ok(())
}

fn profile(args: &ProfileArgs) -> Result<(), CliError> {
    let patches = args.building.patches()?;
    let request = Request::parse(&args.words);
    let names = or_default(&request.kernels, &patches, &["stock"]);
    let kernels = Kernel::resolve(&names, &patches).map_err(kernel_or_scenario)?;
    let plan = request.plan_or(&PROFILED)?;
    if plan.len() > 1 {
        return Err(CliError::LabProfiles(plan.len()));
    }
    output::check(&args.output)?;
    if let Some(path) = &args.folded {
        output::check_path(path)?;
    }
    let mut runs = args.running.runs(plan)?;
    runs.profile = Some(args.root.clone());
    let (_, measured) = measure(&kernels, &runs, &args.building)?;
    if let Some(path) = &args.folded {
        output::to(Some(path), tables::folded(&measured.profiles).as_bytes())?;
    }
    let records = measured.profiles.iter().flat_map(|profiled| {
        let record = profiled.records.iter().take(1);
        record.flat_map(|record| profiled.profile.records(record, profiled.pages))
    });
    let set = RecordSet::new(this_run(), records.collect());
    output::emit(&args.output, &set, |_| Ok(tables::profiles(&measured.profiles, FUNCTIONS)))
}

/// Builds the kernels and runs the plan on each.
fn measure(
    kernels: &[Kernel],
    runs: &Runs,
    building: &Building,
) -> Result<(Builds, Measured), CliError> {
    let told = Told::new();
    let lab = building.lab(&told)?;
    let configs = building.configs_or(Config::Arm64_4K);
    lab.check(&configs, Some(&runs.cpus))?;
    let builds = lab.build(kernels, &configs)?;
    let measured = lab.run(&builds, runs)?;
    for (machine, log) in &measured.warned {
        eprintln!("warning: {machine}: the kernel warned, see {}", log.display());
    }
    Ok((builds, measured))
}

impl Running {
    fn runs(&self, plan: Vec<Bench>) -> Result<Runs, CliError> {
        Bench::check_samples(&plan, self.runs)?;
        let (cpus, samples, limit) = (self.cpus.clone(), self.runs, self.limit());
        Ok(Runs { cpus, plan, samples, limit, profile: None })
    }
}

/// The kernels' names, or the default ones where none is named and no patch makes one.
fn or_default(names: &[String], patches: &[Patch], default: &[&str]) -> Vec<String> {
    if names.is_empty() && patches.is_empty() {
        return default.iter().map(|name| (*name).to_owned()).collect();
    }
    names.to_vec()
}

impl Building {
    fn patches(&self) -> Result<Vec<Patch>, KernelError> {
        self.patches.iter().map(|path| Patch::read(path)).collect()
    }

    /// The configurations asked for.
    fn configs_or(&self, default: Config) -> Vec<Config> {
        if self.configs.is_empty() { vec![default] } else { self.configs.clone() }
    }

    fn lab<'a>(&self, told: &'a Told) -> Result<Lab<'a>, CliError> {
        let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Lab {
            cache: Cache::open(self.cache.as_deref()).map_err(LabError::Cache)?,
            source: self.tree.clone().map_or(Source::Debian, Source::Tree),
            jobs: self.jobs.map_or_else(cpus, usize::from),
            progress: told,
        })
    }
}

/// A time for people: `2 min 5 s`.
fn elapsed(since: Instant) -> String {
    let seconds = since.elapsed().as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

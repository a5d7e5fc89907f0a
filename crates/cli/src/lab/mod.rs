//! `lab`: real kernels, built and booted under QEMU.

mod announce;
pub(crate) mod args;
mod checks;
mod flushes;
mod generations;
mod ktap;
mod lru_gen;
mod progress;
mod request;
mod scans;
mod schedule;
mod schedule_args;
mod schedule_text;
mod series;
mod series_schedules;
mod tables;

pub(crate) use request::scenarios;

use crate::error::CliError;
use crate::this_run::this_run;
use crate::{output, paths, terminal};
use args::{
    BuildArgs, Building, CompareArgs, Counting, LabArgs, LabCommand, Patched, ProfileArgs, RunArgs,
    Running, ScriptArgs, SourceArgs,
};
use pageout_lab::{
    Bench, Cache, Config, Cpu, Fetch, Kernel, KernelError, Lab, LabError, Measured, Needs,
    PatchSet, Runs, Source,
};
use pageout_record::schema::RecordSet;
use progress::ShownProgress;
use request::{Request, kernel_or_scenario};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// The fields that are compared if no scenario is given.
const COMPARED: [&str; 2] = ["order=4", "lru=classic,mglru"];
/// The fields that are profiled if no scenario is given.
const PROFILED: [&str; 2] = ["order=4", "lru=classic"];
/// The number of boots of a kernel on this machine's own processor: with six or more, a median has
/// an interval.
const BOOTS: u16 = 8;
/// The maximum number of functions in a profile.
const FUNCTIONS: usize = 25;

pub(crate) fn lab(args: &LabArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        LabCommand::Series(args) => return series::series(args),
        LabCommand::Schedule(args) => return schedule::schedule(args),
        LabCommand::Build(args) => build(args),
        LabCommand::Run(args) => run(args),
        LabCommand::Compare(args) => compare(args),
        LabCommand::Profile(args) => profile(args),
        LabCommand::LruGen(args) => lru_gen::lru_gen(args),
        LabCommand::Source(args) => source(args),
        LabCommand::Script(args) => script(args),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn script(args: &ScriptArgs) -> Result<(), CliError> {
    output::check(&[args.output.as_deref()], &[args.workload.as_deref()])?;
    let workload = request::workload(args.scenario.as_deref(), args.workload.as_deref())?;
    output::to(args.output.as_deref(), workload.script().as_bytes())
}

fn build(args: &BuildArgs) -> Result<(), CliError> {
    let since = Instant::now();
    args.patched.check_paths()?;
    let kernels = args.patched.kernels(&args.kernels, &["stock"])?;
    let told = ShownProgress::new();
    let building = &args.patched.building;
    let (lab, configs) = building.open(&told, &kernels, &Needs::default(), None)?;
    let built = lab.build(&kernels, &configs)?;
    output::say(&format!("built in {}", elapsed(since)));
    output::print_text(&tables::built(&built, terminal::columns()))
}

fn run(args: &RunArgs) -> Result<(), CliError> {
    args.patched.check_paths()?;
    output::check(&args.output.paths(), &args.patched.inputs())?;
    let request = Request::parse(&args.words, args.running.workload.as_deref())?;
    let kernels = args.patched.kernels(&request.kernels, &["stock"]);
    let kernels = kernels.map_err(kernel_or_scenario)?;
    let plan = request.plan()?;
    let runs = args.counting.runs(plan, &args.running)?;
    let measured = measure(&kernels, &runs, &args.patched.building)?;
    let set = RecordSet::new(this_run(), measured.records);
    output::emit(&args.output, &set, &[], |set, columns| {
        crate::tables::figures_of(set, args.shown, &scans::differing(set), columns)
    })
}

fn compare(args: &CompareArgs) -> Result<(), CliError> {
    let since = Instant::now();
    args.patched.check_paths()?;
    output::check(&args.output.paths(), &args.patched.inputs())?;
    let request = Request::parse(&args.words, args.running.workload.as_deref())?;
    let kernels = args.patched.compared(&request.kernels).map_err(kernel_or_scenario)?;
    if let [only] = &kernels[..] {
        return Err(CliError::LabOneKernel(only.name.clone()));
    }
    let plan = request.plan_or(&COMPARED)?;
    let runs = args.counting.runs(plan, &args.running)?;
    let measured = measure(&kernels, &runs, &args.patched.building)?;
    let base = tables::of_kernel(&kernels[0].name);
    let set = RecordSet::new(this_run(), measured.records.clone());
    output::emit(&args.output, &set, &[(&set, &base)], |set, columns| {
        let parts = tables::parts(&kernels, &measured.built, &measured.emulators);
        tables::compared(set, &base, args.shown, &parts, columns)
    })?;
    output::say(&format!("built and compared in {}", elapsed(since)));
    Ok(())
}

fn profile(args: &ProfileArgs) -> Result<(), CliError> {
    args.patched.check_paths()?;
    let [text, page] = args.output.paths();
    output::check(&[text, page, args.folded.as_deref()], &args.patched.inputs())?;
    let request = Request::parse(&args.words, args.running.workload.as_deref())?;
    let kernels = args.patched.kernels(&request.kernels, &["stock"]);
    let kernels = kernels.map_err(kernel_or_scenario)?;
    let plan = request.plan_or(&PROFILED)?;
    args.running.check_is_counted("lab profile")?;
    let mut runs = args.running.runs(plan)?;
    runs.profile = Some(args.root.clone());
    let measured = measure(&kernels, &runs, &args.patched.building)?;
    if let Some(path) = &args.folded {
        output::to(Some(path), tables::folded(&measured.profiles).as_bytes())?;
    }
    let records = measured.profiles.iter().flat_map(|profiled| {
        let record = profiled.records.iter().take(1);
        record.flat_map(|record| profiled.profile.records(record, profiled.pages))
    });
    let set = RecordSet::new(this_run(), records.collect());
    output::emit(&args.output, &set, &[], |_, columns| {
        Ok(tables::profiles(&measured.profiles, FUNCTIONS, columns))
    })
}

fn source(args: &SourceArgs) -> Result<(), CliError> {
    paths::made_directory("--cache", args.cache.as_deref())?;
    args.mirror.as_deref().map_or(Ok(()), check_mirror)?;
    let told = ShownProgress::new();
    let cache = Cache::open(args.cache.as_deref()).map_err(LabError::Cache)?;
    let fetch =
        Fetch { release: args.kernel, mirror: args.mirror.clone(), keyring: args.keyring.clone() };
    let fetched = fetch.run(&cache, &told)?;
    output::print_text(&tables::fetched(&fetched))
}

/// Checks that an archive is an address that is fetched from, or a directory.
fn check_mirror(mirror: &str) -> Result<(), CliError> {
    let is_address = ["http://", "https://", "file:", "copy:"].map(|way| mirror.starts_with(way));
    if is_address.contains(&true) {
        return Ok(());
    }
    if mirror.contains("://") {
        return Err(CliError::LabMirror(mirror.to_owned()));
    }
    paths::directory("--mirror", Path::new(mirror), "an address, or a directory")
}

/// Builds the kernels and runs the plan on each.
fn measure(kernels: &[Kernel], runs: &Runs, building: &Building) -> Result<Measured, CliError> {
    let told = ShownProgress::new();
    let (lab, configs) =
        building.open(&told, kernels, &Bench::needs(&runs.plan), Some(&runs.cpus))?;
    let measured = lab.run(kernels, &configs, runs)?;
    warn(&measured);
    Ok(measured)
}

/// Names the kernels that warned, on standard error.
fn warn(measured: &Measured) {
    for (machine, log) in &measured.warned {
        output::say(&format!("warning: {machine}: the kernel warned, see {}", log.display()));
    }
}

impl Running {
    fn runs(&self, plan: Vec<Bench>) -> Result<Runs, CliError> {
        Bench::check_samples(&plan, self.runs)?;
        let (cpus, samples, limit) = (self.cpus.clone(), self.runs, self.limit());
        if self.boots.is_some() && !self.cpus.contains(&Cpu::Host) {
            return Err(CliError::LabBoots);
        }
        let boots = self.boots.unwrap_or(BOOTS);
        Ok(Runs { cpus, plan, samples, boots, limit, profile: None, counts: false })
    }

    /// Checks that a command whose figures are counted runs on emulated processors alone.
    fn check_is_counted(&self, command: &'static str) -> Result<(), CliError> {
        match self.cpus.contains(&Cpu::Host) {
            true => Err(CliError::LabHost(command)),
            false => Ok(()),
        }
    }
}

impl Counting {
    fn runs(&self, plan: Vec<Bench>, running: &Running) -> Result<Runs, CliError> {
        if self.counts {
            running.check_is_counted("--counts")?;
            Bench::check_counts(&plan)?;
        }
        Ok(Runs { counts: self.counts, ..running.runs(plan)? })
    }
}

impl Building {
    /// Checks the tree and the cache, if they are named.
    fn check_paths(&self) -> Result<(), CliError> {
        paths::made_directory("--cache", self.cache.as_deref())?;
        self.tree
            .as_deref()
            .map_or(Ok(()), |tree| paths::directory("--tree", tree, "a kernel source tree"))
    }

    /// Returns the source of kernels that do not name one.
    fn source(&self) -> Source {
        self.tree.clone().map_or(Source::Debian(self.kernel), Source::Tree)
    }

    /// Returns the configurations asked for, or else that of this machine's architecture.
    fn configs(&self, swap: bool) -> Result<Vec<Config>, CliError> {
        if self.configs.is_empty() {
            return Ok(vec![Config::native(swap)]);
        }
        match self.configs.iter().find(|config| swap && !config.has_swap()) {
            Some(config) => Err(CliError::LabSwap(*config)),
            None => Ok(self.configs.clone()),
        }
    }

    /// Returns the lab and the configurations for kernels with such needs, and announces the
    /// builds. Returns an error if a program is missing to build, or to boot on `cpus` if they are
    /// given.
    fn open<'a>(
        &self,
        told: &'a ShownProgress,
        kernels: &[Kernel],
        needs: &Needs,
        cpus: Option<&[Cpu]>,
    ) -> Result<(Lab<'a>, Vec<Config>), CliError> {
        let configs = self.configs(needs.swap)?;
        let all_cpus = || std::thread::available_parallelism().map_or(1, usize::from);
        let lab = Lab {
            cache: Cache::open(self.cache.as_deref()).map_err(LabError::Cache)?,
            options: needs.options.iter().chain(&self.options).cloned().collect(),
            points: None,
            jobs: self.jobs.map_or_else(all_cpus, usize::from),
            progress: told,
        };
        let is_asked_for = !self.configs.is_empty();
        let checked = lab.check(kernels, &configs, needs, cpus);
        // An error of the input comes without the announcement; missing packages come after it.
        let is_of_input = matches!(
            checked,
            Err(LabError::NoCpu { .. } | LabError::OneCpu { .. } | LabError::NotTimed(_))
        );
        if !is_of_input {
            let lines = announce::lines(&lab, kernels, &configs, is_asked_for);
            lines.iter().for_each(|line| output::say(line));
        }
        checked?;
        Ok((lab, configs))
    }
}

impl Patched {
    /// Checks the tree and the patches that options name.
    fn check_paths(&self) -> Result<(), CliError> {
        self.building.check_paths()?;
        let mut patches = self.inputs().into_iter().flatten();
        patches.try_for_each(|patch| paths::file("--patch", patch, "a patch"))
    }

    /// Returns the files that patches are read from.
    fn inputs(&self) -> Vec<Option<&Path>> {
        self.patches.iter().map(|patch| Some(PatchSet::file(patch))).collect()
    }

    /// Returns the kernels that words name and patches make; the default ones if there are none.
    fn kernels(&self, words: &[String], default: &[&str]) -> Result<Vec<Kernel>, KernelError> {
        let is_named = !words.is_empty() || !self.patches.is_empty();
        self.resolve(words, if is_named { &[] } else { default })
    }

    /// Returns the kernels that are compared. Without words, patches are compared with the kernel
    /// that they change, and a release with a kernel before the batches. A user's tree has no
    /// kernel to be compared with by default.
    fn compared(&self, words: &[String]) -> Result<Vec<Kernel>, KernelError> {
        let default: &[&str] = match (words, &self.patches[..], &self.building.tree) {
            ([], [], None) => &self.building.kernel.before_and_after(),
            ([], ..) => &["stock"],
            _ => &[],
        };
        self.resolve(words, default)
    }

    fn resolve(&self, words: &[String], more: &[&str]) -> Result<Vec<Kernel>, KernelError> {
        let words = words.iter().cloned().chain(more.iter().map(|name| (*name).to_owned()));
        let sets = PatchSet::read(&self.patches)?;
        sets.iter().flat_map(|set| &set.notes).for_each(|note| output::say(note));
        Kernel::resolve(&words.collect::<Vec<_>>(), &sets, &self.building.source())
    }
}

/// Writes the time since `since` for people: `2 min 5 s`.
fn elapsed(since: Instant) -> String {
    let seconds = since.elapsed().as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

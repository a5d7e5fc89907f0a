//! Machines booted with a plan, and what they bring home.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pageout_record::schema::{Record, RecordSet};

use super::boot::Boot;
use super::build::{Built, version};
use super::cache::CacheError;
use super::initrd::Guest;
use super::parallel;
use super::plan::Bench;
use super::plugin::{self, Plugin};
use super::profile::{Profile, RECLAIM};
use super::qemu::{self, Machine};
use super::session::{Builds, Lab, LabError};
use super::target::{Config, Cpu};
use crate::this_machine::{available_memory, this_run};

/// Seconds that a machine gets to boot, and again for each run of the benchmark and each GiB that
/// it maps: more than ten times what they take where two machines share two slow CPUs.
const SECONDS: u64 = 120;
/// How many times as long it takes with the plugin.
const PROFILED: u32 = 10;

/// What to run on each kernel.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The processors to emulate.
    pub cpus: Vec<Cpu>,
    /// The runs of the benchmark.
    pub plan: Vec<Bench>,
    /// Samples of each, where it is not the benchmark's own choice.
    pub samples: Option<u16>,
    /// How long a machine may take, where it is not the lab's own choice.
    pub limit: Option<Duration>,
    /// The function to count instructions under, if any.
    pub profile: Option<String>,
}

/// What came of it.
#[derive(Clone, Default, Debug)]
pub struct Measured {
    /// The records, with fields `config` and `cpu`.
    pub records: Vec<Record>,
    /// A profile for each machine, where they were asked for.
    pub profiles: Vec<Profiled>,
    /// The emulators, as they call themselves.
    pub emulators: Vec<String>,
    /// Machines whose kernels warned, and their logs.
    pub warned: Vec<(String, PathBuf)>,
}

/// A machine's profile.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// What the machine is called: `s1, arm64-4k, cpu max`.
    pub title: String,
    /// Its kernel.
    pub kernel: String,
    /// What it brought home.
    pub records: Vec<Record>,
    /// Where its instructions went.
    pub profile: Profile,
    /// The 4K pages that its counts are divided by: those reclaimed in all samples, or those mapped
    /// where none are.
    pub pages: u64,
}

/// A machine to boot.
pub(super) struct ToBoot<'a> {
    built: &'a Built,
    cpu: Cpu,
    guest: Guest,
    /// The emulator, as it calls itself.
    emulator: String,
}

/// What a machine is to do.
pub(super) struct Work<'a> {
    /// The benchmark's arguments, a line a run.
    pub(super) plan: Vec<String>,
    /// The session that one of them runs.
    pub(super) session: Option<String>,
    pub(super) cpus: u8,
    /// Bytes of the benchmark's largest file.
    pub(super) file_size: u64,
    pub(super) limit: Duration,
    /// The plugin's object and the function under which it counts.
    pub(super) plugin: Option<(PathBuf, &'a str)>,
}

/// What a machine brought home.
pub(super) struct Brought {
    records: Vec<Record>,
    /// A session's answers, line by line.
    pub(super) answers: Vec<String>,
    profile: Option<Profile>,
    /// Its log, if its kernel warned.
    pub(super) warned: Option<PathBuf>,
}

impl Lab<'_> {
    /// Boots every kernel on every processor that runs it, several at a time, and brings back the
    /// records.
    ///
    /// # Errors
    ///
    /// The first failure; the other machines are stopped.
    pub fn run(&self, builds: &Builds, runs: &Runs) -> Result<Measured, LabError> {
        let machines = self.machines(builds, &runs.cpus)?;
        let cpus = runs.plan.iter().map(Bench::cpus).max().unwrap_or(1);
        // On several CPUs it is the plugin that counts, also where nobody asked for a profile.
        let root = runs.profile.as_deref().or((cpus > 1).then_some(RECLAIM));
        let plugin = match root {
            Some(root) => {
                let _lock = self.cache.lock(self.progress)?;
                Some((plugin::compiled(&self.cache)?, root))
            }
            None => None,
        };
        let file_size = runs.plan.iter().map(Bench::file_size).max().unwrap_or(0);
        let slower = if plugin.is_some() { PROFILED } else { 1 };
        let limit = runs.limit.unwrap_or_else(|| patience(&runs.plan) * slower);
        let jobs = self.jobs_of(&machines, file_size);
        let boot = |machine: &ToBoot<'_>, stop: &AtomicBool| {
            let lines = runs.plan.iter();
            let lines = lines.map(|bench| bench.line(&machine.built.kernel.name, runs.samples));
            let (plan, plugin) = (lines.collect(), plugin.clone());
            self.boot(machine, &Work { plan, session: None, cpus, file_size, limit, plugin }, stop)
        };
        let brought = parallel::each(&machines, jobs, boot)?;
        let mut measured = Measured::default();
        for (machine, brought) in machines.iter().zip(brought) {
            let Brought { records, profile, warned, .. } = brought;
            let (title, kernel) = (machine.title(), machine.built.kernel.name.clone());
            measured.warned.extend(warned.map(|log| (title.clone(), log)));
            measured.records.extend(records.iter().cloned());
            if let (Some(profile), Some(_)) = (profile, &runs.profile) {
                let pages = pages(machine.built.config, &records)
                    .ok_or_else(|| LabError::NoPages { machine: title.clone() })?;
                measured.profiles.push(Profiled { title, kernel, records, profile, pages });
            }
            if !measured.emulators.contains(&machine.emulator) {
                measured.emulators.push(machine.emulator.clone());
            }
        }
        RecordSet::new(this_run(), measured.records.clone()).validate()?;
        Ok(measured)
    }

    /// What is to be booted.
    pub(super) fn machines<'b>(
        &self,
        builds: &'b Builds,
        cpus: &[Cpu],
    ) -> Result<Vec<ToBoot<'b>>, LabError> {
        let _lock = self.cache.lock(self.progress)?;
        let mut machines = Vec::new();
        for built in &builds.all {
            let arch = built.config.arch();
            let guest = Guest::open(arch, &self.cache)?;
            let emulator = version(arch.qemu())?;
            let cpus = cpus.iter().filter(|cpu| cpu.runs(arch));
            machines.extend(cpus.map(|cpu| ToBoot {
                built,
                cpu: *cpu,
                guest: guest.clone(),
                emulator: emulator.clone(),
            }));
        }
        // A column of the table is a kernel: those of one row stand together.
        machines.sort_by_key(|machine| (machine.built.config, machine.cpu));
        Ok(machines)
    }

    /// How many of them run at once.
    pub(super) fn jobs_of(&self, machines: &[ToBoot<'_>], file_size: u64) -> usize {
        let memory = machines.iter().map(|m| qemu::memory(m.built.config, file_size));
        let memory = memory.max().unwrap_or(1);
        let fitting = available_memory().map_or(usize::MAX, |bytes| (bytes / memory) as usize);
        self.jobs.min(fitting).max(1)
    }

    fn boot(
        &self,
        machine: &ToBoot<'_>,
        work: &Work<'_>,
        stop: &AtomicBool,
    ) -> Result<Brought, LabError> {
        let mut brought = self.emulate(machine, work, stop)?;
        if let (Some(profile), [record], 2..) =
            (&brought.profile, &mut brought.records[..], work.cpus)
        {
            let pages = machine.built.config.small_pages();
            let failed = |source| LabError::Profile { machine: machine.title(), source };
            profile.add_to(record, pages).map_err(failed)?;
        }
        for record in &mut brought.records {
            record.fields.insert("config".to_owned(), machine.built.config.name().to_owned());
            record.fields.insert("cpu".to_owned(), machine.cpu.name().to_owned());
        }
        Ok(brought)
    }

    /// Boots a machine with its work.
    pub(super) fn emulate(
        &self,
        machine: &ToBoot<'_>,
        work: &Work<'_>,
        stop: &AtomicBool,
    ) -> Result<Brought, LabError> {
        let (kernel, plan) = (&machine.built.kernel, &work.plan);
        let scratch = self.cache.run()?;
        let [initrd, symbols, out] =
            ["initrd", "symbols", "profile"].map(|n| scratch.path().join(n));
        machine.guest.write_initrd(plan, work.session.as_deref(), &initrd)?;
        let plugin = match &work.plugin {
            Some((object, root)) => {
                machine.write_symbols(root, &symbols)?;
                Some(Plugin { object, symbols: &symbols, root, out: &out })
            }
            None => None,
        };
        let log = self.cache.log(&machine.file_name())?;
        let emulated = Machine {
            config: machine.built.config,
            cpu: machine.cpu,
            cpus: work.cpus,
            file_size: work.file_size,
            image: &machine.built.image(),
            initrd: &initrd,
            parameters: &kernel.parameters,
            plugin,
        };
        let (command, title) = (emulated.command(), machine.title());
        let task = self.progress.begin(&format!("running {title}"));
        let tell = |done: usize, line: &str| task.tell(done as u64, Some(plan.len() as u64), line);
        let boot = Boot { title: &title, command, plan, log: &log, limit: work.limit, stop };
        let ended = match boot.run(&tell) {
            Ok(ended) => ended,
            Err(error) => {
                // The message names the log.
                let _ = log.keep();
                return Err(error.into());
            }
        };
        let profile = work.plugin.is_some().then(|| machine.profile(&out)).transpose()?;
        let warned = (ended.warnings > 0).then(|| log.keep().ok()).flatten();
        Ok(Brought { records: ended.records, answers: ended.answers, profile, warned })
    }
}

impl ToBoot<'_> {
    /// What messages call it.
    pub(super) fn title(&self) -> String {
        format!("{}, {}, cpu {}", self.built.kernel.name, self.built.config, self.cpu)
    }

    /// What its log is called, but for what tells it from others.
    fn file_name(&self) -> String {
        format!("{}-{}-{}", self.built.kernel.build, self.built.config, self.cpu)
    }

    /// Writes the symbols for the plugin; the root has to be one of them.
    fn write_symbols(&self, root: &str, to: &Path) -> Result<(), LabError> {
        let map = self.built.symbols();
        let map = fs::read_to_string(&map).map_err(CacheError::at(&map))?;
        let symbols = plugin::text_symbols(&map);
        let is_root = |line: &str| line.split_once(' ').is_some_and(|(_, name)| name == root);
        if !symbols.lines().any(is_root) {
            let (kernel, root) = (self.built.kernel.name.clone(), root.to_owned());
            return Err(LabError::NoFunction { kernel, root });
        }
        Ok(fs::write(to, symbols).map_err(CacheError::at(to))?)
    }

    /// What the plugin wrote.
    fn profile(&self, out: &Path) -> Result<Profile, LabError> {
        let text = fs::read_to_string(out).map_err(CacheError::at(out))?;
        text.parse().map_err(|source| LabError::Profile { machine: self.title(), source })
    }
}

/// The 4K pages reclaimed in all samples, or those mapped where none are.
fn pages(config: Config, records: &[Record]) -> Option<u64> {
    let sum = |name: &str| {
        let metrics = records.iter().flat_map(|record| &record.metrics);
        let values = metrics.filter(|metric| metric.name == name).flat_map(|m| &m.values);
        values.sum::<f64>() as u64
    };
    let pages = ["pgsteal", "before: present"].map(sum).into_iter().find(|pages| *pages > 0);
    pages.map(|pages| pages * config.small_pages())
}

/// How long a machine with this plan may take.
fn patience(plan: &[Bench]) -> Duration {
    let gib = |bench: &Bench| 1 + (bench.file_size() >> 30);
    Duration::from_secs(SECONDS * (1 + plan.iter().map(gib).sum::<u64>()))
}

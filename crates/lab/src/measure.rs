//! Machines that are booted with a plan, and their results.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pageout_record::schema::{Record, RecordSet};
use tempfile::TempPath;

use super::boot::Boot;
use super::brought::{Brought, Counts};
use super::build::{BuildError, Built};
use super::cache::CacheError;
use super::child::version;
use super::initrd::{Carried, Guest};
use super::kept::{Given, Kept};
use super::kernel::Kernel;
use super::pages::Pages;
use super::plan::{Bench, Clock};
use super::plugin::{self, Counting, Plugin};
use super::profile::Profile;
use super::qemu::{self, Machine};
use super::selftest;
use super::session::{Done, Lab, LabError, NotBuilt, OnFailure, Sources, Wanted, Work};
use super::source::Source;
use super::target::{Arch, Config, Cpu};
use super::timed;
use super::workload::{Made, Workload};
use pageout_experiment::this_machine::{available_memory, this_run};

/// Seconds that a machine gets to boot, and again for each run of the benchmark and each GiB that
/// it maps: more than ten times what they take if two machines share two slow CPUs.
const SECONDS: u64 = 120;
/// The time within which a kernel on this machine's own processor prints its first line: many times
/// what it takes.
const SILENCE: Duration = Duration::from_secs(60);
/// The factor by which a run is slower with the plugin.
const PROFILED: u32 = 10;

/// The runs on each kernel.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The processors to emulate.
    pub cpus: Vec<Cpu>,
    /// The runs of the benchmark.
    pub plan: Vec<Bench>,
    /// The samples of each run; `None` leaves their number to the benchmark.
    pub samples: Option<u16>,
    /// The number of boots of each run on this machine's own processor.
    pub boots: u16,
    /// The longest time for a machine, if the lab does not choose it.
    pub limit: Option<Duration>,
    /// The function to count instructions under, if any.
    pub profile: Option<String>,
    /// True if atomics, invalidations, barriers and cache lines are counted besides instructions.
    pub counts: bool,
}

/// The outcome of the runs.
#[derive(Clone, Default, Debug)]
pub struct Measured {
    /// The kernels, under each configuration.
    pub built: Vec<Built>,
    /// The records, with fields `config` and `cpu`.
    pub records: Vec<Record>,
    /// A profile for each machine, if profiles were asked for.
    pub profiles: Vec<Profiled>,
    /// The emulators, as they call themselves.
    pub emulators: Vec<String>,
    /// Machines whose kernels warned, and their logs.
    pub warned: Vec<(String, PathBuf)>,
}

/// The outcome of kernels of which some may fail to build, or to run.
#[derive(Default, Debug)]
pub struct Attempted {
    /// The outcome of the kernels that were built and ran.
    pub measured: Measured,
    /// Each machine that came to an end by itself.
    pub ran: Vec<Ran>,
    /// The kernels that were not built.
    pub not_built: Vec<NotBuilt>,
}

/// A run of the benchmark on a machine of its own.
#[derive(Debug)]
pub struct Ran {
    /// The kernel's name.
    pub kernel: String,
    /// The kernel's configuration.
    pub config: Config,
    /// The processor.
    pub cpu: Cpu,
    /// The run of the benchmark.
    pub bench: Bench,
    /// The records, or the reason why there are none.
    pub outcome: Result<Vec<Record>, LabError>,
}

/// A machine's profile.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// The machine's name in messages: `s1, arm64-4k, cpu max`.
    pub title: String,
    /// The machine's records.
    pub records: Vec<Record>,
    /// The instructions of the machine, by call path.
    pub profile: Profile,
    /// The number of 4K pages that the counts are divided by: those reclaimed in all samples, or
    /// those mapped where none are reclaimed.
    pub pages: u64,
}

/// A machine to boot, and its work. Each run of the benchmark has a machine of its own, so that its
/// results do not depend on the runs before it.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) config: Config,
    pub(super) cpu: Cpu,
    /// The index in the plan of the run.
    pub(super) place: usize,
    /// The benchmark's arguments.
    pub(super) line: String,
    /// The session of `lru_gen` that the job runs, if it runs one.
    pub(super) session: Option<String>,
    /// The selftest's program, if the job runs it.
    pub(super) selftest: Option<PathBuf>,
    /// The workload with a manifest, if the job runs one.
    pub(super) made: Option<Made>,
    pub(super) cpus: u8,
    /// The boot parameters that the job's machine takes.
    pub(super) parameters: Vec<String>,
    /// Bytes that the job maps.
    pub(super) file_size: u64,
    /// The pages that a profile is divided by.
    pub(super) pages: Pages,
    pub(super) limit: Duration,
    /// The work that a plugin counts, if there is one.
    pub(super) counting: Option<Counting>,
    pub(super) host: Host,
}

/// The files and the emulator of this machine that machines of an architecture use.
#[derive(Clone)]
pub(super) struct Host {
    guest: Guest,
    /// The emulator's own name and version.
    pub(super) emulator: String,
    /// The folder of the objects that it loads.
    objects: PathBuf,
}

impl Lab<'_> {
    /// Builds every kernel under every configuration, boots each on every processor that runs it as
    /// soon as it is built, several at a time, and returns the records.
    ///
    /// # Errors
    ///
    /// The first failure; the other machines are stopped.
    pub fn run(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        runs: &Runs,
    ) -> Result<Measured, LabError> {
        if runs.cpus.contains(&Cpu::Host) {
            // Compilers would take time from the machines.
            self.build(kernels, configs)?;
        }
        let whole = |built, job: &Job, _: &AtomicBool, booted: Result<_, LabError>| {
            booted.map(|brought| (built, job.place, job.cpu, brought))
        };
        let booted = self.boot_each(kernels, configs, runs, OnFailure::End, whole)?.whole()?;
        let mut measured = Measured::default();
        let mut kept = Vec::new();
        for (built, mut brought) in timed::with_boots_pooled(booted) {
            kept.extend(brought.kept.take());
            measured.add(built, brought, runs.profile.is_some())?;
        }
        RecordSet::new(this_run(), measured.records.clone()).validate()?;
        kept.into_iter().for_each(Kept::forget);
        Ok(measured)
    }

    /// Runs as [`Self::run`] does, but returns the failures of kernels beside the results of the
    /// others. A kernel that is not built, or whose machine gives no result, ends the work unless
    /// `keep_going` is set. A kernel that the benchmark finds wrong never ends it.
    ///
    /// # Errors
    ///
    /// The first failure of the lab itself.
    pub fn attempt(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        runs: &Runs,
        keep_going: bool,
    ) -> Result<Attempted, LabError> {
        let on_failure = if keep_going { OnFailure::GoOn } else { OnFailure::End };
        type Booted = Result<Brought, LabError>;
        let hand_on = |built: Built, job: &Job, stop: &AtomicBool, booted: Booted| {
            let Job { config, cpu, place, .. } = *job;
            let ran = |outcome| Ran {
                kernel: built.kernel.name.clone(),
                config,
                cpu,
                bench: runs.plan[place].clone(),
                outcome,
            };
            match booted {
                Ok(brought) => {
                    RecordSet::new(this_run(), brought.records.clone()).validate()?;
                    Ok((ran(Ok(brought.records.clone())), Some((built, brought))))
                }
                Err(error) if error.is_of_a_kernel() => {
                    let goes_on =
                        if error.is_a_wrong_kernel() { OnFailure::GoOn } else { on_failure };
                    if goes_on.is_own(stop) { Ok((ran(Err(error)), None)) } else { Err(error) }
                }
                Err(error) => Err(error),
            }
        };
        let Done { results, not_built } =
            self.boot_each(kernels, configs, runs, on_failure, hand_on)?;
        let mut attempted = Attempted { not_built, ..Attempted::default() };
        let mut kept = Vec::new();
        for (ran, booted) in results {
            if let Some((built, mut brought)) = booted {
                kept.extend(brought.kept.take());
                attempted.measured.add(built, brought, false)?;
            }
            attempted.ran.push(ran);
        }
        kept.into_iter().for_each(Kept::forget);
        Ok(attempted)
    }

    /// Builds every kernel under every configuration, and boots each for every run of the plan on
    /// every processor that runs it. `result` makes a result of each machine that was booted.
    fn boot_each<R: Send>(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        runs: &Runs,
        on_failure: OnFailure,
        result: impl Fn(Built, &Job, &AtomicBool, Result<Brought, LabError>) -> Result<R, LabError>
        + Sync,
    ) -> Result<Done<R>, LabError> {
        let counting = |bench: &Bench| match &runs.profile {
            Some(root) => Some(Counting::Under(root.clone())),
            None => bench.counting(runs.counts),
        };
        let counting = |bench: &Bench, cpu: Cpu| match cpu {
            Cpu::Host => None,
            Cpu::Max | Cpu::NeoverseN1 => counting(bench),
        };
        let jobs = |wanted: &[Wanted], sources: &Sources| {
            let selftests = match runs.plan.iter().any(Bench::is_selftest) {
                true => self.selftests(sources, configs)?,
                false => BTreeMap::new(),
            };
            let programs = match runs.plan.iter().find(|bench| bench.workload.is_program()) {
                Some(bench) => self.programs(&bench.workload, configs)?,
                None => BTreeMap::new(),
            };
            let selftest = |bench: &Bench, kernel: &Kernel, config: Config| {
                let of = || selftests[&(kernel.source.clone(), config.arch())].clone();
                bench.is_selftest().then(of)
            };
            let work = self.jobs(wanted, &runs.cpus, |kernel, config, cpu, host| {
                let job = |(place, bench): (usize, &Bench)| {
                    let counting = counting(bench, cpu);
                    let clock = Clock::of(cpu, counting.as_ref());
                    Job {
                        config,
                        cpu,
                        place,
                        line: bench.line(&kernel.name, runs.samples, clock),
                        session: None,
                        selftest: selftest(bench, kernel, config),
                        made: bench.workload.is_program().then(|| programs[&config.arch()].clone()),
                        cpus: bench.cpus(),
                        parameters: bench.workload.parameters(),
                        file_size: bench.mapped(),
                        pages: bench.workload.pages(),
                        limit: runs.limit.unwrap_or_else(|| patience(bench, counting.is_some())),
                        counting,
                        host: host.clone(),
                    }
                };
                runs.plan.iter().enumerate().map(job).collect()
            })?;
            let there = work.items.len();
            let work = timed::in_turn(work, runs.boots);
            self.progress.expect(work.items.len() - there);
            Ok(work)
        };
        self.build_for(kernels, configs, on_failure, jobs, |built, job, stop| {
            let booted = self.boot(&built, job, runs, stop);
            result(built, job, stop, booted)
        })
    }

    /// Boots a machine, and completes its records: with what a plugin counted, and with fields.
    fn boot(
        &self,
        built: &Built,
        job: &Job,
        runs: &Runs,
        stop: &AtomicBool,
    ) -> Result<Brought, LabError> {
        let mut brought = self.emulate(built, job, stop)?;
        if runs.profile.is_none() {
            brought.add_counts(&runs.plan[job.place], job.config.small_pages())?;
        }
        for record in &mut brought.records {
            record.fields.insert("config".to_owned(), job.config.name().to_owned());
            record.fields.insert("cpu".to_owned(), job.cpu.name().to_owned());
        }
        Ok(brought)
    }

    /// Compiles the selftest's programs, with the harness of each source.
    fn selftests(
        &self,
        sources: &Sources,
        configs: &[Config],
    ) -> Result<BTreeMap<(Source, Arch), PathBuf>, LabError> {
        let mut programs = BTreeMap::new();
        for (source, pristine) in sources {
            for arch in configs.iter().map(|config| config.arch()) {
                let program = selftest::compiled(arch, pristine, &self.cache, self.progress)?;
                programs.insert((source.clone(), arch), program);
            }
        }
        Ok(programs)
    }

    /// Makes a workload's program for each architecture: a plan has no more than one.
    fn programs(
        &self,
        workload: &Workload,
        configs: &[Config],
    ) -> Result<BTreeMap<Arch, Made>, LabError> {
        let arches: BTreeSet<Arch> = configs.iter().map(|config| config.arch()).collect();
        let made = |arch| Ok((arch, workload.made(arch, &self.cache, self.progress)?));
        arches.into_iter().map(made).collect()
    }

    /// Returns the machines to boot: `each` returns those of a kernel on a processor.
    pub(super) fn jobs(
        &self,
        wanted: &[Wanted],
        cpus: &[Cpu],
        each: impl Fn(&Kernel, Config, Cpu, &Host) -> Vec<Job>,
    ) -> Result<Work<Job>, LabError> {
        let mut hosts: BTreeMap<Arch, Host> = BTreeMap::new();
        let mut items = Vec::new();
        for (place, Wanted { kernel, config, .. }) in wanted.iter().enumerate() {
            let arch = config.arch();
            let host = match hosts.entry(arch) {
                Entry::Occupied(host) => host.into_mut(),
                Entry::Vacant(place) => {
                    let guest = Guest::open(arch, &self.cache, self.progress)?;
                    let emulator = version(arch.qemu()).map_err(BuildError::from)?;
                    let objects = plugin::compiled(&self.cache, self.progress)?;
                    place.insert(Host { guest, emulator, objects })
                }
            };
            for cpu in cpus.iter().filter(|cpu| cpu.runs(arch)) {
                let jobs = each(kernel, *config, *cpu, host);
                items.extend(jobs.into_iter().map(|job| (place, job)));
            }
        }
        // A column of the table is a kernel, so that the machines of one row are neighbours.
        items.sort_by_key(|(_, job)| (job.config, job.cpu));
        self.progress.expect(items.len());
        let memory = items.iter().map(|(_, job)| qemu::memory(job.config, job.file_size)).max();
        let fitting = match (available_memory(), memory) {
            (Some(there), Some(memory)) => (there / memory) as usize,
            _ => usize::MAX,
        };
        Ok(Work { items, at_once: self.jobs.min(fitting).max(1) })
    }

    /// Boots a machine with the work that it is to do.
    pub(super) fn emulate(
        &self,
        built: &Built,
        job: &Job,
        stop: &AtomicBool,
    ) -> Result<Brought, LabError> {
        let Job { config, cpu, .. } = *job;
        let title = format!("{}, {config}, cpu {cpu}", built.kernel.name);
        let scratch = self.cache.run()?;
        let [initrd, symbols, out] =
            ["initrd", "symbols", "profile"].map(|n| scratch.path().join(n));
        let plan = [job.line.clone()];
        let carried = Carried {
            plan: &plan,
            session: job.session.as_deref(),
            programs: [
                ("selftest", job.selftest.as_deref()),
                ("workload", job.made.as_ref().map(|made| made.program.as_path())),
            ],
            root: job.made.as_ref().and_then(|made| made.root.as_deref()),
        };
        job.host.guest.write_initrd(&carried, &initrd)?;
        let folder = &*job.host.objects;
        let plugin = match &job.counting {
            Some(counting) => {
                if let Counting::Under(root) = counting {
                    write_symbols(built, root, &symbols)?;
                }
                Some(Plugin { folder, counting, symbols: &symbols, out: &out })
            }
            None => None,
        };
        let log = self.cache.log(&format!("{}-{config}-{cpu}", built.kernel.build))?;
        let before = match cpu {
            Cpu::Host => timed::pinned(job.cpus)?,
            Cpu::Max | Cpu::NeoverseN1 => plugin::with_clock(folder).into(),
        };
        let emulated = Machine {
            config,
            cpu,
            cpus: job.cpus,
            file_size: job.file_size,
            image: &built.image(),
            initrd: &initrd,
            parameters: &[&job.parameters[..], &built.kernel.parameters].concat(),
            before: &before,
            plugin,
        };
        self.boot_or_take(&emulated, (job, &title), &plan, log, stop)
    }

    /// Boots a machine, unless its results are kept of a run that did not end.
    fn boot_or_take(
        &self,
        emulated: &Machine<'_>,
        (job, title): (&Job, &str),
        plan: &[String],
        log: TempPath,
        stop: &AtomicBool,
    ) -> Result<Brought, LabError> {
        let kept = match job.session.is_none() && emulated.cpu != Cpu::Host {
            true => {
                let scratch = emulated.initrd.parent().unwrap_or(emulated.initrd);
                let name = emulated.name(&job.host.emulator, scratch);
                let name = name.map_err(CacheError::at(emulated.image))?;
                Some(Kept::new(&self.cache, name)?)
            }
            false => None,
        };
        let brought = |given, kept| job.brought(title.to_owned(), given, kept);
        if let Some(given) = kept.as_ref().and_then(Kept::given) {
            let what = format!("taking {title}: {} from a run that did not end", job.words());
            let _taken = self.progress.begin_piece(&what);
            return brought(given, kept);
        }
        let command = emulated.command();
        let task = self.progress.begin_piece(&format!("running {title}: {}", job.words()));
        let (limit, silence) = (job.limit, job.silence());
        let boot = Boot { title, command, plan, log: &log, limit, silence, stop };
        let ended = match boot.run(&|line| task.tell(0, None, line)) {
            Ok(ended) => ended,
            Err(error) => {
                // The message names the log.
                let _ = log.keep();
                return Err(error.into());
            }
        };
        let read = |of: Plugin<'_>| fs::read_to_string(of.out).map_err(CacheError::at(of.out));
        let counts = emulated.plugin.map(read).transpose()?;
        let given = Given { records: ended.records, counts };
        let brought = brought(given.clone(), None)?;
        // A kernel that warned is asked again, since its log is not kept that long.
        let kept = kept.filter(|_| ended.warnings == 0);
        if let Some(kept) = &kept {
            kept.keep(&given)?;
        }
        let warned = (ended.warnings > 0).then(|| log.keep().ok()).flatten();
        Ok(Brought { answers: ended.answers, warned, kept, ..brought })
    }
}

impl Measured {
    fn add(&mut self, built: Built, brought: Brought, is_profile: bool) -> Result<(), LabError> {
        let Brought { title, emulator, records, counts, pages, warned, .. } = brought;
        self.warned.extend(warned.map(|log| (title.clone(), log)));
        self.records.extend(records.iter().cloned());
        if !self.emulators.contains(&emulator) {
            self.emulators.push(emulator);
        }
        if let Some(Counts::Under(profile)) = counts.filter(|_| is_profile) {
            let pages = pages.count(&records, built.config.small_pages());
            let pages = pages.ok_or_else(|| LabError::NoPages { machine: title.clone() })?;
            self.profiles.push(Profiled { title, records, profile, pages });
        }
        if !self.built.contains(&built) {
            self.built.push(built);
        }
        Ok(())
    }
}

impl Brought {
    /// Adds what a plugin counted to the run's one record.
    fn add_counts(&mut self, bench: &Bench, small_pages: u64) -> Result<(), LabError> {
        let cpus = bench.cpus();
        let machine = || self.title.clone();
        let [record] = &mut self.records[..] else { return Ok(()) };
        match &self.counts {
            Some(Counts::Under(profile)) => profile
                .add_to(record, small_pages, cpus)
                .map_err(|source| LabError::Profile { machine: machine(), source }),
            Some(Counts::Regions(regions)) => regions
                .add_to(record, &bench.workload, cpus)
                .map_err(|source| LabError::Regions { machine: machine(), source }),
            None => Ok(()),
        }
    }
}

impl Job {
    /// Returns the results of the machine from what it gave.
    fn brought(
        &self,
        title: String,
        given: Given,
        kept: Option<Kept>,
    ) -> Result<Brought, LabError> {
        let Given { records, counts } = given;
        let counts = match (&self.counting, counts) {
            (Some(counting), Some(text)) => Some(parse_counts(&title, &text, counting)?),
            _ => None,
        };
        let (emulator, pages) = (self.host.emulator.clone(), self.pages.clone());
        let (answers, warned) = (Vec::new(), None);
        Ok(Brought { title, emulator, records, answers, counts, pages, warned, kept })
    }

    /// Returns the time within which the job's machine prints its first line.
    fn silence(&self) -> Duration {
        if self.cpu == Cpu::Host { SILENCE } else { self.limit }
    }

    /// Describes the run for people: the workload and its fields.
    fn words(&self) -> String {
        let is_ours = |word: &&str| ["kernel=", "clock="].iter().any(|own| word.starts_with(own));
        let words = self.line.split(' ').skip(1).filter(|word| !is_ours(word));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Writes the symbols for the plugin; the root has to be one of them.
fn write_symbols(built: &Built, root: &str, to: &Path) -> Result<(), LabError> {
    let map = built.symbols();
    let map = fs::read_to_string(&map).map_err(CacheError::at(&map))?;
    let symbols = plugin::text_symbols(&map);
    let is_root = |line: &str| line.split_once(' ').is_some_and(|(_, name)| name == root);
    if !symbols.lines().any(is_root) {
        let (kernel, root) = (built.kernel.name.clone(), root.to_owned());
        return Err(LabError::NoFunction { kernel, root });
    }
    Ok(fs::write(to, symbols).map_err(CacheError::at(to))?)
}

/// Reads the text that a plugin wrote.
fn parse_counts(machine: &str, text: &str, counting: &Counting) -> Result<Counts, LabError> {
    let machine = machine.to_owned();
    match counting {
        Counting::Under(_) => match text.parse() {
            Ok(profile) => Ok(Counts::Under(profile)),
            Err(source) => Err(LabError::Profile { machine, source }),
        },
        Counting::Regions => match text.parse() {
            Ok(regions) => Ok(Counts::Regions(regions)),
            Err(source) => Err(LabError::Regions { machine, source }),
        },
    }
}

/// Returns the longest time that a machine with this run may take.
fn patience(bench: &Bench, with_plugin: bool) -> Duration {
    let slower = if with_plugin { PROFILED } else { 1 };
    Duration::from_secs(SECONDS * (2 + (bench.mapped() >> 30))) * slower
}

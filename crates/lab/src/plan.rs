//! Runs in the test machine: workloads and their fields, a line each.

use super::kconfig::ConfigOption;
use super::plugin::Counting;
use super::profile;
use super::regions;
use super::target::Cpu;
use super::workload::{Code, DeclaredField, Workload};
use pageout_experiment::fields::{FieldError, list, pairs, parse_size};
use pageout_refusal::one_of;
use std::sync::Arc;

/// The fields that the machine is made by.
const SIZE: &str = "size";
pub(super) const CPUS: &str = "cpus";
/// The bytes that are mapped where no size says it.
const DEFAULT_SIZE: u64 = 1 << 30;
/// The maximum number of samples that the benchmark takes.
const MOST_SAMPLES: u16 = 100;

/// Needs of kernels that are to be booted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// True if the kernels have to swap.
    pub swap: bool,
    /// Configuration options, besides those of every kernel.
    pub options: Vec<ConfigOption>,
    /// Debian packages, besides those of every kernel.
    pub packages: Vec<String>,
    /// The maximum number of CPUs of a machine, the first not counted.
    pub more_cpus: u8,
}

impl Needs {
    /// Only swap.
    pub const SWAP: Self =
        Self { swap: true, options: Vec::new(), packages: Vec::new(), more_cpus: 0 };
}

/// The clock that times a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clock {
    /// The emulator's: an instruction takes a nanosecond.
    Instructions,
    /// The machine's, where it is no emulated one.
    Time,
    /// None: the plugin counts under a function.
    Plugin,
    /// None: the plugin counts in regions.
    Regions,
}

impl Clock {
    pub(super) const fn of(cpu: Cpu, counting: Option<&Counting>) -> Self {
        match (cpu, counting) {
            (Cpu::Host, _) => Self::Time,
            (_, None) => Self::Instructions,
            (_, Some(Counting::Under(_))) => Self::Plugin,
            (_, Some(Counting::Regions)) => Self::Regions,
        }
    }

    /// Returns the word by which the programs of the test machine know it.
    const fn word(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Time => "time",
            Self::Plugin => "plugin",
            Self::Regions => "regions",
        }
    }
}

/// A run of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bench {
    /// The workload that the benchmark runs.
    pub workload: Arc<Workload>,
    /// The fields given; the program has defaults for the others.
    fields: Vec<(String, String)>,
}

impl Bench {
    /// Returns the runs that `FIELD=VALUE` arguments ask for. Lists of values give every
    /// combination, in which the last field's values change fastest.
    ///
    /// # Errors
    ///
    /// [`FieldError`] for the first argument refused.
    pub fn parse(workload: &Arc<Workload>, arguments: &[String]) -> Result<Vec<Self>, FieldError> {
        let mut all = vec![Self { workload: Arc::clone(workload), fields: Vec::new() }];
        for (name, value) in pairs(arguments)? {
            let found = workload.fields.iter().find(|of| of.field.name == name);
            let DeclaredField { field, .. } = found.ok_or_else(|| workload.lacks(name))?;
            let values = list(field.name.clone(), value, |text| field.value(text))?;
            let with = |bench: &Self, value: &String| {
                let mut bench = bench.clone();
                bench.fields.push((field.name.clone(), value.clone()));
                bench
            };
            let combined = all.iter().flat_map(|bench| values.iter().map(|v| with(bench, v)));
            all = combined.collect();
        }
        Ok(all)
    }

    /// Checks that every run of `plan` can take this number of samples.
    ///
    /// # Errors
    ///
    /// [`FieldError`] for the first that cannot.
    pub fn check_samples(plan: &[Self], samples: Option<u16>) -> Result<(), FieldError> {
        let Some(samples) = samples else { return Ok(()) };
        for Self { workload, .. } in plan {
            let problem = if !workload.samples {
                let fields = one_of(&workload.names_of_fields());
                format!("--runs {samples}: it takes no samples; accepted without --runs: {fields}")
            } else if samples > MOST_SAMPLES {
                format!("--runs {samples}: it takes at most {MOST_SAMPLES} samples")
            } else {
                continue;
            };
            return Err(FieldError::together(workload.name().to_owned(), problem));
        }
        Ok(())
    }

    /// Checks that every run of `plan` has work whose costs can be counted: the reclaim of pages,
    /// or regions.
    ///
    /// # Errors
    ///
    /// [`FieldError`] for the first that does not.
    pub fn check_counts(plan: &[Self]) -> Result<(), FieldError> {
        let other = plan.iter().find(|bench| bench.workload.counted().is_none());
        let Some(other) = other else { return Ok(()) };
        let what = match other.workload.is_program() {
            true => "its manifest has no region",
            false => "it does not reclaim",
        };
        let problem = format!("--counts: {what}; `pageout lab profile` counts under any function");
        Err(FieldError::together(other.workload.name().to_owned(), problem))
    }

    /// Returns the program and its arguments on a kernel of this name. Workloads that take no
    /// samples ignore `samples`.
    pub(super) fn line(&self, kernel: &str, samples: Option<u16>, clock: Clock) -> String {
        let mut line = format!("{} {}", self.program(), self.workload.name());
        for (field, value) in &self.fields {
            line += &format!(" {field}={value}");
        }
        line += &format!(" kernel={kernel} clock={}", clock.word());
        let samples = match self.workload.samples {
            true => samples,
            false => self.workload.is_program().then_some(1),
        };
        if let Some(samples) = samples {
            line += &format!(" runs={samples}");
        }
        line
    }

    /// Returns the benchmark's words, as a command line has them.
    pub(super) fn words(&self) -> Vec<String> {
        self.fields.iter().map(|(field, value)| format!("{field}={value}")).collect()
    }

    /// Returns the program of the test machine that runs it.
    fn program(&self) -> &'static str {
        if self.workload.is_program() { "workload" } else { "bench" }
    }

    /// Returns the metrics of the benchmark's records of which one direction is better. The others
    /// only count work.
    pub fn costs(&self) -> Vec<String> {
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        match self.counting(false) {
            None => owned(self.workload.costs()),
            Some(Counting::Under(_)) => owned(profile::costs(self.cpus())),
            Some(Counting::Regions) => regions::costs(&self.workload, self.cpus()),
        }
    }

    /// Returns the metric that the benchmark's workload is judged by; `None` if it only counts.
    pub fn whole(&self) -> Option<&str> {
        self.workload.whole()
    }

    /// Returns the number of CPUs of its machine.
    pub(super) fn cpus(&self) -> u8 {
        let field = self.field(CPUS).map(|cpus| cpus.parse().expect("the manifest bounds it"));
        field.unwrap_or(self.workload.cpus)
    }

    /// Returns the work that a plugin counts for its records. It does so on more than one CPU,
    /// unless the workload counts other things than instructions, and wherever all costs are asked
    /// for.
    pub(super) fn counting(&self, all_costs: bool) -> Option<Counting> {
        let by_plugin = all_costs || self.cpus() > 1;
        self.workload.counted().filter(|_| by_plugin)
    }

    /// Returns true if the benchmark runs the selftest's program.
    pub(super) fn is_selftest(&self) -> bool {
        self.workload.code == Code::Selftest
    }

    /// Returns the needs of the kernels that a plan runs on. All runs of a plan are of one
    /// workload.
    pub fn needs(plan: &[Self]) -> Needs {
        let needs = plan.first().map(|bench| bench.workload.needs()).unwrap_or_default();
        let more_cpus = plan.iter().map(|bench| bench.cpus() - 1).max().unwrap_or(0);
        Needs { more_cpus, ..needs }
    }

    /// Returns the bytes that the benchmark maps, besides those of every machine.
    pub(super) fn mapped(&self) -> u64 {
        self.size().unwrap_or(DEFAULT_SIZE)
    }

    /// Returns the bytes that the benchmark's manifest or its fields name.
    pub(super) fn size(&self) -> Option<u64> {
        // The benchmark's figures are of machines with this much room, unless a size is given.
        let size = match self.workload.is_program() {
            true => self.field(SIZE),
            false => self.given(SIZE),
        };
        let size = || size.and_then(|size| parse_size(size).ok());
        self.workload.memory.or_else(size)
    }

    /// Returns the value of a field: the one given, or else the manifest's default.
    fn field(&self, name: &str) -> Option<&str> {
        self.given(name).or_else(|| self.workload.default(name))
    }

    /// Returns the value that was given of a field.
    fn given(&self, name: &str) -> Option<&str> {
        let given = self.fields.iter().find(|(field, _)| *field == name);
        given.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_record::schema::{Better, RecordFile};
    use std::collections::BTreeSet;

    fn workload(name: &str) -> &'static Arc<Workload> {
        Workload::named(name).unwrap()
    }

    fn counted(bench: &Bench) -> Clock {
        Clock::of(Cpu::Max, bench.counting(false).as_ref())
    }

    fn lines(scenario: &str, fields: &str) -> Result<Vec<String>, String> {
        let fields: Vec<String> = fields.split_whitespace().map(str::to_owned).collect();
        let all = Bench::parse(workload(scenario), &fields).map_err(|error| error.to_string())?;
        Ok(all.iter().map(|bench| bench.line("s1", None, counted(bench))).collect())
    }

    #[test]
    fn lists_become_lines() {
        let lines = lines("reclaim-file", "order=0,4 lru=classic,mglru size=1024M").unwrap();
        let expected = ["0 lru=classic", "0 lru=mglru", "4 lru=classic", "4 lru=mglru"];
        for (line, fields) in lines.iter().zip(expected) {
            let line_of =
                format!("bench reclaim-file order={fields} size=1GiB kernel=s1 clock=instructions");
            assert_eq!(*line, line_of);
        }
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn samples_are_taken_or_refused() {
        let line = |scenario| {
            let bench = Bench::parse(workload(scenario), &[]).unwrap().remove(0);
            bench.line("s1", Some(5), Clock::Instructions)
        };
        assert_eq!(
            line("mixed-mappings"),
            "bench mixed-mappings kernel=s1 clock=instructions runs=5"
        );
        assert_eq!(line("helper-calls"), "bench helper-calls kernel=s1 clock=instructions");
        let check = |scenario, samples| {
            let plan = Bench::parse(workload(scenario), &[]).unwrap();
            Bench::check_samples(&plan, samples).map_err(|error| error.to_string())
        };
        for scenario in Workload::ours() {
            assert_eq!(check(scenario.name(), None), Ok(()));
            let is_taken = check(scenario.name(), Some(100)).is_ok();
            assert_eq!(is_taken, scenario.samples, "{}", scenario.name());
        }
        assert_eq!(
            check("helper-calls", Some(5)).unwrap_err(),
            "scenario helper-calls: --runs 5: it takes no samples; accepted without --runs: order, \
             calls or seed"
        );
        assert_eq!(
            check("selftest", Some(5)).unwrap_err(),
            "scenario selftest: --runs 5: it takes no samples; accepted without --runs: cpus"
        );
        let error = check("age-file", Some(101)).unwrap_err();
        assert_eq!(error, "scenario age-file: --runs 101: it takes at most 100 samples");
    }

    #[test]
    fn costs_are_what_records_have_of_which_less_is_better() {
        let stored = RecordFile::from_json(crate::records::LINUX_7_3).unwrap();
        let mut seen = BTreeSet::new();
        for record in stored.records() {
            let fields = record.fields.iter().filter(|(name, _)| *name == "cpus");
            let fields: Vec<String> = fields.map(|(name, n)| format!("{name}={n}")).collect();
            let bench = &Bench::parse(workload(&record.scenario), &fields).unwrap()[0];
            let costs = bench.costs();
            let lower = record.metrics.iter().filter(|metric| metric.better == Better::Lower);
            let lower: Vec<_> = lower.map(|metric| metric.name.as_str()).collect();
            // The records were stored before lines and barriers for stores were counted.
            let counted = |cost: &&String| lower.contains(&cost.as_str());
            assert_eq!(costs.iter().filter(counted).collect::<Vec<_>>(), lower);
            seen.insert((record.scenario.as_str(), costs.len()));
        }
        assert_eq!(
            Vec::from_iter(seen),
            [("age-file", 1), ("reclaim-file", 1), ("reclaim-file", 13)]
        );
    }

    #[test]
    fn on_two_cpus_the_plugin_counts() {
        let line = lines("reclaim-file", "cpus=1,2 process=running").unwrap();
        let begin = "bench reclaim-file cpus";
        assert_eq!(line[0], format!("{begin}=1 process=running kernel=s1 clock=instructions"));
        assert_eq!(line[1], format!("{begin}=2 process=running kernel=s1 clock=plugin"));
        let line = lines("selftest", "cpus=2").unwrap();
        assert_eq!(line[0], "bench selftest cpus=2 kernel=s1 clock=instructions");
        let given = Workload::named("fork-copy").unwrap();
        let bench = Bench::parse(given, &[]).unwrap().remove(0);
        let counting = [false, true].map(|all| bench.counting(all));
        assert_eq!(counting, [None, Some(Counting::Regions)]);
        let cpus = |fields: &[String]| {
            let plan = Bench::parse(workload("reclaim-file"), fields).unwrap();
            plan.iter().map(Bench::cpus).collect::<Vec<_>>()
        };
        assert_eq!((cpus(&[]), cpus(&["cpus=2,1".to_owned()])), (vec![1], vec![2, 1]));
        assert!(lines("reclaim-file", "cpus=3").is_err());
        assert!(lines("age-file", "cpus=2").is_err());
    }

    #[test]
    fn a_workload_of_the_user_s_may_vary_its_cpus_and_run_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("two.c");
        let manifest = "name = \"two\"\nabout = \"Two CPUs.\"\nsamples = false\n\
            field = [{ name = \"cpus\", number = [1, 4], default = 2 }]\n\
            metric = [{ name = \"all\", per = \"4K page\" }]\n";
        std::fs::write(&file, format!("/* workload.toml\n{manifest}*/\n")).unwrap();
        let workload = Arc::new(Workload::read(&file).unwrap());
        let bench = |fields: &[String]| Bench::parse(&workload, fields).unwrap().remove(0);
        let [two, four] = [bench(&[]), bench(&["cpus=4".to_owned()])];
        assert_eq!([two.cpus(), four.cpus()], [2, 4]);
        let line = "workload two cpus=4 kernel=s1 clock=regions runs=1";
        assert_eq!(four.line("s1", Some(5), counted(&four)), line);
    }

    #[test]
    fn every_field_says_what_it_accepts() {
        for scenario in Workload::ours() {
            for DeclaredField { field, .. } in &scenario.fields {
                let (name, accepted) = (&field.name, field.kind.accepted());
                let error = lines(scenario.name(), &format!("{name}=x")).unwrap_err();
                assert!(error.contains("`x`") && error.contains(&accepted), "{error}");
            }
        }
        let lacks = lines("age-file", "lru=classic").unwrap_err();
        assert!(lacks.contains("order, young or size"), "{lacks}");
        assert!(lines("reclaim-file", "young=1/4").is_err());
        assert!(lines("helper-calls", "order=10").is_err());
        for bad in [
            "order=14",
            "order=1",
            "order=4,4",
            "size=1MiB",
            "reclaim=0%",
            "reclaim=101%",
            "reclaim=80",
        ] {
            assert!(lines("reclaim-file", bad).is_err(), "{bad}");
        }
        for bad in ["young=1/1", "young=1/", "young=2/3"] {
            assert!(lines("age-file", bad).is_err(), "{bad}");
        }
        assert_eq!(lines("age-file", "young=all,1/256").unwrap().len(), 2);
    }

    #[test]
    fn the_file_size_is_the_given_one_or_the_benchmark_s() {
        let size =
            |fields: &[String]| Bench::parse(workload("age-file"), fields).unwrap()[0].mapped();
        assert_eq!(size(&[]), 1 << 30);
        assert_eq!(size(&["size=10GiB".to_owned()]), 10 << 30);
    }
}

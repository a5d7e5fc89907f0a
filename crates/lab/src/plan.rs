//! What the benchmark is to do in the test machine: scenarios and their fields, a line each.

use super::profile;
use pageout_experiment::fields::{FieldError, bad, display_size, list, number, pairs, parse_size};
use pageout_refusal::{UnknownName, whole_number};

/// The file size if none is given, in bytes, and as the benchmark has it.
const DEFAULT_SIZE: u64 = 1 << 30;
/// The most samples that the benchmark takes.
const MOST_SAMPLES: u16 = 100;

/// A scenario of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// A mapped file's pages reclaimed through `memory.reclaim`.
    ReclaimFile,
    /// Shared memory reclaimed through `memory.reclaim`, to swap.
    ReclaimShmem,
    /// An aging pass over a file's pages, forced through `lru_gen`.
    AgeFile,
    /// Unfolded blocks, holes, misaligned mappings and the like, reclaimed.
    MixedMappings,
    /// Random calls of the kernel's young helpers, held against a model.
    HelperCalls,
    /// Pages in constant use beside a stream: how many are reclaimed by mistake.
    HotPages,
    /// The kernel selftest of young bits, as it is sent to the kernel's maintainers.
    Selftest,
}

/// A field of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Order { most: u64 },
    Lru,
    Cpus,
    Process,
    Processes,
    Map,
    Young { part: bool },
    Size,
    Reclaim,
    Calls,
    Seed,
    Hot,
    Rounds,
}

/// One run of the benchmark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bench {
    /// What it does.
    pub scenario: Scenario,
    /// The fields given; the benchmark has defaults for the others.
    fields: Vec<(&'static str, String)>,
}

impl Scenario {
    /// Every scenario.
    pub const ALL: [Self; 7] = [
        Self::ReclaimFile,
        Self::ReclaimShmem,
        Self::AgeFile,
        Self::MixedMappings,
        Self::HelperCalls,
        Self::HotPages,
        Self::Selftest,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReclaimFile => "reclaim-file",
            Self::ReclaimShmem => "reclaim-shmem",
            Self::AgeFile => "age-file",
            Self::MixedMappings => "mixed-mappings",
            Self::HelperCalls => "helper-calls",
            Self::HotPages => "hot-pages",
            Self::Selftest => "selftest",
        }
    }

    /// The metric that it is judged by; `None`: it only counts.
    pub const fn whole(self) -> Option<&'static str> {
        match self {
            Self::ReclaimFile | Self::ReclaimShmem => Some("reclaim"),
            Self::AgeFile => Some("age"),
            Self::MixedMappings | Self::HelperCalls | Self::HotPages | Self::Selftest => None,
        }
    }

    /// The scenario of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    const fn fields(self) -> &'static [Field] {
        match self {
            Self::ReclaimFile => &[
                Field::Order { most: 13 },
                Field::Lru,
                Field::Cpus,
                Field::Process,
                Field::Processes,
                Field::Map,
                Field::Young { part: false },
                Field::Size,
                Field::Reclaim,
            ],
            Self::ReclaimShmem => &[
                Field::Order { most: 9 },
                Field::Lru,
                Field::Young { part: false },
                Field::Size,
                Field::Reclaim,
            ],
            Self::AgeFile => &[Field::Order { most: 13 }, Field::Young { part: true }, Field::Size],
            Self::MixedMappings => {
                &[Field::Order { most: 13 }, Field::Lru, Field::Size, Field::Reclaim]
            }
            Self::HelperCalls => &[Field::Order { most: 9 }, Field::Calls, Field::Seed],
            Self::HotPages => {
                &[Field::Order { most: 13 }, Field::Lru, Field::Size, Field::Hot, Field::Rounds]
            }
            Self::Selftest => &[Field::Cpus],
        }
    }
}

impl Field {
    const fn name(self) -> &'static str {
        match self {
            Self::Order { .. } => "order",
            Self::Lru => "lru",
            Self::Cpus => "cpus",
            Self::Process => "process",
            Self::Processes => "processes",
            Self::Map => "map",
            Self::Young { .. } => "young",
            Self::Size => "size",
            Self::Reclaim => "reclaim",
            Self::Calls => "calls",
            Self::Seed => "seed",
            Self::Hot => "hot",
            Self::Rounds => "rounds",
        }
    }

    const fn accepted(self) -> &'static str {
        match self {
            // Read-ahead makes no folios of order 1, nor do file systems.
            Self::Order { most: 9 } => "0, or a number from 2 to 9",
            Self::Order { .. } => "0, or a number from 2 to 13",
            Self::Lru => "classic, mglru or mglru-no-walks",
            Self::Cpus => "1 or 2",
            Self::Process => "asleep or running",
            Self::Processes => "a number from 1 to 8",
            Self::Map => "ptes or pmd-leaf",
            Self::Young { part: true } => "all, none, or 1/N for one page in N",
            Self::Young { part: false } => "all or none",
            Self::Size => "a size from 2MiB to 1TiB, such as 1GiB",
            Self::Reclaim => "a percentage from 1% to 100%",
            Self::Calls => "a number from 1 to 2^40",
            Self::Seed => "a number",
            Self::Hot => "a size from 64KiB to 1GiB, such as 512KiB",
            Self::Rounds => "a number from 1 to 64",
        }
    }

    /// A value in the form that records have.
    fn value(self, text: &str) -> Result<String, FieldError> {
        let within = |low: u64, high: u64| {
            move |text: &str| number::<u64>(text).filter(|n| (low..=high).contains(n))
        };
        let as_it_is = |number: u64| number.to_string();
        let value = match self {
            Self::Order { most } => within(0, most)(text).filter(|order| *order != 1).map(as_it_is),
            _ if self.names().contains(&text) => Some(text.to_owned()),
            Self::Lru | Self::Process | Self::Map => None,
            Self::Cpus => within(1, 2)(text).map(as_it_is),
            Self::Young { part } => {
                let of = text.strip_prefix("1/").filter(|_| part).and_then(within(2, 1 << 20));
                of.map(|of| format!("1/{of}"))
            }
            Self::Size => {
                let size = parse_size(text).ok();
                size.filter(|size| (2 << 20..=1 << 40).contains(size)).map(display_size)
            }
            Self::Reclaim => {
                let percent = text.strip_suffix('%').and_then(within(1, 100));
                percent.map(|percent| format!("{percent}%"))
            }
            Self::Calls => within(1, 1 << 40)(text).map(as_it_is),
            Self::Seed => within(0, u64::MAX)(text).map(as_it_is),
            Self::Hot => {
                let size = parse_size(text).ok();
                size.filter(|size| (64 << 10..=1 << 30).contains(size)).map(display_size)
            }
            Self::Processes => within(1, 8)(text).map(as_it_is),
            Self::Rounds => within(1, 64)(text).map(as_it_is),
        };
        value.ok_or_else(|| self.refusal(text))
    }

    /// The error of a text that is no value of it.
    fn refusal(self, text: &str) -> FieldError {
        let name = self.name();
        let problem =
            match self {
                _ if text.is_empty() => Some("nothing is given after the equals sign".to_owned()),
                Self::Size | Self::Hot => Some(match parse_size(text) {
                    Err(problem) => problem,
                    Ok(_) => "is out of bounds".to_owned(),
                }),
                _ if self.names().is_empty() => {
                    let digits = text.strip_suffix('%').unwrap_or(text);
                    let refused = whole_number(digits, 0..=u64::MAX).err();
                    Some(refused.map_or("is out of bounds".to_owned(), |refused| {
                        refused.problem().to_owned()
                    }))
                }
                _ => None,
            };
        match problem {
            Some(problem) => bad(name, text, problem, self.accepted()),
            None => {
                let unknown = UnknownName::new("value", text, self.names().iter().copied());
                FieldError::Name { field: name, unknown: unknown.accepting(self.accepted()) }
            }
        }
    }

    /// The values that are names.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Lru => &["classic", "mglru", "mglru-no-walks"],
            Self::Process => &["asleep", "running"],
            Self::Map => &["ptes", "pmd-leaf"],
            Self::Young { .. } => &["all", "none"],
            Self::Order { .. }
            | Self::Cpus
            | Self::Processes
            | Self::Size
            | Self::Reclaim
            | Self::Calls
            | Self::Seed
            | Self::Hot
            | Self::Rounds => &[],
        }
    }
}

impl Bench {
    /// The runs that `FIELD=VALUE` arguments ask for: where fields have lists, every combination,
    /// the last field's values changing fastest.
    ///
    /// # Errors
    ///
    /// [`FieldError`] for the first argument refused.
    pub fn parse(scenario: Scenario, arguments: &[String]) -> Result<Vec<Self>, FieldError> {
        let fields = scenario.fields();
        let mut all = vec![Self { scenario, fields: Vec::new() }];
        for (name, value) in pairs(arguments)? {
            let field = fields.iter().find(|field| field.name() == name);
            let field = field.ok_or_else(|| scenario.lacks(name))?;
            let values = list(field.name(), value, |text| field.value(text))?;
            let with = |bench: &Self, value: &String| {
                let mut bench = bench.clone();
                bench.fields.push((field.name(), value.clone()));
                bench
            };
            let combined = all.iter().flat_map(|bench| values.iter().map(|v| with(bench, v)));
            all = combined.collect();
        }
        Ok(all)
    }

    /// Refuses a number of samples where one of `plan` takes none, or not so many.
    ///
    /// # Errors
    ///
    /// [`FieldError`] for the first that does.
    pub fn check_samples(plan: &[Self], samples: Option<u16>) -> Result<(), FieldError> {
        let Some(samples) = samples else { return Ok(()) };
        for Self { scenario, .. } in plan {
            let problem = if *scenario == Scenario::HelperCalls {
                format!("--runs {samples}: it takes no samples; give calls=N for how much it does")
            } else if !scenario.is_sampled() {
                format!("--runs {samples}: it takes no samples")
            } else if samples > MOST_SAMPLES {
                format!("--runs {samples}: it takes at most {MOST_SAMPLES} samples")
            } else {
                continue;
            };
            return Err(FieldError::Together { scenario: scenario.name(), problem });
        }
        Ok(())
    }

    /// Refuses to count more than instructions where one of `plan` has no pages to share it out to.
    ///
    /// # Errors
    ///
    /// [`FieldError`] for the first that has none.
    pub fn check_counts(plan: &[Self]) -> Result<(), FieldError> {
        let reclaims = |bench: &&Self| bench.whole() == Some(profile::WHOLE);
        let Some(other) = plan.iter().find(|bench| !reclaims(bench)) else { return Ok(()) };
        let problem = "--counts: it does not reclaim; `pageout lab profile` counts under any \
            function";
        Err(FieldError::Together { scenario: other.scenario.name(), problem: problem.to_owned() })
    }

    /// The benchmark's arguments on a kernel of this name; the samples are for those that take
    /// them. Without the plugin, the emulator's clock counts.
    pub(super) fn line(&self, kernel: &str, samples: Option<u16>, with_plugin: bool) -> String {
        let mut line = self.scenario.name().to_owned();
        for (field, value) in &self.fields {
            line += &format!(" {field}={value}");
        }
        let clock = if with_plugin { "plugin" } else { "instructions" };
        line += &format!(" kernel={kernel} clock={clock}");
        if let Some(samples) = samples.filter(|_| self.scenario.is_sampled()) {
            line += &format!(" runs={samples}");
        }
        line
    }

    /// The metrics of its records of which less is better. The others count what was done.
    pub fn costs(&self) -> Vec<&'static str> {
        match self.scenario {
            _ if self.plugin_counts() => profile::costs(self.cpus()),
            scenario => scenario.whole().into_iter().collect(),
        }
    }

    /// The metric that its scenario is judged by; `None`: it only counts.
    pub const fn whole(&self) -> Option<&'static str> {
        self.scenario.whole()
    }

    /// CPUs of the machine it is to run on.
    pub(super) fn cpus(&self) -> u8 {
        match self.scenario {
            Scenario::HotPages => 2,
            _ => self.field("cpus").and_then(|cpus| cpus.parse().ok()).unwrap_or(1),
        }
    }

    /// Whether it is the plugin that counts its instructions, as on more than one CPU. A scenario
    /// of counts alone has none to count.
    pub(super) fn plugin_counts(&self) -> bool {
        self.cpus() > 1 && !matches!(self.scenario, Scenario::HotPages | Scenario::Selftest)
    }

    /// Whether it runs the selftest's program.
    pub(super) fn is_selftest(&self) -> bool {
        self.scenario == Scenario::Selftest
    }

    /// Whether its kernels have to swap.
    pub fn swaps(&self) -> bool {
        self.scenario == Scenario::ReclaimShmem
    }

    /// Bytes of the file it maps.
    pub(super) fn file_size(&self) -> u64 {
        self.field("size").and_then(|size| parse_size(size).ok()).unwrap_or(DEFAULT_SIZE)
    }

    /// The value given for a field.
    fn field(&self, name: &str) -> Option<&str> {
        let given = self.fields.iter().find(|(field, _)| *field == name);
        given.map(|(_, value)| value.as_str())
    }
}

impl Scenario {
    /// Returns true for a name of a field of it.
    pub fn has_field(self, name: &str) -> bool {
        self.fields().iter().any(|field| field.name() == name)
    }

    /// The error of a field that it does not have: it says which scenarios have it, or else which
    /// one was probably meant.
    fn lacks(self, field: &str) -> FieldError {
        let others = Self::ALL.into_iter().filter(|other| other.has_field(field));
        let others: Vec<_> = others.map(Self::name).collect();
        let names: Vec<_> = self.fields().iter().map(|of| of.name()).collect();
        match &others[..] {
            [] => {
                let listed_by = "pageout lab --help".to_owned();
                FieldError::unknown(self.name(), field, &names, listed_by)
            }
            others => FieldError::of_others(self.name(), field, others, &names),
        }
    }

    /// Whether it is run several times for its samples.
    const fn is_sampled(self) -> bool {
        match self {
            Self::ReclaimFile
            | Self::ReclaimShmem
            | Self::AgeFile
            | Self::MixedMappings
            | Self::HotPages => true,
            Self::HelperCalls | Self::Selftest => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_record::schema::{Better, RecordFile};
    use std::collections::BTreeSet;

    fn lines(scenario: Scenario, fields: &str) -> Result<Vec<String>, String> {
        let fields: Vec<String> = fields.split_whitespace().map(str::to_owned).collect();
        let all = Bench::parse(scenario, &fields).map_err(|error| error.to_string())?;
        Ok(all.iter().map(|bench| bench.line("s1", None, bench.plugin_counts())).collect())
    }

    #[test]
    fn lists_become_lines() {
        let lines = lines(Scenario::ReclaimFile, "order=0,4 lru=classic,mglru size=1024M").unwrap();
        let expected = ["0 lru=classic", "0 lru=mglru", "4 lru=classic", "4 lru=mglru"];
        for (line, fields) in lines.iter().zip(expected) {
            let line_of =
                format!("reclaim-file order={fields} size=1GiB kernel=s1 clock=instructions");
            assert_eq!(*line, line_of);
        }
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn samples_are_taken_or_refused() {
        let line =
            |scenario| Bench::parse(scenario, &[]).unwrap().remove(0).line("s1", Some(5), false);
        assert_eq!(
            line(Scenario::MixedMappings),
            "mixed-mappings kernel=s1 clock=instructions runs=5"
        );
        assert_eq!(line(Scenario::HelperCalls), "helper-calls kernel=s1 clock=instructions");
        let check = |scenario, samples| {
            let plan = Bench::parse(scenario, &[]).unwrap();
            Bench::check_samples(&plan, samples).map_err(|error| error.to_string())
        };
        for scenario in Scenario::ALL {
            assert_eq!(check(scenario, None), Ok(()));
            assert_eq!(check(scenario, Some(100)).is_ok(), scenario.is_sampled(), "{scenario:?}");
        }
        assert_eq!(
            check(Scenario::HelperCalls, Some(5)).unwrap_err(),
            "scenario helper-calls: --runs 5: it takes no samples; give calls=N for how much it \
             does"
        );
        assert_eq!(
            check(Scenario::Selftest, Some(5)).unwrap_err(),
            "scenario selftest: --runs 5: it takes no samples"
        );
        let error = check(Scenario::AgeFile, Some(101)).unwrap_err();
        assert_eq!(error, "scenario age-file: --runs 101: it takes at most 100 samples");
    }

    #[test]
    fn costs_are_what_records_have_of_which_less_is_better() {
        let stored = RecordFile::from_json(crate::records::LINUX_7_3).unwrap();
        let mut seen = BTreeSet::new();
        for record in stored.records() {
            let fields = record.fields.iter().filter(|(name, _)| *name == "cpus");
            let fields: Vec<String> = fields.map(|(name, n)| format!("{name}={n}")).collect();
            let scenario = Scenario::named(&record.scenario).unwrap();
            let bench = &Bench::parse(scenario, &fields).unwrap()[0];
            let costs = bench.costs();
            let lower = record.metrics.iter().filter(|metric| metric.better == Better::Lower);
            let lower: Vec<_> = lower.map(|metric| metric.name.as_str()).collect();
            // Stored before lines and barriers of stores were counted.
            let counted = |cost: &&&str| lower.contains(cost);
            assert_eq!(costs.iter().filter(counted).copied().collect::<Vec<_>>(), lower);
            seen.insert((record.scenario.as_str(), costs.len()));
        }
        assert_eq!(
            Vec::from_iter(seen),
            [("age-file", 1), ("reclaim-file", 1), ("reclaim-file", 13)]
        );
    }

    #[test]
    fn on_two_cpus_the_plugin_counts() {
        let line = lines(Scenario::ReclaimFile, "cpus=1,2 process=running").unwrap();
        assert_eq!(line[0], "reclaim-file cpus=1 process=running kernel=s1 clock=instructions");
        assert_eq!(line[1], "reclaim-file cpus=2 process=running kernel=s1 clock=plugin");
        let line = lines(Scenario::Selftest, "cpus=2").unwrap();
        assert_eq!(line[0], "selftest cpus=2 kernel=s1 clock=instructions");
        let cpus = |fields: &[String]| {
            let plan = Bench::parse(Scenario::ReclaimFile, fields).unwrap();
            plan.iter().map(Bench::cpus).collect::<Vec<_>>()
        };
        assert_eq!((cpus(&[]), cpus(&["cpus=2,1".to_owned()])), (vec![1], vec![2, 1]));
        assert!(lines(Scenario::ReclaimFile, "cpus=3").is_err());
        assert!(lines(Scenario::AgeFile, "cpus=2").is_err());
    }

    #[test]
    fn every_field_says_what_it_accepts() {
        for scenario in Scenario::ALL {
            for field in scenario.fields() {
                let error = lines(scenario, &format!("{}=x", field.name())).unwrap_err();
                assert!(error.contains("`x`") && error.contains(field.accepted()), "{error}");
            }
        }
        let lacks = lines(Scenario::AgeFile, "lru=classic").unwrap_err();
        assert!(lacks.contains("order, young or size"), "{lacks}");
        assert!(lines(Scenario::ReclaimFile, "young=1/4").is_err());
        assert!(lines(Scenario::HelperCalls, "order=10").is_err());
        for bad in [
            "order=14",
            "order=1",
            "order=4,4",
            "size=1MiB",
            "reclaim=0%",
            "reclaim=101%",
            "reclaim=80",
        ] {
            assert!(lines(Scenario::ReclaimFile, bad).is_err(), "{bad}");
        }
        for bad in ["young=1/1", "young=1/", "young=2/3"] {
            assert!(lines(Scenario::AgeFile, bad).is_err(), "{bad}");
        }
        assert_eq!(lines(Scenario::AgeFile, "young=all,1/256").unwrap().len(), 2);
    }

    #[test]
    fn the_file_size_is_the_given_one_or_the_benchmark_s() {
        let size =
            |fields: &[String]| Bench::parse(Scenario::AgeFile, fields).unwrap()[0].file_size();
        assert_eq!(size(&[]), 1 << 30);
        assert_eq!(size(&["size=10GiB".to_owned()]), 10 << 30);
    }
}

//! The benchmark's runs in the test machine: scenarios and their fields, a line each.

use super::given::Given;
use super::kconfig::ConfigOption;
use super::pages::Pages;
use super::plugin::Counting;
use super::profile;
use super::regions;
use super::scenario::Scenario;
use super::workload::Workload;
use pageout_experiment::fields::{FieldError, list, pairs, parse_size};

/// The file size if none is given, in bytes: the benchmark's own default.
const DEFAULT_SIZE: u64 = 1 << 30;
/// The most samples that the benchmark takes.
const MOST_SAMPLES: u16 = 100;

/// Needs of kernels that are to be booted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// True if they have to swap.
    pub swap: bool,
    /// Options of their configuration, besides those of every kernel.
    pub options: Vec<ConfigOption>,
    /// Debian packages, besides those of every kernel.
    pub packages: Vec<String>,
}

impl Needs {
    /// Only swap.
    pub const SWAP: Self = Self { swap: true, options: Vec::new(), packages: Vec::new() };
}

/// A run of the benchmark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bench {
    /// The workload that it runs.
    pub workload: Workload,
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
    pub fn parse(
        workload: impl Into<Workload>,
        arguments: &[String],
    ) -> Result<Vec<Self>, FieldError> {
        let workload = workload.into();
        let fields = workload.fields();
        let mut all = vec![Self { workload: workload.clone(), fields: Vec::new() }];
        for (name, value) in pairs(arguments)? {
            let field = fields.iter().find(|field| field.name == name);
            let field = field.ok_or_else(|| workload.lacks(name))?;
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
            let problem = if *workload == Workload::Ours(Scenario::HelperCalls) {
                format!("--runs {samples}: it takes no samples; give calls=N for how much it does")
            } else if !workload.is_sampled() {
                format!("--runs {samples}: it takes no samples")
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
        let reclaims = |bench: &&Self| match bench.workload {
            Workload::Ours(scenario) => scenario.whole() == Some(profile::WHOLE),
            Workload::Given(ref given) => given.has_region(),
        };
        let Some(other) = plan.iter().find(|bench| !reclaims(bench)) else { return Ok(()) };
        let what = match other.workload {
            Workload::Ours(_) => "it does not reclaim",
            Workload::Given(_) => "its manifest has no region",
        };
        let problem = format!("--counts: {what}; `pageout lab profile` counts under any function");
        Err(FieldError::together(other.workload.name().to_owned(), problem))
    }

    /// Returns the program and its arguments on a kernel of this name. Workloads that take no
    /// samples ignore `samples`. If no plugin counts, the emulator's clock does.
    pub(super) fn line(
        &self,
        kernel: &str,
        samples: Option<u16>,
        counting: Option<&Counting>,
    ) -> String {
        let mut line = format!("{} {}", self.program(), self.workload.name());
        for (field, value) in &self.fields {
            line += &format!(" {field}={value}");
        }
        let clock = match counting {
            None => "instructions",
            Some(Counting::Under(_)) => "plugin",
            Some(Counting::Regions) => "regions",
        };
        line += &format!(" kernel={kernel} clock={clock}");
        if let Some(samples) = samples.filter(|_| self.workload.is_sampled()) {
            line += &format!(" runs={samples}");
        }
        line
    }

    /// Returns the program of the test machine that runs it.
    const fn program(&self) -> &'static str {
        match self.workload {
            Workload::Ours(_) => "bench",
            Workload::Given(_) => "workload",
        }
    }

    /// Returns the metrics of its records of which one direction is better. The others only count
    /// work.
    pub fn costs(&self) -> Vec<String> {
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        match (self.counting(false), &self.workload) {
            (Some(Counting::Under(_)), _) => owned(profile::costs(self.cpus())),
            (_, Workload::Ours(scenario)) => owned(scenario.whole().into_iter().collect()),
            (None, Workload::Given(given)) => owned(given.costs()),
            (Some(Counting::Regions), Workload::Given(given)) => regions::costs(given, self.cpus()),
        }
    }

    /// Returns the metric that its workload is judged by; `None` if it only counts.
    pub fn whole(&self) -> Option<&str> {
        self.workload.whole()
    }

    /// Returns the number of CPUs of its machine.
    pub(super) fn cpus(&self) -> u8 {
        match &self.workload {
            Workload::Given(given) => given.cpus,
            Workload::Ours(Scenario::HotPages) => 2,
            Workload::Ours(_) => self.field("cpus").and_then(|cpus| cpus.parse().ok()).unwrap_or(1),
        }
    }

    /// Returns the work that a plugin counts for its records. It does so on more than one CPU,
    /// unless the workload counts other things than instructions, and wherever all costs are asked
    /// for.
    pub(super) fn counting(&self, all_costs: bool) -> Option<Counting> {
        let by_plugin = all_costs || self.cpus() > 1;
        match &self.workload {
            Workload::Ours(Scenario::HotPages | Scenario::Selftest) => None,
            Workload::Ours(_) => by_plugin.then(|| Counting::Under(profile::RECLAIM.to_owned())),
            Workload::Given(given) => {
                (by_plugin && given.has_region()).then_some(Counting::Regions)
            }
        }
    }

    /// Returns the pages that a profile of it is divided by.
    pub(super) fn pages(&self) -> Pages {
        match &self.workload {
            Workload::Ours(_) => Pages::Ours,
            Workload::Given(given) => given.pages(),
        }
    }

    /// Returns the program with a manifest that it runs, if it is one.
    pub(super) fn given(&self) -> Option<&Given> {
        match &self.workload {
            Workload::Given(given) => Some(given),
            Workload::Ours(_) => None,
        }
    }

    /// Returns true if it runs the selftest's program.
    pub(super) fn is_selftest(&self) -> bool {
        self.workload == Workload::Ours(Scenario::Selftest)
    }

    /// Returns the needs of the kernels that a plan runs on. All runs of a plan are of one
    /// workload.
    pub fn needs(plan: &[Self]) -> Needs {
        match plan.first().map(|bench| &bench.workload) {
            Some(Workload::Ours(Scenario::ReclaimShmem)) => Needs::SWAP,
            None | Some(Workload::Ours(_)) => Needs::default(),
            Some(Workload::Given(given)) => given.needs(),
        }
    }

    /// Returns the boot parameters that its machine takes.
    pub(super) fn parameters(&self) -> Vec<String> {
        self.given().map(Given::parameters).unwrap_or_default()
    }

    /// Returns the bytes that it maps, besides those of every machine.
    pub(super) fn mapped(&self) -> u64 {
        let declared = self.given().and_then(|given| given.memory);
        let size = || self.field("size").and_then(|size| parse_size(size).ok());
        declared.or_else(size).unwrap_or(DEFAULT_SIZE)
    }

    /// Returns the value of a field: the one given, or else the manifest's default.
    fn field(&self, name: &str) -> Option<&str> {
        let given = self.fields.iter().find(|(field, _)| *field == name);
        let default = || self.given().and_then(|of| of.default(name));
        given.map(|(_, value)| value.as_str()).or_else(default)
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
        Ok(all.iter().map(|bench| bench.line("s1", None, bench.counting(false).as_ref())).collect())
    }

    #[test]
    fn lists_become_lines() {
        let lines = lines(Scenario::ReclaimFile, "order=0,4 lru=classic,mglru size=1024M").unwrap();
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
            let bench = Bench::parse(scenario, &[]).unwrap().remove(0);
            bench.line("s1", Some(5), None)
        };
        assert_eq!(
            line(Scenario::MixedMappings),
            "bench mixed-mappings kernel=s1 clock=instructions runs=5"
        );
        assert_eq!(line(Scenario::HelperCalls), "bench helper-calls kernel=s1 clock=instructions");
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
        let line = lines(Scenario::ReclaimFile, "cpus=1,2 process=running").unwrap();
        let begin = "bench reclaim-file cpus";
        assert_eq!(line[0], format!("{begin}=1 process=running kernel=s1 clock=instructions"));
        assert_eq!(line[1], format!("{begin}=2 process=running kernel=s1 clock=plugin"));
        let line = lines(Scenario::Selftest, "cpus=2").unwrap();
        assert_eq!(line[0], "bench selftest cpus=2 kernel=s1 clock=instructions");
        let given = Workload::named("fork-copy").unwrap();
        let bench = Bench::parse(given.clone(), &[]).unwrap().remove(0);
        let counting = [false, true].map(|all| bench.counting(all));
        assert_eq!(counting, [None, Some(Counting::Regions)]);
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
                let (name, accepted) = (field.name, field.kind.accepted());
                let error = lines(scenario, &format!("{name}=x")).unwrap_err();
                assert!(error.contains("`x`") && error.contains(&accepted), "{error}");
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
        let size = |fields: &[String]| Bench::parse(Scenario::AgeFile, fields).unwrap()[0].mapped();
        assert_eq!(size(&[]), 1 << 30);
        assert_eq!(size(&["size=10GiB".to_owned()]), 10 << 30);
    }
}

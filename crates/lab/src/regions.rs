//! Costs of a workload's regions, sample by sample and CPU by CPU, as the emulator's plugin counts
//! them.

use std::collections::BTreeMap;
use std::str::FromStr;

use pageout_record::schema::{Better, Metric, Record};

use super::profile::{COUNTS, Costs};
use super::workload::{DeclaredMetric, Measure, Workload};
use pageout_experiment::metrics::counted;

/// The form of the plugin's lines.
const LINE: &str = "SAMPLE REGION CPU INSTRUCTIONS CAS ATOMICS TLBI DSB DSBST LINES";
/// The last line of the plugin's.
const END: &str = "end";

/// The reason why counts of regions cannot be read, or not be added to a record.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RegionsError {
    /// A line that the plugin does not write.
    #[error("line {line} of the regions, `{text}`, is neither `{LINE}` nor `{END}`")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The line's text.
        text: String,
    },
    /// The emulator was ended before it wrote everything.
    #[error("the regions end without `{END}`: the emulator was stopped too early")]
    Truncated,
    /// The plugin and the workload counted different numbers of samples.
    #[error("region {region} has {found} samples, the record {expected}")]
    Samples {
        /// The region.
        region: String,
        /// The number of the plugin's samples.
        found: usize,
        /// The number of the record's samples.
        expected: usize,
    },
}

/// The costs of each region: by sample, region (the metric's place in the manifest) and CPU.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Regions(BTreeMap<(usize, usize, u8), Costs>);

impl FromStr for Regions {
    type Err = RegionsError;

    /// Parses the text that the plugin wrote.
    fn from_str(text: &str) -> Result<Self, RegionsError> {
        let (mut regions, mut is_whole) = (Self::default(), false);
        for (line, text) in (1..).zip(text.lines()) {
            let unknown = || RegionsError::Line { line, text: text.to_owned() };
            if is_whole {
                return Err(unknown());
            } else if text == END {
                is_whole = true;
                continue;
            }
            let (key, costs) = read_line(text).ok_or_else(unknown)?;
            if regions.0.insert(key, costs).is_some() {
                return Err(unknown());
            }
        }
        if is_whole { Ok(regions) } else { Err(RegionsError::Truncated) }
    }
}

fn read_line(text: &str) -> Option<((usize, usize, u8), Costs)> {
    let numbers: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
    let numbers = numbers.ok()?;
    let ([sample, region, cpu], costs) = numbers.split_first_chunk()?;
    let key = (usize::try_from(*sample).ok()?, usize::try_from(*region).ok()?);
    Some(((key.0, key.1, u8::try_from(*cpu).ok()?), Costs::of(costs.try_into().ok()?)))
}

/// Returns the names of all metrics of a workload's records on a machine with this number of CPUs
/// of which one direction is better, the costs of its regions among them.
pub(super) fn costs(workload: &Workload, cpus: u8) -> Vec<String> {
    let judged = workload.metrics.iter().filter(|metric| metric.better != Better::Neither);
    let of = |metric: &DeclaredMetric| match metric.what {
        Measure::Region { .. } => with_cpus(metric, cpus).flat_map(|of| names(&of)).collect(),
        Measure::Counter { .. } => vec![metric.name.clone()],
    };
    judged.flat_map(of).collect()
}

/// Returns the name of a metric, and of what each of several CPUs does in a region.
pub(super) fn with_cpus(metric: &DeclaredMetric, cpus: u8) -> impl Iterator<Item = String> {
    let is_region = matches!(metric.what, Measure::Region { .. });
    let of_cpus = several(cpus).filter(move |_| is_region);
    let of_cpus = of_cpus.map(|cpu| of_cpu(&metric.name, cpu));
    [metric.name.clone()].into_iter().chain(of_cpus)
}

/// Returns the CPUs whose costs are listed separately; empty for a machine with one CPU.
fn several(cpus: u8) -> impl Iterator<Item = u8> {
    (0..cpus).filter(move |_| cpus > 1)
}

/// Returns the name of what a CPU does in a region.
fn of_cpu(region: &str, cpu: u8) -> String {
    format!("{region}, CPU {cpu}")
}

/// Returns the names of metrics: of instructions, then of the other counts.
fn names(of: &str) -> Vec<String> {
    let counts = COUNTS.iter().map(|(count, _)| format!("{of}: {count}"));
    [of.to_owned()].into_iter().chain(counts).collect()
}

impl Regions {
    /// Adds the costs of each region to the workload's record, divided by the units that the region
    /// processed in the sample: of all CPUs, and on more than one of `cpus` of each.
    ///
    /// # Errors
    ///
    /// [`RegionsError::Samples`] if the record has another number of samples.
    pub(super) fn add_to(
        &self,
        record: &mut Record,
        workload: &Workload,
        cpus: u8,
    ) -> Result<(), RegionsError> {
        let mut all = Vec::new();
        for (region, metric) in workload.metrics.iter().enumerate() {
            let Measure::Region { per } = &metric.what else { continue };
            let of = Region { name: &metric.name, per, better: metric.better };
            let units = of.units(record);
            let samples = self.samples(region, workload.warm_up);
            if samples.len() != units.len() {
                let (found, expected) = (samples.len(), units.len());
                let region = metric.name.clone();
                return Err(RegionsError::Samples { region, found, expected });
            }
            all.extend(of.metrics(&samples, &units, cpus));
        }
        record.metrics.splice(0..0, all);
        Ok(())
    }

    /// Returns a region's costs by CPU, sample by sample; not those of the one that warms up.
    fn samples(&self, region: usize, warm_up: bool) -> Vec<BTreeMap<u8, Costs>> {
        let mut samples: BTreeMap<usize, BTreeMap<u8, Costs>> = BTreeMap::new();
        for ((sample, of, cpu), costs) in &self.0 {
            if *of == region && !(warm_up && *sample == 0) {
                samples.entry(*sample).or_default().insert(*cpu, *costs);
            }
        }
        samples.into_values().collect()
    }
}

/// A region as the manifest declares it.
struct Region<'a> {
    name: &'a str,
    per: &'a str,
    better: Better,
}

impl Region<'_> {
    /// Returns the units of each sample.
    fn units(&self, record: &Record) -> Vec<f64> {
        let name = format!("{}: units", self.name);
        let found = record.metric(&name);
        found.map_or_else(Vec::new, |metric| metric.values.clone())
    }

    /// Returns the region's metrics: of all CPUs together, then of each if there are several.
    fn metrics(&self, samples: &[BTreeMap<u8, Costs>], units: &[f64], cpus: u8) -> Vec<Metric> {
        let together = samples.iter().map(|by_cpu| {
            let mut sum = Costs::default();
            by_cpu.values().for_each(|costs| sum.add(costs));
            sum
        });
        let mut metrics = self.of(self.name, &together.collect::<Vec<_>>(), units);
        for cpu in several(cpus) {
            let costs = samples.iter().map(|by_cpu| by_cpu.get(&cpu).copied().unwrap_or_default());
            metrics.extend(self.of(&of_cpu(self.name, cpu), &costs.collect::<Vec<_>>(), units));
        }
        metrics
    }

    /// Returns the metric of the instructions, under this name, and those of the other counts.
    fn of(&self, name: &str, samples: &[Costs], units: &[f64]) -> Vec<Metric> {
        let instructions: fn(&Costs) -> u64 = |costs| costs.instructions;
        let counts = [instructions].into_iter().chain(COUNTS.map(|(_, count)| count));
        let metric = |(metric, count): (String, fn(&Costs) -> u64)| {
            let what = if metric == name { "instructions/" } else { "per " };
            let unit = format!("{what}{}", self.per);
            let each = samples.iter().zip(units);
            let values = each.map(|(costs, units)| count(costs) as f64 / units).collect();
            Metric { values, ..counted(&metric, &unit, 0.0, self.better) }
        };
        names(name).into_iter().zip(counts).map(metric).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_record::schema::Ground;
    use std::fs;
    use tempfile::tempdir;

    const MANIFEST: &str = r#"/* workload.toml
name = "sums"
about = "Sums of numbers."
warm-up = true
[[metric]]
name = "sums done"
unit = "sums"
[[metric]]
name = "sum"
per = "4K page"
*/
"#;

    /// Two CPUs, a sample that warms up and two others.
    const TEXT: &str = "0 1 0 900 9 9 9 9 9 9\n0 1 1 0 0 0 0 0 0 0\n1 1 0 100 8 0 2 2 1 40\n\
        1 1 1 20 0 4 0 0 0 4\n2 1 0 110 8 0 2 2 1 40\n2 1 1 10 0 4 0 0 0 4\nend\n";

    fn workload() -> Workload {
        let directory = tempdir().unwrap();
        let file = directory.path().join("sums.c");
        fs::write(&file, MANIFEST).unwrap();
        Workload::read(&file).unwrap()
    }

    fn record(units: &[f64]) -> Record {
        let units = Metric {
            values: units.to_vec(),
            ..counted("sum: units", "4K page", 0.0, Better::Neither)
        };
        Record {
            scenario: "sums".to_owned(),
            ground: Ground::Linux,
            seed: 0,
            fields: [].into(),
            variant: [("kernel".to_owned(), "stock".to_owned())].into(),
            metrics: vec![units],
        }
    }

    #[test]
    fn costs_are_divided_by_units_and_the_warm_up_is_dropped() {
        let mut record = record(&[4.0, 8.0]);
        TEXT.parse::<Regions>().unwrap().add_to(&mut record, &workload(), 2).unwrap();
        let of = |name: &str| {
            let found = record.metric(name);
            let metric = found.expect(name);
            (metric.unit.as_str(), metric.values.clone())
        };
        assert_eq!(of("sum"), ("instructions/4K page", vec![30.0, 15.0]));
        assert_eq!(of("sum: compare-and-swaps"), ("per 4K page", vec![2.0, 1.0]));
        assert_eq!(of("sum: barriers"), ("per 4K page", vec![0.75, 0.375]));
        assert_eq!(of("sum, CPU 0"), ("instructions/4K page", vec![25.0, 13.75]));
        assert_eq!(of("sum, CPU 1: other atomics"), ("per 4K page", vec![1.0, 0.5]));
        assert_eq!(record.metrics.len(), 3 * 7 + 1);
        let added: Vec<_> = record.metrics[..21].iter().map(|metric| metric.name.clone()).collect();
        assert_eq!(costs(&workload(), 2), added, "each can be named where a limit is set");
    }

    #[test]
    fn one_cpu_has_no_metrics_of_its_own() {
        let mut record = record(&[4.0]);
        let text = "0 1 0 9 0 0 0 0 0 0\n1 1 0 100 8 0 2 2 1 40\nend\n";
        text.parse::<Regions>().unwrap().add_to(&mut record, &workload(), 1).unwrap();
        assert_eq!(record.metrics.len(), 7 + 1);
    }

    #[test]
    fn a_different_number_of_samples_is_refused() {
        let regions: Regions = TEXT.parse().unwrap();
        let error = regions.add_to(&mut record(&[4.0]), &workload(), 2).unwrap_err().to_string();
        assert_eq!(error, "region sum has 2 samples, the record 1");
    }

    #[test]
    fn text_that_the_plugin_does_not_write_is_refused_by_line() {
        let refused = |text: &str| text.parse::<Regions>().unwrap_err().to_string();
        for bad in ["", "0 1 0 1 1 1 1 1 1", "0 1 256 1 1 1 1 1 1 1", "0 1 0 1 1 1 1 1 1 x"] {
            let text = format!("0 0 0 1 1 1 1 1 1 1\n{bad}\nend\n");
            let expected = format!("line 2 of the regions, `{bad}`, is neither `{LINE}` nor `end`");
            assert_eq!(refused(&text), expected);
        }
        assert!(refused("end\nend\n").starts_with("line 2 of the regions, `end`"));
        assert!(refused("0 0 0 1 1 1 1 1 1 1\n0 0 0 1 1 1 1 1 1 1\n").starts_with("line 2"));
        let truncated = "the regions end without `end`: the emulator was stopped too early";
        assert_eq!(refused("0 0 0 1 1 1 1 1 1 1\n"), truncated);
    }
}

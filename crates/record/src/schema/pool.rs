//! Several record sets as one, so that runs made apart can be compared.

use super::types::{Basis, Machine, Metric, Record, RecordSet};
use super::validate::InvalidRecord;

/// Why sets cannot be made one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PoolError {
    /// Times of different machines.
    #[error(
        "{first} was measured on {first_machine}, {second} on {second_machine}: \
         times of one machine are accepted"
    )]
    Machines {
        /// Name of the first set.
        first: String,
        /// Its machine.
        first_machine: String,
        /// Name of a later set.
        second: String,
        /// Its machine.
        second_machine: String,
    },
    /// The same metric in another unit, on another basis, with another direction, or with another
    /// of what cannot be pooled: all but samples.
    #[error(
        "{name}: {scenario}, metric {metric:?} has another unit, basis, direction, source or \
         interval before, or tells something else than samples, which alone are pooled"
    )]
    Unlike {
        /// Name of the set where it is met the second time.
        name: String,
        /// The scenario.
        scenario: String,
        /// The metric.
        metric: String,
    },
    /// No set was given.
    #[error("no record set was given; one is needed")]
    None,
    /// What comes out breaks a rule of the format.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
}

impl RecordSet {
    /// One set of all the records of named sets. Samples of one metric of one scenario, ground,
    /// seed, fields and variant are pooled, in the order of the sets: runs taken in turn, before,
    /// after, before, after, keep a machine's drift from looking like a change. The run is the
    /// first set's.
    ///
    /// # Errors
    /// [`PoolError`]: where times of machines with another CPU or number of cores would be mixed,
    /// or a metric is not the same kind of figure everywhere.
    pub fn pool(sets: Vec<(String, Self)>) -> Result<Self, PoolError> {
        let mut sets = sets.into_iter();
        let Some((first, mut pooled)) = sets.next() else {
            return Err(PoolError::None);
        };
        for (name, set) in sets {
            let (a, b) = (&pooled.run.machine, &set.run.machine);
            if !same_hardware(a, b) && (measures(&pooled) || measures(&set)) {
                return Err(PoolError::Machines {
                    first_machine: told(a),
                    second_machine: told(b),
                    first,
                    second: name,
                });
            }
            for record in set.records {
                add(&mut pooled.records, record, &name)?;
            }
        }
        pooled.validate()?;
        Ok(pooled)
    }
}

fn add(records: &mut Vec<Record>, record: Record, name: &str) -> Result<(), PoolError> {
    let same = |known: &&mut Record| {
        (&known.scenario, known.ground, known.seed)
            == (&record.scenario, record.ground, record.seed)
            && (&known.fields, &known.variant) == (&record.fields, &record.variant)
    };
    let mut new = Vec::new();
    let mut known: Vec<&mut Record> = records.iter_mut().filter(same).collect();
    for metric in record.metrics {
        let metrics = known.iter_mut().flat_map(|record| &mut record.metrics);
        match metrics.into_iter().find(|known| known.name == metric.name) {
            None => new.push(metric),
            Some(known) if kind(known) == kind(&metric) => known.values.extend(metric.values),
            Some(_) => {
                let (name, metric) = (name.to_owned(), metric.name);
                return Err(PoolError::Unlike { name, scenario: record.scenario, metric });
            }
        }
    }
    if known.is_empty() || !new.is_empty() {
        records.push(Record { metrics: new, ..record });
    }
    Ok(())
}

/// All that must be the same where samples are pooled.
fn kind(metric: &Metric) -> impl PartialEq {
    let Metric { unit, basis, better, source, interval, bound, claim, activities, .. } = metric;
    let Metric { series, matrix, sequence, .. } = metric;
    let pictured = (series, matrix, sequence);
    (unit, basis, better, source, interval, bound, claim, activities, pictured)
}

fn measures(set: &RecordSet) -> bool {
    let mut metrics = set.records.iter().flat_map(|record| &record.metrics);
    metrics.any(|metric| metric.basis == Basis::Measured)
}

/// Memory and operating system may change between two boots of one machine.
fn same_hardware(a: &Machine, b: &Machine) -> bool {
    (&a.cpu, &a.arch, a.cores) == (&b.cpu, &b.arch, b.cores)
}

fn told(machine: &Machine) -> String {
    format!("{} ({}, {} cores)", machine.cpu, machine.arch, machine.cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Better, Ground, Labels, Run};

    fn set(cpu: &str, kernel: &str, unit: &str, values: &[f64]) -> RecordSet {
        let machine = Machine {
            cpu: cpu.to_owned(),
            arch: "aarch64".to_owned(),
            cores: 8,
            memory_mib: 1,
            os: kernel.to_owned(),
        };
        let run = Run { tool: "pageout".to_owned(), commit: None, machine };
        let metric = Metric::new("reclaim", unit, Basis::Measured, Better::Lower, values.to_vec());
        let variant = Labels::from([("kernel".to_owned(), kernel.to_owned())]);
        let record = Record {
            scenario: "reclaim-file".to_owned(),
            ground: Ground::Linux,
            seed: 0,
            fields: Labels::new(),
            variant,
            metrics: vec![metric],
        };
        RecordSet::new(run, vec![record])
    }

    fn pool(sets: Vec<RecordSet>) -> Result<RecordSet, PoolError> {
        let names = (b'a'..).map(|name| format!("{}.json", name as char));
        RecordSet::pool(names.zip(sets).collect())
    }

    #[test]
    fn variants_stand_side_by_side_and_samples_of_one_are_pooled_in_order() {
        let before = set("X", "old", "ns", &[3.0, 1.0]);
        let after = set("X", "new", "ns", &[2.0]);
        let pooled = pool(vec![before.clone(), after.clone(), set("X", "old", "ns", &[0.5])]);
        let pooled = pooled.expect("they fit");
        assert_eq!(pooled.run, before.run);
        let values: Vec<_> = pooled.records.iter().map(|r| &r.metrics[0].values[..]).collect();
        assert_eq!(values, [&[3.0, 1.0, 0.5][..], &[2.0]]);
    }

    #[test]
    fn another_metric_of_a_known_variant_is_kept() {
        let mut other = set("X", "old", "pages", &[7.0]);
        other.records[0].metrics[0].name = "pgsteal".to_owned();
        let pooled = pool(vec![set("X", "old", "ns", &[1.0]), other]).expect("they fit");
        let names: Vec<_> =
            pooled.records.iter().flat_map(|r| r.metrics.iter().map(|m| &m.name[..])).collect();
        assert_eq!(names, ["reclaim", "pgsteal"]);
    }

    #[test]
    fn times_of_two_machines_are_refused_and_counts_are_not() {
        let (one, mut two) = (set("X", "old", "ns", &[1.0]), set("Y", "new", "ns", &[1.0]));
        let error = pool(vec![one.clone(), two.clone()]).expect_err("two machines").to_string();
        for part in ["a.json", "X (aarch64, 8 cores)", "b.json", "Y (aarch64, 8 cores)"] {
            assert!(error.contains(part), "{error}");
        }
        let mut one = one;
        for set in [&mut one, &mut two] {
            set.records[0].metrics[0].basis = Basis::Counted;
        }
        assert!(pool(vec![one, two]).is_ok());
    }

    #[test]
    fn one_metric_is_one_kind_of_figure() {
        let error = pool(vec![set("X", "old", "ns", &[1.0]), set("X", "old", "s", &[1.0])]);
        let error = error.expect_err("two units").to_string();
        assert!(error.contains("b.json") && error.contains("\"reclaim\""), "{error}");
        assert_eq!(RecordSet::pool(Vec::new()), Err(PoolError::None));
    }
}

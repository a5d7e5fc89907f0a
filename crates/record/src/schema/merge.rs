//! Merging of several record files into one, so that separate runs can be compared.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

use super::basis::Basis;
use super::labels::Labels;
use super::problem::InvalidRecord;
use super::types::{Ground, Machine, Metric, Record, RecordFile, RecordSet, Run};

/// The axis that [`RecordFile::label`] gives variants.
pub const LABEL: &str = "label";

/// The runs whose samples may be taken as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// Only runs of one tool, commit, machine and kernel.
    Alike,
    /// Any.
    Any,
}

/// The reason why files cannot be merged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MergeError {
    /// The same run twice.
    #[error("{}: each run is accepted once", the_same(first, second, run))]
    SameRun {
        /// Name of the first file.
        first: String,
        /// Name of a later file, or the same.
        second: String,
        /// The run.
        run: Uuid,
    },
    /// Runs that are not alike. Their samples would be taken as one, or their times compared
    /// although their machines differ.
    #[error(
        "{} runs that differ in {differ}: `--label NAME=FILE` compares them with each other, \
         `--pool` takes them as one",
        hold(first, second)
    )]
    Differ {
        /// Name of the first file.
        first: String,
        /// Name of a later file, or the same.
        second: String,
        /// The properties that differ, with both values.
        differ: String,
    },
    /// The same metric in another unit, on another basis, with another direction, source or
    /// interval.
    #[error(
        "{name}: {scenario}, metric {metric:?} has another unit, basis, direction, source or \
         interval before"
    )]
    Unlike {
        /// Name of the file where it is met the second time.
        name: String,
        /// The scenario.
        scenario: String,
        /// The metric.
        metric: String,
    },
    /// A file that has labels already.
    #[error("{name} has labels of its own: it is accepted without --label")]
    Labelled {
        /// Name of the file.
        name: String,
    },
    /// The merged file breaks a rule of the format.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
}

impl RecordFile {
    /// Merges all runs of named files into one file, in the order given. No sample is moved: if
    /// several runs have a metric of one scenario, ground, seed, fields and variant, a comparison
    /// takes their samples as one.
    ///
    /// # Errors
    /// [`MergeError`]: where a run is given twice, runs that are not alike would be taken as one,
    /// times of machines with another CPU or number of cores would stand side by side without a
    /// label, or a metric is not the same kind of figure everywhere.
    pub fn merge(files: Vec<(String, Self)>, pooling: Pooling) -> Result<Self, MergeError> {
        let sets = files.iter().flat_map(|(name, file)| file.sets.iter().map(|set| (&**name, set)));
        let sets: Vec<(&str, &RecordSet)> = sets.collect();
        refuse_the_same_run(&sets)?;
        if pooling == Pooling::Alike {
            refuse_other_machines(&sets)?;
        }
        refuse_unlike(&sets, pooling)?;
        let merged = Self { sets: files.into_iter().flat_map(|(_, file)| file.sets).collect() };
        merged.validate()?;
        Ok(merged)
    }

    /// Gives all variants a choice on the axis [`LABEL`], so that they are compared with others'.
    ///
    /// # Errors
    /// [`MergeError::Labelled`] where one has that axis.
    pub fn label(&mut self, label: &str, name: &str) -> Result<(), MergeError> {
        if self.records().any(|record| record.variant.contains_key(LABEL)) {
            return Err(MergeError::Labelled { name: name.to_owned() });
        }
        for record in self.sets.iter_mut().flat_map(|set| &mut set.records) {
            record.variant.insert(LABEL.to_owned(), label.to_owned());
        }
        Ok(())
    }
}

fn refuse_the_same_run(sets: &[(&str, &RecordSet)]) -> Result<(), MergeError> {
    let mut names = BTreeMap::new();
    for (name, set) in sets {
        if let Some(first) = names.insert(set.run.id, *name) {
            let (first, second) = (first.to_owned(), (*name).to_owned());
            return Err(MergeError::SameRun { first, second, run: set.run.id });
        }
    }
    Ok(())
}

/// Refuses times of different machines, unless labels say that machines are compared.
fn refuse_other_machines(sets: &[(&str, &RecordSet)]) -> Result<(), MergeError> {
    let measured = |record: &&Record| record.metrics.iter().any(|m| m.basis == Basis::Measured);
    let unlabelled = |record: &Record| !record.variant.contains_key(LABEL);
    let of_one = |set: &RecordSet| set.records.iter().filter(measured).any(unlabelled);
    let mut sets = sets.iter().filter(|(_, set)| of_one(set));
    let Some((first, one)) = sets.next() else { return Ok(()) };
    match sets.find(|(_, other)| hardware(&one.run.machine) != hardware(&other.run.machine)) {
        None => Ok(()),
        Some((second, other)) => Err(differ((first, &one.run), (second, &other.run))),
    }
}

/// The key of samples that a comparison takes as one.
type Key<'a> = (&'a str, Ground, u64, &'a Labels, &'a Labels, &'a str);

fn refuse_unlike(sets: &[(&str, &RecordSet)], pooling: Pooling) -> Result<(), MergeError> {
    // One run has each metric once.
    if sets.len() < 2 {
        return Ok(());
    }
    let mut firsts: HashMap<Key<'_>, (&str, &Run, &Metric)> = HashMap::new();
    for (name, set) in sets {
        for record in set.records.iter().filter(|record| record.ground != Ground::Published) {
            let Record { scenario, ground, seed, fields, variant, metrics } = record;
            for metric in metrics.iter().filter(|metric| metric.is_sampled()) {
                let key = (&**scenario, *ground, *seed, fields, variant, &*metric.name);
                let (first, run, known) = *firsts.entry(key).or_insert((name, &set.run, metric));
                if pooling == Pooling::Alike && build(run) != build(&set.run) {
                    return Err(differ((first, run), (name, &set.run)));
                }
                if kind(known) != kind(metric) {
                    return Err(MergeError::Unlike {
                        name: (*name).to_owned(),
                        scenario: scenario.clone(),
                        metric: metric.name.clone(),
                    });
                }
            }
        }
    }
    Ok(())
}

/// Returns the properties that must be the same if samples are taken as one.
fn kind(metric: &Metric) -> impl PartialEq {
    let Metric { unit, basis, better, source, interval, .. } = metric;
    (unit, basis, better, source, interval)
}

/// Memory may change between two boots of one machine.
fn hardware(machine: &Machine) -> (&str, &str, u32) {
    (&machine.cpu, &machine.arch, machine.cores)
}

/// Returns the properties that are equal in runs which are alike.
fn build(run: &Run) -> impl PartialEq {
    (&run.tool, &run.commit, hardware(&run.machine), &run.machine.os)
}

fn differ(first: (&str, &Run), second: (&str, &Run)) -> MergeError {
    let ((first, one), (second, other)) = (first, second);
    let commit = |run: &Run| run.commit.clone().unwrap_or_else(|| "unknown".to_owned());
    let machine = |run: &Run| {
        let (cpu, arch, cores) = hardware(&run.machine);
        format!("{cpu} ({arch}, {cores} cores)")
    };
    let told = [
        ("tool", one.tool.clone(), other.tool.clone()),
        ("commit", commit(one), commit(other)),
        ("machine", machine(one), machine(other)),
        ("kernel", one.machine.os.clone(), other.machine.os.clone()),
    ];
    let differ = told.into_iter().filter(|(_, one, other)| one != other);
    let differ = differ.map(|(what, one, other)| format!("{what} ({one}; {other})"));
    let differ = differ.collect::<Vec<_>>().join(" and ");
    MergeError::Differ { first: first.to_owned(), second: second.to_owned(), differ }
}

fn the_same(first: &str, second: &str, run: &Uuid) -> String {
    if first == second {
        format!("{first} is named twice")
    } else {
        format!("{first} and {second} hold the same run ({run})")
    }
}

fn hold(first: &str, second: &str) -> String {
    if first == second { format!("{first} holds") } else { format!("{first} and {second} hold") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Better;

    fn set(cpu: &str, kernel: &str, unit: &str, values: &[f64]) -> RecordSet {
        let machine = Machine {
            cpu: cpu.to_owned(),
            arch: "aarch64".to_owned(),
            cores: 8,
            memory_mib: 1,
            os: kernel.to_owned(),
        };
        let run = Run::new("pageout", Some("1a2b".to_owned()), machine);
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

    fn merge(sets: &[RecordSet], pooling: Pooling) -> Result<RecordFile, MergeError> {
        let names = (b'a'..).map(|name| format!("{}.json", name as char));
        let files = names.zip(sets.iter().cloned().map(RecordFile::from));
        RecordFile::merge(files.collect(), pooling)
    }

    #[track_caller]
    fn refused(sets: &[RecordSet], parts: &[&str]) {
        let error = merge(sets, Pooling::Alike).expect_err("refused").to_string();
        for part in parts {
            assert!(error.contains(part), "no `{part}` in: {error}");
        }
    }

    #[test]
    fn every_run_is_kept_as_it_was() {
        let runs = [("old", 3.0), ("new", 2.0), ("old", 0.5)];
        let sets = runs.map(|(kernel, value)| set("X", kernel, "ns", &[value]));
        assert_eq!(merge(&sets, Pooling::Alike).expect("they fit").sets, sets);
    }

    #[test]
    fn a_run_is_accepted_once_also_within_a_merged_file() {
        let [one, two] = ["old", "new"].map(|kernel| set("X", kernel, "ns", &[1.0]));
        refused(&[one.clone(), one.clone()], &["a.json and b.json hold", "each run"]);
        let both = merge(&[one.clone(), two], Pooling::Alike).expect("they fit");
        let name = |name: &str, file: RecordFile| (name.to_owned(), file);
        let again = vec![name("both.json", both), name("one.json", one.clone().into())];
        let error = RecordFile::merge(again, Pooling::Any).expect_err("it is in both");
        let run = one.run.id.to_string();
        assert!(error.to_string().contains(&run), "{error}");
        let twice = vec![name("a.json", one.clone().into()), name("a.json", one.into())];
        let error = RecordFile::merge(twice, Pooling::Any).expect_err("named twice");
        assert!(error.to_string().contains("a.json is named twice"), "{error}");
    }

    #[test]
    fn runs_of_another_build_machine_or_kernel_are_not_taken_as_one() {
        let one = set("X", "6.12", "ns", &[1.0]);
        let with = |change: fn(&mut Run)| {
            let mut other = set("X", "6.12", "ns", &[2.0]);
            change(&mut other.run);
            other
        };
        let others = [
            (with(|run| run.commit = Some("3c4d".to_owned())), "commit (1a2b; 3c4d)"),
            (with(|run| run.commit = None), "commit (1a2b; unknown)"),
            (with(|run| run.tool += " 2"), "tool (pageout; pageout 2)"),
            (with(|run| run.machine.os += ".1"), "kernel (6.12; 6.12.1)"),
            (with(|run| run.machine.cores = 4), "X (aarch64, 8 cores); X (aarch64, 4 cores)"),
        ];
        for (mut other, told) in others {
            let sets = [one.clone(), other.clone()];
            refused(&sets, &["a.json and b.json", told, "`--label NAME=FILE`", "`--pool`"]);
            assert!(merge(&sets, Pooling::Any).is_ok(), "{told}");
            other.records[0].metrics[0].basis = Basis::Counted;
            let mut counted = one.clone();
            counted.records[0].metrics[0].basis = Basis::Counted;
            refused(&[counted, other], &[told]);
        }
        assert!(merge(&[one, with(|run| run.machine.memory_mib = 9)], Pooling::Alike).is_ok());
    }

    #[test]
    fn times_of_two_machines_stand_side_by_side_under_labels_alone() {
        let sets = [set("X", "old", "ns", &[1.0]), set("Y", "new", "ns", &[1.0])];
        refused(&sets, &["X (aarch64, 8 cores); Y (aarch64, 8 cores)", "`--label NAME=FILE`"]);
        let mut counted = sets.clone();
        let metrics = |set: &mut RecordSet| set.records[0].metrics[0].basis = Basis::Counted;
        counted.iter_mut().for_each(metrics);
        assert!(merge(&counted, Pooling::Alike).is_ok());
        let files = sets.map(|set| {
            let (name, mut file) = (set.run.machine.cpu.clone(), RecordFile::from(set));
            file.label(&name, "a.json").expect("it has none");
            let again = file.label(&name, "a.json").expect_err("it has one");
            assert!(again.to_string().contains("labels of its own"), "{again}");
            (name, file)
        });
        assert!(RecordFile::merge(files.into(), Pooling::Alike).is_ok());
    }

    #[test]
    fn one_metric_is_one_kind_of_figure() {
        let sets = [set("X", "old", "ns", &[1.0]), set("X", "old", "s", &[1.0])];
        refused(&sets, &["b.json", "\"reclaim\""]);
    }
}

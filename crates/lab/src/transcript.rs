//! The test machine's output on its serial line, parsed line by line.

use pageout_record::schema::{Ground, Record};

/// The beginnings of lines that are not the kernel's own.
pub(super) const RECORD: &str = "record ";
const ANSWER: &str = "session ";
const ENDED: &str = "lab: exit ";
const FAILED: &str = "lab: error: ";
const DONE: &str = "lab: done";
const BENCH: &str = "bench: ";
const WRONG: &str = "bench: wrong: ";

/// The text by which a panic's line is known.
const PANIC: &str = "Kernel panic - not syncing";

/// A machine's output so far.
#[derive(Default, Debug)]
pub(super) struct Transcript {
    /// The benchmark's runs that ended, in order.
    runs: Vec<BenchRun>,
    /// The run that did not end yet.
    under_way: BenchRun,
    lines: usize,
    panic: Option<String>,
    init_failed: Option<String>,
    bad_record: Option<String>,
    warnings: usize,
    done: bool,
}

/// A run of the benchmark.
#[derive(Default, Debug)]
struct BenchRun {
    records: Vec<Record>,
    /// The answers of a session.
    answers: Vec<String>,
    status: i32,
    /// The messages of the benchmark.
    said: Vec<String>,
    /// The kernel's wrong results, as the benchmark reports them.
    wrong: Vec<String>,
}

/// The reason why a machine was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stopped {
    /// The machine ran for this many seconds.
    Time { seconds: u64 },
    /// The machine printed this much.
    Output { mib: usize },
    /// The machine printed nothing for this many seconds after its start.
    Silent { seconds: u64 },
}

/// The results of all runs, in order.
#[derive(Default, Debug)]
pub(super) struct Brought {
    pub(super) records: Vec<Record>,
    pub(super) answers: Vec<String>,
}

/// The reason why a machine's output is no result. The error around it names the machine and the
/// file with its whole output.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// The kernel panicked.
    #[error("the kernel panicked: {0}")]
    Panic(String),
    /// The first process failed.
    #[error("the test machine could not be set up: {0}")]
    Init(String),
    /// The machine ended before all was done.
    #[error("it ended after {done} of {of} runs of the benchmark, without a panic")]
    Early {
        /// The number of runs that ended.
        done: usize,
        /// The number of runs asked for.
        of: usize,
    },
    /// The runs did not end in time.
    #[error(
        "it was not done after {seconds} s, with {done} of {of} runs of the benchmark; stopped"
    )]
    TimeLimit {
        /// The limit.
        seconds: u64,
        /// The number of runs that ended.
        done: usize,
        /// The number of runs asked for.
        of: usize,
    },
    /// The machine printed more than any run does.
    #[error("it printed more than {mib} MiB, with {done} of {of} runs of the benchmark; stopped")]
    Output {
        /// The limit.
        mib: usize,
        /// The number of runs that ended.
        done: usize,
        /// The number of runs asked for.
        of: usize,
    },
    /// The machine printed nothing.
    #[error("it printed nothing in {seconds} s; stopped. Does KVM run any kernel on this machine?")]
    Silent {
        /// The limit.
        seconds: u64,
    },
    /// A run of the benchmark failed.
    #[error("`{line}` {}: {said}", ended(*status))]
    Bench {
        /// The benchmark's arguments.
        line: String,
        /// The exit status; 128 and the signal's number if one ended it.
        status: i32,
        /// The benchmark's messages.
        said: String,
    },
    /// The kernel gave a wrong result, which the benchmark is there to find: it did not fail
    /// itself.
    #[error("`{line}` found the kernel wrong: {wrong}")]
    Wrong {
        /// The benchmark's arguments.
        line: String,
        /// The wrong results.
        wrong: String,
    },
    /// A run gave no record.
    #[error("`{line}` ended without a record or an answer")]
    NoRecord {
        /// The benchmark's arguments.
        line: String,
    },
    /// A record that cannot be read.
    #[error("a record cannot be read: {0}")]
    BadRecord(String),
}

impl Transcript {
    /// Parses the next line, without its newline.
    pub(super) fn take(&mut self, line: &str) {
        self.lines += 1;
        if let Some(json) = line.strip_prefix(RECORD) {
            match serde_json::from_str::<Record>(json) {
                Ok(record) if record.ground == Ground::Linux => self.under_way.records.push(record),
                Ok(record) => self.bad(&format!("ground is {}, not linux", record.ground)),
                Err(error) => self.bad(&error.to_string()),
            }
        } else if let Some(answer) = line.strip_prefix(ANSWER) {
            self.under_way.answers.push(answer.to_owned());
        } else if let Some(status) = line.strip_prefix(ENDED) {
            let mut run = std::mem::take(&mut self.under_way);
            // A status that is not a number counts as a failure.
            run.status = status.trim().parse().unwrap_or(-1);
            self.runs.push(run);
        } else if let Some(wrong) = line.strip_prefix(WRONG) {
            self.under_way.wrong.push(wrong.to_owned());
        } else if let Some(said) = line.strip_prefix(BENCH) {
            self.under_way.said.push(said.to_owned());
        } else if let Some(what) = line.strip_prefix(FAILED) {
            self.init_failed.get_or_insert_with(|| what.to_owned());
        } else if line.starts_with(DONE) {
            self.done = true;
        } else if let Some(at) = line.find(PANIC) {
            self.panic.get_or_insert_with(|| line[at..].to_owned());
        } else if line.contains("WARNING: ") || line.contains("BUG: ") {
            self.warnings += 1;
        }
    }

    fn bad(&mut self, problem: &str) {
        let line = self.lines;
        self.bad_record.get_or_insert_with(|| format!("line {line}: {problem}"));
    }

    /// Returns true if the machine is about to end, and gives no more results.
    pub(super) fn is_over(&self) -> bool {
        self.done || self.panic.is_some()
    }

    /// Returns the number of lines in which the kernel warns.
    pub(super) fn warnings(&self) -> usize {
        self.warnings
    }

    /// Returns the results of all runs if every run of `plan` succeeded, else the first fault. The
    /// machine ended by itself, unless it was `stopped`.
    pub(super) fn finish(
        self,
        plan: &[String],
        stopped: Option<Stopped>,
    ) -> Result<Brought, Fault> {
        if let Some(panic) = self.panic {
            return Err(Fault::Panic(panic));
        }
        let (done, of) = (self.runs.len(), plan.len());
        for (run, line) in self.runs.iter().zip(plan) {
            run.check(line)?;
        }
        if let Some(what) = self.init_failed {
            return Err(Fault::Init(what));
        }
        match stopped.filter(|_| !self.done) {
            Some(Stopped::Time { seconds }) => return Err(Fault::TimeLimit { seconds, done, of }),
            Some(Stopped::Output { mib }) => return Err(Fault::Output { mib, done, of }),
            Some(Stopped::Silent { seconds }) => return Err(Fault::Silent { seconds }),
            None => {}
        }
        if !self.done || done != of {
            return Err(Fault::Early { done, of });
        }
        if let Some(problem) = self.bad_record {
            return Err(Fault::BadRecord(problem));
        }
        for (run, line) in self.runs.iter().zip(plan) {
            if run.records.is_empty() && run.answers.is_empty() {
                return Err(Fault::NoRecord { line: line.clone() });
            }
        }
        let mut brought = Brought::default();
        for run in self.runs {
            brought.records.extend(run.records);
            brought.answers.extend(run.answers);
        }
        Ok(brought)
    }
}

impl BenchRun {
    fn check(&self, line: &str) -> Result<(), Fault> {
        let line = || line.to_owned();
        match (&self.wrong[..], self.status) {
            ([_, ..], _) => Err(Fault::Wrong { line: line(), wrong: self.wrong.join("\n  ") }),
            ([], 0) => Ok(()),
            ([], status) => {
                let said = if self.said.is_empty() {
                    "it said nothing".to_owned()
                } else {
                    self.said.join("; ")
                };
                Err(Fault::Bench { line: line(), status, said })
            }
        }
    }
}

/// Describes how a program ended that has this status.
fn ended(status: i32) -> String {
    match status {
        129.. => format!("was ended by signal {}", status - 128),
        _ => format!("ended with status {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"record {"scenario": "age-file", "ground": "linux", "seed": 0,
        "metrics": []}"#;

    fn finish(lines: &[&str], limit: Option<u64>) -> Result<usize, Fault> {
        let mut transcript = Transcript::default();
        for line in lines {
            transcript.take(&line.replace('\n', ""));
        }
        let plan = ["age-file", "helper-calls"].map(str::to_owned);
        let stopped = limit.map(|seconds| Stopped::Time { seconds });
        transcript.finish(&plan, stopped).map(|brought| brought.records.len())
    }

    /// Parses the output of a real machine.
    fn recorded(log: &str, plan: usize) -> Result<Vec<Record>, Fault> {
        let mut transcript = Transcript::default();
        log.lines().for_each(|line| transcript.take(line.trim_end_matches('\r')));
        let plan: Vec<String> = (0..plan).map(|line| format!("line {line}")).collect();
        transcript.finish(&plan, None).map(|brought| brought.records)
    }

    #[test]
    fn recorded_logs_are_understood() {
        let records = recorded(include_str!("transcript/good.log"), 7).unwrap();
        let scenarios: Vec<&str> = records.iter().map(|record| record.scenario.as_str()).collect();
        assert_eq!(scenarios.iter().filter(|name| **name == "reclaim-file").count(), 4);
        let kernel = |record: &Record| record.variant.get("kernel").cloned();
        assert!(records.iter().all(|record| kernel(record).as_deref() == Some("stock")));
        let metric = records[0].metric("reclaim").unwrap();
        assert_eq!((metric.unit.as_str(), metric.values.len()), ("instructions/4K page", 3));

        let errors = recorded(include_str!("transcript/errors.log"), 3).unwrap_err();
        let said = "error: order=1: read-ahead does not make folios of order 1".to_owned();
        assert_eq!(errors, Fault::Bench { line: "line 0".into(), status: 2, said });
        let panic = recorded(include_str!("transcript/panic.log"), 1).unwrap_err();
        assert!(matches!(&panic, Fault::Panic(said) if said.contains("Unable to mount root")));
    }

    #[test]
    fn records_of_all_runs_are_the_result() {
        let noise = "[    0.1] random: crng init done";
        let lines = [noise, GOOD, "lab: exit 0", GOOD, GOOD, "lab: exit 0", "lab: done", ""];
        assert_eq!(finish(&lines, None), Ok(3));
    }

    #[test]
    fn answers_of_a_session_are_a_result_to_the_last_blank() {
        let mut transcript = Transcript::default();
        for line in ["session 3:  node     0", "session 3: 7 ", "lab: exit 0", "lab: done"] {
            transcript.take(line);
        }
        let brought = transcript.finish(&["session".to_owned()], None).unwrap();
        assert_eq!(brought.answers, ["3:  node     0", "3: 7 "]);
    }

    #[test]
    fn every_kind_of_failure_is_told_apart() {
        let panic = "[    1.2] Kernel panic - not syncing: Attempted to kill init!";
        let message = Fault::Panic("Kernel panic - not syncing: Attempted to kill init!".into());
        assert_eq!(finish(&[GOOD, "lab: exit 0", panic], Some(9)), Err(message));
        let init = finish(&["lab: error: mount /mnt: no device", "lab: done"], None);
        assert_eq!(init, Err(Fault::Init("mount /mnt: no device".into())));
        let early = Fault::Early { done: 1, of: 2 };
        assert_eq!(finish(&[GOOD, "lab: exit 0"], None), Err(early.clone()));
        assert_eq!(finish(&[GOOD, "lab: exit 0", "lab: done"], None), Err(early));
        let limit = Fault::TimeLimit { seconds: 5, done: 0, of: 2 };
        assert_eq!(finish(&[GOOD], Some(5)), Err(limit));
        let none = Fault::NoRecord { line: "age-file".into() };
        let lines = ["lab: exit 0", GOOD, "lab: exit 0", "lab: done"];
        assert_eq!(finish(&lines, None), Err(none));
    }

    #[test]
    fn a_benchmark_that_fails_is_named_with_its_words() {
        let lines = ["bench: error: order is 0, not 4", "lab: exit 1", "lab: exit 1", "lab: done"];
        let Err(Fault::Bench { line, status, said }) = finish(&lines, None) else {
            panic!("it failed");
        };
        assert_eq!((line.as_str(), status), ("age-file", 1));
        assert_eq!(said, "error: order is 0, not 4");
        let lines = ["lab: exit 139", "lab: exit 1", "lab: done"];
        let crashed = finish(&lines, None).unwrap_err().to_string();
        assert_eq!(crashed, "`age-file` was ended by signal 11: it said nothing");
        let lines = ["lab: exit 0", "bench: wrong: call 7", "lab: exit 1", "lab: done"];
        let wrong = Fault::Wrong { line: "helper-calls".into(), wrong: "call 7".into() };
        assert_eq!(finish(&lines, None), Err(wrong));
        let lines = [
            "bench: wrong: 1 of 2 tests failed",
            "bench: wrong: not ok 2 b",
            "lab: exit 1",
            "lab: exit 0",
            "lab: done",
        ];
        let wrong = "1 of 2 tests failed\n  not ok 2 b".to_owned();
        assert_eq!(finish(&lines, None), Err(Fault::Wrong { line: "age-file".into(), wrong }));
    }

    #[test]
    fn a_record_that_cannot_be_read_is_named_by_its_line() {
        for (bad, part) in [
            ("record {", "EOF"),
            (r#"record {"scenario": "x", "ground": "host", "seed": 0, "metrics": []}"#, "host"),
            (r#"record {"scenario": "x", "ground": "linux", "seed": 0, "extra": 1}"#, "extra"),
        ] {
            let lines = ["", bad, GOOD, "lab: exit 0", GOOD, "lab: exit 0", "lab: done"];
            let Err(Fault::BadRecord(problem)) = finish(&lines, None) else {
                panic!("{bad} is no record");
            };
            assert!(problem.starts_with("line 2: ") && problem.contains(part), "{problem}");
        }
    }
}

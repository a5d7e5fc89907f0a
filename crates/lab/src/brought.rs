//! The results of machines.

use std::path::PathBuf;

use pageout_record::schema::Record;

use super::build::Built;
use super::kept::{Given, Kept};
use super::measure::Job;
use super::pages::Pages;
use super::plan::Bench;
use super::plugin::Counting;
use super::profile::Profile;
use super::regions::Regions;
use super::session::LabError;
use super::target::Cpu;
use super::timed;

/// The counts of a plugin.
pub(super) enum Counts {
    Under(Profile),
    Regions(Regions),
}

/// The results of a machine.
pub(super) struct Brought {
    pub(super) title: String,
    pub(super) emulator: String,
    pub(super) records: Vec<Record>,
    /// A session's answers, line by line.
    pub(super) answers: Vec<String>,
    pub(super) counts: Option<Counts>,
    pub(super) pages: Pages,
    /// The machine's log, if its kernel warned.
    pub(super) warned: Option<PathBuf>,
    /// The place where the results are kept until the run has come to its end.
    pub(super) kept: Option<Kept>,
}

impl Brought {
    /// Returns the results of a job's machine from what it gave.
    pub(super) fn of(
        job: &Job,
        title: String,
        given: Given,
        kept: Option<Kept>,
    ) -> Result<Self, LabError> {
        let Given { records, counts } = given;
        let counts = match (&job.counting, counts) {
            (Some(counting), Some(text)) => Some(parse_counts(&title, &text, counting)?),
            _ => None,
        };
        let (emulator, pages) = (job.host.emulator.clone(), job.pages.clone());
        let (answers, warned) = (Vec::new(), None);
        Ok(Self { title, emulator, records, answers, counts, pages, warned, kept })
    }

    /// Makes one result of those of a run's boots, at least one.
    fn pooled(mut boots: Vec<Self>) -> Self {
        if boots.len() > 1 {
            let records = boots.iter().map(|boot| boot.records.len()).min().unwrap_or_default();
            let record = |at: usize| {
                let of_boots: Vec<Record> =
                    boots.iter().map(|boot| boot.records[at].clone()).collect();
                timed::pooled(&of_boots)
            };
            let records = (0..records).filter_map(record).collect();
            let warned = boots.iter_mut().find_map(|boot| boot.warned.take());
            boots.truncate(1);
            boots[0].records = records;
            boots[0].warned = warned;
        }
        boots.remove(0)
    }

    /// Returns the machine's name in messages: `s1, arm64-4k, cpu max`.
    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Adds what a plugin counted to the run's one record.
    pub(super) fn add_counts(&mut self, bench: &Bench, job: &Job) -> Result<(), LabError> {
        let machine = || self.title.clone();
        let [record] = &mut self.records[..] else { return Ok(()) };
        match &self.counts {
            Some(Counts::Under(profile)) => profile
                .add_to(record, job.config.small_pages(), job.cpus)
                .map_err(|source| LabError::Profile { machine: machine(), source }),
            Some(Counts::Regions(regions)) => regions
                .add_to(record, &bench.workload, job.cpus)
                .map_err(|source| LabError::Regions { machine: machine(), source }),
            None => Ok(()),
        }
    }
}

/// Makes one result of all boots of a run on this machine's own processor; the other results stay.
pub(super) fn with_boots_pooled(
    booted: Vec<(Built, usize, Cpu, Brought)>,
) -> Vec<(Built, Brought)> {
    let mut runs: Vec<((Built, usize, Cpu), Vec<Brought>)> = Vec::new();
    for (built, place, cpu, brought) in booted {
        let run = (built, place, cpu);
        let same = runs.iter_mut().find(|(other, _)| cpu == Cpu::Host && *other == run);
        match same {
            Some((_, boots)) => boots.push(brought),
            None => runs.push((run, vec![brought])),
        }
    }
    runs.into_iter().map(|((built, ..), boots)| (built, Brought::pooled(boots))).collect()
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

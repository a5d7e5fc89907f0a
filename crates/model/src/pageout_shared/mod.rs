//! Scenario `pageout-shared`: memory of one process or several is read in from compressed swap and
//! paged out again, over and over: the microbenchmark of deferred shootdowns on arm64.

mod run;
#[cfg(test)]
mod tests;

pub use run::{CPU_SHARE, Outcome, REPETITION, UNMAP_SHARE};

use crate::{Model, One, Scenario};
use pageout_experiment::fields::{
    self, FieldError, bad, check_size, number, parse_processes, parse_size,
};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::labels;
use pageout_experiment::variant::Variant;
use pageout_host::layout::tables_of;
use pageout_machine::Report;
use pageout_machine::platform::Platform;
use pageout_paging::Format as _;
use pageout_reclaim::{Limits, MapAs};
use pageout_record::schema::{Labels, Metric};

/// The scenario's name in records.
pub const NAME: &str = "pageout-shared";
const FIELDS: &str = "format, size, processes, times and out";
/// The most memory, and repetitions.
const MAX_BYTES: u64 = 1 << 30;
const MAX_TIMES: u32 = 1_000_000;

/// How memory is paged out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Out {
    /// `madvise(MADV_PAGEOUT)`, which leaves alone what other processes map.
    Madvise,
    /// A write to `memory.reclaim` of the processes' cgroup.
    MemoryReclaim,
}

impl Out {
    const ALL: [Self; 2] = [Self::Madvise, Self::MemoryReclaim];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Madvise => "madvise",
            Self::MemoryReclaim => "memory.reclaim",
        }
    }
}

/// The scenario, with one value a field.
#[derive(Clone, Debug)]
pub struct PageoutShared {
    /// Entry format.
    pub format: FormatName,
    /// Bytes of the memory.
    pub bytes: u64,
    /// Processes that map it.
    pub processes: u32,
    /// Repetitions that are told of, after one that is not.
    pub times: u32,
    /// How it is paged out.
    pub out: Out,
    /// The machine.
    pub platform: Platform,
}

impl PageoutShared {
    /// Scenarios from `FIELD=VALUE` arguments: the thread's but for the times, since after the
    /// first one repetition is like another.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String], model: &Model) -> Result<Vec<Self>, FieldError> {
        let mut formats = model.formats();
        let mut processes = vec![1];
        let (mut bytes, mut times, mut out) = (1 << 20, 100, Out::Madvise);
        for (field, value) in fields::pairs(arguments)? {
            match field {
                "format" => formats = fields::list("format", value, FormatName::parse)?,
                "processes" => processes = fields::list("processes", value, parse_processes)?,
                "size" => bytes = parse_size(value)?,
                "times" => {
                    let found = number(value).filter(|times| (1..=MAX_TIMES).contains(times));
                    let accepted = format!("a number from 1 to {MAX_TIMES}");
                    times = found.ok_or_else(|| bad("times", value, accepted))?;
                }
                "out" => {
                    let found = Out::ALL.into_iter().find(|out| out.name() == value);
                    out = found.ok_or_else(|| bad("out", value, "madvise or memory.reclaim"))?;
                }
                _ => {
                    let (scenario, field, accepted) = (NAME, field.to_owned(), FIELDS);
                    return Err(FieldError::Unknown { scenario, field, accepted });
                }
            }
        }
        if out == Out::Madvise && processes.iter().any(|processes| *processes > 1) {
            let problem = "MADV_PAGEOUT leaves alone what other processes map, so that with \
                processes=2 or more out=memory.reclaim is needed";
            return Err(FieldError::Together { scenario: NAME, problem: problem.to_owned() });
        }
        let mut all = Vec::new();
        for format in formats {
            let platform = model.platform_for(format)?;
            check_size(bytes, with_format!(format, F => F::PAGE_SIZE), "page", MAX_BYTES)?;
            let one = |processes: &u32| {
                let (processes, platform) = (*processes, platform.clone());
                Self { format, bytes, processes, times, out, platform }
            };
            all.extend(processes.iter().map(one));
        }
        Ok(all)
    }

    fn pages<F: Arch>(&self) -> usize {
        (self.bytes >> F::PAGE_SHIFT) as usize
    }

    fn limits<F: Arch>(&self) -> Limits {
        let (pages, processes) = (self.pages::<F>(), self.processes as usize);
        Limits {
            // What is being brought in beside what is not free yet.
            frames: 2 * pages,
            folios: 2 * pages,
            vmas: processes,
            mms: processes,
            mappings: 1,
            memcgs: 1,
            slots: 2 * pages,
            filters: 4,
            ..Limits::NOTHING
        }
    }

    fn tables<F: Arch>(&self) -> usize {
        tables_of::<F>(self.pages::<F>(), self.processes, MapAs::Ptes)
    }
}

impl Scenario for PageoutShared {
    type Outcome = Outcome;
    const NAME: &'static str = NAME;

    fn labels(&self, model: &Model) -> Labels {
        let mut all = labels([
            ("format", self.format.name().to_owned()),
            ("size", fields::display_size(self.bytes)),
            ("processes", self.processes.to_string()),
            ("times", self.times.to_string()),
            ("out", self.out.name().to_owned()),
        ]);
        all.extend(model.labels(&self.platform));
        all
    }

    fn footprint(&self, _: &Model) -> Footprint {
        with_format!(self.format, F => Footprint::of::<F>(&self.limits::<F>(), self.tables::<F>()))
    }

    fn run(&self, model: &Model, variant: Variant, one: One) -> Outcome {
        with_format!(self.format, F => run::run::<F>(self, model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        run::metrics(nominal, drawn)
    }

    fn report(outcome: &Outcome) -> &Report {
        &outcome.between.after
    }
}

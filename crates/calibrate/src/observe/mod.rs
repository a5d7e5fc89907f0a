//! Accesses that this machine's TLB hides from young (accessed) bits. A program loads from pages,
//! their young bits are cleared without a flush, and the program loads from them again. If a load
//! goes through a translation made before the clear, hardware does not set the bit again, and the
//! kernel takes a page in use for an old one.

mod elsewhere;
mod trial;

use crate::cpus::Pinned;
use pageout_experiment::metrics::{MetricSpec, labels};
use pageout_record::compare::Role;
use pageout_record::schema::{Basis, Better, Ground, Labels, Record};
use pageout_record::stats::median;
use std::fmt;
use std::io;
use trial::Trial;

/// The scenario's name in records.
const OBSERVE: &str = "observe";

/// The number of pages that are loaded from, cleared and loaded from again: few compared with any
/// TLB.
pub const PAGES: usize = 16;

/// The share of a repetition's loads that the kernel does not see.
const HIDDEN: MetricSpec = MetricSpec {
    name: "hidden loads",
    unit: "%",
    basis: Basis::Measured,
    better: Better::Lower,
    role: Role::Count,
    about: "loads after the clear that left their page not Referenced",
    drawn: false,
};

/// The activity between the clear and the question which pages are Referenced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// The observing thread loads once from each of this many other pages, then from its own.
    OtherPages(usize),
    /// Another thread of the program runs on this CPU, then the observing one loads.
    OtherThread,
    /// Another program runs on this CPU from its beginning to its end, then the observing thread
    /// loads.
    OtherProgram,
    /// The observing thread sleeps for this many milliseconds, then it loads.
    Sleep(u64),
    /// A thread on another CPU loads all the time, for this many milliseconds.
    OtherCpu(u64),
    /// No activity and no load: all pages must look old. This checks the method.
    NoLoad,
}

impl Between {
    /// Every activity; each kind with growing disturbance.
    pub const ALL: [Self; 16] = [
        Self::OtherPages(0),
        Self::OtherPages(64),
        Self::OtherPages(256),
        Self::OtherPages(512),
        Self::OtherPages(1024),
        Self::OtherPages(2048),
        Self::OtherPages(4096),
        Self::OtherPages(MOST_OTHERS),
        Self::OtherThread,
        Self::OtherProgram,
        Self::Sleep(1),
        Self::Sleep(20),
        Self::OtherCpu(1),
        Self::OtherCpu(10),
        Self::OtherCpu(100),
        Self::NoLoad,
    ];

    /// Fields of the pair's record.
    fn fields(self) -> Labels {
        let of = |between: &str| labels([("between", between.to_owned())]);
        let with = |between, name, value: String| {
            let mut fields = of(between);
            fields.extend(labels([(name, value)]));
            fields
        };
        match self {
            Self::OtherPages(n) => with("other pages", "pages", n.to_string()),
            Self::OtherThread => of("another thread"),
            Self::OtherProgram => of("another program"),
            Self::Sleep(ms) => with("sleep", "ms", ms.to_string()),
            Self::OtherCpu(ms) => with("another CPU", "ms", ms.to_string()),
            Self::NoLoad => of("no load"),
        }
    }
}

/// More pages than any TLB holds.
const MOST_OTHERS: usize = 16_384;

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherPages(0) => f.write_str("nothing"),
            Self::OtherPages(n) => write!(f, "loads from {n} other pages"),
            Self::OtherThread => f.write_str("another thread on this CPU"),
            Self::OtherProgram => f.write_str("another program on this CPU"),
            Self::Sleep(ms) => write!(f, "sleep of {ms} ms"),
            Self::OtherCpu(ms) => write!(f, "loads on another CPU for {ms} ms"),
            Self::NoLoad => f.write_str("no load (check of the method)"),
        }
    }
}

/// The flush of the pages' translations after the clear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flush {
    /// No flush after the clear.
    None,
    /// `mprotect` to read-only and back, which invalidates them on every CPU.
    Mprotect,
}

impl Flush {
    /// Both choices.
    pub const ALL: [Self; 2] = [Self::None, Self::Mprotect];

    /// Returns the variant's labels in records.
    pub fn labels(self) -> Labels {
        let choice = match self {
            Self::None => "none",
            Self::Mprotect => "mprotect",
        };
        labels([("flush", choice.to_owned())])
    }
}

/// The hidden loads of one kind of activity.
#[derive(Clone, PartialEq, Debug)]
pub struct Observation {
    /// The activity.
    pub between: Between,
    /// The flush that followed the clear.
    pub flush: Flush,
    /// The number of the [`PAGES`] loads that the kernel did not see, for each repetition.
    pub hidden: Vec<u64>,
}

impl Observation {
    /// Returns the share of the program's loads that was hidden, from 0 to 1: the median of the
    /// repetitions.
    pub fn share(&self) -> f64 {
        let shares = self.hidden.iter().map(|hidden| *hidden as f64 / PAGES as f64);
        median(&shares.collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }

    /// Returns the observation as a record of this machine's kernel.
    pub fn record(&self) -> Record {
        let percent = |hidden: &u64| *hidden as f64 * 100.0 / PAGES as f64;
        Record {
            scenario: OBSERVE.to_owned(),
            ground: Ground::Linux,
            seed: 0,
            fields: self.between.fields(),
            variant: self.flush.labels(),
            metrics: vec![HIDDEN.of(&self.hidden.iter().map(percent).collect::<Vec<_>>())],
        }
    }
}

/// The reason why observation is impossible here.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// A file that is missing, or cannot be read or written.
    #[error(
        "cannot observe young bits here: {path}: {source}; it takes Linux with \
         CONFIG_PROC_PAGE_MONITOR, and a sandbox that lets a program write its own clear_refs"
    )]
    File {
        /// The file.
        path: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The pages' mapping is not found, or was joined with others.
    #[error(
        "cannot observe young bits here: /proc/self/smaps has no Referenced of the pages alone"
    )]
    NotTold,
    /// The kernel refused memory, a thread or a program.
    #[error("cannot observe young bits here")]
    Kernel(#[from] io::Error),
}

/// Observes all activities in each of `rounds` rounds, on the first CPU, and on the second if there
/// is one. Calls `progress` with the number of rounds done and of all rounds. Activities for which
/// this machine lacks something, such as a second CPU, have no observation.
///
/// # Errors
/// [`ObserveError`] names what this machine or its kernel lacks.
///
/// # Panics
/// If no CPU is given, or no round asked for.
pub fn observe(
    rounds: usize,
    cpus: &[usize],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Observation>, ObserveError> {
    assert!(rounds > 0, "a round to observe in");
    let own = *cpus.first().expect("a CPU to observe on");
    let _pinned = Pinned::to(own)?;
    let mut trial = Trial::new(own, cpus.get(1).copied())?;
    let each =
        Between::ALL.into_iter().flat_map(|between| Flush::ALL.map(|flush| (between, flush)));
    let mut seen: Vec<_> =
        each.map(|(between, flush)| Observation { between, flush, hidden: Vec::new() }).collect();
    for round in 0..rounds {
        progress(round, rounds);
        for one in &mut seen {
            one.hidden.extend(trial.hidden(one.between, one.flush)?);
        }
    }
    seen.retain(|one| !one.hidden.is_empty());
    Ok(seen)
}

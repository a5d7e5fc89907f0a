//! A session: the things that it makes, in the order of its text, and its steps.

use super::command::Command;
use super::error::SessionError;
use super::parse;
use std::ops::Range;

/// A file of the page cache. It consists of holes: its pages are clean and zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// The file's name.
    pub name: String,
    /// The file's size in pages, a multiple of its folios'.
    pub pages: u64,
    /// The order of the folios that `fill` makes. A page that is read again later gets a folio of
    /// order 0.
    pub order: u8,
}

/// A process, which sleeps except when a step names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// The process's name.
    pub name: String,
    /// The index of the process's cgroup.
    pub memcg: usize,
}

/// The pages that a region maps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Backing {
    /// Pages of a file, shared, from page `first` on.
    File {
        /// The index of the file.
        file: usize,
        /// The file's page at the region's start.
        first: u64,
    },
    /// Anonymous memory. The first write to a page allocates a folio of this order.
    Anon {
        /// The order.
        order: u8,
    },
}

/// A mapping of a process. No other mapping shares its page tables; see [`Session::address`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The region's name.
    pub name: String,
    /// The index of the region's process.
    pub process: usize,
    /// The pages that are mapped.
    pub backing: Backing,
    /// The region's size in pages.
    pub pages: u64,
}

/// A step. Numbers are indices into the session's lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Makes a cgroup below the root: `/NAME`.
    Memcg(usize),
    /// Starts a process in its cgroup.
    Process(usize),
    /// Makes a file. None of its pages is in memory yet.
    File(usize),
    /// Makes a mapping; no page is mapped yet.
    Map(usize),
    /// Brings the whole file into the page cache by page faults of a process of the cgroup, which
    /// then exits. The folios stay where faults put them: unmapped and not referenced.
    Fill {
        /// The cgroup.
        memcg: usize,
        /// The file.
        file: usize,
    },
    /// Reads pages by `read(2)` in the cgroup, one page a call.
    Read {
        /// The cgroup.
        memcg: usize,
        /// The file.
        file: usize,
        /// The pages.
        pages: Range<u64>,
    },
    /// Reads or writes a byte of each page of a region, in order.
    Touch {
        /// The region.
        region: usize,
        /// The pages, counted from the region's start.
        pages: Range<u64>,
        /// True if the step writes.
        write: bool,
    },
    /// Waits for this many milliseconds.
    Sleep(u64),
    /// Writes to `lru_gen` in one call. The answer is `= 0`, or `= ` and the name of the error.
    Write(Command),
    /// Shows a cgroup's part of `lru_gen`, or of `lru_gen_full`.
    Show {
        /// The cgroup.
        memcg: usize,
        /// True for `lru_gen_full`.
        full: bool,
    },
}

/// A session of `lru_gen`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Session {
    /// The names of the session's cgroups.
    pub memcgs: Vec<String>,
    /// The session's processes.
    pub processes: Vec<Process>,
    /// The session's files.
    pub files: Vec<File>,
    /// The session's mappings.
    pub regions: Vec<Region>,
    /// The session's steps, each with its line as written, without comments and needless blanks.
    pub steps: Vec<(String, Step)>,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("sessions/", $name, ".session")))),*]
    };
}

/// The sessions that come with the program, each with its name and text.
pub static SHIPPED: [(&str, &str); 6] =
    shipped!["age-file", "age-anon", "evict", "several", "sleepers", "refused"];

/// Returns the text of the shipped session of that name.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

impl Step {
    /// Returns true if the step has an answer.
    pub const fn answers(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Show { .. })
    }
}

impl Session {
    /// Reads a session; `origin` names the text in errors.
    ///
    /// # Errors
    ///
    /// [`SessionError`] for the first line refused.
    pub fn parse(origin: &str, text: &str) -> Result<Self, SessionError> {
        parse::session(origin, text)
    }

    /// Returns the address at which a region begins. A process's first region is at 64 GiB, and
    /// each further one a GiB after the last.
    pub fn address(&self, region: usize) -> u64 {
        let process = self.regions[region].process;
        let before = self.regions[..region].iter().filter(|other| other.process == process);
        (64 + before.count() as u64) << 30
    }

    /// Returns the transcript of a run: each step after `> `, and below it the step's answer.
    /// `answers` has the answers of the steps that have one, in order, each with its line ends.
    ///
    /// # Panics
    ///
    /// If there is not exactly one answer for each of those steps.
    pub fn transcript(&self, answers: &[String]) -> String {
        let mut text = String::new();
        let mut answers = answers.iter();
        for (line, step) in &self.steps {
            text += &format!("> {line}\n");
            if step.answers() {
                text += answers.next().expect("an answer for each step that gives one");
            }
        }
        assert_eq!(answers.next(), None, "answers of steps only");
        text
    }
}

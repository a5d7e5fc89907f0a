//! A session: what it makes, in the order of its text, and its steps.

use super::command::Command;
use super::error::SessionError;
use super::parse;
use std::ops::Range;

/// A file of the page cache. It is made of holes: its pages are clean and zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its size in pages, whole folios.
    pub pages: u64,
    /// The order of the folios that `fill` makes. A page read anew later comes as one of order 0.
    pub order: u8,
}

/// A process, which sleeps but for the steps that it is told to take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// Index of its cgroup.
    pub memcg: usize,
}

/// What a region's pages are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Backing {
    /// Pages of a file, shared, from that page on.
    File {
        /// Index of the file.
        file: usize,
        /// The file's page at the region's start.
        first: u64,
    },
    /// Anonymous memory, whose first writes bring folios of this order.
    Anon {
        /// The order.
        order: u8,
    },
}

/// A mapping of a process, in page tables of its own; see [`Session::address`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// Index of its process.
    pub process: usize,
    /// What is mapped.
    pub backing: Backing,
    /// Its size in pages.
    pub pages: u64,
}

/// A step. Numbers are indices into the session's lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Makes a cgroup below the root: `/NAME`.
    Memcg(usize),
    /// Starts a process in its cgroup.
    Process(usize),
    /// Makes a file, nothing of which is in memory.
    File(usize),
    /// Makes a mapping; no page is mapped yet.
    Map(usize),
    /// Brings the whole file into the page cache by page faults of a process of the cgroup, which
    /// is gone afterwards: its folios are where faults put them, unmapped, and not referenced.
    Fill {
        /// The cgroup.
        memcg: usize,
        /// The file.
        file: usize,
    },
    /// Reads pages by `read(2)`, a page a call, in the cgroup.
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
        /// Whether it writes.
        write: bool,
    },
    /// Lets so many milliseconds pass.
    Sleep(u64),
    /// Writes to `lru_gen`, in one call. Answers `= 0` or `= ` and the name of the error.
    Write(Command),
    /// Shows a cgroup's part of `lru_gen`, or of `lru_gen_full`.
    Show {
        /// The cgroup.
        memcg: usize,
        /// Whether it is `lru_gen_full`.
        full: bool,
    },
}

/// A session.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Session {
    /// The names of its cgroups.
    pub memcgs: Vec<String>,
    /// Its processes.
    pub processes: Vec<Process>,
    /// Its files.
    pub files: Vec<File>,
    /// Its mappings.
    pub regions: Vec<Region>,
    /// Its steps, each with its line as written, but for comments and needless blanks.
    pub steps: Vec<(String, Step)>,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("sessions/", $name, ".session")))),*]
    };
}

/// The sessions that come with the program: name and text.
pub static SHIPPED: [(&str, &str); 6] =
    shipped!["age-file", "age-anon", "evict", "several", "sleepers", "refused"];

/// The text of the session of that name that comes with the program.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

impl Step {
    /// Whether it answers anything.
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

    /// Where a region begins: the first of a process at 64 GiB, each GiB another.
    pub fn address(&self, region: usize) -> u64 {
        let process = self.regions[region].process;
        let before = self.regions[..region].iter().filter(|other| other.process == process);
        (64 + before.count() as u64) << 30
    }

    /// What is to be kept of a run: each step after `> `, and what it answered below it. `answers`
    /// has the answers of the steps that give one, in order, each with its line ends.
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

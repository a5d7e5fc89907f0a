//! Reads a session line by line. Each name is made before it is used.

use super::command::{BadPiece, Command};
use super::error::{Problem, SessionError};
use super::session::{Backing, File, Process, Region, Session, Step};
use crate::fields::number;
use pageout_refusal::UnknownName;
use std::ops::Range;

/// Directives and their forms. Words in brackets may be left out.
const FORMS: [&str; 10] = [
    "memcg NAME",
    "process NAME MEMCG",
    "file NAME PAGES [order=N]",
    "fill MEMCG FILE",
    "read MEMCG FILE [FROM..TO]",
    "map PROCESS NAME FILE [FROM..TO]",
    "anon PROCESS NAME PAGES [order=N]",
    "touch REGION [FROM..TO] [write]",
    "sleep MILLISECONDS",
    "show MEMCG [full]",
];
/// The form of the directive whose words are a command for `lru_gen`.
const WRITE: &str = "write COMMAND";

/// The largest file or anonymous region, in pages. All of a session fit the lab's machine and its
/// swap device.
const MAX_PAGES: u64 = 16384;
/// The largest order: a folio of the next one would fill a page table of 512 entries.
const MAX_ORDER: u8 = 8;
/// The longest sleep, in milliseconds.
const MAX_SLEEP: u64 = 60_000;
/// The longest command, in bytes, as written.
const MAX_COMMAND: usize = 200;
/// The maximum number of names of all kinds that a session makes.
const MAX_NAMES: usize = 64;
const MAX_NAME: usize = 31;

/// Reads a session.
pub(super) fn session(origin: &str, text: &str) -> Result<Session, SessionError> {
    let mut reader = Reader::default();
    let error = |line, problem| SessionError { origin: origin.to_owned(), line, problem };
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(line).map_err(|problem| error(number, problem))?;
    }
    if !reader.session.steps.iter().any(|(_, step)| step.answers()) {
        return Err(error(text.lines().count().max(1), Problem::Silent));
    }
    Ok(reader.session)
}

#[derive(Default)]
struct Reader {
    session: Session,
    /// Every name given so far.
    names: Vec<String>,
    /// Per file, true if it was filled.
    filled: Vec<bool>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), Problem> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (directive, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (text, step) = if directive == "write" {
            let command = rest.trim();
            (format!("write {command}"), self.write(command)?)
        } else {
            let text = [&[directive], &words[..]].concat().join(" ");
            let step = self.step(directive, &words, &text)?;
            (text, step)
        };
        self.session.steps.push((text, step));
        Ok(())
    }

    fn step(&mut self, directive: &str, words: &[&str], text: &str) -> Result<Step, Problem> {
        let named = |form: &&str| form.split(' ').next() == Some(directive);
        let Some(form) = FORMS.into_iter().find(named) else {
            let first = |form: &'static str| form.split(' ').next().unwrap_or_default();
            let known = FORMS.into_iter().chain([WRITE]).map(first);
            let unknown = UnknownName::new("directive", directive, known);
            return Err(unknown.listed_by("pageout lab lru-gen --help").into());
        };
        match (directive, words) {
            ("memcg", [name]) => {
                let name = self.name(name)?;
                self.session.memcgs.push(name);
                Ok(Step::Memcg(self.session.memcgs.len() - 1))
            }
            ("process", [name, memcg]) => {
                let memcg = self.memcg(memcg)?;
                let name = self.name(name)?;
                self.session.processes.push(Process { name, memcg });
                Ok(Step::Process(self.session.processes.len() - 1))
            }
            ("file", [name, size, order @ ..]) if order.len() <= 1 => {
                let (pages, order) = folios(size, order.first())?;
                let name = self.name(name)?;
                self.session.files.push(File { name, pages, order });
                self.filled.push(false);
                Ok(Step::File(self.session.files.len() - 1))
            }
            ("fill", [memcg, file]) => self.fill(memcg, file),
            ("read", [memcg, file, range @ ..]) if range.len() <= 1 => {
                let (memcg, file) = (self.memcg(memcg)?, self.filled_file(file)?);
                let pages = pages(range.first(), self.session.files[file].pages)?;
                Ok(Step::Read { memcg, file, pages })
            }
            ("map", [process, name, file, range @ ..]) if range.len() <= 1 => {
                let (process, file) = (self.process(process)?, self.filled_file(file)?);
                let pages = pages(range.first(), self.session.files[file].pages)?;
                let backing = Backing::File { file, first: pages.start };
                self.region(name, process, backing, pages.end - pages.start)
            }
            ("anon", [process, name, size, order @ ..]) if order.len() <= 1 => {
                let process = self.process(process)?;
                let (pages, order) = folios(size, order.first())?;
                self.region(name, process, Backing::Anon { order }, pages)
            }
            ("touch", [region, rest @ ..]) => self.touch(region, rest, text, form),
            ("sleep", [time]) => {
                let ms = within("sleep", time, 1, MAX_SLEEP, "milliseconds")?;
                Ok(Step::Sleep(ms))
            }
            ("show", [memcg]) => Ok(Step::Show { memcg: self.memcg(memcg)?, full: false }),
            ("show", [memcg, "full"]) => Ok(Step::Show { memcg: self.memcg(memcg)?, full: true }),
            _ => Err(Problem::Form { found: text.to_owned(), form }),
        }
    }

    fn fill(&mut self, memcg: &str, file: &str) -> Result<Step, Problem> {
        let (memcg, file) = (self.memcg(memcg)?, self.file(file)?);
        if std::mem::replace(&mut self.filled[file], true) {
            let file = self.session.files[file].name.clone();
            return Err(Problem::Fill { file, state: "is filled already" });
        }
        Ok(Step::Fill { memcg, file })
    }

    fn touch(
        &self,
        region: &str,
        rest: &[&str],
        text: &str,
        form: &'static str,
    ) -> Result<Step, Problem> {
        let (range, write) = match rest {
            [] => (None, false),
            ["write"] => (None, true),
            [range] => (Some(range), false),
            [range, "write"] => (Some(range), true),
            _ => return Err(Problem::Form { found: text.to_owned(), form }),
        };
        let regions = &self.session.regions;
        let region = index("region", region, regions.iter().map(|region| &region.name))?;
        Ok(Step::Touch { region, pages: pages(range, regions[region].pages)?, write })
    }

    fn write(&self, command: &str) -> Result<Step, Problem> {
        if command.is_empty() {
            return Err(Problem::Form { found: "write".to_owned(), form: WRITE });
        }
        if command.len() > MAX_COMMAND {
            return Err(Problem::TooMany { what: "bytes of a command", most: MAX_COMMAND });
        }
        let memcg = |name: &str| self.session.memcgs.iter().position(|memcg| memcg == name);
        let command = Command::parse(command, memcg).map_err(|bad| match bad {
            BadPiece::Escape => Problem::Escape,
            BadPiece::Memcg(found) => unmade("cgroup", &found, self.session.memcgs.iter()),
        })?;
        Ok(Step::Write(command))
    }

    /// Takes a new name, which no other thing has yet.
    fn name(&mut self, name: &str) -> Result<String, Problem> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !begins || !name.chars().all(is_part) || name.len() > MAX_NAME {
            return Err(Problem::Name(name.to_owned()));
        }
        if self.names.iter().any(|taken| taken == name) {
            return Err(Problem::Taken(name.to_owned()));
        }
        if self.names.len() == MAX_NAMES {
            return Err(Problem::TooMany { what: "names in a session", most: MAX_NAMES });
        }
        self.names.push(name.to_owned());
        Ok(name.to_owned())
    }

    fn region(
        &mut self,
        name: &str,
        process: usize,
        backing: Backing,
        pages: u64,
    ) -> Result<Step, Problem> {
        let name = self.name(name)?;
        self.session.regions.push(Region { name, process, backing, pages });
        Ok(Step::Map(self.session.regions.len() - 1))
    }

    fn memcg(&self, name: &str) -> Result<usize, Problem> {
        index("cgroup", name, self.session.memcgs.iter())
    }

    fn process(&self, name: &str) -> Result<usize, Problem> {
        index("process", name, self.session.processes.iter().map(|process| &process.name))
    }

    fn file(&self, name: &str) -> Result<usize, Problem> {
        index("file", name, self.session.files.iter().map(|file| &file.name))
    }

    fn filled_file(&self, name: &str) -> Result<usize, Problem> {
        let file = self.file(name)?;
        if self.filled[file] {
            return Ok(file);
        }
        Err(Problem::Fill { file: name.to_owned(), state: "is not filled" })
    }
}

/// Returns the index of a name among those that lines above made.
fn index<'a>(
    kind: &'static str,
    name: &str,
    mut made: impl Iterator<Item = &'a String> + Clone,
) -> Result<usize, Problem> {
    let all = made.clone();
    made.position(|other| other == name).ok_or_else(|| unmade(kind, name, all))
}

/// Returns the error for a name that no line above made.
fn unmade<'a>(kind: &str, name: &str, made: impl Iterator<Item = &'a String> + Clone) -> Problem {
    let unknown = UnknownName::new(kind, name, made.clone().map(String::as_str));
    match made.count() {
        0 => unknown.accepting("one that a line above makes").into(),
        _ => unknown.into(),
    }
}

/// Reads a size in pages and an order, if it is given. The size is a multiple of the folio's.
fn folios(size: &str, order: Option<&&str>) -> Result<(u64, u8), Problem> {
    let pages = within("size", size, 1, MAX_PAGES, "pages")?;
    let order = match order {
        None => 0,
        Some(word) => {
            let value = word.strip_prefix("order=").and_then(number::<u8>);
            // File systems make no folios of order 1, nor do anonymous faults.
            value.filter(|order| *order != 1 && *order <= MAX_ORDER).ok_or_else(|| {
                let accepted = format!("order=N, with 0 or a number from 2 to {MAX_ORDER}");
                Problem::Value { what: "order", found: (*word).to_owned(), accepted }
            })?
        }
    };
    if pages % (1 << order) != 0 {
        let accepted = format!("a multiple of {}, whole folios of order {order}", 1 << order);
        return Err(Problem::Value { what: "size", found: size.to_owned(), accepted });
    }
    Ok((pages, order))
}

/// Reads the pages `FROM..TO` of `of` pages; without a range, all of them.
fn pages(range: Option<&&str>, of: u64) -> Result<Range<u64>, Problem> {
    let Some(text) = range else { return Ok(0..of) };
    let ends = text.split_once("..");
    let ends = ends.and_then(|(from, to)| Some((number::<u64>(from)?, number::<u64>(to)?)));
    let range = ends.filter(|(from, to)| from < to && *to <= of).map(|(from, to)| from..to);
    range.ok_or_else(|| {
        let accepted = format!("FROM..TO, pages from 0 to {of}");
        Problem::Value { what: "range", found: (*text).to_owned(), accepted }
    })
}

fn within(
    what: &'static str,
    text: &str,
    least: u64,
    most: u64,
    unit: &str,
) -> Result<u64, Problem> {
    let value = number::<u64>(text).filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| {
        let accepted = format!("{least} to {most} {unit}");
        Problem::Value { what, found: text.to_owned(), accepted }
    })
}

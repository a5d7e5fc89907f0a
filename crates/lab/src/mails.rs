//! The patches of a thread of mails, as `b4 am` takes them: in the order of their numbers, of the
//! latest version, without cover letters and replies. Where only some patches were sent anew, as
//! answers to those that they replace, the others are of the version before.
//!
//! `git mailsplit` and `git mailinfo` split and decode the mails that are taken. Headers, and what
//! is a patch, are read here: of a long thread most mails are none.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::iter::successors;
use std::path::{Path, PathBuf};

use pageout_experiment::named;

use mail_parser::{Message, MessageParser, PartType};

use super::cache::CacheError;
use super::git::{GitError, apart};
use super::patch::{Given, Patch};
use super::subject::{Subject, one_line};

/// The maximum number of mails of a file: a file with more is an archive, not a thread.
const MOST_MAILS: usize = 4096;
/// The maximum number of patches of a series.
const MOST_PATCHES: usize = 512;

/// The reason why no patches were taken from a file.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The file cannot be read.
    #[error("cannot read {}", named(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An archive of mails.
    #[error(
        "{}: it has more than {MOST_MAILS} mails: expected one thread, such as https://lore.kernel.org/\
         all/MESSAGE-ID/t.mbox.gz",
        named(.0)
    )]
    Archive(PathBuf),
    /// A file without patches.
    #[error(
        "{}: there is no patch in {}; expected a diff, or mails of `git format-patch`",
        named(path), mails(*found)
    )]
    NoPatch {
        /// The file.
        path: PathBuf,
        /// The number of mails in the file.
        found: usize,
    },
    /// A numbered mail without a diff.
    #[error("{}: mail `{subject}` has no diff", named(path))]
    NoDiff {
        /// The file.
        path: PathBuf,
        /// The subject.
        subject: String,
    },
    /// Missing patches.
    #[error("{}: version {version} of the series lacks {missing} of {of}", named(path))]
    Missing {
        /// The file.
        path: PathBuf,
        /// The version.
        version: u32,
        /// Their numbers: `patches 2, 4 to 6`.
        missing: String,
        /// The number of patches that the series is to have.
        of: u32,
    },
    /// Patches of different series, or different patches in one place.
    #[error(
        "{}: `{first}` and `{second}` do not go together: expected one series in a file",
        named(path)
    )]
    TwoSeries {
        /// The file.
        path: PathBuf,
        /// The subject of one.
        first: String,
        /// The subject of the other.
        second: String,
    },
    /// Too many patches.
    #[error("{}: it has {found} patches: expected at most {MOST_PATCHES}", named(path))]
    TooMany {
        /// The file.
        path: PathBuf,
        /// The number of patches that it has.
        found: usize,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A temporary file could not be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

fn mails(count: usize) -> String {
    match count {
        0 => "it".to_owned(),
        1 => "its mail".to_owned(),
        _ => format!("its {count} mails"),
    }
}

/// The parts of a mail that identify it.
struct Mail {
    raw: Vec<u8>,
    /// The subject as it was sent, with tags.
    line: String,
    subject: Subject,
    has_diff: bool,
    /// The commit that the patch is made for.
    base: Option<String>,
    /// The mail's identifier, and that of the mail which it answers.
    id: Option<String>,
    answers: Option<String>,
}

impl Mail {
    fn new(raw: Vec<u8>) -> Self {
        let message = MessageParser::new().parse(&raw).unwrap_or_default();
        let line = one_line(message.subject().unwrap_or_default());
        let has_diff = texts(&message).any(has_diff);
        let base = texts(&message).flat_map(str::lines).find_map(base_commit).map(str::to_owned);
        let id = message.message_id().map(str::to_owned);
        let answers = message.in_reply_to().as_text().map(str::to_owned);
        Self { subject: Subject::parse(&line), line, has_diff, base, id, answers, raw }
    }

    /// Returns the number in a series.
    fn number(&self) -> Option<u32> {
        self.subject.place.map(|(number, _)| number)
    }
}

/// Returns the text parts of a mail, decoded.
fn texts<'m>(message: &'m Message<'_>) -> impl Iterator<Item = &'m str> {
    message.parts.iter().filter_map(|part| match &part.body {
        PartType::Text(text) => Some(&**text),
        _ => None,
    })
}

/// Returns true if a text has a diff.
pub(super) fn has_diff(text: &str) -> bool {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_old = line.starts_with("--- ");
        if line.starts_with("diff --git ")
            || line.starts_with("Binary files ")
            || is_old && lines.peek().is_some_and(|next| next.starts_with("+++ "))
        {
            return true;
        }
    }
    false
}

/// Returns the commit of a line `base-commit: HASH`.
fn base_commit(line: &str) -> Option<&str> {
    let hash = line.strip_prefix("base-commit: ")?.trim();
    let is_hash = (7..=64).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then_some(hash)
}

/// Returns true if a text has mails: it begins with the line that separates them, or with headers.
pub(super) fn are_mails(text: &[u8]) -> bool {
    let head = text.split(|byte| *byte == b'\n').take_while(|line| !line.trim_ascii().is_empty());
    let is_subject =
        |line: &[u8]| line.get(..8).is_some_and(|name| name.eq_ignore_ascii_case(b"subject:"));
    text.starts_with(b"From ") || head.into_iter().any(is_subject)
}

/// Returns the patches of a file of mails, with notes about the mails taken.
pub(super) fn patches(path: &Path, text: &[u8]) -> Result<Given, MailError> {
    let scratch = tempfile::tempdir().map_err(CacheError::at(path))?;
    let mails = split(path, text, scratch.path())?;
    let taken = series(path, &mails)?;
    let mut patches = Vec::new();
    for (mail, number) in taken.iter().zip(1..) {
        let name = match taken[..] {
            [_] => named(path).to_string(),
            _ => format!("{number} of {}", named(path)),
        };
        let (subject, file) = (mail.subject.title.clone(), Some(path.to_owned()));
        patches.push(Patch { name, subject, diff: decoded(mail, scratch.path())?, file });
    }
    let notes = notes(path, &mails, &taken);
    Ok(Given { patches, notes })
}

/// Splits an mbox into its mails. A text that is not an mbox is one mail.
fn split(path: &Path, text: &[u8], scratch: &Path) -> Result<Vec<Mail>, MailError> {
    let separators = text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"From "));
    if separators.count() > MOST_MAILS {
        return Err(MailError::Archive(path.to_owned()));
    }
    let place = format!("-o{}", scratch.display());
    let count = apart(scratch, &["mailsplit", "-b", "--mboxrd", &place], Some(text))?;
    let count: usize = String::from_utf8_lossy(&count).trim().parse().unwrap_or(0);
    let read = |number: usize| {
        let file = scratch.join(format!("{number:04}"));
        std::fs::read(&file).map(Mail::new).map_err(CacheError::at(&file))
    };
    Ok((1..=count).map(read).collect::<Result<_, _>>()?)
}

/// Returns the patches of the latest version, in their order.
fn series<'m>(path: &Path, mails: &'m [Mail]) -> Result<Vec<&'m Mail>, MailError> {
    let path = || path.to_owned();
    let of_series =
        |mail: &&Mail| !mail.subject.is_reply && (mail.has_diff || mail.subject.place.is_some());
    let all = || mails.iter().filter(of_series);
    let version = all().map(|mail| mail.subject.version).max().unwrap_or(1);
    let latest = || all().filter(|mail| mail.subject.version == version);
    let taken = match latest().find_map(|mail| mail.subject.place) {
        None => latest().collect(),
        Some((_, of)) => in_order(path(), mails, version, of)?,
    };
    match taken.len() {
        0 => Err(MailError::NoPatch { path: path(), found: mails.len() }),
        found if found > MOST_PATCHES => Err(MailError::TooMany { path: path(), found }),
        _ => Ok(taken),
    }
}

/// Returns the `of` patches of a version.
fn in_order(path: PathBuf, mails: &[Mail], version: u32, of: u32) -> Result<Vec<&Mail>, MailError> {
    let mut places = by_number(&path, mails, version)?;
    places.remove(&0);
    if let Some(mail) = places.values().find(|mail| !mail.has_diff) {
        return Err(MailError::NoDiff { path, subject: mail.line.clone() });
    }
    match missing(places.keys().copied(), of) {
        Some(missing) => Err(MailError::Missing { path, version, missing, of }),
        None => Ok(places.into_values().collect()),
    }
}

/// Returns the numbered mails of a version, with those that it has from the version before. Of
/// mails that were sent again the last is taken.
fn by_number<'m>(
    path: &Path,
    mails: &'m [Mail],
    version: u32,
) -> Result<BTreeMap<u32, &'m Mail>, MailError> {
    let of = |mail: &Mail| mail.subject.place.map_or(0, |(_, of)| of);
    let of_version = |mail: &&Mail| !mail.subject.is_reply && mail.subject.version == version;
    let numbered = || mails.iter().filter(of_version).filter(|mail| mail.number().is_some());
    let mut places: BTreeMap<u32, &Mail> = BTreeMap::new();
    let Some(first) = numbered().next() else { return Ok(places) };
    for mail in numbered() {
        let number = mail.number().unwrap_or_default();
        let before = places.insert(number, mail);
        let is_other = |before: &&Mail| number > 0 && before.subject.title != mail.subject.title;
        let other = before.filter(is_other).or((of(mail) != of(first)).then_some(first));
        if let Some(other) = other {
            let (path, first, second) = (path.to_owned(), other.line.clone(), mail.line.clone());
            return Err(MailError::TwoSeries { path, first, second });
        }
    }
    let lacks = missing(places.keys().copied().filter(|number| *number > 0), of(first)).is_some();
    if lacks && version > 1 && replace_those_before(&places, mails) {
        let before = by_number(path, mails, version - 1)?;
        for (number, mail) in before.into_iter().filter(|(_, mail)| of(mail) == of(first)) {
            places.entry(number).or_insert(mail);
        }
    }
    Ok(places)
}

/// Returns true if each mail answers one of the same number, directly or through other mails: the
/// rule of `b4 am` for a version of which only some patches were sent.
fn replace_those_before(places: &BTreeMap<u32, &Mail>, mails: &[Mail]) -> bool {
    let by_id: HashMap<&str, &Mail> =
        mails.iter().filter_map(|mail| Some((mail.id.as_deref()?, mail))).collect();
    let answered = |mail: &&Mail| by_id.get(mail.answers.as_deref()?).copied();
    places.values().all(|mail| {
        // A circle ends, too.
        let above = successors(answered(mail), answered).take(mails.len());
        above.into_iter().any(|above| above.subject.place == mail.subject.place)
    })
}

/// Returns the numbers from 1 to `of` that are not among those found: `patches 2, 4 to 6`.
fn missing(found: impl Iterator<Item = u32>, of: u32) -> Option<String> {
    let mut gaps = Vec::new();
    let (mut next, mut lacking) = (1, 0);
    for number in found.map(u64::from).chain([u64::from(of) + 1]) {
        match number - next {
            0 => {}
            1 => gaps.push(next.to_string()),
            _ => gaps.push(format!("{next} to {}", number - 1)),
        }
        lacking += number - next;
        next = number + 1;
    }
    let noun = if lacking == 1 { "patch" } else { "patches" };
    (lacking > 0).then(|| format!("{noun} {}", gaps.join(", ")))
}

/// Returns a mail's patch, decoded by git.
fn decoded(mail: &Mail, scratch: &Path) -> Result<Vec<u8>, MailError> {
    let options = ["mailinfo", "-k", "--encoding=UTF-8", "--no-scissors", "--quoted-cr=strip"];
    apart(scratch, &[&options[..], &["message", "patch"]].concat(), Some(&mail.raw))?;
    let file = scratch.join("patch");
    Ok(std::fs::read(&file).map_err(CacheError::at(&file))?)
}

/// Returns lines that name the mails taken, if there was a choice, and the commit that the patches
/// are made for.
fn notes(path: &Path, mails: &[Mail], taken: &[&Mail]) -> Vec<String> {
    let path = named(path);
    let version = taken.iter().map(|mail| mail.subject.version).max().unwrap_or(1);
    let others = mails.len() - taken.len();
    let mut notes = Vec::new();
    if others > 0 {
        let patches = if taken.len() == 1 { "patch" } else { "patches" };
        let mails = if others == 1 { "mail" } else { "mails" };
        let count = taken.len();
        notes.push(format!(
            "{path}: takes {count} {patches}, version {version}{}, and passes over {others} other \
             {mails}",
            of_earlier(version, taken)
        ));
    }
    let of_version =
        mails.iter().filter(|mail| !mail.subject.is_reply && mail.subject.version == version);
    if let Some(base) = of_version.filter_map(|mail| mail.base.as_ref()).next() {
        let short = &base[..base.len().min(12)];
        notes.push(format!("{path}: made for commit {short}, its base-commit"));
    }
    notes
}

/// Returns the patches that are of versions before the latest: ` with patches 1, 3 of version 2`.
fn of_earlier(latest: u32, taken: &[&Mail]) -> String {
    let versions: BTreeSet<u32> = taken.iter().map(|mail| mail.subject.version).collect();
    let earlier = versions.into_iter().rev().filter(|version| *version != latest);
    let told = earlier.filter_map(|version| {
        let others = taken.iter().filter(|mail| mail.subject.version != version);
        let numbers = missing(others.filter_map(|mail| mail.number()), taken.len() as u32)?;
        Some(format!(" with {numbers} of version {version}"))
    });
    told.collect::<Vec<_>>().join(" and")
}

#[cfg(test)]
mod tests;

//! The user's patches: diffs, mails, and threads of mails.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use mail_parser::MessageParser;
use pageout_experiment::input::{self, MAX_PATCH};
use pageout_experiment::named;

use super::mails::{self, MailError};
use super::subject::Subject;

/// A patch to the kernel's source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The file, or the place in a file of mails, for messages.
    pub name: String,
    /// The subject without its tags, or the name if there is no subject.
    pub subject: String,
    /// The diff; other text may stand around it.
    pub diff: Vec<u8>,
    /// The file that the user gave it in; the lab's own have none.
    pub file: Option<PathBuf>,
}

/// Patches of the user's that make one kernel, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatchSet {
    /// The kernel's name.
    pub name: String,
    /// The patches.
    pub patches: Vec<Patch>,
    /// Lines that say which mails of those files were taken.
    pub notes: Vec<String>,
}

impl PatchSet {
    /// Returns a set without patches.
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), patches: Vec::new(), notes: Vec::new() }
    }
}

/// Patches of one file.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) patches: Vec<Patch>,
    /// Lines that say which mails were taken.
    pub(super) notes: Vec<String>,
}

impl Patch {
    /// Makes a patch of the lab's own, from the output of `git format-patch`.
    pub(super) fn shipped(name: &str, text: &str) -> Self {
        let mail = MessageParser::new().parse_headers(text);
        let subject = mail.as_ref().and_then(|mail| mail.subject()).unwrap_or(name);
        let (name, subject) = (name.to_owned(), Subject::parse(subject).title);
        Self { name, subject, diff: text.into(), file: None }
    }

    /// Names the patch of a series by its number and its subject.
    pub(super) fn numbered(self, number: usize) -> Self {
        Self { name: format!("{number} (`{}`)", self.subject), file: None, ..self }
    }
}

/// Reads the patches of a file: a diff, or mails, which may be compressed by gzip.
pub(super) fn read(path: &Path) -> Result<Given, MailError> {
    let failed = |source| MailError::Read { path: path.to_owned(), source };
    let bytes = input::read(path, MAX_PATCH).and_then(unpacked).map_err(failed)?;
    if mails::are_mails(&bytes) {
        return mails::patches(path, &bytes);
    }
    if !mails::has_diff(&String::from_utf8_lossy(&bytes)) {
        return Err(MailError::NoPatch { path: path.to_owned(), found: 0 });
    }
    let name = named(path);
    let (subject, file) = (name.clone(), Some(path.to_owned()));
    let patch = Patch { name, subject, diff: without_carriage_returns(bytes), file };
    Ok(Given { patches: vec![patch], notes: Vec::new() })
}

fn unpacked(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(&*bytes).take(MAX_PATCH + 1).read_to_end(&mut unpacked)?;
    match unpacked.len() as u64 > MAX_PATCH {
        true => Err(io::Error::other("it unpacks to more than 64 MiB, the most that is read")),
        false => Ok(unpacked),
    }
}

/// Converts the line ends of a text to those of Unix, if all are of another system.
fn without_carriage_returns(text: Vec<u8>) -> Vec<u8> {
    let count = |of: &[u8]| text.windows(of.len()).filter(|found| *found == of).count();
    let ends = count(b"\r\n");
    if ends == 0 || ends != count(b"\n") {
        return text;
    }
    let mut lines = text.split(|byte| *byte == b'\n');
    let strip = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
    lines.by_ref().map(strip).collect::<Vec<_>>().join(&b'\n')
}

//! The lines of a log, of any length.

use std::io::{self, BufRead, Read};

/// The longest line, in bytes; the rest is cut. No reference is longer, and no path in a system
/// call.
const MAX_LINE: u64 = 16 << 10;
/// The maximum number of bytes that are skipped. A longer line is no line of a log: the arguments
/// of a command take 6 MiB at most.
const MAX_SKIPPED: u64 = 16 << 20;

/// A reader of lines, which has one buffer for all of them.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    is_whole: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, line: Vec::new(), number: 0, is_whole: true }
    }

    /// Returns the next line without its end; bytes beyond the limit are dropped.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        Ok(self.advance()?.then_some(&*self.line))
    }

    /// Goes to the next line; returns true if there is one.
    pub(crate) fn advance(&mut self) -> io::Result<bool> {
        self.line.clear();
        let read = self.input.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        let has_end = self.line.pop_if(|byte| *byte == b'\n').is_some();
        self.is_whole = has_end || read as u64 == MAX_LINE;
        if !has_end && self.is_whole {
            let skipped = self.input.by_ref().take(MAX_SKIPPED).skip_until(b'\n')?;
            if skipped as u64 == MAX_SKIPPED {
                return Err(io::Error::other("a line has more than 16 MiB"));
            }
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(true)
    }

    /// Returns the current line without its end; bytes beyond the limit are dropped.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Returns true if the current line has an end. A line beyond the limit counts as having one.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the number of the current line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

/// Returns the first characters of a line, printable, for an error message.
pub(crate) fn shown(line: &[u8]) -> String {
    const SHOWN: usize = 60;
    let start = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
    let more = if line.len() > SHOWN { "…" } else { "" };
    format!("{}{more}", start.escape_debug())
}

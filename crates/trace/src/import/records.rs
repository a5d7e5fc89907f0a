//! Binary records of one size, one after the other.

use std::io::{ErrorKind, Read};

use super::error::ImportError;
use super::format::Format;

/// The message if the last record is incomplete.
const CUT_OFF: &str = "the input ends within a record";

/// A reader of records of `N` bytes.
pub(super) struct Records<R, const N: usize> {
    input: R,
    format: Format,
    /// Records read so far.
    read: u64,
}

impl<R: Read, const N: usize> Records<R, N> {
    pub(super) fn new(input: R, format: Format) -> Self {
        Self { input, format, read: 0 }
    }

    /// Returns the byte at which the next record begins.
    pub(super) fn at(&self) -> u64 {
        self.read * N as u64
    }

    /// Returns the next record; `None` at the end of the input.
    pub(super) fn next(&mut self) -> Result<Option<[u8; N]>, ImportError> {
        let mut record = [0; N];
        let mut filled = 0;
        while filled < N {
            match self.input.read(&mut record[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(cut_off(self.at(), self.format)),
                Ok(more) => filled += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(ImportError::Read { unit: "byte", at: self.at(), source });
                }
            }
        }
        self.read += 1;
        Ok(Some(record))
    }
}

/// Checks that an input of `length` bytes ends with a whole record of `size` bytes.
pub(super) fn check_end(length: u64, size: usize, format: Format) -> Result<(), ImportError> {
    match length % size as u64 {
        0 => Ok(()),
        over => Err(cut_off(length - over, format)),
    }
}

fn cut_off(at: u64, format: Format) -> ImportError {
    ImportError::Record { at, what: CUT_OFF, format }
}

//! A trace of oracleGeneral's records.

use super::RECORD;
use crate::epochs::Epochs;
use crate::error::WriteError;
use crate::event::Page;
use crate::filter::FilterShape;
use crate::header::{Ending, Header, Totals};
use crate::output::OutputFile;
use crate::write::TraceWriter;
use crate::{PAGE_SHIFT, PROGRESS_REFERENCES};
use std::collections::HashMap;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

/// Bytes of memory that an object takes, about: its page here, and the writer's place of that.
const BYTES_AN_OBJECT: u64 = 96;

/// No trace of more accesses has a reference string.
const MOST_RECORDS: u64 = u32::MAX as u64 - 1;

/// How to import records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OracleOptions {
    /// The epoch length, in records.
    pub epoch_references: u64,
    /// Bytes of the input, where that is known.
    pub length: Option<u64>,
    /// Bytes of memory that are there for its objects, where that is known.
    pub available: Option<u64>,
}

/// Why records cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// The last record is not whole.
    #[error(
        "byte {at}: the input ends within a record; oracleGeneral has {RECORD} bytes a record, \
         uncompressed"
    )]
    Truncated {
        /// Where the record begins.
        at: u64,
    },
    /// There is no record.
    #[error("the input is empty; oracleGeneral has {RECORD} bytes a record, uncompressed")]
    Empty,
    /// A record that asks for its object at no later time.
    #[error(
        "byte {at}: the record says that its object is asked for next by record {next}; accepted \
         is a later one, or -1"
    )]
    Next {
        /// Where the record begins.
        at: u64,
        /// What it says.
        next: i64,
    },
    /// More records than a reference string can have.
    #[error("the input has more than {MOST_RECORDS} records")]
    TooLong,
    /// More objects than memory is there for.
    #[error("the input has more than {most} objects, for which memory is available")]
    TooManyObjects {
        /// Those that fit.
        most: u64,
    },
    /// The input cannot be read.
    #[error("reading failed after byte {at}")]
    Read {
        /// How much was read.
        at: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The trace cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Writes the records of `input` as a trace at `output`. Each is a reference, a load, of the page
/// that stands for its object: objects become pages in the order of their first records, whatever
/// their sizes. Nothing is left out, and times are not kept. `progress` is called now and then with
/// the records so far.
///
/// # Errors
/// [`OracleError`]; nothing is at `output` then but what was there before.
pub fn import(
    input: impl Read,
    output: &Path,
    options: &OracleOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Totals, OracleError> {
    check_length(options.length)?;
    let header = Header {
        page_shift: PAGE_SHIFT,
        epoch_references: options.epoch_references,
        filter: FilterShape::EVERY_PAGE,
        mappings: false,
        sampled: false,
        command: Vec::new(),
        architecture: "unknown".to_owned(),
        tool: concat!("pageout ", env!("CARGO_PKG_VERSION"), ", from oracleGeneral").to_owned(),
    };
    let mut records = Records { input: BufReader::new(input), read: 0 };
    let mut epochs = Epochs::<OutputFile>::new(TraceWriter::create(output, &header)?, &header);
    let most = options.available.map_or(u64::MAX, |bytes| bytes / BYTES_AN_OBJECT);
    let mut pages = HashMap::new();
    while let Some(object) = records.next()? {
        let next = pages.len() as u64;
        let page = *pages.entry(object).or_insert(next);
        if page == most {
            return Err(OracleError::TooManyObjects { most });
        }
        epochs.access(Page::new(page).expect("there are fewer records than pages"), false)?;
        epochs.count(1)?;
        if epochs.references().is_multiple_of(PROGRESS_REFERENCES) {
            progress(epochs.references());
        }
    }
    if records.read == 0 {
        return Err(OracleError::Empty);
    }
    progress(epochs.references());
    Ok(epochs.into_writer()?.commit(Ending::Unknown)?)
}

/// Refuses what can be told by its length alone, before anything is read.
fn check_length(length: Option<u64>) -> Result<(), OracleError> {
    let Some(length) = length else { return Ok(()) };
    let rest = length % RECORD as u64;
    if rest != 0 {
        return Err(OracleError::Truncated { at: length - rest });
    }
    if length / RECORD as u64 > MOST_RECORDS { Err(OracleError::TooLong) } else { Ok(()) }
}

/// Records, one after the other.
struct Records<R> {
    input: R,
    /// How many were read.
    read: u64,
}

impl<R: Read> Records<R> {
    /// The object of the next record.
    fn next(&mut self) -> Result<Option<u64>, OracleError> {
        let at = self.read * RECORD as u64;
        let mut record = [0; RECORD];
        let mut filled = 0;
        while filled < RECORD {
            match self.input.read(&mut record[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(OracleError::Truncated { at }),
                Ok(more) => filled += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(OracleError::Read { at, source }),
            }
        }
        if self.read == MOST_RECORDS {
            return Err(OracleError::TooLong);
        }
        let number = |at: usize| record[at..].first_chunk().expect("a number is within a record");
        let object = u64::from_le_bytes(*number(4));
        let next = i64::from_le_bytes(*number(16));
        if next != -1 && next <= self.read as i64 {
            return Err(OracleError::Next { at, next });
        }
        self.read += 1;
        Ok(Some(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoded::Decoded;
    use crate::oracle_general::export;
    use crate::reference_string::StringError;
    use crate::source::TraceSource;
    use proptest::prelude::*;
    use std::fs;

    const OPTIONS: OracleOptions =
        OracleOptions { epoch_references: 100, length: None, available: None };

    fn record(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
        let parts = [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes()];
        [&parts.concat()[..], &next.to_le_bytes()].concat()
    }

    /// What the input makes, read again.
    fn imported(input: &[u8], options: &OracleOptions) -> Result<Decoded, OracleError> {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.pgt");
        let done = import(input, &path, options, &mut |_| {});
        assert_eq!(path.exists(), done.is_ok(), "there is a file where there is a trace");
        done?;
        let source = TraceSource::read(&path).expect("a trace");
        let decoded = Decoded::of_trace::<StringError>(&source, None, |_, _| Ok(()));
        Ok(decoded.expect("a trace"))
    }

    #[test]
    fn objects_are_pages_in_the_order_of_their_first_records() {
        let input = [
            record(7, u64::MAX, 1, 2),
            record(7, 0, 1 << 20, -1),
            record(9, u64::MAX, 0, 3),
            record(9, u64::MAX, 1, i64::MAX),
            record(u32::MAX, 5, 1, -1),
        ];
        let decoded = imported(&input.concat(), &OPTIONS).expect("records");
        assert_eq!(decoded.string().pages(), [0, 1, 0, 0, 2]);
    }

    #[test]
    fn what_is_no_trace_is_refused_where_it_is_wrong() {
        let good = record(0, 1, 1, -1);
        let refused = |input: &[u8], options: &OracleOptions| {
            imported(input, options).expect_err("it is refused").to_string()
        };
        for (input, part) in [
            (Vec::new(), "empty"),
            (good[..23].to_vec(), "byte 0: the input ends"),
            ([&good[..], &[0]].concat(), "byte 24: the input ends"),
            (record(0, 1, 1, 0), "record 0; accepted"),
            ([&good[..], &record(0, 1, 1, 1)].concat(), "byte 24: the record says"),
            (record(0, 1, 1, -2), "record -2; accepted"),
        ] {
            let message = refused(&input, &OPTIONS);
            assert!(message.contains(part), "no `{part}` in {message}");
        }
        for (length, part) in [(25, "byte 24"), (24 << 32, "more than"), (1 << 60, "ends within")] {
            let message = refused(&good, &OracleOptions { length: Some(length), ..OPTIONS });
            assert!(message.contains(part), "no `{part}` in {message}");
        }
        let two = [good, record(0, 2, 1, -1)].concat();
        let little = OracleOptions { available: Some(BYTES_AN_OBJECT), ..OPTIONS };
        assert!(refused(&two, &little).contains("more than 1 objects"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_round_trip_keeps_the_order(objects in prop::collection::vec(0..20_u64, 1..400)) {
            let input: Vec<u8> = objects.iter().flat_map(|one| record(0, *one, 1, -1)).collect();
            let once = imported(&input, &OPTIONS).expect("records");
            let directory = tempfile::tempdir().expect("a directory");
            let path = directory.path().join("a.oracleGeneral");
            export(&once, &path).expect("it is written");
            let exported = fs::read(&path).expect("a file");
            prop_assert_eq!(exported.len(), input.len());
            let again = imported(&exported, &OPTIONS).expect("records");
            prop_assert_eq!(once.string(), again.string());
            let same = |k: usize, l: usize| once.string().pages()[k] == once.string().pages()[l];
            for k in 1..objects.len() {
                prop_assert_eq!(same(k - 1, k), objects[k - 1] == objects[k]);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(input in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = imported(&input, &OPTIONS);
        }
    }
}

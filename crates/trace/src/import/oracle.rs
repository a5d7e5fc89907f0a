//! `oracleGeneral`: a cache's trace as libCacheSim has it ([`oracle_general`]).
//!
//! Each record is a reference, a load, to the page that stands for its object: objects become pages
//! in the order of their first records, whatever their sizes. No record is dropped, and times are
//! not kept. A record's next use is compared with the next record of its object. This shows the
//! base from which records are counted, and rejects files of other formats.
//!
//! [`oracle_general`]: crate::oracle_general

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Read;

use super::error::{ImportError, MAX_RECORDS, NextUse};
use super::options::Imported;
use super::records::Records;
use super::sink::Sink;
use crate::event::Page;
use crate::oracle_general::RECORD;

pub(super) fn import(
    input: impl Read,
    mut sink: Sink<'_>,
    available: Option<u64>,
) -> Result<Imported, ImportError> {
    let mut records = Records::<_, RECORD>::new(input, sink.format());
    let mut uses = Uses::new(available);
    while let Some(record) = records.next()? {
        let page = uses.take(&record)?;
        sink.reference([Some(page), None], false)?;
    }
    uses.finish()?;
    sink.finish()
}

/// Returns an error for an input of `length` bytes with too many records.
pub(super) fn check_length(length: u64) -> Result<(), ImportError> {
    if length / RECORD as u64 > MAX_RECORDS { Err(ImportError::TooManyRecords) } else { Ok(()) }
}

/// Returns true if the next uses in an input's first bytes agree, or agree so nearly that the
/// import can name the fault.
pub(super) fn seems(start: &[u8]) -> bool {
    let (records, _) = start.as_chunks::<RECORD>();
    let mut uses = Uses::new(None);
    let fault = records.iter().find_map(|record| uses.take(record).err());
    match fault {
        None => !records.is_empty(),
        Some(ImportError::NextUse { fault, .. }) => !matches!(fault, NextUse::Impossible { .. }),
        Some(_) => false,
    }
}

/// Approximate bytes of memory for an object: its entry here, while the table grows.
const BYTES_AN_OBJECT: u64 = 64;

/// The value for no next use.
const NEVER: u32 = u32::MAX;

/// The last record of an object.
#[derive(Debug, Clone, Copy)]
struct Last {
    page: u32,
    record: u32,
    /// The next use that the record states, or [`NEVER`].
    next: u32,
}

/// The meanings of next uses that agree with all records so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meanings {
    from_0: bool,
    from_1: bool,
    distance: bool,
}

/// The next use of each object, to compare with the records that follow.
struct Uses {
    objects: HashMap<u64, Last>,
    records: u32,
    meanings: Meanings,
    /// The maximum number of objects that fit the available memory.
    most: u64,
}

impl Uses {
    fn new(available: Option<u64>) -> Self {
        Self {
            objects: HashMap::new(),
            records: 0,
            meanings: Meanings { from_0: true, from_1: true, distance: true },
            most: available.map_or(u64::MAX, |bytes| bytes / BYTES_AN_OBJECT),
        }
    }

    /// Adds a record, and returns the page that stands for its object.
    fn take(&mut self, record: &[u8; RECORD]) -> Result<Page, ImportError> {
        if u64::from(self.records) == MAX_RECORDS {
            return Err(ImportError::TooManyRecords);
        }
        let number = |at: usize| *record[at..].first_chunk().expect("a record has its numbers");
        let object = u64::from_le_bytes(number(4));
        let next = self.next_use(i64::from_le_bytes(number(16)))?;
        let (record, objects) = (self.records, self.objects.len());
        self.records += 1;
        let page = match self.objects.entry(object) {
            Entry::Occupied(mut entry) => {
                let last = *entry.get();
                entry.insert(Last { page: last.page, record, next });
                self.meanings = narrowed(self.meanings, last, record)?;
                last.page
            }
            Entry::Vacant(_) if objects as u64 == self.most => {
                return Err(ImportError::TooManyPages { most: self.most });
            }
            Entry::Vacant(entry) => {
                // Fewer than 2^32, as records are.
                let page = objects as u32;
                entry.insert(Last { page, record, next });
                page
            }
        };
        Ok(Page::new(page.into()).expect("there are fewer objects than pages"))
    }

    /// Parses a next use; an error if it is beyond the most records that there may be.
    fn next_use(&self, next: i64) -> Result<u32, ImportError> {
        if matches!(next, -1 | i64::MAX) {
            return Ok(NEVER);
        }
        let number = u32::try_from(next).ok().filter(|number| (1..NEVER).contains(number));
        let record = self.records.into();
        number.ok_or(ImportError::NextUse { record, fault: NextUse::Impossible { next } })
    }

    /// Checks that each next use was met.
    fn finish(&self) -> Result<(), ImportError> {
        let unmet = self.objects.values().filter(|last| last.next != NEVER);
        let Some(Last { record, next, .. }) = unmet.min_by_key(|last| last.record) else {
            return Ok(());
        };
        let fault = NextUse::Missing { next: *next, records: self.records.into() };
        Err(ImportError::NextUse { record: (*record).into(), fault })
    }
}

/// Returns the meanings that remain after record `asks` accesses an object with this last record.
fn narrowed(before: Meanings, last: Last, asks: u32) -> Result<Meanings, ImportError> {
    let Last { record, next, .. } = last;
    let refused = |fault| ImportError::NextUse { record: record.into(), fault };
    if next == NEVER {
        return Err(refused(NextUse::Again { asks }));
    }
    let Meanings { from_0, from_1, distance } = before;
    let after = Meanings {
        from_0: from_0 && next == asks,
        from_1: from_1 && next == asks + 1,
        distance: distance && next == asks - record,
    };
    if after.from_0 || after.from_1 {
        return Ok(after);
    }
    // Counted from the start of a later part of the input, it is too small.
    let start = (asks + u32::from(from_1 && !from_0)).checked_sub(next);
    Err(refused(match start {
        _ if after.distance => NextUse::Distance { next, asks },
        Some(start) if (1..=record).contains(&start) => NextUse::Concatenated { next, start },
        _ => NextUse::Other { next, asks },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(object: u64, next: i64) -> [u8; RECORD] {
        let parts = [&7_u32.to_le_bytes()[..], &object.to_le_bytes(), &4096_u32.to_le_bytes()];
        let bytes = [&parts.concat()[..], &next.to_le_bytes()].concat();
        bytes.try_into().expect("a record's bytes")
    }

    /// Returns the pages of these records, or the first fault.
    fn taken(records: &[(u64, i64)]) -> Result<Vec<u64>, String> {
        let mut uses = Uses::new(None);
        let pages: Result<_, _> =
            records.iter().map(|(object, next)| uses.take(&record(*object, *next))).collect();
        let pages: Vec<Page> = pages.map_err(|error: ImportError| error.to_string())?;
        uses.finish().map_err(|error| error.to_string())?;
        Ok(pages.iter().map(|page| page.number()).collect())
    }

    #[test]
    fn next_uses_are_taken_from_either_base() {
        let from_0 = [(u64::MAX, 2), (0, 5), (u64::MAX, 3), (u64::MAX, i64::MAX), (5, -1), (0, -1)];
        let from_1 = from_0.map(|(object, next)| {
            (object, if matches!(next, -1 | i64::MAX) { next } else { next + 1 })
        });
        for records in [from_0, from_1] {
            assert_eq!(taken(&records), Ok(vec![0, 1, 0, 0, 2, 1]), "{records:?}");
        }
        assert_eq!(taken(&[(3, -1), (4, -1)]), Ok(vec![0, 1]));
    }

    #[test]
    fn what_is_no_cache_s_trace_is_refused_with_its_cause() {
        for (records, cause) in [
            // Both bases in one file.
            (&[(1, 1), (1, 3), (1, -1)][..], "record 1: its next use is 3, and record 2 asks"),
            (&[(1, 2), (2, 1), (1, -1), (2, -1)], "record 1: its next use is 1, and record 3"),
            (&[(1, 2), (2, 4), (1, 2), (3, -1), (1, -1), (2, -1)], "is the distance to record 4"),
            (&[(2, -1), (1, 1), (1, -1)], "record 1: its next use 1 is the distance to record 2"),
            (&[(1, 1), (1, -1), (1, 1), (1, -1)], "its object is not asked for again, it says"),
            (&[(1, 2), (9, -1), (1, -1), (2, 2), (7, -1), (2, -1)], "the distance to record 5"),
            (
                &[(1, 1), (1, -1), (3, -1), (2, 2), (2, 3), (2, -1)],
                "record 3: its next use 2 is counted from record 2, where another trace begins",
            ),
            (&[(1, 9), (2, -1)], "record 0: its next use is 9, and no record asks for its object"),
            (&[(1, 0)], "record 0: its next use is 0, and no record has that number"),
            (&[(1, -2)], "its next use is -2, and no record has that number"),
            (&[(1, 1 << 32)], "its next use is 4294967296"),
        ] {
            let error = taken(records).expect_err(cause);
            assert!(error.contains(cause), "{records:?}: {error}");
        }
    }

    #[test]
    fn a_beginning_of_records_is_recognized() {
        let bytes = |records: &[(u64, i64)]| {
            records.iter().flat_map(|(object, next)| record(*object, *next)).collect::<Vec<u8>>()
        };
        assert!(seems(&bytes(&[(1, 2), (2, 90), (1, 77)])));
        assert!(seems(&bytes(&[(1, 2), (2, 4), (1, 2), (3, -1), (1, -1)])), "distances");
        assert!(!seems(&bytes(&[(1, 2), (2, 0), (1, -1)])));
        assert!(!seems(b"1,2,3\n4,5,6\n7,8,9\n1,2,3\n"));
        assert!(!seems(&[]));
    }
}

//! DAMON's records, in any of three forms, each with a file that cites it: the kernel's tracepoint
//! as `perf script` or `trace-cmd report` print it ([`traced`]), the text of damo ([`text`]), and
//! the JSON of damo ([`json`]).
//!
//! DAMON checks one page of a region in each sampling interval and assumes that the others are used
//! alike. The import assumes the same: each snapshot is an epoch, in which every page of a region
//! that was found accessed is loaded once. The epoch length is the largest number of pages in a
//! snapshot.

mod json;
mod snapshots;
mod text;
mod traced;

use std::io::BufRead;

use super::error::ImportError;
use super::options::Imported;
use super::sink::Sink;
use snapshots::Snapshots;

pub(super) use text::is_region;

/// Imports text or JSON, which begins with a bracket.
pub(super) fn import(mut input: impl BufRead, mut sink: Sink<'_>) -> Result<Imported, ImportError> {
    let start = input.fill_buf();
    let start = start.map_err(|source| ImportError::Read { unit: "byte", at: 0, source })?;
    let mut snapshots = Snapshots::default();
    if is_json(start) {
        json::read(input, &mut snapshots, &mut sink)?;
    } else {
        text::read(input, &mut snapshots, &mut sink)?;
    }
    snapshots.write(&mut sink)?;
    sink.finish()
}

/// Returns true if an input with this beginning is JSON.
pub(super) fn is_json(start: &[u8]) -> bool {
    matches!(super::text::unmarked(start).trim_ascii_start().first(), Some(b'['))
}

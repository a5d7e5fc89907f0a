//! ChampSim's traces: a record for each instruction, without anything before or after them.
//!
//! A record is, in little-endian order: the instruction's address (`u64`), two flags, 0 or 1, for a
//! branch and a taken branch (bytes), registers (bytes), the addresses stored to and those loaded
//! from (`u64`, 0 for none). The usual one (`input_instr` of `inc/trace_instruction.h` in
//! ChampSim's repository) has two stores and four loads in 64 bytes without gaps. CloudSuite's
//! (`cloudsuite_instr`, read by ChampSim with `-c`) has four of each, aligned to 8 bytes, and an
//! address-space number at its end: 96 bytes. Sizes of accesses are not there: each access is taken
//! to be of the page of its first byte. An instruction is fetched, then loads, then stores.

use std::io::Read;
use std::ops::Range;

use super::access::Access;
use super::error::ImportError;
use super::options::Imported;
use super::records::Records;
use super::sink::Sink;
use crate::reference::Reference;

/// Bytes of a record, and of CloudSuite's.
pub(super) const RECORD: usize = 64;
pub(super) const CLOUDSUITE_RECORD: usize = 96;

/// The bytes of a record that are its addresses.
struct Layout {
    stores: Range<usize>,
    loads: Range<usize>,
}

const LAYOUT: Layout = Layout { stores: 16..32, loads: 32..64 };
const CLOUDSUITE_LAYOUT: Layout = Layout { stores: 24..56, loads: 56..88 };

/// Imports the usual records.
pub(super) fn import(input: impl Read, sink: Sink<'_>) -> Result<Imported, ImportError> {
    import_records::<_, RECORD>(input, sink, &LAYOUT)
}

/// Imports CloudSuite's records.
pub(super) fn import_cloudsuite(input: impl Read, sink: Sink<'_>) -> Result<Imported, ImportError> {
    import_records::<_, CLOUDSUITE_RECORD>(input, sink, &CLOUDSUITE_LAYOUT)
}

/// Returns true if an input seems to be instructions of the usual size, by its first bytes, which
/// are all of it if they are fewer than `most`.
pub(super) fn seems(start: &[u8], most: usize) -> bool {
    seem(start, most, RECORD, &LAYOUT)
}

/// Returns true if an input seems to be instructions of CloudSuite's size.
pub(super) fn seems_cloudsuite(start: &[u8], most: usize) -> bool {
    seem(start, most, CLOUDSUITE_RECORD, &CLOUDSUITE_LAYOUT)
}

fn seem(start: &[u8], most: usize, size: usize, layout: &Layout) -> bool {
    let is_whole = start.len() == most || start.len().is_multiple_of(size);
    let is_likely = |record: &[u8]| {
        let places = layout.stores.start..layout.loads.end;
        // Programs map nothing in the first page.
        let mut addresses = record[places].chunks_exact(8).map(number);
        is_instruction(record) && addresses.all(|address| address == 0 || address >= 4096)
    };
    start.len() >= size && is_whole && start.chunks_exact(size).all(is_likely)
}

fn import_records<R: Read, const N: usize>(
    input: R,
    mut sink: Sink<'_>,
    layout: &Layout,
) -> Result<Imported, ImportError> {
    let mut records = Records::<R, N>::new(input, sink.format());
    let mut at = 0;
    while let Some(record) = records.next()? {
        if !is_instruction(&record) {
            let what = "found no instruction";
            return Err(ImportError::Record { at, what, format: sink.format() });
        }
        sink.access(Access::Reference(Reference::at(number(&record), false)))?;
        for (places, store) in [(&layout.loads, false), (&layout.stores, true)] {
            let addresses = record[places.clone()].chunks_exact(8).map(number);
            for address in addresses.filter(|address| *address != 0) {
                sink.access(Access::Reference(Reference::at(address, store)))?;
            }
        }
        at = records.at();
    }
    sink.finish()
}

/// Returns true if a record begins as one of an instruction does.
fn is_instruction(record: &[u8]) -> bool {
    number(record) != 0 && record[8] <= 1 && record[9] <= 1
}

/// Returns the number at the beginning of some bytes.
fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("a record has its addresses"))
}

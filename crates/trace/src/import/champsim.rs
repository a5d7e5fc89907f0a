//! ChampSim's traces, decompressed: a record of 64 bytes for each instruction, without anything
//! before or after them.
//!
//! A record is, in little-endian order and without gaps: the instruction's address (`u64`), whether
//! it is a branch and whether that is taken (bytes, 0 or 1), two registers written and four read
//! (bytes), two addresses stored to and four loaded from (`u64`, 0 where there is none)
//! (`inc/trace_instruction.h`, `input_instr`, in ChampSim's repository). Sizes of accesses are not
//! there: each is taken to be of the page of its first byte. An instruction is fetched, then loads,
//! then stores.

use std::io::{ErrorKind, Read};

use super::error::ImportError;
use super::format::Format;
use super::sink::Sink;
use crate::header::Totals;
use crate::reference::Reference;

/// Bytes a record.
const RECORD: usize = 64;
/// Where its addresses begin: stored to, loaded from.
const STORES: [usize; 2] = [16, 24];
const LOADS: [usize; 4] = [32, 40, 48, 56];

const CUT_OFF: &str = "the input ends within a record";

pub(super) fn import(input: &mut impl Read, mut sink: Sink<'_>) -> Result<Totals, ImportError> {
    let mut at = 0;
    while let Some(record) = next(input, at)? {
        let address = |from: usize| {
            u64::from_le_bytes(*record[from..].first_chunk().expect("it is within a record"))
        };
        let is_flag = |byte: u8| byte <= 1;
        if address(0) == 0 || !is_flag(record[8]) || !is_flag(record[9]) {
            return Err(wrong(at, "found no instruction"));
        }
        sink.reference(Reference::at(address(0), false))?;
        for (places, store) in [(&LOADS[..], false), (&STORES, true)] {
            for address in places.iter().map(|from| address(*from)).filter(|found| *found != 0) {
                sink.reference(Reference::at(address, store))?;
            }
        }
        at += RECORD as u64;
    }
    sink.finish()
}

/// Looks at the end of an input of `length` bytes.
pub(super) fn check_end(length: u64) -> Result<(), ImportError> {
    match length % RECORD as u64 {
        0 => Ok(()),
        over => Err(wrong(length - over, CUT_OFF)),
    }
}

fn wrong(at: u64, what: &'static str) -> ImportError {
    ImportError::Record { at, what, accepted: Format::Champsim.accepted() }
}

/// The record that begins at byte `at`.
fn next(input: &mut impl Read, at: u64) -> Result<Option<[u8; RECORD]>, ImportError> {
    let mut record = [0; RECORD];
    let mut filled = 0;
    while filled < RECORD {
        match input.read(&mut record[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(wrong(at, CUT_OFF)),
            Ok(more) => filled += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => return Err(ImportError::Read { unit: "byte", at, source }),
        }
    }
    Ok(Some(record))
}

//! `oracleGeneral`, the format of libCacheSim and of the traces of caches that are published in it:
//! a record of 24 bytes for each access, which also has the next access to its object.
//!
//! A record is, in little-endian order and without gaps: the time (`u32`), the object (`u64`), its
//! size in bytes (`u32`), and the number of the record that asks for the object next (`i64`). There
//! is nothing before the first record, and nothing after the last. libCacheSim's traceConv counts
//! records from 1 and writes -1 where no record asks (`convert_to_oracleGeneral` of
//! `libCacheSim/bin/traceUtils/traceConv.cpp`), and so does [`export`]. Its reader takes the
//! greatest `i64` for -1 too; others count from 0.

mod export;

pub use export::export;

/// Bytes of a record.
pub(crate) const RECORD: usize = 24;

/// Bytes of a page, which is an object.
const PAGE_BYTES: u32 = 1 << crate::PAGE_SHIFT;

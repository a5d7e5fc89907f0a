//! `oracleGeneral`, the format of libCacheSim and of the traces of caches that are published in it:
//! a record of 24 bytes for each access, which also says when its object is asked for next.
//!
//! A record is, in little-endian order and without gaps: the time (`u32`), the object (`u64`), its
//! size in bytes (`u32`), and the number of the record, from 0, that asks for it next, or -1
//! (`i64`). There is nothing before the first record, and nothing after the last.

mod export;
mod import;

pub use export::export;
pub use import::{OracleError, OracleOptions, import};

/// Bytes a record.
const RECORD: usize = 24;

/// Bytes of a page, which is an object.
const PAGE_BYTES: u32 = 1 << crate::PAGE_SHIFT;

//! Page traces of real programs: recorded under Valgrind or QEMU, imported from other tools, read
//! by the simulator.
//!
//! A trace lists the pages that a program used, in order, with stores, and the changes of its
//! mappings. It lacks references on which every LRU TLB hits that is not smaller than the trace's
//! [`FilterShape`]. Young and dirty bits are exact at the end of each epoch, which has a fixed
//! number of references. `docs/trace-format.md` specifies the format, and which parts of a trace
//! are exact.
//!
//! [`record()`] and [`import()`] make traces, [`TraceReader`] reads them event by event, [`Info`]
//! sums them up, and [`TraceWriter`] is for programs that write traces themselves.
#![forbid(unsafe_code)]

mod areas;
mod bit_tree;
pub mod decoded;
pub mod demand_min;
mod epochs;
mod error;
mod event;
mod filter;
mod header;
mod import;
mod info;
mod lackey;
mod limits;
mod lines;
pub mod oracle_general;
mod output;
mod page_set;
mod places;
mod process;
mod read;
pub mod recent;
mod record;
mod reference;
pub mod reference_string;
pub mod replacement;
pub mod room;
mod rules;
pub mod source;
mod space;
mod spool;
mod syscall;
mod unpack;
mod wire;
mod write;

pub use areas::Areas;
pub use error::{Fault, TraceError, WriteError};
pub use event::{Event, FileId, Kind, Mapping, PAGE_LIMIT, Page, PageRange, Permissions};
pub use filter::{FilterShape, MAX_FILTER};
pub use header::{DEFAULT_EPOCH_REFERENCES, Ending, Header, MAX_EPOCH_REFERENCES, Totals};
pub use import::{
    Cause, Foreign, Format, ImportError, ImportOptions, Imported, NextUse, PassedOver, Refusal,
    Seeming, check_end, import, named,
};
pub use info::{AreaInfo, Changes, Info, Spread};
pub use output::OutputFile;
pub use read::TraceReader;
pub use record::{RecordError, RecordOptions, Recorded, RecordedChild, Recorder, Summary, record};
pub use unpack::Packing;
pub use write::TraceWriter;

/// log2 of the page size of traces made here, in bytes. Kernels with larger pages map multiples.
const PAGE_SHIFT: u8 = 12;

/// The number of references between two progress reports.
const PROGRESS_REFERENCES: u64 = 1 << 18;

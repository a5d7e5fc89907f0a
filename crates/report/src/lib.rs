//! Record sets as one HTML page that needs nothing else: no network, no file beside it.
//!
//! The verdict and all tables are plain HTML and need no JavaScript. Charts are Vega-Lite
//! specifications made here; the page has the library that draws them
//! (`docs/decisions/0023-draw-the-report-with-vega-lite.md`). The same input gives the same bytes.
//!
//! ```
//! use pageout_record::compare::Declarations;
//! use pageout_record::schema::{Basis, Better, Ground, Labels, Machine, Metric, Record};
//! use pageout_record::schema::{RecordFile, RecordSet, Run};
//! use pageout_report::{Page, Table};
//!
//! let machine = Machine {
//!     cpu: "Example 9000".into(), arch: "x86_64".into(), cores: 8, memory_mib: 16384,
//!     os: "Linux".into(),
//! };
//! let run = Run::new("pageout", None, machine);
//! let age = Metric::new("age", "ns/page", Basis::Counted, Better::Lower, vec![2.5]);
//! let record = Record {
//!     scenario: "age-file".into(), ground: Ground::Host, seed: 1, fields: Labels::new(),
//!     variant: Labels::new(), metrics: vec![age],
//! };
//! let file = RecordFile::from(RecordSet::new(run, vec![record]));
//! let declared = Declarations::default();
//! let tables = Table::of_each_scenario(&file, &declared)?;
//! let command = "pageout run age-file";
//! let page = Page {
//!     command, file: &file, tables: &tables, declared: &declared, answer: &[], printed: None,
//! };
//! let html = page.html()?;
//! assert!(html.contains(r#"<data value="2.5">2.50</data>"#));
//! # Ok::<(), pageout_report::ReportError>(())
//! ```
#![forbid(unsafe_code)]

mod assets;
mod budget;
mod chart;
mod charts;
mod flame;
mod lookup;
mod page;
mod pictures;
mod provenance;
mod published;
mod sequence;
mod sizes;
mod table;
mod tables;
mod text;
mod verdict;

pub use page::Page;
pub use tables::{Table, json};

use pageout_record::compare::CompareError;
use pageout_record::schema::InvalidRecord;

/// The maximum number of bytes of a page.
pub const MAX_BYTES: usize = 5_000_000;

/// The reason why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The set breaks a rule of the format.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
    /// The records cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// There is more of something than a page can show.
    #[error("{place}: {found} {what}; a page takes {most}")]
    TooMany {
        /// The place, such as `records[3] ("sweep")`.
        place: String,
        /// The things of which there are too many.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The maximum that is accepted.
        most: usize,
    },
    /// The page would be too large, even with everything thinned that can be.
    #[error("the page would have {0} bytes; {MAX_BYTES} are accepted: leave records or names out")]
    TooLarge(usize),
}

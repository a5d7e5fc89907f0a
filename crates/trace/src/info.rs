//! The figures of a trace, for people.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use pageout_experiment::shown;
use serde::Serialize;

use super::error::TraceError;
use super::event::{Event, Kind, Mapping, Page};
use super::filter::FilterShape;
use super::header::{Ending, Header, Totals};
use super::page_set::PageSet;
use super::read::TraceReader;
use super::room::NoRoom;

/// The kinds of mapping in the order in which figures by kind are kept and printed.
const KINDS: [&str; 5] = ["file", "anonymous", "heap", "stack", "unknown"];

/// A trace's figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Info {
    /// The header.
    pub header: Header,
    /// The totals.
    pub totals: Totals,
    /// The size of the trace, in bytes.
    pub compressed_bytes: u64,
    /// Pages used in an epoch.
    pub used_pages: Spread,
    /// Pages stored to in an epoch.
    pub stored_pages: Spread,
    /// Mapped areas by kind; none in a trace without mappings.
    pub areas: Vec<AreaInfo>,
    /// The maximum number of pages mapped at once.
    pub peak_mapped_pages: u64,
    /// The number of mapping events of each kind.
    pub changes: Changes,
    /// Different files mapped.
    pub files: u64,
    /// The number of accesses to pages that no event mapped.
    pub unknown_accesses: u64,
}

/// The figures for other programs.
#[derive(Serialize)]
struct InfoWithHash<'i> {
    sha256: &'i str,
    #[serde(flatten)]
    info: &'i Info,
}

/// The smallest, the median and the largest value of a figure of epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Spread {
    /// The smallest value.
    pub min: u64,
    /// The median; the lower of the two middle ones.
    pub median: u64,
    /// The greatest.
    pub max: u64,
}

/// The mappings of one kind over the whole trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct AreaInfo {
    /// `file`, `anonymous`, `heap`, `stack` or `unknown`.
    pub kind: &'static str,
    /// The number of ranges mapped.
    pub maps: u64,
    /// The number of pages mapped in these ranges; a page that is mapped again counts again.
    pub mapped_pages: u64,
    /// Different page numbers used while mapped by this kind.
    pub used_pages: u64,
}

/// The number of changes of mappings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Changes {
    /// The number of ranges mapped.
    pub map: u64,
    /// The number of ranges unmapped.
    pub unmap: u64,
    /// Ranges given other permissions.
    pub protect: u64,
    /// The number of ranges moved.
    pub remap: u64,
    /// The number of ranges dropped.
    pub discard: u64,
}

impl Info {
    /// Reads the whole trace at `path`, which also checks it.
    ///
    /// # Errors
    ///
    /// The errors of [`TraceReader`].
    pub fn of(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let open = |source| TraceError::Open { path: path.to_owned(), source };
        let compressed_bytes = fs::metadata(path).map_err(open)?.len();
        let reader = TraceReader::new(BufReader::new(File::open(path).map_err(open)?))?;
        Self::read(reader, compressed_bytes)
    }

    /// Reads a whole trace of `compressed_bytes` bytes, which also checks it.
    ///
    /// # Errors
    ///
    /// The errors of [`TraceReader`].
    pub fn read<R: BufRead>(
        mut reader: TraceReader<R>,
        compressed_bytes: u64,
    ) -> Result<Self, TraceError> {
        let mut count = Count::default();
        while let Some(event) = reader.next() {
            let event = event?;
            let kind = match event {
                Event::Access { page, .. } => reader.areas().get(page).map(|area| area.kind),
                _ => None,
            };
            count.event(&event, kind).map_err(|NoRoom| TraceError::NoRoom)?;
            if !matches!(event, Event::Access { .. } | Event::EpochEnd { .. }) {
                count.mapped_pages(&reader);
            }
        }
        // The iterator ends without an error only after the trailer.
        let no_trailer = TraceError::Truncated { offset: compressed_bytes, epochs: 0 };
        let totals = *reader.totals().ok_or(no_trailer)?;
        Ok(Self {
            header: reader.header().clone(),
            totals,
            compressed_bytes,
            used_pages: count.used_pages.spread(),
            stored_pages: count.stored_pages.spread(),
            areas: count.areas(),
            peak_mapped_pages: count.peak_mapped_pages,
            changes: count.changes,
            files: reader.files() as u64,
            unknown_accesses: count.unknown_accesses,
        })
    }

    /// Returns all figures as indented JSON with the names of these fields, and the trace's
    /// checksum.
    ///
    /// # Panics
    /// Never: texts and whole numbers can be written.
    pub fn to_json(&self, sha256: &str) -> String {
        let told = InfoWithHash { sha256, info: self };
        serde_json::to_string_pretty(&told).expect("texts and numbers can be written") + "\n"
    }

    /// Returns the size of all pages used, in MiB.
    pub fn footprint_mib(&self) -> f64 {
        self.mib(self.totals.distinct_pages)
    }

    /// Returns the bytes of the trace for each access in it; 0 without accesses.
    pub fn bytes_per_access(&self) -> f64 {
        match self.totals.accesses {
            0 => 0.0,
            accesses => self.compressed_bytes as f64 / accesses as f64,
        }
    }

    /// Returns the references for each access in the trace; 0 without accesses.
    pub fn references_each(&self) -> f64 {
        match self.totals.accesses {
            0 => 0.0,
            accesses => self.totals.references as f64 / accesses as f64,
        }
    }

    fn mib(&self, nr_pages: u64) -> f64 {
        let page_bytes = (1_u64 << self.header.page_shift) as f64;
        nr_pages as f64 * page_bytes / f64::from(1 << 20)
    }
}

/// The number of times that each value occurred. Its size depends on the number of different
/// values, and not on that of epochs.
#[derive(Debug, Default)]
struct Histogram {
    times: BTreeMap<u64, u64>,
}

impl Histogram {
    fn add(&mut self, value: u64) {
        *self.times.entry(value).or_default() += 1;
    }

    fn spread(&self) -> Spread {
        let all: u64 = self.times.values().sum();
        let mut below = 0;
        let median = self.times.iter().find(|(_, times)| {
            below += **times;
            below * 2 >= all
        });
        let value = |entry: Option<(&u64, &u64)>| entry.map_or(0, |(value, _)| *value);
        Spread {
            min: value(self.times.first_key_value()),
            median: value(median),
            max: value(self.times.last_key_value()),
        }
    }
}

/// The counts that are kept while the events pass.
#[derive(Debug, Default)]
struct Count {
    used_pages: Histogram,
    stored_pages: Histogram,
    /// The pages used in the epoch that has not ended.
    used: PageSet,
    stored: PageSet,
    maps: [(u64, u64); KINDS.len()],
    used_by_kind: [PageSet; KINDS.len()],
    peak_mapped_pages: u64,
    changes: Changes,
    unknown_accesses: u64,
}

impl Count {
    fn event(&mut self, event: &Event, kind: Option<Kind>) -> Result<(), NoRoom> {
        match *event {
            Event::Access { page, store, .. } => self.access(page, store, kind)?,
            Event::EpochEnd { .. } => {
                self.used_pages.add(std::mem::take(&mut self.used).len());
                self.stored_pages.add(std::mem::take(&mut self.stored).len());
            }
            Event::Map(Mapping { pages, kind, .. }) => {
                self.changes.map += 1;
                let (maps, mapped_pages) = &mut self.maps[index(kind)];
                *maps += 1;
                *mapped_pages = mapped_pages.saturating_add(pages.nr_pages());
            }
            Event::Unmap(_) => self.changes.unmap += 1,
            Event::Protect { .. } => self.changes.protect += 1,
            Event::Remap { .. } => self.changes.remap += 1,
            Event::Discard(_) => self.changes.discard += 1,
        }
        Ok(())
    }

    fn access(&mut self, page: Page, store: bool, kind: Option<Kind>) -> Result<(), NoRoom> {
        self.used.insert(page)?;
        if store {
            self.stored.insert(page)?;
        }
        if let Some(kind) = kind {
            self.used_by_kind[index(kind)].insert(page)?;
            self.unknown_accesses += u64::from(kind == Kind::Unknown);
        }
        Ok(())
    }

    fn mapped_pages<R: BufRead>(&mut self, reader: &TraceReader<R>) {
        let mapped = reader.areas().nr_pages();
        self.peak_mapped_pages = self.peak_mapped_pages.max(mapped);
    }

    fn areas(&self) -> Vec<AreaInfo> {
        let all = KINDS.iter().zip(self.maps).zip(&self.used_by_kind);
        let infos = all.map(|((kind, (maps, mapped_pages)), used)| AreaInfo {
            kind,
            maps,
            mapped_pages,
            used_pages: used.len(),
        });
        infos.filter(|info| info.maps > 0).collect()
    }
}

/// Returns the place of a kind in [`KINDS`].
fn index(kind: Kind) -> usize {
    match kind {
        Kind::File { .. } => 0,
        Kind::Anonymous => 1,
        Kind::Heap => 2,
        Kind::Stack => 3,
        Kind::Unknown => 4,
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { header, totals, .. } = self;
        let command = match header.command.is_empty() {
            true => "unknown".to_owned(),
            false => header.command.join(" "),
        };
        let [references, epochs, accesses, distinct] =
            [totals.references, totals.epochs, totals.accesses, totals.distinct_pages].map(grouped);
        row(f, "command", &command)?;
        row(f, "ended", &ending(totals.ending))?;
        row(f, "recorded", &format!("by {}, on {}", header.tool, header.architecture))?;
        row(f, "page size", &format!("{} KiB", (1_u64 << header.page_shift) >> 10))?;
        let footprint = format!("{:.2} MiB: {distinct} pages", self.footprint_mib());
        if header.sampled {
            row(f, "epochs", &epochs)?;
            row(f, "footprint", &footprint)?;
            row(f, "accesses", &format!("{accesses} samples; how many there were is not known"))?;
        } else {
            row(f, "references", &format!("{references} (instructions, loads, stores)"))?;
            let length = grouped(header.epoch_references);
            row(f, "epochs", &format!("{epochs} of {length} references"))?;
            row(f, "footprint", &footprint)?;
            let each = self.references_each();
            row(f, "accesses", &format!("{accesses}: 1 in {each:.1} references"))?;
            let FilterShape { sets, ways, window } = header.filter;
            let by = format!("those on which a TLB of {sets} x {ways} or {window} entries hits");
            row(f, "left out", &by)?;
        }
        let size = self.compressed_bytes as f64 / 1024.0;
        let each = self.bytes_per_access();
        row(f, "size", &format!("{size:.1} KiB: {each:.2} bytes an access"))?;
        writeln!(f, "\n{:<16}{:>12}{:>12}{:>12}", "pages an epoch", "min", "median", "max")?;
        for (name, spread) in [("used", self.used_pages), ("stored to", self.stored_pages)] {
            let [min, median, max] = [spread.min, spread.median, spread.max].map(grouped);
            writeln!(f, "{name:<16}{min:>12}{median:>12}{max:>12}")?;
        }
        writeln!(f)?;
        if header.mappings { self.write_mappings(f) } else { f.write_str(NO_MAPPINGS) }
    }
}

const NO_MAPPINGS: &str = "no mappings were recorded: all pages count as anonymous\n";

impl Info {
    fn write_mappings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<16}{:>12}{:>12}{:>12}", "mapped", "times", "MiB", "MiB used")?;
        for area in &self.areas {
            let times = grouped(area.maps);
            let (mapped, used) = (self.mib(area.mapped_pages), self.mib(area.used_pages));
            writeln!(f, "{:<16}{times:>12}{mapped:>12.2}{used:>12.2}", area.kind)?;
        }
        writeln!(f)?;
        row(f, "mapped at most", &format!("{:.2} MiB at once", self.mib(self.peak_mapped_pages)))?;
        row(f, "files mapped", &grouped(self.files))?;
        let Changes { map, unmap, protect, remap, discard } = self.changes;
        let [map, unmap, protect, remap, discard] =
            [map, unmap, protect, remap, discard].map(grouped);
        let changes =
            format!("{map} map, {unmap} unmap, {protect} protect, {remap} move, {discard} discard");
        row(f, "mapping changes", &changes)?;
        row(
            f,
            "unexplained",
            &format!("{} accesses to unknown memory", grouped(self.unknown_accesses)),
        )
    }
}

/// Writes a line, whose value may have texts of the trace.
fn row(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    writeln!(f, "{name:<16}{}", shown(value))
}

fn ending(ending: Ending) -> String {
    match ending {
        Ending::Unknown => "unknown: the log does not say".to_owned(),
        Ending::Exited(status) => format!("with exit status {status}"),
        Ending::Signalled(signal) => format!("by signal {signal}"),
        Ending::Replaced => "replaced itself (execve); the trace ends there".to_owned(),
    }
}

/// Returns a number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn the_median_is_the_lower_middle() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.spread(), Spread::default());
        for value in [5, 1, 9, 3] {
            histogram.add(value);
        }
        assert_eq!(histogram.spread(), Spread { min: 1, median: 3, max: 9 });
    }
}

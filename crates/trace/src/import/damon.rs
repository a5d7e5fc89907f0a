//! DAMON's records as text, in either of two forms. `perf script` prints the kernel's tracepoint,
//! a line a region, with addresses in decimal and then how often it was found accessed, and its
//! age (all on one line, `Documentation/admin-guide/mm/damon/usage.rst`):
//!
//! ```text
//! kdamond.0 46568 [027] 79357.842179: damon:damon_aggregated: target_id=0 nr_regions=11 \
//!     122509119488-135708762112: 0 864
//! ```
//!
//! `damo report raw` prints a head of lines `name: value` for each snapshot, then a line a region,
//! with addresses in hexadecimal (`damo_report_raw.py` of damo):
//!
//! ```text
//! target_id: 0
//! nr_regions: 11
//! 7f0000000000-7f0000003000 (     12.000 KiB)           4     7
//! ```
//!
//! DAMON looks at one page of a region a sampling interval and takes the others to be used alike.
//! So does the import: each snapshot is an epoch, in which every page of a region that was found
//! accessed is loaded once. The epoch length is the largest number of pages in a snapshot.

use std::io::BufRead;

use super::error::{ImportError, MAX_ACCESSES, MAX_PAGES, MAX_REGIONS, Refusal};
use super::sink::Sink;
use super::text::{next, words};
use crate::PAGE_SHIFT;
use crate::header::Totals;
use crate::lines::Lines;
use crate::reference::{Reference, decimal, hexadecimal};

pub(super) fn import(input: impl BufRead, mut sink: Sink<'_>) -> Result<Totals, ImportError> {
    let mut lines = Lines::new(input);
    let mut record = Record::default();
    while let Some((number, said)) = next(&mut lines, sink.format(), parse)? {
        let taken = said.into_iter().try_for_each(|said| record.take(said));
        taken.map_err(|refusal| ImportError::Refused { number, refusal })?;
    }
    if record.left > 0 {
        let refusal = record.cut();
        return Err(ImportError::Refused { number: lines.number(), refusal });
    }
    let pages = record.different_pages();
    if pages > MAX_PAGES {
        let refusal = Refusal::Pages { pages };
        return Err(ImportError::Refused { number: lines.number(), refusal });
    }
    record.write(&mut sink)?;
    sink.finish()
}

/// What a line says, of which that of a tracepoint says three things at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Target(u64),
    Regions(u64),
    /// A region in bytes, and how often it was found accessed.
    Region {
        start: u64,
        end: u64,
        accesses: u64,
    },
}

/// Pages of a region, by number.
#[derive(Debug, Clone, Copy)]
struct Region {
    start: u64,
    end: u64,
}

/// All that is kept of the input: nothing is written before it is known to be acceptable.
#[derive(Debug, Default)]
struct Record {
    target: Option<u64>,
    /// How many regions the present snapshot has, and how many of them are still to come.
    expected: u64,
    left: u64,
    accessed: Vec<Region>,
    /// Regions in `accessed` up to the end of each snapshot.
    ends: Vec<usize>,
    pages: u64,
}

impl Record {
    fn take(&mut self, said: Said) -> Result<(), Refusal> {
        match said {
            Said::Target(found) => {
                let before = *self.target.get_or_insert(found);
                if found != before {
                    return Err(Refusal::Process { found, before });
                }
                Ok(())
            }
            Said::Regions(nr) if self.left == 0 => {
                (self.expected, self.left) = (nr, nr);
                Ok(())
            }
            // The tracepoint says it with each region.
            Said::Regions(nr) if nr == self.expected => Ok(()),
            Said::Regions(_) => Err(self.cut()),
            Said::Region { start, end, accesses } => self.region(start, end, accesses),
        }
    }

    fn region(&mut self, start: u64, end: u64, accesses: u64) -> Result<(), Refusal> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Refusal::Snapshot { expected: self.expected, found: self.expected + 1 });
        };
        self.left = left;
        let (start, end) = (start >> PAGE_SHIFT, end.div_ceil(1 << PAGE_SHIFT));
        if accesses > 0 && start < end {
            self.pages = self.pages.saturating_add(end - start);
            if self.pages > MAX_ACCESSES {
                return Err(Refusal::Accesses { pages: self.pages });
            }
            if self.accessed.len() == MAX_REGIONS {
                return Err(Refusal::Regions);
            }
            self.accessed.push(Region { start, end });
        }
        if left == 0 {
            if self.ends.len() == MAX_REGIONS {
                return Err(Refusal::Regions);
            }
            self.ends.push(self.accessed.len());
        }
        Ok(())
    }

    /// That the present snapshot is not whole.
    fn cut(&self) -> Refusal {
        Refusal::Snapshot { expected: self.expected, found: self.expected - self.left }
    }

    /// The regions accessed in each snapshot.
    fn snapshots(&self) -> impl Iterator<Item = &[Region]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.accessed[start..*end])
    }

    /// Different pages of all regions.
    fn different_pages(&self) -> u64 {
        let mut regions = self.accessed.clone();
        regions.sort_unstable_by_key(|region| region.start);
        let mut after = 0;
        let new = regions.iter().map(|region| {
            let start = region.start.max(after);
            after = after.max(region.end);
            after.saturating_sub(start)
        });
        new.sum()
    }

    fn write(&self, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        let pages = |regions: &[Region]| -> u64 { regions.iter().map(|r| r.end - r.start).sum() };
        let most = self.snapshots().map(pages).max().unwrap_or(0);
        if most == 0 {
            return Ok(());
        }
        sink.set_epoch(most);
        for regions in self.snapshots() {
            for page in regions.iter().flat_map(|region| region.start..region.end) {
                sink.reference(Reference::at(page << PAGE_SHIFT, false))?;
            }
            // An epoch that is full has ended.
            if pages(regions) < most {
                sink.fill_epoch()?;
            }
        }
        Ok(())
    }
}

/// What a line says; `None` if it is of neither form.
fn parse(line: &[u8]) -> Option<Vec<Said>> {
    let mut rest = words(line);
    if let Some(at) = rest.clone().position(|word| word == b"damon:damon_aggregated:") {
        let of = |word: Option<&[u8]>, name: &str| decimal(word?.strip_prefix(name.as_bytes())?);
        let mut rest = rest.skip(at + 1);
        let target = of(rest.next(), "target_id=")?;
        let regions = of(rest.next(), "nr_regions=")?;
        let (start, end) = range(rest.next()?.strip_suffix(b":")?, decimal)?;
        let accesses = decimal(rest.next()?)?;
        let region = Said::Region { start, end, accesses };
        return Some(vec![Said::Target(target), Said::Regions(regions), region]);
    }
    let Some(first) = rest.next() else { return Some(Vec::new()) };
    match first {
        b"target_id:" => Some(vec![Said::Target(decimal(rest.next()?)?)]),
        b"nr_regions:" => Some(vec![Said::Regions(decimal(rest.next()?)?)]),
        b"#"
        | b"base_time_absolute:"
        | b"monitoring_start:"
        | b"monitoring_end:"
        | b"monitoring_duration:" => Some(Vec::new()),
        _ => {
            let (start, end) = range(first, hexadecimal)?;
            let close = line.iter().position(|byte| *byte == b')')?;
            let accesses = decimal(words(&line[close + 1..]).next()?)?;
            Some(vec![Said::Region { start, end, accesses }])
        }
    }
}

/// `START-END`, of which the end is not smaller.
fn range(word: &[u8], number: fn(&[u8]) -> Option<u64>) -> Option<(u64, u64)> {
    let dash = word.iter().position(|byte| *byte == b'-')?;
    let (start, end) = (number(&word[..dash])?, number(&word[dash + 1..])?);
    (start <= end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let region = Said::Region { start: 4096, end: 12288, accesses: 3 };
        let traced = b"kdamond.0 4 [027] 7.8: damon:damon_aggregated: target_id=1 nr_regions=2 \
                       4096-12288: 3 864";
        let expected = vec![Said::Target(1), Said::Regions(2), region];
        assert_eq!(parse(traced), Some(expected));
        assert_eq!(parse(b"target_id: 1"), Some(vec![Said::Target(1)]));
        assert_eq!(parse(b"nr_regions: 2"), Some(vec![Said::Regions(2)]));
        let printed = b"000000001000-000000003000 (   8.000 KiB)           3     7";
        assert_eq!(parse(printed), Some(vec![region]));
        for text in ["", "monitoring_start:             0 ns", "# start_addr     end_addr"] {
            assert_eq!(parse(text.as_bytes()), Some(Vec::new()), "{text}");
        }
        for text in ["hello", "1-2", "2000-1000 (1 B) 1 1", "nr_regions: x", "target_id: -1"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}

//! DAMON's records as lines: tracepoints, or the text of damo.
//!
//! `damo report access --raw_form` (before damo 2.7.2 `damo report raw`) prints a head of lines
//! `name: value` for each record and snapshot, then a line a region, with addresses in hexadecimal
//! (`pr_records_raw_form` of `src/damo_report_access.py` of damo):
//!
//! ```text
//! target_id: 0
//! nr_regions: 11
//! # start_addr     end_addr        length  nr_accesses   age
//! 7f0000000000-7f0000003000 (     12.000 KiB)           4     7
//! ```

use std::io::BufRead;

use super::super::access::Cause;
use super::super::error::{ImportError, Refusal};
use super::super::sink::Sink;
use super::super::text::{next, words};
use super::snapshots::{Region, Snapshots};
use super::traced::{Event, Traced, count, range, traced};
use crate::lines::Lines;
use crate::reference::{decimal, hexadecimal};

/// Reads all lines.
pub(super) fn read(
    input: impl BufRead,
    snapshots: &mut Snapshots,
    sink: &mut Sink<'_>,
) -> Result<(), ImportError> {
    let mut lines = Lines::new(input);
    let mut reader =
        Reader { snapshots, sink, is_of_trace: true, event: None, expected: 0, left: 0 };
    while let Some((number, said)) = next(&mut lines, reader.sink.format(), parse)? {
        reader.take(said).map_err(|refusal| ImportError::Refused { number, refusal })?;
    }
    let whole = if reader.left > 0 { Err(reader.cut()) } else { snapshots.check_pages() };
    whole.map_err(|refusal| ImportError::Refused { number: lines.number(), refusal })
}

/// Returns true if a line reports a region.
pub(in super::super) fn is_region(line: &[u8]) -> Option<bool> {
    parse(line).map(|said| matches!(said, LineContent::Traced(_) | LineContent::Region(_)))
}

/// The content of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineContent {
    Nothing,
    PassedOver(Cause),
    Target(u64),
    Regions(u64),
    Region(Region),
    Traced(Traced),
}

/// A reader that puts lines together to snapshots.
struct Reader<'r, 's> {
    snapshots: &'r mut Snapshots,
    sink: &'r mut Sink<'s>,
    /// True if the current snapshot is of a process that is imported.
    is_of_trace: bool,
    /// The event that is taken, of those that report each region.
    event: Option<Event>,
    /// The number of regions that the current snapshot has, and of those still to come.
    expected: u64,
    left: u64,
}

impl Reader<'_, '_> {
    fn take(&mut self, said: LineContent) -> Result<(), Refusal> {
        match said {
            LineContent::Nothing => Ok(()),
            LineContent::PassedOver(cause) => {
                self.sink.pass_over(cause);
                Ok(())
            }
            LineContent::Target(target) => {
                self.is_of_trace = self.sink.is_of_trace(target)?;
                Ok(())
            }
            LineContent::Regions(_) if !self.is_of_trace => Ok(()),
            LineContent::Regions(nr) if self.left == 0 => {
                (self.expected, self.left) = (nr, nr);
                Ok(())
            }
            // The tracepoint repeats the number with each region.
            LineContent::Regions(nr) if nr == self.expected => Ok(()),
            LineContent::Regions(_) => Err(self.cut()),
            LineContent::Region(_) if !self.is_of_trace => {
                self.take(LineContent::PassedOver(Cause::OtherProcess))
            }
            LineContent::Region(region) => self.region(region),
            LineContent::Traced(Traced { event, target, regions, region }) => {
                if *self.event.get_or_insert(event) != event {
                    return self.take(LineContent::PassedOver(Cause::OtherEvent));
                }
                self.take(LineContent::Target(target))?;
                self.take(LineContent::Regions(regions))?;
                self.take(LineContent::Region(region))
            }
        }
    }

    fn region(&mut self, region: Region) -> Result<(), Refusal> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Refusal::Snapshot { expected: self.expected, found: self.expected + 1 });
        };
        self.left = left;
        self.snapshots.region(region)?;
        if left == 0 { self.snapshots.end(self.sink) } else { Ok(()) }
    }

    /// Returns the refusal of an incomplete snapshot.
    fn cut(&self) -> Refusal {
        Refusal::Snapshot { expected: self.expected, found: self.expected - self.left }
    }
}

/// Reads a line; `None` if its form is unknown.
fn parse(line: &[u8]) -> Option<LineContent> {
    if let Some(traced) = traced(line) {
        return traced.map(LineContent::Traced);
    }
    let mut rest = words(line);
    let Some(first) = rest.next() else { return Some(LineContent::Nothing) };
    match first {
        b"target_id:" => target(rest.next()?).map(LineContent::Target),
        b"nr_regions:" => decimal(rest.next()?).map(LineContent::Regions),
        b"base_time_absolute:"
        | b"monitoring_start:"
        | b"monitoring_end:"
        | b"monitoring_duration:" => Some(LineContent::Nothing),
        b"data" if rest.next() == Some(b"source:") => Some(LineContent::Nothing),
        _ if first.starts_with(b"#") || is_trace_cmd_s(first) => Some(LineContent::Nothing),
        _ if is_trace_cmd_s_remark(line) => Some(LineContent::PassedOver(Cause::Remark)),
        _ if is_event(line) => Some(LineContent::PassedOver(Cause::OtherEvent)),
        _ => {
            let (start, end) = range(first, hexadecimal)?;
            let close = line.iter().position(|byte| *byte == b')')?;
            let accesses = count(words(&line[close + 1..]).next()?)?;
            Some(LineContent::Region(Region { start, end, accesses }))
        }
    }
}

/// Returns a target's number. damo prints None if it asked a scheme for its regions, which are of
/// one target.
fn target(word: &[u8]) -> Option<u64> {
    if word == b"None" { Some(0) } else { decimal(word) }
}

/// Returns true for the first lines of `trace-cmd report`: `cpus=8`, and `version = 6` before it.
fn is_trace_cmd_s(first: &[u8]) -> bool {
    first == b"version" || first.starts_with(b"cpus=")
}

/// Returns true for `CPU 3 is empty`, and for `CPU:3 [LOST 57 EVENTS]`, which ftrace prints too.
fn is_trace_cmd_s_remark(line: &[u8]) -> bool {
    line.starts_with(b"CPU ") && line.ends_with(b" is empty")
        || line.starts_with(b"CPU:") && line.ends_with(b" EVENTS]")
}

/// Returns true for a line with a time and, after it, an event.
fn is_event(line: &[u8]) -> bool {
    let is_time = |word: &[u8]| {
        let digits = word.strip_suffix(b":").unwrap_or_default();
        digits.contains(&b'.') && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    };
    let mut words = words(line).skip_while(|word| !is_time(word)).skip(1);
    words.next().is_some_and(|word| word.ends_with(b":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damo_s_lines_are_read() {
        let region = Region { start: 4096, end: 12288, accesses: Some(3) };
        let closing = Region { start: 0, end: 0, accesses: None };
        for (text, expected) in [
            ("target_id: 1", LineContent::Target(1)),
            ("target_id: None", LineContent::Target(0)),
            ("nr_regions: 2", LineContent::Regions(2)),
            (
                "000000001000-000000003000 (   8.000 KiB)           3     7",
                LineContent::Region(region),
            ),
            (
                "000000001000-000000003000 (   8.000 KiB)           3    -1",
                LineContent::Region(region),
            ),
            (
                "000000000000-000000000000 (       0 B)          -1    -1",
                LineContent::Region(closing),
            ),
            ("", LineContent::Nothing),
            ("base_time_absolute: 8 m 59.809 s", LineContent::Nothing),
            ("data source: unknown", LineContent::Nothing),
            ("monitoring_start:             0 ns", LineContent::Nothing),
            ("# start_addr     end_addr", LineContent::Nothing),
            ("cpus=8", LineContent::Nothing),
            ("version = 6", LineContent::Nothing),
            ("CPU 3 is empty", LineContent::PassedOver(Cause::Remark)),
            ("CPU:3 [LOST 57 EVENTS]", LineContent::PassedOver(Cause::Remark)),
            (
                "kdamond.0 46 [02] 7.84: damon:damos_before_apply: ctx_idx=0 scheme_idx=0",
                LineContent::PassedOver(Cause::OtherEvent),
            ),
            (
                "ls-129 [005] ..... 101005.7: sched_switch: ls:129",
                LineContent::PassedOver(Cause::OtherEvent),
            ),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(expected), "{text}");
        }
        for text in ["hello", "1-2", "nr_regions: x", "target_id: -1", "data sink: x"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}

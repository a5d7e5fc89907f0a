//! The kernel's tracepoint `damon_aggregated`: a line for each region, with addresses in decimal,
//! then the number of times the region was found accessed, and its age, which old kernels lack (all
//! on one line, `Documentation/admin-guide/mm/damon/usage.rst`):
//!
//! ```text
//! kdamond.0 46568 [027] 79357.842179: damon:damon_aggregated: target_id=0 nr_regions=11 \
//!     122509119488-135708762112: 0 864
//! ```
//!
//! `trace-cmd report` prints it without `damon:`, and `perf trace` with brackets in place of the
//! second colon (`src/damo_report_trace.py` of damo 3.3, which reads all of these). Later kernels
//! also have the event `damon_region_aggregated`, with the same content and `probe_hits=` after it.
//! They emit both, so only the first of the two is imported.

use super::super::text::words;
use super::snapshots::Region;
use crate::reference::decimal;

/// A tracepoint that reports a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// `damon_aggregated`
    Aggregated,
    /// `damon_region_aggregated`
    RegionAggregated,
}

/// A line of a tracepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traced {
    pub(super) event: Event,
    pub(super) target: u64,
    /// The number of regions of the snapshot, repeated in each line.
    pub(super) regions: u64,
    pub(super) region: Region,
}

/// Reads the fields of a tracepoint's line; `None` if it is of another event, and an inner `None`
/// if its fields are not those of the event.
pub(super) fn traced(line: &[u8]) -> Option<Option<Traced>> {
    let (event, fields) =
        [Event::Aggregated, Event::RegionAggregated].into_iter().find_map(|event| {
            let name = event_name(event);
            let at = line.windows(name.len()).position(|part| part == name)?;
            let after = &line[at + name.len()..];
            matches!(after.first(), Some(b':' | b'(')).then(|| (event, &after[1..]))
        })?;
    Some(region(event, fields))
}

fn event_name(event: Event) -> &'static [u8] {
    match event {
        Event::Aggregated => b"damon_aggregated",
        Event::RegionAggregated => b"damon_region_aggregated",
    }
}

/// Reads `target_id=0 nr_regions=11 4096-8192: 0 864`.
fn region(event: Event, fields: &[u8]) -> Option<Traced> {
    let mut rest = words(fields);
    let of = |word: Option<&[u8]>, name: &str| decimal(word?.strip_prefix(name.as_bytes())?);
    let target = of(rest.next(), "target_id=")?;
    let regions = of(rest.next(), "nr_regions=")?;
    let (start, end) = range(rest.next()?.strip_suffix(b":")?, decimal)?;
    let accesses = rest.next()?;
    let accesses = accesses.strip_suffix(b")").unwrap_or(accesses);
    let region = Region { start, end, accesses: count(accesses)? };
    Some(Traced { event, target, regions, region })
}

/// Reads the number of times that a region was found accessed; damo itself writes -1.
pub(super) fn count(word: &[u8]) -> Option<Option<u64>> {
    if word == b"-1" { Some(None) } else { decimal(word).map(Some) }
}

/// Reads `START-END`.
pub(super) fn range(word: &[u8], number: fn(&[u8]) -> Option<u64>) -> Option<(u64, u64)> {
    let dash = word.iter().position(|byte| *byte == b'-')?;
    Some((number(&word[..dash])?, number(&word[dash + 1..])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_s_line_of_a_region_is_read() {
        let region = Region { start: 4096, end: 12288, accesses: Some(3) };
        let expected = Traced { event: Event::Aggregated, target: 1, regions: 2, region };
        let fields = "target_id=1 nr_regions=2 4096-12288: 3";
        for text in [
            format!("kdamond.0 4 [027] 7.8: damon:damon_aggregated: {fields} 864"),
            format!("kdamond.0 4 [027] 7.8: damon:damon_aggregated: {fields}"),
            format!("kdamond.0-4452  [005] ..... 101005.7: damon_aggregated:     {fields} 0"),
            format!("<...>-4452  [005] 101005.7: damon_aggregated:     {fields} 0"),
            format!("3373.653 kdamond.0/129062 damon:damon_aggregated({fields} 33)"),
            format!("3373.653 kdamond.0/129062 damon:damon_aggregated({fields})"),
            format!("kdamond.x xxxx xxxx 1.0: damon:damon_aggregated: {fields} None"),
        ] {
            assert_eq!(traced(text.as_bytes()), Some(Some(expected)), "{text}");
        }
        let later = format!("k-4 [0] 1.0: damon_region_aggregated: {fields} 600 probe_hits=13 00");
        let expected = Traced { event: Event::RegionAggregated, ..expected };
        assert_eq!(traced(later.as_bytes()), Some(Some(expected)));
    }

    #[test]
    fn other_events_and_damaged_fields_are_told_apart() {
        for text in ["", "k 4 [0] 1.0: damon:damos_before_apply: ctx_idx=0", "damon_aggregated"] {
            assert_eq!(traced(text.as_bytes()), None, "{text}");
        }
        for fields in ["target_id=x", "target_id=0 nr_regions=1 1-2 3", "target_id=0 nr_regions=1"]
        {
            let text = format!("k 4 [0] 1.0: damon:damon_aggregated: {fields}");
            assert_eq!(traced(text.as_bytes()), Some(None), "{text}");
        }
        assert_eq!(count(b"-1"), Some(None));
    }
}

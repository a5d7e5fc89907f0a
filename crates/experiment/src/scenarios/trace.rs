//! The scenario `trace`: a real program's accesses. The trace is an input, not a field.

use crate::declare::{Checked, Lists};
use crate::fields::{FieldError, OrderName, display_size, distinct, number, parse_size};
use crate::formats::FormatName;
use crate::kinds::{Format, Kind, Number, Order, Percent};
use crate::scenario;

/// log2 of the bytes of a page in traces: 4 KiB.
pub const PAGE_SHIFT: u32 = 12;

/// The maximum number of limits that a range may stand for.
const MOST_IN_A_RANGE: u64 = 1000;

/// The amount of memory that a program may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryLimit {
    /// A number of bytes: at least a page.
    Bytes(u64),
    /// A percentage of the different pages that the program uses, told apart by what backs them.
    Percent(u8),
}

impl MemoryLimit {
    /// Returns the limit in pages, at least one, for a program that uses `nr_pages` different
    /// pages.
    pub fn pages(self, nr_pages: usize) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes >> PAGE_SHIFT,
            Self::Percent(percent) => (nr_pages as u64 * u64::from(percent) / 100).max(1),
        }
    }
}

impl Kind for MemoryLimit {
    type Value = Self;

    fn accepted() -> String {
        "a size from 4KiB such as 64MiB, or from 1% to 100% of the program's pages, or a range \
         of either such as 5%..100%, in steps of its start, or 90%..100%:1%"
            .to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        match text.strip_suffix('%') {
            Some(percent) => number(percent).filter(|p| (1..=100).contains(p)).map(Self::Percent),
            None => {
                let bytes = parse_size(text).ok();
                bytes.filter(|bytes| bytes >> PAGE_SHIFT > 0).map(Self::Bytes)
            }
        }
    }

    fn problem(text: &str) -> Option<String> {
        let percent = text.strip_suffix('%').map(|_| Percent::<1, 100>::problem(text));
        Some(match (text.contains(".."), percent, parse_size(text)) {
            (true, ..) => "is not a rising range of sizes, or of percentages".to_owned(),
            (_, Some(percent), _) => percent?,
            (.., Err(problem)) => problem,
            (.., Ok(1..=100)) => {
                format!("is less than a page, 4KiB; a percentage is written {text}%")
            }
            (.., Ok(_)) => "is less than a page, 4KiB".to_owned(),
        })
    }

    fn text(value: &Self) -> String {
        match value {
            Self::Bytes(bytes) => display_size(*bytes),
            Self::Percent(percent) => format!("{percent}%"),
        }
    }

    fn range(first: &Self, step: &Self, last: &Self) -> Option<Vec<Self>> {
        let steps = |first: u64, step: u64, last: u64| {
            let fits = first <= last && (last - first) / step < MOST_IN_A_RANGE;
            fits.then(|| (first..=last).step_by(usize::try_from(step).unwrap_or(usize::MAX)))
        };
        match [*first, *step, *last] {
            [Self::Bytes(first), Self::Bytes(step), Self::Bytes(last)] => {
                Some(steps(first, step, last)?.map(Self::Bytes).collect())
            }
            [Self::Percent(first), Self::Percent(step), Self::Percent(last)] => {
                let all = steps(first.into(), step.into(), last.into())?;
                Some(all.map(|percent| Self::Percent(percent as u8)).collect())
            }
            _ => None,
        }
    }
}

scenario! {
    /// A real program's accesses set young bits; at the ends of epochs all of its folios, which are
    /// resident, are aged. Of a run of empty epochs a thousand agings at most are made, which stand
    /// for all.
    pub struct TraceAged, TraceAgedLists: "trace" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// largest folio order; folios are smaller where mappings begin, end or change
        order: OrderName, "order" as Order = OrderName::Number(4), in super::AgeFile::ORDERS;
        /// how many epochs are between two agings
        every: u32, "every" as Number<1, { u32::MAX }> = 1;
    }
}

scenario! {
    /// A real program runs in a cgroup with a limit, beside demand MIN. Counted, not timed.
    pub struct TraceLimited, TraceLimitedLists: "trace" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// largest folio order; folios are smaller where mappings begin, end or change
        order: OrderName, "order" as Order = OrderName::Number(0);
        /// memory.max of its cgroup
        limit: MemoryLimit, "limit" as MemoryLimit = MemoryLimit::Percent(50);
    }
}

scenario! {
    /// A real program runs on a modelled core with a TLB, in a cgroup with a limit.
    pub struct TraceModelled, TraceModelledLists: "trace" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// largest folio order; folios are smaller where mappings begin, end or change
        order: OrderName, "order" as Order = OrderName::Number(0);
        /// memory.max of its cgroup
        limit: MemoryLimit, "limit" as MemoryLimit = MemoryLimit::Percent(50);
        /// how often the program runs, one run after the other, in the same cgroup
        repeat: u32, "repeat" as Number<1, 10_000> = 1;
    }
}

impl Checked for TraceAged {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        distinct(&lists.order, &lists.format)?;
        Ok(lists.combinations())
    }
}

impl Checked for TraceLimited {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        distinct(&lists.order, &lists.format)?;
        Ok(lists.combinations())
    }
}

impl Checked for TraceModelled {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        distinct(&lists.order, &lists.format)?;
        Ok(lists.combinations())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::values;

    fn read(text: &str) -> Vec<String> {
        let all = values::<MemoryLimit>("limit", text).expect("limits");
        all.iter().map(MemoryLimit::text).collect()
    }

    #[test]
    fn a_range_is_in_steps_of_its_start_or_of_another_step() {
        let percent: Vec<_> = (1..=20).map(|k| format!("{}%", 5 * k)).collect();
        assert_eq!(read("5%..100%"), percent);
        assert_eq!(read("30%..100%"), ["30%", "60%", "90%"]);
        assert_eq!(read("98%..100%:1%,7%"), ["98%", "99%", "100%", "7%"]);
        assert_eq!(read("64MiB..256MiB"), ["64MiB", "128MiB", "192MiB", "256MiB"]);
        assert_eq!(read("1MiB..2MiB:512KiB"), ["1MiB", "1536KiB", "2MiB"]);
        assert_eq!(read("50%..50%"), ["50%"]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "5%..",
            "..5%",
            "5%...9%",
            "9%..5%",
            "5%..64MiB",
            "5%..9%:1MiB",
            "5%..9%:",
            "5%..9%:0%",
            "0%..9%",
            "5%..101%",
            "5%..9%..11%",
            "4KiB..1TiB",
            "5%..9%,5%",
        ] {
            let refused = values::<MemoryLimit>("limit", text);
            assert!(matches!(refused, Err(FieldError::Value { .. })), "{text}: {refused:?}");
        }
    }
}

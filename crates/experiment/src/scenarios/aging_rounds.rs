//! The scenario `aging-rounds`.

use crate::declare::{Checked, Declared, Lists};
use crate::fields::{FieldError, OrderName, check_size, display_size, distinct, number};
use crate::formats::{FormatName, with_format};
use crate::kinds::{Format, Kind, Number, Order, Percent, Size};
use crate::scenario;
use pageout_paging::Format as EntryFormat;
use pageout_record::schema::Labels;

/// The largest file, in bytes.
const MAX_BYTES: u64 = 16 << 30;
/// The bytes that a fault maps around the page that faulted, that page included
/// (`fault_around_bytes`).
pub const FAULT_AROUND: u32 = 64 << 10;

/// The pages of a file that are used in every round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// The first of every N pages; 1 is all of them.
    OneIn(u32),
    /// The file's first N per cent.
    First(u8),
}

impl Pattern {
    /// Returns true if `page`, of a file of `pages` pages, is used in every round.
    pub const fn has(self, page: u64, pages: u64) -> bool {
        match self {
            Self::OneIn(n) => page.is_multiple_of(n as u64),
            Self::First(percent) => page * 100 < pages * percent as u64,
        }
    }
}

impl Kind for Pattern {
    type Value = Self;

    fn accepted() -> String {
        "all, one page in so many such as 1/16, or the file's first 1% to 100%".to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        match (text, text.strip_prefix("1/"), text.strip_suffix('%')) {
            ("all", ..) => Some(Self::OneIn(1)),
            (_, Some(n), _) => number(n).filter(|n| *n > 0).map(Self::OneIn),
            (.., Some(percent)) => {
                number(percent).filter(|percent| (1..=100).contains(percent)).map(Self::First)
            }
            _ => None,
        }
    }

    fn problem(text: &str) -> Option<String> {
        match (text.strip_prefix("1/"), text.strip_suffix('%')) {
            (Some(n), _) => {
                Number::<1, { u32::MAX }>::problem(n).map(|why| format!("has an N that {why}"))
            }
            (_, Some(_)) => Percent::<1, 100>::problem(text),
            _ => None,
        }
    }

    fn names() -> Vec<String> {
        vec!["all".to_owned()]
    }

    fn text(value: &Self) -> String {
        match value {
            Self::OneIn(1) => "all".to_owned(),
            Self::OneIn(n) => format!("1/{n}"),
            Self::First(percent) => format!("{percent}%"),
        }
    }
}

scenario! {
    /// A process reads a file larger than its cgroup's limit, then uses a part of it in rounds,
    /// with a memory.reclaim after each: what generations make of it. Counted, not timed.
    pub struct AgingRounds, AgingRoundsLists: "aging-rounds" {
        /// entry format
        format: FormatName, "format" as Format = FormatName::X86_64, in FormatName::MAIN;
        /// order of the file's folios
        order: OrderName, "order" as Order = OrderName::Number(4);
        /// bytes of the file
        bytes: u64, "size" as Size = 256 << 20;
        /// the cgroup's limit, of the file
        limit_percent: u8, "limit" as Percent<1, 100> = 75;
        /// the pages that the process uses in every round
        pattern: Pattern, "access" as Pattern = Pattern::First(10);
        /// part of the file that it reads besides in every round, from where the last one ended
        scan_percent: u8, "scan" as Percent<0, 100> = 25;
        /// part of the limit that is asked of memory.reclaim at the end of every round
        reclaim_percent: u8, "reclaim" as Percent<1, 100> = 10;
        /// rounds that are counted, after as many that are not
        rounds: u32, "rounds" as Number<1, 1000> = 16;
        /// whether folios are mapped where blocks can be contiguous, or a page beside
        aligned: bool, "contiguous" as bool = true;
    }
}

impl Checked for AgingRounds {
    fn combined(lists: &Self::Lists) -> Result<Vec<Self>, FieldError> {
        distinct(&lists.order, &lists.format)?;
        let mut all: Vec<Self> = Vec::new();
        for one in lists.combinations() {
            one.check()?;
            if !all.iter().any(|other| other.record_labels() == one.record_labels()) {
                all.push(one);
            }
        }
        Ok(all)
    }

    /// The label `contiguous` has the result: true only if blocks can be contiguous.
    fn record_labels(&self) -> Labels {
        let mut labels = self.labels();
        labels.insert("contiguous".to_owned(), bool::text(&self.is_contiguous()));
        labels
    }
}

impl AgingRounds {
    fn check(&self) -> Result<(), FieldError> {
        let folio = self.folio_bytes();
        check_size(self.bytes, folio, "folio", MAX_BYTES)?;
        // Direct reclaim takes a batch, and the folio that is being read has to fit as well.
        let least = 64 * folio;
        if self.limit_bytes() < least {
            let (limit, least) = (display_size(self.limit_bytes()), display_size(least));
            let problem = format!(
                "a limit of {limit} is less than 64 folios, {least}: expected a larger size or \
                 limit, or a lower order"
            );
            return Err(FieldError::together(Self::NAME, problem));
        }
        Ok(())
    }

    /// Returns the bytes of a folio.
    pub fn folio_bytes(&self) -> u64 {
        (1 << self.format.page_shift()) << self.order.in_format(self.format)
    }

    /// Returns the bytes of the cgroup's limit.
    pub fn limit_bytes(&self) -> u64 {
        self.bytes * u64::from(self.limit_percent) / 100
    }

    /// Returns true if blocks of entries can be contiguous: the format has such blocks, and faults
    /// map whole blocks of one folio.
    fn is_contiguous(&self) -> bool {
        let block = with_format!(self.format, F => contiguous_bytes::<F>());
        let whole = |block: u64| block <= self.folio_bytes().min(FAULT_AROUND.into());
        self.aligned && block.is_some_and(whole)
    }
}

/// Returns the bytes of a contiguous block if the format has such blocks.
const fn contiguous_bytes<F: EntryFormat>() -> Option<u64> {
    if F::CONT_SHIFT > 0 { Some(F::PAGE_SIZE << F::CONT_SHIFT) } else { None }
}

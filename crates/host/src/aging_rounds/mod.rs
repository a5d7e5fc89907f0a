//! Scenario `aging-rounds`: a process reads a file that is larger than its cgroup's limit, then
//! uses a part of it again and again, and between rounds some memory is reclaimed. What generations
//! make of it is counted, nothing is timed.
//!
//! Young bits are set by the ideal walker, one entry an access, also in contiguous blocks. Faults
//! map 64 KiB around them, as kernels do; reads are done at once, but a CPU switches to the process
//! after each. Nothing is read ahead. The process sleeps during `memory.reclaim`.

mod cell;
mod process;
#[cfg(test)]
mod tests;

use crate::layout::{Arena, tables_of};
use pageout_experiment::fields::{self, FieldError, OrderName, bad};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::metrics::labels;
use pageout_experiment::rounds::Cell;
use pageout_experiment::this_machine;
use pageout_experiment::variant::Variant;
use pageout_reclaim::{Limits, MapAs};
use pageout_record::schema::Labels;
use std::fmt;
use std::ops::RangeInclusive;

/// The scenario's name in records.
pub const NAME: &str = "aging-rounds";
const FIELDS: &str = "format, order, size, limit, access, scan, reclaim, rounds and contiguous";
/// Largest file.
const MAX_BYTES: u64 = 16 << 30;
/// What a fault maps beside the page asked for, in bytes (`fault_around_bytes`).
const FAULT_AROUND: u32 = 64 << 10;

/// The scenario, with one value a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgingRounds {
    /// Entry format.
    pub format: FormatName,
    /// Order of the file's folios.
    pub order: OrderName,
    /// Bytes of the file.
    pub bytes: u64,
    /// The cgroup's limit, per cent of the file.
    pub limit_percent: u8,
    /// The pages that the process uses in every round.
    pub pattern: Pattern,
    /// Per cent of the file that it reads besides in every round, where the last round ended.
    pub scan_percent: u8,
    /// Per cent of the limit that is asked of `memory.reclaim` at the end of every round.
    pub reclaim_percent: u8,
    /// Rounds that are counted, after as many that are not.
    pub rounds: u32,
    /// Whether folios are mapped where blocks of entries can be contiguous, or a page beside.
    pub aligned: bool,
}

/// Which pages of a file are used in every round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// The first page of every so many; 1 is all of them.
    OneIn(u32),
    /// The file's first so many per cent.
    First(u8),
}

impl AgingRounds {
    /// A file of 256 MiB, its first tenth hot.
    pub const DEFAULT: Self = Self {
        format: FormatName::X86_64,
        order: OrderName::Number(4),
        bytes: 256 << 20,
        limit_percent: 75,
        pattern: Pattern::First(10),
        scan_percent: 25,
        reclaim_percent: 10,
        rounds: 16,
        aligned: true,
    };

    /// Scenarios from `FIELD=VALUE` arguments: format, order and access may be comma-separated
    /// lists, of which every combination is one scenario. Fields left out have
    /// [`AgingRounds::DEFAULT`]'s value, but formats are those of the main table.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String]) -> Result<Vec<Self>, FieldError> {
        let mut formats = FormatName::MAIN.to_vec();
        let mut orders = vec![Self::DEFAULT.order];
        let mut patterns = vec![Self::DEFAULT.pattern];
        let mut one = Self::DEFAULT;
        for (field, value) in fields::pairs(arguments)? {
            match field {
                "format" => formats = fields::list("format", value, FormatName::parse)?,
                "order" => orders = fields::list("order", value, OrderName::parse)?,
                "access" => patterns = fields::list("access", value, Pattern::parse)?,
                "size" => one.bytes = fields::parse_size(value)?,
                "limit" => one.limit_percent = percent("limit", 1..=100, value)?,
                "scan" => one.scan_percent = percent("scan", 0..=100, value)?,
                "reclaim" => one.reclaim_percent = percent("reclaim", 1..=100, value)?,
                "rounds" => one.rounds = parse_rounds(value)?,
                "contiguous" => one.aligned = parse_yes("contiguous", value)?,
                _ => {
                    return Err(FieldError::Unknown {
                        scenario: NAME,
                        field: field.to_owned(),
                        accepted: FIELDS,
                    });
                }
            }
        }
        fields::distinct(&orders, &formats)?;
        let mut all = Vec::new();
        for format in formats {
            for order in &orders {
                for pattern in &patterns {
                    all.push(Self { format, order: *order, pattern: *pattern, ..one });
                }
            }
        }
        all.iter().try_for_each(Self::check)?;
        Ok(all)
    }

    fn check(&self) -> Result<(), FieldError> {
        let folio = self.folio_bytes();
        fields::check_size(self.bytes, folio, "folio", MAX_BYTES)?;
        // Direct reclaim takes a batch, and the folio being read has to fit beside it.
        let least = 64 * folio;
        if self.limit_bytes() < least {
            let (limit, least) = (self.limit_bytes(), fields::display_size(least));
            let limit = fields::display_size(limit);
            let problem = format!("a limit of {limit} is less than 64 folios, {least}");
            return Err(FieldError::Together { scenario: NAME, problem });
        }
        Ok(())
    }

    fn folio_bytes(&self) -> u64 {
        (1 << self.format.page_shift()) << self.order.in_format(self.format)
    }

    fn limit_bytes(&self) -> u64 {
        self.bytes * u64::from(self.limit_percent) / 100
    }

    /// Whether blocks of entries are contiguous: where the format has that, and faults map whole
    /// blocks of one folio.
    fn is_contiguous(&self) -> bool {
        let block = with_format!(self.format, F => contiguous_bytes::<F>());
        let whole = |block: u64| block <= self.folio_bytes().min(FAULT_AROUND.into());
        self.aligned && block.is_some_and(whole)
    }

    /// The scenario's fields as records carry them.
    pub fn labels(&self) -> Labels {
        let contiguous = if self.is_contiguous() { "yes" } else { "no" };
        labels([
            ("format", self.format.name().to_owned()),
            ("order", self.order.to_string()),
            ("size", fields::display_size(self.bytes)),
            ("limit", format!("{}%", self.limit_percent)),
            ("access", self.pattern.to_string()),
            ("scan", format!("{}%", self.scan_percent)),
            ("reclaim", format!("{}%", self.reclaim_percent)),
            ("rounds", self.rounds.to_string()),
            ("contiguous", contiguous.to_owned()),
        ])
    }

    fn limits<F: Arch>(&self) -> Limits {
        let pages = (self.bytes >> F::PAGE_SHIFT) as usize;
        let folios = pages >> self.order.in_format(self.format);
        Limits {
            frames: pages,
            folios,
            vmas: 1,
            mms: 1,
            mappings: 1,
            memcgs: 1,
            shadows: folios,
            // Two of each cgroup, the root among them.
            filters: 4,
            ..Limits::NOTHING
        }
    }

    fn tables<F: Arch>(&self) -> usize {
        tables_of::<F>((self.bytes >> F::PAGE_SHIFT) as usize, 1, MapAs::Ptes)
    }

    /// What the scenario takes, table by table.
    pub fn footprint(&self) -> Footprint {
        with_format!(self.format, F => {
            Footprint::of::<F>(&self.limits::<F>(), self.tables::<F>())
        })
    }

    /// Checks that the memory of each scenario is there: they run one after another.
    ///
    /// # Errors
    /// [`FieldError::Together`] with what the largest needs and what there is.
    pub fn check_memory(all: &[Self]) -> Result<(), FieldError> {
        let needed = all.iter().map(|one| one.footprint().bytes()).max();
        this_machine::check_memory(needed.unwrap_or(0))
            .map_err(|problem| FieldError::Together { scenario: NAME, problem })
    }

    fn arena(&self) -> Arena {
        with_format!(self.format, F => Arena::new::<F>(&self.limits::<F>(), self.tables::<F>()))
    }

    /// The scenario, ready to be counted under `variants`.
    pub fn cell(&self, variants: &[Variant]) -> Box<dyn Cell> {
        Box::new(cell::RoundsCell::new(*self, variants))
    }
}

/// Bytes of a contiguous block, of formats that have them.
const fn contiguous_bytes<F: Arch>() -> Option<u64> {
    if F::CONT_SHIFT > 0 { Some(F::PAGE_SIZE << F::CONT_SHIFT) } else { None }
}

impl Pattern {
    /// Whether a page of a file of so many is used in every round.
    const fn has(self, page: u64, pages: u64) -> bool {
        match self {
            Self::OneIn(n) => page.is_multiple_of(n as u64),
            Self::First(percent) => page * 100 < pages * percent as u64,
        }
    }

    /// Reads `all`, `1/16` or `10%`.
    fn parse(text: &str) -> Result<Self, FieldError> {
        let one_in = |n: &str| fields::number(n).filter(|n| *n > 0).map(Self::OneIn);
        let first = |p: &str| {
            fields::number(p).filter(|percent| (1..=100).contains(percent)).map(Self::First)
        };
        let parsed = match (text, text.strip_prefix("1/"), text.strip_suffix('%')) {
            ("all", ..) => Some(Self::OneIn(1)),
            (_, Some(n), _) => one_in(n),
            (.., Some(percent)) => first(percent),
            _ => None,
        };
        let accepted = "all, one page in so many such as 1/16, or the file's first 1% to 100%";
        parsed.ok_or_else(|| bad("access", text, accepted))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneIn(1) => f.write_str("all"),
            Self::OneIn(n) => write!(f, "1/{n}"),
            Self::First(percent) => write!(f, "{percent}%"),
        }
    }
}

fn percent(field: &'static str, of: RangeInclusive<u8>, text: &str) -> Result<u8, FieldError> {
    let number = fields::number(text.strip_suffix('%').unwrap_or(text));
    let accepted = || format!("per cent from {}% to {}%", of.start(), of.end());
    number.filter(|percent| of.contains(percent)).ok_or_else(|| bad(field, text, accepted()))
}

fn parse_rounds(text: &str) -> Result<u32, FieldError> {
    let number = fields::number(text).filter(|number| (1..=1000).contains(number));
    number.ok_or_else(|| bad("rounds", text, "a number from 1 to 1000"))
}

fn parse_yes(field: &'static str, text: &str) -> Result<bool, FieldError> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(bad(field, text, "yes or no")),
    }
}

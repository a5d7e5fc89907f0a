//! Scenario `reclaim-file`: a clean file mapped by processes, beside it anonymous memory if asked
//! for, and a part of all that reclaimed through `memory.reclaim`.

mod cell;
mod generations;
mod setup;
#[cfg(test)]
mod tests;

pub use cell::{ABOUT_SAMPLING, WHOLE};
pub use setup::Setup;

use crate::layout::Arena;
use pageout_experiment::fields::{self, Choices, FieldError, OrderName, bad, choice, name_of};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{FormatName, with_format};
use pageout_experiment::metrics::labels;
use pageout_experiment::rounds::Cell;
use pageout_experiment::this_machine;
use pageout_experiment::variant::Variant;
use pageout_reclaim::MapAs;
use pageout_record::schema::Labels;
use std::fmt;
use std::ops::RangeInclusive;

/// The scenario's name in records.
pub const NAME: &str = "reclaim-file";
const FIELDS: &str = "format, order, size, reclaim, processes, anon, young, chosen, map, align, \
    mapped, list and uffd-wp";
/// Largest file, and most memory for page tables.
const MAX_BYTES: u64 = 1 << 40;
const MAX_TABLE_BYTES: u64 = 4 << 30;

/// The scenario, with one value a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReclaimFile {
    /// Entry format.
    pub format: FormatName,
    /// Orders of the folios.
    pub orders: Orders,
    /// Bytes that a process maps.
    pub bytes: u64,
    /// Per cent of all memory in use that is to be reclaimed.
    pub reclaim_percent: u8,
    /// Processes that map the file.
    pub processes: u32,
    /// Per cent of what a process maps that is anonymous memory of its own, stored to, with room
    /// for all of it in swap; the rest is the file.
    pub anon_percent: u8,
    /// Per cent of leaf entries that are young at the start, chosen at random. A folio found young
    /// is kept once and reclaimed when it is met again.
    pub young_percent: u8,
    /// What young ones are chosen by.
    pub chosen: Chosen,
    /// Entries that map a folio.
    pub map: MapAs,
    /// Where the file is mapped.
    pub align: Align,
    /// How much of each folio is mapped.
    pub mapped: Mapped,
    /// In which order folios stand on the inactive list.
    pub list: ListOrder,
    /// Whether userfaultfd write-protects the mapping's VMAs.
    pub uffd_wp: bool,
}

/// Orders of a file's folios.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Orders {
    /// All of one order.
    All(OrderName),
    /// In stretches of 512 pages, a quarter each of folios of order 0, 2, 4 and 9, shuffled.
    Mixed,
}

/// What young entries are chosen by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// Each by itself.
    Entries,
    /// Those of whole folios.
    Folios,
}

/// Where a file is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Folios begin at multiples of their size: contiguous where the format has that.
    Aligned,
    /// A page beside: nothing is contiguous.
    Misaligned,
}

/// How much of each folio is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapped {
    /// All of it.
    Whole,
    /// Its first half: the rest was given up (MADV_DONTNEED).
    Half,
}

/// In which order folios stand on the inactive list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListOrder {
    /// In file order, as a file read in order has them.
    File,
    /// Shuffled.
    Shuffled,
}

const CHOSEN: Choices<'static, Chosen> =
    &[("entries", Chosen::Entries), ("folios", Chosen::Folios)];
const MAPS: Choices<'static, MapAs> = &[("ptes", MapAs::Ptes), ("pmd-leaf", MapAs::PmdLeaf)];
const ALIGNS: Choices<'static, Align> =
    &[("aligned", Align::Aligned), ("misaligned", Align::Misaligned)];
const MAPPED: Choices<'static, Mapped> = &[("whole", Mapped::Whole), ("half", Mapped::Half)];
const LISTS: Choices<'static, ListOrder> =
    &[("file", ListOrder::File), ("shuffled", ListOrder::Shuffled)];
const UFFD_WP: Choices<'static, bool> = &[("no", false), ("yes", true)];

impl ReclaimFile {
    /// The threads' benchmark: 8 of 10 GiB, mapped once, every entry young.
    pub const DEFAULT: Self = Self {
        format: FormatName::X86_64,
        orders: Orders::All(OrderName::Number(4)),
        bytes: 10 << 30,
        reclaim_percent: 80,
        processes: 1,
        anon_percent: 0,
        young_percent: 100,
        chosen: Chosen::Entries,
        map: MapAs::Ptes,
        align: Align::Aligned,
        mapped: Mapped::Whole,
        list: ListOrder::File,
        uffd_wp: false,
    };

    /// The orders of the main table.
    pub const ORDERS: [Orders; 3] = [
        Orders::All(OrderName::Number(0)),
        Orders::All(OrderName::Number(4)),
        Orders::All(OrderName::Pmd),
    ];

    /// The main table's. Single pages are of a smaller file, which says as much of them in a tenth
    /// of the time.
    pub fn main_table() -> Vec<Self> {
        let of_format = |format| {
            Self::ORDERS.map(|orders| {
                let single = orders == Orders::All(OrderName::Number(0));
                let bytes = if single { 1 << 30 } else { Self::DEFAULT.bytes };
                Self { format, orders, bytes, ..Self::DEFAULT }
            })
        };
        FormatName::MAIN.into_iter().flat_map(of_format).collect()
    }

    /// The main table's for generations: the threads' folios in a smaller file, which says as much
    /// of them in a tenth of the time.
    pub fn mglru_table() -> Vec<Self> {
        FormatName::MAIN.map(|format| Self { format, bytes: 1 << 30, ..Self::DEFAULT }).to_vec()
    }

    /// Scenarios from `FIELD=VALUE` arguments: format, order and young may be comma-separated
    /// lists, of which every combination is one scenario. Fields left out have
    /// [`ReclaimFile::DEFAULT`]'s value, but formats and orders those of the main table.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String]) -> Result<Vec<Self>, FieldError> {
        Self::parse_from(arguments, Self::DEFAULT, &FormatName::MAIN)
    }

    /// The same, where fields left out have the values of `one`, and formats are these.
    pub fn parse_from(
        arguments: &[String],
        mut one: Self,
        formats: &[FormatName],
    ) -> Result<Vec<Self>, FieldError> {
        let mut formats = formats.to_vec();
        let mut orders = Self::ORDERS.to_vec();
        let mut young = vec![one.young_percent];
        for (field, value) in fields::pairs(arguments)? {
            match field {
                "format" => formats = fields::list("format", value, FormatName::parse)?,
                "order" => orders = fields::list("order", value, Orders::parse)?,
                "young" => {
                    young = fields::list("young", value, |text| percent("young", 0..=100, text))?;
                }
                "size" => one.bytes = fields::parse_size(value)?,
                "reclaim" => one.reclaim_percent = percent("reclaim", 1..=100, value)?,
                "processes" => one.processes = fields::parse_processes(value)?,
                "anon" => one.anon_percent = percent("anon", 0..=99, value)?,
                "chosen" => one.chosen = choice("chosen", CHOSEN, value)?,
                "map" => one.map = choice("map", MAPS, value)?,
                "align" => one.align = choice("align", ALIGNS, value)?,
                "mapped" => one.mapped = choice("mapped", MAPPED, value)?,
                "list" => one.list = choice("list", LISTS, value)?,
                "uffd-wp" => one.uffd_wp = choice("uffd-wp", UFFD_WP, value)?,
                _ => {
                    return Err(FieldError::Unknown {
                        scenario: NAME,
                        field: field.to_owned(),
                        accepted: FIELDS,
                    });
                }
            }
        }
        let numbered = orders.iter().filter_map(|orders| match orders {
            Orders::All(order) => Some(*order),
            Orders::Mixed => None,
        });
        fields::distinct(&numbered.collect::<Vec<_>>(), &formats)?;
        let mut all = Vec::new();
        for format in formats {
            for orders in &orders {
                for young_percent in &young {
                    let (orders, young_percent) = (*orders, *young_percent);
                    all.push(Self { format, orders, young_percent, ..one });
                }
            }
        }
        all.iter().try_for_each(Self::check)?;
        Ok(all)
    }

    fn check(&self) -> Result<(), FieldError> {
        let folio = self.largest_folio();
        fields::check_size(self.bytes, folio, "largest folio's", MAX_BYTES)?;
        let pmd = match self.orders {
            Orders::All(order) => order.in_format(self.format) == self.format.pmd_order(),
            Orders::Mixed => false,
        };
        let whole = self.align == Align::Aligned && self.mapped == Mapped::Whole;
        let problem = if self.map == MapAs::PmdLeaf && !(pmd && whole) {
            Some("map=pmd-leaf needs order=pmd, align=aligned and mapped=whole".to_owned())
        } else if self.mapped == Mapped::Half && self.smallest_order() == 0 {
            let orders = self.orders;
            Some(format!("mapped=half needs folios of two pages or more, not order={orders}"))
        } else if self.anon_percent > 0 && !(whole && self.map == MapAs::Ptes) {
            Some("anon needs map=ptes, align=aligned and mapped=whole".to_owned())
        } else {
            self.too_many_tables()
        };
        problem.map_or(Ok(()), |problem| Err(FieldError::Together { scenario: NAME, problem }))
    }

    fn too_many_tables(&self) -> Option<String> {
        let leaf = match self.map {
            MapAs::Ptes => 0,
            MapAs::PmdLeaf => u32::from(self.format.pmd_order()),
        };
        let entries = self.bytes >> (self.format.page_shift() + leaf);
        let tables = u128::from(entries) * 8 * u128::from(self.processes);
        (tables > u128::from(MAX_TABLE_BYTES)).then(|| {
            format!(
                "{} processes mapping {} need {} MiB of page tables, more than {} MiB",
                self.processes,
                fields::display_size(self.bytes),
                tables >> 20,
                MAX_TABLE_BYTES >> 20,
            )
        })
    }

    /// Bytes of the largest folio; of a stretch, if orders are mixed.
    pub fn largest_folio(&self) -> u64 {
        let order = match self.orders {
            Orders::All(order) => order.in_format(self.format),
            Orders::Mixed => setup::MIXED[setup::MIXED.len() - 1],
        };
        (1 << self.format.page_shift()) << order
    }

    fn smallest_order(&self) -> u8 {
        match self.orders {
            Orders::All(order) => order.in_format(self.format),
            Orders::Mixed => setup::MIXED[0],
        }
    }

    /// Whether the main table shows its stages.
    pub fn shows_stages(&self) -> bool {
        self.orders == Self::DEFAULT.orders
    }

    /// The scenario's fields as records carry them.
    pub fn labels(&self) -> Labels {
        labels([
            ("format", self.format.name().to_owned()),
            ("order", self.orders.to_string()),
            ("size", fields::display_size(self.bytes)),
            ("reclaim", format!("{}%", self.reclaim_percent)),
            ("processes", self.processes.to_string()),
            ("anon", format!("{}%", self.anon_percent)),
            ("young", format!("{}%", self.young_percent)),
            ("chosen", name_of(CHOSEN, self.chosen)),
            ("map", name_of(MAPS, self.map)),
            ("align", name_of(ALIGNS, self.align)),
            ("mapped", name_of(MAPPED, self.mapped)),
            ("list", name_of(LISTS, self.list)),
            ("uffd-wp", name_of(UFFD_WP, self.uffd_wp)),
        ])
    }

    /// Bytes asked of `memory.reclaim`.
    pub fn reclaim_bytes(&self) -> u64 {
        let all = self.file_bytes() + self.anon_bytes() * u64::from(self.processes);
        (u128::from(all) * u128::from(self.reclaim_percent) / 100) as u64
    }

    /// Bytes of the file.
    fn file_bytes(&self) -> u64 {
        self.bytes - self.anon_bytes()
    }

    /// Bytes of each process's anonymous memory, in folios of the largest order.
    fn anon_bytes(&self) -> u64 {
        let folio = self.largest_folio();
        self.bytes / folio * u64::from(self.anon_percent) / 100 * folio
    }

    /// What the scenario takes, table by table.
    pub fn footprint(&self) -> Footprint {
        with_format!(self.format, F => {
            Footprint::of::<F>(&self.limits::<F>(), self.tables::<F>())
        })
    }

    /// Checks that the scenarios' memory, all at once, is there.
    ///
    /// # Errors
    /// [`FieldError::Together`] with what they need and what there is.
    pub fn check_memory(all: &[Self]) -> Result<(), FieldError> {
        let needed = all.iter().map(|one| one.footprint().bytes()).sum();
        this_machine::check_memory(needed)
            .map_err(|problem| FieldError::Together { scenario: NAME, problem })
    }

    /// Memory for [`ReclaimFile::cell`].
    pub fn arena(&self) -> Arena {
        with_format!(self.format, F => Arena::new::<F>(&self.limits::<F>(), self.tables::<F>()))
    }

    /// The scenario on `arena`, ready to be measured under `variants`; by stage, if asked for and
    /// if there is a CPU for the sampler.
    pub fn cell<'a>(
        &self,
        arena: &'a mut Arena,
        variants: &[Variant],
        seed: u64,
        by_stage: bool,
    ) -> Box<dyn Cell + 'a> {
        with_format!(self.format, F => {
            Box::new(cell::ReclaimCell::<F>::new(*self, arena, variants, seed, by_stage))
        })
    }
}

impl Orders {
    fn parse(text: &str) -> Result<Self, FieldError> {
        if text == "mixed" {
            return Ok(Self::Mixed);
        }
        OrderName::parse(text).map(Self::All).map_err(|error| match error {
            FieldError::BadValue { field, found, accepted } => {
                FieldError::BadValue { field, found, accepted: format!("{accepted}, or mixed") }
            }
            other => other,
        })
    }
}

impl fmt::Display for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(order) => order.fmt(f),
            Self::Mixed => f.write_str("mixed"),
        }
    }
}

fn percent(field: &'static str, of: RangeInclusive<u8>, text: &str) -> Result<u8, FieldError> {
    let number = fields::number(text.strip_suffix('%').unwrap_or(text));
    let percent = number.filter(|percent| of.contains(percent));
    let accepted = || format!("per cent from {}% to {}%", of.start(), of.end());
    percent.ok_or_else(|| bad(field, text, accepted()))
}

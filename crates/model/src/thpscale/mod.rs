//! Scenario `thpscale`, after the benchmark of that name in mmtests: threads fragment memory, then
//! time what it takes to fill slots of 2 MiB, for which the kernel compacts and reclaims.
//!
//! Each of N threads of one process has an equal share of 80 % of memory: it maps and fills
//! anonymous memory of that size, unmaps the first half of every 2 MiB of it, maps a second area of
//! half the size, and reads a quarter of the size of a file. Once all have, each fills its second
//! area 2 MiB at a time: that is what is timed.

mod outcome;
mod run;
mod setup;
mod thread;

pub use outcome::{
    AMEAN, BASE, BOTH, DRAWN, ELAPSED, HUGE, HUGE_SHARE, Outcome, SYSTEM, USER, WAITING,
};

use crate::{Model, One, Scenario};
use pageout_experiment::fields::{self, FieldError, bad};
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{FormatName, with_format};
use pageout_experiment::metrics::labels;
use pageout_experiment::variant::Variant;
use pageout_machine::Report;
use pageout_machine::platform::Platform;
use pageout_paging::tlb::YoungFlush;
use pageout_record::schema::{Labels, Metric};
use run::run;

/// The scenario's name.
pub const NAME: &str = "thpscale";

/// Bytes of a slot, which one page table maps.
const SLOT: u64 = 2 << 20;

/// Whether anonymous memory can be swapped out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Swap {
    /// No: reclaim has the file alone.
    None,
    /// To compressed memory.
    Zram,
}

const SWAPS: [(&str, Swap); 2] = [("none", Swap::None), ("zram", Swap::Zram)];

/// The scenario on a modelled machine, which its [`Model`] tells.
#[derive(Clone, Debug)]
pub struct Thpscale {
    threads: u32,
    memory: u64,
    swap: Swap,
    format: FormatName,
    platform: Platform,
}

impl Thpscale {
    /// The rows of the thread's table.
    pub const THREADS: [u32; 9] = [1, 3, 5, 7, 12, 18, 24, 30, 32];
    /// About the memory with which one run takes a second of this program's time.
    pub const MEMORY: u64 = 1 << 30;
    const MOST_MEMORY: u64 = 16 << 30;
    const FIELDS: &str = "threads, memory, swap and format";

    /// What kernels do, by the architecture's policy, against no invalidation after a young bit was
    /// cleared.
    pub const VARIANTS: [Variant; 2] =
        [Variant::BEFORE, Variant { flush: Some(YoungFlush::None), ..Variant::BEFORE }];

    /// Scenarios from `FIELD=VALUE` arguments. Without a platform or a format, the thread's:
    /// arm64-4k.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String], model: &Model) -> Result<Vec<Self>, FieldError> {
        let (mut memory, mut swap) = (None, Swap::None);
        let mut threads = Self::THREADS.to_vec();
        let mut formats = match model.platform {
            None => vec![FormatName::Arm64_4K],
            Some(_) => model.formats(),
        };
        for (field, value) in fields::pairs(arguments)? {
            match field {
                "threads" => threads = fields::list("threads", value, parse_threads)?,
                "memory" => memory = Some(parse_memory(value)?),
                "swap" => swap = parse_swap(value)?,
                "format" => formats = fields::list("format", value, parse_format)?,
                _ => {
                    let (field, accepted) = (field.to_owned(), Self::FIELDS);
                    return Err(FieldError::Unknown { scenario: NAME, field, accepted });
                }
            }
        }
        let mut all = Vec::new();
        for format in formats {
            let platform = model.platform_for(format)?;
            for threads in &threads {
                let (threads, platform) = (*threads, platform.clone());
                let memory = memory.unwrap_or_else(|| near(Self::MEMORY, threads));
                let one = Self { threads, memory, swap, format, platform };
                one.check()?;
                all.push(one);
            }
        }
        Ok(all)
    }

    /// All rows of the thread's table, with about so much memory each.
    ///
    /// # Errors
    /// [`FieldError`] if the model's platform has no huge pages of 2 MiB.
    pub fn rows_near(bytes: u64, model: &Model) -> Result<Vec<Self>, FieldError> {
        let mut all = Self::parse(&[], model)?;
        for one in &mut all {
            one.memory = near(bytes, one.threads);
        }
        Ok(all)
    }

    fn check(&self) -> Result<(), FieldError> {
        if self.slots() > 0 {
            return Ok(());
        }
        let (memory, threads) = (fields::display_size(self.memory), self.threads);
        let problem = format!("{memory} has no slot of 2 MiB for each of {threads} threads");
        Err(FieldError::Together { scenario: NAME, problem })
    }

    /// Bytes of all threads' shares.
    const fn total(&self) -> u64 {
        self.memory / 10 * 8
    }

    /// Bytes of a thread's first area.
    const fn share(&self) -> u64 {
        self.total() / self.threads as u64 / SLOT * SLOT
    }

    /// Slots of a thread's second area.
    const fn slots(&self) -> u64 {
        self.total() / self.threads as u64 / SLOT / 2
    }

    /// Bytes of the file that a thread reads.
    const fn file(&self) -> u64 {
        self.share() / 4
    }
}

impl Scenario for Thpscale {
    type Outcome = Outcome;
    const NAME: &'static str = NAME;

    fn labels(&self, model: &Model) -> Labels {
        let swap = SWAPS.into_iter().find(|(_, swap)| *swap == self.swap).expect("all are named").0;
        let mut labels = labels([
            ("threads", self.threads.to_string()),
            ("memory", fields::display_size(self.memory)),
            ("swap", swap.to_owned()),
            ("format", self.format.name().to_owned()),
        ]);
        labels.extend(model.labels(&self.platform));
        labels
    }

    fn footprint(&self, _: &Model) -> Footprint {
        with_format!(self.format, F => {
            let (limits, tables) = self.limits::<F>();
            Footprint::of::<F>(&limits, tables)
        })
    }

    fn run(&self, model: &Model, variant: Variant, one: One) -> Outcome {
        with_format!(self.format, F => run::<F>(self, model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        outcome::metrics(nominal, drawn)
    }

    fn report(outcome: &Outcome) -> &Report {
        &outcome.report
    }
}

/// The memory nearest to `bytes` of which 80 % give each thread whole slots in both areas: what the
/// program rounds off is next to nothing of a large memory, and would be much of a small one.
fn near(bytes: u64, threads: u32) -> u64 {
    let whole = u64::from(threads) * SLOT / 8 * 20;
    let grain = if whole.is_multiple_of(SLOT) { whole } else { 2 * whole };
    ((bytes + grain / 2) / grain).max(1) * grain
}

fn parse_threads(text: &str) -> Result<u32, FieldError> {
    let number = fields::number(text).filter(|number| (1..=128).contains(number));
    number.ok_or_else(|| bad("threads", text, "numbers from 1 to 128"))
}

fn parse_memory(text: &str) -> Result<u64, FieldError> {
    const ACCEPTED: &str = "a multiple of 2MiB from 16MiB to 16GiB";
    let bytes = fields::parse_size(text).ok().filter(|bytes| {
        bytes.is_multiple_of(SLOT) && (16 << 20..=Thpscale::MOST_MEMORY).contains(bytes)
    });
    bytes.ok_or_else(|| bad("memory", text, ACCEPTED))
}

fn parse_swap(text: &str) -> Result<Swap, FieldError> {
    let found = SWAPS.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, swap)| swap).ok_or_else(|| bad("swap", text, "none or zram"))
}

/// The program knows slots of 2 MiB alone.
fn parse_format(text: &str) -> Result<FormatName, FieldError> {
    let format = FormatName::parse(text)?;
    let slot = 1 << (format.page_shift() + u32::from(format.pmd_order()));
    if slot == SLOT {
        return Ok(format);
    }
    Err(bad("format", text, "x86-64, arm64-4k or riscv64: huge pages of 2 MiB"))
}

#[cfg(test)]
mod tests;

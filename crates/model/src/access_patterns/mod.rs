//! Scenario `access-patterns`: a program uses a file larger than memory through a shared mapping,
//! in order or at random, and memory has to be reclaimed all the while. What follows a young bit
//! found is what its variants differ in.
//!
//! One thread on the first core; background reclaim on the second, a flusher on the third. Nothing
//! of it is timed on the host: it runs on ground `model` alone.

mod background;
mod measure;
mod order;
mod program;
mod setup;
mod summary;
#[cfg(test)]
mod tests;

pub use measure::{DRAWN, TIME, Times};
pub use summary::table;

use crate::{Model, check_memory};
use pageout_experiment::fields::{self, FieldError, bad, choice, display_size, name_of};
use pageout_experiment::formats::{FormatName, with_format};
use pageout_experiment::metrics::labels;
use pageout_experiment::variant::{Axes, Lru, Variant};
use pageout_machine::platform::Platform;
use pageout_paging::tlb::YoungFlush;
use pageout_paging::young::Family;
use pageout_reclaim::{ShootdownWhen, UnmapBy};
use pageout_record::schema::{Ground, Labels, Record};

/// The scenario's name in records.
pub const NAME: &str = "access-patterns";
const FIELDS: &str = "format, pattern, access, hot, memory and size";
/// Sizes are multiples of what is read ahead at once.
const UNIT: u64 = program::READ_AHEAD * 4096;
const LEAST_MEMORY: u64 = 2 << 20;
const MOST_MEMORY: u64 = 4 << 30;
const MAX_BYTES: u64 = 16 << 30;

/// In which order pages are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// One after the other, each line of each, from a page chosen at random around the file's end
    /// once.
    Seq,
    /// Pages chosen at random, a word of each.
    Random,
    /// The same, and among them one page again and again.
    HotRandom,
}

/// How pages are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Loads.
    Read,
    /// Stores.
    Write,
}

const PATTERNS: [(&str, Pattern); 3] =
    [("seq", Pattern::Seq), ("random", Pattern::Random), ("hot-random", Pattern::HotRandom)];
const USES: [(&str, Use); 2] = [("read", Use::Read), ("write", Use::Write)];

/// The scenario, with one value a field.
#[derive(Clone, Debug)]
pub struct AccessPatterns {
    format: FormatName,
    pattern: Pattern,
    access: Use,
    /// Per cent of uses that are of the hot page, where there is one.
    hot_percent: u8,
    /// Bytes of memory.
    memory: u64,
    /// Bytes of the file.
    bytes: u64,
    platform: Platform,
}

/// What kernels did in 2018, with each way to follow a young bit: every entry by itself, and waited
/// for when it is taken out.
pub const POLICIES: [Variant; 3] =
    [policy(YoungFlush::Sync), policy(YoungFlush::Nosync), policy(YoungFlush::None)];

const fn policy(flush: YoungFlush) -> Variant {
    Variant {
        young: Family::PerEntry,
        unmap: UnmapBy::PerEntry,
        shootdown: ShootdownWhen::Immediate,
        flush: Some(flush),
        lru: Lru::Classic,
    }
}

impl AccessPatterns {
    /// A run takes a fraction of a second of the host, and the TLB of the thread's machine reaches
    /// an eighth of the pages.
    const MEMORY: u64 = 32 << 20;

    /// Scenarios from `FIELD=VALUE` arguments: format, pattern and access may be comma-separated
    /// lists, of which every combination is one scenario.
    ///
    /// # Errors
    /// [`FieldError`] names the field, what was found and what is accepted.
    pub fn parse(arguments: &[String], model: &Model) -> Result<Vec<Self>, FieldError> {
        let mut formats = match model.platform {
            None => vec![FormatName::Arm64_4K],
            Some(_) => model.formats(),
        };
        let mut patterns = PATTERNS.map(|(_, pattern)| pattern).to_vec();
        let mut accesses = USES.map(|(_, access)| access).to_vec();
        let (mut hot_percent, mut memory, mut bytes) = (10, Self::MEMORY, None);
        for (field, value) in fields::pairs(arguments)? {
            match field {
                "format" => formats = fields::list("format", value, FormatName::parse)?,
                "pattern" => {
                    patterns =
                        fields::list("pattern", value, |text| choice("pattern", &PATTERNS, text))?;
                }
                "access" => {
                    let one = |text: &str| choice("access", &USES, text);
                    accesses = fields::list("access", value, one)?;
                }
                "hot" => hot_percent = parse_percent(value)?,
                "memory" => memory = sized("memory", value, LEAST_MEMORY, MOST_MEMORY)?,
                "size" => bytes = Some(sized("size", value, UNIT, MAX_BYTES)?),
                _ => {
                    let (scenario, field) = (NAME, field.to_owned());
                    return Err(FieldError::Unknown { scenario, field, accepted: FIELDS });
                }
            }
        }
        let bytes = bytes.unwrap_or(2 * memory);
        if bytes <= memory {
            let (file, memory) = (display_size(bytes), display_size(memory));
            let problem = format!("size={file} has to be larger than memory={memory}");
            return Err(FieldError::Together { scenario: NAME, problem });
        }
        let mut all = Vec::new();
        for format in formats {
            let platform = platform_for(format, model)?;
            for access in &accesses {
                for pattern in &patterns {
                    let (pattern, access) = (*pattern, *access);
                    let platform = platform.clone();
                    let one =
                        Self { format, pattern, access, hot_percent, memory, bytes, platform };
                    all.push(one);
                }
            }
        }
        Ok(all)
    }

    /// The six tests with so much memory, on the platform that answers to theirs.
    pub fn six_tests(memory: u64, platform: &Platform) -> Vec<Self> {
        let test = |access, pattern| Self {
            format: FormatName::Arm64_4K,
            pattern,
            access,
            hot_percent: 10,
            memory,
            bytes: 2 * memory,
            platform: platform.clone(),
        };
        let tests = USES.map(|(_, access)| PATTERNS.map(|(_, pattern)| test(access, pattern)));
        tests.concat()
    }

    /// The same test where so many per cent of the uses are of the hot page.
    #[must_use]
    pub fn with_hot(self, hot_percent: u8) -> Self {
        Self { hot_percent, ..self }
    }

    /// The scenario's fields as records carry them.
    fn labels(&self, model: &Model) -> Labels {
        let mut labels = labels([
            ("format", self.format.name().to_owned()),
            ("pattern", name_of(&PATTERNS, self.pattern)),
            ("access", name_of(&USES, self.access)),
            ("memory", display_size(self.memory)),
            ("size", display_size(self.bytes)),
        ]);
        if self.pattern == Pattern::HotRandom {
            labels.insert("hot".to_owned(), format!("{}%", self.hot_percent));
        }
        labels.extend(model.labels(&self.platform));
        labels
    }

    /// Runs every scenario under every variant: a record each.
    pub fn records(
        all: &[Self],
        variants: &[Variant],
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Vec<Record> {
        let outcomes = measure::outcomes(all, variants, model, progress);
        let each = all.iter().flat_map(|one| variants.iter().map(move |variant| (one, *variant)));
        let record = |((one, variant), outcomes): ((&Self, Variant), &measure::Outcomes)| Record {
            scenario: NAME.to_owned(),
            ground: Ground::Model,
            seed: model.seed,
            fields: one.labels(model),
            variant: variant.labels(Axes::Reclaim),
            metrics: measure::metrics(outcomes, model.runs as usize),
        };
        each.zip(&outcomes).map(record).collect()
    }

    /// Checks that memory is there for as many runs as there are at once.
    ///
    /// # Errors
    /// [`FieldError::Together`] with what they need and what there is.
    pub fn check_memory(all: &[Self], variants: usize, model: &Model) -> Result<(), FieldError> {
        let footprints = all.iter().map(|one| with_format!(one.format, F => one.footprint::<F>()));
        check_memory(NAME, footprints, variants, model)
    }

    /// The times of all scenarios under all variants: the runs of the model, and with each of its
    /// draws of prices `each` runs with seeds of their own.
    pub fn times(all: &[Self], variants: &[Variant], model: &Model, each: u32) -> Vec<Times> {
        measure::times(all, variants, model, each)
    }

    /// Where the time of the first run goes, as folded stacks in nanoseconds.
    pub fn folded(&self, model: &Model, variant: Variant) -> String {
        measure::folded(self, model, variant)
    }

    /// Pages of the file.
    fn pages(&self) -> u64 {
        self.bytes >> self.format.page_shift()
    }
}

/// The machine of the thread, unless another is asked for.
fn platform_for(format: FormatName, model: &Model) -> Result<Platform, FieldError> {
    match (&model.platform, format) {
        (None, FormatName::Arm64_4K | FormatName::Arm64_16K | FormatName::Arm64_64K) => {
            Ok(Platform::named("carmel-8-class").expect("a platform that comes with the program"))
        }
        _ => model.platform_for(format),
    }
}

fn parse_percent(text: &str) -> Result<u8, FieldError> {
    let number = fields::number(text.strip_suffix('%').unwrap_or(text));
    let percent = number.filter(|percent| (1..=99).contains(percent));
    percent.ok_or_else(|| bad("hot", text, "per cent from 1% to 99%"))
}

fn sized(field: &'static str, text: &str, least: u64, most: u64) -> Result<u64, FieldError> {
    let bytes = fields::parse_size(text).ok();
    let fits = |bytes: &u64| bytes.is_multiple_of(UNIT) && (least..=most).contains(bytes);
    bytes.filter(fits).ok_or_else(|| {
        let [unit, least, most] = [UNIT, least, most].map(display_size);
        bad(field, text, format!("a multiple of {unit} from {least} to {most}"))
    })
}

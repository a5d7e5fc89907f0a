//! Variants: the choices that a comparison varies, one on each axis.

mod names;

pub use names::{declare, name_of, names};

use crate::formats::FormatName;
use crate::kinds::Choice;
use crate::metrics::labels;
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{Aging, FlushTiming, PmdLeaves, Thp, Tuning, UnmapGranularity, Unmapping};
use pageout_record::schema::Labels;
use pageout_refusal::{BadValue, UnknownName, whole_number};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A choice on every axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// The algorithm of young checks.
    pub young: YoungAlgorithm,
    /// The way in which entries are unmapped.
    pub unmap: UnmapGranularity,
    /// The time at which other CPUs flush entries that were unmapped.
    pub shootdown: FlushTiming,
    /// The flush after a young bit is cleared; `None` is the architecture's own policy.
    pub flush: Option<YoungFlush>,
    /// The lists by which folios age.
    pub lru: Lru,
}

/// The lists by which folios age.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lru {
    /// Active and inactive lists.
    Classic,
    /// Generations, with all hardware support that the architecture has for them.
    Mglru,
}

/// The axes that bear on a scenario. Its records have no labels for the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axes {
    /// `young` and `flush`: the scenario checks young bits, and reclaims no page.
    Aging,
    /// All axes.
    Reclaim,
}

/// The reason why a variant's text was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VariantError {
    /// A text that is neither a name nor an axis with its choice.
    #[error(
        "variant `{}`: expected a name ({}), or AXIS=CHOICE, such as young=line",
        .0,
        names().join(", ")
    )]
    NotAPair(String),
    /// An unknown axis, or a choice that its axis does not have.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// A number of CPUs from which shootdowns are deferred that is none.
    #[error("variant axis `shootdown`: N of deferred-Ncpus: {0}")]
    Cpus(BadValue),
    /// The same axis twice.
    #[error("variant axis `{0}` is given twice: expected one choice")]
    Twice(String),
    /// Other lists than those of the scenario or of its fields.
    #[error("variant axis `lru`: found `{found}`, accepted: {named}, which the scenario is on")]
    OtherLists {
        /// The lists that were given.
        found: &'static str,
        /// The scenario's lists.
        named: &'static str,
    },
}

/// Returns the name of an algorithm in variants, records and tables.
pub const fn algorithm_name(algorithm: YoungAlgorithm) -> &'static str {
    match algorithm {
        YoungAlgorithm::PerEntry => "per-entry",
        YoungAlgorithm::Batched => "batched",
        YoungAlgorithm::Line => "line",
    }
}

const fn unmap_name(unmap: UnmapGranularity) -> &'static str {
    match unmap {
        UnmapGranularity::PerEntry => "per-entry",
        UnmapGranularity::Batched => "batched",
    }
}

/// Returns the name of a choice of `shootdown` in variants, records and tables.
pub fn shootdown_name(shootdown: FlushTiming) -> Cow<'static, str> {
    match shootdown {
        FlushTiming::Immediate => "immediate".into(),
        FlushTiming::Deferred => "deferred".into(),
        FlushTiming::DeferredFrom { cpus } => format!("deferred-{cpus}cpus").into(),
    }
}

/// Parses a choice of `shootdown`.
fn shootdown(name: &str) -> Result<FlushTiming, VariantError> {
    let number = name.strip_prefix("deferred-").and_then(|rest| rest.strip_suffix("cpus"));
    match (name, number) {
        ("immediate", _) => Ok(FlushTiming::Immediate),
        ("deferred", _) => Ok(FlushTiming::Deferred),
        (_, Some(number)) => {
            let cpus = whole_number(number, 2..=u64::from(u16::MAX)).map_err(VariantError::Cpus)?;
            let cpus = u16::try_from(cpus).expect("it is within the bounds");
            Ok(FlushTiming::DeferredFrom { cpus })
        }
        _ => {
            let names = ["immediate", "deferred", "deferred-Ncpus"];
            Err(UnknownName::new("choice", name, names).of("variant axis `shootdown`").into())
        }
    }
}

const fn flush_name(flush: Option<YoungFlush>) -> &'static str {
    match flush {
        None => "architecture",
        Some(YoungFlush::Sync) => "sync",
        Some(YoungFlush::Nosync) => "nosync",
        Some(YoungFlush::None) => "none",
    }
}

const fn lru_name(lru: Lru) -> &'static str {
    match lru {
        Lru::Classic => "classic",
        Lru::Mglru => "mglru",
    }
}

/// Describes the choice `architecture` of the flush axis on each format.
pub fn architecture_flush() -> String {
    let one = |format: FormatName| {
        let policy = format.flush_policy();
        let (pte, pmd) = (flush_name(Some(policy.pte)), flush_name(Some(policy.pmd)));
        format!("{} {pte} for a PTE and {pmd} for a PMD leaf", format.name())
    };
    format!("flush=architecture: {}", FormatName::MAIN.map(one).join(", "))
}

impl Variant {
    /// Young bits checked entry by entry, with defaults on all other axes. It is the base of
    /// comparisons of aging.
    pub const UNBATCHED_AGING: Self = Self::of(YoungAlgorithm::PerEntry);

    /// Kernels before they checked young bits and unmapped file folios in batches.
    pub const BEFORE: Self =
        Self { unmap: UnmapGranularity::PerEntry, ..Self::of(YoungAlgorithm::PerEntry) };

    /// The steps after [`Variant::BEFORE`]: batched young bits; batched unmapping too, which is the
    /// merged state; and ours.
    pub const STEPS: [Self; 3] = [
        Self { unmap: UnmapGranularity::PerEntry, ..Self::of(YoungAlgorithm::Batched) },
        Self::of(YoungAlgorithm::Batched),
        Self::of(YoungAlgorithm::Line),
    ];

    /// The base of the generations' batching: unmapping was batched before.
    pub const MGLRU_BEFORE: Self = Self::of(YoungAlgorithm::PerEntry).on(Lru::Mglru);

    /// The steps after [`Variant::MGLRU_BEFORE`]: the merged state, and ours.
    pub const MGLRU_STEPS: [Self; 2] = [
        Self::of(YoungAlgorithm::Batched).on(Lru::Mglru),
        Self::of(YoungAlgorithm::Line).on(Lru::Mglru),
    ];

    /// Returns the variant of an algorithm with defaults on all other axes.
    pub const fn of(young: YoungAlgorithm) -> Self {
        Self {
            young,
            unmap: UnmapGranularity::Batched,
            shootdown: FlushTiming::Deferred,
            flush: None,
            lru: Lru::Classic,
        }
    }

    /// Returns the same variant on other lists.
    pub const fn on(self, lru: Lru) -> Self {
        Self { lru, ..self }
    }

    /// Returns the same variant with every algorithm, this one first.
    pub fn with_every_algorithm(self) -> Vec<Self> {
        let others = YoungAlgorithm::ALL.into_iter().map(move |young| Self { young, ..self });
        [self].into_iter().chain(others.filter(|other| *other != self)).collect()
    }

    /// Returns every axis of `axes` with its choice.
    pub fn labels(self, axes: Axes) -> Labels {
        let (young, flush) = (algorithm_name(self.young), flush_name(self.flush));
        let mut all = labels([("young", young.to_owned()), ("flush", flush.to_owned())]);
        if axes == Axes::Reclaim {
            all.insert("unmap".to_owned(), unmap_name(self.unmap).to_owned());
            all.insert("shootdown".to_owned(), shootdown_name(self.shootdown).into_owned());
            all.insert("lru".to_owned(), lru_name(self.lru).to_owned());
        }
        all
    }

    /// Returns the settings of the young check. `default` is the architecture's flush policy.
    pub fn aging(self, default: FlushPolicy) -> Aging {
        Aging { algorithm: self.young, flush: self.flush.map_or(default, FlushPolicy::uniform) }
    }

    /// Returns the settings of reclaim. `default` is the architecture's flush policy.
    pub fn tuning(self, default: FlushPolicy) -> Tuning {
        let (read, shootdown) = (self.young.getter(), self.shootdown);
        let unmapping = Unmapping { by: self.unmap, read, shootdown };
        let (thp, pmd_leaves) = (Thp::Never, PmdLeaves::Never);
        Tuning { aging: self.aging(default), unmapping, thp, pmd_leaves }
    }
}

impl Lru {
    /// Reads `classic` or `mglru`.
    ///
    /// # Errors
    /// [`VariantError::Unknown`].
    pub fn parse(name: &str) -> Result<Self, VariantError> {
        LRU.choice(name)
    }
}

impl Choice for Lru {
    const NAMES: &'static [(&'static str, Self)] =
        &[(lru_name(Self::Classic), Self::Classic), (lru_name(Self::Mglru), Self::Mglru)];
}

impl fmt::Display for Lru {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(lru_name(*self))
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "young={},unmap={},shootdown={},flush={},lru={}",
            algorithm_name(self.young),
            unmap_name(self.unmap),
            shootdown_name(self.shootdown),
            flush_name(self.flush),
            lru_name(self.lru)
        )
    }
}

impl FromStr for Variant {
    type Err = VariantError;

    fn from_str(text: &str) -> Result<Self, VariantError> {
        Self::parse_on(None, text)
    }
}

impl Variant {
    /// Reads a variant by its name or by axes. If `lru` is given, the variant is on these lists,
    /// and the text may not name others.
    ///
    /// # Errors
    /// [`VariantError`].
    pub fn parse_on(lru: Option<Lru>, text: &str) -> Result<Self, VariantError> {
        if let Some(named) = names::named(text, lru.unwrap_or(Lru::Classic)) {
            return Ok(named);
        }
        let mut variant = Self::of(YoungAlgorithm::Line).on(lru.unwrap_or(Lru::Classic));
        let mut seen = Vec::new();
        for part in text.split(',') {
            let pair = part.split_once('=');
            let (axis, choice) = pair.ok_or_else(|| VariantError::NotAPair(part.to_owned()))?;
            match axis {
                "young" => variant.young = YOUNG.choice(choice)?,
                "unmap" => variant.unmap = UNMAP.choice(choice)?,
                "shootdown" => variant.shootdown = shootdown(choice)?,
                "flush" => variant.flush = FLUSH.choice(choice)?,
                "lru" => variant.lru = LRU.choice(choice)?,
                _ => {
                    let names = AXES.map(|(name, _)| name);
                    return Err(UnknownName::new("variant axis", axis, names).into());
                }
            }
            if seen.contains(&axis) {
                return Err(VariantError::Twice(axis.to_owned()));
            }
            seen.push(axis);
        }
        if let Some(named) = lru.filter(|named| *named != variant.lru) {
            let (found, named) = (lru_name(variant.lru), lru_name(named));
            return Err(VariantError::OtherLists { found, named });
        }
        Ok(variant)
    }
}

/// An axis with its choices and their names.
struct Axis<T: 'static> {
    name: &'static str,
    choices: &'static [T],
    name_of: fn(T) -> &'static str,
}

/// The axes, each with a description of its choices.
pub const AXES: [(&str, &str); 5] = [
    (
        YOUNG.name,
        "Check of young bits: per-entry (as kernels did), batched (as Linux 7.3) or line \
         (ours: eight entries at a time) [default: line]",
    ),
    (
        UNMAP.name,
        "Removal of entries: per-entry, or batched where that is sound [default: batched]",
    ),
    (
        "shootdown",
        "Time at which other CPUs are interrupted for removed entries: immediate, or \
         deferred to one flush for a batch of folios. deferred-Ncpus, such as \
         deferred-8cpus, defers on machines of at least N CPUs [default: deferred]",
    ),
    (
        FLUSH.name,
        "Flush after a young bit was cleared: none, nosync (invalidate), sync (and wait), \
         or architecture, as kernels do: none on x86-64, nosync on arm64-4k, sync for PMD \
         leaves. On ground host, flushes are counted, not executed [default: architecture]",
    ),
    (
        LRU.name,
        "Lists by which folios age: classic (active and inactive) or mglru (generations, \
         with page-table walks and look-around; without flushes of young bits) \
         [default: classic]",
    ),
];

const YOUNG: Axis<YoungAlgorithm> =
    Axis { name: "young", choices: &YoungAlgorithm::ALL, name_of: algorithm_name };
const UNMAP: Axis<UnmapGranularity> = Axis {
    name: "unmap",
    choices: &[UnmapGranularity::PerEntry, UnmapGranularity::Batched],
    name_of: unmap_name,
};
const FLUSH: Axis<Option<YoungFlush>> =
    Axis { name: "flush", choices: &FLUSHES, name_of: flush_name };

const LRU: Axis<Lru> =
    Axis { name: "lru", choices: &[Lru::Classic, Lru::Mglru], name_of: lru_name };

/// The choices of `flush`: the architecture's own policy, then each that may be forced.
pub(crate) const FLUSHES: [Option<YoungFlush>; 1 + YoungFlush::ALL.len()] = {
    let mut all = [None; 1 + YoungFlush::ALL.len()];
    let mut k = 0;
    while k < YoungFlush::ALL.len() {
        all[k + 1] = Some(YoungFlush::ALL[k]);
        k += 1;
    }
    all
};

impl<T: Copy> Axis<T> {
    fn choice(&self, name: &str) -> Result<T, VariantError> {
        let found = self.choices.iter().find(|choice| (self.name_of)(**choice) == name);
        found.copied().ok_or_else(|| {
            let names = self.choices.iter().map(|choice| (self.name_of)(*choice));
            UnknownName::new("choice", name, names)
                .of(format!("variant axis `{}`", self.name))
                .into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_displayed_parses_back() {
        for young in YoungAlgorithm::ALL {
            for unmap in UNMAP.choices {
                for shootdown in [
                    FlushTiming::Immediate,
                    FlushTiming::Deferred,
                    FlushTiming::DeferredFrom { cpus: 2 },
                    FlushTiming::DeferredFrom { cpus: u16::MAX },
                ] {
                    for flush in FLUSH.choices {
                        let (unmap, flush) = (*unmap, *flush);
                        let classic = Variant { unmap, shootdown, flush, ..Variant::of(young) };
                        for variant in [classic, classic.on(Lru::Mglru)] {
                            assert_eq!(variant.to_string().parse(), Ok(variant));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn lists_are_told_where_reclaim_is() {
        let axes =
            |variant: Variant, axes| variant.labels(axes).keys().cloned().collect::<Vec<_>>();
        assert_eq!(axes(Variant::MGLRU_BEFORE, Axes::Aging), ["flush", "young"]);
        let all = ["flush", "lru", "shootdown", "unmap", "young"];
        assert_eq!(axes(Variant::MGLRU_BEFORE, Axes::Reclaim), all);
    }

    #[test]
    fn an_axis_left_out_takes_its_default() {
        assert_eq!("young=line".parse(), Ok(Variant::of(YoungAlgorithm::Line)));
        assert_eq!("young=per-entry,unmap=per-entry".parse(), Ok(Variant::BEFORE));
        assert_eq!("flush=architecture".parse(), Ok(Variant::of(YoungAlgorithm::Line)));
        assert_eq!("young=per-entry,lru=mglru".parse(), Ok(Variant::MGLRU_BEFORE));
        assert_eq!("lru=mglru".parse(), Ok(Variant::MGLRU_STEPS[1]));
    }

    #[test]
    fn bad_variants_name_what_is_accepted() {
        let message = |text: &str| text.parse::<Variant>().unwrap_err().to_string();
        assert!(message("young=fast").contains("per-entry, batched or line"));
        assert!(message("colour=red").contains("young, unmap, shootdown, flush or lru"));
        for name in ["late", "deferred-4", "deferred-from=4"] {
            let message = message(&format!("shootdown={name}"));
            assert!(message.contains("immediate, deferred or deferred-Ncpus"), "{message}");
        }
        for number in ["", "0", "1", "-4", "4.5", "65536", "few"] {
            let message = message(&format!("shootdown=deferred-{number}cpus"));
            assert!(message.contains("N of deferred-Ncpus"), "{message}");
            assert!(message.contains("a whole number from 2 to 65535"), "{message}");
        }
        assert!(message("lru=2q").contains("classic or mglru"));
        assert!(message("young").contains("AXIS=CHOICE"));
        assert!(message("young=line,young=line").contains("given twice"));
        assert!(message("").contains("AXIS=CHOICE"));
    }

    #[test]
    fn a_variant_is_on_the_lists_that_were_named_before() {
        let on = |text| Variant::parse_on(Some(Lru::Mglru), text);
        assert_eq!(on("young=per-entry"), Ok(Variant::MGLRU_BEFORE));
        assert_eq!(on("young=per-entry,lru=mglru"), Ok(Variant::MGLRU_BEFORE));
        let message = on("lru=classic").unwrap_err().to_string();
        assert_eq!(
            message,
            "variant axis `lru`: found `classic`, accepted: mglru, which the scenario is on"
        );
    }
}

//! Variants: what a comparison varies, one choice an axis.

use crate::formats::FormatName;
use crate::metrics::labels;
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::Family;
use pageout_reclaim::{Aging, LruGenLoop, ShootdownWhen, Tuning, UnmapBy, Unmapping};
use pageout_record::schema::Labels;
use std::fmt;
use std::str::FromStr;

/// A choice on every axis there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// How young bits are checked.
    pub young: Family,
    /// How entries are taken out.
    pub unmap: UnmapBy,
    /// When other CPUs are told of entries taken out.
    pub shootdown: ShootdownWhen,
    /// What follows a young bit found; `None` is the architecture's own policy.
    pub flush: Option<YoungFlush>,
}

/// Which axes bear on a scenario: the others are not told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axes {
    /// Young bits are checked, and nothing is reclaimed: young and flush.
    Aging,
    /// All of them.
    Reclaim,
}

/// Why a variant's text was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VariantError {
    /// A part without an equals sign.
    #[error("variant part `{0}`: expected AXIS=CHOICE, such as young=line")]
    NotAPair(String),
    /// An axis that is not there.
    #[error("variant axis `{0}`: expected young, unmap, shootdown or flush")]
    UnknownAxis(String),
    /// An axis of the design that no code stands behind yet.
    #[error(
        "variant axis `{0}`: not implemented yet; available are young, unmap, shootdown and flush"
    )]
    NotYet(String),
    /// A choice that the axis does not have.
    #[error("variant axis `{axis}`: found `{found}`, expected {accepted}")]
    UnknownChoice {
        /// The axis.
        axis: &'static str,
        /// What was given.
        found: String,
        /// The choices.
        accepted: String,
    },
    /// The same axis twice.
    #[error("variant axis `{0}`: given twice")]
    Twice(String),
}

/// The name of a family in variants, records and tables.
pub const fn family_name(family: Family) -> &'static str {
    match family {
        Family::PerEntry => "per-entry",
        Family::Batched => "batched",
        Family::Line => "line",
    }
}

const fn unmap_name(unmap: UnmapBy) -> &'static str {
    match unmap {
        UnmapBy::PerEntry => "per-entry",
        UnmapBy::Batched => "batched",
    }
}

const fn shootdown_name(shootdown: ShootdownWhen) -> &'static str {
    match shootdown {
        ShootdownWhen::Immediate => "immediate",
        ShootdownWhen::Deferred => "deferred",
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

/// What the choice `architecture` of the flush axis is on each format, in words.
pub fn architecture_flush() -> String {
    let one = |format: FormatName| {
        let policy = format.flush_policy();
        let (pte, pmd) = (flush_name(Some(policy.pte)), flush_name(Some(policy.pmd)));
        format!("{} {pte} for a PTE and {pmd} for a PMD leaf", format.name())
    };
    format!("flush=architecture: {}", FormatName::MAIN.map(one).join(", "))
}

impl Variant {
    /// Young bits checked entry by entry, all else at its default: what aging is compared with.
    pub const UNBATCHED_AGING: Self = Self::of(Family::PerEntry);

    /// What kernels did before young bits were checked, and file folios unmapped, in batches.
    pub const BEFORE: Self = Self { unmap: UnmapBy::PerEntry, ..Self::of(Family::PerEntry) };

    /// The steps from [`Variant::BEFORE`] on: young bits batched; unmapping too, which is the
    /// merged state; and ours.
    pub const STEPS: [Self; 3] = [
        Self { unmap: UnmapBy::PerEntry, ..Self::of(Family::Batched) },
        Self::of(Family::Batched),
        Self::of(Family::Line),
    ];

    /// The variant of a family with every other axis at its default.
    pub const fn of(young: Family) -> Self {
        Self { young, unmap: UnmapBy::Batched, shootdown: ShootdownWhen::Deferred, flush: None }
    }

    /// The same variant in every family.
    pub fn in_every_family(self) -> impl Iterator<Item = Self> {
        Family::ALL.into_iter().map(move |young| Self { young, ..self })
    }

    /// Every axis of `axes` with its choice.
    pub fn labels(self, axes: Axes) -> Labels {
        let (young, flush) = (family_name(self.young), flush_name(self.flush));
        let mut all = labels([("young", young.to_owned()), ("flush", flush.to_owned())]);
        if axes == Axes::Reclaim {
            all.insert("unmap".to_owned(), unmap_name(self.unmap).to_owned());
            all.insert("shootdown".to_owned(), shootdown_name(self.shootdown).to_owned());
        }
        all
    }

    /// What the young check is told, where `default` is the architecture's flush policy.
    pub fn aging(self, default: FlushPolicy) -> Aging {
        Aging { family: self.young, flush: self.flush.map_or(default, FlushPolicy::forced) }
    }

    /// What reclaim is told, likewise.
    pub fn tuning(self, default: FlushPolicy) -> Tuning {
        let unmapping = Unmapping { by: self.unmap, shootdown: self.shootdown };
        Tuning { aging: self.aging(default), unmapping, lru_gen: LruGenLoop::V7_1 }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "young={},unmap={},shootdown={},flush={}",
            family_name(self.young),
            unmap_name(self.unmap),
            shootdown_name(self.shootdown),
            flush_name(self.flush)
        )
    }
}

impl FromStr for Variant {
    type Err = VariantError;

    fn from_str(text: &str) -> Result<Self, VariantError> {
        let mut variant = Self::of(Family::Line);
        let mut seen = Vec::new();
        for part in text.split(',') {
            let pair = part.split_once('=');
            let (axis, choice) = pair.ok_or_else(|| VariantError::NotAPair(part.to_owned()))?;
            match axis {
                "young" => variant.young = YOUNG.choice(choice)?,
                "unmap" => variant.unmap = UNMAP.choice(choice)?,
                "shootdown" => variant.shootdown = SHOOTDOWN.choice(choice)?,
                "flush" => variant.flush = FLUSH.choice(choice)?,
                "lru" => return Err(VariantError::NotYet(axis.to_owned())),
                _ => return Err(VariantError::UnknownAxis(axis.to_owned())),
            }
            if seen.contains(&axis) {
                return Err(VariantError::Twice(axis.to_owned()));
            }
            seen.push(axis);
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

const YOUNG: Axis<Family> = Axis { name: "young", choices: &Family::ALL, name_of: family_name };
const UNMAP: Axis<UnmapBy> =
    Axis { name: "unmap", choices: &[UnmapBy::PerEntry, UnmapBy::Batched], name_of: unmap_name };
const SHOOTDOWN: Axis<ShootdownWhen> = Axis {
    name: "shootdown",
    choices: &[ShootdownWhen::Immediate, ShootdownWhen::Deferred],
    name_of: shootdown_name,
};
const FLUSH: Axis<Option<YoungFlush>> = Axis {
    name: "flush",
    choices: &[None, Some(YoungFlush::Sync), Some(YoungFlush::Nosync), Some(YoungFlush::None)],
    name_of: flush_name,
};

impl<T: Copy> Axis<T> {
    fn choice(&self, name: &str) -> Result<T, VariantError> {
        let found = self.choices.iter().find(|choice| (self.name_of)(**choice) == name);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = self.choices.iter().map(|choice| (self.name_of)(*choice)).collect();
            let (last, others) = names.split_last().expect("an axis has choices");
            VariantError::UnknownChoice {
                axis: self.name,
                found: name.to_owned(),
                accepted: format!("{} or {last}", others.join(", ")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_displayed_parses_back() {
        for young in Family::ALL {
            for unmap in UNMAP.choices {
                for shootdown in SHOOTDOWN.choices {
                    for flush in FLUSH.choices {
                        let (unmap, shootdown, flush) = (*unmap, *shootdown, *flush);
                        let variant = Variant { young, unmap, shootdown, flush };
                        assert_eq!(variant.to_string().parse(), Ok(variant));
                    }
                }
            }
        }
    }

    #[test]
    fn an_axis_left_out_takes_its_default() {
        assert_eq!("young=line".parse(), Ok(Variant::of(Family::Line)));
        assert_eq!("young=per-entry,unmap=per-entry".parse(), Ok(Variant::BEFORE));
        assert_eq!("flush=architecture".parse(), Ok(Variant::of(Family::Line)));
    }

    #[test]
    fn bad_variants_name_what_is_accepted() {
        let message = |text: &str| text.parse::<Variant>().unwrap_err().to_string();
        assert!(message("young=fast").contains("per-entry, batched or line"));
        assert!(message("colour=red").contains("expected young, unmap, shootdown or flush"));
        assert!(message("shootdown=late").contains("immediate or deferred"));
        assert!(message("lru=mglru").contains("not implemented yet"));
        assert!(message("young").contains("AXIS=CHOICE"));
        assert!(message("young=line,young=line").contains("given twice"));
        assert!(message("").contains("AXIS=CHOICE"));
    }
}

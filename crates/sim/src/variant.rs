//! Variants: what a comparison varies, one choice an axis.

use crate::fields::FormatName;
use crate::metrics::labels;
use pageout_paging::tlb::{FlushPolicy, YoungFlush};
use pageout_paging::young::Family;
use pageout_reclaim::Aging;
use pageout_record::schema::Labels;
use std::fmt;
use std::str::FromStr;

/// A choice on every axis there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// How young bits are checked.
    pub young: Family,
    /// What follows a young bit found; `None` is the architecture's own policy.
    pub flush: Option<YoungFlush>,
}

/// Why a variant's text was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VariantError {
    /// A part without an equals sign.
    #[error("variant part `{0}`: expected AXIS=CHOICE, such as young=line")]
    NotAPair(String),
    /// An axis that is not there.
    #[error("variant axis `{0}`: expected young or flush")]
    UnknownAxis(String),
    /// An axis of the design that no code stands behind yet.
    #[error("variant axis `{0}`: not implemented yet; available are young and flush")]
    NotYet(String),
    /// A choice that the axis does not have.
    #[error("variant axis `{axis}`: found `{found}`, expected {accepted}")]
    UnknownChoice {
        /// The axis.
        axis: &'static str,
        /// What was given.
        found: String,
        /// The choices.
        accepted: &'static str,
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
    format!("flush=architecture: {}", FormatName::ALL.map(one).join(", "))
}

impl Variant {
    /// The variant of a family with every other axis at its default.
    pub const fn of(young: Family) -> Self {
        Self { young, flush: None }
    }

    /// The same variant in every family.
    pub fn in_every_family(self) -> impl Iterator<Item = Self> {
        Family::ALL.into_iter().map(move |young| Self { young, ..self })
    }

    /// Every axis with its choice.
    pub fn labels(self) -> Labels {
        let (young, flush) = (family_name(self.young), flush_name(self.flush));
        labels([("young", young.to_owned()), ("flush", flush.to_owned())])
    }

    /// What the engine is told, where `default` is the architecture's flush policy.
    pub fn aging(self, default: FlushPolicy) -> Aging {
        Aging { family: self.young, flush: self.flush.map_or(default, FlushPolicy::forced) }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "young={},flush={}", family_name(self.young), flush_name(self.flush))
    }
}

impl FromStr for Variant {
    type Err = VariantError;

    fn from_str(text: &str) -> Result<Self, VariantError> {
        let (mut young, mut flush) = (None, None);
        for part in text.split(',') {
            let pair = part.split_once('=');
            let (axis, choice) = pair.ok_or_else(|| VariantError::NotAPair(part.to_owned()))?;
            let again = match axis {
                "young" => young.replace(parse_family(choice)?).is_some(),
                "flush" => flush.replace(parse_flush(choice)?).is_some(),
                "unmap" | "shootdown" | "lru" => {
                    return Err(VariantError::NotYet(axis.to_owned()));
                }
                _ => return Err(VariantError::UnknownAxis(axis.to_owned())),
            };
            if again {
                return Err(VariantError::Twice(axis.to_owned()));
            }
        }
        Ok(Self { young: young.unwrap_or(Family::Line), flush: flush.flatten() })
    }
}

fn parse_family(choice: &str) -> Result<Family, VariantError> {
    let found = Family::ALL.into_iter().find(|family| family_name(*family) == choice);
    found.ok_or_else(|| VariantError::UnknownChoice {
        axis: "young",
        found: choice.to_owned(),
        accepted: "per-entry, batched or line",
    })
}

fn parse_flush(choice: &str) -> Result<Option<YoungFlush>, VariantError> {
    let all = [None, Some(YoungFlush::Sync), Some(YoungFlush::Nosync), Some(YoungFlush::None)];
    all.into_iter().find(|flush| flush_name(*flush) == choice).ok_or_else(|| {
        VariantError::UnknownChoice {
            axis: "flush",
            found: choice.to_owned(),
            accepted: "architecture, sync, nosync or none",
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_displayed_parses_back() {
        for young in Family::ALL {
            for flush in [None, Some(YoungFlush::Sync), Some(YoungFlush::None)] {
                let variant = Variant { young, flush };
                assert_eq!(variant.to_string().parse(), Ok(variant));
            }
        }
    }

    #[test]
    fn bad_variants_name_what_is_accepted() {
        let message = |text: &str| text.parse::<Variant>().unwrap_err().to_string();
        assert!(message("young=fast").contains("per-entry, batched or line"));
        assert!(message("colour=red").contains("expected young or flush"));
        assert!(message("unmap=batched").contains("not implemented yet"));
        assert!(message("young").contains("AXIS=CHOICE"));
        assert!(message("young=line,young=line").contains("given twice"));
        assert!(message("").contains("AXIS=CHOICE"));
    }
}

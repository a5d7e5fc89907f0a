//! The fields of a workload: their names, and the values that each takes.

use pageout_experiment::fields::{FieldError, bad, display_size, number, parse_size};
use pageout_refusal::{UnknownName, one_of, whole_number};

/// The greatest number that a manifest can write.
const MOST: u64 = i64::MAX as u64;

/// A field of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Field {
    /// The name.
    pub(super) name: String,
    /// The values that the field takes.
    pub(super) kind: Kind,
}

/// The values of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Orders of folios up to this one, without order 1: neither read-ahead nor file systems make
    /// such folios.
    Order { most: u64 },
    /// Whole numbers between these, both of them included.
    Number { least: u64, most: u64 },
    /// Bytes between these, both of them included, and an example.
    Size { least: u64, most: u64, such_as: u64 },
    /// Shares from 1% to 100%.
    Percent,
    /// All pages, none, or one in N.
    Share,
    /// Names.
    Choice(Vec<String>),
}

impl Kind {
    /// Returns the values that are accepted, for messages.
    pub(super) fn accepted(&self) -> String {
        let power = |number: u64| match number {
            ..=0xf_ffff => number.to_string(),
            of if of.is_power_of_two() => format!("2^{}", of.trailing_zeros()),
            _ => number.to_string(),
        };
        match self {
            Self::Order { most } => format!("0, or a number from 2 to {most}"),
            Self::Number { least: 0, most: MOST } => "a number".to_owned(),
            Self::Number { least, most } if least + 1 == *most => format!("{least} or {most}"),
            Self::Number { least, most } => {
                format!("a number from {} to {}", power(*least), power(*most))
            }
            Self::Size { least, most, such_as } => {
                let [least, most, such_as] = [*least, *most, *such_as].map(display_size);
                format!("a size from {least} to {most}, such as {such_as}")
            }
            Self::Percent => "a percentage from 1% to 100%".to_owned(),
            Self::Share => "all, none, or 1/N for one page in N".to_owned(),
            Self::Choice(_) => one_of(&self.names()),
        }
    }

    /// Returns the values that are names.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Share => vec!["all", "none"],
            Self::Choice(names) => names.iter().map(String::as_str).collect(),
            Self::Order { .. } | Self::Number { .. } | Self::Size { .. } | Self::Percent => vec![],
        }
    }

    /// Returns true if all accepted values are numbers from `low` to `high`.
    pub(super) const fn is_within(&self, low: u64, high: u64) -> bool {
        matches!(self, Self::Number { least, most } if *least >= low && *most <= high)
    }

    /// Parses a value, and returns it in the form that records have; `None` if it is not accepted.
    fn value(&self, text: &str) -> Option<String> {
        let within = |low: u64, high: u64| {
            move |text: &str| number::<u64>(text).filter(|n| (low..=high).contains(n))
        };
        let as_it_is = |number: u64| number.to_string();
        match self {
            Self::Order { most } => {
                within(0, *most)(text).filter(|order| *order != 1).map(as_it_is)
            }
            _ if self.names().contains(&text) => Some(text.to_owned()),
            Self::Choice(_) => None,
            Self::Number { least, most } => within(*least, *most)(text).map(as_it_is),
            Self::Size { least, most, .. } => {
                let size = parse_size(text).ok();
                size.filter(|size| (least..=most).contains(&size)).map(display_size)
            }
            Self::Percent => {
                let percent = text.strip_suffix('%').and_then(within(1, 100));
                percent.map(|percent| format!("{percent}%"))
            }
            Self::Share => {
                let of = text.strip_prefix("1/").and_then(within(2, 1 << 20));
                of.map(|of| format!("1/{of}"))
            }
        }
    }
}

impl Field {
    /// Returns a value in the form that records have.
    ///
    /// # Errors
    /// [`FieldError`] has the fault of the text, and the accepted values.
    pub(super) fn value(&self, text: &str) -> Result<String, FieldError> {
        self.kind.value(text).ok_or_else(|| self.refusal(text))
    }

    /// Returns the error of a text that is no value of the field.
    fn refusal(&self, text: &str) -> FieldError {
        let names = self.kind.names();
        let problem =
            match self.kind {
                _ if text.is_empty() => Some("nothing is given after the equals sign".to_owned()),
                Kind::Size { .. } => Some(match parse_size(text) {
                    Err(problem) => problem,
                    Ok(_) => "is out of bounds".to_owned(),
                }),
                _ if names.is_empty() => {
                    let digits = text.strip_suffix('%').unwrap_or(text);
                    let refused = whole_number(digits, 0..=u64::MAX).err();
                    Some(refused.map_or("is out of bounds".to_owned(), |refused| {
                        refused.problem().to_owned()
                    }))
                }
                _ => None,
            };
        match problem {
            Some(problem) => bad(self.name.clone(), text, problem, self.kind.accepted()),
            None => {
                let unknown = UnknownName::new("value", text, names);
                let unknown = unknown.accepting(self.kind.accepted());
                FieldError::Name { field: self.name.clone().into(), unknown }
            }
        }
    }
}

//! Kinds of fields: the values that each accepts, and the form that records write.

use crate::fields::{OrderName, display_size, number, parse_size};
use crate::formats::FormatName;
use pageout_reclaim::MapAs;
use pageout_refusal::{one_of, whole_number};

/// The kind of value that a field of a scenario holds.
pub trait Kind {
    /// The type of a value.
    type Value: Clone + PartialEq;

    /// Describes the accepted values in words, for errors and help.
    fn accepted() -> String;

    /// Reads a value; `None` if the text is not one.
    fn read(text: &str) -> Option<Self::Value>;

    /// Returns what is wrong with a text that is no value, as the end of a sentence that begins
    /// with the text. `None` if the text is just not among the kind's names.
    fn problem(_text: &str) -> Option<String> {
        None
    }

    /// Writes a value as records have it. [`Kind::read`] accepts the text.
    fn text(value: &Self::Value) -> String;

    /// Lists the values as texts if they are few; empty if they are many.
    fn names() -> Vec<String> {
        Vec::new()
    }

    /// Returns the values of a range in equal steps, from `first` on. `None` if the kind has no
    /// ranges, or if these ends make none.
    fn range(
        _first: &Self::Value,
        _step: &Self::Value,
        _last: &Self::Value,
    ) -> Option<Vec<Self::Value>> {
        None
    }
}

/// A size in bytes, with a binary unit. The scenario's other fields decide which sizes it can have.
#[derive(Debug)]
pub enum Size {}

impl Kind for Size {
    type Value = u64;

    fn accepted() -> String {
        "a size such as 64MiB or 10GiB".to_owned()
    }

    fn read(text: &str) -> Option<u64> {
        parse_size(text).ok()
    }

    fn problem(text: &str) -> Option<String> {
        parse_size(text).err()
    }

    fn text(value: &u64) -> String {
        display_size(*value)
    }
}

/// A percentage from `LEAST` to `MOST`.
#[derive(Debug)]
pub enum Percent<const LEAST: u8, const MOST: u8> {}

impl<const LEAST: u8, const MOST: u8> Kind for Percent<LEAST, MOST> {
    type Value = u8;

    fn accepted() -> String {
        format!("per cent from {LEAST}% to {MOST}%")
    }

    fn read(text: &str) -> Option<u8> {
        let percent = number(text.strip_suffix('%').unwrap_or(text));
        percent.filter(|percent| (LEAST..=MOST).contains(percent))
    }

    fn problem(text: &str) -> Option<String> {
        let digits = text.strip_suffix('%').unwrap_or(text);
        let refused = whole_number(digits, u64::from(LEAST)..=u64::from(MOST)).err()?;
        let problem = refused.problem();
        let ends_with_bound = problem.ends_with(|c: char| c.is_ascii_digit());
        Some(if ends_with_bound { format!("{problem}%") } else { problem.to_owned() })
    }

    fn text(value: &u8) -> String {
        format!("{value}%")
    }
}

/// A number from `LEAST` to `MOST`.
#[derive(Debug)]
pub enum Number<const LEAST: u32, const MOST: u32> {}

impl<const LEAST: u32, const MOST: u32> Kind for Number<LEAST, MOST> {
    type Value = u32;

    fn accepted() -> String {
        match MOST {
            u32::MAX => format!("a number from {LEAST} on"),
            most => format!("a number from {LEAST} to {most}"),
        }
    }

    fn read(text: &str) -> Option<u32> {
        number(text).filter(|number| (LEAST..=MOST).contains(number))
    }

    fn problem(text: &str) -> Option<String> {
        let refused = whole_number(text, LEAST.into()..=MOST.into());
        refused.err().map(|refused| refused.problem().to_owned())
    }

    fn text(value: &u32) -> String {
        value.to_string()
    }
}

/// An entry format.
#[derive(Debug)]
pub enum Format {}

impl Kind for Format {
    type Value = FormatName;

    fn accepted() -> String {
        one_of(&FormatName::ALL.map(FormatName::name))
    }

    fn names() -> Vec<String> {
        FormatName::ALL.map(|format| format.name().to_owned()).to_vec()
    }

    fn read(text: &str) -> Option<FormatName> {
        FormatName::ALL.into_iter().find(|format| format.name() == text)
    }

    fn text(value: &FormatName) -> String {
        value.name().to_owned()
    }
}

/// A folio order.
#[derive(Debug)]
pub enum Order {}

impl Kind for Order {
    type Value = OrderName;

    fn accepted() -> String {
        "a number from 0 to 9, or pmd".to_owned()
    }

    fn names() -> Vec<String> {
        (0..=9).map(OrderName::Number).chain([OrderName::Pmd]).map(|o| o.to_string()).collect()
    }

    fn read(text: &str) -> Option<OrderName> {
        match text {
            "pmd" => Some(OrderName::Pmd),
            _ => number(text).filter(|order| *order <= 9).map(OrderName::Number),
        }
    }

    fn problem(text: &str) -> Option<String> {
        let is_number = !text.chars().any(char::is_alphabetic);
        let refused = whole_number(text, 0..=9).err().filter(|_| is_number);
        refused.map(|refused| refused.problem().to_owned())
    }

    fn text(value: &OrderName) -> String {
        value.to_string()
    }
}

/// A closed set of choices, each with its name.
pub trait Choice: Copy + PartialEq + 'static {
    /// All choices.
    const NAMES: &'static [(&'static str, Self)];
}

impl<T: Choice> Kind for T {
    type Value = T;

    fn accepted() -> String {
        let names: Vec<_> = T::NAMES.iter().map(|(name, _)| *name).collect();
        one_of(&names)
    }

    fn names() -> Vec<String> {
        T::NAMES.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn read(text: &str) -> Option<T> {
        T::NAMES.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice)
    }

    fn text(value: &T) -> String {
        let found = T::NAMES.iter().find(|(_, choice)| choice == value);
        found.expect("every choice has a name").0.to_owned()
    }
}

impl Choice for MapAs {
    const NAMES: &'static [(&'static str, Self)] =
        &[("ptes", Self::Ptes), ("pmd-leaf", Self::PmdLeaf)];
}

impl Choice for bool {
    const NAMES: &'static [(&'static str, Self)] = &[("yes", true), ("no", false)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_their_range() {
        assert_eq!(Number::<1, 8>::accepted(), "a number from 1 to 8");
        assert_eq!(Number::<1, { u32::MAX }>::accepted(), "a number from 1 on");
        let read = ["0", "1", "8", "9", "-1", "1.5", ""].map(Number::<1, 8>::read);
        assert_eq!(read, [None, Some(1), Some(8), None, None, None, None]);
        let read = ["4%", "5", "5%", "%", "101%"].map(Percent::<5, 100>::read);
        assert_eq!(read, [None, Some(5), Some(5), None, None]);
    }

    #[test]
    fn every_name_is_a_value() {
        fn holds<K: Kind>() {
            assert!(!K::names().is_empty());
            for name in K::names() {
                let value = K::read(&name).unwrap_or_else(|| panic!("{name} is read"));
                assert_eq!(K::text(&value), name);
            }
        }
        holds::<Format>();
        holds::<Order>();
        holds::<MapAs>();
        holds::<bool>();
        assert_eq!(Size::names(), [""; 0]);
    }

    #[test]
    fn choices_are_listed_as_a_sentence() {
        assert_eq!(MapAs::accepted(), "ptes or pmd-leaf");
        assert_eq!(MapAs::text(&MapAs::read("pmd-leaf").expect("a choice")), "pmd-leaf");
    }
}

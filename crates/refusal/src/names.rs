//! Names that a closed set lacks.

use std::cmp::Ordering;
use std::fmt;

/// The maximum number of names that a message lists.
const LISTED: usize = 10;
/// The Jaro similarity from which one text is taken for another.
const SIMILAR: f64 = 0.75;
/// The minimum number of letters of a word that two names may have in common.
const WORD: usize = 3;

/// Common words of the field, each with the name that is used here.
const SYNONYMS: [(&str, &str); 9] = [
    ("aarch64", "arm64"),
    ("amd64", "x86-64"),
    ("belady", "min"),
    ("hugepage", "pmd"),
    ("mmap", "file"),
    ("opt", "min"),
    ("thp", "pmd"),
    ("tmpfs", "shmem"),
    ("x64", "x86-64"),
];

/// A name that a closed set lacks. Its text has the name that was probably meant, and at most ten
/// of those accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName(Box<Parts>);

impl std::error::Error for UnknownName {}

/// The parts of the text. They are boxed, since errors are passed through many hands.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Parts {
    kind: String,
    found: String,
    place: Option<String>,
    meant: Option<String>,
    accepted: String,
    all: Option<String>,
}

impl UnknownName {
    /// Returns the error for a name `found` that is none of `names`; `kind` is what they name, such
    /// as `scenario`.
    pub fn new<'n>(
        kind: impl Into<String>,
        found: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let names = once(names);
        let ranked = ranked(found, &names);
        let meant = ranked.first().and_then(|(near, name)| near.map(|_| (*name).to_owned()));
        let accepted = match names.len().saturating_sub(LISTED) {
            0 => one_of(&names),
            more => {
                let listed: Vec<&str> = ranked[..LISTED].iter().map(|(_, name)| *name).collect();
                format!("{} and {more} more", listed.join(", "))
            }
        };
        let (kind, found) = (kind.into(), found.to_owned());
        Self(Box::new(Parts { kind, found, place: None, meant, accepted, all: None }))
    }

    /// Returns the unknown name in serde's message, if the message is about a field or a variant.
    pub fn of_serde(kind: &str, message: &str) -> Option<Self> {
        let names =
            message.strip_prefix("unknown field").or(message.strip_prefix("unknown variant"));
        let mut names = names?.split('`').skip(1).step_by(2);
        Some(Self::new(kind, names.next()?, names))
    }

    /// Adds the place where the name was looked up, such as ``scenario age-file``.
    #[must_use]
    pub fn of(mut self, place: impl Into<String>) -> Self {
        self.0.place = Some(place.into());
        self
    }

    /// Sets the text of accepted input, if more than names are accepted.
    #[must_use]
    pub fn accepting(mut self, accepted: impl Into<String>) -> Self {
        self.0.accepted = accepted.into();
        self
    }

    /// Adds the command that lists all names.
    #[must_use]
    pub fn listed_by(mut self, command: impl Into<String>) -> Self {
        self.0.all = Some(command.into());
        self
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { kind, found, place, meant, accepted, all } = &*self.0;
        write!(f, "unknown {kind} `{found}`")?;
        if let Some(place) = place {
            write!(f, " of {place}")?;
        }
        match meant {
            Some(meant) => write!(f, ": did you mean `{meant}`? Accepted: {accepted}")?,
            None => write!(f, "; accepted: {accepted}")?,
        }
        all.iter().try_for_each(|command| write!(f, " (all: `{command}`)"))
    }
}

/// Returns the name of `names` that `given` probably means, by its words and then by its letters.
pub fn nearest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let names = once(names);
    ranked(given, &names).first().and_then(|(near, name)| near.map(|_| *name))
}

/// Returns names as a sentence lists them: `a, b or c`.
pub fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// Returns the names, each once.
fn once<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// Returns the names with their nearness to the given text: the nearest first, then the others in
/// their order.
fn ranked<'n>(given: &str, names: &[&'n str]) -> Vec<(Option<Nearness>, &'n str)> {
    let given = given.to_lowercase();
    let synonym = SYNONYMS.iter().find(|(word, _)| *word == given).map(|(_, name)| *name);
    let given = synonym.unwrap_or(&given);
    let mut all: Vec<_> = names.iter().map(|name| (Nearness::of(given, name), *name)).collect();
    all.sort_by(|(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) => b.cmp_to(a),
        _ => b.is_some().cmp(&a.is_some()),
    });
    all
}

/// The ways in which a name may be near to the given text, the farthest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Way {
    /// Names with similar letters.
    Letters,
    /// Names with a word in common, or with the beginning of one.
    Word,
    /// Names with every given word, or that begin with the given text.
    Part,
    /// Names that differ only in case and separators.
    Same,
}

/// The nearness of a name to the given text.
#[derive(Clone, Copy, Debug)]
struct Nearness {
    way: Way,
    similarity: f64,
}

impl Nearness {
    /// Returns `None` if the name is far from the given text, as every name is from a number.
    fn of(given: &str, name: &str) -> Option<Self> {
        if !given.chars().any(char::is_alphabetic) {
            return None;
        }
        let name = name.to_lowercase();
        // The dashes of options are no letters that two names have in common.
        let [bare, bare_name] = [given, &name].map(|text| text.trim_start_matches('-'));
        let similarity = strsim::jaro(bare, bare_name);
        let is_long = bare.len() >= WORD;
        let is_slip = is_long && strsim::damerau_levenshtein(bare, bare_name) == 1;
        let (of_given, of_name) = (words(given), words(&name));
        let has = |word: &&str| of_name.contains(word);
        let begins = |word: &&str| {
            word.len() >= WORD && of_name.iter().any(|of_name| of_name.starts_with(*word))
        };
        let way = if of_given.concat() == of_name.concat() {
            Way::Same
        } else if of_given.iter().all(has) || name.starts_with(given) {
            Way::Part
        } else if of_given.iter().any(begins) {
            Way::Word
        } else if is_slip || (is_long && similarity > SIMILAR) {
            Way::Letters
        } else {
            return None;
        };
        let similarity = match way {
            // Of names with all given words, the shortest has the fewest others.
            Way::Part => 1.0 / name.len() as f64,
            Way::Same | Way::Word | Way::Letters => similarity,
        };
        Some(Self { way, similarity })
    }

    fn cmp_to(&self, other: &Self) -> Ordering {
        self.way.cmp(&other.way).then(self.similarity.total_cmp(&other.similarity))
    }
}

/// Returns the words of a name, between its separators.
fn words(name: &str) -> Vec<&str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn means(given: &str, names: &str, expected: &str) {
        assert_eq!(nearest(given, names.split(", ")), Some(expected), "{given} of {names}");
    }

    #[test]
    fn a_name_is_found_by_its_beginning_its_words_or_its_letters() {
        let formats = "x86-64, arm64-4k, arm64-16k, arm64-64k, riscv64";
        means("arm64", formats, "arm64-4k");
        means("ARM64_16K", formats, "arm64-16k");
        means("x86_64", formats, "x86-64");
        means("x86", formats, "x86-64");
        means("64k", formats, "arm64-64k");
        means("risv64", formats, "riscv64");
        means("amd64", formats, "x86-64");
        means("aarch64", formats, "arm64-4k");
        means("kunpeng", "x86-server-class, kunpeng-920-class", "kunpeng-920-class");
        means("sqlite", "python-table, sqlite-orders", "sqlite-orders");
        means("stok", "no-batch, stock, q1", "stock");
        means("lur", "classic, mglru, lru", "lru");
        means("reclaim-drity", "reclaim-clean, reclaim-dirty, lost-write", "reclaim-dirty");
        means("lost-write", "free-before-flush, write-out-before-flush", "write-out-before-flush");
    }

    #[test]
    fn a_word_in_common_goes_before_similar_letters() {
        means("reclaim", "pages reclaimed, rmap walk, whole reclaim", "whole reclaim");
        means("reclaim", "pages reclaimed, rclaim", "pages reclaimed");
        means("reclaim", "whole reclaim while sampled, whole reclaim", "whole reclaim");
    }

    #[test]
    fn what_is_far_from_all_names_means_none() {
        assert_eq!(nearest("zzz", ["order", "format"]), None);
        assert_eq!(nearest("frobnicate", ["calibrate", "compare"]), None);
        assert_eq!(nearest("10", ["0", "1", "pmd"]), None, "a number is no misspelt name");
        assert_eq!(nearest("", ["order"]), None);
        assert_eq!(nearest("-1", ["1"]), None);
    }

    #[test]
    fn the_message_has_what_was_found_what_was_meant_and_what_is_accepted() {
        let message = |found| {
            let names = UnknownName::new("field", found, ["format", "order"]);
            names.of("age-file").to_string()
        };
        let meant =
            "unknown field `oder` of age-file: did you mean `order`? Accepted: format or order";
        assert_eq!(message("oder"), meant);
        assert_eq!(
            message("colour"),
            "unknown field `colour` of age-file; accepted: format or order"
        );
    }

    #[test]
    fn a_long_list_is_cut_at_ten_and_has_the_nearest_first() {
        let names: Vec<String> = (10..40).map(|n| format!("name{n}")).collect();
        let unknown = UnknownName::new("name", "nam39", names.iter().map(String::as_str));
        let message = unknown.listed_by("pageout list").to_string();
        assert!(message.contains("did you mean `name39`? Accepted: name39, "), "{message}");
        assert!(message.ends_with(" and 20 more (all: `pageout list`)"), "{message}");
    }

    #[test]
    fn serde_s_message_of_an_unknown_field_has_its_names() {
        #[derive(serde::Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only its names matter")]
        struct Point {
            across: u8,
            down: u8,
        }
        let of = |text| {
            let error = serde_json::from_str::<Point>(text).expect_err("it is refused");
            UnknownName::of_serde("key", &error.to_string()).map(|unknown| unknown.to_string())
        };
        let unknown = "unknown key `dwon`: did you mean `down`? Accepted: across or down";
        assert_eq!(of(r#"{"dwon": 3}"#).as_deref(), Some(unknown));
        assert_eq!(of(r#"{"down": 3}"#), None, "a missing field");
    }

    #[test]
    fn a_name_given_twice_is_listed_once() {
        let message = UnknownName::new("name", "zzz", ["a", "b", "a"]).to_string();
        assert_eq!(message, "unknown name `zzz`; accepted: a or b");
    }
}

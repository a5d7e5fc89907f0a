//! The numbers in a transcript.

use std::collections::{BTreeMap, BTreeSet};

/// The kind of a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// The answer to a write.
    Error,
    /// The oldest and the youngest generation.
    Generations,
    /// The pages of a generation, with `x` if it is older than the oldest in use.
    Pages,
    /// Refaulted, evicted and protected of the oldest generation.
    Oldest,
    /// The averages of those numbers over the earlier generations.
    Averages,
    /// The counts of walks.
    Walks,
}

/// The numbers of an answer. Pages of a missing generation are 0; ages are left out.
pub(crate) type Numbers = BTreeMap<(Kind, String), String>;

/// Returns each step of a transcript with the lines below it.
pub(crate) fn steps(transcript: &str) -> Vec<(&str, Vec<&str>)> {
    let mut steps: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in transcript.lines().filter(|line| !line.starts_with('#')) {
        match (line.strip_prefix("> "), steps.last_mut()) {
            (Some(step), _) => steps.push((step, Vec::new())),
            (None, Some((_, answer))) => answer.push(line),
            (None, None) => panic!("an answer before the first step: {line}"),
        }
    }
    steps
}

/// Returns the numbers of an answer.
pub(crate) fn numbers(answer: &[&str]) -> Numbers {
    let mut numbers = Numbers::new();
    let mut add = |kind, what: String, value: &str| numbers.insert((kind, what), value.to_owned());
    let (mut seq, mut first) = ("", None);
    for line in answer {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            ["=", error] => drop(add(Kind::Error, "error".to_owned(), error)),
            ["memcg", _, path] => assert!(path.starts_with('/'), "{line}"),
            ["node", number] => assert_eq!(number, "0"),
            [tier, .., _, _, _, _, _] if fields.len() == 7 => {
                for (kind, three) in ["anon", "file"].into_iter().zip(fields[1..].chunks(3)) {
                    for field in three {
                        let (value, label) = field.split_at(field.len() - 1);
                        let is = match label {
                            "x" => continue,
                            "R" | "T" => Kind::Averages,
                            _ => Kind::Oldest,
                        };
                        add(is, format!("tier {tier} {kind} {label}"), value);
                    }
                }
            }
            [walked, ..] if fields.len() == 4 && walked.ends_with(char::is_alphabetic) => {
                for field in fields.iter().filter(|field| !field.ends_with('x')) {
                    let (value, label) = field.split_at(field.len() - 1);
                    add(Kind::Walks, label.to_owned(), value);
                }
            }
            [number, _age, anon, file] => {
                seq = number;
                first.get_or_insert(number);
                for (kind, value) in [("anon", anon), ("file", file)] {
                    if value != "0" {
                        add(Kind::Pages, format!("generation {seq:>2} {kind}"), value);
                    }
                }
            }
            _ => panic!("neither kernels nor the engine say so: {line}"),
        }
    }
    if let Some(first) = first {
        add(Kind::Generations, "generations".to_owned(), &format!("{first} to {seq}"));
    }
    numbers
}

/// Returns the steps of two answers to one session, counted from 1, with the numbers of each.
pub(crate) fn side_by_side(name: &str, there: &str, here: &str) -> Vec<(usize, Numbers, Numbers)> {
    let (there, here) = (steps(there), steps(here));
    assert_eq!(there.len(), here.len(), "{name}: as many steps");
    let both = (1..).zip(there.into_iter().zip(here)).map(|(step, (there, here))| {
        assert_eq!(there.0, here.0, "{name}: step {step}");
        (step, numbers(&there.1), numbers(&here.1))
    });
    both.collect()
}

/// Returns the differences between two answers: the kind, the name, there, here.
pub(crate) fn differences(there: &Numbers, here: &Numbers) -> Vec<(Kind, String, String, String)> {
    let keys: BTreeSet<_> = there.keys().chain(here.keys()).collect();
    let value = |of: &Numbers, key| of.get(key).map_or("0", String::as_str).to_owned();
    let both = keys.into_iter().map(|key| (key, value(there, key), value(here, key)));
    let other = both.filter(|(_, there, here)| there != here);
    other.map(|((kind, what), there, here)| (*kind, what.clone(), there, here)).collect()
}

/// Returns a line with its numbers replaced, so that only its layout is left.
pub(crate) fn shape(line: &str) -> String {
    line.chars().map(|c| if c.is_ascii_digit() { ' ' } else { c }).collect()
}

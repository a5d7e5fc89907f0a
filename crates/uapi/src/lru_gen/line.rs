//! Lines of `lru_gen` and `lru_gen_full`, read.

use super::generation::{Generation, Pages};

/// The maximum number of bytes of a cgroup's path: the kernel's `PATH_MAX`.
const LONGEST_PATH: usize = 4096;
/// The maximum number of nodes: the largest `MAX_NUMNODES` of any architecture.
const NODES: u32 = 1024;

/// A line by its form (Linux 7.3.4, `lru_gen_seq_show`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'t> {
    /// A blank line.
    Blank,
    /// The beginning of a cgroup's part: its id and path.
    Memcg(u64, &'t str),
    /// The beginning of a node's generations.
    Node(u32),
    /// A generation.
    Generation(Generation),
    /// A line of only `lru_gen_full`: a tier, or the figures of the walks.
    Detail,
}

impl<'t> Line<'t> {
    /// Parses a line; returns `None` for one that no kernel prints.
    pub fn parse(line: &'t str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            None => return Some(Self::Blank),
            Some("memcg") => {
                let id = words.next()?;
                // The path may have blanks.
                let path = line.split_once(id)?.1.trim();
                let id = id.parse().ok()?;
                return (path.len() <= LONGEST_PATH).then_some(Self::Memcg(id, path));
            }
            Some("node") => {
                let id = words.next()?.parse().ok().filter(|id| *id < NODES)?;
                return words.next().is_none().then_some(Self::Node(id));
            }
            Some(_) => {}
        }
        let mut figures = [""; 7];
        let mut count = 0;
        for word in line.split_ascii_whitespace() {
            *figures.get_mut(count)? = word;
            count += 1;
        }
        match figures[..count] {
            [seq, age, anon, file] if is_number(seq) && is_number(age) => {
                let pages = [Pages::parse(anon)?, Pages::parse(file)?];
                let (seq, age_ms) = (seq.parse().ok()?, age.parse().ok()?);
                Some(Self::Generation(Generation { seq, age_ms, pages }))
            }
            [tier, ref of_tier @ ..] if of_tier.len() == 6 && is_number(tier) => {
                of_tier.iter().all(|word| is_marked(word)).then_some(Self::Detail)
            }
            ref of_walk @ [_, _, _, _] => {
                of_walk.iter().all(|word| is_marked(word)).then_some(Self::Detail)
            }
            _ => None,
        }
    }
}

impl Pages {
    fn parse(word: &str) -> Option<Self> {
        let (count, is_gone) = match word.strip_suffix('x') {
            Some(count) => (count, true),
            None => (word, false),
        };
        let is_count = is_number(count.strip_prefix('-').unwrap_or(count));
        is_count.then(|| count.parse().ok().map(|count| Self { count, is_gone }))?
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for a number with a letter behind it, as in `12r` or `0x`.
fn is_marked(word: &str) -> bool {
    let number = word.strip_suffix(|mark: char| mark.is_ascii_alphabetic());
    number.is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::super::generation::{Detail, NR_TIERS, Tier, Walk, show};
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn what_is_printed_is_read_again() {
        let pages = [Pages { count: 0, is_gone: true }, Pages { count: 10231, is_gone: false }];
        let tiers =
            [[Tier::Nothing, Tier::Counts { refaulted: 1, evicted: 2, protected: 3 }]; NR_TIERS];
        let walk = Walk { leaf_total: 9, leaf_young: 8, nonleaf_found: 7, nonleaf_added: 6 };
        let old = Generation { seq: 4, age_ms: 123_456, pages };
        let young = Generation { seq: 5, ..old };
        let mut text = String::new();
        let detail = Detail { tiers, walk: Some(walk) };
        show(&mut text, 7, "/a b", [(0, [(old, None), (young, Some(detail))])]).unwrap();
        let lines: Vec<Line<'_>> = text.lines().map(|line| Line::parse(line).unwrap()).collect();
        let again = Line::Generation(young);
        let first = [Line::Memcg(7, "/a b"), Line::Node(0), Line::Generation(old), again];
        assert_eq!(lines[..4], first, "{text}");
        assert_eq!(lines[4..], [Line::Detail; NR_TIERS + 1], "{text}");
    }

    #[test]
    fn no_other_line_is_read() {
        for line in [
            "memcg",
            "memcg x /",
            "node",
            "node 1024",
            "node 0 0",
            "1 2 3",
            "1 2 3 4y",
            "a b c d",
            "0 1x 2x 3x 4x 5x",
            "0 1x 2x 3x 4x 5x 6x 7x",
            "4 5 -x 6",
            "99999999999999999999 1 2 3",
        ] {
            assert_eq!(Line::parse(line), None, "{line:?}");
        }
        assert_eq!(Line::parse(" \t"), Some(Line::Blank));
    }
}

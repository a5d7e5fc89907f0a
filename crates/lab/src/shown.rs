//! Text of `lru_gen` and `lru_gen_full`, as the kernel prints it, read into generations
//! (`lru_gen_seq_show()` of mm/vmscan.c).

use std::collections::HashSet;
use std::sync::Arc;

use pageout_uapi::lru_gen::{self, Line, Pages};

/// The maximum size of a text, in bytes: enough for ten thousand cgroups on eight nodes.
pub const MAX_LRU_GEN: u64 = 16 << 20;

/// A generation of a cgroup on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generation {
    /// The cgroup's id.
    pub memcg: u64,
    /// The cgroup's path, as the kernel prints it.
    pub path: Arc<str>,
    /// The node.
    pub node: u32,
    /// The number; the youngest of a node has the highest.
    pub number: u64,
    /// Milliseconds since it was made.
    pub age_ms: u64,
    /// The anonymous pages and the file pages.
    pub pages: [Pages; 2],
}

/// The cgroups of a text.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Shown {
    /// The generations, in the order of the text.
    pub generations: Vec<Generation>,
    /// The number of lines of tiers and walks, which only `lru_gen_full` has.
    pub passed_over: usize,
}

/// The line that was refused, and the reason.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{origin}:{line}: {problem}")]
pub struct ShownError {
    /// The text's name.
    pub origin: String,
    /// The line, from 1.
    pub line: usize,
    /// The fault of the line.
    pub problem: Misread,
}

/// The fault of a text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Misread {
    /// A line of a form that the kernel does not print.
    #[error(
        "`{0}` is not a line of lru_gen: expected `memcg ID PATH`, `node N`, or \
        `GENERATION AGE ANON FILE`"
    )]
    Line(String),
    /// A line that belongs below another.
    #[error("a {what} before any `{above}` line: expected the text of lru_gen from its beginning")]
    Orphan {
        /// The kind of thing: a node or a generation.
        what: &'static str,
        /// The line that it belongs below.
        above: &'static str,
    },
    /// A second line for a generation.
    #[error(
        "generation {0} of this cgroup and node is above already: expected one reading of lru_gen"
    )]
    Twice(u64),
    /// A text without generations.
    #[error("the text has no generation: is MGLRU on? /sys/kernel/mm/lru_gen/enabled says so")]
    Empty,
}

/// The maximum number of characters that are shown of a refused line.
const EXCERPT: usize = 40;

impl Shown {
    /// Reads a text; `origin` names it in errors.
    ///
    /// # Errors
    ///
    /// [`ShownError`] for the first line refused.
    pub fn parse(origin: &str, text: &str) -> Result<Self, ShownError> {
        let mut shown = Self::default();
        let mut seen = HashSet::new();
        let mut memcg: Option<(u64, Arc<str>)> = None;
        let mut node: Option<u32> = None;
        let failed = |line, problem| ShownError { origin: origin.to_owned(), line, problem };
        for (line, at) in text.lines().zip(1..) {
            let failed = |problem| failed(at, problem);
            match Line::parse(line).ok_or_else(|| failed(Misread::Line(excerpt(line))))? {
                Line::Blank => {}
                Line::Memcg(id, path) => (memcg, node) = (Some((id, path.into())), None),
                Line::Node(_) if memcg.is_none() => {
                    return Err(failed(Misread::Orphan { what: "node", above: "memcg" }));
                }
                Line::Node(id) => node = Some(id),
                Line::Detail if shown.generations.is_empty() => {
                    return Err(failed(Misread::Line(excerpt(line))));
                }
                Line::Detail => shown.passed_over += 1,
                Line::Generation(lru_gen::Generation { seq: number, age_ms, pages }) => {
                    let (Some((memcg, path)), Some(node)) = (&memcg, node) else {
                        return Err(failed(Misread::Orphan { what: "generation", above: "node" }));
                    };
                    let (memcg, path) = (*memcg, path.clone());
                    if !seen.insert((memcg, node, number)) {
                        return Err(failed(Misread::Twice(number)));
                    }
                    shown.generations.push(Generation { memcg, path, node, number, age_ms, pages });
                }
            }
        }
        match shown.generations.is_empty() {
            true => Err(failed(text.lines().count().max(1), Misread::Empty)),
            false => Ok(shown),
        }
    }
}

/// Returns the beginning of a line, without characters that a terminal would obey.
fn excerpt(line: &str) -> String {
    let start: String = line.trim().chars().take(EXCERPT).flat_map(char::escape_default).collect();
    if line.trim().chars().nth(EXCERPT).is_some() { start + "..." } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_NODES: &str = "\
memcg     1 /
 node     0
          4     123456         0      10231 
          5      98765         0x        -1 
 node     1
          2        456         7          8 
memcg  2177 /user.slice/a b
 node     0
          0       3000         1          2 
";

    fn parse(text: &str) -> Result<Shown, String> {
        Shown::parse("x", text).map_err(|error| error.to_string())
    }

    #[test]
    fn generations_are_of_their_cgroup_and_node() {
        let shown = parse(TWO_NODES).unwrap();
        let of = |g: &Generation| (g.memcg, g.node, g.number, g.age_ms, g.pages.map(|p| p.count));
        let found: Vec<_> = shown.generations.iter().map(of).collect();
        let expected = [
            (1, 0, 4, 123456, [0, 10231]),
            (1, 0, 5, 98765, [0, -1]),
            (1, 1, 2, 456, [7, 8]),
            (2177, 0, 0, 3000, [1, 2]),
        ];
        assert_eq!(found, expected);
        assert_eq!(shown.generations[1].pages.map(|pages| pages.is_gone), [true, false]);
        assert_eq!(&*shown.generations[3].path, "/user.slice/a b");
    }

    #[test]
    fn lines_of_tiers_and_walks_are_passed_over_and_counted() {
        let full = "memcg 13 /a\n node     0\n          1          0          0         960 \n\
            \x20                    0          0r          0e          0p          0r          0e     0p\n\
            \x20                               0x          0x          0x          0x\n\
            \x20         2          0          0          64 \n\
            \x20                             1024T        944Y          2F          2A\n";
        let shown = parse(full).unwrap();
        assert_eq!((shown.generations.len(), shown.passed_over), (2, 3));
    }

    #[test]
    fn other_texts_are_refused_with_their_line() {
        for (text, message) in [
            ("", "x:1: the text has no generation"),
            ("memcg 1 /\n node 0\n", "x:2: the text has no generation"),
            ("hello\n", "x:1: `hello` is not a line of lru_gen"),
            (" node 0\n", "x:1: a node before any `memcg` line"),
            ("memcg 1 /\n 1 2 3 4\n", "x:2: a generation before any `node` line"),
            (&format!("memcg 1 /{}\n", "y".repeat(4096)), "x:1: `memcg 1 /yyyy"),
            ("memcg 1 /\n node 0\n 1 2 3 4\nmemcg 1 /\n node 0\n 1 9 9 9\n", "x:6: generation 1"),
            ("memcg 1 /\n node 4000000000\n", "x:2: `node 4000000000` is not a line"),
            ("memcg x /\n", "x:1: `memcg x /` is not a line"),
            ("memcg 1 /\n node 0\n 1 2 3\n", "x:3: `1 2 3` is not a line"),
            ("memcg 1 /\n node 0\n 1 2 3 4y\n", "x:3: `1 2 3 4y` is not a line"),
            ("memcg 1 /\n node 0\n 1 2 3 --4\n", "x:3: `1 2 3 --4` is not a line"),
            ("memcg 1 /\n node 0\n 1 2 3 99999999999999999999\n", "x:3: `1 2 3 9999"),
            ("memcg 1 /\n node 0\n 1T 2Y 3F 4A\n", "x:3: `1T 2Y 3F 4A` is not a line"),
            ("a\u{1b}[31m\n", "x:1: `a\\u{1b}[31m` is not a line"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
        let long = parse(&"y".repeat(1000)).unwrap_err();
        assert!(long.len() < 200, "{long}");
    }

    #[test]
    fn every_part_that_the_labs_kernels_printed_is_read() {
        let captured = [
            include_str!("../files/lru_gen/captures/age-file-7.3-stock-x86-64-swap.txt"),
            include_str!("../files/lru_gen/captures/several-7.3-stock-arm64-4k-swap.txt"),
        ];
        let (mut parts, mut full) = (0, 0);
        for text in captured.iter().flat_map(|text| text.split("memcg ").skip(1)) {
            let of_kernel = text.lines().take_while(|line| !line.starts_with(['>', '=']));
            let text = of_kernel.fold("memcg ".to_owned(), |text, line| text + line + "\n");
            // A step of the session has that word too.
            if let Ok(shown) = Shown::parse("x", &text) {
                parts += 1;
                full += usize::from(shown.passed_over > 0);
            }
        }
        let shows = captured.concat().matches("> show").count();
        assert_eq!(parts, shows);
        assert_eq!(full, captured.concat().matches(" full\n").count());
    }
}

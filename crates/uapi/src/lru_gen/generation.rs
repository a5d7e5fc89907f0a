//! Generations of a cgroup, as the files show them.

use core::fmt::{self, Display, Write};

/// The number of tiers of a generation (`MAX_NR_TIERS`).
pub const NR_TIERS: usize = 4;

/// A generation of a cgroup on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation {
    /// The number; the youngest of a node has the highest.
    pub seq: u64,
    /// Milliseconds since it was opened.
    pub age_ms: u64,
    /// The anonymous pages and the file pages.
    pub pages: [Pages; 2],
}

/// Pages of one type in a generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pages {
    /// The number. Linux 7.3 prints no negative one; kernels that print raw counters do.
    pub count: i64,
    /// True if the mark `x` follows: the generation no longer exists for this type.
    pub is_gone: bool,
}

/// The further figures of a generation, which only `lru_gen_full` has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detail {
    /// The tiers, each for anonymous memory and for files.
    pub tiers: [[Tier; 2]; NR_TIERS],
    /// The counts of the walks so far; `None` but of the youngest generation.
    pub walk: Option<Walk>,
}

/// The figures of a tier, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    /// Of the youngest generation: moving averages (`R`, `T`).
    Averages {
        /// Refaulted.
        refaulted: u64,
        /// Refaulted, evicted or protected.
        total: u64,
    },
    /// Of the oldest generation of its type: counts since it is the oldest (`r`, `e`, `p`).
    Counts {
        /// Refaulted.
        refaulted: u64,
        /// Evicted.
        evicted: u64,
        /// Protected.
        protected: u64,
    },
    /// Of other generations: nothing.
    Nothing,
}

/// The counts of page table walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// The number of entries examined (`T`).
    pub leaf_total: u64,
    /// Young entries among them (`Y`).
    pub leaf_young: u64,
    /// Page tables that the Bloom filter did not exclude (`F`).
    pub nonleaf_found: u64,
    /// Page tables added to the filter (`A`).
    pub nonleaf_added: u64,
}

/// Writes the generation's line (Linux 7.3.4, `lru_gen_seq_show`).
impl Display for Generation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, " {:>10} {:>10}", self.seq, self.age_ms)?;
        for Pages { count, is_gone } in self.pages {
            write!(out, " {count:>10}{}", if is_gone { 'x' } else { ' ' })?;
        }
        writeln!(out)
    }
}

/// Writes a line for each tier, and one for the walks (`lru_gen_seq_show_full`).
impl Display for Detail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, kinds) in self.tiers.iter().enumerate() {
            write!(out, "{number:>22}")?;
            kinds.iter().try_for_each(|tier| marked(out, tier.marked()))?;
            writeln!(out)?;
        }
        let walk = self.walk.map(|walk| {
            let Walk { leaf_total, leaf_young, nonleaf_found, nonleaf_added } = walk;
            [(leaf_total, 'T'), (leaf_young, 'Y'), (nonleaf_found, 'F'), (nonleaf_added, 'A')]
        });
        write!(out, "{:>22}", "")?;
        marked(out, walk.unwrap_or([(0, 'x'); 4]))?;
        writeln!(out)
    }
}

impl Tier {
    fn marked(self) -> [(u64, char); 3] {
        match self {
            Self::Averages { refaulted, total } => [(refaulted, 'R'), (total, 'T'), (0, 'x')],
            Self::Counts { refaulted, evicted, protected } => {
                [(refaulted, 'r'), (evicted, 'e'), (protected, 'p')]
            }
            Self::Nothing => [(0, 'x'); 3],
        }
    }
}

fn marked<const N: usize>(out: &mut fmt::Formatter<'_>, figures: [(u64, char); N]) -> fmt::Result {
    figures.into_iter().try_for_each(|(n, mark)| write!(out, " {n:>10}{mark}"))
}

/// Writes the part of a cgroup: its id and path, and for each node the generations, each with its
/// details in `lru_gen_full`.
///
/// # Errors
/// Those of `out`.
pub fn show<G>(
    out: &mut impl Write,
    memcg: u64,
    path: impl Display,
    nodes: impl IntoIterator<Item = (u32, G)>,
) -> fmt::Result
where
    G: IntoIterator<Item = (Generation, Option<Detail>)>,
{
    writeln!(out, "memcg {memcg} {path}")?;
    for (node, generations) in nodes {
        writeln!(out, " node {node:>5}")?;
        for (generation, detail) in generations {
            write!(out, "{generation}")?;
            detail.map_or(Ok(()), |detail| write!(out, "{detail}"))?;
        }
    }
    Ok(())
}

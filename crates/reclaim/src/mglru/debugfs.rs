//! The files that show generations to user space: `lru_gen` and `lru_gen_full`.

use super::{MAX_NR_GENS, MAX_NR_TIERS, MmStats, gen_from_seq};
use crate::engine::Engine;
use crate::id::MemcgId;
use crate::mm_state::MmState;
use crate::scan::{ANON, FILE};
use crate::world::World;
use core::fmt::{self, Display, Write};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A swappiness at which both types can be evicted.
const BOTH_TYPES: u8 = 100;

impl<W: World> Engine<'_, W> {
    /// Writes the text of `/sys/kernel/debug/lru_gen` for these cgroups, or of `lru_gen_full` if
    /// `full` is set. For each generation, it has the number, the age in milliseconds and the
    /// pages, anonymous and of files (Linux 7.3.4, `lru_gen_seq_show`, with the history of one
    /// generation). A cgroup's id is its [`MemcgId`], and the only node is 0. A concurrent change
    /// is seen by whole lines, before or after it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn lru_gen_show<P: Display>(
        &self,
        memcgs: impl IntoIterator<Item = MemcgId>,
        full: bool,
        path_of: impl Fn(MemcgId) -> P,
        out: &mut impl Write,
    ) -> fmt::Result {
        let maps = self.maps;
        for memcg in memcgs {
            writeln!(out, "memcg {} {}\n node {:>5}", memcg.0, path_of(memcg), 0)?;
            let youngest = maps.lru_gen(memcg).max_seq();
            let oldest = match full {
                true => (youngest + 1).saturating_sub(MAX_NR_GENS as u64),
                false => maps.evictable_min_seq(memcg, BOTH_TYPES),
            };
            for seq in oldest..=youngest {
                maps.show_generation(self.world.now_ms(), memcg, seq, full, out)?;
                if full {
                    maps.show_tiers(memcg, seq, out)?;
                    let stats = (seq == youngest).then(|| maps.mm_stats(memcg));
                    show_mm_stats(stats, out)?;
                }
            }
        }
        Ok(())
    }
}

impl MmState<'_> {
    fn show_generation(
        &self,
        now: u64,
        memcg: MemcgId,
        seq: u64,
        full: bool,
        out: &mut impl Write,
    ) -> fmt::Result {
        let lrugen = self.lru_gen(memcg);
        let born = lrugen.timestamps[gen_from_seq(seq)].load(Relaxed);
        write!(out, " {seq:>10} {:>10}", now.wrapping_sub(born) as u32)?;
        for kind in [ANON, FILE] {
            let mark = if full && seq < lrugen.min_seq(kind) { 'x' } else { ' ' };
            write!(out, " {:>10}{mark}", lrugen.size(seq, kind))?;
        }
        writeln!(out)
    }

    /// Writes a line for each tier: next to the youngest generation, averages; next to the oldest,
    /// the pages refaulted, evicted and protected (`lru_gen_seq_show_full`).
    fn show_tiers(&self, memcg: MemcgId, seq: u64, out: &mut impl Write) -> fmt::Result {
        let lrugen = self.lru_gen(memcg);
        for tier in 0..MAX_NR_TIERS {
            write!(out, "{tier:>22}")?;
            for kind in [ANON, FILE] {
                let of = |counts: &[[AtomicU64; MAX_NR_TIERS]; 2]| counts[kind][tier].load(Relaxed);
                let shown = if seq == lrugen.max_seq() {
                    [(of(&lrugen.avg_refaulted), 'R'), (of(&lrugen.avg_total), 'T'), (0, 'x')]
                } else if seq == lrugen.min_seq(kind) {
                    let protected = (of(&lrugen.protected), 'p');
                    [(of(&lrugen.refaulted), 'r'), (of(&lrugen.evicted), 'e'), protected]
                } else {
                    [(0, 'x'); 3]
                };
                show_marked(shown, out)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Writes the walks' counts so far, next to the youngest generation.
fn show_mm_stats(stats: Option<MmStats>, out: &mut impl Write) -> fmt::Result {
    let shown = stats.map(|stats| {
        let MmStats { leaf_total, leaf_young, nonleaf_found, nonleaf_added } = stats;
        [(leaf_total, 'T'), (leaf_young, 'Y'), (nonleaf_found, 'F'), (nonleaf_added, 'A')]
    });
    write!(out, "{:>22}", "")?;
    show_marked(shown.unwrap_or([(0, 'x'); 4]), out)?;
    writeln!(out)
}

fn show_marked<const N: usize>(shown: [(u64, char); N], out: &mut impl Write) -> fmt::Result {
    shown.into_iter().try_for_each(|(n, mark)| write!(out, " {n:>10}{mark}"))
}

//! Generations as user space sees them, by `lru_gen` and `lru_gen_full`.

use super::batch::MmStats;
use super::lrugen::PerTier;
use super::{MAX_NR_GENS, gen_from_seq};
use crate::engine::Engine;
use crate::id::{LruvecId, LruvecNr};
use crate::lru::lru_list::{ANON, FILE};
use crate::memory::BadId;
use crate::mm_state::MmState;
use crate::world::World;
use core::array;
use core::sync::atomic::Ordering::Relaxed;
use pageout_uapi::lru_gen::{Detail, Generation, Pages, Tier, Walk};

/// A swappiness at which both types can be evicted.
const BOTH_TYPES: u8 = 100;

impl<W: World> Engine<'_, W> {
    /// Returns a cgroup's generations on a node, the oldest first: those of `lru_gen`, or of
    /// `lru_gen_full` with their details if `full` is set (Linux 7.3.4, `lru_gen_seq_show`, with
    /// the history of one generation). [`pageout_uapi::lru_gen::show`] writes them. A concurrent
    /// change is seen by whole generations, before or after it.
    ///
    /// # Errors
    /// [`BadId`] if the cgroup was removed, or there is no such node.
    pub fn lru_gen_generations(
        &self,
        lruvec: impl Into<LruvecId>,
        full: bool,
    ) -> Result<impl Iterator<Item = (Generation, Option<Detail>)>, BadId> {
        let (maps, now) = (self.maps, self.world.now_ms());
        let lruvec = maps.lruvec_nr(lruvec)?;
        let youngest = maps.lru_gen(lruvec).max_seq();
        let oldest = match full {
            true => (youngest + 1).saturating_sub(MAX_NR_GENS as u64),
            false => maps.evictable_min_seq(lruvec, BOTH_TYPES),
        };
        Ok((oldest..=youngest).map(move |seq| maps.shown(now, lruvec, seq, full)))
    }
}

impl MmState<'_> {
    fn shown(
        &self,
        now: u64,
        lruvec: LruvecNr,
        seq: u64,
        full: bool,
    ) -> (Generation, Option<Detail>) {
        let lrugen = self.lru_gen(lruvec);
        let born = lrugen.timestamps[gen_from_seq(seq)].load(Relaxed);
        let pages = [ANON, FILE].map(|kind| Pages {
            count: lrugen.size(seq, kind) as i64,
            is_gone: full && seq < lrugen.min_seq(kind),
        });
        let detail = full.then(|| self.detail(lruvec, seq));
        (Generation { seq, age_ms: u64::from(now.wrapping_sub(born) as u32), pages }, detail)
    }

    /// Returns averages next to the youngest generation; next to the oldest, the pages refaulted,
    /// evicted and protected (`lru_gen_seq_show_full`).
    fn detail(&self, lruvec: LruvecNr, seq: u64) -> Detail {
        let lrugen = self.lru_gen(lruvec);
        let youngest = lrugen.max_seq();
        let tier = |tier: usize, kind: usize| {
            let of = |counts: &PerTier| counts[kind][tier].load(Relaxed);
            if seq == youngest {
                let (refaulted, total) = (of(&lrugen.avg_refaulted), of(&lrugen.avg_total));
                Tier::Averages { refaulted, total }
            } else if seq == lrugen.min_seq(kind) {
                Tier::Counts {
                    refaulted: of(&lrugen.refaulted),
                    evicted: of(&lrugen.evicted),
                    protected: of(&lrugen.protected),
                }
            } else {
                Tier::Nothing
            }
        };
        let walk = (seq == youngest).then(|| {
            let stats = self.mm_stats_at(lruvec);
            let MmStats { leaf_total, leaf_young, nonleaf_found, nonleaf_added } = stats;
            Walk { leaf_total, leaf_young, nonleaf_found, nonleaf_added }
        });
        Detail { tiers: array::from_fn(|number| [ANON, FILE].map(|kind| tier(number, kind))), walk }
    }
}

//! The folios of a cgroup that is removed join the generations of its parent.

use super::{MAX_NR_GENS, gen_from_seq};
use crate::CpuCtx;
use crate::list::FolioList;
use crate::maps::Maps;
use crate::memcg::MemcgId;
use crate::scan::SWAP_CLUSTER_MAX;
use crate::world::World;

impl Maps<'_> {
    /// Moves the folios of a cgroup's generations to its parent's of the same age, with their
    /// charges: as the coldest of them. No walk runs, since the caller holds the tree's lock to
    /// write.
    ///
    /// Kernels join generations of the same place of four instead, whatever their age there, and
    /// open generations of the parent until it has them all (Linux 7.1.5,
    /// `lru_gen_reparent_memcg`): that takes no look at any folio, which this must take anyhow.
    pub(crate) fn reparent_generations<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        from: MemcgId,
        to: MemcgId,
    ) {
        let mut moved = FolioList::default();
        while let Some(age) = self.isolate_generation(world, cpu, from, &mut moved) {
            self.move_charges(&moved, from, to);
            self.putback_where(world, cpu, &mut moved, |guard, id| {
                self.lru_place_aged(guard, id, age)
            });
        }
    }

    /// Takes some folios of one generation off its lists, with a reference to each: how many
    /// generations are younger. Those about to be freed are left.
    fn isolate_generation<W: World>(
        &self,
        world: &W,
        cpu: &mut CpuCtx,
        from: MemcgId,
        out: &mut FolioList,
    ) -> Option<u64> {
        let guard = self.lock_lruvec(world, cpu, from);
        let lrugen = self.lru_gen(from);
        let lists = lrugen.lists.as_flattened().as_flattened();
        let mut found = None;
        // From the head on, since each joins behind the one before.
        for id in lists.iter().flat_map(|list| list.iter(self)) {
            let folio = self.folio(id);
            let generation = folio.recency().generation();
            if out.len as u64 == SWAP_CLUSTER_MAX || found.is_some_and(|of| of != generation) {
                break;
            }
            if folio.try_get() {
                found = Some(generation);
                self.lru_unlink(&guard, id);
                out.push(self, id);
            }
        }
        let youngest = gen_from_seq(lrugen.max_seq());
        self.unlock_lruvec(cpu, guard);
        let generation = found?.expect("a folio on a generation's list is in one");
        Some(((youngest + MAX_NR_GENS - generation) % MAX_NR_GENS) as u64)
    }
}

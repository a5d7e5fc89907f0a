//! Handing in of the changes that a CPU's walks batched.

use super::batch::MmWalk;
use crate::engine::Engine;
use crate::id::LruvecNr;
use core::mem;
use pageout_paging::Env;

impl<E: Env> Engine<'_, E> {
    /// Hands in the changes that walks on this CPU batched. All of them are of folios of `lruvec`
    /// (`reset_batch_size`).
    pub(crate) fn reset_batch_size(&mut self, lruvec: LruvecNr) {
        if let Some(mut walk) = self.cpu.walk.take_if(|walk| walk.batched > 0) {
            debug_assert_eq!(walk.lruvec, lruvec, "one lruvec's folios are batched at a time");
            self.hand_in(&mut walk);
            self.cpu.walk = Some(walk);
        }
    }

    /// Hands in the changes that a walk batched.
    pub(crate) fn hand_in(&mut self, walk: &mut MmWalk) {
        if walk.batched == 0 {
            return;
        }
        walk.batched = 0;
        let deltas = mem::take(&mut walk.nr_pages);
        let guard = self.lock_lruvec(walk.lruvec);
        self.maps.lru_gen_add_sizes(&guard, &deltas);
        drop(guard);
    }
}

//! Reclaim that user space asks for, by `memory.reclaim`.

use super::charge::MAX_RECLAIM_RETRIES;
use super::scan::Agent;
use super::try_to_free::ReclaimOptions;
use crate::engine::Engine;
use crate::id::MemcgId;
use crate::world::World;
use pageout_paging::Format;
use pageout_uapi::{Errno, ReclaimRequest};

impl<W: World> Engine<'_, W> {
    /// Reclaims the amount that `request` asks for from a cgroup and all below it, in rounds of a
    /// quarter of the amount left. Returns the number of pages reclaimed, which may be more than
    /// asked for (Linux 7.3.4, `user_proactive_reclaim`; there are no per-CPU lists to drain before
    /// the last round). [`ReclaimRequest::parse`] reads what is written to the file.
    ///
    /// # Errors
    /// [`Errno::ENODEV`] if the cgroup was removed, as a write to a removed cgroup's file.
    /// [`Errno::EINTR`] if a signal is pending, [`Errno::EAGAIN`] if 17 rounds reclaimed nothing.
    /// Pages reclaimed before stay reclaimed.
    pub fn memory_reclaim(
        &mut self,
        memcg: MemcgId,
        request: ReclaimRequest,
    ) -> Result<u64, Errno> {
        let memcg = self.maps.memcg_nr(memcg).map_err(|_removed| Errno::ENODEV)?;
        let wanted = request.bytes >> <W::Format as Format>::PAGE_SHIFT;
        let options = ReclaimOptions {
            may_swap: true,
            swappiness: request.swappiness,
            agent: Agent::Proactive,
        };
        let (mut reclaimed, mut retries) = (0, MAX_RECLAIM_RETRIES);
        while reclaimed < wanted {
            if self.world.signal_pending() {
                return Err(Errno::EINTR);
            }
            let batch = (wanted - reclaimed) / 4;
            let got = self.try_to_free_from(memcg, batch, options);
            if got == 0 {
                retries = retries.checked_sub(1).ok_or(Errno::EAGAIN)?;
            }
            reclaimed += got;
        }
        Ok(reclaimed)
    }
}

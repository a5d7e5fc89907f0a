//! Charging folios to cgroups, with reclaim where a limit is reached.

use super::scan::Agent;
use super::try_to_free::ReclaimOptions;
use crate::cgroup::counters;
use crate::engine::Engine;
use crate::id::{FolioId, FolioNr, MemcgId, MemcgNr};
use crate::memory::{BadId, OutOfMemory};
use crate::vmstat::Counter;
use crate::world::World;

/// The number of times that a charge, or user space's request, tries again after reclaim that freed
/// nothing (`MAX_RECLAIM_RETRIES`).
pub(super) const MAX_RECLAIM_RETRIES: u32 = 16;

/// The size in pages above which a charge does not insist (2^`PAGE_ALLOC_COSTLY_ORDER`).
const COSTLY: u64 = 8;

/// The reason why a folio was not charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChargeError {
    /// A cgroup is at its limit ([`OutOfMemory::Limit`]).
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The folio is charged already (EEXIST).
    #[error("the folio is charged already")]
    Charged,
    /// The folio was freed, or the cgroup removed.
    #[error(transparent)]
    BadId(#[from] BadId),
}

impl<W: World> Engine<'_, W> {
    /// Charges a folio to a cgroup and all above. If one is at its limit, reclaims from it, as long
    /// as that frees something or retries are left (Linux 7.3.4, `try_charge_memcg`; without its
    /// per-CPU stock).
    ///
    /// # Errors
    /// [`ChargeError`]; nothing is charged then.
    pub fn charge(&mut self, id: FolioId, memcg: MemcgId) -> Result<(), ChargeError> {
        let (id, memcg) = (self.maps.folio_nr(id)?, self.maps.memcg_nr(memcg)?);
        if self.maps.folio_at(id).is_charged() {
            return Err(ChargeError::Charged);
        }
        Ok(self.charge_at(id, memcg)?)
    }

    /// Charges a folio, by its entry.
    pub(crate) fn charge_at(&mut self, id: FolioNr, memcg: MemcgNr) -> Result<(), OutOfMemory> {
        let maps = self.maps;
        let folio = maps.folio_at(id);
        debug_assert!(!folio.is_charged(), "a folio is charged once");
        let nr = folio.nr_pages() as u64;
        let mut retries = MAX_RECLAIM_RETRIES;
        while let Err(full) = maps.try_charge(memcg, nr) {
            maps.memcg_at(full).vmstat.add(Counter::EventMax, 1);
            let options = ReclaimOptions { may_swap: true, swappiness: None, agent: Agent::Direct };
            let freed = self.try_to_free_from(full, nr, options);
            let limit = maps.memcg_at(full);
            let room = limit.max().saturating_sub(limit.usage()) >= nr;
            if room || (freed > 0 && nr <= COSTLY) {
                continue;
            }
            if retries == 0 {
                maps.memcg_at(full).vmstat.add(Counter::EventOom, 1);
                return Err(OutOfMemory::Limit(maps.memcg_id(full)));
            }
            retries -= 1;
        }
        folio.set_memcg(memcg);
        for counter in counters(folio) {
            maps.memcg_at(memcg).vmstat.add(*counter, nr);
        }
        Ok(())
    }
}

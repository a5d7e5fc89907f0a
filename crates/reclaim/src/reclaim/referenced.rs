//! `folio_referenced`: finds out if a folio was used since the last call, and by how many VMAs.

use crate::engine::Engine;
use crate::folio::{Folio, FolioFlags, FolioGuard};
use crate::id::{FolioId, FolioNr, MemcgId, MemcgNr};
use crate::memory::BadId;
use crate::mm::{VmFlags, Vma, maps_whole, max_batch};
use crate::rank::Rank;
use crate::tuning::Aging;
use core::ops::ControlFlow;
use core::ptr;
use pageout_paging::walk::{Hit, LockWhen, MappedWalk, Match, RmapTarget};
use pageout_paging::young::YoungCheck;
use pageout_paging::{Env, Format};

/// The number of VMAs that referenced a folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refs {
    /// The number of VMAs.
    Vmas(u32),
    /// Unknown for now, so that the folio is kept (the kernel's −1). The reverse map was locked, or
    /// the folio's process is exiting and will free it.
    Unknown,
}

/// The result of [`Engine::folio_referenced`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Referenced {
    /// The VMAs that referenced the folio.
    pub refs: Refs,
    /// The flags of those VMAs together. [`VmFlags::LOCKED`] is set only if the folio is to stay
    /// because of it.
    pub vm_flags: VmFlags,
}

impl Referenced {
    const fn vmas(nr: u32) -> Self {
        Self { refs: Refs::Vmas(nr), vm_flags: VmFlags::empty() }
    }
}

impl<E: Env> Engine<'_, E> {
    /// Checks the young bits of every VMA's entries that map the folio, and clears them (Linux
    /// 7.3.4, rmap.c). A reclaim of one cgroup skips processes of other cgroups. With the
    /// multi-generational LRU, entries near a young one are checked too, and only PMD leaves are
    /// flushed. A caller that holds the folio's lock passes its guard. Otherwise the lock is tried,
    /// and a folio locked by someone else counts as referenced once.
    ///
    /// # Errors
    /// [`BadId`] if the folio was freed, or the guard is another folio's.
    ///
    /// # Panics
    /// In debug builds, if given device memory, which is on no LRU list (kernels built to debug
    /// memory management warn once). In other builds, device memory is checked like any.
    pub fn folio_referenced(
        &mut self,
        id: FolioId,
        held: Option<&FolioGuard<'_>>,
        target: Option<MemcgId>,
    ) -> Result<Referenced, BadId> {
        let target = target.map(|id| self.maps.memcg_nr(id)).transpose()?;
        let nr = match held {
            Some(guard) => self.maps.locked_nr(guard, id)?,
            None => self.maps.folio_nr(id)?,
        };
        Ok(self.folio_referenced_at(nr, held, target))
    }

    /// Checks the young bits of the entries that map a folio, by the folio's entry.
    pub(super) fn folio_referenced_at(
        &mut self,
        id: FolioNr,
        held: Option<&FolioGuard<'_>>,
        target: Option<MemcgNr>,
    ) -> Referenced {
        let folio = self.maps.folio_at(id);
        debug_assert!(
            !folio.flags().contains(FolioFlags::ZONE_DEVICE),
            "device memory is on no LRU"
        );
        debug_assert!(
            held.is_none_or(|guard| ptr::eq(guard.folio(), folio)),
            "the folio's own lock"
        );
        if folio.mapcount() == 0 {
            return Referenced::vmas(0);
        }
        if held.is_some() {
            return self.ask_vmas(folio, target);
        }
        let Some(_guard) = self.try_lock_folio(id) else {
            self.cpu.events.folio_lock_failed += 1;
            return Referenced::vmas(1);
        };
        self.ask_vmas(folio, target)
    }
}

/// The state of a scan: the part left to find, and the result so far.
struct ReferencedScan {
    /// The cgroup whose processes count, if not all do.
    target: Option<MemcgNr>,
    /// The number of mappings not seen yet.
    mapcount: u32,
    vmas: u32,
    vm_flags: VmFlags,
}

impl<'e, E: Env> Engine<'e, E> {
    fn ask_vmas(&mut self, folio: &Folio, target: Option<MemcgNr>) -> Referenced {
        let maps = self.maps;
        let mapping = maps.mapping_at(folio.mapping());
        let Some(_guard) = self.try_lock_read(Rank::Rmap, &mapping.lock) else {
            self.cpu.events.rmap_lock_failed += 1;
            return Referenced { refs: Refs::Unknown, vm_flags: VmFlags::empty() };
        };
        let mapcount = folio.mapcount();
        let mut scan = ReferencedScan { target, mapcount, vmas: 0, vm_flags: VmFlags::empty() };
        let mut refs = None;
        for vma in maps.vmas_of::<E::Format>(mapping, folio.range()) {
            if let ControlFlow::Break(known) = self.ask_vma(folio, vma, &mut scan) {
                refs = known;
                break;
            }
        }
        Referenced { refs: refs.unwrap_or(Refs::Vmas(scan.vmas)), vm_flags: scan.vm_flags }
    }

    /// Checks one VMA. Breaks if no further VMA needs a check, with the result if it is not the
    /// number of VMAs so far.
    fn ask_vma(
        &mut self,
        folio: &Folio,
        vma: &Vma,
        scan: &mut ReferencedScan,
    ) -> ControlFlow<Option<Refs>> {
        let (maps, env) = (self.maps, self.world);
        let Some((range, _)) = vma.range_of::<E::Format>(folio) else {
            return ControlFlow::Continue(());
        };
        if vma.flags().intersects(VmFlags::NO_RECENCY) {
            self.cpu.events.vma_skipped += 1;
            return ControlFlow::Continue(());
        }
        let Aging { algorithm, flush } = self.tuning.aging;
        let mm = maps.mm_at(vma.mm());
        if scan.target.is_some_and(|target| !maps.is_within(mm.memcg(), target)) {
            return ControlFlow::Continue(());
        }
        let target = RmapTarget {
            root: mm.root(),
            range,
            pfn: folio.pfn(),
            nr_pages: folio.nr_pages(),
            matches: Match::Mapped,
            lock: LockWhen::Plausible,
            getter: algorithm.getter(),
        };
        let check = YoungCheck { env, algorithm, flush, asid: mm.asid() };
        let mut walk = self.walk_mapped(target);
        let found = if vma.flags().contains(VmFlags::LOCKED) {
            see_locked(&mut walk, folio, scan)
        } else if mm.is_exiting() && is_private_anon(folio) {
            match walk.next_hit() {
                Some(_) => ControlFlow::Break(Some(Refs::Unknown)),
                None => ControlFlow::Continue(false),
            }
        } else {
            let query = RefQuery { folio, vma, look_around: maps.lru_gen_settled() };
            ControlFlow::Continue(self.clear_young(&mut walk, &check, &query, scan))
        };
        drop(walk);
        let mut referenced = found?;
        if referenced {
            folio.update_flags(FolioFlags::empty(), FolioFlags::IDLE);
        }
        if folio.flags().contains(FolioFlags::YOUNG) {
            folio.update_flags(FolioFlags::empty(), FolioFlags::YOUNG);
            referenced = true;
        }
        if referenced {
            scan.vmas += 1;
            scan.vm_flags |= vma.flags() - VmFlags::LOCKED;
        }
        if scan.mapcount == 0 { ControlFlow::Break(None) } else { ControlFlow::Continue(()) }
    }

    /// Clears the young bits of the folio's entries in one VMA, run by run. Returns true if any was
    /// set.
    fn clear_young(
        &mut self,
        walk: &mut MappedWalk<'e, E>,
        check: &YoungCheck<'e, E>,
        query: &RefQuery<'_>,
        scan: &mut ReferencedScan,
    ) -> bool {
        let RefQuery { folio, vma, look_around } = *query;
        let vma_end = vma.end();
        let mut referenced = false;
        let mut seen = 0;
        while let Some(hit) = walk.next_hit() {
            let (nr, young) = match hit {
                Hit::Pmd(addr) => (1, check.pmdp_clear_flush_young_notify(walk.locked(), addr)),
                Hit::Pte(addr, pte) if E::Format::is_present(pte) => {
                    let max_nr = max_batch::<E>(folio, vma_end, addr, pte);
                    let (nr, young) = if look_around {
                        self.lru_gen_look_around(check, walk, (folio, vma), (addr, pte), max_nr)
                    } else {
                        check.clear_flush_young_run(walk.locked(), addr, pte, max_nr)
                    };
                    walk.skip(nr);
                    (nr, young)
                }
                Hit::Pte(addr, _) => (1, check.clear_flush_young_secondary(addr)),
            };
            referenced |= young;
            seen += nr;
            scan.mapcount = scan.mapcount.saturating_sub(nr as u32);
            if seen >= folio.nr_pages() {
                break;
            }
        }
        referenced
    }
}

/// Returns true if the folio is anonymous memory that seems to be mapped by only one process.
#[inline]
fn is_private_anon(folio: &Folio) -> bool {
    let anon = FolioFlags::ANON | FolioFlags::SWAPBACKED;
    folio.flags().contains(anon) && folio.mapcount() as usize <= folio.nr_pages()
}

/// Counts the entries of an mlocked VMA. If it maps the whole folio through one table, under the
/// lock now held, marks the folio as locked and ends the scan.
fn see_locked<E: Env>(
    walk: &mut MappedWalk<'_, E>,
    folio: &Folio,
    scan: &mut ReferencedScan,
) -> ControlFlow<Option<Refs>, bool> {
    let mut seen = 0;
    while let Some(hit) = walk.next_hit() {
        seen += 1;
        scan.mapcount = scan.mapcount.saturating_sub(1);
        if maps_whole(walk, hit, seen, folio) {
            folio.update_flags(FolioFlags::MLOCKED, FolioFlags::empty());
            scan.vm_flags |= VmFlags::LOCKED;
            return ControlFlow::Break(None);
        }
    }
    ControlFlow::Continue(false)
}

/// The parameters of the check of one VMA.
struct RefQuery<'a> {
    folio: &'a Folio,
    vma: &'a Vma,
    /// True if the multi-generational LRU looks around young entries, and flushes nothing.
    look_around: bool,
}

//! An audit of the engine at rest: it checks that mapcounts, references, swap slots and lists add
//! up.

use pageout_paging::pte::{Entry, SwapKind};
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::{Env, Format, Level, Pfn, Table};
use pageout_reclaim::{
    CpuCtx, FolioFlags, FolioId, LruFlags, LruList, MemcgId, MmState, SwapSlot, Tuning, World,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The input of an audit. The engine must be idle: no call, no transfer, no isolated folio.
#[derive(Clone, Debug)]
pub struct AuditInput {
    /// Root tables of all address spaces.
    pub roots: Vec<Pfn>,
    /// All frames that folios may have.
    pub frames: Range<Pfn>,
    /// The number of swap slots.
    pub slots: u32,
    /// The number of page tables in use.
    pub tables: usize,
}

/// Counts from the page tables.
#[derive(Debug, Default)]
struct Tally {
    /// The number of page tables.
    tables: usize,
    /// The number of entries that map each folio.
    mapped: BTreeMap<FolioId, u32>,
    /// The number of entries that name each slot.
    swapped: BTreeMap<u32, u32>,
    /// The first mapped frame that belongs to no folio.
    astray: Option<Pfn>,
    /// The first frame that a migration entry names.
    moving: Option<Pfn>,
}

/// Audits the engine. Returns the folios found, so that the caller can compare frames.
///
/// # Errors
/// The first inconsistency, in words.
pub fn audit<W: World>(
    maps: &MmState<'_>,
    world: &W,
    input: &AuditInput,
) -> Result<BTreeSet<FolioId>, String> {
    let mut tally = Tally::default();
    for root in &input.roots {
        tally.table(maps, world, *root, Level::Pgd);
    }
    let (used, reached) = (input.tables, tally.tables);
    let reserve = maps.tables_in_reserve() as usize;
    if used != reached + reserve {
        return Err(format!(
            "{used} page tables are in use, {reached} are reached, {reserve} are in reserve"
        ));
    }
    if let Some(pfn) = tally.astray {
        return Err(format!("an entry maps frame {}, which no folio has", pfn.get()));
    }
    if let Some(pfn) = tally.moving {
        return Err(format!("an entry waits for the page of frame {} to move", pfn.get()));
    }
    let frames =
        (0..input.frames.end.offset_from(input.frames.start)).map(|k| input.frames.start.add(k));
    let folios: BTreeSet<_> = frames.filter_map(|pfn| maps.folio_of(pfn)).collect();
    for id in &folios {
        references(maps, world, *id, tally.mapped.get(id).copied().unwrap_or(0))?;
    }
    for slot in 0..input.slots {
        let counted = maps.slot_entries(SwapSlot(slot)).expect("a slot in range");
        let named = tally.swapped.get(&slot);
        // The index of shared memory names a slot as an entry does.
        let indexed =
            u32::from(maps.slot_shmem(SwapSlot(slot)).expect("a slot in range").is_some());
        let named = named.copied().unwrap_or(0) + indexed;
        if counted != named {
            return Err(format!("swap slot {slot} counts {counted} entries, and {named} name it"));
        }
    }
    lists(maps, &folios)?;
    Ok(folios)
}

impl Tally {
    fn table<E: Env>(&mut self, maps: &MmState<'_>, env: &E, frame: Pfn, level: Level) {
        self.tables += 1;
        for i in 0..E::Format::PTES {
            let raw = env.table(frame).load(i);
            match level.below() {
                Some(below) if E::Format::is_table(raw) => {
                    self.table(maps, env, E::Format::pfn(raw), below);
                }
                Some(_) if E::Format::is_present(raw) => self.map(maps, E::Format::pfn(raw)),
                Some(_) => {}
                None => self.entry::<E::Format>(maps, raw, i),
            }
        }
    }

    fn entry<F: Format>(&mut self, maps: &MmState<'_>, raw: pageout_paging::Pte, i: usize) {
        let pte = F::decode(raw, i);
        match F::entry(pte) {
            Entry::None => {}
            Entry::Present | Entry::ProtNone => self.map(maps, F::pfn(pte)),
            Entry::Swap(entry) if entry.kind == SwapKind::Device(0) => {
                if let Some(slot) = SwapSlot::named_by(entry) {
                    *self.swapped.entry(slot.0).or_default() += 1;
                }
            }
            Entry::Swap(entry) if entry.kind == SwapKind::Migration => {
                self.moving = self.moving.or(entry.pfn());
            }
            Entry::Swap(_) => {}
        }
    }

    fn map(&mut self, maps: &MmState<'_>, pfn: Pfn) {
        match maps.folio_of(pfn) {
            Some(id) => *self.mapped.entry(id).or_default() += 1,
            None => self.astray = self.astray.or(Some(pfn)),
        }
    }
}

/// Checks that the mapcount is the number of entries, and that the references are those of the
/// entries and of the index or the swap cache.
fn references<W: World>(
    maps: &MmState<'_>,
    world: &W,
    id: FolioId,
    mapped: u32,
) -> Result<(), String> {
    let folio = maps.folio(id).expect("it lives");
    let name = format!("the folio of frame {}", folio.pfn().get());
    if folio.mapcount() != mapped {
        let counted = folio.mapcount();
        return Err(format!("{name} has a mapcount of {counted}, and {mapped} entries map it"));
    }
    let cpu = &mut CpuCtx::new();
    let indexed = if folio.flags().contains(FolioFlags::ANON) {
        folio.flags().contains(FolioFlags::SWAPCACHE)
    } else {
        let found = maps
            .on(world, cpu, Tuning::recommended(FlushPolicy::GENERIC))
            .filemap_get_folio(maps.mapping_of(folio), folio.index())
            .expect("it lives");
        if let Some(found) = found {
            maps.on(world, cpu, Tuning::recommended(FlushPolicy::GENERIC))
                .release(found, 1)
                .expect("the caller has it");
        }
        // Shared memory on its way to swap or back is in the swap cache, like anonymous memory.
        let cached = FolioFlags::SWAPCACHE | FolioFlags::SWAPBACKED;
        found == Some(id) || folio.flags().contains(cached)
    };
    let expected = mapped + u32::from(indexed);
    let refs = folio.refs();
    if refs != expected {
        return Err(format!("{name} has {refs} references, where {expected} can be found"));
    }
    Ok(())
}

/// Checks that the lists are as long as the folios on them are large.
fn lists(maps: &MmState<'_>, folios: &BTreeSet<FolioId>) -> Result<(), String> {
    for list in LruList::ALL {
        let on = |id: &&FolioId| {
            let folio = maps.folio(**id).expect("it lives");
            folio.lru().contains(LruFlags::LRU) && list_of(folio) == list
        };
        let pages: usize =
            folios.iter().filter(on).map(|id| maps.folio(*id).expect("it lives").nr_pages()).sum();
        let counted = maps.lru_size(MemcgId::ROOT, list).expect("it is online");
        if counted != pages as u64 {
            return Err(format!("{list:?} counts {counted} pages, and {pages} are on it"));
        }
    }
    Ok(())
}

fn list_of(folio: &pageout_reclaim::Folio) -> LruList {
    let active = folio.lru().contains(LruFlags::ACTIVE);
    match (folio.flags().contains(FolioFlags::SWAPBACKED), active) {
        _ if folio.lru().contains(LruFlags::UNEVICTABLE) => LruList::Unevictable,
        (true, false) => LruList::InactiveAnon,
        (true, true) => LruList::ActiveAnon,
        (false, false) => LruList::InactiveFile,
        (false, true) => LruList::ActiveFile,
    }
}

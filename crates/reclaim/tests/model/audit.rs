//! The invariants that hold between any two operations: all that the engine counts, counted again.

use crate::model::Model;
use crate::truth::Process;
use pageout_paging::pte::{Entry, SwapKind};
use pageout_paging::{Format, Level, Pfn, Pte, Rules, Table};
use pageout_reclaim::{
    Counter, DirtyFolios, FolioFlags, FolioId, MappingId, MemcgId, SwapSlot, VmFlags,
};
use pageout_sim::Transfer;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The contents of the page tables of all processes.
#[derive(Debug, Default)]
struct Found {
    /// The number of entries that map each frame, and true if one is writable.
    mapped: BTreeMap<Pfn, (u32, bool)>,
    /// The number of leaves that map a run of frames, by its first. Each is an entry of all of
    /// them.
    leaves: BTreeMap<Pfn, u32>,
    /// The number of leaves of anonymous memory.
    anon_leaves: u32,
    /// The number of entries that name each slot, and true if one says that its page is exclusive.
    swapped: BTreeMap<SwapSlot, (u32, bool)>,
    tables: usize,
}

/// Returns true for the flags of folios of a kind.
type Of = fn(FolioFlags) -> bool;

impl<F: Format, R: Rules> Model<'_, '_, F, R> {
    /// # Panics
    /// At the first inconsistency, which it names.
    pub(crate) fn audit(&self) {
        let mut found = Found::default();
        for process in self.truth.borrow().processes.iter().flatten() {
            self.audit_table(process, (process.root, Level::Pgd), 0, &mut found);
        }
        let used = self.hardware.tables.in_use();
        let reserve = self.maps.tables_in_reserve();
        assert_eq!(found.tables + reserve as usize, used, "page tables reached, and in use");
        assert_eq!(found.anon_leaves, reserve, "leaves of anonymous memory, and tables for them");
        let folios = self.folios();
        for (id, nr) in &folios {
            self.audit_folio(*id, *nr, &found);
        }
        self.audit_dirty(&folios, &found);
        self.audit_lists(&folios);
        self.audit_walks();
        self.audit_cgroups(&folios);
        self.audit_slots(&folios, &found);
        assert_eq!(self.maps.dropped_tlb_batches(), 0, "TLB batches are finished");
        self.audit_tlbs();
    }

    /// Checks the translations that CPUs still hold, and the pages that the device reaches. They
    /// permit no more than the VMAs do, and lead to the values stored last, even inside of reclaim,
    /// which owes flushes.
    pub(crate) fn audit_tlbs(&self) {
        let (truth, tlbs) = (self.truth.borrow(), self.hardware.tlbs());
        let held = tlbs.cpus.iter().flat_map(|tlb| tlb.held.clone());
        for held in held.chain(self.mirrors.iter().flat_map(|mirror| mirror.translations())) {
            let mut all = truth.processes.iter().flatten();
            let Some(process) = all.find(|process| process.asid == held.asid) else {
                panic!("{held:?} outlives its process");
            };
            for page in held.page..held.page + held.nr {
                let frame = self.walker.reached(&held, page);
                let content = self.hardware.memory().content(frame);
                let at = process.pages.get(&page);
                let at = at.unwrap_or_else(|| panic!("page {page} is mapped no more: {held:?}"));
                let loads = at.flags.contains(VmFlags::READ);
                let stores = at.flags.contains(VmFlags::WRITE) || !held.write;
                assert!(loads && stores, "{held:?} permits what its VMA does not: {at:?}");
                assert!(truth.may_hold(at, content), "{held:?} leads to {content:#x}, not {at:?}");
            }
        }
    }

    fn audit_table(
        &self,
        process: &Process,
        (frame, level): (Pfn, Level),
        first: u64,
        found: &mut Found,
    ) {
        found.tables += 1;
        assert!(self.hardware.tables.is_used(frame), "a page table that is reached is in use");
        let table = self.walker.table::<F>(frame);
        for i in 0..F::PTES {
            let raw = table.load(i);
            let page = first + (i as u64) * F::nr_pages(level) as u64;
            match level.below() {
                _ if raw.is_none() => {}
                Some(_) if level == Level::Pmd && !F::is_table(raw) => {
                    self.audit_leaf(process, raw, page, found);
                }
                Some(below) => {
                    assert!(F::is_table(raw), "no leaf above a PMD table: {raw:?}");
                    self.audit_table(process, (F::pfn(raw), below), page, found);
                }
                None => {
                    if F::is_cont(raw) && i % F::CONT_PTES == 0 {
                        self.audit_block(frame, i);
                    }
                    self.audit_entry(F::decode(raw, i), page, found);
                }
            }
        }
    }

    /// Checks that a leaf maps all of a folio, in pages that are mapped alike.
    fn audit_leaf(&self, process: &Process, raw: Pte, page: u64, found: &mut Found) {
        assert!(F::is_present(raw), "page {page}: {raw:?}");
        let (pfn, nr) = (F::pfn(raw), F::PTES as u64);
        let id = self.maps.folio_of(pfn).expect("a leaf maps a folio");
        let folio = self.maps.folio(id).expect("it lives");
        assert_eq!((folio.pfn(), folio.nr_pages() as u64), (pfn, nr), "a leaf of {id:?}");
        let alike = |k| process.pages[&(page + k)].flags == process.pages[&page].flags;
        assert!((0..nr).all(alike), "a leaf at page {page} lies in one VMA");
        assert!(!(F::is_uffd_wp(raw) && F::is_write(raw)), "page {page}: {raw:?}");
        *found.leaves.entry(pfn).or_default() += 1;
        found.anon_leaves += u32::from(folio.flags().contains(FolioFlags::ANON));
        for k in 0..nr {
            let at = found.mapped.entry(pfn.add(k)).or_default();
            at.0 += 1;
            at.1 |= F::is_write(raw);
        }
    }

    /// Checks that a contiguous block is whole, aligned and alike, and lies in one folio.
    fn audit_block(&self, frame: Pfn, i: usize) {
        let table = self.walker.table::<F>(frame);
        let plain = |k: usize| F::mkold(F::mkclean(F::decode(table.load(i + k), i + k)));
        let first = plain(0);
        let pfn = F::pfn(first);
        assert!(pfn.get().is_multiple_of(F::CONT_PTES as u64), "a block is aligned: {first:?}");
        let id = self.maps.folio_of(pfn);
        for k in 1..F::CONT_PTES {
            let (pte, raw) = (plain(k), table.load(i + k));
            assert!(F::is_cont(raw), "entry {k} of a block is contiguous: {raw:?}");
            assert_eq!(pte, F::advance(first, k), "entry {k} of a block is alike");
            assert_eq!(self.maps.folio_of(pfn.add(k as u64)), id, "a block lies in one folio");
        }
    }

    fn audit_entry(&self, pte: Pte, page: u64, found: &mut Found) {
        match F::entry(pte) {
            Entry::None => {}
            Entry::Present | Entry::ProtNone => {
                let at = found.mapped.entry(F::pfn(pte)).or_default();
                at.0 += 1;
                at.1 |= F::is_write(pte);
                assert!(!(F::is_uffd_wp(pte) && F::is_write(pte)), "page {page}: {pte:?}");
            }
            Entry::Swap(entry) if entry.lent().is_some() => {
                let pfn = entry.lent().expect("just seen");
                found.mapped.entry(pfn).or_default().0 += 1;
            }
            Entry::Swap(entry) => match SwapSlot::named_by(entry) {
                Some(slot) => {
                    let at = found.swapped.entry(slot).or_default();
                    at.0 += 1;
                    at.1 |= entry.exclusive;
                }
                None => assert_eq!(entry.kind, SwapKind::Marker, "page {page}: {pte:?}"),
            },
        }
    }

    /// Returns all folios, and their pages. Every frame is free or belongs to one folio.
    fn folios(&self) -> BTreeMap<FolioId, u64> {
        let mut folios = BTreeMap::new();
        for (k, frame) in self.hardware.memory().frames().iter().enumerate() {
            let pfn = Pfn::new(k as u64);
            let id = self.maps.folio_of(pfn);
            assert_eq!(id.is_some(), frame.used, "{pfn:?} is free, or has a folio: {id:?}");
            if let Some(id) = id {
                let folio = self.maps.folio(id).expect("it lives");
                assert!(pfn.offset_from(folio.pfn()) < folio.nr_pages() as u64, "{pfn:?}: {id:?}");
                *folios.entry(id).or_default() += 1;
            }
        }
        folios
    }

    fn audit_folio(&self, id: FolioId, frames: u64, found: &Found) {
        let folio = self.maps.folio(id).expect("it lives");
        let (flags, nr) = (folio.flags(), folio.nr_pages() as u64);
        assert_eq!(frames, nr, "{id:?} has all its frames: {folio:?}");
        let mut entries = 0;
        for k in 0..nr {
            let pfn = folio.pfn().add(k);
            let (mapped, writable) = found.mapped.get(&pfn).copied().unwrap_or_default();
            entries += mapped;
            if flags.contains(FolioFlags::ANON) {
                let exclusive = self.maps.is_anon_exclusive(pfn);
                assert!(!writable || exclusive, "{pfn:?} of {id:?} is writable but may be shared");
                assert!(!writable || mapped == 1, "{pfn:?} of {id:?} is shared and writable");
                assert!(!exclusive || mapped <= 1, "{pfn:?} of {id:?} is exclusive and shared");
            }
        }
        let leaves = found.leaves.get(&folio.pfn()).copied().unwrap_or_default();
        let entries = entries - leaves * (F::PTES as u32 - 1);
        assert_eq!(folio.mapcount(), entries, "mapcount of {id:?}: {folio:?}");
        let (swapcache, indexed) = match flags.contains(FolioFlags::ANON) {
            true => (flags.contains(FolioFlags::SWAPCACHE), false),
            false => (flags.contains(FolioFlags::SWAPCACHE), self.is_indexed(id)),
        };
        assert_eq!(indexed, flags.contains(FolioFlags::INDEXED), "{id:?} knows: {folio:?}");
        assert!(!(swapcache && indexed), "{id:?} is in one place: {folio:?}");
        assert!(!swapcache || flags.contains(FolioFlags::SWAPBACKED), "{id:?}: {folio:?}");
        let shmem = !flags.contains(FolioFlags::ANON) && flags.contains(FolioFlags::SWAPBACKED);
        assert!(!(shmem && swapcache) || entries == 0, "{id:?} is mapped: {folio:?}");
        let cached = swapcache || indexed;
        let of_it = |transfer: &&Transfer| transfer.io.folio == id;
        let transfers = self.hardware.memory().storage.late.iter().filter(of_it).count();
        let refs = entries + u32::from(cached) + transfers as u32;
        assert_eq!(folio.refs(), refs, "references to {id:?}: {folio:?}");
        assert!(refs > 0, "{id:?} is referred to by no one");
        let going = flags & (FolioFlags::WRITEBACK | FolioFlags::READING);
        assert_eq!(!going.is_empty(), transfers > 0, "{id:?} is being transferred: {folio:?}");
        assert!(folio.try_lock().is_some(), "{id:?} is not locked");
    }

    /// Checks that a flusher finds each folio of a file that is dirty or that an entry lets
    /// processes store to, and no folio twice.
    fn audit_dirty(&self, folios: &BTreeMap<FolioId, u64>, found: &Found) {
        let mut flushed = BTreeSet::new();
        for file in self.files.borrow().iter() {
            if self.maps.mapping(*file).is_err() {
                continue; // it has ended
            }
            let mut walk = DirtyFolios::of(*file);
            let mut next = || self.with_engine(|engine| engine.next_dirty(&mut walk));
            while let Some(id) = next().expect("it lives") {
                self.with_engine(|engine| engine.release(id, 1)).expect("it was given");
                assert_eq!(self.maps.mapping_of(self.maps.folio(id).expect("it lives")), *file);
                assert!(flushed.insert(id), "{id:?} is found once");
            }
        }
        for (id, nr) in folios {
            let folio = self.maps.folio(*id).expect("it lives");
            let used = self.maps.mapping_is_used(self.maps.mapping_of(folio));
            assert_eq!(used, Ok(true), "{id:?} names its mapping");
            let indexed = FolioFlags::INDEXED | FolioFlags::SWAPBACKED;
            let of_file = folio.flags() & indexed == FolioFlags::INDEXED;
            let mut frames = (0..*nr).filter_map(|k| found.mapped.get(&folio.pfn().add(k)));
            let stored =
                frames.any(|(_, writable)| *writable) || folio.flags().contains(FolioFlags::DIRTY);
            assert!(!(of_file && stored) || flushed.contains(id), "{id:?} is found: {folio:?}");
            assert!(of_file || !flushed.contains(id), "{id:?} has no flusher: {folio:?}");
        }
    }

    /// Returns true if the file's index leads to the folio from each of its pages.
    fn is_indexed(&self, id: FolioId) -> bool {
        let folio = self.maps.folio(id).expect("it lives");
        let mut cpu = pageout_reclaim::CpuCtx::new();
        let mut leads = |k: u64| {
            let index = folio.index() + k;
            let there = self
                .maps
                .on(&self.ground(), &mut cpu, self.tuning.get())
                .filemap_get_folio(self.maps.mapping_of(folio), index)
                .expect("it lives");
            there.inspect(|there| {
                self.maps
                    .on(&self.ground(), &mut cpu, self.tuning.get())
                    .release(*there, 1)
                    .expect("the caller has it");
            }) == Some(id)
        };
        let first = leads(0);
        let alike = (1..folio.nr_pages() as u64).all(|k| leads(k) == first);
        assert!(alike, "all pages of {id:?} are in the index, or none");
        first
    }

    /// Returns true if the index has a folio for a page.
    fn has_folio(&self, (mapping, index): (MappingId, u64)) -> bool {
        self.with_engine(|engine| {
            let found = engine.filemap_get_folio(mapping, index).expect("it lives");
            found.inspect(|id| engine.release(*id, 1).expect("the caller has it")).is_some()
        })
    }

    /// Returns a cgroup and all below it.
    pub(crate) fn below(&self, top: MemcgId) -> Vec<MemcgId> {
        let memcgs = self.memcgs.borrow();
        let mut below = vec![top];
        // Parents come before their children.
        for (id, parent) in memcgs.iter().filter(|(id, _)| *id != MemcgId::ROOT) {
            if below.contains(parent) && *id != top {
                below.push(*id);
            }
        }
        below
    }

    /// Checks that charges are the folios' pages, up the hierarchy, and that the counters of their
    /// kinds are.
    fn audit_cgroups(&self, folios: &BTreeMap<FolioId, u64>) {
        for (memcg, _) in self.memcgs.borrow().iter() {
            let of = |id: &FolioId, memcg| {
                self.maps.memcg_of(self.maps.folio(*id).expect("it lives")) == memcg
            };
            let within = self.below(*memcg);
            let charged = folios.iter().filter(|(id, _)| within.iter().any(|of_it| of(id, *of_it)));
            let pages: u64 = charged.map(|(_, nr)| nr).sum();
            assert_eq!(
                self.maps.memcg(*memcg).expect("it is online").usage(),
                pages,
                "pages charged to {memcg:?}"
            );
            let kinds: [(Counter, Of); 3] = [
                (Counter::NrAnonPages, |flags| flags.contains(FolioFlags::ANON)),
                // Shared memory in the swap cache counts as neither.
                (Counter::NrFilePages, |flags| {
                    !flags.intersects(FolioFlags::ANON | FolioFlags::SWAPCACHE)
                }),
                (Counter::NrShmem, |flags| {
                    flags.contains(FolioFlags::INDEXED | FolioFlags::SWAPBACKED)
                }),
            ];
            for (counter, is) in kinds {
                let kind = |id: &FolioId| is(self.maps.folio(*id).expect("it lives").flags());
                let own = folios.iter().filter(|(id, _)| of(id, *memcg) && kind(id));
                let pages: u64 = own.map(|(_, nr)| nr).sum();
                let counted = self.maps.memcg(*memcg).expect("it is online").vmstat().get(counter);
                assert_eq!(counted, pages, "{} of {memcg:?}", counter.name());
            }
        }
    }

    /// Checks that slots count the entries that name them, and are free if no entry and no folio
    /// uses them.
    fn audit_slots(&self, folios: &BTreeMap<FolioId, u64>, found: &Found) {
        let mut cached = BTreeMap::new();
        for id in folios.keys() {
            let folio = self.maps.folio(*id).expect("it lives");
            if folio.flags().contains(FolioFlags::SWAPCACHE) {
                for k in 0..folio.nr_pages() {
                    let before = cached.insert(folio.swap().nth(k), (*id, k as u64));
                    assert_eq!(before, None, "a slot has one folio");
                }
            }
        }
        let all = self.slots;
        let (mut free, mut places) = (0, HashSet::new());
        for slot in (0..all as u32).map(SwapSlot) {
            let (mut entries, exclusive) = found.swapped.get(&slot).copied().unwrap_or_default();
            if let Some(place) = self.maps.slot_shmem(slot).expect("in range") {
                assert_eq!(entries, 0, "{slot:?} is shared memory's, and no page table's");
                assert!(places.insert(place), "{place:?} is in one slot");
                assert!(!self.has_folio(place), "{place:?} is in memory, and in {slot:?}");
                entries = 1;
                if let Some((id, k)) = cached.get(&slot) {
                    let folio = self.maps.folio(*id).expect("it lives");
                    let there = (self.maps.mapping_of(folio), folio.index() + k);
                    assert_eq!(there, place, "{id:?} is what {slot:?} holds: {folio:?}");
                }
            }
            assert_eq!(self.maps.slot_entries(slot), Ok(entries), "entries that name {slot:?}");
            assert!(!exclusive || entries == 1, "{slot:?} is exclusive and shared");
            if let (true, Some((id, k))) = (exclusive, cached.get(&slot)) {
                let pfn = self.maps.folio(*id).expect("it lives").pfn().add(*k);
                let mapped = found.mapped.get(&pfn).copied().unwrap_or_default().0;
                assert_eq!(mapped, 0, "{slot:?} is exclusive, and {id:?} mapped");
            }
            free += usize::from(entries == 0 && !cached.contains_key(&slot));
        }
        assert_eq!(self.maps.free_slots(), free, "free slots");
    }
}

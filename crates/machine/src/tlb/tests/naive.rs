//! The TLB as one would describe it: lists, looked through from end to end.

use super::tables::Tables;
use crate::tlb::{FaultKind, Found, LevelShape, Space, TlbShape, Walks};
use crate::{StaleAccessHistogram, Time};
use pageout_paging::mmu::{Asid, Invalidate};
use pageout_paging::table::Table;
use pageout_paging::{Format, Level, Pte, VirtAddr};
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Entry {
    owner: Option<Asid>,
    first: u64,
    nr: u64,
    block: bool,
    pfn: Option<u64>,
    stores: bool,
    /// The table entry of the walk.
    slot: u32,
    /// True if consecutive table entries from `slot` on are the pages'.
    run: bool,
    used: u64,
}

impl Entry {
    fn covers(&self, asid: Asid, page: u64) -> bool {
        self.owner.is_none_or(|owner| owner == asid)
            && (self.first..self.first + self.nr).contains(&page)
    }
}

/// A line of what is held: level, address space, first page, pages, frame, stores, hides since.
pub(super) type Line = (u8, Option<u32>, u64, u64, Option<u64>, bool, Option<u64>);

/// The result of a walk: levels, leaf changed, a table made young, fault.
pub(super) type Walked = (u8, bool, bool, Option<FaultKind>);

pub(super) struct Naive {
    shape: TlbShape,
    levels: [Vec<Entry>; 2],
    /// The first hidden access of each translation that hides some: its table entry, and its time.
    hides: BTreeMap<(Option<u32>, u64), (u32, Time)>,
    pub(super) hidden: StaleAccessHistogram,
    uses: u64,
    walks: Vec<(Asid, Level, u64, u64)>,
    steps: u64,
}

impl Naive {
    pub(super) fn new(shape: TlbShape) -> Self {
        Self {
            shape,
            levels: [Vec::new(), Vec::new()],
            hides: BTreeMap::new(),
            hidden: StaleAccessHistogram::default(),
            uses: 0,
            walks: Vec::new(),
            steps: 0,
        }
    }

    fn level(&self, level: usize) -> Option<LevelShape> {
        if level == 0 { Some(self.shape.l1) } else { self.shape.l2 }
    }

    pub(super) fn find<F: Format>(
        &mut self,
        tables: &Tables<F>,
        asid: Asid,
        page: u64,
        store: bool,
        now: Time,
    ) -> Found {
        self.uses += 1;
        let held = |level: &Vec<Entry>| level.iter().position(|e| e.covers(asid, page));
        let (level, i) = match (held(&self.levels[0]), held(&self.levels[1])) {
            (Some(i), _) => (0, i),
            (None, Some(i)) => (1, i),
            (None, None) => return Found::Miss,
        };
        let entry = self.levels[level][i];
        if entry.pfn.is_none() {
            self.forget_if(now, |e| e.covers(asid, page));
            return Found::Fault;
        }
        if store && !entry.stores {
            return Found::Miss;
        }
        self.levels[level][i].used = self.uses;
        if level == 1 {
            self.put(0, entry, now);
        }
        self.look(tables, &entry, page, now);
        [Found::L1, Found::L2][level]
    }

    fn look<F: Format>(&mut self, tables: &Tables<F>, entry: &Entry, page: u64, now: Time) {
        let key = (entry.owner.map(|asid| asid.0), entry.first);
        let slot = if entry.run { entry.slot + (page - entry.first) as u32 } else { entry.slot };
        let seen = |slot: u32| {
            let pte = tables.load(slot);
            F::is_valid(pte) && F::is_young(pte)
        };
        let nr = entry.nr as u32;
        let first = slot / nr * nr;
        let young = match entry.block {
            true => (first..first + nr).any(seen),
            false => seen(slot),
        };
        if young {
            if self.hides.get(&key).is_some_and(|(hidden, _)| !entry.run || *hidden == slot) {
                self.end(key, now);
            }
        } else if F::is_valid(tables.load(slot)) {
            self.hidden.accesses += 1;
            self.hides.entry(key).or_insert((slot, now));
        } else {
            self.hidden.after_unmap += 1;
        }
    }

    fn end(&mut self, key: (Option<u32>, u64), now: Time) {
        if let Some((_, since)) = self.hides.remove(&key) {
            self.hidden.ends(now.since(since));
        }
    }

    /// Adds an entry; if its set is full, the one used longest ago goes.
    fn put(&mut self, level: usize, entry: Entry, now: Time) {
        let Some(LevelShape { sets, ways }) = self.level(level) else {
            return;
        };
        let set = |e: &Entry| e.first / e.nr % u64::from(sets);
        let same: Vec<Entry> =
            self.levels[level].iter().filter(|e| set(e) == set(&entry)).copied().collect();
        if same.len() == usize::from(ways) {
            let oldest = *same.iter().min_by_key(|e| e.used).expect("a set has ways");
            self.levels[level].retain(|e| *e != oldest);
            self.settle(now);
        }
        self.levels[level].push(Entry { used: self.uses, ..entry });
    }

    /// Ends what entries hid that no level has any more.
    fn settle(&mut self, now: Time) -> usize {
        let here: Vec<_> =
            self.levels.iter().flatten().map(|e| (e.owner.map(|asid| asid.0), e.first)).collect();
        let gone: Vec<_> = self.hides.keys().filter(|k| !here.contains(k)).copied().collect();
        gone.iter().for_each(|key| self.end(*key, now));
        gone.len()
    }

    fn forget_if(&mut self, now: Time, gone: impl Fn(&Entry) -> bool) -> usize {
        let mut translations: Vec<_> =
            self.levels.iter().flatten().filter(|e| gone(e)).map(|e| (e.owner, e.first)).collect();
        translations.sort_unstable_by_key(|(owner, first)| (owner.map(|asid| asid.0), *first));
        translations.dedup();
        self.levels.iter_mut().for_each(|level| level.retain(|e| !gone(e)));
        self.settle(now);
        translations.len()
    }

    pub(super) fn forget<F: Format>(&mut self, what: Invalidate, now: Time) -> usize {
        match what {
            Invalidate::Range { asid, start, nr, level } => {
                let pages = (nr * F::nr_pages(level)) as u64;
                let first = start.get() >> F::shift(level) << (F::shift(level) - F::PAGE_SHIFT);
                let drops = self.shape.page_drops;
                self.walks.retain(|(owner, level, number, _)| {
                    let shift = F::shift(*level) - F::PAGE_SHIFT;
                    let leads = || (first..first + pages).any(|page| page >> shift == *number);
                    *owner != asid || drops == Walks::None || (drops == Walks::ToPage && !leads())
                });
                self.forget_if(now, |e| (first..first + pages).any(|page| e.covers(asid, page)))
            }
            Invalidate::AddressSpace(asid) => {
                self.walks.retain(|walk| walk.0 != asid);
                self.forget_if(now, |e| e.owner == Some(asid))
            }
            Invalidate::Everything => {
                self.walks.clear();
                self.forget_if(now, |e| e.owner.is_some())
            }
        }
    }

    pub(super) fn walk<F: Format>(
        &mut self,
        tables: &Tables<F>,
        space: &Space,
        page: u64,
        store: bool,
        now: Time,
    ) -> Walked {
        let at = VirtAddr::new(page << F::PAGE_SHIFT);
        let number = |level| at.get() >> F::shift(level);
        let held = [Level::Pmd, Level::Pud, Level::Pgd].into_iter().find_map(|level| {
            let step = (space.asid, level, number(level));
            self.walks.iter().position(|walk| (walk.0, walk.1, walk.2) == step)
        });
        self.steps += 1;
        if let Some(held) = held {
            self.walks[held].3 = self.steps;
        }
        let past = held.map_or(4, |held| self.walks[held].1 as u8);
        let mut frame = space.root;
        let mut table_young = false;
        for level in [Level::Pgd, Level::Pud, Level::Pmd, Level::Pte] {
            let (table, i) = (tables.all().table(frame), F::index(level, at));
            let pte = table.load(i);
            if level > Level::Pte && F::is_table(pte) {
                frame = F::pfn(pte);
                if level as u8 >= past {
                    continue; // the cache leads past it
                }
                if space.caps.nonleaf_af && F::mkyoung_table(pte) != pte {
                    table.set(i, F::mkyoung_table(pte));
                    table_young = true;
                }
                self.keep((space.asid, level, number(level)));
                continue;
            }
            let levels = past.min(4) - level as u8;
            let result = self.leaf(tables, space, (level, frame, i), page, store, now);
            return match result {
                Ok(changed) => (levels, changed, table_young, None),
                Err(kind) => (levels, false, table_young, Some(kind)),
            };
        }
        unreachable!("the last level leads to no table")
    }

    fn keep(&mut self, (asid, level, number): (Asid, Level, u64)) {
        let most = usize::from(self.shape.walk_cache);
        if most > 0 && self.walks.len() == most {
            let oldest = self.walks.iter().map(|walk| walk.3).min();
            self.walks.retain(|walk| Some(walk.3) != oldest);
        }
        if most > 0 {
            self.steps += 1;
            self.walks.push((asid, level, number, self.steps));
        }
    }

    fn leaf<F: Format>(
        &mut self,
        tables: &Tables<F>,
        space: &Space,
        (level, frame, i): (Level, pageout_paging::Pfn, usize),
        page: u64,
        store: bool,
        now: Time,
    ) -> Result<bool, FaultKind> {
        let table = tables.all().table(frame);
        let old = table.load(i);
        let slot = tables.all().slot(frame, i).get();
        let plain = Entry {
            owner: Some(space.asid),
            first: page,
            nr: 1,
            block: false,
            pfn: None,
            stores: false,
            slot,
            run: false,
            used: 0,
        };
        if !F::is_valid(old) {
            if self.shape.caches_invalid {
                self.fill(plain, now);
            }
            return Err(FaultKind::Absent);
        }
        if !F::is_young(old) && !space.caps.hardware_af {
            return Err(FaultKind::Accessed);
        }
        let mut new = F::mkyoung(old);
        if store {
            new = F::hardware_dirty(new).ok_or(FaultKind::Permission)?;
            if F::mkold(new) != F::mkold(old) && !space.caps.hardware_dirty {
                return Err(FaultKind::Dirty);
            }
        }
        table.set(i, new);
        let global = F::is_global(new);
        let stores = F::hardware_dirty(new) == Some(new);
        let all: Vec<Pte> = (0..F::PTES).map(|k| F::decode(table.load(k), k)).collect();
        let n = usize::from(self.shape.coalesce);
        let alike = level == Level::Pte && n > 1 && is_run::<F>(&all[i / n * n..][..n]);
        let (nr, block, run) = match level {
            Level::Pmd => (F::PTES, false, false),
            _ if self.shape.contiguous && F::is_cont(new) => (F::CONT_PTES, true, false),
            _ if alike => (n, false, true),
            _ => (1, false, false),
        };
        let first = page / nr as u64 * nr as u64;
        let before = page - first;
        let (mapped, ahead) = if level == Level::Pmd { (new, 0) } else { (all[i], before) };
        let pfn = F::pfn(mapped).get() - ahead;
        let entry = Entry {
            owner: (!global).then_some(space.asid),
            first,
            nr: nr as u64,
            block,
            pfn: Some(pfn),
            stores,
            slot: if run { slot - before as u32 } else { slot },
            run,
            used: 0,
        };
        self.fill(entry, now);
        Ok(new != old)
    }

    fn fill(&mut self, new: Entry, now: Time) {
        self.forget_if(now, |e| {
            let same = e.owner.is_none() || new.owner.is_none() || e.owner == new.owner;
            same && e.first < new.first + new.nr && new.first < e.first + e.nr
        });
        self.put(1, new, now);
        self.put(0, new, now);
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for (level, entries) in self.levels.iter().enumerate() {
            for e in entries {
                let owner = e.owner.map(|asid| asid.0);
                let both = level == 1
                    && self.levels[0].iter().any(|f| f.first == e.first && f.owner == e.owner);
                let since = self.hides.get(&(owner, e.first)).filter(|_| !both);
                let since = since.map(|(_, since)| since.ps());
                lines.push((level as u8 + 1, owner, e.first, e.nr, e.pfn, e.stores, since));
            }
        }
        lines.sort_unstable();
        lines
    }
}

/// Returns true if hardware may hold the entries as one: young, alike, of frames in a row.
fn is_run<F: Format>(entries: &[Pte]) -> bool {
    let fits = |(k, pte): (usize, &Pte)| {
        F::is_valid(*pte) && F::is_young(*pte) && *pte == F::advance(entries[0], k)
    };
    entries.iter().enumerate().all(fits)
}

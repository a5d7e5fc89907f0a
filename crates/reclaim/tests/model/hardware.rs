//! CPUs that read page tables at any time.

use pageout_paging::mmu::Asid;
use pageout_paging::pte::YoungClear;
use pageout_paging::table::{HostTable, Operation, Watch, WatchedTable, changed_by};
use pageout_paging::{Format, Level, Pfn, Pte, Table};
use pageout_sim::{FIRST_TABLE, Hardware, Held};
use std::cell::RefCell;
use std::marker::PhantomData;

/// The number of CPUs of the ground.
pub(crate) const CPUS: usize = 3;

/// The walks of all CPUs. TLBs hold the translations of entries that have other values now: a CPU
/// may read the value that an entry has at any time.
#[derive(Debug)]
pub(crate) struct Walker<'g> {
    pub(crate) hardware: &'g Hardware,
    /// The entry that leads to each page table.
    above: RefCell<Vec<Option<Above>>>,
}

/// The entry that leads to a page table.
#[derive(Clone, Copy, Debug)]
enum Above {
    /// None: the table is the root of an address space.
    Root(Asid),
    /// An entry of another table.
    Entry(usize, usize),
}

fn number(table: Pfn) -> usize {
    table.offset_from(FIRST_TABLE) as usize
}

impl<'g> Walker<'g> {
    pub(crate) fn new(hardware: &'g Hardware, tables: usize) -> Self {
        Self { hardware, above: RefCell::new(vec![None; tables]) }
    }

    /// Returns a page table whose writes the CPUs see.
    pub(crate) fn table<F: Format>(&'g self, frame: Pfn) -> Watched<'g, F> {
        let writes = Writes { number: number(frame), walker: self, format: PhantomData };
        WatchedTable::new(self.hardware.table(frame), writes)
    }

    /// Returns the frame reached through a translation.
    ///
    /// # Panics
    /// If the frame was freed since the translation was made.
    pub(crate) fn reached(&self, by: &Held, page: u64) -> Pfn {
        let pfn = by.frame(page);
        let lost = self.hardware.memory().lost(by, page);
        if let Some(lost) = lost {
            panic!("a CPU reaches {pfn:?}, {lost}, through {by:?}");
        }
        pfn
    }

    /// Notes that no entry leads to a table.
    pub(crate) fn unlink_table(&self, frame: Pfn) {
        self.above.borrow_mut()[number(frame)] = None;
    }

    /// Notes that a table is the root of an address space.
    pub(crate) fn set_root(&self, frame: Pfn, asid: Asid) {
        self.above.borrow_mut()[number(frame)] = Some(Above::Root(asid));
    }

    /// Notes that an entry was written. CPUs may use the new value at any time, and the old one
    /// until an invalidation of it has taken effect.
    ///
    /// # Panics
    /// If translations of different sizes are exclusive and a TLB might hold two of a page.
    fn written<F: Format>(&self, table: usize, i: usize, was: Pte, now: Pte) {
        let place = self.place::<F>(table, i);
        // In some formats, an entry of the last level has a table's bits.
        let leads_on = |pte| F::is_table(pte) && F::pfn(pte) >= FIRST_TABLE;
        if leads_on(now) {
            self.above.borrow_mut()[number(F::pfn(now))] = Some(Above::Entry(table, i));
        }
        let Some((asid, at)) = place else {
            return;
        };
        // TLBs hold only young entries, but an access may make an entry young at any time.
        if F::is_valid(was) && F::is_young(was) && !leads_on(was) {
            let translation = self.translation::<F>(asid, at, was);
            self.hardware.tlbs().offer(translation);
        }
        if F::CLEAR != YoungClear::CompareAndSwap {
            return;
        }
        let clash = match leads_on(now) {
            true => {
                let tlbs = self.hardware.tlbs();
                let all = tlbs.cpus.iter().flat_map(|tlb| tlb.of_page(asid, at.0));
                all.copied().find(|held| held.level == Level::Pmd)
            }
            false if F::is_valid(now) => {
                let translation = self.translation::<F>(asid, at, now);
                self.hardware.tlbs().of_other_size(&translation)
            }
            false => None,
        };
        if let Some(held) = clash {
            panic!("a TLB may hold a block and a page of it: {held:?} and {now:?}");
        }
    }

    /// Returns the address space, the first page and the level of an entry of the last two levels.
    /// Returns `None` for others, and for tables to which no entry leads.
    fn place<F: Format>(&self, table: usize, i: usize) -> Option<(Asid, (u64, Level))> {
        let links = self.above.borrow();
        let (mut at, mut above) = (vec![i], links[table]?);
        let asid = loop {
            match above {
                Above::Root(asid) => break asid,
                Above::Entry(table, i) => {
                    at.push(i);
                    above = links[table]?;
                }
            }
        };
        let level = match at.len() {
            3 => Level::Pmd,
            4 => Level::Pte,
            _ => return None,
        };
        let levels = [Level::Pte, Level::Pmd, Level::Pud, Level::Pgd];
        let levels = levels.into_iter().skip_while(|at| *at < level);
        let page = at.iter().zip(levels).map(|(i, level)| (i * F::nr_pages(level)) as u64).sum();
        Some((asid, (page, level)))
    }

    /// Returns the translation by the valid entry or leaf `raw` of a page.
    pub(crate) fn translation<F: Format>(
        &self,
        asid: Asid,
        (page, level): (u64, Level),
        raw: Pte,
    ) -> Held {
        let i = page as usize & (F::PTES - 1);
        let pte = if level == Level::Pte { F::decode(raw, i) } else { raw };
        Held::of::<F>(asid, page, level, pte, &self.hardware.memory())
    }
}

/// A page table whose writes the CPUs see.
pub(crate) type Watched<'g, F> = WatchedTable<HostTable<'g, F>, Writes<'g, F>>;

/// The writes to a table, which the CPUs see.
pub(crate) struct Writes<'g, F> {
    number: usize,
    walker: &'g Walker<'g>,
    format: PhantomData<F>,
}

impl<F> Clone for Writes<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Writes<'_, F> {}

impl<F: Format> Watch for Writes<'_, F> {
    fn change<T: Table, R>(
        self,
        _operation: Operation,
        table: T,
        i: usize,
        change: impl FnOnce(T) -> R,
    ) -> R {
        let (done, changed) = changed_by(table, i, change);
        if let Some((was, now)) = changed {
            self.walker.written::<F>(self.number, i, was, now);
        }
        done
    }
}

//! Memory and TLBs of CPUs that read page tables at any time.

use pageout_paging::mmu::Asid;
use pageout_paging::pte::YoungClear;
use pageout_paging::{Format, Level, Pfn, Pte};
use pageout_sim::{FIRST_TABLE, Held, Levels, Memory, Tlbs};

/// The number of CPUs of the ground.
pub(crate) const CPUS: usize = 3;

/// The hardware as a whole. TLBs hold the translations of entries that have other values now: a CPU
/// may read the value that an entry has at any time.
#[derive(Debug)]
pub(crate) struct Hardware {
    pub(crate) memory: Memory,
    pub(crate) tlbs: Tlbs,
    /// The entry that leads to each page table.
    above: Vec<Option<Above>>,
}

/// The entry that leads to a page table.
#[derive(Clone, Copy, Debug)]
enum Above {
    /// None: the table is the root of an address space.
    Root(Asid),
    /// An entry of another table.
    Entry(usize, usize),
}

impl Hardware {
    pub(crate) fn new(frames: usize, tables: usize) -> Self {
        Self {
            memory: Memory::new(Pfn::new(0)..Pfn::new(frames as u64)),
            tlbs: Tlbs::new(CPUS, Levels::Named),
            above: vec![None; tables],
        }
    }

    /// Returns the frame reached through a translation.
    ///
    /// # Panics
    /// If the frame was freed since the translation was made.
    pub(crate) fn reached(&self, by: &Held, page: u64) -> Pfn {
        let pfn = by.frame(page);
        if let Some(lost) = self.memory.lost(by, page) {
            panic!("a CPU reaches {pfn:?}, {lost}, through {by:?}");
        }
        pfn
    }

    /// Notes that a table was allocated or freed: no entry leads to it.
    pub(crate) fn unlink_table(&mut self, frame: Pfn) {
        self.above[frame.offset_from(FIRST_TABLE) as usize] = None;
    }

    /// Notes that a table is the root of an address space.
    pub(crate) fn set_root(&mut self, frame: Pfn, asid: Asid) {
        self.above[frame.offset_from(FIRST_TABLE) as usize] = Some(Above::Root(asid));
    }

    /// Notes that an entry was written. CPUs may use the new value at any time, and the old one
    /// until an invalidation of it has taken effect.
    ///
    /// # Panics
    /// If translations of different sizes are exclusive and a TLB might hold two of a page.
    pub(crate) fn written<F: Format>(&mut self, table: usize, i: usize, was: Pte, now: Pte) {
        let place = self.place::<F>(table, i);
        // In some formats, an entry of the last level has a table's bits.
        let leads_on = |pte| F::is_table(pte) && F::pfn(pte) >= FIRST_TABLE;
        if leads_on(now) {
            let below = F::pfn(now).offset_from(FIRST_TABLE) as usize;
            self.above[below] = Some(Above::Entry(table, i));
        }
        let Some((asid, at)) = place else {
            return;
        };
        // TLBs hold only young entries, but an access may make an entry young at any time.
        if F::is_valid(was) && F::is_young(was) && !leads_on(was) {
            self.tlbs.offer(self.translation::<F>(asid, at, was));
        }
        if F::CLEAR != YoungClear::CompareAndSwap {
            return;
        }
        let clash = match leads_on(now) {
            true => {
                let all = self.tlbs.cpus.iter().flat_map(|tlb| tlb.of_page(asid, at.0));
                all.copied().find(|held| held.level == Level::Pmd)
            }
            false if F::is_valid(now) => {
                self.tlbs.of_other_size(&self.translation::<F>(asid, at, now))
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
        let (mut at, mut above) = (vec![i], self.above[table]?);
        let asid = loop {
            match above {
                Above::Root(asid) => break asid,
                Above::Entry(table, i) => {
                    at.push(i);
                    above = self.above[table]?;
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
        Held::of::<F>(asid, page, level, pte, &self.memory)
    }
}

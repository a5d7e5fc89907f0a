//! Operations of other CPUs inside of another operation.

use crate::model::Model;
use crate::steps::{Op, Race, Span};
use crate::truth::Home;
use pageout_paging::pte::{Entry, SwapKind};
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Format, Level, Pfn, Pte, Rules, Table};
use pageout_reclaim::{FolioId, MappingId, SwapSlot};

impl<F: Format, R: Rules> Model<'_, '_, F, R> {
    /// Runs an operation on another CPU inside of the current one. Returns true if it could.
    pub(crate) fn interrupt(&self, cpu: usize, op: &Op) -> bool {
        let outer = self.cpu.get();
        if cpu == outer || self.cpus[cpu].try_borrow_mut().is_err() {
            return false;
        }
        let interruptible = std::mem::take(&mut self.script.borrow_mut().interruptible);
        self.cpu.set(cpu);
        let runs = !self.would_wait(op);
        if runs {
            self.run(op);
            self.audit_tlbs();
        }
        self.cpu.set(outer);
        self.script.borrow_mut().interruptible = interruptible;
        runs
    }

    /// Returns a page, with its process, of which a CPU holds a translation though its entry is
    /// gone.
    fn held_of_none(&self, cpu: usize) -> Option<(usize, u64)> {
        let tlbs = self.hardware.tlbs();
        tlbs.cpus[cpu].held.iter().find_map(|held| {
            let process = self.process_of(held.asid)?;
            let root = self.truth.borrow().processes[process].as_ref()?.root;
            self.raw_entry(root, held.page).is_none().then_some((process, held.page))
        })
    }

    /// Plays a [`Race`]. Returns true if that is possible now.
    pub(crate) fn race(&self, cpu: usize, holder: usize, race: Race) -> bool {
        let Some((process, page)) = self.held_of_none(holder) else {
            return false;
        };
        match race {
            Race::StoreAndLoad => {
                let before = self.truth.borrow().processes[..process].iter().flatten().count();
                let done = self.interrupt(cpu, &Op::Store { process: before, page });
                self.touch(holder, process, page, false, 0);
                done
            }
            Race::WriteOutAndStore => {
                let home = self.truth.borrow().page(process, page).map(|page| page.home);
                let Some(Home::Shared(of, index)) = home else {
                    return false;
                };
                let file = self.files.borrow().iter().position(|file| *file == of);
                let file = file.expect("a file there is");
                let done = self.interrupt(cpu, &Op::WriteFile { file, page: index });
                self.touch(holder, process, page, true, 0);
                done
            }
        }
    }

    pub(crate) fn raw_entry(&self, root: Pfn, page: u64) -> Pte {
        let addr = Self::page(page);
        match descend(&self.ground(), root, addr) {
            Descent::PteTable(frame, _) => {
                self.walker.table::<F>(frame).load(F::index(Level::Pte, addr))
            }
            Descent::PmdLeaf(frame) => {
                self.walker.table::<F>(frame).load(F::index(Level::Pmd, addr))
            }
            Descent::Absent(_) => Pte::NONE,
        }
    }

    /// Returns true if the operation would wait for a folio that the current one has locked or is
    /// moving: here it would wait for ever.
    fn would_wait(&self, op: &Op) -> bool {
        match *op {
            Op::Load { process, page } | Op::Store { process, page } => {
                let at = self.aim(Span { process, at: page, nr: 1 });
                self.fault_would_wait(at.process, at.at)
            }
            Op::WriteFile { file, page } => {
                let file = self.files.borrow()[file];
                let found = self
                    .with_engine(|engine| engine.filemap_get_folio(file, page).expect("it lives"));
                self.is_locked(found)
            }
            _ => false,
        }
    }

    fn fault_would_wait(&self, process: usize, page: u64) -> bool {
        let Some(alive) = self.alive(process) else {
            return false;
        };
        match F::entry(self.raw_entry(alive.root, page)) {
            Entry::Swap(entry) if entry.kind == SwapKind::Migration => true,
            Entry::Swap(entry) if entry.lent().is_some() => {
                let id = entry.lent().and_then(|pfn| self.maps.folio_of(pfn));
                id.is_some_and(|id| self.maps.folio(id).expect("it lives").try_lock().is_none())
            }
            Entry::Swap(entry) if entry.kind != SwapKind::Marker => {
                let slot = SwapSlot::named_by(entry).expect("an entry of a swap slot");
                let found =
                    self.with_engine(|engine| engine.swap_cache_get_folio(slot).expect("it lives"));
                self.is_locked(found)
            }
            Entry::Present | Entry::ProtNone => false,
            Entry::None | Entry::Swap(_) => match alive.pages.get(&page).map(|page| page.home) {
                Some(Home::Private(file, index) | Home::Shared(file, index)) => {
                    let found = self.with_engine(|engine| {
                        engine.filemap_get_folio(file, index).expect("it lives")
                    });
                    self.keeps_faults(found) || self.is_locked(self.swapped_out((file, index)))
                }
                Some(Home::Anonymous) | None => false,
            },
        }
    }

    /// Returns the folio, with a reference, that the swap cache has for a page of shared memory.
    fn swapped_out(&self, place: (MappingId, u64)) -> Option<FolioId> {
        let mut slots = (0..self.slots as u32).map(SwapSlot);
        let slot = slots.find(|slot| self.maps.slot_shmem(*slot) == Ok(Some(place)))?;
        self.with_engine(|engine| engine.swap_cache_get_folio(slot).expect("it lives"))
    }

    /// Returns true if the file's folio that was found makes a fault wait.
    fn keeps_faults(&self, found: Option<FolioId>) -> bool {
        self.is_locked(found) && R::faults_lock_folios()
    }

    /// Returns true if the folio that was found, with a reference, is locked.
    fn is_locked(&self, found: Option<FolioId>) -> bool {
        let Some(id) = found else {
            return false;
        };
        let locked = self.maps.folio(id).expect("it lives").try_lock().is_none();
        self.with_engine(|engine| engine.release(id, 1).expect("the caller has it"));
        locked
    }
}

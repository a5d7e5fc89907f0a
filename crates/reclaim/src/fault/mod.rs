//! Page faults: accesses that hardware could not complete by itself.
//!
//! A fault holds the mmap lock to read. It takes the table's lock to read the entry, and releases
//! it to allocate, read or copy. Then it takes the lock again, and does nothing if the entry has
//! changed: the access is tried again and finds the new entry. A reference keeps a folio that was
//! found in the file index from being reclaimed before it is mapped. Reclaim frees no folio with
//! more references than it knows of.

mod alloc;
mod anon;
mod around;
mod cow;
mod file;
mod leaf;
mod present;
mod shmem;
mod swapin;

use crate::engine::Engine;
use crate::folio::{FolioFlags, MappingKind};
use crate::id::{FolioId, MappingNr, MmId, VmaNr};
use crate::memory::{BadId, OutOfMemory};
use crate::mm::{Mm, VmFlags, Vma, prot_of};
use crate::mm_state::MmState;
use crate::rank::{Rank, Ranked};
use crate::vmstat::Counter;
use crate::world::{IoError, World};
use core::sync::atomic::Ordering::Relaxed;
use pageout_paging::contig::gather;
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{Entry, SwapKind};
use pageout_paging::walk::{self, Descent, TableFrames};
use pageout_paging::{Format, Level, LockedTable, Pfn, Pte, Table, VirtAddr};

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// The fetch of an instruction.
    Exec,
}

/// The way a fault was resolved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// The page was in memory.
    Minor,
    /// The page was read from storage. A fault whose read was [`Fault::Pending`] is minor when it
    /// is tried again: count it at its first.
    Major,
}

/// The outcome of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "an access is tried again, waits, or fails"]
pub enum Fault {
    /// Done: the access is to be tried again.
    Done(FaultKind),
    /// Pending: the folio is being read, or it is shared memory that is being written to swap. The
    /// access is to be tried again after [`Engine::read_done`](crate::Engine::read_done) or
    /// [`Engine::write_done`](crate::Engine::write_done) was called for the folio.
    /// [`MmState::transfer_is_pending`](crate::MmState::transfer_is_pending) returns true until
    /// then.
    Pending(FolioId),
    /// There is no VMA, or it forbids the access (SIGSEGV).
    BadAddress,
    /// userfaultfd write-protects the page: notify the program that registered it.
    WriteProtected,
    /// The given resource ran out, and reclaim made no room. If a transfer is in progress, its end
    /// may make some: the access waits for that and is tried again. If none is, the process cannot
    /// go on (VM_FAULT_OOM).
    OutOfMemory(OutOfMemory),
    /// The page is past the end of the file ([`Mapping::set_size`](crate::Mapping::set_size))
    /// (SIGBUS).
    PastEnd,
    /// Reading the page failed (SIGBUS).
    IoError(IoError),
    /// The entry is one that faults do not handle: device memory, poisoned pages, pages without a
    /// folio.
    Unsupported,
    /// The address space has ended.
    BadId(BadId),
}

/// The result of a handler: the way the fault was resolved, or another outcome.
type Outcome = Result<FaultKind, Fault>;

const MINOR: Outcome = Ok(FaultKind::Minor);

/// The lock of a page table, held.
type Locked<'e, W> = Ranked<'e, LockedTable<'e, W>>;

/// A fault in progress.
struct At<'a, 'e, W: World> {
    engine: &'a mut Engine<'e, W>,
    mm: &'e Mm,
    id: VmaNr,
    vma: &'e Vma,
    /// The first address of the page.
    addr: VirtAddr,
    access: Access,
    /// The marker that stands in place of the entry, if there is one. It asks for userfaultfd's
    /// write protection of the new entry.
    marker: Option<Pte>,
}

impl<W: World> Engine<'_, W> {
    /// Resolves the fault of an access to `addr` (Linux 7.3.4, handle_mm_fault). It never waits for
    /// I/O. After [`Fault::Done`] the access may fault again: the entry has changed meanwhile, or
    /// the copy is left to a second fault.
    pub fn handle_fault(&mut self, mm: MmId, addr: VirtAddr, access: Access) -> Fault {
        let maps = self.maps;
        let addr = addr.align_down(W::Format::PAGE_SHIFT);
        let (mm, guard) = match self.read_mm(mm) {
            Ok(locked) => locked,
            Err(bad) => return Fault::BadId(bad),
        };
        let found = maps.find_vma(mm, addr).filter(|id| permits(maps.vma_at(*id).flags(), access));
        let outcome = match found {
            Some(id) => {
                let vma = maps.vma_at(id);
                let marker = None;
                self.cpu.in_fault = !vma.flags().intersects(VmFlags::NO_RECENCY);
                let outcome = At { engine: self, mm, id, vma, addr, access, marker }.handle();
                self.cpu.in_fault = false;
                outcome
            }
            None => Err(Fault::BadAddress),
        };
        drop(guard);
        maps.memcg_at(mm.memcg()).vmstat.add(Counter::Pgfault, 1);
        match outcome {
            Ok(kind) => Fault::Done(kind),
            Err(fault) => fault,
        }
    }
}

impl MmState<'_> {
    /// Returns true while the transfer that [`Fault::Pending`] or a truncation named is in
    /// progress. No end is missed if a task queues itself before it calls this and sleeps, and the
    /// caller of [`Engine::read_done`] or [`Engine::write_done`] wakes the queue afterwards. A
    /// folio that was freed since has none.
    pub fn transfer_is_pending(&self, id: FolioId) -> bool {
        let busy = FolioFlags::READING | FolioFlags::WRITEBACK;
        self.folio(id).is_ok_and(|folio| folio.flags().intersects(busy))
    }
}

fn permits(flags: VmFlags, access: Access) -> bool {
    flags.contains(match access {
        Access::Read => VmFlags::READ,
        Access::Write => VmFlags::WRITE,
        Access::Exec => VmFlags::EXEC,
    })
}

/// The same supply, which also notes if it ran out.
struct CountedTables<'a, W> {
    world: &'a W,
    ran_out: bool,
}

impl<W: World> TableFrames for CountedTables<'_, W> {
    fn take(&mut self) -> Option<Pfn> {
        let frame = self.world.alloc_table();
        self.ran_out |= frame.is_none();
        frame
    }

    fn give_back(&mut self, frame: Pfn) {
        self.world.free_table(frame);
    }
}

impl<'e, W: World> At<'_, 'e, W> {
    fn asid(&self) -> Asid {
        self.mm.asid()
    }

    /// Returns the page offset of the page in the VMA's mappings.
    fn index(&self) -> u64 {
        self.vma.pgoff_at::<W::Format>(self.addr)
    }

    /// Returns the index of the page's entry in its table.
    fn entry_index(&self) -> usize {
        W::Format::index(Level::Pte, self.addr)
    }

    /// Makes a new entry: young, since the access follows.
    fn new_pte(&self, pfn: Pfn, write: bool) -> Pte {
        let prot = prot_of(self.vma.flags(), write);
        let pte = W::Format::mkyoung(W::Format::leaf(Level::Pte, pfn, prot));
        if self.marker.is_some() { W::Format::mkuffd_wp(pte) } else { pte }
    }

    fn lock(&self, table: Pfn) -> Locked<'e, W> {
        self.engine.lock_table(table)
    }

    /// Reads the page's entry, with the young and dirty bits of its block gathered.
    fn read(&self, pt: &LockedTable<'e, W>) -> Pte {
        gather::<W::Format, _>(pt.table(), self.entry_index())
    }

    /// Returns true if nothing is mapped yet: the entry is empty, or still the marker that this
    /// fault found.
    fn is_vacant(&self, pte: Pte) -> bool {
        pte.is_none() || Some(pte) == self.marker
    }

    fn handle(mut self) -> Outcome {
        let root = self.mm.root();
        let table = match walk::descend(self.engine.world, root, self.addr) {
            Descent::PteTable(frame, _) => frame,
            Descent::PmdLeaf(frame) => return self.leaf_fault(frame),
            Descent::Absent(_) if self.leaf_range().is_some() => return self.vacant_fault(None),
            Descent::Absent(_) => self.make_table()?,
        };
        let pt = self.lock(table);
        let pte = self.read(&pt);
        if W::Format::is_valid(pte) {
            return self.present_fault(table, pt, pte);
        }
        drop(pt);
        match W::Format::entry(pte) {
            Entry::None => self.vacant_fault(Some(table)),
            // The VMA permits the access by now, so an mprotect is about to change the entry.
            Entry::Present | Entry::ProtNone => MINOR,
            Entry::Swap(entry) => match entry.kind {
                SwapKind::Device(_) => self.swap_fault(table, pte, entry),
                SwapKind::Marker => {
                    self.marker = Some(pte);
                    self.vacant_fault(Some(table))
                }
                SwapKind::Migration => self.await_migration(table, pte),
                _ => Err(Fault::Unsupported),
            },
        }
    }

    /// Waits until the page of the migration entry `pte` has moved, or the entry is gone (Linux
    /// 7.3.4, migration_entry_wait). The migration needs nothing that a fault holds.
    fn await_migration(&self, table: Pfn, pte: Pte) -> Outcome {
        while self.engine.world.table(table).load(self.entry_index()) == pte {
            self.engine.world.relax();
        }
        MINOR
    }

    /// Handles a fault on an empty entry of the table in frame `table`. `None` means that there is
    /// no table, and a leaf may be made.
    fn vacant_fault(&mut self, table: Option<Pfn>) -> Outcome {
        match self.vma.file() {
            Some(file) => self.file_fault(table, file),
            None => self.anon_fault(table),
        }
    }

    /// Returns the reverse map for the VMA's anonymous pages. A file's VMA uses that of the address
    /// space, which the first fault that needs it makes (Linux: anon_vma_prepare).
    fn anon_mapping(&mut self) -> Result<MappingNr, Fault> {
        if let Some(mapping) = self.vma.anon() {
            return Ok(mapping);
        }
        let maps = self.engine.maps;
        let mapping = match self.mm.anon() {
            Some(mapping) => mapping,
            None => {
                let made = self.engine.take_mapping(MappingKind::Anon);
                let made = made.map_err(|full| Fault::OutOfMemory(full.into()))?;
                let mapping = self.mm.propose_anon(made);
                if mapping == made {
                    maps.mapping_at(made).users.store(1, Relaxed);
                } else {
                    self.engine.end_unknown_mapping(made);
                }
                mapping
            }
        };
        let guard = self.engine.lock_write(Rank::Rmap, &maps.mapping_at(mapping).lock);
        if self.vma.anon().is_none() {
            self.vma.set_anon(mapping);
            maps.rmap_insert_in::<W::Format>(mapping, self.id);
        }
        drop(guard);
        Ok(mapping)
    }
}

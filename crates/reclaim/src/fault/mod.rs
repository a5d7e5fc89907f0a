//! Page faults: what hardware could not do by itself.
//!
//! A fault holds the mmap lock to read. It takes the table's lock to look at the entry, gives it up
//! to allocate, read or copy, takes it again, and does nothing if the entry has changed meanwhile:
//! the access, tried again, finds what is there now. A reference keeps a folio found in the file
//! index from being reclaimed between the look-up and the mapping, since reclaim frees none to
//! which there are more references than it knows of.

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
use crate::folio::FolioFlags;
use crate::id::{FolioId, MappingId, MmId, VmaId};
use crate::mapping::MappingKind;
use crate::maps::Maps;
use crate::memory::OutOfMemory;
use crate::mm::Mm;
use crate::rank::{Rank, Ranked};
use crate::vma::{VmFlags, Vma};
use crate::vmstat::Counter;
use crate::world::World;
use core::sync::atomic::Ordering::Relaxed;
pub(crate) use file::frames;
use pageout_paging::contig::gather;
use pageout_paging::mmu::Asid;
use pageout_paging::pte::{Entry, Prot, SwapKind};
use pageout_paging::walk::{self, Descent, TableFrames};
use pageout_paging::{Format, Level, LockedTable, Pfn, Pte, Table, VirtAddr};

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// Fetches an instruction.
    Exec,
}

/// How a fault was resolved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// From memory.
    Minor,
    /// By reading from storage.
    Major,
}

/// What became of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "an access is tried again, waits, or fails"]
pub enum Fault {
    /// The access is to be tried again.
    Done(FaultKind),
    /// This folio is being read, or one of shared memory is being written to swap: the access is to
    /// be tried again when [`Engine::read_done`](crate::Engine::read_done) or
    /// [`Engine::write_done`](crate::Engine::write_done) was told of its end. Until then
    /// [`Maps::transfer_is_pending`](crate::Maps::transfer_is_pending) says so.
    Pending(FolioId),
    /// No VMA, or one that forbids the access (SIGSEGV).
    BadAddress,
    /// userfaultfd write-protects the page: who registered it is to be told.
    WriteProtected,
    /// This ran out, and reclaim made no room now. While a transfer goes on, its end may make some:
    /// the access waits for that and is tried again. Where none does, the process cannot go on
    /// (VM_FAULT_OOM).
    OutOfMemory(OutOfMemory),
    /// The file ends before the page ([`Mapping::set_size`](crate::Mapping::set_size)) (SIGBUS).
    PastEnd,
    /// The page could not be read (SIGBUS).
    IoError,
    /// An entry that faults do not handle: device memory, poisoned pages, pages without a folio.
    Unsupported,
}

/// What the handler of one case comes to: how it was resolved, or what else became of it.
type Outcome = Result<FaultKind, Fault>;

const MINOR: Outcome = Ok(FaultKind::Minor);

/// The lock of a page table, held.
type Locked<'e, W> = Ranked<'e, LockedTable<'e, W>>;

/// One fault being handled.
struct At<'a, 'e, W: World> {
    engine: &'a mut Engine<'e, W>,
    mm: &'e Mm,
    id: VmaId,
    vma: &'e Vma,
    /// First address of the page.
    addr: VirtAddr,
    access: Access,
    /// A marker stands where the page was: it is to be write-protected by userfaultfd again.
    marker: Option<Pte>,
}

impl<W: World> Engine<'_, W> {
    /// Resolves the fault of an access to `addr` (Linux 7.3.4, handle_mm_fault). Nothing waits for
    /// I/O. On [`Fault::Done`] the access may fault again: what the entry said has changed
    /// meanwhile, or a second fault makes the copy that the first could not.
    pub fn handle_fault(&mut self, mm: MmId, addr: VirtAddr, access: Access) -> Fault {
        let maps = self.maps;
        let mm = maps.mm(mm);
        let addr = addr.align_down(W::Format::PAGE_SHIFT);
        let guard = self.lock_read(Rank::Mmap, &mm.lock);
        let found = maps.find_vma(mm, addr).filter(|id| permits(maps.vma(*id).flags(), access));
        let outcome = match found {
            Some(id) => {
                let vma = maps.vma(id);
                let marker = None;
                self.cpu.in_fault = !vma.flags().intersects(VmFlags::NO_RECENCY);
                let outcome = At { engine: self, mm, id, vma, addr, access, marker }.handle();
                self.cpu.in_fault = false;
                outcome
            }
            None => Err(Fault::BadAddress),
        };
        drop(guard);
        maps.memcg(mm.memcg()).vmstat.add(Counter::Pgfault, 1);
        match outcome {
            Ok(kind) => Fault::Done(kind),
            Err(fault) => fault,
        }
    }
}

impl Maps<'_> {
    /// Whether the transfer that [`Fault::Pending`] or a truncation named still goes on. A task
    /// that is to sleep queues itself first and asks then, and whoever calls [`Engine::read_done`]
    /// or [`Engine::write_done`] wakes the queue after it: so no end is missed. The number may be
    /// another folio's by now, and its transfer end later.
    pub fn transfer_is_pending(&self, id: FolioId) -> bool {
        self.folio(id).flags().intersects(FolioFlags::READING | FolioFlags::WRITEBACK)
    }
}

fn permits(flags: VmFlags, access: Access) -> bool {
    flags.contains(match access {
        Access::Read => VmFlags::READ,
        Access::Write => VmFlags::WRITE,
        Access::Exec => VmFlags::EXEC,
    })
}

/// What entries of a VMA permit, those that may be written by whom the caller says.
pub(crate) fn prot_of(flags: VmFlags, write: bool) -> Prot {
    let none = !flags.intersects(VmFlags::READ | VmFlags::WRITE | VmFlags::EXEC);
    let write = write && flags.contains(VmFlags::WRITE);
    Prot { write, exec: flags.contains(VmFlags::EXEC), none }
}

/// Page tables from the world's frames.
pub(crate) struct WorldTables<'a, W>(pub(crate) &'a W);

impl<W: World> TableFrames for WorldTables<'_, W> {
    fn take(&mut self) -> Option<Pfn> {
        self.0.alloc_table()
    }

    fn give_back(&mut self, frame: Pfn) {
        self.0.free_table(frame);
    }
}

/// The same, and whether there was none left.
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

    /// Page offset of the page in the VMA's mappings.
    fn index(&self) -> u64 {
        self.vma.pgoff_at::<W::Format>(self.addr)
    }

    /// Index of the page's entry in its table.
    fn entry_index(&self) -> usize {
        W::Format::index(Level::Pte, self.addr)
    }

    /// A new entry: young, since the access is on its way.
    fn new_pte(&self, pfn: Pfn, write: bool) -> Pte {
        let prot = prot_of(self.vma.flags(), write);
        let pte = W::Format::mkyoung(W::Format::leaf(Level::Pte, pfn, prot));
        if self.marker.is_some() { W::Format::mkuffd_wp(pte) } else { pte }
    }

    fn lock(&self, table: Pfn) -> Locked<'e, W> {
        self.engine.lock_table(table)
    }

    /// The page's entry, young and dirty gathered over its block.
    fn read(&self, pt: &LockedTable<'e, W>) -> Pte {
        gather::<W::Format, _>(pt.table(), self.entry_index())
    }

    /// Whether nothing is mapped yet: empty, or still the marker that this fault found.
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
            // Its VMA permits the access now, so an mprotect is about to change the entry.
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

    /// Waits until the page that `pte` stands for has moved, or is there no more (Linux 7.3.4,
    /// migration_entry_wait). Whoever moves it needs nothing that a fault holds.
    fn await_migration(&self, table: Pfn, pte: Pte) -> Outcome {
        while self.engine.world.table(table).load(self.entry_index()) == pte {
            self.engine.world.relax();
        }
        MINOR
    }

    /// Nothing is mapped, in the table in frame `table`, or if a leaf may be made, there was none.
    fn vacant_fault(&mut self, table: Option<Pfn>) -> Outcome {
        match self.vma.file() {
            Some(file) => self.file_fault(table, file),
            None => self.anon_fault(table),
        }
    }

    /// The reverse map for the VMA's anonymous pages: for those of a file's VMA the address
    /// space's, made by the first to need it (Linux: anon_vma_prepare).
    fn anon_mapping(&mut self) -> Result<MappingId, Fault> {
        if let Some(mapping) = self.vma.anon() {
            return Ok(mapping);
        }
        let maps = self.engine.maps;
        let mapping = match self.mm.anon() {
            Some(mapping) => mapping,
            None => {
                let made = self.engine.add_mapping(MappingKind::Anon);
                let made = made.map_err(|full| Fault::OutOfMemory(full.into()))?;
                let mapping = self.mm.propose_anon(made);
                if mapping == made {
                    maps.mapping(made).users.store(1, Relaxed);
                } else {
                    self.engine.remove_mapping(made);
                }
                mapping
            }
        };
        let guard = self.engine.lock_write(Rank::Rmap, &maps.mapping(mapping).lock);
        if self.vma.anon().is_none() {
            self.vma.set_anon(mapping);
            maps.rmap_insert_in(mapping, self.id);
        }
        drop(guard);
        Ok(mapping)
    }
}

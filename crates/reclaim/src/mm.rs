//! Address spaces.

use crate::maps::{Maps, OutOfTable};
use crate::rmap::MappingId;
use crate::vma::{NewVma, VmaId};
use crate::{CpuCtx, Rank};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use pageout_paging::mmu::Asid;
use pageout_paging::{Env, Format, Pfn};

/// Index of an address space in the caller's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MmId(pub u32);

/// One address space, 16 bytes.
#[derive(Debug, Default)]
pub struct Mm {
    root: AtomicU64,
    asid: AtomicU32,
    /// Whether it is exiting; for a free one, the next free.
    pub(crate) state: AtomicU32,
}

impl Mm {
    pub(crate) fn init(&self, root: Pfn, asid: Asid) {
        self.root.store(root.get(), Relaxed);
        self.asid.store(asid.0, Relaxed);
        self.state.store(0, Relaxed);
    }

    /// Frame of the root table.
    pub fn root(&self) -> Pfn {
        Pfn::new(self.root.load(Relaxed))
    }

    /// Its tag in TLBs.
    pub fn asid(&self) -> Asid {
        Asid(self.asid.load(Relaxed))
    }

    /// Marks the process as exiting, or its memory as taken by the OOM reaper: its accesses no
    /// longer matter.
    pub fn set_exiting(&self) {
        self.state.store(1, Relaxed);
    }

    /// Whether the process is exiting.
    pub fn is_exiting(&self) -> bool {
        self.state.load(Relaxed) != 0
    }
}

/// Why [`Maps::mmap`] refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MmapError {
    /// The range is empty, or not page-aligned, or ends past the last page offset.
    #[error("the range is empty, not page-aligned or too far into the mapping")]
    BadRange,
    /// The caller's table of VMAs is full (ENOMEM).
    #[error(transparent)]
    OutOfTable(OutOfTable),
}

impl Maps<'_> {
    /// Adds a VMA. Nothing is mapped yet. Ranges of one address space must not overlap; that is the
    /// caller's to keep.
    ///
    /// # Errors
    /// [`MmapError`]; nothing is changed then.
    pub fn mmap<E: Env>(
        &self,
        env: &E,
        cpu: &mut CpuCtx,
        new: &NewVma,
    ) -> Result<VmaId, MmapError> {
        let aligned = |addr: u64| addr.is_multiple_of(E::Format::PAGE_SIZE);
        let (start, end) = (new.range.start, new.range.end);
        if start >= end || !aligned(start.get()) || !aligned(end.get()) {
            return Err(MmapError::BadRange);
        }
        let pages = (end.get() - start.get()) >> E::Format::PAGE_SHIFT;
        new.pgoff.checked_add(pages).ok_or(MmapError::BadRange)?;
        let id = self.take_vma(env, cpu).map_err(MmapError::OutOfTable)?;
        self.vma(id).init(new);
        self.link(env, cpu, id, new.mapping, new.pgoff);
        Ok(id)
    }

    /// Removes a VMA whose folios are no longer mapped by it. Once this returns, no reverse map
    /// leads reclaim to the VMA's page tables: those that map nothing else may be freed.
    ///
    /// # Panics
    /// If it is not one of its mapping's VMAs.
    pub fn munmap<E: Env>(&self, env: &E, cpu: &mut CpuCtx, id: VmaId) {
        let mapping = self.mapping(MappingId(self.vma(id).mapping.load(Relaxed)));
        cpu.enter(Rank::Rmap);
        let guard = mapping.lock.write(|| env.relax());
        let mut link = &mapping.head;
        while link.load(Relaxed) != id.0 {
            let next = self.vma_at(link);
            link = &next.expect("a VMA to remove is in its mapping's list").next;
        }
        link.store(self.vma(id).next.load(Relaxed), Relaxed);
        drop(guard);
        cpu.leave(Rank::Rmap);
        self.put_vma(env, cpu, id);
    }

    /// Inserts a VMA into its mapping's list, which is sorted by page offset.
    fn link<E: Env>(&self, env: &E, cpu: &mut CpuCtx, id: VmaId, mapping: MappingId, pgoff: u64) {
        cpu.enter(Rank::Rmap);
        let mapping = self.mapping(mapping);
        let guard = mapping.lock.write(|| env.relax());
        let mut link = &mapping.head;
        while let Some(next) = self.vma_at(link).filter(|next| next.pgoff() < pgoff) {
            link = &next.next;
        }
        self.vma(id).next.store(link.load(Relaxed), Relaxed);
        link.store(id.0, Relaxed);
        drop(guard);
        cpu.leave(Rank::Rmap);
    }
}

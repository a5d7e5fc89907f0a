//! CPUs that load and store through translations. A cached translation stays until an invalidation
//! of it has completed. A missing flush therefore shows as a store to a page that is another's by
//! then.

use crate::world::{World, page, pages};
use pageout_paging::walk::{Descent, descend};
use pageout_paging::{Format, Level, Order, Pfn, Pte, Table, VirtAddr};
use pageout_reclaim::{
    Access, Advice, Fault, FaultKind, FolioId, Frames, Limits, MappingId, MappingKind, MmId,
    SpaceError, VmFlags,
};
use pageout_sim::Held;
use std::ops::Range;

/// The number of CPUs of the ground.
pub(crate) const CPUS: usize = 2;

/// The faults of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) minor: u64,
    pub(crate) major: u64,
}

impl<F: Format> World<'_, F> {
    /// Loads from a page on a CPU, and returns the page's content.
    pub(crate) fn load(&mut self, cpu: usize, mm: MmId, number: u64) -> Result<u64, Fault> {
        let pfn = self.reach(cpu, mm, number, Access::Read)?;
        Ok(self.env.memory().content(pfn))
    }

    /// Stores to a page on a CPU.
    pub(crate) fn store(
        &mut self,
        cpu: usize,
        mm: MmId,
        number: u64,
        content: u64,
    ) -> Result<(), Fault> {
        let pfn = self.reach(cpu, mm, number, Access::Write)?;
        self.env.memory().set_content(pfn, content);
        Ok(())
    }

    pub(crate) fn fault(&mut self, mm: MmId, number: u64, access: Access) -> Fault {
        self.engine().handle_fault(mm, page::<F>(number), access)
    }

    /// Returns the frame that an access reaches, after faults. Pending reads end well.
    pub(crate) fn reach(
        &mut self,
        cpu: usize,
        mm: MmId,
        number: u64,
        access: Access,
    ) -> Result<Pfn, Fault> {
        for _ in 0..8 {
            if let Some(by) = self.translate(cpu, mm, page::<F>(number), access) {
                let pfn = by.frame(number);
                if let Some(lost) = self.env.memory().lost(&by, number) {
                    panic!("a CPU reaches {pfn:?}, {lost}, through {by:?}");
                }
                return Ok(pfn);
            }
            match self.fault(mm, number, access) {
                Fault::Done(FaultKind::Minor) => self.faults.minor += 1,
                Fault::Done(FaultKind::Major) => self.faults.major += 1,
                Fault::Pending(_) => {
                    assert!(self.finish_io(true) > 0, "a read is going on");
                    self.faults.major += 1;
                }
                other => return Err(other),
            }
        }
        panic!("an access faults for ever");
    }

    /// Translates as hardware does for an access. Returns `None` for a fault.
    fn translate(&self, cpu: usize, mm: MmId, addr: VirtAddr, access: Access) -> Option<Held> {
        let (asid, number) =
            (self.maps.mm(mm).expect("it lives").asid(), addr.get() >> F::PAGE_SHIFT);
        let mut tlbs = self.env.hardware.tlbs();
        let tlb = &mut tlbs.cpus[cpu];
        let enough = |held: &&Held| match access {
            Access::Read => true,
            Access::Write => held.stores,
            Access::Exec => held.exec,
        };
        if let Some(held) = tlb.of_page(asid, number).find(enough) {
            return Some(*held);
        }
        let (table, i, level) =
            match descend(&self.env, self.maps.mm(mm).expect("it lives").root(), addr) {
                Descent::Absent(_) => return None,
                Descent::PmdLeaf(table) => (table, F::index(Level::Pmd, addr), Level::Pmd),
                Descent::PteTable(table, _) => (table, F::index(Level::Pte, addr), Level::Pte),
            };
        let table = self.env.hardware.table::<F>(table);
        let raw = table.load(i);
        let now = self.as_walked(raw, access)?;
        if now != raw {
            table.cas(i, raw, now).expect("one thread");
        }
        let pte = if level == Level::Pte { F::decode(now, i) } else { now };
        let held = Held::of::<F>(asid, number, level, pte, &self.env.memory());
        tlb.refill(number, held);
        Some(held)
    }

    /// Returns the entry as the walk of an access leaves it, or `None` for a fault.
    fn as_walked(&self, raw: Pte, access: Access) -> Option<Pte> {
        let hardware_af = !self.env.mmu.software_af.load(std::sync::atomic::Ordering::Relaxed);
        if !F::is_valid(raw) || (access == Access::Exec && !F::is_exec(raw)) {
            return None;
        }
        let young = match (F::is_young(raw), hardware_af) {
            (true, _) => raw,
            (false, true) => F::mkyoung(raw),
            (false, false) => return None,
        };
        match access {
            Access::Write => F::hardware_dirty(young),
            _ => Some(young),
        }
    }
}

/// The limits for a few processes with files, private memory and swap.
pub(crate) const ROOM: Limits = Limits {
    frames: 256,
    folios: 128,
    vmas: 24,
    mms: 4,
    mappings: 8,
    memcgs: 2,
    nodes: 1,
    shadows: 16,
    slots: 64,
    filters: 4,
};

/// The flags of a shared, readable and writable VMA.
pub(crate) const SHARED: VmFlags = RW.union(VmFlags::SHARED);

/// The flags of a private, readable and writable VMA.
pub(crate) const RW: VmFlags = VmFlags::READ.union(VmFlags::WRITE);

impl<F: Format> World<'_, F> {
    /// Makes anonymous memory of a process, in folios of up to an order.
    pub(crate) fn anon_at(&mut self, mm: MmId, at: Range<u64>, order: u8) -> MappingId {
        let anon = self.anon();
        self.maps
            .mapping(anon)
            .expect("it lives")
            .set_order(Order::new(order).expect("a small order"));
        self.vma(mm, at.clone(), RW, anon, at.start);
        anon
    }

    /// Makes a file whose folios have up to an order.
    pub(crate) fn file_of(&mut self, order: u8) -> MappingId {
        let file = self.file();
        self.maps
            .mapping(file)
            .expect("it lives")
            .set_order(Order::new(order).expect("a small order"));
        file
    }

    /// Makes shared memory whose folios have up to an order.
    pub(crate) fn shmem_of(&mut self, order: u8) -> MappingId {
        let shmem = self.mapping(MappingKind::Shmem);
        self.maps
            .mapping(shmem)
            .expect("it lives")
            .set_order(Order::new(order).expect("a small order"));
        shmem
    }

    /// Ends shared memory that is mapped nowhere.
    pub(crate) fn end_shmem(&mut self, shmem: MappingId) {
        assert_eq!(self.engine().truncate(shmem, 0), Ok(()));
        assert!(
            !self.maps.mapping_is_used(shmem).expect("it lives"),
            "no page and no slot is left"
        );
        self.engine().remove_mapping(shmem).expect("it lives");
    }

    /// Stores a different number to every page.
    pub(crate) fn fill(&mut self, mm: MmId, at: Range<u64>, salt: u64) {
        for number in at {
            assert_eq!(self.store(0, mm, number, salt + number), Ok(()));
        }
    }

    /// Checks that every CPU loads those numbers.
    pub(crate) fn holds(&mut self, mm: MmId, at: Range<u64>, salt: u64) {
        for cpu in 0..CPUS {
            for number in at.clone() {
                assert_eq!(self.load(cpu, mm, number), Ok(salt + number), "page {number}");
            }
        }
    }

    /// Returns the folio that a page is mapped to.
    pub(crate) fn folio_at(&self, mm: MmId, number: u64) -> FolioId {
        let pte = self.entry(mm, number);
        assert!(F::is_present(pte), "page {number} is mapped: {:?}", F::entry(pte));
        let pte = F::decode(pte, F::index(Level::Pte, page::<F>(number)));
        self.maps.folio_of(F::pfn(pte)).expect("a page of a folio")
    }

    /// Checks that nothing is in use any more except this many pages.
    pub(crate) fn all_is_free_but(&self, used: usize) {
        assert_eq!(ROOM.frames - self.env.free_pages(), used, "pages in use");
        assert_eq!(self.tables.in_use(), 0, "page tables in use");
        assert_eq!(self.maps.free_slots(), ROOM.slots, "slots free");
        assert_eq!(self.maps.dropped_tlb_batches(), 0);
    }

    /// Checks that no folio is left.
    pub(crate) fn all_pages_free(&self) {
        assert_eq!(self.env.free_pages(), ROOM.frames, "pages in use");
    }

    pub(crate) fn advise(
        &mut self,
        mm: MmId,
        at: Range<u64>,
        advice: Advice,
    ) -> Result<(), SpaceError> {
        self.engine().madvise(mm, &pages::<F>(at), advice)
    }

    pub(crate) fn protect(
        &mut self,
        mm: MmId,
        at: Range<u64>,
        prot: VmFlags,
    ) -> Result<(), SpaceError> {
        self.engine().mprotect(mm, &pages::<F>(at), prot)
    }

    pub(crate) fn unmap_range(&mut self, mm: MmId, at: Range<u64>) -> Result<(), SpaceError> {
        self.engine().munmap_range(mm, &pages::<F>(at))
    }

    pub(crate) fn remap(
        &mut self,
        mm: MmId,
        old: Range<u64>,
        new: Range<u64>,
    ) -> Result<(), SpaceError> {
        let (old, new) = (pages::<F>(old), pages::<F>(new));
        self.engine().mremap(mm, &old, &new)
    }
}

//! The parts of an address space that a walk reads: the VMAs whose accesses predict use.

use crate::folio::MappingKind;
use crate::id::VmaNr;
use crate::mm::{Mm, VmFlags, Vma};
use crate::mm_state::MmState;
use core::cmp::{max, min};
use pageout_paging::VirtRange;
use pageout_uapi::MAX_SWAPPINESS;

/// Returns true if walks skip a VMA (Linux 7.3.4, `should_skip_vma`; there are no huge-page, device
/// or gate VMAs here). They do if its pages cannot be evicted, accesses to it say nothing about
/// later ones, or its type may not be evicted now.
fn should_skip_vma(maps: &MmState<'_>, vma: &Vma, swappiness: u8) -> bool {
    let flags = vma.flags();
    let accessible = flags.intersects(VmFlags::READ | VmFlags::WRITE | VmFlags::EXEC);
    if !accessible || flags.intersects(VmFlags::NO_RECENCY | VmFlags::LOCKED) {
        return true;
    }
    match vma.file().map(|file| maps.mapping_at(file).kind()) {
        Some(MappingKind::File) => swappiness > MAX_SWAPPINESS,
        _ => swappiness == 0,
    }
}

/// The VMAs of an address space that a walk reads, in order. The caller holds the mmap lock.
#[derive(Debug)]
pub(crate) struct Parts<'a, 'm> {
    maps: &'a MmState<'m>,
    mm: &'a Mm,
    swappiness: u8,
    /// The first VMA that may hold the next range.
    vma: Option<VmaNr>,
}

impl<'a, 'm> Parts<'a, 'm> {
    pub(crate) fn new(maps: &'a MmState<'m>, mm: &'a Mm, swappiness: u8) -> Self {
        Self { maps, mm, swappiness, vma: maps.first_vma(mm) }
    }

    /// Returns the flags of the VMA of the part found last.
    pub(crate) fn vm_flags(&self) -> VmFlags {
        self.vma.map_or(VmFlags::empty(), |id| self.maps.vma_at(id).flags())
    }

    /// Returns the first part of a VMA in `range`. The range begins no earlier than that of the
    /// call before (Linux 7.3.4, `get_next_vma`).
    pub(crate) fn next_in(&mut self, range: VirtRange) -> Option<VirtRange> {
        while let Some(id) = self.vma {
            let vma = self.maps.vma_at(id);
            let part = max(vma.start(), range.start)..min(vma.end(), range.end);
            if part.start >= range.end {
                return None;
            }
            if !part.is_empty() && !should_skip_vma(self.maps, vma, self.swappiness) {
                return Some(part);
            }
            self.vma = self.maps.next_vma(self.mm, id);
        }
        None
    }
}

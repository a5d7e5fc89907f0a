//! Address spaces and reverse maps against flat lists, in random histories with fixed seeds.

extern crate std;

use super::*;
use crate::bare::{Bare, TUNING};
use crate::cpu::CpuCtx;
use crate::folio::MappingKind;
use crate::id::{MappingId, MmId};
use crate::memory::{Limits, Memory};
use crate::mm::vma::VmFlags;
use core::iter::successors;
use core::ops::Range;
use pageout_paging::Pfn;
use pageout_paging::mmu::Asid;
use pageout_paging::pte::SmallX86;
use std::boxed::Box;
use std::vec::Vec;

const PAGES: u64 = 64;
const VMAS: usize = 48;

/// The pages of a VMA, and what it maps there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Area {
    mm: MmId,
    start: u64,
    end: u64,
    flags: VmFlags,
    mapping: MappingId,
    pgoff: u64,
}

impl Area {
    /// Returns the part that lies in a range of pages.
    fn part(self, range: Range<u64>) -> Option<Self> {
        let (start, end) = (self.start.max(range.start), self.end.min(range.end));
        let pgoff = self.pgoff + (start.saturating_sub(self.start));
        (start < end).then_some(Self { start, end, pgoff, ..self })
    }

    fn continued_by(self, next: Self) -> bool {
        let place =
            (self.mm, self.end, self.flags, self.mapping, self.pgoff + self.end - self.start);
        place == (next.mm, next.start, next.flags, next.mapping, next.pgoff)
    }
}

fn addr(page: u64) -> VirtAddr {
    VirtAddr::new(page * SmallX86::PAGE_SIZE)
}

struct Trial {
    maps: MmState<'static>,
    world: Bare,
    cpu: CpuCtx,
    mms: [MmId; 2],
    mappings: [MappingId; 3],
    /// The VMAs that there should be, by address space and address.
    model: Vec<Area>,
}

impl Trial {
    fn new() -> Self {
        let limits = Limits { vmas: VMAS, mms: 2, mappings: 3, memcgs: 1, ..Limits::NOTHING };
        let bytes = Box::leak(Box::new_uninit_slice(Memory::bytes_for(&limits)));
        let memory = Memory::carve(bytes, &limits).expect("room for all");
        let maps = MmState::new(memory, Pfn::new(0)).expect("small tables");
        let (world, mut cpu) = (Bare::default(), CpuCtx::new());
        let mut engine = maps.on(&world, &mut cpu, TUNING);
        let mms = [0, 1].map(|n| engine.add_mm(Pfn::new(n), Asid(n as u32)).expect("room"));
        let kinds = [MappingKind::File, MappingKind::Shmem, MappingKind::Anon];
        let mappings = kinds.map(|kind| engine.add_mapping(kind).expect("room"));
        Self { maps, world, cpu, mms, mappings, model: Vec::new() }
    }

    fn engine(&mut self) -> Engine<'_, Bare> {
        self.maps.on(&self.world, &mut self.cpu, TUNING)
    }

    /// Maps an area where nothing is in the way.
    fn mmap(&mut self, area: Area) {
        let taken = self
            .model
            .iter()
            .any(|other| other.mm == area.mm && other.part(area.start..area.end).is_some());
        let full = self.model.len() == VMAS;
        let new = NewVma {
            mm: area.mm,
            range: addr(area.start)..addr(area.end),
            flags: area.flags,
            mapping: area.mapping,
            pgoff: area.pgoff,
        };
        match self.engine().mmap(&new) {
            Ok(_) => {
                assert!(!taken && !full);
                self.model.push(area);
            }
            Err(MmapError::Overlap) => assert!(taken),
            Err(other) => assert!(full, "{other}"),
        }
    }

    /// Splits at the ends of a range, changes the flags inside, and merges.
    fn change(&mut self, mm: MmId, range: Range<u64>, flags: VmFlags) {
        let at = addr(range.start)..addr(range.end);
        let split: Vec<Area> = self
            .model
            .iter()
            .flat_map(|area| {
                if area.mm != mm {
                    return [Some(*area), None, None];
                }
                let inside = area.part(range.clone()).map(|area| Area { flags, ..area });
                [area.part(0..range.start), inside, area.part(range.end..PAGES)]
            })
            .flatten()
            .collect();
        let mut engine = self.engine();
        let maps = engine.maps;
        let of = maps.mm(mm).expect("it lives");
        let done = engine.split_range(of, &at).is_ok();
        if done {
            let mut from = at.start;
            while let Some(id) = maps.first_vma_after(of, from, at.end) {
                maps.vma_at(id).set_flags(flags);
                from = maps.vma_at(id).end();
            }
            engine.merge_range(of, &at);
        }
        assert_eq!(done, split.len() <= VMAS);
        if done {
            self.model = split;
            self.merge(mm, range);
        }
    }

    fn merge(&mut self, mm: MmId, range: Range<u64>) {
        self.sort();
        let mut k = 1;
        while k < self.model.len() {
            let (lower, upper) = (self.model[k - 1], self.model[k]);
            let near = lower.mm == mm && (range.start..=range.end).contains(&upper.start);
            if near && lower.continued_by(upper) {
                self.model[k - 1].end = upper.end;
                self.model.remove(k);
            } else {
                k += 1;
            }
        }
    }

    fn munmap(&mut self, k: usize) {
        let area = self.model.remove(k);
        let id = self
            .maps
            .find_vma(self.maps.mm(area.mm).expect("it lives"), addr(area.start))
            .expect("it is mapped");
        let id = self.maps.vma_id(id);
        self.engine().munmap(id).expect("it lives");
    }

    fn sort(&mut self) {
        self.model.sort_by_key(|area| (area.mm, area.start));
    }

    fn area(&self, vma: &Vma) -> Area {
        let mapping = vma.file().or(vma.anon()).expect("it maps something");
        let page = |at: VirtAddr| at.get() / SmallX86::PAGE_SIZE;
        Area {
            mm: self.maps.mm_of(vma),
            start: page(vma.start()),
            end: page(vma.end()),
            flags: vma.flags(),
            mapping: self.maps.mapping_id(mapping),
            pgoff: vma.pgoff(),
        }
    }

    /// Checks every look-up by address and by page offset.
    fn check(&mut self) {
        self.sort();
        let maps = &self.maps;
        for mm in self.mms {
            let of = maps.mm(mm).expect("it lives");
            let found = successors(maps.first_vma(of), |id| maps.next_vma(of, *id));
            let expected = || self.model.iter().copied().filter(move |area| area.mm == mm);
            assert!(found.map(|id| self.area(maps.vma_at(id))).eq(expected()));
            for page in 0..PAGES {
                let holds = expected().find(|area| (area.start..area.end).contains(&page));
                let id = maps.find_vma(of, addr(page));
                assert_eq!(id.map(|id| self.area(maps.vma_at(id))), holds);
                let next = expected().find(|area| area.end > page && area.start < page + 5);
                let id = maps.first_vma_after(of, addr(page), addr(page + 5));
                assert_eq!(id.map(|id| self.area(maps.vma_at(id))), next);
            }
        }
        for mapping in self.mappings {
            let of = maps.mapping(mapping).expect("it lives");
            for first in 0..2 * PAGES {
                let pages = first..first + [1, 2, 7, PAGES][first as usize % 4];
                let found = maps.vmas_of::<SmallX86>(of, pages.clone());
                let found: Vec<Area> = found.map(|vma| self.area(vma)).collect();
                assert!(found.is_sorted_by_key(|area| area.pgoff), "by page offset: {found:?}");
                let maps_some = |area: &&Area| {
                    let past = area.pgoff + area.end - area.start;
                    area.mapping == mapping && area.pgoff < pages.end && pages.start < past
                };
                let expected: Vec<&Area> = self.model.iter().filter(maps_some).collect();
                assert!(expected.iter().all(|area| found.contains(area)), "{expected:?}");
                assert_eq!(found.len(), expected.len(), "{found:?}");
            }
        }
    }
}

#[test]
fn random_histories_agree_with_flat_lists() {
    for seed in 0..24 {
        let mut random = super::super::tree::numbers(seed);
        let mut trial = Trial::new();
        for _ in 0..150 {
            let mm = trial.mms[random(2)];
            let start = random(PAGES as usize - 8) as u64;
            let range = start..start + 1 + random(8) as u64;
            let flags = [VmFlags::READ, VmFlags::READ | VmFlags::WRITE][random(2)];
            match random(4) {
                0 if !trial.model.is_empty() => trial.munmap(random(trial.model.len())),
                1 => trial.change(mm, range, flags),
                _ => {
                    let (mapping, Range { start, end }) = (trial.mappings[random(3)], range);
                    // Two in three map their pages one to one, so that neighbours may merge.
                    let pgoff = if random(3) > 0 { start } else { random(PAGES as usize) as u64 };
                    trial.mmap(Area { mm, start, end, flags, mapping, pgoff });
                }
            }
            trial.check();
        }
        while !trial.model.is_empty() {
            trial.munmap(random(trial.model.len()));
            trial.check();
        }
    }
}

#[test]
fn of_vmas_that_begin_at_one_page_the_last_added_comes_first() {
    let mut trial = Trial::new();
    let (mm, mapping) = (trial.mms[0], trial.mappings[0]);
    let at = |start, end, pgoff| Area { mm, start, end, flags: VmFlags::READ, mapping, pgoff };
    let areas = [at(0, 4, 2), at(8, 10, 2), at(20, 21, 2), at(30, 40, 0), at(50, 52, 3)];
    areas.into_iter().for_each(|area| trial.mmap(area));
    let of = trial.maps.mapping(mapping).expect("it lives");
    let visited = trial.maps.vmas_of::<SmallX86>(of, 3..4);
    let starts = visited.map(|vma| vma.start().get() / SmallX86::PAGE_SIZE).collect::<Vec<_>>();
    assert_eq!(starts, [30, 8, 0, 50], "page 2 alone is at 20");
}

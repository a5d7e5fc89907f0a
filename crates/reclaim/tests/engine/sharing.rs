//! A file shared by many processes: the reverse map finds each of them, wherever and however far it
//! maps the file.

use crate::formats::on_every_format;
use crate::world::{Arena, LIMITS, World};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{FolioId, Limits, MmId, Refs, VmFlags};
use std::ops::Range;

/// The pages of the folio that all processes share: four, from page 4 of the file on.
const FOLIO: Range<u64> = 4..8;

/// Returns the part of the file that process `k` maps, and the page where it maps it. The parts are
/// aligned and not, begin before the folio and inside it, end inside it and past it, and cross the
/// end of a table.
fn part<F: Format>(k: u64) -> (Range<u64>, u64) {
    let n = F::PTES as u64;
    let (start, end) =
        [(4, 8), (0, 8), (6, 12), (5, 7), (0, 5), (7, 9), (1, 10), (3, 6)][k as usize % 8];
    let at = [0, 1, n - 2, n + 3][k as usize / 2 % 4];
    (start..end, at)
}

struct Sharer {
    mm: MmId,
    /// The pages of the address space that map the folio.
    at: Range<u64>,
}

fn shared<F: Format>(world: &mut World<'_, F>, processes: u64) -> (FolioId, Vec<Sharer>) {
    let file = world.file();
    let folio = world.folio(file, 2, FOLIO.start);
    let sharer = |k| {
        let (mapped, at) = part::<F>(k);
        let mm = world.process();
        let len = mapped.end - mapped.start;
        let vma = world.vma(mm, at..at + len, VmFlags::READ, file, mapped.start);
        world.map(vma, folio);
        let page = |index: u64| at + index - mapped.start;
        let at = page(mapped.start.max(FOLIO.start))..page(mapped.end.min(FOLIO.end));
        Sharer { mm, at }
    };
    let sharers: Vec<_> = (0..processes).map(sharer).collect();
    (folio, sharers)
}

fn any_single_process_makes_a_shared_folio_young<F: Format>(algorithm: YoungAlgorithm) {
    for processes in [2, 8, 64] {
        let mut arena = Arena::new::<F>(&Limits {
            frames: 8,
            folios: 1,
            vmas: processes as usize,
            mms: processes as usize,
            mappings: 1,
            ..Limits::NOTHING
        });
        let mut world = arena.world::<F>();
        let (folio, sharers) = shared(&mut world, processes);
        let mapped: u64 = sharers.iter().map(|one| one.at.end - one.at.start).sum();
        assert_eq!(u64::from(world.mapcount(folio)), mapped);
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(0));
        for one in &sharers {
            for page in one.at.clone() {
                world.touch(one.mm, page);
                assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(1), "{page}");
                assert_eq!(world.young(one.mm, one.at.clone()), []);
            }
        }
        for one in sharers.iter().step_by(2) {
            world.touch(one.mm, one.at.start);
        }
        let half = processes.div_ceil(2) as u32;
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(half));
        assert_eq!(world.cpu.events(), Default::default());
    }
}

/// Two VMAs of one process that map the same page of a file count as two.
fn vmas_of_one_process_count_each<F: Format>(algorithm: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file());
    let folio = world.folio(file, 2, 0);
    for (at, pgoff) in [(0..4, 0), (5..8, 1), (10..14, 0)] {
        let vma = world.vma(mm, at, VmFlags::READ, file, pgoff);
        world.map(vma, folio);
    }
    for (young, refs) in [(vec![1], 1), (vec![1, 5], 2), (vec![0, 7, 12, 13], 3)] {
        for page in young {
            world.touch(mm, page);
        }
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(refs));
        assert_eq!(world.young(mm, 0..16), []);
    }
}

/// A process that has unmapped the file is no longer checked; the others still are.
fn unmapping_one_vma_leaves_the_others_in_the_reverse_map<F: Format>(algorithm: YoungAlgorithm) {
    for leaves in 0..4 {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut world = arena.world::<F>();
        let file = world.file();
        let folio = world.folio(file, 2, 0);
        let mut sharers = Vec::new();
        for pgoff in [2, 0, 1, 1] {
            let mm = world.process();
            let vma = world.vma(mm, 0..4, VmFlags::READ, file, pgoff);
            world.map(vma, folio);
            sharers.push((mm, vma));
        }
        let (gone, vma) = sharers.remove(leaves);
        world.zap(vma, folio);
        world.munmap(vma);
        for (mm, _) in &sharers {
            world.touch(*mm, 0);
        }
        world.forget();
        assert_eq!(world.referenced(folio, algorithm).refs, Refs::Vmas(3));
        assert!(!world.walked(gone));
    }
}

on_every_format!(
    any_single_process_makes_a_shared_folio_young,
    vmas_of_one_process_count_each,
    unmapping_one_vma_leaves_the_others_in_the_reverse_map,
);

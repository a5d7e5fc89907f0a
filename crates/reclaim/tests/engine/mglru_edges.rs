//! The ends of batches of a walk and of a look-around. They are the end of the VMA inside of a
//! contiguous block, of the window inside of a folio, and of the table. The engine stops there, and
//! mistakes show.

use crate::mglru_walk::FILTERS;
use crate::world::{Arena, LIMITS, aging, pages, tuning};
use pageout_exhibits::{Bug, Faulty};
use pageout_paging::pte::{Arm64_4K, SmallArm4, X86_64};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Rules, Sound};
use pageout_reclaim::mglru::MmStats;
use pageout_reclaim::{Advice, Limits, MemcgId, Refs, Tuning, VmFlags};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The algorithms that take several entries of a folio at once.
const OF_RUNS: [YoungAlgorithm; 2] = [YoungAlgorithm::Batched, YoungAlgorithm::Line];

/// Returns the pages whose accesses predict use: one and a half contiguous blocks. The second block
/// continues in a VMA of another kind.
fn part<F: Format>() -> Range<u64> {
    let block = F::CONT_PTES as u64;
    F::PTES as u64..F::PTES as u64 + block + block / 2
}

/// Ages the pages of [`part`] twice, all of one folio, with the pages `used` used before each time.
/// Returns the pages that are still young, and the folio's generation.
fn walked<F: Format, R: Rules>(
    algorithm: YoungAlgorithm,
    mirrored: bool,
    used: &[u64],
) -> (Vec<u64>, Option<usize>) {
    let mut arena = Arena::new::<F>(&LIMITS);
    let mut world = arena.world::<F>();
    world.use_generations();
    let (mm, anon) = (world.process(), world.anon());
    let (block, part) = (F::CONT_PTES as u64, part::<F>());
    let whole = part.start..part.start + 2 * block;
    let folio = world.mapped(mm, anon, F::CONT_PTES.trailing_zeros() as u8 + 1, whole.clone())[0];
    let (last, cpu) = (pages::<F>(part.end..whole.end), &mut world.cpu);
    let told = world.maps.on(&world.env, cpu, tuning()).madvise(mm, &last, Advice::Sequential);
    told.expect("room for another VMA");
    let is_cont = |page| F::is_cont(world.entry(mm, page));
    assert!(whole.clone().all(is_cont), "a VMA ends inside of a block");
    if mirrored {
        world.attach(mm, []);
    }
    for seq in [3, 4] {
        world.maps.lru_gen_use_mm(mm).expect("it lives");
        used.iter().for_each(|page| world.touch(mm, *page));
        let (env, cpu) = (world.env.ruled::<R>(&|_| {}), &mut world.cpu);
        let aging = aging(algorithm);
        let opened = world
            .maps
            .on(&env, cpu, Tuning { aging, ..tuning() })
            .try_to_inc_max_seq(MemcgId::ROOT, seq, 60, false)
            .expect("it is online");
        assert!(opened, "no one else walks");
    }
    (world.young(mm, whole), world.generation(folio))
}

/// Returns the result of [`walked`] with [`Bug::LastBlockCut`].
fn cut<F: Format>(
    algorithm: YoungAlgorithm,
    mirrored: bool,
    used: &[u64],
) -> (Vec<u64>, Option<usize>) {
    Bug::during(Some(Bug::LastBlockCut), || walked::<F, Faulty>(algorithm, mirrored, used))
}

/// The youngest generation when the second walk of [`walked`] begins.
const YOUNGEST: Option<usize> = Some(0);

/// Hardware marked the access in the last entry of the block in which the VMA ends.
fn a_page_used_in_a_block_that_the_vma_ends_in_is_promoted<F: Format>() {
    let last = part::<F>().start + 2 * F::CONT_PTES as u64 - 1;
    for algorithm in YoungAlgorithm::ALL {
        for mirrored in [false, true] {
            let (young, generation) = walked::<F, Sound>(algorithm, mirrored, &[last]);
            assert_eq!((young, generation), (vec![], YOUNGEST), "{algorithm:?}, {mirrored}");
        }
    }
    for algorithm in OF_RUNS {
        for mirrored in [false, true] {
            let (young, generation) = cut::<F>(algorithm, mirrored, &[last]);
            assert_eq!(young, [last], "{algorithm:?}, {mirrored}");
            assert_ne!(generation, YOUNGEST, "{algorithm:?}, {mirrored}: its use is missed");
        }
    }
    let alone = cut::<F>(YoungAlgorithm::PerEntry, false, &[last]);
    assert_eq!(alone, (vec![], YOUNGEST), "one entry stands for its block");
}

#[test]
fn a_page_used_in_a_trailing_block_is_promoted_on_small_arm64() {
    a_page_used_in_a_block_that_the_vma_ends_in_is_promoted::<SmallArm4>();
}

#[test]
fn a_page_used_in_a_trailing_block_is_promoted_on_arm64_4k() {
    a_page_used_in_a_block_that_the_vma_ends_in_is_promoted::<Arm64_4K>();
}

/// The walk finds the page itself used, and promotes it. The mark in its block stays, and the next
/// walk takes it for another use.
#[test]
fn a_trailing_block_is_cleared_with_its_run() {
    let first = part::<Arm64_4K>().start;
    let used = [first, first + 2 * Arm64_4K::CONT_PTES as u64 - 1];
    for algorithm in OF_RUNS {
        let (young, generation) = walked::<Arm64_4K, Sound>(algorithm, false, &used);
        assert_eq!((young, generation), (vec![], YOUNGEST), "{algorithm:?}");
        let (young, _) = cut::<Arm64_4K>(algorithm, false, &used);
        assert_eq!(young, used[1..], "{algorithm:?}");
    }
}

/// A page of a file that is checked, a folio of 128 pages near it, and the end of a look-around
/// between them.
struct Near {
    /// The pages of the VMA.
    vma: Range<u64>,
    /// The page to check, which is a folio of its own.
    asked: u64,
    /// The first page of the large folio.
    large: u64,
    /// The pages that are used.
    used: &'static [u64],
}

/// Returns the result of a look-around: the pages that are still young, and true if the next walk
/// enters the table.
fn looked_around<F: Format, R: Rules>(near: &Near, algorithm: YoungAlgorithm) -> (Vec<u64>, bool) {
    let room = Limits { folios: 4, ..FILTERS };
    let mut arena = Arena::new::<F>(&room);
    let mut world = arena.world::<F>();
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    let vma = world.vma(mm, near.vma.clone(), VmFlags::READ, file, near.vma.start);
    let target = world.folio(file, 0, near.asked);
    let large = world.listed(file, 7, near.large);
    [target, large].into_iter().for_each(|folio| world.map(vma, folio));
    // Nothing was young: the table is in no filter.
    let MmStats { leaf_young, nonleaf_added, .. } = world.age(3, algorithm);
    assert_eq!((leaf_young, nonleaf_added), (0, 0));
    near.used.iter().for_each(|page| world.touch(mm, *page));
    let (env, cpu) = (world.env.ruled::<R>(&|_| {}), &mut world.cpu);
    let found = world
        .maps
        .on(&env, cpu, Tuning { aging: aging(algorithm), ..tuning() })
        .folio_referenced(target, None, None)
        .expect("it lives");
    assert_eq!(found.refs, Refs::Vmas(1));
    let young = world.young(mm, near.vma.clone());
    world.maps.lru_gen_use_mm(mm).expect("it lives");
    (young, world.age(4, algorithm).nonleaf_found > 0)
}

/// The window around page 100 has the pages 68 to 131. The large folio begins in it.
const ACROSS: Near = Near { vma: 0..512, asked: 100, large: 128, used: &[100, 130, 144, 200, 255] };

/// Page 144 is the first after the contiguous block in which the window ends.
fn a_look_around_ends_with_its_window_inside_of_a_folio<F: Format>() {
    for algorithm in YoungAlgorithm::ALL {
        let (young, noted) = looked_around::<F, Sound>(&ACROSS, algorithm);
        assert_eq!(young, [144, 200, 255], "{algorithm:?}");
        assert!(!noted, "{algorithm:?}: 5 young entries of 64 at most");
    }
    for algorithm in OF_RUNS {
        let past = || looked_around::<F, Faulty>(&ACROSS, algorithm);
        let (young, noted) = Bug::during(Some(Bug::BatchPastEnd), past);
        assert_eq!(young, [0; 0], "{algorithm:?}: bits outside of the window are lost");
        assert!(noted, "{algorithm:?}: and count");
    }
}

#[test]
fn a_look_around_ends_with_its_window_on_x86_64() {
    a_look_around_ends_with_its_window_inside_of_a_folio::<X86_64>();
}

#[test]
fn a_look_around_ends_with_its_window_on_arm64_4k() {
    a_look_around_ends_with_its_window_inside_of_a_folio::<Arm64_4K>();
}

/// The window around page 490 ends with the table, and so inside of the large folio.
const AT_THE_END: Near =
    Near { vma: 368..624, asked: 490, large: 496, used: &[490, 500, 512, 600] };

fn a_look_around_ends_with_its_table_inside_of_a_folio<F: Format>() {
    for algorithm in YoungAlgorithm::ALL {
        let (young, noted) = looked_around::<F, Sound>(&AT_THE_END, algorithm);
        assert_eq!(young, [512, 600], "{algorithm:?}");
        // The large folio's run in the window counts if it is taken as one.
        assert_eq!(noted, algorithm != YoungAlgorithm::PerEntry, "{algorithm:?}");
    }
    for algorithm in OF_RUNS {
        let looked_around = || looked_around::<F, Faulty>(&AT_THE_END, algorithm);
        let past = || Bug::during(Some(Bug::BatchPastWindow), looked_around);
        let panicked = catch_unwind(AssertUnwindSafe(past)).expect_err("a batch leaves its table");
        let said = panicked.downcast_ref::<String>().expect("an assertion that names entries");
        assert!(said.contains("table"), "{algorithm:?}: {said}");
    }
}

#[test]
fn a_look_around_ends_with_its_table_on_x86_64() {
    a_look_around_ends_with_its_table_inside_of_a_folio::<X86_64>();
}

#[test]
fn a_look_around_ends_with_its_table_on_arm64_4k() {
    a_look_around_ends_with_its_table_inside_of_a_folio::<Arm64_4K>();
}

//! Batch detection and the gathering getters, compared with an oracle.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{
    BASE, Case, Decode, Expected, FIRST_TABLE, Ground, Layout, Outside, PageKind, World, batch_len,
    case_numbers, gathered, merged, random_case,
};
use pageout_paging::batch::{
    BatchFlags, YoungRun, batch_and_clear_young, folio_pte_batch, folio_pte_batch_flags,
};
use pageout_paging::contig::{self, Getter};
use pageout_paging::pte::{
    Arm64_4K, Arm64_16K, Arm64_64K, Level, Prot, Riscv64, SmallArm2, SmallArm4, SmallRiscv,
    SmallX86, SwapEntry, SwapKind, X86_64,
};
use pageout_paging::{Env, Format, Pte, Run, Sound};

/// Returns all combinations of the five flags, with each getter that may be used. In formats with
/// soft-dirty, dirty entries are soft-dirty too: if that is respected, blocks are compared as
/// gathered.
fn all_flags<F: Format>() -> impl Iterator<Item = BatchFlags> {
    let all = (0..64).map(|bits: u32| BatchFlags {
        respect_dirty: bits & 1 != 0,
        respect_soft_dirty: bits & 2 != 0,
        respect_write: bits & 4 != 0,
        merge_write: bits & 8 != 0,
        merge_young_dirty: bits & 16 != 0,
        read: if bits & 32 != 0 { Getter::Raw } else { Getter::Contpte },
    });
    let soft_dirty = F::CONT_SHIFT > 0 && F::SOFT_DIRTY != 0;
    all.filter(move |flags| {
        let of_blocks = flags.respect_dirty
            || flags.merge_young_dirty
            || (flags.respect_soft_dirty && soft_dirty);
        flags.read == Getter::Contpte || !of_blocks
    })
}

/// Returns entries that may be in place of one for the next page of the run.
fn others<F: Format>(page: Pte) -> Vec<Pte> {
    let swap = SwapEntry::new(SwapKind::Device(1), 77).expect("it fits");
    let exec = F::leaf(Level::Pte, F::pfn(page), Prot::EXEC);
    let none = Prot { none: true, ..Prot::WRITE };
    vec![
        F::mkyoung(page),
        F::mkdirty(page),
        F::hardware_dirty(page).unwrap_or(page),
        F::mkyoung(F::mkdirty(page)),
        F::mksoft_dirty(page),
        F::clear_soft_dirty(page),
        F::wrprotect(page),
        F::wrprotect(F::mkdirty(page)),
        F::mkspecial(page),
        F::mkuffd_wp(page),
        F::advance(page, 1),
        exec,
        F::leaf(Level::Pte, F::pfn(page), none),
        F::swap(swap),
        Pte::NONE,
    ]
}

fn check_batch<F: Decode>(world: &World<F>, entries: &[Pte], i: usize, max_nr: usize) {
    let env = Ground::<Sound, F>::new(world);
    let table = env.table(FIRST_TABLE);
    for flags in all_flags::<F>() {
        let mut copy = flags.read.get::<F, _>(table, i);
        let kept = |pte| match flags.read {
            Getter::Contpte => pte,
            Getter::Raw => F::clear_soft_dirty(F::mkclean(F::mkold(pte))),
        };
        let nr =
            folio_pte_batch_flags::<F, _>(table, Run { first: i, nr: max_nr }, &mut copy, flags);
        let context = || format!("{entries:#?} from {i}, at most {max_nr}, {flags:?}");
        let expected = batch_len::<F>(entries, i, max_nr, flags);
        assert_eq!(nr, expected, "{}", context());
        let copy_expected = merged::<F>(entries, i, nr, flags);
        assert_eq!(kept(copy), kept(copy_expected), "{}", context());
    }
}

/// Tries every run start and bound, with up to one entry (one block, if contiguous) of another
/// kind.
fn every_small_batch<F: Decode>() {
    let world = World::<F>::new(1);
    let mixes = if F::CONT_SHIFT == 0 { 1 } else { 1 << (F::PTES / F::CONT_PTES) };
    for cont in 0..mixes {
        let plain = Layout::folio(cont).case::<F>(0..F::PTES, |_| false).entries;
        for entries in with_one_other::<F>(&plain) {
            world.reset(&entries);
            for i in (0..F::PTES).filter(|i| F::is_present(entries[*i])) {
                for max_nr in 1..=F::PTES - i {
                    check_batch::<F>(&world, &entries, i, max_nr);
                }
            }
        }
    }
}

/// Returns `plain`, and `plain` with each entry replaced by each other kind. Within a contiguous
/// block entries differ only in young and dirty, so there other kinds replace the whole block.
fn with_one_other<F: Decode>(plain: &[Pte]) -> Vec<Vec<Pte>> {
    let plain: Vec<Pte> = plain.iter().enumerate().map(|(i, raw)| F::read(*raw, i)).collect();
    let mut tables = vec![plain.clone()];
    for at in 0..plain.len() {
        for kind in 0..others::<F>(plain[at]).len() {
            let mut table = plain.clone();
            let other = others::<F>(plain[at])[kind];
            let free = F::bits(other).rest == F::bits(plain[at]).rest
                && F::bits(other).write == F::bits(plain[at]).write
                && F::bits(other).soft_dirty == F::bits(plain[at]).soft_dirty
                && F::bits(other).pfn == F::bits(plain[at]).pfn;
            if F::is_cont(plain[at]) && !free {
                let block = contig::align_down(at, F::CONT_PTES);
                for i in block..block + F::CONT_PTES {
                    let page = others::<F>(F::mknoncont(plain[i]))[kind];
                    // Whole blocks stay contiguous where possible.
                    let shifted = F::bits(page).pfn != F::bits(plain[i]).pfn;
                    table[i] = if F::is_valid(page) && !shifted { F::mkcont(page) } else { page };
                }
            } else {
                table[at] = other;
            }
            tables.push(table);
        }
    }
    tables.iter_mut().flatten().for_each(|pte| *pte = F::stored(*pte));
    tables
}

#[test]
fn small_batches_all() {
    every_small_batch::<SmallX86>();
    every_small_batch::<SmallArm2>();
    every_small_batch::<SmallArm4>();
    every_small_batch::<SmallRiscv>();
}

/// Tries random tables at full size, with up to two entries of another kind, and every flag.
fn random_batches<F: Decode>(name: &str, count: u64) {
    let world = World::<F>::new(1);
    for number in case_numbers(count) {
        let mut rng = fastrand::Rng::with_seed(number);
        let mut case = random_case::<F>(&mut rng);
        case.run.end = case.run.end.min(case.run.start + 70);
        for _ in 0..rng.usize(..3) {
            let at = rng.usize(case.run.clone());
            let page = case.entries[at];
            if !F::is_cont(page) && at > case.run.start && F::is_present(page) {
                let others = others::<F>(page);
                case.entries[at] = others[rng.usize(..others.len())];
            }
        }
        println!("replay: PAGEOUT_CASE={number} cargo test -p pageout-paging --test batch {name}");
        world.reset(&case.entries);
        check_batch::<F>(&world, &case.entries, case.run.start, case.run.len());
        check_fused::<F>(&world, &case);
    }
}

/// Checks that `batch_and_clear_young` finds the plain batch, and clears only it.
fn check_fused<F: Decode>(world: &World<F>, case: &Case) {
    let env = Ground::<Sound, F>::new(world);
    let table = env.table(FIRST_TABLE);
    let (i, max_nr) = (case.run.start, case.run.len());
    let first = F::read(case.entries[i], i);
    let run = Run { first: i, nr: max_nr };
    let plain = folio_pte_batch::<F, _>(table, run, first);
    let YoungRun { nr, young, dirty } = batch_and_clear_young::<F, _>(table, None, run, first);
    assert_eq!(nr, plain, "{case:#?}");
    let batch = &case.entries[i..i + nr];
    let any = batch.iter().any(|pte| F::bits(*pte).young);
    assert_eq!(young, any, "{case:#?}");
    let any = batch.iter().any(|pte| F::is_dirty(*pte));
    assert_eq!(dirty, any, "{case:#?}");
    for (k, pte) in case.entries.iter().enumerate() {
        let cleared = if (i..i + nr).contains(&k) { F::mkold(*pte) } else { *pte };
        assert_eq!(world.entry(k), cleared, "entry {k} of {case:#?}");
    }
}

const RANDOM: u64 = 20_000;

#[test]
fn x86_64_random() {
    random_batches::<X86_64>("x86_64_random", RANDOM);
}

#[test]
fn arm64_4k_random() {
    random_batches::<Arm64_4K>("arm64_4k_random", RANDOM);
}

#[test]
fn riscv64_random() {
    random_batches::<Riscv64>("riscv64_random", RANDOM);
}

/// A case in a larger table takes that much longer.
#[test]
fn arm64_16k_random() {
    random_batches::<Arm64_16K>("arm64_16k_random", RANDOM / 40);
}

#[test]
fn arm64_64k_random() {
    random_batches::<Arm64_64K>("arm64_64k_random", RANDOM / 160);
}

#[test]
fn fused_batch_and_clear_all() {
    fn all<F: Decode>() {
        let world = World::<F>::new(1);
        let tried = pageout_exhibits::harness::each_small_case::<F>(|case, _: &Expected| {
            world.reset(&case.entries);
            check_fused::<F>(&world, case);
            Ok(())
        });
        assert!(tried.is_ok_and(|tried| tried > 0));
    }
    all::<SmallX86>();
    all::<SmallArm2>();
    all::<SmallArm4>();
    all::<SmallRiscv>();
}

/// Returns every young and dirty state that an entry of a block can have.
fn states<F: Format>(page: Pte) -> Vec<Pte> {
    let dirty = [page, F::mkdirty(page), F::hardware_dirty(page).unwrap_or(page)];
    dirty.into_iter().flat_map(|pte| [pte, F::mkyoung(pte)]).collect()
}

/// Checks that the getters equal the oracle for every state of every entry of one block. All
/// entries of the other blocks are young and dirty, and must not leak in.
fn every_gather<F: Decode>(prot: Prot) {
    let world = World::<F>::new(1);
    let env = Ground::<Sound, F>::new(&world);
    let table = env.table(FIRST_TABLE);
    let page = |i: usize| {
        let leaf = F::leaf(Level::Pte, BASE.add(i as u64), prot);
        F::mkcont(F::mkclean(leaf))
    };
    let block = F::CONT_PTES.max(2);
    for number in 0..6_usize.pow(block as u32) {
        let entry = |i: usize| match i < block {
            true => states::<F>(page(i))[number / 6_usize.pow(i as u32) % 6],
            false => F::mkyoung(F::mkdirty(page(i))),
        };
        let entries: Vec<Pte> = (0..F::PTES).map(|i| F::stored(entry(i))).collect();
        world.reset(&entries);
        for i in 0..block {
            let expected = gathered::<F>(&entries, i);
            let found = contig::gather::<F, _>(table, i);
            assert_eq!(found, expected, "entry {i} of {entries:#?}");
            assert_eq!(Getter::Contpte.get::<F, _>(table, i), expected);
            assert_eq!(Getter::Raw.get::<F, _>(table, i), F::read(entries[i], i));
        }
    }
}

#[test]
fn gathering_getters_all() {
    for prot in [Prot::READ, Prot::WRITE] {
        every_gather::<SmallX86>(prot);
        every_gather::<SmallArm2>(prot);
        every_gather::<SmallArm4>(prot);
        every_gather::<SmallRiscv>(prot);
    }
}

/// The bit is 52 on arm64, and 63 on riscv64.
#[test]
fn a_swap_entry_with_the_contiguous_bit_is_never_contiguous() {
    fn never<F: Decode>() {
        let world = World::<F>::new(1);
        let layout = Layout { cont: 0, kind: PageKind::Present, outside: Outside::Swap };
        // Entry 3 is a page; all around it are swap entries that have that bit and the young bit.
        let case = layout.case::<F>(3..4, |i| i != 3);
        world.reset(&case.entries);
        let env = Ground::<Sound, F>::new(&world);
        let table = env.table(FIRST_TABLE);
        for i in [0, 2, 4, 7] {
            let swap = case.entries[i];
            assert_eq!(swap.0 & F::CONT, F::CONT);
            assert!(!F::is_cont(swap) && !F::is_present(swap));
            assert_eq!(contig::batch_hint::<F>(i, swap), 1);
            assert_eq!(contig::gather::<F, _>(table, i), swap);
            assert_eq!((F::decode(swap, i), F::encode(swap)), (swap, swap));
        }
        let page = case.entries[3];
        assert_eq!(folio_pte_batch::<F, _>(table, Run { first: 3, nr: 5 }, page), 1);
    }
    never::<Arm64_4K>();
    never::<Arm64_16K>();
    never::<Arm64_64K>();
    never::<Riscv64>();
    never::<SmallRiscv>();
}

#[test]
fn setting_a_range_folds_whole_aligned_blocks_alone() {
    let world = World::<Arm64_4K>::new(1);
    let env = Ground::<Sound, Arm64_4K>::new(&world);
    let leaf = |pfn| Arm64_4K::leaf(Level::Pte, pfn, Prot::READ);
    // 40 pages from index 8 on are half a block, then two whole ones.
    contig::set_ptes::<Arm64_4K, _>(env.table(FIRST_TABLE), 8, leaf(BASE.add(8)), 40);
    for i in 0..64 {
        let pte = world.entry(i);
        assert_eq!(pte.is_none(), !(8..48).contains(&i), "entry {i}");
        assert_eq!(Arm64_4K::is_cont(pte), (16..48).contains(&i), "entry {i}");
        if !pte.is_none() {
            assert_eq!(Arm64_4K::pfn(pte), BASE.add(i as u64));
        }
    }
    // The frames are not aligned like the addresses: no block.
    let other = World::<Arm64_4K>::new(1);
    let env = Ground::<Sound, Arm64_4K>::new(&other);
    contig::set_ptes::<Arm64_4K, _>(env.table(FIRST_TABLE), 0, leaf(BASE.add(1)), 32);
    assert!((0..32).all(|i| !Arm64_4K::is_cont(other.entry(i)) && !other.entry(i).is_none()));
    // A block less one page, and PROT_NONE pages: no block either.
    contig::set_ptes::<Arm64_4K, _>(env.table(FIRST_TABLE), 64, leaf(BASE), 15);
    let none = Arm64_4K::leaf(Level::Pte, BASE, Prot::NONE);
    contig::set_ptes::<Arm64_4K, _>(env.table(FIRST_TABLE), 96, none, 16);
    let single = |i: usize| other.entry(i).0 >> 52 & 1 == 0 && !other.entry(i).is_none();
    assert!((64..79).chain(96..112).all(single));
}

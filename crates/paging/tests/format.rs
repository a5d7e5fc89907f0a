//! Entry formats: every state and law of leaf entries, swap entries, and the bit numbers.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::Decode;
use pageout_paging::batch::{BatchFlags, ignore};
use pageout_paging::pte::{
    Arm64_4K, Arm64_16K, Arm64_64K, Entry, Level, Moving, Prot, Riscv64, Riscv64Base, SmallArm2,
    SmallRiscv, SmallX86, SwapEntry, SwapKind, X86_64,
};
use pageout_paging::{Format, Pfn, Pte, VirtAddr};
use std::collections::{HashMap, HashSet};

/// Returns frames up to the last of 48-bit physical addresses.
fn pfns<F: Format>() -> [Pfn; 5] {
    [0, 1, 0x8_0000, 0x1234_5678, (1 << (48 - F::PAGE_SHIFT)) - 1].map(Pfn::new)
}

fn prots() -> impl Iterator<Item = Prot> {
    (0..8).map(|bits: u32| Prot { write: bits & 1 != 0, exec: bits & 2 != 0, none: bits & 4 != 0 })
}

/// Returns entries in every state that the setters reach from a fresh leaf, and that hardware adds.
fn states<F: Format>(level: Level, pfn: Pfn) -> Vec<Pte> {
    type Setter = fn(Pte) -> Pte;
    let setters: [Setter; 9] = [
        F::mkyoung,
        F::mkdirty,
        |pte| F::hardware_dirty(pte).unwrap_or(pte),
        F::mkspecial,
        F::mkuffd_wp,
        F::mksoft_dirty,
        F::wrprotect,
        F::mkwrite,
        F::mkcont,
    ];
    let leaves = prots().map(|prot| F::leaf(level, pfn, prot));
    leaves
        .flat_map(|leaf| {
            (0..1_u32 << setters.len()).map(move |set| {
                let chosen = (0..setters.len()).filter(|k| set >> k & 1 == 1);
                chosen.fold(leaf, |pte, k| setters[k](pte))
            })
        })
        .collect()
}

/// Checks that the format's getters agree with the bit numbers, and that each setter sets its bit
/// and keeps the rest.
fn laws<F: Decode>() {
    for pfn in pfns::<F>() {
        for pte in states::<F>(Level::Pte, pfn) {
            let bits = F::bits(pte);
            assert_eq!(F::is_present(pte), bits.present, "{pte:?}");
            assert!(bits.present, "{pte:?}");
            assert_eq!(F::is_valid(pte), bits.valid, "{pte:?}");
            assert_eq!(F::is_young(pte), bits.young, "{pte:?}");
            assert_eq!(F::is_dirty(pte), bits.dirty, "{pte:?}");
            assert_eq!(F::is_write(pte), bits.write, "{pte:?}");
            assert_eq!(F::is_soft_dirty(pte), bits.soft_dirty, "{pte:?}");
            assert_eq!(F::is_uffd_wp(pte), bits.uffd_wp, "{pte:?}");
            assert_eq!(F::is_special(pte), bits.special, "{pte:?}");
            assert_eq!(F::is_exec(pte), bits.exec, "{pte:?}");
            assert!(!bits.valid || !F::is_global(pte), "{pte:?}");
            assert_eq!(F::is_cont(pte), bits.cont, "{pte:?}");
            assert_eq!(F::pfn(pte), pfn, "{pte:?}");
            assert_eq!(bits.pfn, pfn.get(), "{pte:?}");
            let entry = match bits.valid {
                true => Entry::Present,
                false => Entry::ProtNone,
            };
            assert_eq!(F::entry(pte), entry, "{pte:?}");
            setters::<F>(pte);
        }
    }
}

/// Checks each setter on one entry: its change, and that nothing else changes.
fn setters<F: Decode>(pte: Pte) {
    let bits = F::bits(pte);
    let same = |after: Pte, dirty: bool, write: bool| {
        let after_bits = F::bits(after);
        assert_eq!(after_bits.dirty, dirty, "{pte:?} became {after:?}");
        assert_eq!(after_bits.write, write, "{pte:?} became {after:?}");
        assert_eq!(after_bits.young, bits.young, "{pte:?} became {after:?}");
        assert_eq!(after_bits.rest, bits.rest, "{pte:?} became {after:?}");
        assert_eq!(after_bits.pfn, bits.pfn, "{pte:?} became {after:?}");
    };
    same(F::mkdirty(pte), true, bits.write);
    same(F::mkclean(pte), false, bits.write);
    same(F::wrprotect(pte), bits.dirty, false);
    same(F::mkwrite(pte), bits.dirty, true);
    same(F::mkwrite(F::wrprotect(pte)), bits.dirty, true);
    same(F::mksoft_dirty(pte), bits.dirty, bits.write);
    same(F::clear_soft_dirty(pte), bits.dirty, bits.write);
    assert!(!F::is_soft_dirty(F::clear_soft_dirty(pte)));
    assert_eq!(F::mkyoung(F::mkold(pte)).0, pte.0 | F::YOUNG);
    assert_eq!(F::mkold(pte).0, pte.0 & !F::YOUNG);
    let marked = F::mkuffd_wp(pte);
    assert_eq!(F::is_uffd_wp(marked), F::UFFD_WP != 0);
    assert!(!F::is_write(marked));
    assert_eq!(F::is_dirty(marked), bits.dirty);
    assert_eq!(F::pfn(F::mkspecial(pte)), F::pfn(pte));
    assert!(F::is_special(F::mkspecial(pte)));
    assert_eq!(F::mknoncont(F::mkcont(pte)), F::mknoncont(pte));
    assert!(!F::is_cont(F::mknoncont(pte)));
    match F::hardware_dirty(pte) {
        Some(written) => {
            assert!(bits.valid && bits.write, "hardware writes through {pte:?}");
            same(written, true, true);
        }
        None => assert!(!bits.valid || !bits.write, "no write through {pte:?}"),
    }
}

/// Checks the bits that batches rely on: entries agree in all but the ignored ones if, and only if,
/// a batch ignores their difference, and a dirty entry has one of the bits named for it.
fn bits_of_batches<F: Format>() {
    for pfn in pfns::<F>() {
        let (mut kept_of, mut kept) = (HashMap::new(), HashSet::new());
        for pte in states::<F>(Level::Pte, pfn).into_iter().filter(|pte| F::is_valid(*pte)) {
            let ignored = ignore::<F>(pte, BatchFlags::NONE);
            let same = *kept_of.entry(pte.0 & !F::IGNORED).or_insert(ignored);
            assert_eq!(same, ignored, "{pte:?}");
            kept.insert(ignored.0);
            assert!(!F::is_dirty(pte) || pte.0 & F::DIRTY_BITS != 0, "{pte:?}");
        }
        assert_eq!(kept_of.len(), kept.len(), "{pfn:?}");
    }
}

#[test]
fn entries_of_a_batch_differ_in_the_ignored_bits_alone() {
    bits_of_batches::<X86_64>();
    bits_of_batches::<Arm64_4K>();
    bits_of_batches::<Arm64_16K>();
    bits_of_batches::<Arm64_64K>();
    bits_of_batches::<Riscv64>();
    bits_of_batches::<Riscv64Base>();
}

#[test]
fn every_state_obeys_the_laws() {
    laws::<X86_64>();
    laws::<Arm64_4K>();
    laws::<SmallX86>();
    laws::<SmallArm2>();
    laws::<Arm64_16K>();
    laws::<Arm64_64K>();
    laws::<Riscv64>();
    laws::<Riscv64Base>();
    laws::<SmallRiscv>();
}

/// Checks that advancing an entry by `nr` pages makes the entry of that page, also for PROT_NONE,
/// whose address x86 inverts.
fn advances<F: Decode>() {
    for pfn in [Pfn::new(0), Pfn::new(0x8_0000), Pfn::new(0xf_ffff)] {
        for prot in prots() {
            let leaf = F::leaf(Level::Pte, pfn, prot);
            for nr in [0, 1, 2, 15, 16, 511, 4096] {
                let there = F::leaf(Level::Pte, pfn.add(nr as u64), prot);
                assert_eq!(F::advance(leaf, nr), there, "{leaf:?} by {nr}");
                let dirty = F::mkyoung(F::mkdirty(leaf));
                let dirty_there = F::mkyoung(F::mkdirty(there));
                assert_eq!(F::advance(dirty, nr), dirty_there, "{dirty:?} by {nr}");
            }
        }
    }
}

#[test]
fn advancing_names_the_next_frames() {
    advances::<X86_64>();
    advances::<Arm64_4K>();
    advances::<Arm64_16K>();
    advances::<Arm64_64K>();
    advances::<Riscv64>();
    advances::<Riscv64Base>();
}

/// Checks leaves and tables above the last level.
fn upper_levels<F: Format>() {
    let pfn = Pfn::new(0x8_0000);
    let table = F::table(pfn);
    assert!(F::is_table(table) && F::is_valid(table));
    assert_eq!(F::pfn(table), pfn);
    // It is young, as kernels install it, and then made old: the bit changes nothing else.
    assert_eq!(F::is_young(table), F::NONLEAF_YOUNG);
    assert_eq!(F::mkyoung_table(F::mkold(table)), table);
    assert!(F::is_table(F::mkold(table)));
    assert_eq!(F::pfn(F::mkold(table)), pfn);
    for pte in states::<F>(Level::Pmd, pfn) {
        assert!(!F::is_table(pte), "{pte:?}");
        assert!(F::is_present(pte), "{pte:?}");
        assert_eq!(F::pfn(pte), pfn, "{pte:?}");
    }
    assert!(!F::is_table(Pte::NONE) && !F::is_present(Pte::NONE));
    assert_eq!(F::entry(Pte::NONE), Entry::None);
}

#[test]
fn tables_and_pmd_leaves_are_told_apart() {
    upper_levels::<X86_64>();
    upper_levels::<Arm64_4K>();
    upper_levels::<Arm64_16K>();
    upper_levels::<Arm64_64K>();
    upper_levels::<Riscv64>();
    upper_levels::<Riscv64Base>();
}

fn kinds() -> Vec<SwapKind> {
    let mut kinds: Vec<SwapKind> = (0..SwapEntry::DEVICES).map(SwapKind::Device).collect();
    kinds.extend([
        SwapKind::DevicePrivate,
        SwapKind::DeviceExclusive,
        SwapKind::Migration,
        SwapKind::Hwpoison,
        SwapKind::Marker,
    ]);
    kinds
}

/// Checks that every kind, flag and edge of an offset is decoded as it was encoded.
fn swap_round_trip<F: Format>(keeps_soft_dirty: bool) {
    let last = (1 << SwapEntry::OFFSET_BITS) - 2;
    let bits = (0..SwapEntry::OFFSET_BITS).map(|bit| 1 << bit);
    let offsets: Vec<u64> = [0, last].into_iter().chain(bits).collect();
    for kind in kinds() {
        for offset in &offsets {
            let Some(plain) = SwapEntry::new(kind, *offset) else {
                assert!(matches!(kind, SwapKind::Device(_)) && *offset == 0);
                continue;
            };
            for flags in 0..8 {
                let swap = SwapEntry {
                    exclusive: flags & 1 != 0,
                    soft_dirty: flags & 2 != 0 && keeps_soft_dirty,
                    uffd_wp: flags & 4 != 0,
                    ..plain
                };
                let pte = F::swap(swap);
                assert_eq!(F::entry(pte), Entry::Swap(swap), "{pte:?}");
                assert!(!F::is_valid(pte) && !F::is_present(pte), "{pte:?}");
                assert!(!F::is_cont(pte) && !F::is_table(pte), "{pte:?}");
                assert!(!pte.is_none());
                assert_eq!(F::hardware_dirty(pte), None);
            }
        }
    }
}

#[test]
fn swap_entries_come_back() {
    swap_round_trip::<X86_64>(true);
    swap_round_trip::<Arm64_4K>(false);
    swap_round_trip::<Arm64_16K>(false);
    swap_round_trip::<Arm64_64K>(false);
    swap_round_trip::<Riscv64>(true);
    swap_round_trip::<Riscv64Base>(true);
    for kind in kinds() {
        let too_far = (1 << SwapEntry::OFFSET_BITS) - 1;
        assert_eq!(SwapEntry::new(kind, too_far), None);
    }
    let no_such_device = SwapKind::Device(SwapEntry::DEVICES);
    assert_eq!(SwapEntry::new(no_such_device, 1), None);
}

/// A migration entry names its frame and keeps the state of the old entry, whatever the other bits
/// are.
#[test]
fn migration_entries_keep_what_they_stand_for() {
    let last = Pfn::new((1 << 47) - 2);
    for pfn in [Pfn::new(0), Pfn::new(1 << 46), last] {
        for bits in 0..8 {
            let moving =
                Moving { write: bits & 1 != 0, young: bits & 2 != 0, dirty: bits & 4 != 0 };
            let entry = SwapEntry::migration(pfn, moving).expect("the frame fits");
            let Entry::Swap(back) = X86_64::entry(X86_64::swap(entry)) else {
                panic!("a swap entry");
            };
            assert_eq!((back.pfn(), back.moving()), (Some(pfn), Some(moving)));
            let read_only = Moving { write: false, ..moving };
            assert_eq!(back.wrprotect(), SwapEntry::migration(pfn, read_only).unwrap());
        }
    }
    assert_eq!(SwapEntry::migration(last.add(1), Moving::default()), None);
    let slot = SwapEntry::new(SwapKind::Device(0), 1 << 47).expect("it fits");
    assert_eq!((slot.moving(), slot.wrprotect()), (None, slot));
}

#[test]
fn soft_dirty_is_dropped_where_there_is_no_bit_for_it() {
    let plain = SwapEntry::new(SwapKind::Device(0), 1).expect("it fits");
    let soft_dirty = SwapEntry { soft_dirty: true, ..plain };
    assert_eq!(Arm64_4K::swap(soft_dirty), Arm64_4K::swap(plain));
    let leaf = Arm64_4K::leaf(Level::Pte, Pfn::new(1), Prot::WRITE);
    assert_eq!(Arm64_4K::mksoft_dirty(leaf), leaf);
}

/// The four dirty states of arm64, as (read-only, writable, software dirty) bits [7.3.4].
#[test]
fn arm64_dirty_states() {
    let state = |pte: Pte| (pte.0 >> 7 & 1, pte.0 >> 51 & 1, pte.0 >> 55 & 1);
    let read = Arm64_4K::leaf(Level::Pte, Pfn::new(1), Prot::READ);
    let write = Arm64_4K::leaf(Level::Pte, Pfn::new(1), Prot::WRITE);
    assert_eq!(state(read), (1, 0, 0));
    assert_eq!(state(write), (1, 1, 0));
    assert_eq!(state(Arm64_4K::mkdirty(read)), (1, 0, 1));
    assert_eq!(state(Arm64_4K::mkdirty(write)), (0, 1, 1));
    let by_hardware = Arm64_4K::hardware_dirty(write).expect("writable");
    assert_eq!(state(by_hardware), (0, 1, 0));
    // Hardware's dirty becomes software's when the page is write-protected, and back.
    assert_eq!(state(Arm64_4K::wrprotect(by_hardware)), (1, 0, 1));
    let again = Arm64_4K::mkwrite(Arm64_4K::wrprotect(by_hardware));
    assert_eq!(state(again), (0, 1, 1));
    assert_eq!(state(Arm64_4K::mkclean(by_hardware)), (1, 1, 0));
}

/// x86 keeps the dirty state of entries that are not writable in bit 58. Dirty without writable in
/// bits 6 and 1 would mean a shadow stack.
#[test]
fn x86_dirty_states() {
    let state = |pte: Pte| (pte.0 >> 1 & 1, pte.0 >> 6 & 1, pte.0 >> 58 & 1);
    let read = X86_64::leaf(Level::Pte, Pfn::new(1), Prot::READ);
    let write = X86_64::leaf(Level::Pte, Pfn::new(1), Prot::WRITE);
    assert_eq!(state(read), (0, 0, 0));
    assert_eq!(state(X86_64::mkdirty(read)), (0, 0, 1));
    assert_eq!(state(X86_64::mkdirty(write)), (1, 1, 0));
    let protected = X86_64::wrprotect(X86_64::mkdirty(write));
    assert_eq!(state(protected), (0, 0, 1));
    assert_eq!(state(X86_64::mkwrite(protected)), (1, 1, 0));
    for pte in states::<X86_64>(Level::Pte, Pfn::new(1)) {
        assert_ne!(state(pte).0 << 1 | state(pte).1, 1, "a shadow stack: {pte:?}");
    }
}

#[test]
fn x86_prot_none_stores_the_address_inverted() {
    let leaf = X86_64::leaf(Level::Pte, Pfn::new(5), Prot::NONE);
    assert_eq!(leaf.0 & 0x000f_ffff_ffff_f000, !(5 << 12) & 0x000f_ffff_ffff_f000);
    assert_eq!(leaf.0 & 0x101, 0x100);
    assert_eq!(X86_64::pfn(leaf), Pfn::new(5));
}

#[test]
fn literal_bits() {
    let arm = Arm64_4K::leaf(Level::Pte, Pfn::new(0x42), Prot::READ);
    let nxs = 1 << 53 | 1 << 54;
    assert_eq!(arm.0, 0x42 << 12 | nxs | 1 << 11 | 3 << 8 | 1 << 7 | 1 << 6 | 3);
    assert_eq!(Arm64_4K::YOUNG, 1 << 10);
    assert_eq!(Arm64_4K::mkcont(Pte(1)).0, 1 | 1 << 52);
    let block = Arm64_4K::leaf(Level::Pmd, Pfn::new(0x200), Prot::READ);
    assert_eq!(block.0 & 3, 1);
    assert_eq!(Arm64_4K::table(Pfn::new(3)).0, 3 << 12 | 1 << 10 | 3);
    let x86 = X86_64::leaf(Level::Pte, Pfn::new(0x42), Prot::WRITE);
    assert_eq!(x86.0, 0x42 << 12 | 1 << 63 | 7);
    assert_eq!(X86_64::YOUNG, 1 << 5);
    assert_eq!(X86_64::table(Pfn::new(3)).0, 3 << 12 | 1 << 6 | 1 << 5 | 7);
    let riscv = Riscv64::leaf(Level::Pte, Pfn::new(0x42), Prot::WRITE);
    assert_eq!(riscv.0, 0x42 << 10 | 1 << 4 | 7);
    assert_eq!(Riscv64::table(Pfn::new(3)).0, 3 << 10 | 1);
    assert_eq!((Riscv64::YOUNG, Riscv64::CONT), (1 << 6, 1 << 63));
    let none = Riscv64::leaf(Level::Pte, Pfn::new(0x42), Prot::NONE);
    assert_eq!(none.0, 0x42 << 10 | 1 << 5 | 2);
    let large = Arm64_64K::leaf(Level::Pte, Pfn::new(0x42), Prot::READ);
    assert_eq!(large.0 & 0xffff_ffff_0000, 0x42 << 16);
    let huge = X86_64::leaf(Level::Pmd, Pfn::new(0x200), Prot::EXEC);
    assert_eq!(huge.0, 0x200 << 12 | 1 << 7 | 5);
}

#[test]
fn geometry() {
    assert_eq!((Arm64_4K::PTES, Arm64_4K::CONT_PTES, Arm64_4K::PAGE_SIZE), (512, 16, 4096));
    assert_eq!((Arm64_16K::PTES, Arm64_16K::CONT_PTES, Arm64_16K::PAGE_SIZE), (2048, 128, 16384));
    assert_eq!((Arm64_64K::PTES, Arm64_64K::CONT_PTES, Arm64_64K::PAGE_SIZE), (8192, 32, 65536));
    assert_eq!((Riscv64::PTES, Riscv64::CONT_PTES, Riscv64::PAGE_SIZE), (512, 16, 4096));
    assert_eq!(Arm64_16K::shift(Level::Pmd), 25);
    assert_eq!(Arm64_64K::shift(Level::Pmd), 29);
    assert_eq!((X86_64::PTES, X86_64::CONT_PTES, X86_64::PAGE_SIZE), (512, 1, 4096));
    assert_eq!((SmallArm2::PTES, SmallArm2::CONT_PTES), (8, 2));
    let addr = VirtAddr::new(3 << 39 | 5 << 30 | 7 << 21 | 9 << 12 | 1);
    let levels = [Level::Pgd, Level::Pud, Level::Pmd, Level::Pte];
    assert_eq!(levels.map(|level| X86_64::index(level, addr)), [3, 5, 7, 9]);
    assert_eq!(levels.map(X86_64::shift), [39, 30, 21, 12]);
    assert_eq!(levels.map(X86_64::nr_pages), [1 << 27, 1 << 18, 512, 1]);
    assert_eq!(
        levels.map(Level::below),
        [Some(Level::Pud), Some(Level::Pmd), Some(Level::Pte), None]
    );
}

/// Svnapot: all entries of a block have one value in memory, which tells the block's order (the
/// specification's 64 KiB form is x...x1000). When read, each has its own frame.
#[test]
fn riscv_blocks_hold_one_value() {
    let leaf = Riscv64::mkcont(Riscv64::leaf(Level::Pte, Pfn::new(0x8_0020), Prot::WRITE));
    for k in 0..16 {
        let page = Riscv64::advance(leaf, k);
        let raw = Riscv64::encode(page);
        assert_eq!(raw.0, 1 << 63 | 0x8_0028 << 10 | 1 << 4 | 7);
        assert_eq!(Riscv64::decode(raw, 32 + k), page);
        let young = Riscv64::mkyoung(Riscv64::mkdirty(page));
        assert_eq!(Riscv64::decode(Riscv64::encode(young), 32 + k), young);
    }
    let small = SmallRiscv::mkcont(SmallRiscv::leaf(Level::Pte, Pfn::new(4), Prot::READ));
    assert_eq!(SmallRiscv::pfn(SmallRiscv::encode(small)), Pfn::new(4 | 2));
    let single = Riscv64::mknoncont(leaf);
    assert_eq!((Riscv64::encode(single), Riscv64::decode(single, 5)), (single, single));
}

#[test]
fn the_global_bit_is_the_architectures() {
    fn global<F: Format>(flip: u64) -> bool {
        F::is_global(Pte(F::leaf(Level::Pte, Pfn::new(1), Prot::READ).0 ^ flip))
    }
    assert!(global::<Arm64_4K>(1 << 11), "nG clear");
    assert!(global::<X86_64>(1 << 8), "G set");
    assert!(global::<Riscv64>(1 << 5), "G set");
}

//! Tables in ordinary memory: each operation, and the bounds of each handle.

use super::{Area, DirectMap, HostTable, HostTables, LINE, Table};
use crate::pte::{Arm64_4K, Pte, SmallX86, X86_64};
use crate::{Format, Pfn};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The first frame of the direct maps.
const FIRST: Pfn = Pfn::new(0x8_0000);

fn zeroed<const N: usize>() -> [AtomicU64; N] {
    [const { AtomicU64::new(0) }; N]
}

/// Tests each operation on `table`, whose entries are all zero.
fn operations<T: Table>(table: T, last: usize) {
    table.set(last, Pte(0b1111));
    assert_eq!(table.load(last), Pte(0b1111));
    assert!(table.test_and_clear_bit(last, 0b10));
    assert!(!table.test_and_clear_bit(last, 0b10));
    table.clear_bits(last, 0b1001);
    assert_eq!(table.load(last), Pte(0b100));
    assert_eq!(table.cas(last, Pte(1), Pte(2)), Err(Pte(0b100)));
    // The swap may fail spuriously, but never with another entry than it found.
    while let Err(found) = table.cas(last, Pte(0b100), Pte(7)) {
        assert_eq!(found, Pte(0b100));
    }
    table.prefetch_write(last);
    let mut line = [0; LINE];
    line[last % LINE] = 7;
    for i in last + 1 - LINE..=last {
        assert_eq!(table.line(i), line, "the line that holds entry {i}");
    }
    assert_eq!(table.load(0), Pte::NONE);
}

#[test]
fn a_table_takes_exactly_its_entries() {
    let memory = zeroed::<9>();
    assert!(HostTable::<SmallX86>::new(&memory).is_none());
    assert!(HostTable::<SmallX86>::new(&memory[..7]).is_none());
    operations(HostTable::<SmallX86>::new(&memory[..8]).expect("8 entries"), 7);
    assert_eq!(memory[8].load(Relaxed), 0);
}

#[test]
fn tables_lie_one_after_another() {
    let memory = zeroed::<{ 3 * 512 + 5 }>();
    let tables = HostTables::<X86_64>::new(&memory, Pfn::new(70));
    assert_eq!((tables.len(), tables.is_empty()), (3, false));
    operations(tables.table(Pfn::new(72)), 511);
    assert_eq!(memory[3 * 512 - 1].load(Relaxed), 7);
    assert!(HostTables::<X86_64>::new(&memory[..511], Pfn::new(0)).is_empty());
}

#[test]
fn a_place_names_one_entry_of_one_table() {
    let memory = zeroed::<{ 3 * 8 }>();
    let tables = HostTables::<SmallX86>::new(&memory, Pfn::new(70));
    tables.table(Pfn::new(72)).set(5, Pte(9));
    let slot = tables.slot(Pfn::new(72), 5);
    assert_eq!((slot.get(), tables.load(slot)), (2 * 8 + 5, Pte(9)));
    assert_eq!(tables.load(tables.slot(Pfn::new(72), 3).add(2)), Pte(9));
    let (table, i) = tables.at(slot);
    assert_eq!((table.load(i), i), (Pte(9), 5));
}

#[test]
#[should_panic(expected = "a table frame lies in the table memory")]
fn a_frame_after_the_last_table_is_refused() {
    let memory = zeroed::<{ 2 * 8 + 7 }>();
    HostTables::<SmallX86>::new(&memory, Pfn::new(70)).table(Pfn::new(72));
}

#[test]
#[should_panic(expected = "a table frame lies in the table memory")]
fn a_frame_before_the_first_table_is_refused() {
    let memory = zeroed::<16>();
    HostTables::<SmallX86>::new(&memory, Pfn::new(70)).table(Pfn::new(69));
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "release builds mask the index instead")]
#[should_panic(expected = "entry 8 of a table of 8")]
fn an_index_past_the_table_is_refused_in_debug_builds() {
    let memory = zeroed::<8>();
    HostTable::<SmallX86>::new(&memory).expect("8 entries").load(8);
}

/// Page frames, as in physical memory.
#[repr(align(4096))]
struct Frames<const N: usize>([[AtomicU64; 512]; N]);

impl<const N: usize> Frames<N> {
    const fn new() -> Self {
        Self([const { [const { AtomicU64::new(0) }; 512] }; N])
    }

    /// Returns the table in `frame`, by a direct map of all the frames.
    fn table<F: Format>(&'static self, frame: Pfn) -> HostTable<'static, F> {
        let base = core::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the frames are a static, aligned to a page, and the map gets their number.
        let map = unsafe { DirectMap::<F>::new(base, FIRST..FIRST.add(N as u64)) };
        // SAFETY: they are atomics, so nothing accesses them in another way.
        unsafe { map.table(frame) }
    }
}

#[test]
fn the_direct_map_reaches_each_frame() {
    static MEMORY: Frames<3> = Frames::new();
    operations(MEMORY.table::<Arm64_4K>(FIRST.add(2)), 511);
    assert_eq!(MEMORY.0[2][511].load(Relaxed), 7);
    MEMORY.table::<Arm64_4K>(FIRST.add(1)).set(0, Pte(5));
    assert_eq!(MEMORY.0[1][0].load(Relaxed), 5);
}

/// A table smaller than its page begins at the page's start.
#[test]
fn a_small_table_fills_the_start_of_its_frame() {
    static MEMORY: Frames<2> = Frames::new();
    operations(MEMORY.table::<SmallX86>(FIRST.add(1)), 7);
    assert_eq!(MEMORY.0[1][7].load(Relaxed), 7);
}

#[test]
#[should_panic(expected = "0x80001, lies in the direct map: 1 frames from 0x80000 on")]
fn a_frame_past_the_direct_map_is_refused() {
    static MEMORY: Frames<1> = Frames::new();
    MEMORY.table::<X86_64>(FIRST.add(1));
}

#[test]
#[should_panic(expected = "0x7ffff, lies in the direct map: 1 frames from 0x80000 on")]
fn a_frame_below_the_direct_map_is_refused() {
    static MEMORY: Frames<1> = Frames::new();
    MEMORY.table::<X86_64>(Pfn::new(FIRST.get() - 1));
}

/// A type with padding, whose default is no pattern of zeros.
#[derive(Debug, PartialEq)]
#[repr(align(16))]
struct Padded(u32, u8);

impl Default for Padded {
    fn default() -> Self {
        Self(7, 9)
    }
}

#[test]
fn an_area_gives_aligned_slices_of_defaults_wherever_it_begins() {
    for offset in 0..17 {
        let mut bytes = [const { MaybeUninit::uninit() }; 17 + 16 + 3 * 16 + 2 * 8];
        let mut area = Area::new(&mut bytes[offset..]);
        let padded = area.take::<Padded>(3).expect("room for three");
        let atomics = area.take::<AtomicU64>(2).expect("and for two");
        padded[1] = Padded(1, 2);
        atomics[1].store(3, Relaxed);
        assert_eq!(padded, [Padded(7, 9), Padded(1, 2), Padded(7, 9)]);
        assert_eq!(atomics.iter().map(|atomic| atomic.load(Relaxed)).sum::<u64>(), 3);
    }
}

#[test]
fn an_area_too_short_is_left_as_it_is() {
    let mut bytes = [const { MaybeUninit::uninit() }; 16];
    let mut area = Area::new(&mut bytes);
    assert!(area.take::<u8>(17).is_none());
    assert!(area.take::<u64>(usize::MAX).is_none());
    assert_eq!(area.take::<u8>(15).map(|slice| slice.len()), Some(15));
    assert!(area.take::<u16>(1).is_none(), "one byte is left");
    assert_eq!(area.take::<Padded>(0), Some(&mut [][..]));
    assert_eq!(area.take::<u8>(1), Some(&mut [0][..]));
    assert!(area.take::<u8>(1).is_none());
}

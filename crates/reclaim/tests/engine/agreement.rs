//! Agreement of the algorithms: over random layouts, each of them gives the result, and leaves the
//! entries, of a plain reading of the rules.

use crate::world::{Arena, LIMITS, World, page};
use pageout_paging::pte::{
    Arm64_4K, Entry, Riscv64, SmallArm2, SmallArm4, SmallRiscv, SmallX86, SwapEntry, SwapKind,
    X86_64,
};
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Format, Pte};
use pageout_reclaim::{
    FolioFlags, FolioId, MapAs, MappingKind, MmId, Referenced, Refs, VmFlags, VmaId,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// The largest number of pages of a VMA, so that one word has a bit for each.
const PAGES: u64 = 40;
/// The number of address spaces.
const PROCESSES: usize = 3;

/// A VMA and its use by hardware and software. Masks have one bit for each page of the VMA.
#[derive(Clone, Debug)]
struct Part {
    process: usize,
    /// The pages between this VMA and the last.
    gap: u64,
    pages: u64,
    pgoff: u64,
    flags: VmFlags,
    /// A mask of the folios it maps.
    maps: u8,
    young: u64,
    dirty: u64,
    /// The pages that are young in the secondary MMU.
    secondary: u64,
    /// The pages write-protected by userfaultfd, which end a run; not in contiguous blocks.
    marked: u64,
    /// The pages lent to a device; not in contiguous blocks.
    lent: u64,
}

#[derive(Clone, Debug)]
struct Layout {
    kind: MappingKind,
    /// The file's folios, in order: the size, and the flags before.
    folios: Vec<(u8, FolioFlags)>,
    parts: Vec<Part>,
    exiting: [bool; PROCESSES],
    mirrored: [bool; PROCESSES],
    /// The pages just before the end of a table at which the first VMAs begin.
    start: u64,
}

/// Returns words with few bits set.
fn sparse() -> impl Strategy<Value = u64> {
    (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(a, b, c)| a & b & c)
}

fn vm_flags() -> impl Strategy<Value = VmFlags> {
    let all = [VmFlags::EXEC, VmFlags::WRITE, VmFlags::LOCKED, VmFlags::SEQ_READ];
    let some = proptest::sample::subsequence(all.to_vec(), 0..=2);
    some.prop_map(|flags| flags.into_iter().collect())
}

fn part() -> impl Strategy<Value = Part> {
    let place = (0..PROCESSES, 0..6_u64, 1..=PAGES, 0..PAGES, vm_flags(), any::<u8>());
    let bits = (sparse(), any::<u64>(), sparse(), sparse(), sparse());
    (place, bits).prop_map(|((process, gap, pages, pgoff, flags, maps), bits)| {
        let (young, dirty, secondary, marked, lent) = bits;
        Part { process, gap, pages, pgoff, flags, maps, young, dirty, secondary, marked, lent }
    })
}

fn layout() -> impl Strategy<Value = Layout> {
    let kind = prop_oneof![4 => Just(MappingKind::File), 1 => Just(MappingKind::Anon)];
    let flags = [FolioFlags::IDLE, FolioFlags::YOUNG, FolioFlags::MLOCKED];
    let flags = proptest::sample::subsequence(flags.to_vec(), 0..=3);
    let folio = (0..=5_u8, flags.prop_map(|flags| flags.into_iter().collect()));
    let folios = vec(folio, 1..=6);
    let flips = (any::<[bool; PROCESSES]>(), any::<[bool; PROCESSES]>());
    (kind, folios, vec(part(), 1..=5), flips, 0..24_u64).prop_map(
        |(kind, folios, parts, (exiting, mirrored), start)| Layout {
            kind,
            folios,
            parts,
            exiting,
            mirrored,
            start,
        },
    )
}

/// A layout that was built.
struct Scene<'a, F> {
    world: World<'a, F>,
    folios: Vec<FolioId>,
    /// The VMAs in the order in which they are checked, with their pages.
    vmas: Vec<(VmaId, Range<u64>)>,
}

fn bit(mask: u64, k: u64) -> bool {
    mask >> k & 1 == 1
}

impl<'a, F: Format> Scene<'a, F> {
    fn new(layout: &Layout, mut world: World<'a, F>) -> Self {
        let mms: Vec<_> = (0..PROCESSES).map(|_| world.process()).collect();
        let mapping = world.try_mapping(layout.kind).expect("room");
        let mut index = 0_u64;
        let mut folios = Vec::new();
        for (order, flags) in &layout.folios {
            index = index.next_multiple_of(1 << order);
            let folio = world.folio(mapping, *order, index);
            world.flag(folio, *flags);
            folios.push(folio);
            index += 1 << order;
        }
        let mut vmas = Vec::new();
        let mut at = [F::PTES as u64 * 4 - 24 + layout.start; PROCESSES];
        for part in &layout.parts {
            let start = at[part.process] + part.gap;
            at[part.process] = start + part.pages;
            let range = start..start + part.pages;
            let mm = mms[part.process];
            let vma = world.vma(mm, range.clone(), part.flags, mapping, part.pgoff);
            vmas.push((vma, range.clone()));
            let mapped = (0..).zip(&folios).filter(|(k, _)| bit(part.maps.into(), *k));
            for (_, folio) in mapped {
                // If the two share no page, there is nothing to map.
                let _ = world.try_map(vma, *folio, MapAs::Ptes);
            }
            use_pages(&world, mm, range, part);
        }
        // Of VMAs with one page offset, the latest is checked first.
        vmas.reverse();
        vmas.sort_by_key(|(vma, _)| world.maps.vma(*vma).expect("it lives").pgoff());
        for (k, mm) in mms.iter().enumerate() {
            if layout.exiting[k] {
                world.maps.mm(*mm).expect("it lives").set_exiting();
            }
            if layout.mirrored[k] {
                world.attach(*mm, []);
            }
        }
        Self { world, folios, vmas }
    }

    /// Returns the pages of a VMA that map the folio, with their entries.
    fn hits(&self, mm: MmId, at: &Range<u64>, folio: FolioId) -> Vec<(u64, Pte)> {
        let maps = |pte: Pte| {
            let pfn = match F::entry(pte) {
                Entry::Swap(lent) => lent.pfn()?,
                _ => F::is_present(pte).then(|| F::pfn(pte))?,
            };
            (self.world.maps.folio_of(pfn) == Some(folio)).then_some(())
        };
        let entries = at.clone().map(|page| (page, self.world.entry(mm, page)));
        entries.filter(|(_, pte)| maps(*pte).is_some()).collect()
    }

    /// Returns the result by the rules for the folio, and the pages whose young bits they clear.
    fn expected(&self, folio: FolioId) -> (Referenced, Vec<(MmId, u64)>) {
        let state = self.world.maps.folio(folio).expect("it lives");
        let anon = state.flags().contains(FolioFlags::ANON);
        let alone = anon && state.mapcount() as usize <= state.nr_pages();
        let mut taken = state.flags().contains(FolioFlags::YOUNG);
        let mut left = state.mapcount() as usize;
        let (mut nr, mut vm_flags, mut asked) = (0, VmFlags::empty(), Vec::new());
        for (vma, at) in &self.vmas {
            let vma = self.world.maps.vma(*vma).expect("it lives");
            let mm = self.world.maps.mm_of(vma);
            let hits = self.hits(mm, at, folio);
            if left == 0 {
                break;
            }
            if !self.overlaps(folio, vma.pgoff(), at) || vma.flags().contains(VmFlags::SEQ_READ) {
                continue;
            }
            left -= hits.len();
            let mut referenced = false;
            if vma.flags().contains(VmFlags::LOCKED) {
                let tables: Vec<_> = hits.iter().map(|(page, _)| page / F::PTES as u64).collect();
                if hits.len() == state.nr_pages() && tables.iter().all(|one| *one == tables[0]) {
                    let vm_flags = vm_flags | VmFlags::LOCKED;
                    return (Referenced { refs: Refs::Vmas(nr), vm_flags }, asked);
                }
            } else if self.world.maps.mm(mm).expect("it lives").is_exiting()
                && alone
                && !hits.is_empty()
            {
                return (Referenced { refs: Refs::Unknown, vm_flags }, asked);
            } else {
                for (page, pte) in hits {
                    referenced |= F::is_present(pte) && F::is_young(pte);
                    referenced |= self.secondary_has(mm, page);
                    asked.push((mm, page));
                }
            }
            if referenced | std::mem::take(&mut taken) {
                nr += 1;
                vm_flags |= vma.flags() - VmFlags::LOCKED;
            }
        }
        (Referenced { refs: Refs::Vmas(nr), vm_flags }, asked)
    }

    fn overlaps(&self, folio: FolioId, pgoff: u64, at: &Range<u64>) -> bool {
        let state = self.world.maps.folio(folio).expect("it lives");
        let end = state.index() + state.nr_pages() as u64;
        state.index() < pgoff + at.end - at.start && pgoff < end
    }

    fn secondary_has(&self, mm: MmId, number: u64) -> bool {
        let secondary = self.world.secondary(mm);
        let attached = secondary.attached.load(Relaxed);
        attached && secondary.young.lock().unwrap().contains(&page::<F>(number))
    }

    /// Returns all entries of all VMAs, by address space and page.
    fn entries(&self) -> Vec<(MmId, u64, Pte)> {
        let of = |(vma, at): &(VmaId, Range<u64>)| {
            let mm = self.world.maps.mm_of(self.world.maps.vma(*vma).expect("it lives"));
            at.clone().map(move |page| (mm, page)).collect::<Vec<_>>()
        };
        let pages = self.vmas.iter().flat_map(of);
        pages.map(|(mm, page)| (mm, page, self.world.entry(mm, page))).collect()
    }

    fn mapcounts(&self) -> Vec<(u32, u32)> {
        let state = |folio: &FolioId| self.world.maps.folio(*folio).expect("it lives");
        self.folios.iter().map(|folio| (state(folio).mapcount(), state(folio).refs())).collect()
    }
}

/// Uses a VMA's pages as hardware, the secondary MMU and the rest of the kernel do.
fn use_pages<F: Format>(world: &World<'_, F>, mm: MmId, at: Range<u64>, part: &Part) {
    for (number, k) in at.zip(0..) {
        if bit(part.secondary, k) {
            world.secondary(mm).young.lock().unwrap().insert(page::<F>(number));
        }
        let pte = world.entry(mm, number);
        if pte.is_none() {
            continue;
        }
        let single = !F::is_cont(pte);
        if single && bit(part.lent, k) {
            let lent = SwapEntry::new(SwapKind::DeviceExclusive, F::pfn(pte).get());
            world.change(mm, number, |_| F::swap(lent.expect("a frame")));
            continue;
        }
        let mark = |pte| if single && bit(part.marked, k) { F::mkuffd_wp(pte) } else { pte };
        let dirty = |pte| if bit(part.dirty, k) { F::mkdirty(pte) } else { pte };
        let young = |pte| if bit(part.young, k) { F::mkyoung(pte) } else { pte };
        world.change(mm, number, |pte| young(dirty(mark(pte))));
    }
}

fn hold<F: Format>(layout: &Layout) -> Result<(), TestCaseError> {
    for algorithm in YoungAlgorithm::ALL {
        let mut arena = Arena::new::<F>(&LIMITS);
        let mut scene = Scene::new(layout, arena.world::<F>());
        let mapcounts = scene.mapcounts();
        for folio in scene.folios.clone() {
            let (expected, asked) = scene.expected(folio);
            let old = |(mm, page, pte): (MmId, u64, Pte)| {
                let cleared = F::is_present(pte) && asked.contains(&(mm, page));
                (mm, page, if cleared { F::mkold(pte) } else { pte })
            };
            let entries: Vec<_> = scene.entries().into_iter().map(old).collect();
            let found = scene.world.referenced(folio, algorithm);
            prop_assert_eq!(found, expected, "{:?} of {:?}", folio, algorithm);
            prop_assert_eq!(
                scene.entries(),
                entries,
                "entries after {:?} of {:?}",
                folio,
                algorithm
            );
        }
        prop_assert_eq!(scene.mapcounts(), mapcounts);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(768))]

    #[test]
    fn algorithms_agree_on_small_x86(layout in layout()) {
        hold::<SmallX86>(&layout)?;
    }

    #[test]
    fn algorithms_agree_on_small_arm64_blocks_of_2(layout in layout()) {
        hold::<SmallArm2>(&layout)?;
    }

    #[test]
    fn algorithms_agree_on_small_arm64_blocks_of_4(layout in layout()) {
        hold::<SmallArm4>(&layout)?;
    }

    #[test]
    fn algorithms_agree_on_small_riscv(layout in layout()) {
        hold::<SmallRiscv>(&layout)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn algorithms_agree_on_x86_64(layout in layout()) {
        hold::<X86_64>(&layout)?;
    }

    #[test]
    fn algorithms_agree_on_arm64_4k(layout in layout()) {
        hold::<Arm64_4K>(&layout)?;
    }

    #[test]
    fn algorithms_agree_on_riscv64(layout in layout()) {
        hold::<Riscv64>(&layout)?;
    }
}

//! A world without page tables, for tests that need only lists.

extern crate std;

use crate::cpu::CpuCtx;
use crate::engine::Engine;
use crate::folio::{FolioFlags, MappingKind};
use crate::id::{FolioNr, MappingId, MemcgNr};
use crate::lock::{Lock, WriteGuard};
use crate::lru::{LruList, MemcgBusy};
use crate::memory::{Limits, Memory};
use crate::mm::NewFolio;
use crate::mm_state::MmState;
use crate::tuning::{Aging, FlushTiming, PmdLeaves, Thp, Tuning, UnmapGranularity, Unmapping};
use crate::world::{Backing, Frames, Io, IoError, Submitted, World};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use pageout_paging::contig::Getter;
use pageout_paging::mmu::{Asid, Barrier, Caps, Invalidate};
use pageout_paging::pte::SmallX86;
use pageout_paging::table::HostTable;
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::young::YoungAlgorithm;
use pageout_paging::{Env, Mmu, Notifier, Order, Pfn, Sound};
use std::boxed::Box;
use std::vec::Vec;

/// The world: a clock, and a counter of waits.
#[derive(Debug, Default)]
pub(crate) struct Bare {
    pub(crate) now: AtomicU64,
    pub(crate) relaxed: AtomicU64,
    lock: Lock,
}

impl Mmu for Bare {
    fn caps(&self) -> Caps {
        Caps::IDEAL
    }

    fn invalidate(&self, _: Invalidate) {}

    fn barrier(&self, _: Barrier) {}
}

impl Env for Bare {
    type Format = SmallX86;
    type Table = HostTable<'static, SmallX86>;
    type Mmu = Self;
    type Rules = Sound;
    type Observer = ();
    type TableGuard<'a> = WriteGuard<'a>;

    fn table(&self, frame: Pfn) -> Self::Table {
        unreachable!("no table in {frame:?}")
    }

    fn mmu(&self) -> &Self {
        self
    }

    fn try_lock_table(&self, _: Pfn) -> Option<WriteGuard<'_>> {
        self.lock.try_write()
    }

    fn notifier(&self, _: Asid) -> Option<&dyn Notifier> {
        None
    }

    fn observer(&self) -> &() {
        &()
    }

    fn relax(&self) {
        self.relaxed.fetch_add(1, Relaxed);
    }
}

impl Frames for Bare {
    fn alloc(&self, _: Order) -> Option<Pfn> {
        None
    }

    fn free(&self, _: Pfn, _: Order) {}

    fn alloc_table(&self) -> Option<Pfn> {
        None
    }

    fn free_table(&self, _: Pfn) {}

    fn zero(&self, _: Pfn, _: usize) {}

    fn copy(&self, _: Pfn, _: Pfn, _: usize) {}

    fn free_pages(&self) -> usize {
        0
    }
}

impl Backing for Bare {
    fn read(&self, _: Io) -> Submitted {
        Submitted::Failed(IoError::Device)
    }

    fn write(&self, _: Io) -> Submitted {
        Submitted::Failed(IoError::Device)
    }
}

impl World for Bare {
    fn now_ms(&self) -> u64 {
        self.now.load(Relaxed)
    }
}

impl Engine<'_, Bare> {
    /// Adds a cgroup, for which there is room.
    pub(crate) fn add_group(&mut self, parent: MemcgNr) -> MemcgNr {
        let parent = self.maps.memcg_id(parent);
        let id = self.add_memcg(parent).expect("room");
        self.maps.memcg_nr(id).expect("it is online")
    }

    /// Removes a cgroup.
    pub(crate) fn remove_group(&mut self, nr: MemcgNr) -> Result<(), MemcgBusy> {
        let id = self.maps.memcg_id(nr);
        self.remove_memcg(id)
    }
}

/// Maps of up to `folios` folios and five cgroups, in three zones, with generations in use and one
/// mapping of each type.
pub(crate) struct Ground {
    pub(crate) maps: MmState<'static>,
    pub(crate) world: Bare,
    pub(crate) cpu: CpuCtx,
    mappings: [MappingId; 2],
    /// The largest number of pages of a folio.
    max_pages: u64,
    /// The number of frames of each zone.
    zone: u64,
    made: u64,
}

/// The kernels' choices. Nothing here depends on them.
pub(crate) const TUNING: Tuning = Tuning {
    aging: Aging { algorithm: YoungAlgorithm::Batched, flush: FlushPolicy::GENERIC },
    unmapping: Unmapping {
        by: UnmapGranularity::Batched,
        read: Getter::Contpte,
        shootdown: FlushTiming::Deferred,
    },
    thp: Thp::Never,
    pmd_leaves: PmdLeaves::Never,
};

impl Ground {
    /// Makes maps for folios of up to four pages.
    pub(crate) fn new(folios: usize) -> Self {
        Self::of_order(folios, 2)
    }

    pub(crate) fn of_order(folios: usize, max_order: u8) -> Self {
        let max_pages = 1 << max_order;
        let zone = folios as u64 * max_pages;
        let limits =
            Limits { frames: 3 * zone as usize, folios, mappings: 2, memcgs: 4, ..Limits::NOTHING };
        let bytes = Box::leak(Box::new_uninit_slice(Memory::bytes_for(&limits)));
        let memory = Memory::carve(bytes, &limits).expect("room for all");
        let maps = MmState::new(memory, Pfn::new(0)).expect("small tables");
        let (world, mut cpu) = (Bare::default(), CpuCtx::new());
        maps.set_zone_start(1, Pfn::new(zone));
        maps.set_zone_start(2, Pfn::new(2 * zone));
        maps.on(&world, &mut cpu, TUNING).set_lru_gen_caps(crate::mglru::LruGenCaps::CORE);
        let mappings = [MappingKind::Anon, MappingKind::File]
            .map(|kind| maps.on(&world, &mut cpu, TUNING).add_mapping(kind).expect("room for two"));
        Self { maps, world, cpu, mappings, max_pages, zone, made: 0 }
    }

    /// Returns the engine on its one CPU.
    pub(crate) fn engine(&mut self) -> Engine<'_, Bare> {
        self.maps.on(&self.world, &mut self.cpu, TUNING)
    }

    /// Makes a folio of a type in a zone, charged to a cgroup and on no list.
    pub(crate) fn folio(&mut self, kind: usize, zone: u64, order: u8, memcg: MemcgNr) -> FolioNr {
        let at = self.made * self.max_pages % self.zone;
        self.made += 1;
        let new = NewFolio {
            pfn: Pfn::new(zone * self.zone + at),
            order: Order::new(order).expect("a small order"),
            mapping: self.mappings[kind],
            index: at,
            flags: FolioFlags::UPTODATE,
        };
        let id = self.engine().add_folio(new).expect("room");
        let id = self.maps.folio_nr(id).expect("it lives");
        self.maps.folio_at(id).set_memcg(memcg);
        let nr = self.maps.folio_at(id).nr_pages() as u64;
        self.maps.ancestors(memcg).for_each(|level| {
            level.usage.fetch_add(nr, Relaxed);
        });
        id
    }

    /// Makes a folio like `folio`, and puts it into the generation of a sequence number.
    pub(crate) fn folio_in(&mut self, seq: u64, kind: usize, zone: u64, order: u8) -> FolioNr {
        let id = self.folio(kind, zone, order, MemcgNr::ROOT);
        let engine = self.engine();
        let (maps, guard) = (engine.maps, engine.lock_lruvec(MemcgNr::ROOT.into()));
        let youngest = maps.lru_gen(MemcgNr::ROOT.into()).max_seq();
        let list = maps.lru_place_aged(&guard, id, youngest - seq);
        maps.resize(&guard, list, &maps.in_zones(maps.folio_at(id)));
        drop(guard);
        id
    }

    /// Takes a folio off its list and frees it.
    pub(crate) fn remove(&mut self, id: FolioNr) {
        self.engine().lru_del(id);
        let id = self.maps.folio_id(id);
        self.engine().remove_folio(id).expect("nothing else uses it");
    }

    /// Returns the folios of a generation's lists of one type, head first, zone by zone.
    pub(crate) fn listed(&self, memcg: MemcgNr, generation: usize, kind: usize) -> Vec<FolioNr> {
        let lists = &self.maps.lru_gen(memcg.into()).lists[generation][kind];
        lists.iter().flat_map(|list| list.iter(self.maps.folios.table)).collect()
    }

    /// Checks that every list holds only its own folios, each once, and that every size is the sum
    /// of its folios. Returns the listed folios.
    pub(crate) fn check(&self, memcg: MemcgNr) -> Vec<FolioNr> {
        let (maps, lrugen) = (&self.maps, self.maps.lru_gen(memcg.into()));
        let mut sizes = [0; 5];
        let mut counted = [[[0; crate::mglru::MAX_NR_ZONES]; 2]; crate::mglru::MAX_NR_GENS];
        let mut all = Vec::new();
        for generation in 0..crate::mglru::MAX_NR_GENS {
            for kind in 0..2 {
                for id in self.listed(memcg, generation, kind) {
                    let folio = maps.folio_at(id);
                    assert_eq!(folio.listed_in(), Some(generation), "{id:?}");
                    let within = folio.recency().generation().expect("it is in one");
                    let nr = folio.nr_pages() as i64;
                    counted[within][kind][maps.zone_of(folio)] += nr;
                    sizes[lrugen.list_of(within, kind) as usize] += nr as u64;
                    all.push(id);
                }
            }
        }
        for list in LruList::ALL {
            for id in maps.lru_folios(maps.memcg_id(memcg), list).expect("it is online") {
                let id = maps.folio_nr(id).expect("it lives");
                assert_eq!(LruList::of(maps.folio_at(id)), list, "{id:?}");
                assert_eq!(maps.folio_at(id).recency().generation(), None, "{id:?}");
                sizes[list as usize] += maps.folio_at(id).nr_pages() as u64;
                all.push(id);
            }
            let own = maps.lru_size_own(maps.memcg_id(memcg), list);
            assert_eq!(own, Ok(sizes[list as usize]), "{list:?}");
        }
        let found = lrugen
            .nr_pages
            .each_ref()
            .map(|kinds| kinds.each_ref().map(|zones| zones.each_ref().map(|n| n.load(Relaxed))));
        assert_eq!(found, counted, "pages of {memcg:?} by generation, type and zone");
        assert!(all.iter().all(|id| maps.folio_at(*id).memcg() == memcg));
        all.sort();
        assert!(all.is_sorted_by(|a, b| a < b), "a folio is on one list: {all:?}");
        all
    }
}

//! Zones of physical memory: a reclaim for one zone takes nothing of those above.

use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::Pfn;
use pageout_paging::pte::SmallX86;
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{Counter, FolioFlags, FolioId, Limits, LruList, MappingId, MemcgId};

type W<'a> = World<'a, SmallX86>;

const ROOT: MemcgId = MemcgId::ROOT;
const ROOM: Limits = Limits { folios: 600, shadows: 1024, ..LIMITS };

/// Classic lists, and generations.
const LISTS: [LruGenCaps; 2] = [LruGenCaps::empty(), LruGenCaps::CORE];

/// Reads in pages of a file that are mapped nowhere, in frames from 0 on. The last is the oldest.
fn read(world: &mut W<'_>, file: MappingId, pages: u64) -> Vec<FolioId> {
    let one = |index| {
        let id = world.folio(file, 0, index);
        let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
        maps.on(env, cpu, tuning()).charge(id, ROOT).expect("no limit");
        maps.on(env, cpu, tuning()).filemap_add_folio(id).expect("nothing is there");
        world.flag(id, FolioFlags::UPTODATE);
        id
    };
    let folios: Vec<_> = (0..pages).map(one).collect();
    for id in folios.iter().rev() {
        world.engine().lru_add(*id).expect("it lives");
        world.engine().release(*id, 1).expect("the caller has it");
    }
    folios
}

fn is_cached(world: &mut W<'_>, file: MappingId, index: u64) -> bool {
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let found = maps.on(env, cpu, tuning()).filemap_get_folio(file, index).expect("it lives");
    found
        .inspect(|id| maps.on(env, cpu, tuning()).release(*id, 1).expect("the caller has it"))
        .is_some()
}

#[test]
fn folios_of_higher_zones_are_examined_and_left() {
    for (highest, caps) in (0..3).flat_map(|zone| LISTS.map(|caps| (zone, caps))) {
        let mut arena = Arena::new::<SmallX86>(&ROOM);
        let mut world: W<'_> = arena.world();
        world.engine().set_lru_gen_caps(caps);
        world.maps.set_zone_start(1, Pfn::new(100));
        world.maps.set_zone_start(2, Pfn::new(200));
        let file = world.file();
        let folios = read(&mut world, file, 300);
        let zones: Vec<_> = folios
            .iter()
            .map(|id| world.maps.zone_of(world.maps.folio(*id).expect("it lives")))
            .collect();
        let mut got = 0;
        loop {
            match world.engine().try_to_free_pages_of(highest) {
                0 => break,
                nr => got += nr,
            }
        }
        assert_eq!(got, 100 * (highest as u64 + 1), "all of the zones up to {highest}");
        for (index, zone) in zones.into_iter().enumerate() {
            assert_eq!(is_cached(&mut world, file, index as u64), zone > highest, "page {index}");
        }
        assert_eq!(
            world.maps.lru_size(ROOT, LruList::InactiveFile).expect("it is online"),
            300 - got
        );
        let [scanned, moved] = [Counter::PgscanFile, Counter::Pgrefill]
            .map(|counter| world.maps.memcg(ROOT).expect("it is online").vmstat().get(counter));
        let passed_over = if caps.is_empty() { scanned - got } else { moved };
        assert_eq!(passed_over > 0, highest < 2, "and counted: {scanned} {moved}");
    }
}

/// The pages to scan of a list depend on its pages in usable zones.
#[test]
fn a_list_without_folios_of_use_is_not_scanned() {
    for first in [0, 100] {
        let mut arena = Arena::new::<SmallX86>(&ROOM);
        let mut world: W<'_> = arena.world();
        world.engine().set_lru_gen_caps(LruGenCaps::empty());
        world.maps.set_zone_start(1, Pfn::new(first));
        let file = world.file();
        read(&mut world, file, 300);
        let got = world.engine().try_to_free_pages_of(0);
        assert_eq!(got > 0, first > 0, "{got} pages of zone 0");
        let scanned =
            world.maps.memcg(ROOT).expect("it is online").vmstat().get(Counter::PgscanFile);
        assert_eq!(scanned > 0, first > 0, "{scanned} pages");
    }
}

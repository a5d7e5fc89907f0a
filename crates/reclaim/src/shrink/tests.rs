use super::*;
use crate::mglru::LruGenCaps;
use crate::mglru::bare::Ground;
use crate::referenced::Aging;
use crate::scan::{Agent, FILE};
use crate::tuning::{ShootdownWhen, Thp, Tuning, UnmapBy, Unmapping};
use pageout_paging::contig::Getter;
use pageout_paging::tlb::FlushPolicy;
use pageout_paging::young::Family;

const ROOT: MemcgId = MemcgId::ROOT;

/// Folios of a file that no one maps, in its index and where reclaim takes them next.
fn cold(generations: bool, order: u8) -> Ground {
    let mut ground = Ground::of_order(70, order);
    if !generations {
        let none = LruGenCaps::empty();
        ground.maps.set_lru_gen_caps(&ground.world, &mut ground.cpu, none);
    }
    for _ in 0..70 {
        let id = match generations {
            true => ground.folio_in(0, FILE, 0, order),
            false => ground.folio(FILE, 0, order, ROOT),
        };
        let Ground { maps, world, cpu, .. } = &mut ground;
        if !generations {
            maps.lru_add(world, cpu, id);
        }
        cache::add(maps, world, cpu, id).expect("a place of its own");
        assert!(!maps.folio(id).put(1), "the index holds it");
    }
    ground
}

/// Takes from the tail what one scan does, and reclaims it: pages freed.
fn shrink(ground: &mut Ground, generations: bool) -> u64 {
    let tuning = Tuning {
        aging: Aging { family: Family::Line, flush: FlushPolicy::GENERIC },
        unmapping: Unmapping {
            by: UnmapBy::Batched,
            read: Getter::Raw,
            shootdown: ShootdownWhen::Deferred,
        },
        thp: Thp::Never,
    };
    let mut sc = ScanControl::new(None, 32, Agent::Direct, tuning);
    let Ground { maps, world, cpu, .. } = ground;
    if !generations {
        return shrink_inactive_list(maps, world, cpu, ROOT, LruList::InactiveFile, 32, &mut sc);
    }
    maps.evict_folios(world, cpu, ROOT, 4096, 0, &mut sc);
    sc.nr_reclaimed
}

#[test]
fn folios_unmapped_before_one_flush_leave_their_index_under_one_lock() {
    // (generations, order, folios, holds of the lock: one for each 31 folios)
    for (generations, order, folios, holds) in [
        (false, 0, 32, 2),
        (false, 4, 2, 1),
        (false, 9, 1, 1),
        (true, 0, 64, 3),
        (true, 4, 4, 1),
        (true, 9, 1, 1),
    ] {
        let mut ground = cold(generations, order);
        let before = ground.cpu.taken[Rank::Index as usize];
        assert_eq!(shrink(&mut ground, generations), folios << order);
        let taken = ground.cpu.taken[Rank::Index as usize] - before;
        assert_eq!(taken, holds, "order {order}, generations: {generations}");
        assert!(ground.cpu.is_idle());
    }
}

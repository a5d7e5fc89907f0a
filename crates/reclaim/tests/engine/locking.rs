//! The calls mlock and munlock: locked pages stay, and no others.

use crate::cpu::ROOM;
use crate::formats::on_every_format;
use crate::world::{Arena, pages};
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{Advice, FolioFlags, LruFlags, SpaceError};

fn locked_pages_stay_until_they_are_unlocked<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let mm = world.process();
    world.anon_at(mm, 0..8, 2);
    world.fill(mm, 0..8, 10);
    let range = pages::<F>(0..6);
    assert_eq!(world.engine().mlock(mm, &range), Ok(()));
    let (whole, part) = (world.folio_at(mm, 0), world.folio_at(mm, 4));
    assert!(world.flags(whole).contains(FolioFlags::MLOCKED));
    assert!(
        world
            .maps
            .folio(whole)
            .expect("it lives")
            .lru()
            .contains(LruFlags::UNEVICTABLE | LruFlags::LRU)
    );
    assert!(!world.flags(part).contains(FolioFlags::MLOCKED), "mapped in part only");
    assert_eq!(world.advise(mm, 0..8, Advice::PageOut), Err(SpaceError::BadRange));
    assert_eq!(world.engine().munlock(mm, &range), Ok(()));
    assert!(!world.flags(whole).contains(FolioFlags::MLOCKED));
    assert!(!world.maps.folio(whole).expect("it lives").lru().contains(LruFlags::UNEVICTABLE));
    assert_eq!(world.advise(mm, 0..8, Advice::PageOut), Ok(()));
    assert_eq!(world.maps.free_slots(), ROOM.slots - 8, "all of it is swapped out");
    world.holds(mm, 0..8, 10);
    world.exit(mm);
    world.all_is_free_but(0);
}

on_every_format!(locked_pages_stay_until_they_are_unlocked);

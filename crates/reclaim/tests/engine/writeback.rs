//! Write-out of files' dirty pages, as flushers do.

use crate::cpu::{ROOM, RW};
use crate::formats::on_every_format;
use crate::world::Arena;
use pageout_paging::Format;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{FolioFlags, Place, Submitted, VmFlags};
use pageout_sim::Answer;

const SHARED: VmFlags = RW.union(VmFlags::SHARED);

fn what_is_stored_meanwhile_is_written_another_time<F: Format>(_: YoungAlgorithm) {
    for order in [0, 2] {
        let mut arena = Arena::new::<F>(&ROOM);
        let mut world = arena.world::<F>();
        let file = world.file_of(order);
        let sharers = [0, 1].map(|_| {
            let mm = world.process();
            world.vma(mm, 0..8, SHARED, file, 0);
            mm
        });
        for mm in sharers {
            world.fill(mm, 0..4, 100);
        }
        let folio = world.folio_at(sharers[0], 0);
        let pages = world.maps.folio(folio).nr_pages() as u64;
        world.env.memory().storage.answers(Answer::Late);
        let written = world.engine().write_back(folio);
        assert_eq!(written, Some(Submitted::Pending));
        for mm in sharers {
            for number in 0..pages {
                let entry = world.entry(mm, number);
                assert!(F::is_valid(entry) && !F::is_write(entry) && !F::is_dirty(entry));
            }
        }
        let again = world.engine().write_back(folio);
        assert_eq!(again, None, "it is being written");
        assert_eq!(world.finish_io(true), 1);
        let clean = FolioFlags::DIRTY | FolioFlags::WRITEBACK;
        assert!(!world.flags(folio).intersects(clean));
        assert_eq!(world.engine().write_back(folio), None, "it is clean");
        // A CPU that could store before has to read the entry again.
        world.fill(sharers[1], 0..1, 200);
        let written = world.engine().write_back(folio);
        assert_eq!(written, Some(Submitted::Pending), "it is dirty again");
        assert_eq!(world.finish_io(true), 1);
        assert_eq!(world.env.memory().storage.content(Place::File(file, 0)), 200);
        world.holds(sharers[0], 0..1, 200);
        if pages > 1 {
            assert_eq!(world.env.memory().storage.content(Place::File(file, 1)), 101);
        }
        assert!(!world.env.ground.wrote_too_early());
    }
}

fn a_write_that_fails_leaves_the_page_dirty<F: Format>(_: YoungAlgorithm) {
    let mut arena = Arena::new::<F>(&ROOM);
    let mut world = arena.world::<F>();
    let (mm, file) = (world.process(), world.file_of(0));
    world.vma(mm, 0..4, SHARED, file, 0);
    world.fill(mm, 0..1, 7);
    let folio = world.folio_at(mm, 0);
    world.env.memory().storage.answers(Answer::Failure);
    let written = world.engine().write_back(folio);
    assert_eq!(written, Some(Submitted::Failed));
    assert!(world.flags(folio).contains(FolioFlags::DIRTY | FolioFlags::ERROR));
    world.env.memory().storage.answers(Answer::AtOnce);
    let written = world.engine().write_back(folio);
    assert_eq!(written, Some(Submitted::Done));
    assert_eq!(world.env.memory().storage.content(Place::File(file, 0)), 7);
}

on_every_format!(
    what_is_stored_meanwhile_is_written_another_time,
    a_write_that_fails_leaves_the_page_dirty,
);

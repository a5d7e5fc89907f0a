//! Owed flushes cannot be lost: a TLB batch that is dropped completes them and is counted. One that
//! is leaked keeps its folios from ever being used anew.

use crate::memory::{ROOM, TABLES, with};
use crate::model::{Ended, Model};
use crate::property::quietly;
use crate::steps::{Op, Span};
use pageout_paging::Sound;
use pageout_paging::pte::SmallArm4;
use pageout_reclaim::{FolioId, TlbBatch};
use std::panic::{AssertUnwindSafe, catch_unwind};

type Test<'g, 'm> = Model<'g, 'm, SmallArm4, Sound>;

/// Unmaps a file's page that a CPU has loaded, with a deferred flush, and drops or leaks the
/// gather.
fn owing(forget: bool, check: impl Fn(&Test<'_, '_>, FolioId)) {
    with::<SmallArm4, Sound, _>(&ROOM, TABLES, |model| {
        model.begin();
        let span = Span::new(0, 0, 1);
        model.run(&Op::MapFile { span, file: 0, pgoff: 0, order: 0, shared: true, write: false });
        assert_eq!(model.reach(0, 0, false), Ended::Done);
        model.audit();
        let file = model.files.borrow()[0];
        let id = model.with_engine(|engine| {
            let id = engine
                .filemap_get_folio(file, 0)
                .expect("it lives")
                .expect("the page is in memory");
            let guard =
                model.maps.folio(id).expect("it lives").try_lock().expect("no one holds the folio");
            let mut tlb_batch = TlbBatch::new(engine);
            let done = engine.try_to_unmap(&guard, &mut tlb_batch);
            assert!(done.all);
            drop(guard);
            tlb_batch.put_after(engine, id, done.refs).expect("it lives");
            if forget {
                std::mem::forget(tlb_batch);
            } else {
                drop(tlb_batch);
            }
            engine.release(id, 1).expect("the caller has it");
            id
        });
        check(model, id);
        let audited = quietly(|| catch_unwind(AssertUnwindSafe(|| model.audit())));
        assert!(audited.is_err(), "the audit sees it");
    });
}

#[test]
fn a_dropped_gather_pays_and_is_counted() {
    owing(false, |model, id| {
        assert_eq!(model.maps.dropped_tlb_batches(), 1);
        assert_eq!(model.maps.folio(id).expect("it lives").refs(), 1, "the index's");
        assert!(
            model.hardware.tlbs().cpus.iter().all(|tlb| tlb.held.is_empty()),
            "no CPU holds the page"
        );
    });
}

#[test]
fn what_waits_for_a_forgotten_gather_is_never_used_anew() {
    owing(true, |model, id| {
        assert_eq!(
            model.maps.folio(id).expect("it lives").refs(),
            2,
            "the index's and one that leaked"
        );
        (0..4).for_each(|_| model.run(&Op::ReclaimAll));
        assert_eq!(model.hardware.memory().freed, [], "the frame is not given back");
        model.audit_tlbs();
    });
}

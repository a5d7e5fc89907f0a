//! Programs under a memory limit: the engine never beats the bound, and variants decide alike.

use pageout_experiment::variant::Variant;
use pageout_host::residency::ReplayError;
use pageout_host::scenarios::replay::Replay;
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::{FlushTiming, UnmapGranularity};
use pageout_record::schema::Record;
use pageout_trace::source::TraceSource;
use pageout_trace::{
    Ending, Event, FileId, FilterShape, Header, Kind, Mapping, Page, PageRange, Permissions,
    TraceWriter,
};
use proptest::prelude::*;

/// Figures that differ from one variant to another.
const BY_VARIANT: &str = "per 4K page";

fn every_variant() -> Vec<Variant> {
    let unmap = [UnmapGranularity::PerEntry, UnmapGranularity::Batched];
    let shootdown = [FlushTiming::Immediate, FlushTiming::Deferred];
    let all = YoungAlgorithm::ALL.into_iter().flat_map(|young| unmap.map(|unmap| (young, unmap)));
    let all = all.flat_map(|(young, unmap)| shootdown.map(|when| (young, unmap, when)));
    let variant =
        |(young, unmap, shootdown)| Variant { young, unmap, shootdown, ..Variant::BEFORE };
    all.map(variant).collect()
}

fn run(
    trace: &TraceSource,
    fields: &str,
    variants: &[Variant],
) -> Result<Vec<Record>, ReplayError> {
    let fields: Vec<_> = fields.split(' ').map(str::to_owned).collect();
    let mut records = Vec::new();
    for replay in Replay::parse(&fields, trace).expect("good fields") {
        records.extend(replay.plan(variants)?.records());
    }
    Ok(records)
}

fn figure(record: &Record, name: &str) -> f64 {
    let metric = record.metric(name);
    metric.unwrap_or_else(|| panic!("no {name} in {record:?}")).values[0]
}

/// Returns all decisions of reclaim, by name.
fn decisions(record: &Record) -> Vec<(String, Vec<f64>)> {
    let alike = record.metrics.iter().filter(|metric| metric.unit != BY_VARIANT);
    alike.map(|metric| (metric.name.clone(), metric.values.clone())).collect()
}

/// Checks the relations that hold for every program in folios of one page.
fn assert_bounded(record: &Record) {
    let of = |name| figure(record, name);
    let (refaults, min) = (of("refaults"), of("bound: demand MIN, refaults"));
    assert!(min <= refaults, "{record:?}");
    assert_eq!(refaults, of("refaults, files") + of("refaults, anonymous"));
    assert_eq!(of("demand MIN, pages brought in"), of("different pages") + min);
    assert_eq!(of("major faults"), of("pages read"));
    assert!(refaults <= of("pages read"), "what comes back is read: {record:?}");
    assert!(of("pages read") <= refaults + of("different pages"), "nothing else is: {record:?}");
    assert!(of("hot pages reclaimed") <= refaults, "{record:?}");
    assert!(of("pages reclaimed") <= of("pages examined"), "{record:?}");
    assert!(of("pages written") <= of("pages reclaimed"), "{record:?}");
}

#[test]
fn the_samples_at_half_of_their_pages() {
    for sample in TraceSource::samples() {
        let classic = [Variant::BEFORE, Variant::of(YoungAlgorithm::Line)];
        let variants = [classic, [Variant::MGLRU_BEFORE, Variant::MGLRU_STEPS[1]]].concat();
        let run = || run(&sample, "limit=50% format=x86-64", &variants).expect("it fits");
        let records = run();
        assert_eq!(records, run(), "the same run gives the same records");
        for pair in records.chunks(2) {
            assert_eq!(decisions(&pair[0]), decisions(&pair[1]), "variants decide alike");
        }
        for record in &records {
            assert_bounded(record);
            assert!(figure(record, "refaults") > 0.0, "memory is short");
        }
    }
}

#[test]
fn no_variant_decides_otherwise() {
    let sample = TraceSource::sample("cc1plus-list").expect("a sample");
    for fields in ["limit=50% order=4 format=arm64-4k", "limit=12MiB order=4 format=x86-64"] {
        let records = run(&sample, fields, &every_variant()).expect("it fits");
        assert_eq!(records.len(), 12);
        for record in &records {
            assert_eq!(decisions(record), decisions(&records[0]), "{:?}", record.variant);
            let bound = |name: &str| name.contains("bound");
            assert!(!record.metrics.iter().any(|metric| bound(&metric.name)), "pages come unasked");
        }
        // Only the costs differ.
        let invalidations = |k: usize| figure(&records[k], "invalidations");
        assert!(invalidations(0) > invalidations(11), "immediate, and deferred in batches");
    }
}

#[test]
fn a_program_that_fits_comes_back_to_nothing() {
    let sample = TraceSource::sample("cc1plus-list").expect("a sample");
    let records = run(&sample, "limit=64MiB", &[Variant::BEFORE]).expect("it fits");
    assert_eq!(records.len(), 2, "two formats");
    for record in &records {
        assert_bounded(record);
        for name in ["refaults", "pages examined", "pages written", "hot pages reclaimed"] {
            assert_eq!(figure(record, name), 0.0, "{name}");
        }
    }
}

const LENGTH: u64 = 1000;
const END: Event = Event::EpochEnd { references: LENGTH };

/// Returns a trace of those events that the format accepts.
fn trace(events: impl FnOnce(FileId, FileId) -> Vec<Event>) -> TraceSource {
    let header = Header {
        page_shift: 12,
        epoch_references: LENGTH,
        filter: FilterShape::EVERY_PAGE,
        mappings: true,
        sampled: false,
        command: Vec::new(),
        architecture: "unknown".to_owned(),
        tool: "test".to_owned(),
    };
    let mut writer = TraceWriter::new(Vec::new(), &header).expect("begins");
    let files = ["/a", "/b"].map(|path| writer.file(path).expect("a file"));
    for event in events(files[0], files[1]).iter().chain([&END]) {
        // An event that the format refuses changes nothing.
        let _ = writer.write(event);
    }
    let (bytes, _) = writer.finish(Ending::Exited(0)).expect("ends");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("made.pgt");
    std::fs::write(&path, bytes).expect("a file");
    TraceSource::read(&path).expect("a trace")
}

fn range(start: u64, end: u64) -> PageRange {
    PageRange::new(start, end).expect("a range")
}

fn map(start: u64, end: u64, kind: Kind, shared: bool) -> Event {
    let pages = range(start, end);
    Event::Map(Mapping { pages, kind, permissions: Permissions::READ_WRITE, shared })
}

fn access(page: u64, store: bool) -> Event {
    Event::Access { page: Page::new(page).expect("a page"), store, after: 1 }
}

fn figures<const N: usize>(trace: &TraceSource, limit: &str, names: [&str; N]) -> [f64; N] {
    let fields = format!("{limit} format=arm64-4k");
    let records = run(trace, &fields, &[Variant::of(YoungAlgorithm::Line)]).expect("it fits");
    assert_bounded(&records[0]);
    names.map(|name| figure(&records[0], name))
}

#[test]
fn memory_given_up_leaves_room() {
    let trace = trace(|_, _| {
        let round = |k: u64| {
            let (start, end) = (k * 16, k * 16 + 3);
            let stores = (start..end).map(|page| access(page, true));
            let maps = [map(start, end, Kind::Anonymous, false)];
            let gone = match k % 2 {
                0 => Event::Unmap(range(start, end)),
                _ => Event::Discard(range(start, end)),
            };
            maps.into_iter().chain(stores).chain([END, gone]).collect::<Vec<_>>()
        };
        (0..20).flat_map(round).collect()
    });
    let names = ["different pages", "minor faults", "pages examined", "refaults"];
    assert_eq!(figures(&trace, "limit=12KiB", names), [60.0, 60.0, 0.0, 0.0]);
}

#[test]
fn pages_that_move_are_not_faulted_in_anew() {
    let trace = trace(|a, _| {
        let file = Kind::File { file: a, offset: 5 };
        vec![
            map(0x10, 0x14, Kind::Anonymous, false),
            map(0x14, 0x18, file, false),
            access(0x12, true),
            access(0x15, false),
            access(0x16, true),
            END,
            Event::Remap { pages: range(0x10, 0x18), to: 0x300 },
            access(0x302, true),
            access(0x305, false),
            access(0x306, false),
            END,
        ]
    });
    // Two pages are read, one of them only to be copied.
    let names = ["different pages", "major faults", "minor faults", "pages read"];
    assert_eq!(figures(&trace, "limit=1MiB", names), [3.0, 2.0, 1.0, 2.0]);
}

/// A region that grows and moves, as `realloc` makes it by mremap: what grows is a VMA of its own.
#[test]
fn a_region_that_grows_moves_as_often_as_it_likes() {
    let moves = trace(|_, _| {
        let mut events = vec![map(0x100, 0x108, Kind::Anonymous, false)];
        events.extend((0x100..0x108).map(|page| access(page, true)));
        for step in 1..6 {
            let (from, to, size) = (step * 0x100, (step + 1) * 0x100, 8 << (step - 1));
            events.push(Event::Remap { pages: range(from, from + size), to });
            events.push(map(to + size, to + 2 * size, Kind::Anonymous, false));
            events.extend((to..to + 2 * size).map(|page| access(page, true)));
            events.push(END);
        }
        events
    });
    assert_eq!(figures(&moves, "limit=2MiB", ["refaults", "different pages"]), [0.0, 256.0]);
    assert!(figures(&moves, "limit=400KiB", ["refaults"])[0] > 0.0, "memory is short");
}

#[test]
fn a_page_of_a_file_is_read_once_for_all_its_mappings() {
    let trace = trace(|a, b| {
        let kind = |file| Kind::File { file, offset: 0 };
        let maps = [(0x10, a), (0x20, a), (0x30, b)]
            .map(|(at, file)| map(at, at + 8, kind(file), at == 0x20));
        let used = [0x11, 0x21, 0x31].map(|page| access(page, false));
        let again = [END, Event::Unmap(range(0x10, 0x18)), maps[0], access(0x11, false)];
        maps.into_iter().chain(used).chain(again).collect()
    });
    let names = ["different pages", "major faults", "minor faults"];
    assert_eq!(figures(&trace, "limit=1MiB", names), [2.0, 2.0, 2.0]);
}

#[test]
fn what_cannot_be_reclaimed_is_an_error() {
    let trace = trace(|a, _| {
        let stores = (0..8).map(|page| access(page, true));
        let file = Kind::File { file: a, offset: 0 };
        [map(0, 8, file, true)].into_iter().chain(stores).collect()
    });
    let error = run(&trace, "limit=16KiB", &[Variant::BEFORE]).expect_err("dirty pages stay");
    assert!(matches!(error, ReplayError::OutOfMemory { limit: 4, page: 4 }), "{error}");
    assert!(error.to_string().contains("flushers"), "{error}");
}

#[test]
fn a_mapping_beyond_every_file_is_an_error() {
    let trace = trace(|a, _| {
        let file = Kind::File { file: a, offset: u64::MAX - 3 };
        vec![map(0, 8, file, false), access(0, false)]
    });
    let error = run(&trace, "limit=16KiB", &[Variant::BEFORE]).expect_err("no such page");
    assert!(matches!(error, ReplayError::FileOffset { .. }), "{error}");
}

/// Pages of random programs.
const PAGES: u64 = 40;

fn event(files: [FileId; 2]) -> impl Strategy<Value = Event> {
    let range = (0..PAGES, 1..12_u64).prop_map(|(start, nr)| range(start, start + nr));
    let file =
        (0..2_usize, 0..12_u64).prop_map(move |(k, offset)| Kind::File { file: files[k], offset });
    let kind = prop_oneof![Just(Kind::Anonymous), Just(Kind::Stack), file];
    let map = (range.clone(), kind, any::<bool>(), any::<bool>()).prop_map(
        |(pages, kind, executable, shared)| {
            let permissions = Permissions { executable, ..Permissions::READ_WRITE };
            Event::Map(Mapping { pages, kind, permissions, shared })
        },
    );
    let protect = (range.clone(), any::<bool>()).prop_map(|(pages, executable)| Event::Protect {
        pages,
        permissions: Permissions { executable, ..Permissions::READ_WRITE },
    });
    prop_oneof![
        12 => (0..PAGES + 12, any::<bool>()).prop_map(|(page, store)| access(page, store)),
        3 => map,
        1 => range.clone().prop_map(Event::Unmap),
        1 => range.clone().prop_map(Event::Discard),
        1 => protect,
        1 => (range, 0..PAGES).prop_map(|(pages, to)| Event::Remap { pages, to }),
        2 => Just(END),
    ]
}

/// Returns the ids that a trace gives its first files.
fn file_ids() -> [FileId; 2] {
    let mut ids = None;
    trace(|a, b| {
        ids = Some([a, b]);
        Vec::new()
    });
    ids.expect("a trace was made")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_program_beats_the_bound(
        events in prop::collection::vec(event(file_ids()), 0..200),
        pages in 3..40_u64,
        order in prop_oneof![3 => Just(0_u8), 1 => 1..5_u8],
    ) {
        let trace = trace(|_, _| events);
        let fields = format!("limit={}KiB order={order} format=x86-64,arm64-4k", pages * 4);
        let [batched, line] = Variant::MGLRU_STEPS;
        let variants = [Variant::BEFORE, Variant::of(YoungAlgorithm::Line), line, batched];
        match run(&trace, &fields, &variants) {
            Ok(records) => {
                for record in records {
                    if order == 0 {
                        assert_bounded(&record);
                    }
                }
            }
            // Pages of shared files that were stored to cannot be reclaimed.
            Err(error) => prop_assert!(matches!(error, ReplayError::OutOfMemory { .. }), "{error}"),
        }
    }
}

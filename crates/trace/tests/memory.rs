//! Memory for traces of a few kilobytes, which unpack into millions of records: it depends on the
//! content, within the stated bounds.
#![forbid(unsafe_code)]

use cap::Cap;
use pageout_trace::decoded::Decoded;
use pageout_trace::reference_string::StringError;
use pageout_trace::source::TraceSource;
use pageout_trace::{Ending, Event, FilterShape, Header, ImportOptions, Page, TraceWriter, import};
use std::alloc::System;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes for reading any trace: a window, pages by place, and recently used ones.
const READER: usize = 20 << 20;

/// Bytes that are taken for a page while it is read, as the library has it.
const OF_A_PAGE: usize = 96;

/// Writes a trace whose epochs have a reference each, made of such epochs.
fn trace(directory: &Path, epochs: impl Iterator<Item = Option<u64>>) -> TraceSource {
    let header = Header {
        page_shift: 12,
        epoch_references: 1,
        filter: FilterShape::EVERY_PAGE,
        mappings: false,
        sampled: false,
        command: Vec::new(),
        architecture: "unknown".to_owned(),
        tool: "test".to_owned(),
    };
    let path = directory.join("a.pgt");
    let mut writer = TraceWriter::create(&path, &header).expect("begins");
    for page in epochs {
        if let Some(number) = page {
            let page = Page::new(number).expect("a page");
            writer.write(&Event::Access { page, store: false, after: 0 }).expect("an access");
        }
        writer.write(&Event::EpochEnd { references: 1 }).expect("an end");
    }
    writer.commit(Ending::Unknown).expect("ends");
    TraceSource::read(&path).expect("a trace")
}

/// Returns the most bytes that decoding takes, and the bytes that stay. Memory taken before is not
/// counted.
fn taken(source: &TraceSource) -> (usize, usize) {
    let (before, most_before) = (ALLOCATOR.allocated(), ALLOCATOR.max_allocated());
    let decoded = Decoded::of_trace::<StringError>(source, None, |_, _| Ok(()));
    let _decoded = decoded.expect("it is a trace");
    assert!(ALLOCATOR.max_allocated() > most_before, "traces come in the order of what they take");
    (ALLOCATOR.max_allocated() - before, ALLOCATOR.allocated() - before)
}

/// Returns the most bytes that an import takes.
fn taken_by_import(directory: &Path, text: &str) -> usize {
    let (before, most_before) = (ALLOCATOR.allocated(), ALLOCATOR.max_allocated());
    let output = directory.join("imported.pgt");
    let done = import(text.as_bytes(), output, &ImportOptions::default(), &mut |_| {});
    assert_eq!(done.expect("it is imported").totals.distinct_pages, 1 << 22);
    assert!(ALLOCATOR.max_allocated() > most_before, "it comes after what takes less");
    ALLOCATOR.max_allocated() - before
}

#[test]
fn memory_is_for_what_a_trace_has_and_not_for_how_often_it_has_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let many = 1 << 20;

    let (most, kept) = taken(&trace(directory.path(), (0..many).map(|_| None)));
    assert!(most < READER && kept < 64 << 10, "{many} empty epochs: {most}, then {kept}");

    let (most, kept) = taken(&trace(directory.path(), (0..many).map(|_| Some(7))));
    // The page, its place, and the end of its epoch, in tables that grow by half.
    let each = 12 * 3 / 2;
    assert!(most < READER + many * each, "{many} accesses: {most}");
    assert!(kept < many * each, "{many} accesses: {kept}");

    let pages = trace(directory.path(), (0..many as u64).map(Some));
    let (most, kept) = taken(&pages);
    // The address, its place, and the page's identity.
    let each = each + 12 * 3 / 2;
    assert!(most < READER + many * (each + OF_A_PAGE), "{many} pages: {most}");
    assert!(kept < many * each, "{many} pages: {kept}");

    // All pages that an import of DAMON may have, in one region: places are few, and pages bits.
    let wide = "target_id: 0\nnr_regions: 1\n0-400000000 (  16 GiB) 4 7\n";
    let imported = taken_by_import(directory.path(), wide);
    assert!(imported < 96 << 20, "an import of {} bytes: {imported}", wide.len());

    for part in 1..8 {
        let (before, available) = (ALLOCATOR.allocated(), most as u64 * part / 8);
        match Decoded::of_trace::<StringError>(&pages, Some(available), |_, _| Ok(())) {
            Ok(_) => assert!(part > 3, "{part} eighths of what it takes"),
            Err(error) => assert!(error.to_string().contains("needs more memory"), "{error}"),
        }
        assert_eq!(ALLOCATOR.allocated(), before, "nothing stays");
    }
}

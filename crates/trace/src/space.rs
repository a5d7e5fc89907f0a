//! The traced program's address space: it turns system calls into changes of mappings.

use std::collections::HashMap;
use std::io::Write;

use super::PAGE_SHIFT;
use super::epochs::Epochs;
use super::error::WriteError;
use super::event::{Event, Kind, Mapping, PAGE_LIMIT, Page, PageRange, Permissions};
use super::process::{Process, Region};
use super::syscall::Call;

// `mmap`, `mremap` and `madvise` values of x86-64 and arm64 Linux.
const MAP_SHARED: u64 = 0x1;
const MAP_ANONYMOUS: u64 = 0x20;
const MAP_STACK: u64 = 0x2_0000;
const MREMAP_DONTUNMAP: u64 = 0x4;
const MADV_DONTNEED: u64 = 4;

/// The maximum growth of the main stack, in pages: Valgrind's limit of 16 MiB.
const STACK_PAGES: u64 = (16 << 20) >> PAGE_SHIFT;
/// The number of times that unexplained memory is looked up again.
const MAX_LOOKUPS: u32 = 64;

/// Follows the mappings, and writes each change as events.
#[derive(Debug)]
pub(crate) struct Space<P> {
    process: P,
    /// The file of each descriptor, by the name that the program used.
    files: HashMap<u64, String>,
    /// The end of the heap, in bytes, once it is known.
    heap_end: Option<u64>,
    /// Anonymous memory that existed at the start: it is the program's if the program uses it, and
    /// otherwise Valgrind's own.
    found: Vec<Region>,
    /// The main stack: the memory of the first data reference, a push.
    stack: Option<PageRange>,
    lookups: u32,
    unknown_pages: u64,
}

impl<P: Process> Space<P> {
    pub(crate) fn new(process: P) -> Self {
        Self {
            process,
            files: HashMap::new(),
            heap_end: None,
            found: Vec::new(),
            stack: None,
            lookups: 0,
            unknown_pages: 0,
        }
    }

    /// Returns the number of pages that the program used and that no mapping explains.
    pub(crate) fn unknown_pages(&self) -> u64 {
        self.unknown_pages
    }

    /// Maps the areas that exist before the first instruction of a program: the program and its
    /// loader. Of a program that it replaces, only open files stay.
    pub(crate) fn begin<W: Write>(&mut self, epochs: &mut Epochs<W>) -> Result<(), WriteError> {
        self.forget(epochs)?;
        let tool = self.process.tool();
        for region in self.process.regions() {
            if region.path.is_empty() {
                self.found.push(region);
            } else if region.path != tool && !region.path.starts_with('[') {
                self.map_region(&region, region.pages, Kind::Anonymous, epochs)?;
            }
        }
        Ok(())
    }

    /// Notes the areas that exist before the first instruction, if it is not known which are the
    /// program's: an area that the program uses is.
    pub(crate) fn find<W: Write>(
        &mut self,
        regions: Vec<Region>,
        epochs: &mut Epochs<W>,
    ) -> Result<(), WriteError> {
        self.forget(epochs)?;
        self.found = regions;
        self.found.retain(|region| !region.path.starts_with('['));
        Ok(())
    }

    fn forget<W: Write>(&mut self, epochs: &mut Epochs<W>) -> Result<(), WriteError> {
        let everything = PageRange::new(0, PAGE_LIMIT).expect("page numbers are below the limit");
        (self.heap_end, self.stack, self.lookups) = (None, None, 0);
        self.found.clear();
        clear(everything, epochs)
    }

    /// Applies a system call. Calls with absurd arguments change nothing.
    pub(crate) fn call<W: Write>(
        &mut self,
        call: Call,
        epochs: &mut Epochs<W>,
    ) -> Result<(), WriteError> {
        match call {
            Call::Map { .. } => return self.map(&call, epochs),
            Call::Remap { .. } => return self.remap(&call, epochs),
            Call::Break { end } => return self.set_break(end, epochs),
            Call::Unmap { address, length } => {
                if let Some(pages) = pages_of(address, length) {
                    clear(pages, epochs)?;
                }
            }
            Call::Protect { address, length, protection } => {
                if let Some(pages) = pages_of(address, length) {
                    protect(pages, permissions(protection), epochs)?;
                }
            }
            Call::Advise { address, length, advice: MADV_DONTNEED } => {
                let pages = pages_of(address, length);
                for range in pages.map_or(Vec::new(), |p| epochs.areas().mapped_ranges(p)) {
                    epochs.change(&Event::Discard(range))?;
                }
            }
            Call::Open { path, fd } => {
                self.files.insert(fd, path);
            }
            Call::Duplicate { from, to } => match self.files.get(&from).cloned() {
                Some(path) => {
                    self.files.insert(to, path);
                }
                None => {
                    self.files.remove(&to);
                }
            },
            Call::Close { fd } => {
                self.files.remove(&fd);
            }
            Call::Advise { .. } | Call::Child { .. } | Call::Exit { .. } | Call::Replace => {}
        }
        Ok(())
    }

    /// Maps `page`, which the program is about to use, if it is not mapped.
    pub(crate) fn fault<W: Write>(
        &mut self,
        page: Page,
        fetch: bool,
        epochs: &mut Epochs<W>,
    ) -> Result<(), WriteError> {
        let Some(gap) = epochs.areas().gap(page) else {
            return Ok(());
        };
        let found = self.take_found(page);
        if found.is_none()
            && let Some(pages) = self.grow_stack(page, gap)
        {
            let permissions = Permissions::READ_WRITE;
            let mapping = Mapping { pages, kind: Kind::Stack, permissions, shared: false };
            return epochs.change(&Event::Map(mapping));
        }
        if let Some(region) = found.or_else(|| self.look_up(page))
            && let Some(pages) = region.pages.intersection(gap)
        {
            let first_data = !fetch && self.stack.is_none() && region.path.is_empty();
            if first_data {
                self.stack = Some(pages);
            }
            let kind = if first_data { Kind::Stack } else { Kind::Anonymous };
            return self.map_region(&region, pages, kind, epochs);
        }
        self.unknown_pages += 1;
        let permissions = Permissions { executable: fetch, ..Permissions::READ_WRITE };
        let pages = PageRange::single(page);
        let mapping = Mapping { pages, kind: Kind::Unknown, permissions, shared: false };
        epochs.change(&Event::Map(mapping))
    }

    /// Returns the pages by which the main stack grows down to `page`, if its use means that.
    fn grow_stack(&mut self, page: Page, gap: PageRange) -> Option<PageRange> {
        let stack = self.stack.filter(|stack| stack.start() == gap.end())?;
        let grown = PageRange::new(page.number(), stack.end())?;
        if grown.nr_pages() > STACK_PAGES {
            return None;
        }
        self.stack = Some(grown);
        PageRange::new(page.number(), stack.start())
    }

    fn take_found(&mut self, page: Page) -> Option<Region> {
        let index = self.found.iter().position(|region| region.pages.contains(page))?;
        Some(self.found.swap_remove(index))
    }

    fn look_up(&mut self, page: Page) -> Option<Region> {
        if self.lookups == MAX_LOOKUPS {
            return None;
        }
        self.lookups += 1;
        self.process.regions().into_iter().find(|region| region.pages.contains(page))
    }

    /// Maps `pages` of a region; `anonymous` is their kind if no file backs them.
    fn map_region<W: Write>(
        &mut self,
        region: &Region,
        pages: PageRange,
        anonymous: Kind,
        epochs: &mut Epochs<W>,
    ) -> Result<(), WriteError> {
        let kind = if region.path.is_empty() {
            anonymous
        } else {
            let skipped = pages.start() - region.pages.start();
            let offset = region.offset.saturating_add(skipped);
            Kind::File { file: epochs.writer().file(&region.path)?, offset }
        };
        let Region { permissions, shared, .. } = *region;
        epochs.change(&Event::Map(Mapping { pages, kind, permissions, shared }))
    }

    fn map<W: Write>(&mut self, call: &Call, epochs: &mut Epochs<W>) -> Result<(), WriteError> {
        let Call::Map { address, length, protection, flags, fd, offset } = *call else {
            return Ok(());
        };
        let Some(pages) = pages_of(address, length) else {
            return Ok(());
        };
        let kind = if flags & MAP_ANONYMOUS == 0 {
            let file = epochs.writer().file(&self.name(fd, pages))?;
            Kind::File { file, offset: offset >> PAGE_SHIFT }
        } else if flags & MAP_STACK != 0 {
            Kind::Stack
        } else {
            Kind::Anonymous
        };
        clear(pages, epochs)?;
        let (permissions, shared) = (permissions(protection), flags & MAP_SHARED != 0);
        epochs.change(&Event::Map(Mapping { pages, kind, permissions, shared }))
    }

    /// Returns the file behind `fd`. Its name is from the calls that opened it. For a descriptor
    /// that the program inherited, it is from the current mappings.
    fn name(&mut self, fd: u64, pages: PageRange) -> String {
        if let Some(path) = self.files.get(&fd) {
            return self.process.resolve(path);
        }
        let regions = self.process.regions();
        let here = regions.into_iter().find(|region| region.pages.start() == pages.start());
        let path = here.map(|region| region.path).filter(|path| !path.is_empty());
        path.unwrap_or_else(|| format!("descriptor {fd}"))
    }

    fn remap<W: Write>(&mut self, call: &Call, epochs: &mut Epochs<W>) -> Result<(), WriteError> {
        let Call::Remap { old, old_length, new, new_length, flags } = *call else {
            return Ok(());
        };
        let Some(target) = pages_of(new, new_length) else {
            return Ok(());
        };
        let Some(before) = pages_of(old, old_length) else {
            // With length 0, `mremap` maps shared pages a second time.
            return extend(Page::of_address(old, PAGE_SHIFT), 0, target, epochs);
        };
        let kept = before.nr_pages().min(target.nr_pages());
        let (kept_end, target_end) = (before.start() + kept, target.start() + kept);
        if let Some(shrunk) = PageRange::new(kept_end, before.end()) {
            clear(shrunk, epochs)?;
        }
        let Some(source) = PageRange::new(before.start(), kept_end) else {
            return Ok(());
        };
        if source.start() != target.start() {
            clear(target, epochs)?;
            let left = parts(source, epochs);
            for part in &left {
                let to = target.start() + (part.pages.start() - source.start());
                epochs.change(&Event::Remap { pages: part.pages, to })?;
            }
            if flags & MREMAP_DONTUNMAP != 0 {
                for part in left {
                    epochs.change(&Event::Map(part))?;
                }
            }
        }
        let Some(grown) = PageRange::new(target_end, target.end()) else {
            return Ok(());
        };
        match Page::new(target_end - 1) {
            Some(last) => extend(last, 1, grown, epochs),
            None => Ok(()),
        }
    }

    fn set_break<W: Write>(&mut self, end: u64, epochs: &mut Epochs<W>) -> Result<(), WriteError> {
        let Some(old) = self.heap_end.replace(end) else {
            return Ok(());
        };
        let (old, new) = (page_after(old), page_after(end));
        if let Some(given_back) = PageRange::new(new, old) {
            clear(given_back, epochs)?;
        }
        let Some(pages) = PageRange::new(old, new) else {
            return Ok(());
        };
        clear(pages, epochs)?;
        let permissions = Permissions::READ_WRITE;
        epochs.change(&Event::Map(Mapping { pages, kind: Kind::Heap, permissions, shared: false }))
    }
}

/// Maps `pages` with the kind of the area of `like`, `distance` pages of a file further on.
fn extend<W: Write>(
    like: Page,
    distance: u64,
    pages: PageRange,
    epochs: &mut Epochs<W>,
) -> Result<(), WriteError> {
    let Some(area) = epochs.areas().get(like).copied() else {
        return Ok(());
    };
    let skipped = (like.number() - area.pages.start()).saturating_add(distance);
    let kind = match area.kind {
        Kind::File { file, offset } => Kind::File { file, offset: offset.saturating_add(skipped) },
        other => other,
    };
    clear(pages, epochs)?;
    epochs.change(&Event::Map(Mapping { pages, kind, ..area }))
}

/// Unmaps the mapped parts of `pages`.
fn clear<W: Write>(pages: PageRange, epochs: &mut Epochs<W>) -> Result<(), WriteError> {
    for range in epochs.areas().mapped_ranges(pages) {
        epochs.change(&Event::Unmap(range))?;
    }
    Ok(())
}

fn protect<W: Write>(
    pages: PageRange,
    permissions: Permissions,
    epochs: &mut Epochs<W>,
) -> Result<(), WriteError> {
    for part in parts(pages, epochs) {
        if part.permissions != permissions {
            epochs.change(&Event::Protect { pages: part.pages, permissions })?;
        }
    }
    Ok(())
}

fn parts<W: Write>(pages: PageRange, epochs: &Epochs<W>) -> Vec<Mapping> {
    epochs.areas().within(pages).collect()
}

/// Returns the pages of a call's range; `None` if it is empty or leaves the address space.
fn pages_of(address: u64, length: u64) -> Option<PageRange> {
    let end = address.checked_add(length)?;
    PageRange::new(address >> PAGE_SHIFT, page_after(end))
}

/// Returns the number of the first page that begins at or after `address`.
fn page_after(address: u64) -> u64 {
    address.div_ceil(1 << PAGE_SHIFT)
}

fn permissions(protection: u64) -> Permissions {
    let set = |bit: u64| protection & bit != 0;
    Permissions { readable: set(1), writable: set(2), executable: set(4) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::FilterShape;
    use crate::header::{Ending, Header};
    use crate::{TraceReader, TraceWriter};

    /// A process of which everything is known beforehand.
    struct Fixed(Vec<Region>);

    impl Process for Fixed {
        fn regions(&mut self) -> Vec<Region> {
            self.0.clone()
        }

        fn tool(&mut self) -> String {
            "/libexec/lackey".to_owned()
        }

        fn resolve(&mut self, path: &str) -> String {
            path.to_owned()
        }
    }

    fn region(start: u64, end: u64, path: &str) -> Region {
        let path = path.to_owned();
        let permissions = Permissions::READ_WRITE;
        Region { pages: range(start, end), permissions, shared: false, offset: 0, path }
    }

    fn range(start: u64, end: u64) -> PageRange {
        PageRange::new(start, end).expect("a range")
    }

    fn page(number: u64) -> Page {
        Page::new(number).expect("a page")
    }

    struct Harness {
        space: Space<Fixed>,
        epochs: Epochs<Vec<u8>>,
    }

    impl Harness {
        fn new(regions: Vec<Region>) -> Self {
            let header = Header {
                page_shift: PAGE_SHIFT,
                epoch_references: 1000,
                filter: FilterShape::DEFAULT,
                mappings: true,
                sampled: false,
                command: Vec::new(),
                architecture: String::new(),
                tool: String::new(),
            };
            let writer = TraceWriter::new(Vec::new(), &header).expect("begins");
            let mut epochs = Epochs::new(writer, &header);
            let mut space = Space::new(Fixed(regions));
            space.begin(&mut epochs).expect("begins");
            Self { space, epochs }
        }

        /// Returns the areas after `call`: first page, page after the last, kind.
        fn after(&mut self, call: Call) -> Vec<(u64, u64, Kind)> {
            self.space.call(call, &mut self.epochs).expect("a call");
            self.areas()
        }

        fn after_fault(&mut self, number: u64, fetch: bool) -> Vec<(u64, u64, Kind)> {
            self.space.fault(page(number), fetch, &mut self.epochs).expect("a fault");
            self.areas()
        }

        fn areas(&self) -> Vec<(u64, u64, Kind)> {
            let areas = self.epochs.areas().iter();
            areas.map(|area| (area.pages.start(), area.pages.end(), area.kind)).collect()
        }
    }

    fn map(first: u64, nr_pages: u64, flags: u64) -> Call {
        let (address, length) = (first << 12, nr_pages << 12);
        Call::Map { address, length, protection: 3, flags, fd: 5, offset: 2 << 12 }
    }

    fn remap(old: u64, old_pages: u64, new: u64, new_pages: u64, flags: u64) -> Call {
        let [old, old_length, new, new_length] = [old, old_pages, new, new_pages].map(|n| n << 12);
        Call::Remap { old, old_length, new, new_length, flags }
    }

    #[test]
    fn the_program_is_mapped_first_and_valgrind_is_not() {
        let mut harness = Harness::new(vec![
            region(10, 12, "/bin/ls"),
            region(12, 14, ""),
            region(50, 60, "/libexec/lackey"),
            region(60, 90, ""),
            region(200, 202, ""),
            region(300, 302, "[stack]"),
        ]);
        let id = harness.epochs.writer().file("/bin/ls").expect("a file");
        let program = (10, 12, Kind::File { file: id, offset: 0 });
        assert_eq!(harness.areas(), [program]);
        // The first data reference is a push, then the program's data, then a deeper push.
        assert_eq!(harness.after_fault(201, false), [program, (200, 202, Kind::Stack)]);
        let data = (12, 14, Kind::Anonymous);
        assert_eq!(harness.after_fault(13, false), [program, data, (200, 202, Kind::Stack)]);
        let grown = [program, data, (190, 202, Kind::Stack)];
        assert_eq!(harness.after_fault(190, false), grown);
        assert_eq!(harness.after_fault(195, false), grown);
    }

    #[test]
    fn a_program_that_replaces_another_finds_nothing_of_it() {
        let mut harness = Harness::new(vec![region(10, 12, "/bin/sh"), region(200, 202, "")]);
        harness.after(Call::Open { path: "/etc/list".to_owned(), fd: 5 });
        harness.after(Call::Break { end: 0x4_0000 });
        harness.after(Call::Break { end: 0x4_2000 });
        harness.after_fault(201, false);
        harness.space.process = Fixed(vec![region(11, 14, "/bin/ls"), region(300, 302, "")]);
        harness.space.begin(&mut harness.epochs).expect("begins");
        let id = harness.epochs.writer().file("/bin/ls").expect("a file");
        let program = (11, 14, Kind::File { file: id, offset: 0 });
        assert_eq!(harness.areas(), [program]);
        assert_eq!(harness.after_fault(301, false), [program, (300, 302, Kind::Stack)]);
        assert_eq!(harness.after(Call::Break { end: 0x5_0000 }).len(), 2, "a heap of its own");
        let list = harness.epochs.writer().file("/etc/list").expect("a file");
        let mapped = harness.after(map(400, 1, 0x2));
        assert_eq!(mapped[2], (400, 401, Kind::File { file: list, offset: 2 }));
    }

    #[test]
    fn memory_that_nothing_explains_is_unknown_and_counted() {
        let mut harness = Harness::new(Vec::new());
        assert_eq!(harness.after_fault(7, false), [(7, 8, Kind::Unknown)]);
        assert_eq!(harness.space.unknown_pages(), 1);
        assert_eq!(harness.after(map(6, 3, 0x22)), [(6, 9, Kind::Anonymous)]);
    }

    #[test]
    fn the_heap_follows_brk() {
        let mut harness = Harness::new(Vec::new());
        assert_eq!(harness.after(Call::Break { end: 0x4_0000 }), []);
        assert_eq!(harness.after(Call::Break { end: 0x4_2001 }), [(0x40, 0x43, Kind::Heap)]);
        assert_eq!(harness.after(Call::Break { end: 0x4_2801 }), [(0x40, 0x43, Kind::Heap)]);
        assert_eq!(harness.after(Call::Break { end: 0x4_1000 }), [(0x40, 0x41, Kind::Heap)]);
    }

    #[test]
    fn files_are_named_by_descriptor() {
        let mut harness = Harness::new(Vec::new());
        let open = Call::Open { path: "/lib/a.so".to_owned(), fd: 4 };
        harness.after(open);
        harness.after(Call::Duplicate { from: 4, to: 5 });
        harness.after(Call::Close { fd: 4 });
        let id = harness.epochs.writer().file("/lib/a.so").expect("a file");
        let mapped = (16, 20, Kind::File { file: id, offset: 2 });
        assert_eq!(harness.after(map(16, 4, 0x2)), [mapped]);
        harness.after(Call::Duplicate { from: 9, to: 5 });
        let id = harness.epochs.writer().file("descriptor 5").expect("a file");
        let unnamed = (30, 31, Kind::File { file: id, offset: 2 });
        assert_eq!(harness.after(map(30, 1, 0x1)), [mapped, unnamed]);
    }

    #[test]
    fn mremap_grows_moves_and_shrinks() {
        let mut harness = Harness::new(Vec::new());
        let anonymous = |start, end| (start, end, Kind::Anonymous);
        harness.after(map(16, 4, 0x22));
        assert_eq!(harness.after(remap(16, 4, 16, 6, 1)), [anonymous(16, 22)]);
        assert_eq!(harness.after(remap(16, 6, 40, 8, 1)), [anonymous(40, 48)]);
        assert_eq!(harness.after(remap(40, 8, 40, 2, 1)), [anonymous(40, 42)]);
        assert_eq!(harness.after(remap(40, 2, 60, 1, 1)), [anonymous(60, 61)]);
        let both = [anonymous(60, 61), anonymous(80, 81)];
        assert_eq!(harness.after(remap(60, 1, 80, 1, 1 | MREMAP_DONTUNMAP)), both);
        assert_eq!(harness.after(remap(100, 1, 200, 1, 1)), both);
    }

    #[test]
    fn a_file_that_grows_goes_on_in_the_file() {
        let mut harness = Harness::new(Vec::new());
        harness.after(Call::Open { path: "f".to_owned(), fd: 5 });
        harness.after(map(16, 4, 0x1));
        let id = harness.epochs.writer().file("f").expect("a file");
        let grown = (16, 30, Kind::File { file: id, offset: 2 });
        assert_eq!(harness.after(remap(16, 4, 16, 14, 1)), [grown]);
        let copy = (50, 52, Kind::File { file: id, offset: 4 });
        assert_eq!(harness.after(remap(18, 0, 50, 2, 1)), [grown, copy]);
    }

    #[test]
    fn after_a_change_pages_are_accessed_anew() {
        let mut harness = Harness::new(Vec::new());
        harness.after(map(16, 4, 0x22));
        let epochs = &mut harness.epochs;
        for (number, store) in [(17, false), (16, true), (17, false)] {
            if !epochs.drops(page(number), store) {
                epochs.access(page(number), store).expect("an access");
            }
            epochs.count(1).expect("counts");
        }
        harness.after(Call::Unmap { address: 17 << 12, length: 4096 });
        assert!(!harness.epochs.drops(page(16), false));
        harness.epochs.access(page(16), false).expect("an access");
        harness.epochs.count(1).expect("counts");
        harness.after(Call::Advise { address: 19 << 12, length: 4096, advice: MADV_DONTNEED });
        harness.after(Call::Protect { address: 16 << 12, length: 100, protection: 1 });
        let writer = harness.epochs.into_writer().expect("ends");
        let (bytes, _) = writer.finish(Ending::Unknown).expect("ends");
        let events: Vec<Event> =
            TraceReader::new(bytes.as_slice()).expect("opens").map(|e| e.expect("reads")).collect();
        let access = |number, store, after| Event::Access { page: page(number), store, after };
        let permissions = Permissions { writable: false, ..Permissions::READ_WRITE };
        let expected = [
            access(17, false, 0),
            access(16, true, 1),
            Event::Unmap(range(17, 18)),
            access(16, false, 2),
            Event::Discard(range(19, 20)),
            Event::Protect { pages: range(16, 17), permissions },
            Event::EpochEnd { references: 4 },
        ];
        assert_eq!(events[1..], expected);
    }

    #[test]
    fn absurd_calls_change_nothing() {
        let mut harness = Harness::new(Vec::new());
        let most = u64::MAX;
        let calls = [
            map(16, 0, 0x22),
            Call::Unmap { address: most, length: most },
            Call::Protect { address: 0, length: 0, protection: most },
            Call::Break { end: most },
            Call::Break { end: 0 },
            remap(1, 1, 1 << 52, 1, 0),
            remap(1, 0, 5, 1, 0),
        ];
        for call in calls {
            assert_eq!(harness.after(call), []);
        }
    }
}

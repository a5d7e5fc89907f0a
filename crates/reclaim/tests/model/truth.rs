//! The contents that processes must find: for each page the last value that was stored.

use pageout_paging::Pfn;
use pageout_paging::mmu::Asid;
use pageout_reclaim::{MappingId, MemcgId, MmId, Place, VmFlags};
use pageout_sim::Storage;
use std::collections::BTreeMap;
use std::ops::Range;

/// The kind and place of a process's page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    Anonymous,
    /// A page of a file. A store makes a copy of it.
    Private(MappingId, u64),
    /// A page of a file. A store reaches the file.
    Shared(MappingId, u64),
}

/// A possible content of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// The content behind it: zeros, or that of the file now.
    Behind,
    /// The value that was stored to it.
    Own(u64),
}

/// The state of userfaultfd's write protection of a page. It is not tracked for children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protected {
    No,
    Yes,
    Perhaps,
}

/// A page of a process.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) home: Home,
    pub(crate) flags: VmFlags,
    /// The possible contents: more than one if a store raced with an operation that takes the page
    /// away.
    pub(crate) may: Vec<Content>,
    /// True if the page is lazyfree: it may turn to zeros until it is written to.
    pub(crate) lazy: bool,
    pub(crate) wp: Protected,
}

impl Page {
    pub(crate) fn new(home: Home, flags: VmFlags) -> Self {
        Self { home, flags, may: vec![Content::Behind], lazy: false, wp: Protected::No }
    }

    /// Drops the page's own content, except stores made meanwhile.
    pub(crate) fn drop_content(&mut self, meanwhile: impl Iterator<Item = u64>) {
        self.lazy = false;
        if !matches!(self.home, Home::Shared(..)) {
            self.may = vec![Content::Behind];
            self.may.extend(meanwhile.map(Content::Own));
        }
    }
}

/// A process.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) mm: MmId,
    pub(crate) root: Pfn,
    pub(crate) asid: Asid,
    pub(crate) memcg: MemcgId,
    pub(crate) pages: BTreeMap<u64, Page>,
}

impl Process {
    pub(crate) fn covers(&self, range: Range<u64>) -> bool {
        self.pages.range(range.clone()).count() as u64 == range.end - range.start
    }
}

/// The expected contents of all processes and files.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) processes: Vec<Option<Process>>,
    /// Files and shared memory, as if each store were written at once.
    pub(crate) files: Storage,
    last: u64,
    /// The stores made during the current operation.
    pub(crate) stores: Vec<(usize, u64, u64)>,
}

impl Truth {
    /// Returns a value that no page ever held.
    pub(crate) fn fresh(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(crate) fn page(&self, process: usize, page: u64) -> Option<&Page> {
        self.processes.get(process)?.as_ref()?.pages.get(&page)
    }

    pub(crate) fn process(&mut self, process: usize) -> &mut Process {
        self.processes[process].as_mut().expect("a process that lives")
    }

    /// Notes that a file ended with page `from`: there are zeros from there on, also in place of
    /// private copies.
    pub(crate) fn truncated(&mut self, file: MappingId, from: u64) {
        self.files.truncated(file, from);
        for process in self.processes.iter_mut().flatten() {
            for page in process.pages.values_mut() {
                let (Home::Private(of, index) | Home::Shared(of, index)) = page.home else {
                    continue;
                };
                if of == file && index >= from {
                    (page.may, page.lazy) = (vec![Content::Behind], false);
                    if page.wp == Protected::Yes {
                        page.wp = Protected::Perhaps;
                    }
                }
            }
        }
    }

    fn behind(&self, home: Home) -> u64 {
        match home {
            Home::Anonymous => 0,
            Home::Private(file, index) | Home::Shared(file, index) => {
                self.files.content(Place::File(file, index))
            }
        }
    }

    /// Returns a function that returns true for a content of a page that is this value.
    fn is(&self, home: Home, value: u64) -> impl Fn(&Content) -> bool + use<> {
        let behind = self.behind(home);
        move |content| match content {
            Content::Behind => behind == value,
            Content::Own(own) => *own == value,
        }
    }

    /// Notes that a store succeeded.
    pub(crate) fn stored(&mut self, process: usize, page: u64, value: u64) {
        self.stores.push((process, page, value));
        let at = self.process(process).pages.get_mut(&page).expect("a page that is mapped");
        at.lazy = false;
        match at.home {
            Home::Shared(file, index) => self.files.set_content(Place::File(file, index), value),
            _ => at.may = vec![Content::Own(value)],
        }
    }

    /// Returns true if a load may find the value.
    pub(crate) fn may_hold(&self, page: &Page, value: u64) -> bool {
        page.lazy && value == 0 || page.may.iter().any(self.is(page.home, value))
    }

    /// Checks the value that a load found.
    ///
    /// # Panics
    /// If that is not the value stored last.
    pub(crate) fn loaded(&mut self, process: usize, page: u64, value: u64) {
        let at = self.page(process, page).expect("a page that is mapped").clone();
        let may: Vec<_> = at.may.iter().copied().filter(self.is(at.home, value)).collect();
        // The page was lazyfree, and was taken. If it may have held zeros before, that proves
        // nothing.
        let zeroed = at.lazy && value == 0 && may.is_empty();
        assert!(
            zeroed || !may.is_empty(),
            "process {process} loads {value:#x} from page {page}, {at:?} over {:#x}",
            self.behind(at.home)
        );
        let at = self.process(process).pages.get_mut(&page).expect("the same page");
        if zeroed {
            (at.may, at.lazy) = (vec![Content::Behind], false);
        } else {
            at.may = may;
        }
    }

    /// Notes that a store to a private page of a file failed, perhaps after the copy was made.
    pub(crate) fn may_be_copied(&mut self, process: usize, page: u64) {
        let Some(at) = self.page(process, page) else {
            return;
        };
        if let Home::Private(..) = at.home {
            let copy = Content::Own(self.behind(at.home));
            let at = self.process(process).pages.get_mut(&page).expect("the same page");
            if at.may.contains(&Content::Behind) && !at.may.contains(&copy) {
                at.may.push(copy);
            }
        }
    }

    /// Returns the values stored to a page since [`Truth::stores`] was `since` long.
    pub(crate) fn stores_to(&self, since: usize, process: usize, page: u64) -> Vec<u64> {
        let to = |(of, at, _): &&(usize, u64, u64)| (*of, *at) == (process, page);
        self.stores[since..].iter().filter(to).map(|(_, _, value)| *value).collect()
    }
}

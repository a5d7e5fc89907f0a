//! The value that each page must hold: a register that every load reads and every store replaces.

use pageout_paging::mmu::Asid;
use std::collections::BTreeMap;

/// The kind of the pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Pages of a file, mapped shared: one register for all who map it.
    File,
    /// Pages of a file, mapped private: the file's until the process stores to its own copy.
    Private,
    /// Pages of shared memory, which swap backs: one register for all who map it.
    Shmem,
    /// Anonymous memory: one register for each process.
    Anon,
}

/// The owner of a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Owner {
    Shared,
    Process(u32),
}

/// The latest store to each page, by number. A page that is missing here may hold anything.
#[derive(Debug)]
pub(super) struct Registers {
    kind: Kind,
    latest: BTreeMap<(Owner, u64), u64>,
}

impl Registers {
    pub(super) const fn new(kind: Kind) -> Self {
        Self { kind, latest: BTreeMap::new() }
    }

    fn owner(&self, asid: Asid, page: u64) -> Owner {
        let own = Owner::Process(asid.0);
        match self.kind {
            Kind::Anon => own,
            Kind::Private if self.latest.contains_key(&(own, page)) => own,
            Kind::File | Kind::Shmem | Kind::Private => Owner::Shared,
        }
    }

    /// Sets the value that storage holds of a page at the start.
    pub(super) fn begin(&mut self, asid: Asid, page: u64, value: u64) {
        self.latest.insert((self.owner(asid, page), page), value);
    }

    pub(super) fn store(&mut self, asid: Asid, page: u64, value: u64) {
        let owner = match self.kind {
            Kind::File | Kind::Shmem => Owner::Shared,
            Kind::Private | Kind::Anon => Owner::Process(asid.0),
        };
        self.latest.insert((owner, page), value);
    }

    /// Lets the page hold anything until the next store.
    pub(super) fn forget(&mut self, asid: Asid, page: u64) {
        self.latest.remove(&(self.owner(asid, page), page));
    }

    /// Returns the value that a load must find, if it is known.
    pub(super) fn expected(&self, asid: Asid, page: u64) -> Option<u64> {
        self.latest.get(&(self.owner(asid, page), page)).copied()
    }
}

//! Scenarios: what is in memory at the start, and what each agent then does.

use super::access::Access;
use super::property::Property;
use super::registers::Kind;
use pageout_paging::Order;

/// What one agent does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agent {
    /// A thread of the program, on a CPU of its own: its accesses, in order.
    Program(&'static [Op]),
    /// A thread of another program that maps the same file.
    Neighbour(&'static [Op]),
    /// Writes the first page's folio out if it is dirty, as flushers and fsync do.
    Flusher,
    /// Asks the cgroup for all of its memory back, shootdown deferred.
    Reclaim,
    /// Removes pages from the first to the second from the address space.
    Munmap(u64, u64),
    /// Makes such pages read-only.
    Mprotect(u64, u64),
    /// Drops such pages.
    DontNeed(u64, u64),
    /// Copies the address space.
    Fork,
    /// Moves the folio to other frames, shootdown deferred.
    Migrate,
}

impl Agent {
    /// What the events calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Program(_) => "thread",
            Self::Neighbour(_) => "neighbour",
            Self::Flusher => "flusher",
            Self::Reclaim => "reclaimer",
            Self::Munmap(..) => "munmap",
            Self::Mprotect(..) => "mprotect",
            Self::DontNeed(..) => "madvise",
            Self::Fork => "fork",
            Self::Migrate => "migration",
        }
    }
}

/// An access to a page, counted from the scenario's first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op(pub u64, pub Access);

/// What was done before the agents start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// The program accessed a page.
    Did(Op),
    /// It forbade all access to pages from the first to the second, and allowed it again: their
    /// entries are single ones then.
    Split(u64, u64),
    /// It gave all pages up lazily (MADV_FREE).
    Freed,
}

const fn loaded(page: u64) -> Before {
    Before::Did(load(page))
}

const fn stored(page: u64, value: u64) -> Before {
    Before::Did(store(page, value))
}

/// A load of a page.
const fn load(page: u64) -> Op {
    Op(page, Access::Load)
}

/// A store to a page.
const fn store(page: u64, value: u64) -> Op {
    Op(page, Access::Store(value))
}

/// A small world and those who act in it.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// The property it was made for; all are checked.
    pub property: Property,
    /// What the pages are.
    pub kind: Kind,
    /// log2 of the pages of the one folio that is mapped. One of [`LEAF`] is mapped by a PMD leaf.
    pub order: u8,
    /// What was done before: TLBs may hold what entries offered since. An aging pass then cleared
    /// the young bits, without a flush.
    pub before: &'static [Before],
    /// Who acts.
    pub agents: &'static [Agent],
}

impl Scenario {
    /// The scenario of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    /// The agents' names; those of one kind are numbered.
    pub fn agents_named(&self) -> Vec<String> {
        let named = |k: usize| {
            let name = self.agents[k].name();
            let alike = |agents: &[Agent]| agents.iter().filter(|a| a.name() == name).count();
            match alike(self.agents) {
                1 => name.to_owned(),
                _ => format!("{name} {}", alike(&self.agents[..=k])),
            }
        };
        (0..self.agents.len()).map(named).collect()
    }

    /// The folio's size.
    pub fn order(&self) -> Order {
        Order::new(self.order).expect("a scenario's folio is small")
    }
}

/// The order of a folio that fills a table of 8 entries.
pub(super) const LEAF: u8 = 3;

/// Every scenario.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "reclaim-clean",
        about: "a file's clean folio is reclaimed while a program reads it",
        property: Property::StaleTranslation,
        kind: Kind::File,
        order: 2,
        before: &[loaded(0)],
        agents: &[Agent::Reclaim, Agent::Program(&[load(0), load(3)])],
    },
    Scenario {
        name: "reclaim-dirty",
        about: "an anonymous page is swapped out while a program writes to it",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[Agent::Reclaim, Agent::Program(&[store(0, 8), load(0)])],
    },
    Scenario {
        name: "reclaim-dirty-large",
        about: "an anonymous folio is swapped out while a program writes to it",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: 2,
        before: &[stored(0, 7), stored(3, 6)],
        agents: &[Agent::Reclaim, Agent::Program(&[store(0, 8), load(3)])],
    },
    Scenario {
        name: "munmap-part",
        about: "part of a folio is unmapped while a program uses the rest",
        property: Property::Protection,
        kind: Kind::Anon,
        order: 2,
        before: &[loaded(0), stored(3, 7)],
        agents: &[Agent::Munmap(0, 1), Agent::Program(&[load(2), load(0), store(3, 8)])],
    },
    Scenario {
        name: "mprotect-reclaim",
        about: "a page is made read-only while reclaim has it half out",
        property: Property::Protection,
        kind: Kind::Anon,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[Agent::Reclaim, Agent::Mprotect(0, 1), Agent::Program(&[store(0, 8)])],
    },
    Scenario {
        name: "munmap-reclaim",
        about: "a file's pages are unmapped while reclaim has them half out",
        property: Property::Protection,
        kind: Kind::File,
        order: 1,
        before: &[loaded(0)],
        agents: &[Agent::Reclaim, Agent::Munmap(0, 2), Agent::Program(&[load(0)])],
    },
    Scenario {
        name: "munmap-fault",
        about: "a file's pages are unmapped while two programs fault on them",
        property: Property::Protection,
        kind: Kind::File,
        order: 1,
        before: &[],
        agents: &[
            Agent::Munmap(0, 1),
            Agent::Program(&[load(0), store(1, 9)]),
            Agent::Program(&[load(1), load(0)]),
        ],
    },
    Scenario {
        name: "reclaim-shared",
        about: "an anonymous page is swapped out while two programs use it",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[
            Agent::Reclaim,
            Agent::Program(&[store(0, 8)]),
            Agent::Program(&[load(0), load(0)]),
        ],
    },
    Scenario {
        name: "dontneed-reclaim",
        about: "anonymous pages are dropped while reclaim has them half out",
        property: Property::Accounts,
        kind: Kind::Anon,
        order: 1,
        before: &[stored(0, 7)],
        agents: &[Agent::Reclaim, Agent::DontNeed(0, 1)],
    },
    Scenario {
        name: "fork",
        about: "a process forks while it writes",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: 1,
        before: &[stored(0, 7)],
        agents: &[Agent::Fork, Agent::Program(&[store(0, 8), store(1, 9), load(0)])],
    },
    Scenario {
        name: "fork-reclaim",
        about: "a process forks while reclaim swaps it out",
        property: Property::Accounts,
        kind: Kind::Anon,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[Agent::Fork, Agent::Reclaim],
    },
    Scenario {
        name: "two-reclaimers",
        about: "two CPUs reclaim the same page while a program writes to it",
        property: Property::Accounts,
        kind: Kind::Anon,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[Agent::Reclaim, Agent::Reclaim, Agent::Program(&[store(0, 8)])],
    },
    Scenario {
        name: "migrate-anon",
        about: "an anonymous folio moves to other frames while a program writes to it",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: 1,
        before: &[stored(0, 7), stored(1, 6)],
        agents: &[Agent::Migrate, Agent::Program(&[store(0, 8), load(1), store(0, 9)])],
    },
    Scenario {
        name: "migrate-file",
        about: "a file's page moves to another frame while two programs use it",
        property: Property::LostWrite,
        kind: Kind::File,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[
            Agent::Migrate,
            Agent::Program(&[store(0, 8)]),
            Agent::Program(&[load(0), load(0)]),
        ],
    },
    Scenario {
        name: "migrate-munmap",
        about: "part of a folio is unmapped while the folio moves to other frames",
        property: Property::Accounts,
        kind: Kind::Anon,
        order: 2,
        before: &[stored(0, 7), stored(3, 6)],
        agents: &[Agent::Migrate, Agent::Munmap(0, 1), Agent::Program(&[store(3, 8)])],
    },
    Scenario {
        name: "migrate-mprotect",
        about: "a page is made read-only while it moves to another frame",
        property: Property::Protection,
        kind: Kind::Anon,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[Agent::Migrate, Agent::Mprotect(0, 1), Agent::Program(&[store(0, 8)])],
    },
    Scenario {
        name: "migrate-fork",
        about: "a process forks while its folio moves to other frames",
        property: Property::Accounts,
        kind: Kind::Anon,
        order: 1,
        before: &[stored(0, 7), loaded(1)],
        agents: &[Agent::Migrate, Agent::Fork, Agent::Program(&[store(1, 8)])],
    },
    Scenario {
        name: "migrate-reclaim",
        about: "reclaim and migration want the same page while a program writes to it",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[Agent::Migrate, Agent::Reclaim, Agent::Program(&[store(0, 8)])],
    },
    Scenario {
        name: "two-migrations",
        about: "two CPUs move the same page while a program writes to it",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[Agent::Migrate, Agent::Migrate, Agent::Program(&[store(0, 8)])],
    },
    Scenario {
        name: "reclaim-threads",
        about: "a file's page is reclaimed while one thread writes to it and another reads it",
        property: Property::StaleRead,
        kind: Kind::File,
        order: 0,
        before: &[loaded(0)],
        agents: &[Agent::Reclaim, Agent::Program(&[store(0, 8)]), Agent::Program(&[load(0)])],
    },
    Scenario {
        name: "reclaim-processes",
        about: "a file's page is reclaimed while one process writes to it and another reads it",
        property: Property::StaleRead,
        kind: Kind::File,
        order: 0,
        before: &[loaded(0)],
        agents: &[Agent::Reclaim, Agent::Neighbour(&[store(0, 8)]), Agent::Program(&[load(0)])],
    },
    Scenario {
        name: "reclaim-private",
        about: "a file's page, mapped private, is reclaimed while a thread makes its own copy",
        property: Property::StaleRead,
        kind: Kind::Private,
        order: 0,
        before: &[loaded(0)],
        agents: &[Agent::Reclaim, Agent::Program(&[store(0, 8)]), Agent::Program(&[load(0)])],
    },
    Scenario {
        name: "reclaim-lazyfree",
        about: "a page given up lazily is reclaimed while one thread writes and another reads",
        property: Property::StaleRead,
        kind: Kind::Anon,
        order: 0,
        before: &[stored(0, 7), Before::Freed, loaded(0)],
        agents: &[Agent::Reclaim, Agent::Program(&[store(0, 8)]), Agent::Program(&[load(0)])],
    },
    Scenario {
        name: "reclaim-lazyfree-split",
        about: "a folio given up lazily, whose block is split, was written to and is put back",
        property: Property::TlbConflict,
        kind: Kind::Anon,
        order: 2,
        before: &[stored(0, 7), Before::Freed, Before::Split(1, 2), stored(1, 9)],
        agents: &[Agent::Reclaim, Agent::Program(&[load(1)])],
    },
    Scenario {
        name: "reclaim-fault-around",
        about: "a file's folio, whose block is split, is reclaimed while a thread faults on it",
        property: Property::TlbConflict,
        kind: Kind::File,
        order: 2,
        before: &[loaded(0), Before::Split(1, 2), loaded(1)],
        agents: &[Agent::Reclaim, Agent::Program(&[load(3)])],
    },
    Scenario {
        name: "reclaim-flusher",
        about: "a file's dirty page is reclaimed and written out while a thread writes to it",
        property: Property::LostWrite,
        kind: Kind::File,
        order: 0,
        before: &[stored(0, 7)],
        agents: &[Agent::Reclaim, Agent::Flusher, Agent::Program(&[store(0, 8)])],
    },
    Scenario {
        name: "flusher",
        about: "a file's dirty folio is written out while one thread writes and another reads",
        property: Property::LostWrite,
        kind: Kind::File,
        order: 1,
        before: &[stored(0, 7)],
        agents: &[
            Agent::Flusher,
            Agent::Program(&[store(0, 8), store(1, 9)]),
            Agent::Program(&[load(0), load(1)]),
        ],
    },
    Scenario {
        name: "copy-on-write",
        about: "a thread makes its own copy of a file's page while another reads it",
        property: Property::StaleRead,
        kind: Kind::Private,
        order: 0,
        before: &[loaded(0)],
        agents: &[Agent::Program(&[store(0, 8)]), Agent::Program(&[load(0), load(0)])],
    },
    Scenario {
        name: "fork-copy",
        about: "a process forks while one of its threads writes and another reads",
        property: Property::StaleRead,
        kind: Kind::Anon,
        order: 1,
        before: &[stored(0, 7)],
        agents: &[
            Agent::Fork,
            Agent::Program(&[store(0, 8), load(0)]),
            Agent::Program(&[load(0), store(1, 9)]),
        ],
    },
    Scenario {
        name: "leaf-munmap-part",
        about: "part of what a PMD leaf maps is unmapped while a program uses the rest",
        property: Property::TlbConflict,
        kind: Kind::Anon,
        order: LEAF,
        before: &[stored(0, 7), stored(7, 6)],
        agents: &[Agent::Munmap(0, 2), Agent::Program(&[load(7), store(2, 8), load(0)])],
    },
    Scenario {
        name: "leaf-mprotect-part",
        about: "part of what a PMD leaf maps is made read-only while a program writes",
        property: Property::Protection,
        kind: Kind::Anon,
        order: LEAF,
        before: &[stored(0, 7)],
        agents: &[Agent::Mprotect(0, 1), Agent::Program(&[store(0, 8), store(7, 9)])],
    },
    Scenario {
        name: "leaf-dontneed-reclaim",
        about: "part of what a PMD leaf maps is dropped while reclaim has the folio half out",
        property: Property::Accounts,
        kind: Kind::Anon,
        order: LEAF,
        before: &[stored(0, 7), stored(7, 6)],
        agents: &[Agent::Reclaim, Agent::DontNeed(0, 1)],
    },
    Scenario {
        name: "leaf-reclaim-dirty",
        about: "a folio that a PMD leaf maps is swapped out while a program writes to it",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: LEAF,
        before: &[stored(0, 7), stored(7, 6)],
        agents: &[Agent::Reclaim, Agent::Program(&[store(0, 8), load(7)])],
    },
    Scenario {
        name: "leaf-reclaim-lazyfree",
        about: "a folio given up lazily that a PMD leaf maps, written to since, is reclaimed",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: LEAF,
        before: &[stored(0, 7), Before::Freed, stored(7, 9)],
        agents: &[Agent::Reclaim, Agent::Program(&[load(7)])],
    },
    Scenario {
        name: "leaf-reclaim-file",
        about: "a file's folio under a PMD leaf is reclaimed while one thread writes and one reads",
        property: Property::StaleRead,
        kind: Kind::File,
        order: LEAF,
        before: &[loaded(0)],
        agents: &[Agent::Reclaim, Agent::Program(&[store(0, 8)]), Agent::Program(&[load(0)])],
    },
    Scenario {
        name: "leaf-reclaim-processes",
        about: "a file's folio under PMD leaves is reclaimed while a process writes and one reads",
        property: Property::StaleRead,
        kind: Kind::File,
        order: LEAF,
        before: &[loaded(0)],
        agents: &[Agent::Reclaim, Agent::Neighbour(&[store(0, 8)]), Agent::Program(&[load(0)])],
    },
    Scenario {
        name: "leaf-copy-on-write",
        about: "a thread makes its own copy of a page that a file's PMD leaf maps; another reads",
        property: Property::StaleRead,
        kind: Kind::Private,
        order: LEAF,
        before: &[loaded(0)],
        agents: &[Agent::Program(&[store(0, 8)]), Agent::Program(&[load(0), load(7)])],
    },
    Scenario {
        name: "leaf-fork",
        about: "a process with a PMD leaf forks while one of its threads writes and another reads",
        property: Property::StaleRead,
        kind: Kind::Anon,
        order: LEAF,
        before: &[stored(0, 7)],
        agents: &[
            Agent::Fork,
            Agent::Program(&[store(0, 8), load(0)]),
            Agent::Program(&[load(0), store(7, 9)]),
        ],
    },
    Scenario {
        name: "leaf-migrate",
        about: "a folio that a PMD leaf maps moves to other frames while a program writes to it",
        property: Property::LostWrite,
        kind: Kind::Anon,
        order: LEAF,
        before: &[stored(0, 7), stored(7, 6)],
        agents: &[Agent::Migrate, Agent::Program(&[store(0, 8), load(7), store(0, 9)])],
    },
    Scenario {
        name: "leaf-fault",
        about: "two programs fault on what a PMD leaf is to map while part of it is unmapped",
        property: Property::Protection,
        kind: Kind::File,
        order: LEAF,
        before: &[],
        agents: &[
            Agent::Munmap(0, 1),
            Agent::Program(&[load(0), store(7, 9)]),
            Agent::Program(&[load(7), load(0)]),
        ],
    },
];

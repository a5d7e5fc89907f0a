//! Scenarios: the state of memory at the start, and the actions of each agent.

use super::access::Access;
use super::property::Property;
use super::registers::Kind;
use super::scenarios::SCENARIOS;
use pageout_paging::Order;

/// An agent's actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agent {
    /// A thread of the program, on a CPU of its own: its accesses, in order.
    Program(&'static [Op]),
    /// A thread of another program that maps the same file.
    Neighbour(&'static [Op]),
    /// Writes the first page's folio out if it is dirty, as flushers and fsync do.
    Flusher,
    /// Asks for all of the cgroup's memory to be reclaimed, shootdown deferred.
    Reclaim,
    /// Removes pages from the first to the second from the address space.
    Munmap(u64, u64),
    /// Makes the pages from the first to the second read-only.
    Mprotect(u64, u64),
    /// Drops the pages from the first to the second.
    DontNeed(u64, u64),
    /// Copies the address space.
    Fork,
    /// Moves the folio to other frames, shootdown deferred.
    Migrate,
    /// Walks the page tables for the cgroup's next generation. With this agent, folios are in
    /// generations.
    Age,
    /// Removes the pages from one on from the file, or from shared memory.
    Truncate(u64),
    /// Ends the address space.
    Exit,
}

impl Agent {
    /// Returns the agent's name in events.
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
            Self::Age => "aging walk",
            Self::Truncate(_) => "truncation",
            Self::Exit => "exit",
        }
    }
}

/// An access to a page, counted from the scenario's first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op(pub u64, pub Access);

/// An action before the agents start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// The program accessed a page.
    Did(Op),
    /// The program forbade all access to pages from the first to the second, and allowed it again:
    /// then their entries are single ones.
    Split(u64, u64),
    /// The program freed all pages lazily (MADV_FREE).
    Freed,
    /// All pages were reclaimed.
    Reclaimed,
}

/// Returns a load of a page, before the start.
pub(super) const fn loaded(page: u64) -> Before {
    Before::Did(load(page))
}

/// Returns a store to a page, before the start.
pub(super) const fn stored(page: u64, value: u64) -> Before {
    Before::Did(store(page, value))
}

/// Returns a load of a page.
pub(super) const fn load(page: u64) -> Op {
    Op(page, Access::Load)
}

/// Returns a store to a page.
pub(super) const fn store(page: u64, value: u64) -> Op {
    Op(page, Access::Store(value))
}

/// A small world and the agents in it.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The scenario's name.
    pub name: &'static str,
    /// The scenario in words.
    pub about: &'static str,
    /// The property the scenario was made for; all are checked.
    pub property: Property,
    /// The kind of the pages.
    pub kind: Kind,
    /// log2 of the pages of the one folio that is mapped. One of
    /// [`LEAF`](super::scenarios::LEAF) is mapped by a PMD leaf.
    pub order: u8,
    /// The actions before the start. TLBs may hold translations that entries offered since. An
    /// aging pass then cleared the young bits, without a flush.
    pub before: &'static [Before],
    /// The agents.
    pub agents: &'static [Agent],
}

impl Scenario {
    /// Returns the scenario of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    /// Returns the agents' names; those of one kind are numbered.
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

    /// Returns true if folios are in generations (MGLRU), and not on the classic lists.
    pub fn in_generations(&self) -> bool {
        self.agents.contains(&Agent::Age)
    }

    /// Returns the folio's size.
    pub fn order(&self) -> Order {
        Order::new(self.order).expect("a scenario's folio is small")
    }
}

//! Where the time went: by activity, by core, and counts.

use crate::{FabricLoad, StaleAccessHistogram, Time};
use std::cell::Cell;

/// Something that software does, by its number among the names of
/// [`Setup::activities`](crate::Setup).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Activity(pub u8);

/// What the machine itself does on a task's behalf, below whatever activity the task is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MachineActivity {
    /// Walking tables after a TLB miss.
    Walk,
    /// Trapping into the kernel and returning.
    Trap,
    /// Telling TLBs to forget: TLBI, INVLPG, interrupts sent.
    Invalidate,
    /// Waiting until all did.
    Wait,
    /// Waiting for a lock.
    Spin,
    /// Reading and writing page tables.
    Table,
}

impl MachineActivity {
    const NAMES: [&str; 6] = ["walk", "trap", "invalidate", "wait", "spin", "table"];
}

/// A place in the tree of activities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeId(u32);

struct Node {
    name: String,
    parent: Option<NodeId>,
    children: Vec<(Activity, NodeId)>,
    /// Time spent here and in `own`, not in children.
    time: Time,
    own: [Time; MachineActivity::NAMES.len()],
}

/// Time by activity: a tree whose roots are tasks.
#[derive(Default)]
pub(crate) struct Account {
    nodes: Vec<Node>,
}

impl Account {
    /// A root of its own for a task.
    pub(crate) fn root(&mut self, name: &str) -> NodeId {
        self.push(name.to_owned(), None)
    }

    fn push(&mut self, name: String, parent: Option<NodeId>) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let own = Default::default();
        self.nodes.push(Node { name, parent, children: Vec::new(), time: Time::ZERO, own });
        id
    }

    /// The activity below `at`.
    pub(crate) fn below(&mut self, at: NodeId, activity: Activity, names: &[&str]) -> NodeId {
        let node = &self.nodes[at.0 as usize];
        if let Some((_, id)) = node.children.iter().find(|(of, _)| *of == activity) {
            return *id;
        }
        let name = names.get(usize::from(activity.0)).expect("an activity that was named");
        let id = self.push((*name).to_owned(), Some(at));
        self.nodes[at.0 as usize].children.push((activity, id));
        id
    }

    pub(crate) fn charge(&mut self, at: NodeId, time: Time) {
        self.nodes[at.0 as usize].time += time;
    }

    /// Of what is charged to `at`, so much is the machine's own doing.
    pub(crate) fn of_which(&mut self, at: NodeId, own: MachineActivity, time: Time) {
        self.nodes[at.0 as usize].own[own as usize] += time;
    }

    /// What each task spent its time on, by name.
    fn spent(&self) -> Vec<Spent> {
        let roots = self.nodes.iter().filter(|node| node.parent.is_none());
        sorted(roots.filter_map(|root| self.spent_on(root)))
    }

    /// What was spent at a node and below it, if anything was.
    fn spent_on(&self, node: &Node) -> Option<Spent> {
        let below = node.children.iter();
        let below = below.filter_map(|(_, id)| self.spent_on(&self.nodes[id.0 as usize]));
        let machine =
            MachineActivity::NAMES.iter().zip(node.own).filter(|(_, own)| *own > Time::ZERO);
        let machine =
            machine.map(|(name, own)| Spent { name: (*name).to_owned(), own, parts: Vec::new() });
        let parts = sorted(below.chain(machine));
        let own = node.time.since(node.own.iter().copied().sum());
        let spent = Spent { name: node.name.clone(), own, parts };
        (spent.own > Time::ZERO || !spent.parts.is_empty()).then_some(spent)
    }
}

fn sorted(all: impl Iterator<Item = Spent>) -> Vec<Spent> {
    let mut all: Vec<Spent> = all.collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// What time was spent on, with its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spent {
    /// A task, an activity of software, or what the machine does on its behalf.
    pub name: String,
    /// Spent here and on no part.
    pub own: Time,
    /// What was done below it, by name.
    pub parts: Vec<Spent>,
}

impl Spent {
    /// Spent here and on all parts.
    pub fn total(&self) -> Time {
        self.own + self.parts.iter().map(Self::total).sum()
    }

    /// The part of a name.
    pub fn part(&self, name: &str) -> Option<&Self> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// What was spent at the places that `wanted` says, each without its parts: names from here
    /// down.
    pub fn at(&self, wanted: &impl Fn(&[&str]) -> bool) -> Time {
        let mut time = Time::ZERO;
        self.visit(&mut Vec::new(), &mut |path, own| {
            if wanted(path) {
                time += own;
            }
        });
        time
    }

    fn visit<'a>(&'a self, path: &mut Vec<&'a str>, see: &mut impl FnMut(&[&str], Time)) {
        path.push(&self.name);
        see(path, self.own);
        for part in &self.parts {
            part.visit(path, see);
        }
        path.pop();
    }
}

/// Declares what is counted, once as cells for each core and once as the sum that is reported.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Of one core.
        #[derive(Default)]
        pub(crate) struct Tally {
            $(pub(crate) $name: Cell<u64>,)*
        }

        /// What was counted, over all cores.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counts {
            pub(crate) fn add(&mut self, tally: &Tally) {
                $(self.$name += tally.$name.get();)*
            }

            /// Each count by its name.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

counts! {
    /// Accesses of programs.
    accesses,
    /// Of which the second TLB level had the translation.
    l2_hits,
    /// Of which neither level had it.
    walks,
    /// Of which software was needed.
    faults,
    /// Operations of software on page tables.
    table_operations,
    /// Invalidate instructions that were broadcast (arm64).
    broadcasts,
    /// Barriers that waited for invalidations (arm64 DSB ISH after a TLBI).
    barriers,
    /// Barriers with nothing to wait for.
    idle_barriers,
    /// Invalidations that a core held back until later ones pushed them out (arm64), a core each.
    overflows,
    /// Rounds of interrupts (x86, riscv).
    rounds,
    /// Interrupts sent, which is interrupts received.
    interrupts,
    /// Cores that a round spared because they were lazy.
    spared_lazy,
    /// Cores that an interrupt found with another address space, so that they left the set.
    trimmed,
    /// Flushes of one page's entries by a core's own instructions.
    local_entries,
    /// Flushes of all of an address space by a core's own instructions.
    local_full,
    /// Times that the hardware identifiers of address spaces ran out (arm64).
    rollovers,
    /// Entries that invalidations removed.
    removed,
    /// Context switches.
    switches,
    /// Of which to a task that last ran on another core.
    migrations,
    /// Turns of waiting for a lock.
    spins,
    /// Requests to the storage device.
    transfers,
}

impl Tally {
    /// What moves whenever something happens but waiting for locks.
    pub(crate) fn progress(&self) -> u64 {
        self.accesses.get() + self.table_operations.get() + self.broadcasts.get()
    }
}

/// One more.
#[inline]
pub(crate) fn count(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}

/// So many more.
#[inline]
pub(crate) fn count_by(cell: &Cell<u64>, by: u64) {
    cell.set(cell.get() + by);
}

/// Where one core's time went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoreTimes {
    /// To tasks.
    pub worked: Time,
    /// To context switches.
    pub switching: Time,
    /// To interrupts, and to invalidations of other cores.
    pub stolen: Time,
    /// To nothing.
    pub idle: Time,
}

/// What a machine tells when its tasks are done.
#[derive(Clone, Debug)]
pub struct Report {
    /// When the last core was done.
    pub end: Time,
    /// Counts over all cores.
    pub counts: Counts,
    /// Accesses that stale entries hid, over all cores.
    pub hidden: StaleAccessHistogram,
    /// What cores sent each other over time.
    pub load: FabricLoad,
    /// Bytes that the storage device read.
    pub read: u64,
    /// Bytes that it wrote.
    pub written: u64,
    /// The time of each core that ever had a task.
    pub cores: Vec<CoreTimes>,
    /// Tasks' time by activity, a tree a task, by name.
    pub tasks: Vec<Spent>,
}

impl Report {
    pub(crate) fn spent(account: &Account) -> Vec<Spent> {
        account.spent()
    }

    /// What a task spent its time on; nothing, if it spent none.
    pub fn task(&self, name: &str) -> Option<&Spent> {
        self.tasks.iter().find(|task| task.name == name)
    }

    /// What all tasks spent at the places that `wanted` says: names from the task down.
    pub fn at(&self, wanted: impl Fn(&[&str]) -> bool) -> Time {
        self.tasks.iter().map(|task| task.at(&wanted)).sum()
    }

    /// Tasks' time as lines of "folded stacks", in nanoseconds, as flame graphs are drawn from.
    pub fn folded_lines(&self) -> String {
        let mut lines = Vec::new();
        for task in &self.tasks {
            task.visit(&mut Vec::new(), &mut |path, own| {
                if own > Time::ZERO {
                    lines.push(format!("{} {}\n", path.join(";"), own.ps().div_ceil(1000)));
                }
            });
        }
        lines.sort();
        lines.concat()
    }
}

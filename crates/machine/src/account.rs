//! Accounting: time by activity and by core, and counts.

use crate::{FabricLoad, StaleAccessHistogram, Time};
use std::cell::Cell;

/// An activity of software, by its number in [`Setup::activities`](crate::Setup).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Activity(pub u8);

/// An activity of the machine itself for a task, within the task's own activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MachineActivity {
    /// Walking tables after a TLB miss.
    Walk,
    /// Trapping into the kernel and returning.
    Trap,
    /// Telling TLBs to forget: TLBI, INVLPG, interrupts sent.
    Invalidate,
    /// Waiting until all TLBs did.
    Wait,
    /// Waiting for a lock.
    Spin,
    /// Reading and writing page tables.
    Table,
    /// Reading and changing words of locks.
    Word,
}

impl MachineActivity {
    const NAMES: [&str; 7] = ["walk", "trap", "invalidate", "wait", "spin", "table", "lock word"];
}

/// A place in the tree of activities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeId(u32);

struct Node {
    name: String,
    parent: Option<NodeId>,
    children: Vec<(Activity, NodeId)>,
    /// The time spent here, including `own`, but not in children.
    time: Time,
    own: [Time; MachineActivity::NAMES.len()],
}

/// The time by activity: a tree whose roots are tasks.
#[derive(Default)]
pub(crate) struct Account {
    nodes: Vec<Node>,
}

impl Account {
    /// Adds a root for a task.
    pub(crate) fn root(&mut self, name: &str) -> NodeId {
        self.push(name.to_owned(), None)
    }

    fn push(&mut self, name: String, parent: Option<NodeId>) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let own = Default::default();
        self.nodes.push(Node { name, parent, children: Vec::new(), time: Time::ZERO, own });
        id
    }

    /// Returns the activity below `at`, and adds it if it is missing.
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

    /// Notes that `time` of the time charged to `at` is the machine's own activity.
    pub(crate) fn of_which(&mut self, at: NodeId, own: MachineActivity, time: Time) {
        self.nodes[at.0 as usize].own[own as usize] += time;
    }

    /// Returns the time that each task spent, sorted by name.
    fn spent(&self) -> Vec<Spent> {
        let roots = self.nodes.iter().filter(|node| node.parent.is_none());
        sorted(roots.filter_map(|root| self.spent_on(root)))
    }

    /// Returns the time spent at a node and below it, if any.
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

/// The time spent on an activity, with its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spent {
    /// The name of a task, of an activity of software, or of an activity of the machine.
    pub name: String,
    /// The time spent here and on no part.
    pub own: Time,
    /// The parts of the activity, sorted by name.
    pub parts: Vec<Spent>,
}

impl Spent {
    /// Returns the time spent here and on all parts.
    pub fn total(&self) -> Time {
        self.own + self.parts.iter().map(Self::total).sum()
    }

    /// Returns the part with a name.
    pub fn part(&self, name: &str) -> Option<&Self> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// Returns the time spent at the places that `wanted` accepts, each without its parts. A path
    /// holds the names from here down.
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
        /// The counts of one core.
        #[derive(Default)]
        pub(crate) struct Tally {
            $(pub(crate) $name: Cell<u64>,)*
        }

        /// The counts over all cores.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counts {
            pub(crate) fn add(&mut self, tally: &Tally) {
                $(self.$name += tally.$name.get();)*
            }

            /// Returns each count with its name.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

counts! {
    /// The accesses of programs.
    accesses,
    /// The accesses that the second TLB level had the translation for.
    l2_hits,
    /// The accesses that neither level had a translation for.
    walks,
    /// The accesses that needed software.
    faults,
    /// The operations of software on page tables.
    table_operations,
    /// The invalidate instructions that were broadcast (arm64).
    broadcasts,
    /// The barriers that waited for invalidations (arm64 DSB ISH after a TLBI).
    barriers,
    /// The barriers that found no invalidations to wait for.
    idle_barriers,
    /// The invalidations that a core held back until later ones pushed them out (arm64), counted
    /// for each core.
    overflows,
    /// The rounds of interrupts (x86, riscv).
    rounds,
    /// The interrupts sent, which equal the interrupts received.
    interrupts,
    /// The cores that a round spared because they were lazy.
    spared_lazy,
    /// The cores that an interrupt found with another address space, so that they left the set.
    trimmed,
    /// The flushes of one page's entries by a core's own instructions.
    local_entries,
    /// The flushes of a whole address space by a core's own instructions.
    local_full,
    /// The times that the hardware identifiers of address spaces ran out (arm64).
    rollovers,
    /// The entries that invalidations removed.
    removed,
    /// The context switches.
    switches,
    /// The context switches to a task that last ran on another core.
    migrations,
    /// The turns of waiting for a lock.
    spins,
    /// The requests to the storage device.
    transfers,
}

impl Tally {
    /// Returns a number that changes whenever anything but waiting for locks happens.
    pub(crate) fn progress(&self) -> u64 {
        self.accesses.get() + self.table_operations.get() + self.broadcasts.get()
    }
}

/// Adds one to a count.
#[inline]
pub(crate) fn count(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}

/// Adds `by` to a count.
#[inline]
pub(crate) fn count_by(cell: &Cell<u64>, by: u64) {
    cell.set(cell.get() + by);
}

/// The time of one core, by use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoreTimes {
    /// The time spent on tasks.
    pub worked: Time,
    /// The time spent on context switches.
    pub switching: Time,
    /// The time spent on interrupts, and on invalidations of other cores.
    pub stolen: Time,
    /// The time spent idle.
    pub idle: Time,
}

/// The report of a machine whose tasks are done.
#[derive(Clone, Debug)]
pub struct Report {
    /// The time at which the last core was done.
    pub end: Time,
    /// The counts over all cores.
    pub counts: Counts,
    /// The accesses that stale entries hid, over all cores.
    pub hidden: StaleAccessHistogram,
    /// The traffic between cores over time.
    pub load: FabricLoad,
    /// The number of bytes that the storage device read.
    pub read: u64,
    /// The number of bytes that the storage device wrote.
    pub written: u64,
    /// The time of each core that ever had a task.
    pub cores: Vec<CoreTimes>,
    /// The tasks' time by activity, one tree for each task, sorted by name.
    pub tasks: Vec<Spent>,
}

impl Report {
    pub(crate) fn spent(account: &Account) -> Vec<Spent> {
        account.spent()
    }

    /// Returns the time that a task spent; `None` if it spent none.
    pub fn task(&self, name: &str) -> Option<&Spent> {
        self.tasks.iter().find(|task| task.name == name)
    }

    /// Returns the time that all tasks spent at the places that `wanted` accepts. A path holds the
    /// names from the task down.
    pub fn at(&self, wanted: impl Fn(&[&str]) -> bool) -> Time {
        self.tasks.iter().map(|task| task.at(&wanted)).sum()
    }

    /// Returns the tasks' time as lines of "folded stacks", in nanoseconds, the input of flame
    /// graphs.
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

//! Loops as kernels have them, on their own data. No loop is a part of the predicted code.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A loop whose instructions are priced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loop {
    /// Nodes move from one list to the end of another, depending on a flag in each.
    List,
    /// Entries of a table are read, tested, and stored with their accessed bit changed.
    Table,
    /// Slots of a tree of three levels are looked up by a key, compared and stored.
    Tree,
    /// The list, with an atomic for the flag of each node.
    Atomic,
    /// The list over nodes in the order of their addresses, on lines that were last touched 64 MiB
    /// ago.
    Far,
}

/// The number of nodes of a list in the first cache: 16 KiB.
const NEAR: usize = 256;
/// The number of nodes of a list that no second cache holds: 64 MiB.
const AWAY: usize = 1 << 20;
/// The number of entries of a table: 2 KiB.
const ENTRIES: usize = TURNS;
/// The children of a tree's node, and the levels.
const FANOUT: usize = 16;
const LEVELS: usize = 3;
/// The number of keys of the tree.
const KEYS: usize = FANOUT.pow(LEVELS as u32);

impl Loop {
    /// Every loop.
    pub const ALL: [Self; 5] = [Self::List, Self::Table, Self::Tree, Self::Atomic, Self::Far];
    /// The loops that are neither atomic nor far.
    pub(super) const PLAIN: [Self; 3] = [Self::List, Self::Table, Self::Tree];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Table => "table",
            Self::Tree => "tree",
            Self::Atomic => "list with atomics",
            Self::Far => "list, far",
        }
    }

    /// Prepares the loop's data and returns the loop as a function. Each call runs 256 turns.
    pub fn prepare(self) -> Box<dyn FnMut()> {
        match self {
            Self::List => Lists::new(NEAR).runs(move_plain),
            Self::Atomic => Lists::new(NEAR).runs(move_atomic),
            Self::Far => Lists::new(AWAY).runs(move_plain),
            Self::Table => {
                let mut entries: Vec<_> = (0..ENTRIES as u64).map(|n| n << 12 | PRESENT).collect();
                Box::new(move || {
                    black_box(visit(black_box(&mut entries)));
                })
            }
            Self::Tree => {
                let mut tree = Tree::new();
                Box::new(move || black_box(&mut tree).look_up())
            }
        }
    }
}

/// The number of turns of a repetition.
const TURNS: usize = 256;

/// A node, on its own line.
#[repr(align(64))]
struct Node {
    next: u32,
    previous: u32,
    state: AtomicU64,
    key: u64,
}

/// Two lists over the same nodes; the last two nodes are their heads.
struct Lists {
    nodes: Vec<Node>,
}

/// Bits of a node's state.
const REFERENCED: u64 = 1;
const ACTIVE: u64 = 2;
const SEEN: u64 = 4;

impl Lists {
    /// Makes two lists: all nodes are on the first, in the order of their addresses.
    fn new(count: usize) -> Self {
        let node = |at: usize| Node {
            next: index(at + 1),
            previous: index((at + count) % (count + 1)),
            state: AtomicU64::new(0),
            key: at as u64,
        };
        let mut nodes: Vec<_> = (0..=count).map(node).collect();
        nodes[count].next = 0;
        let head = index(count + 1);
        nodes.push(Node { next: head, previous: head, state: AtomicU64::new(0), key: 0 });
        Self { nodes }
    }

    fn runs(mut self, move_one: fn(&mut [Node], usize, usize) -> u64) -> Box<dyn FnMut()> {
        let count = self.nodes.len() - 2;
        let (mut from, mut to, mut done) = (count, count + 1, 0);
        Box::new(move || {
            let mut sum = 0;
            for _ in 0..TURNS {
                sum += move_one(black_box(&mut self.nodes), from, to);
                done += 1;
                if done == count {
                    (from, to, done) = (to, from, 0);
                }
            }
            black_box(sum);
        })
    }
}

/// Moves the first node of a list to the end of another, unless it is referenced.
#[inline(never)]
fn move_plain(nodes: &mut [Node], from: usize, to: usize) -> u64 {
    let at = nodes[from].next as usize;
    let state = nodes[at].state.load(Relaxed);
    nodes[at].state.store((state ^ ACTIVE) | SEEN, Relaxed);
    moved(nodes, at, if state & REFERENCED == 0 { to } else { from })
}

/// Moves the first node as [`move_plain`] does, but with an atomic on its state.
#[inline(never)]
fn move_atomic(nodes: &mut [Node], from: usize, to: usize) -> u64 {
    let at = nodes[from].next as usize;
    let state = nodes[at].state.fetch_xor(ACTIVE, Relaxed);
    moved(nodes, at, if state & REFERENCED == 0 { to } else { from })
}

#[inline(always)]
fn moved(nodes: &mut [Node], at: usize, to: usize) -> u64 {
    let (next, previous) = (nodes[at].next, nodes[at].previous);
    nodes[next as usize].previous = previous;
    nodes[previous as usize].next = next;
    let last = nodes[to].previous;
    nodes[at].previous = last;
    nodes[at].next = index(to);
    nodes[last as usize].next = index(at);
    nodes[to].previous = index(at);
    nodes[at].key
}

/// Returns a node's number: there are few.
const fn index(at: usize) -> u32 {
    at as u32
}

/// Bits of an entry.
const PRESENT: u64 = 1;
const ACCESSED: u64 = 1 << 5;

/// Visits all entries: those that are accessed are made old and counted, the others are accessed.
#[inline(never)]
fn visit(entries: &mut [u64]) -> u64 {
    let (mut young, mut last) = (0, 0);
    for entry in entries {
        let value = *entry;
        if value & PRESENT == 0 {
            continue;
        }
        if value & ACCESSED != 0 {
            *entry = value & !ACCESSED;
            young += 1;
        } else {
            *entry = value | ACCESSED;
        }
        last = last.max(value >> 12);
    }
    young + last
}

/// A tree over keys, of which each level takes four bits.
struct Tree {
    /// The children of all nodes: numbers of nodes in inner nodes, values in leaves.
    slots: Vec<u64>,
}

impl Tree {
    fn new() -> Self {
        let inner = (0..LEVELS as u32 - 1).map(|level| FANOUT.pow(level)).sum::<usize>();
        let nodes = inner + FANOUT.pow(LEVELS as u32 - 1);
        let slot = |at: usize| {
            let (node, child) = (at / FANOUT, at % FANOUT);
            if node < inner { (node * FANOUT + child + 1) as u64 } else { at as u64 }
        };
        Self { slots: (0..nodes * FANOUT).map(slot).collect() }
    }

    /// Looks up keys, and stores at those that hold a value.
    #[inline(never)]
    fn look_up(&mut self) {
        let mut found = 0;
        for key in (0..KEYS).step_by(KEYS / TURNS) {
            let mut node = 0;
            for level in (1..LEVELS).rev() {
                node = self.slots[node * FANOUT + (key >> (4 * level)) % FANOUT] as usize;
            }
            let slot = &mut self.slots[node * FANOUT + key % FANOUT];
            if *slot != 0 {
                *slot ^= 1 << 32;
                found += 1;
            }
        }
        black_box(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_go_from_list_to_list_in_their_order() {
        let mut lists = Lists::new(4);
        let order = |lists: &Lists, head: usize| {
            let mut at = lists.nodes[head].next as usize;
            let mut keys = Vec::new();
            while at != head {
                assert_eq!(lists.nodes[lists.nodes[at].next as usize].previous as usize, at);
                keys.push(lists.nodes[at].key);
                at = lists.nodes[at].next as usize;
            }
            keys
        };
        assert_eq!((order(&lists, 4), order(&lists, 5)), (vec![0, 1, 2, 3], vec![]));
        assert_eq!(move_plain(&mut lists.nodes, 4, 5) + move_atomic(&mut lists.nodes, 4, 5), 1);
        assert_eq!((order(&lists, 4), order(&lists, 5)), (vec![2, 3], vec![0, 1]));
        lists.nodes[2].state = AtomicU64::new(REFERENCED);
        move_plain(&mut lists.nodes, 4, 5);
        assert_eq!((order(&lists, 4), order(&lists, 5)), (vec![3, 2], vec![0, 1]));
    }

    #[test]
    fn entries_are_old_and_young_by_turns() {
        let mut entries = vec![PRESENT, 7 << 12 | PRESENT, 0];
        assert_eq!(visit(&mut entries), 7);
        assert_eq!(visit(&mut entries), 2 + 7);
        assert_eq!(entries, [PRESENT, 7 << 12 | PRESENT, 0]);
    }

    #[test]
    fn a_tree_has_a_slot_for_each_key() {
        let mut tree = Tree::new();
        tree.look_up();
        let stored = tree.slots.iter().filter(|slot| **slot >> 32 == 1).count();
        assert_eq!(stored, TURNS);
    }
}

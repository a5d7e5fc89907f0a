//! Demotion by the caller: pages that aging finds cold move to frames of a slow node, and hot pages
//! there move back.
//!
//! The process fills its memory, at first from the fast node. Then it uses a part of it, half of
//! which came late and lies on the slow node. After half of the rounds it uses another part.

use super::machine::{Hardware, Machine, address};
use super::system::{START, System, TUNING, boot};
use core::fmt::Write as _;
use core::ops::Range;
use pageout_paging::pte::X86_64;
use pageout_paging::{Format, Order, Pfn};
use pageout_reclaim::mglru::{LruGenCaps, MAX_NR_GENS};
use pageout_reclaim::{Access, Frames, LruvecId, MemcgId, MmId, NodeId, Targets};

/// The two nodes, and their frames.
const FAST: (NodeId, Range<u64>) = (NodeId(0), 0..64);
const SLOW: (NodeId, Range<u64>) = (NodeId(1), 64..192);
/// The size of folios: four pages.
const FOLIO: Order = Order::new(2).expect("a small order");
/// The pages of the process, and those that it uses in the first half of the rounds and in the
/// second.
const PAGES: u64 = 128;
const HOT: [Range<u64>; 2] = [40..88, 80..128];
const ROUNDS: usize = 8;

type Numa<'e, 'm> = System<'e, 'm, X86_64>;

/// A supply of the frames of one node.
struct Node<'a, 'm>(&'a Machine<'m, X86_64>, Range<u64>);

impl Targets for Node<'_, '_> {
    fn take(&mut self, order: Order) -> Option<Pfn> {
        self.0.alloc_in(Pfn::new(self.1.start)..Pfn::new(self.1.end), order)
    }

    fn give_back(&mut self, pfn: Pfn, order: Order) {
        self.0.free(pfn, order);
    }
}

/// Returns the first frames of the folios on a node whose generation is one of `ages`. The youngest
/// has age 0.
fn folios(
    system: &Numa<'_, '_>,
    (node, frames): (NodeId, Range<u64>),
    ages: Range<usize>,
) -> Vec<Pfn> {
    let maps = system.maps;
    let youngest =
        maps.lru_gen_seqs(LruvecId { memcg: MemcgId::ROOT, node }).expect("it is online").0
            as usize;
    let is_wanted = |pfn: &Pfn| {
        let folio = maps.folio_of(*pfn).and_then(|id| maps.folio(id).ok());
        let folio = folio.filter(|folio| folio.pfn() == *pfn);
        let generation = folio.and_then(|folio| folio.recency().generation());
        let age = generation.map(|listed| (youngest + MAX_NR_GENS - listed) % MAX_NR_GENS);
        age.is_some_and(|age| ages.contains(&age))
    };
    frames.map(Pfn::new).filter(is_wanted).collect()
}

/// Moves folios to a node until that is full. Returns the pages moved.
fn migrate(system: &mut Numa<'_, '_>, folios: &[Pfn], to: Range<u64>) -> u64 {
    let machine = &system.machine;
    let mut engine = system.maps.on(machine, &mut system.cpu, TUNING);
    let (mut node, mut moved) = (Node(machine, to), 0);
    for pfn in folios {
        // A folio that finds no target goes back to its list as if it was used just now, so it is
        // not asked to move.
        let Some(free) = node.take(FOLIO) else { break };
        node.give_back(free, FOLIO);
        moved += engine.migrate_range(*pfn..pfn.add(1), &mut node).moved;
    }
    moved
}

/// Moves cold folios to the slow node, and hot folios from there to the room they left. Returns the
/// pages demoted and promoted.
fn balance_nodes(system: &mut Numa<'_, '_>) -> [u64; 2] {
    // Both are chosen before either moves, since a folio that moves begins in a young generation.
    let cold = folios(system, FAST, 2..MAX_NR_GENS);
    let hot = folios(system, SLOW, 0..2);
    [migrate(system, &cold, SLOW.1), migrate(system, &hot, FAST.1)]
}

/// The pages on the fast and on the slow node, and the pages moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Round {
    pub(crate) hot: [u64; 2],
    pub(crate) cold: [u64; 2],
    /// The pages demoted, and those promoted.
    pub(crate) moved: [u64; 2],
}

/// Finds the node of each page by its entry.
fn places(system: &Numa<'_, '_>, mm: MmId, hot: &Range<u64>, moved: [u64; 2]) -> Round {
    let root = system.maps.mm(mm).expect("it lives").root();
    let mut round = Round { hot: [0; 2], cold: [0; 2], moved };
    for page in 0..PAGES {
        let pte = system.machine.entry(root, address::<X86_64>(START + page));
        let pfn = X86_64::pfn(pte).get();
        let of = if hot.contains(&page) { &mut round.hot } else { &mut round.cold };
        of[usize::from(SLOW.1.contains(&pfn))] += 1;
    }
    round
}

/// Returns the places of pages before the first round, and after each.
pub(crate) fn run() -> Vec<Round> {
    boot::<X86_64, _>(SLOW.1.end as usize, Hardware::PLAIN, |system| {
        system.maps.set_node_start(Pfn::new(SLOW.1.start), SLOW.0).expect("the first run");
        system.engine().set_lru_gen_caps(LruGenCaps::CORE | LruGenCaps::MM_WALK);
        let mm = system.spawn(MemcgId::ROOT, PAGES, FOLIO.get());
        system.store(mm, 0..PAGES);
        let mut rounds = vec![places(system, mm, &HOT[0], [0; 2])];
        for round in 0..ROUNDS {
            let hot = &HOT[round * 2 / ROUNDS];
            for page in hot.clone() {
                system.touch(mm, START + page, Access::Read);
            }
            system.age();
            let moved = balance_nodes(system);
            rounds.push(places(system, mm, hot, moved));
        }
        for page in 0..PAGES {
            let pfn = system.touch(mm, START + page, Access::Read);
            assert_eq!(system.machine.word(pfn).get(), START + page, "it moved with its page");
        }
        rounds
    })
}

pub(crate) fn text() -> String {
    let mut text = format!("{:>5}{:>16}{:>18}\n", "round", "hot: fast slow", "cold: fast slow");
    text = text.trim_end().to_owned() + "   demoted  promoted\n";
    for (k, Round { hot, cold, moved }) in run().into_iter().enumerate() {
        let _ = writeln!(
            text,
            "{k:>5}{:>11}{:>5}{:>13}{:>5}{:>10}{:>10}",
            hot[0], hot[1], cold[0], cold[1], moved[0], moved[1]
        );
    }
    text
}

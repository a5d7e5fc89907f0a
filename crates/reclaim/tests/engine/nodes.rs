//! Memory on two nodes: whose lists a folio is on, and what each reclaim takes from them.

use crate::migrate::Anywhere;
use crate::pressure::{is_cached, memcg, read, try_read};
use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::pte::SmallX86;
use pageout_paging::{LockEvent, LockWord, Order, Pfn, Sound};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Agent, Counter, CpuCtx, Errno, FolioId, Frames, Limits, LruFlags, LruList, LruvecId, MappingId,
    MemcgId, NodeId, ReclaimOptions,
};
use pageout_uapi::lru_gen::{self, Command};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

type W<'a> = World<'a, SmallX86>;

const ROOM: Limits =
    Limits { folios: 600, shadows: 1024, memcgs: 4, filters: 4, nodes: 2, ..LIMITS };

const ROOT: MemcgId = MemcgId::ROOT;
const NODES: [NodeId; 2] = [NodeId(0), NodeId(1)];

/// The frames of each node, which has two runs of them.
const RUNS: [[u64; 2]; 2] = [[0, 512], [256, 768]];

/// The number of frames in each run.
const RUN: u64 = 256;

/// Lets the second and the fourth run of frames lie on node 1.
fn spread(world: &W<'_>) {
    let mut memory = world.env.memory();
    let all = memory.range();
    memory.set_away(Pfn::new(4 * RUN)..all.end, true);
    for (first, node) in [(256, 1), (512, 0), (768, 1)] {
        let (first, node) = (Pfn::new(first), NodeId(node));
        world.maps.set_node_start(first, node).expect("in order");
        memory.nodes.push((first, node));
    }
}

/// Lets new folios get frames only of one node.
fn prefer(world: &W<'_>, node: NodeId) {
    let mut memory = world.env.memory();
    for (of, starts) in NODES.into_iter().zip(RUNS) {
        for start in starts {
            memory.set_away(Pfn::new(start)..Pfn::new(start + RUN), of != node);
        }
    }
}

/// Lets new folios get frames of all nodes.
fn prefer_none(world: &W<'_>) {
    world.env.memory().set_away(Pfn::new(0)..Pfn::new(4 * RUN), false);
}

/// Reads pages of a file of its own on each node. Returns the files.
fn read_both(world: &mut W<'_>, pages: u64, memcg: MemcgId) -> [MappingId; 2] {
    let files = NODES.map(|node| {
        let file = world.file();
        prefer(world, node);
        read(world, file, pages, memcg);
        file
    });
    prefer_none(world);
    files
}

/// Returns the number of pages of a file in memory.
fn cached(world: &mut W<'_>, file: MappingId) -> usize {
    (0..300).filter(|index| is_cached(world, file, *index)).count()
}

fn inactive(world: &W<'_>, memcg: MemcgId) -> [u64; 2] {
    let size = |node| {
        world
            .maps
            .lru_size_own(LruvecId { memcg, node }, LruList::InactiveFile)
            .expect("it is online")
    };
    NODES.map(size)
}

fn both_lrus(test: impl Fn(&mut W<'_>)) {
    for caps in [LruGenCaps::empty(), LruGenCaps::CORE | LruGenCaps::MM_WALK] {
        let mut arena = Arena::new::<SmallX86>(&ROOM);
        let mut world: W<'_> = arena.world();
        spread(&world);
        world.engine().set_lru_gen_caps(caps);
        test(&mut world);
    }
}

#[test]
fn a_frame_lies_on_the_node_of_its_run() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let world: W<'_> = arena.world();
    assert_eq!(world.maps.node_of(Pfn::new(300)), NodeId(0), "before any run is named");
    spread(&world);
    for (node, starts) in NODES.into_iter().zip(RUNS) {
        for start in starts {
            for pfn in [start, start + 1, start + RUN - 1] {
                assert_eq!(world.maps.node_of(Pfn::new(pfn)), node, "frame {pfn}");
            }
        }
    }
    assert_eq!(
        world.maps.node_of(Pfn::new(u64::from(u32::MAX))),
        NodeId(1),
        "the last run goes on"
    );
    assert!(world.maps.nodes().eq(NODES));
}

#[test]
fn folios_are_on_lists_of_their_frames_node() {
    both_lrus(|world| {
        let group = memcg(world, ROOT);
        read_both(world, 300, group);
        assert_eq!(inactive(world, group), [300, 300], "from both runs of each node");
        assert_eq!(inactive(world, ROOT), [0, 0]);
        assert_eq!(world.maps.lru_size(ROOT, LruList::InactiveFile).expect("it is online"), 600);
    });
}

#[test]
fn background_reclaim_takes_from_its_node_up_to_its_watermark() {
    both_lrus(|world| {
        let files = read_both(world, 200, ROOT);
        for (node, file) in NODES.into_iter().zip(files) {
            let free = world.env.free_pages_on(node);
            world.maps.set_high_watermark(node, free as u64 + 100).expect("a node");
            let [before, other] = [file, files[usize::from(node.0 == 0)]].map(|f| cached(world, f));
            assert!(world.engine().balance(node).expect("a node"));
            let taken = before - cached(world, file);
            assert!((100..200).contains(&taken), "{taken} pages of {node:?}");
            assert_eq!(world.env.free_pages_on(node), free + taken);
            assert_eq!(cached(world, files[usize::from(node.0 == 0)]), other, "not of the other");
            assert!(world.engine().balance(node).expect("a node"), "nothing is left to do");
        }
    });
}

#[test]
fn a_node_without_memory_is_balanced_if_nothing_is_asked_of_it() {
    both_lrus(|world| {
        prefer(world, NodeId(0));
        let file = world.file();
        read(world, file, 100, ROOT);
        assert!(world.engine().balance(NodeId(1)).expect("a node"));
        world.maps.set_high_watermark(NodeId(1), 4096).expect("a node");
        assert!(!world.engine().balance(NodeId(1)).expect("a node"));
        assert_eq!(cached(world, file), 100);
    });
}

#[test]
fn direct_reclaim_takes_from_all_nodes() {
    both_lrus(|world| {
        let files = read_both(world, 200, ROOT);
        let mut got = 0;
        while got < 300 {
            let more = world.engine().try_to_free_pages();
            assert!(more > 0, "{got} so far");
            got += more;
        }
        let left = files.map(|file| cached(world, file) as u64);
        assert_eq!(left.iter().sum::<u64>(), 400 - got);
        assert!(left.iter().all(|left| *left < 150), "from each: {left:?} of 200 are left");
    });
}

#[test]
fn a_cgroup_is_reclaimed_on_all_nodes_for_its_limit() {
    both_lrus(|world| {
        let group = memcg(world, ROOT);
        let files = read_both(world, 100, group);
        let options = ReclaimOptions { may_swap: true, swappiness: None, agent: Agent::Direct };
        let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
        let all = maps
            .on(env, cpu, tuning())
            .try_to_free_mem_cgroup_pages(group, 200, options)
            .expect("it is online");
        assert_eq!(all, 200);
        assert_eq!(files.map(|file| cached(world, file)), [0, 0]);
    });
}

#[test]
fn folios_of_a_removed_cgroup_join_the_parents_lists_on_their_node() {
    both_lrus(|world| {
        let group = memcg(world, ROOT);
        read_both(world, 80, group);
        assert_eq!(inactive(world, group), [80, 80]);
        world.engine().remove_memcg(group).expect("it is empty of processes");
        assert_eq!(inactive(world, ROOT), [80, 80]);
        assert_eq!(world.maps.lru_size(ROOT, LruList::InactiveFile).expect("it is online"), 160);
    });
}

#[test]
fn a_folio_that_moves_to_another_node_is_on_its_lists() {
    both_lrus(|world| {
        let files = read_both(world, 50, ROOT);
        prefer(world, NodeId(1));
        let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
        let done = maps
            .on(env, cpu, tuning())
            .migrate_range(Pfn::new(0)..Pfn::new(RUN), &mut Anywhere(env));
        assert_eq!((done.moved, done.failed), (50, 0));
        assert_eq!(inactive(world, ROOT), [0, 100]);
        assert_eq!(files.map(|file| cached(world, file)), [50, 50]);
    });
}

#[test]
fn switching_moves_the_folios_of_all_nodes() {
    both_lrus(|world| {
        read_both(world, 30, ROOT);
        let generations = world.maps.lru_gen_caps().contains(LruGenCaps::CORE);
        let listed = |world: &W<'_>| {
            let folios = |node| LruvecId { memcg: ROOT, node };
            NODES.map(|node| {
                world
                    .maps
                    .lru_folios(folios(node), LruList::InactiveFile)
                    .expect("it is online")
                    .count()
            })
        };
        assert_eq!(listed(world), if generations { [0, 0] } else { [30, 30] });
        let caps = if generations { LruGenCaps::empty() } else { LruGenCaps::CORE };
        world.engine().set_lru_gen_caps(caps);
        assert_eq!(listed(world), if generations { [30, 30] } else { [0, 0] });
        assert_eq!(inactive(world, ROOT), [30, 30], "and counts stay");
    });
}

/// Evictions from one node do not age the shadows of another, and are no cost of it.
#[test]
fn refaults_are_judged_by_the_clock_of_the_node() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    spread(&world);
    let [near, far] = read_both(&mut world, 100, ROOT);
    // Ten pages of node 0 that are active: a refault within ten evictions counts.
    let hot: Vec<FolioId> = (90..100)
        .map(|index| world.engine().filemap_get_folio(near, index).expect("it lives").expect("in"))
        .collect();
    for id in hot {
        assert_eq!(world.engine().activate(id), Ok(true));
        world.engine().release(id, 1).expect("the caller has it");
    }
    let reclaim = |world: &mut W<'_>, node: NodeId, pages: u64| {
        let free = world.env.free_pages_on(node) as u64;
        world.maps.set_high_watermark(node, free + pages).expect("a node");
        assert!(world.engine().balance(node).expect("a node"));
    };
    reclaim(&mut world, NodeId(0), 1);
    let gone = (0..90).rev().find(|index| !is_cached(&mut world, near, *index)).expect("one went");
    reclaim(&mut world, NodeId(1), 60);
    assert!(cached(&mut world, far) <= 40);
    let activated = |world: &mut W<'_>| {
        world.engine().counter(ROOT, Counter::WorkingsetActivateFile).expect("it is online")
    };
    let before = activated(&mut world);
    prefer(&world, NodeId(0));
    try_read(&mut world, near, gone, ROOT).expect("no limit");
    assert_eq!(activated(&mut world), before + 1, "its own node evicted few since");
    reclaim(&mut world, NodeId(0), 40);
    let old = (0..90).find(|index| !is_cached(&mut world, near, *index)).expect("the oldest went");
    let before = activated(&mut world);
    try_read(&mut world, near, old, ROOT).expect("no limit");
    assert_eq!(activated(&mut world), before, "its own node evicted many since");
}

/// Walks are for a node: each finds the address spaces that ran, and ages only its own folios.
#[test]
fn aging_walks_for_one_node_at_a_time() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    spread(&world);
    world.use_generations();
    let (mm, file) = (world.process(), world.file());
    let mut all = Vec::new();
    for (k, node) in (0_u64..).zip(NODES) {
        prefer(&world, node);
        all.extend(world.mapped(mm, file, 0, 4 * k..4 * (k + 1)));
    }
    let generation = |world: &W<'_>, at: usize| world.generation(all[at]);
    for (round, node) in [(0, NodeId(0)), (1, NodeId(1)), (2, NodeId(1))] {
        (0..8).for_each(|number| world.touch(mm, number));
        world.maps.lru_gen_use_mm(mm).expect("it lives");
        let lruvec = LruvecId { memcg: ROOT, node };
        let (seq, _) = world.maps.lru_gen_seqs(lruvec).expect("it is online");
        let before: Vec<_> = (0..8).map(|at| generation(&world, at)).collect();
        let engine = &mut world.engine();
        assert!(
            engine.try_to_inc_max_seq(lruvec, seq, 60, false).expect("it is online"),
            "round {round}"
        );
        assert_eq!(world.maps.lru_gen_seqs(lruvec).expect("it is online").0, seq + 1);
        let own = if node == NodeId(0) { 0..4 } else { 4..8 };
        for at in (0..8).filter(|at| !own.contains(at)) {
            assert_eq!(generation(&world, at), before[at], "round {round}, folio {at}");
        }
        let young: Vec<u64> = world.young(mm, 0..8);
        let others: Vec<u64> = (0..8).filter(|n| !own.contains(&(*n as usize))).collect();
        assert_eq!(young, others, "round {round}: only its own entries are cleared");
    }
    let stats = NODES.map(|node| {
        world.maps.mm_stats(LruvecId { memcg: ROOT, node }).expect("it is online").leaf_young
    });
    assert_eq!(stats, [4, 8], "a round for node 0, two for node 1");
    let walked = |node: NodeId, world: &mut W<'_>| {
        let lruvec = LruvecId { memcg: ROOT, node };
        let before = world.maps.mm_stats(lruvec).expect("it is online").leaf_total;
        let (seq, _) = world.maps.lru_gen_seqs(lruvec).expect("it is online");
        world.engine().try_to_inc_max_seq(lruvec, seq, 60, false).expect("it is online");
        world.maps.mm_stats(lruvec).expect("it is online").leaf_total > before
    };
    assert!(walked(NodeId(0), &mut world), "it ran since the last walk for node 0");
    assert!(!walked(NodeId(0), &mut world), "and not since");
    assert!(!walked(NodeId(1), &mut world), "and not since the last walk for node 1");
}

#[test]
fn the_text_shows_each_node_and_commands_name_one() {
    let mut arena = Arena::new::<SmallX86>(&ROOM);
    let mut world: W<'_> = arena.world();
    spread(&world);
    world.engine().set_lru_gen_caps(LruGenCaps::CORE);
    read_both(&mut world, 3, ROOT);
    let run = |world: &mut W<'_>, text: &str| {
        let command = Command::parse(text).expect("a command");
        world.engine().lru_gen_command(&command)
    };
    assert_eq!(run(&mut world, "+ 0 1 3"), Ok(()));
    assert_eq!(run(&mut world, "+ 0 2 3"), Err(Errno::EINVAL), "there is no node 2");
    let seqs = NODES.map(|node| {
        world.maps.lru_gen_seqs(LruvecId { memcg: ROOT, node }).expect("it is online").0
    });
    assert_eq!(seqs, [3, 4]);
    assert_eq!(run(&mut world, "- 0 1 1"), Ok(()));
    assert_eq!(inactive(&world, ROOT), [3, 0], "evicted from node 1 alone");
    let mut text = String::new();
    let cpu = &mut CpuCtx::new();
    let engine = world.maps.on(&world.env, cpu, tuning());
    let nodes = world.maps.nodes().map(|node| {
        (
            u32::from(node.0),
            engine
                .lru_gen_generations(LruvecId { memcg: ROOT, node }, false)
                .expect("it is online"),
        )
    });
    lru_gen::show(&mut text, 0, "/", nodes).expect("a string");
    let wanted = "\
memcg 0 /
 node     0
          0          0          0           3 
          1          0          0           0 
          2          0          0           0 
          3          0          0           0 
 node     1
          1          0          0           0 
          2          0          0           0 
          3          0          0           0 
          4          0          0           0 
";
    assert_eq!(text, wanted);
}

#[test]
fn a_large_folio_is_on_the_node_of_its_first_frame() {
    both_lrus(|world| {
        prefer(world, NodeId(1));
        let file = world.file();
        let id = world.folio(file, 4, 0);
        world.engine().lru_add(id).expect("it lives");
        let folio = world.maps.folio(id).expect("it lives");
        assert_eq!((folio.node(), folio.order()), (NodeId(1), Order::new(4).expect("small")));
        assert_eq!(inactive(world, ROOT), [0, 16]);
    });
}

/// A folio's node changes under the lock of its lists, as its cgroup does: a task that has it knows
/// where the folio would be put.
#[test]
fn a_folio_changes_its_node_under_the_lock_of_its_lists() {
    both_lrus(|world| {
        let group = memcg(world, ROOT);
        prefer(world, NodeId(0));
        let file = world.file();
        read(world, file, 1, group);
        let found = world.engine().filemap_get_folio(file, 0).expect("it lives").expect("in");
        world.engine().release(found, 1).expect("the caller has it");
        prefer(world, NodeId(1));
        let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
        let folio = maps.folio(found).expect("it lives");
        let [isolated, removes, goes_on] = [(); 3].map(|()| AtomicBool::new(false));
        let wait_for = |that: &AtomicBool| {
            while !that.load(Relaxed) {
                thread::yield_now();
            }
        };
        let in_move = |_| {
            if !folio.lru().contains(LruFlags::LRU) && !isolated.swap(true, Relaxed) {
                wait_for(&removes);
            }
        };
        let in_wait = |event, lock: LockWord| {
            if (event, lock.rank) == (LockEvent::Wait, "lru") {
                goes_on.store(true, Relaxed);
            }
        };
        let in_removal = |event, lock: LockWord| {
            if (event, lock.rank) == (LockEvent::Hold, "lru") && !removes.swap(true, Relaxed) {
                wait_for(&goes_on);
                assert_eq!(folio.node(), NodeId(0), "its lists on node 0 are locked");
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                let ground = env.ruled::<Sound>(&in_move);
                let (ground, mut other) = (ground.watched(&in_wait), CpuCtx::new());
                let done = maps
                    .on(&ground, &mut other, tuning())
                    .migrate_range(Pfn::new(0)..Pfn::new(RUN), &mut Anywhere(env));
                goes_on.store(true, Relaxed);
                assert_eq!(done.moved, 1);
            });
            wait_for(&isolated);
            let ground = env.watched(&in_removal);
            maps.on(&ground, cpu, tuning()).remove_memcg(group).expect("no process is in it");
        });
        assert_eq!(inactive(world, ROOT), [0, 1]);
    });
}

//! Requests for reclaim, and switches of the multi-generational LRU.

use crate::model::Model;
use crate::steps::Op;
use pageout_paging::{Format, Order, Pfn, Rules};
use pageout_reclaim::mglru::LruGenCaps;
use pageout_reclaim::{
    Chunk, Errno, Frames, GrowError, Growth, LruvecId, NodeId, ReclaimRequest, Targets,
};
use pageout_sim::Ground;
use pageout_uapi::lru_gen::{Command, Operation};

/// A supply of targets for migration: the lowest free run, or the highest.
struct Runs<'a, W> {
    world: &'a W,
    take: fn(&W, Order) -> Option<Pfn>,
}

impl<W: Frames> Targets for Runs<'_, W> {
    fn take(&mut self, order: Order) -> Option<Pfn> {
        (self.take)(self.world, order)
    }

    fn give_back(&mut self, pfn: Pfn, order: Order) {
        self.world.free(pfn, order);
    }
}

impl<F: Format, R: Rules> Model<'_, '_, F, R> {
    /// Runs an operation of reclaim.
    pub(crate) fn reclaim(&self, op: &Op) {
        match *op {
            Op::ReclaimCgroup { memcg, pages, swappiness } => {
                self.reclaim_cgroup(memcg, pages, swappiness);
            }
            Op::ReclaimAll => self.with_engine(|engine| {
                engine.try_to_free_pages();
            }),
            Op::Balance { node, high } => {
                self.maps.set_high_watermark(NodeId(node), high).expect("a node");
                self.with_engine(|engine| engine.balance(NodeId(node)).expect("a node"));
            }
            Op::ReclaimZone { zone } => self.with_engine(|engine| {
                engine.try_to_free_pages_of(zone);
            }),
            Op::SwitchLruGen { caps } => self.switch_lru_gen(caps),
            Op::MinTtl { ms } => {
                self.maps.set_min_ttl_ms(ms);
            }
            Op::Age { memcg, node, older, swappiness, force } => {
                self.command(Operation::Age, (memcg, node), older, (swappiness, u64::from(force)));
            }
            Op::EvictGenerations { memcg, node, older, swappiness, pages } => {
                self.command(Operation::Evict, (memcg, node), older, (swappiness, pages));
            }
            Op::MarkAccessed { file, page } => self.mark_accessed(file, page),
            _ => unreachable!("{op:?} is none of reclaim's"),
        }
    }

    /// Moves the folios of a range of frames.
    pub(crate) fn migrate(&self, at: u64, nr: u64, high: bool) {
        let take: fn(&Ground<&Self, R>, Order) -> Option<Pfn> = match high {
            true => |world, order| world.hardware.memory().alloc_last(order),
            false => |world, order| world.alloc(order),
        };
        let range = Pfn::new(at)..Pfn::new(at + nr);
        let targets = &mut Runs { world: &self.ground(), take };
        self.with_engine(|engine| engine.migrate_range(range, targets));
    }

    /// Takes the frames of a range away, and empties them.
    pub(crate) fn offline(&self, at: u64, nr: u64) {
        let all = self.hardware.memory().range();
        let range = Pfn::new(at).min(all.end)..Pfn::new(at + nr).min(all.end);
        self.hardware.memory().set_away(range.clone(), true);
        let targets = &mut Runs { world: &self.ground(), take: |world, order| world.alloc(order) };
        let done = self.with_engine(|engine| engine.offline_pages(range.clone(), targets));
        assert_eq!(done.migrated.bad_target, None);
        let memory = self.hardware.memory();
        let mut frames = (range.start.get()..range.end.get()).map(Pfn::new);
        let in_use = frames.find(|pfn| memory.frame(*pfn).used);
        assert_eq!(done.in_use, in_use, "every frame in use has a folio");
    }

    /// Lets tables grow, unless they did so often enough.
    pub(crate) fn grow(&self, growth: &Growth) {
        let bytes = Box::leak(Box::new_uninit_slice(Chunk::bytes_for(growth)));
        let chunk = Chunk::carve(bytes, growth).expect("as many as they take");
        let grown = self.with_engine(|engine| engine.grow(chunk));
        assert!(matches!(grown, Ok(()) | Err(GrowError::Parts(_))), "{grown:?}");
    }

    /// Adds all frames that were taken away.
    pub(crate) fn online(&self) {
        let mut memory = self.hardware.memory();
        let all = memory.range();
        memory.set_away(all, false);
    }

    fn reclaim_cgroup(&self, memcg: usize, pages: u64, swappiness: Option<u8>) {
        let request = ReclaimRequest { bytes: pages << F::PAGE_SHIFT, swappiness };
        let memcg = self.memcg(memcg);
        let done = self.with_engine(|engine| engine.memory_reclaim(memcg, request));
        assert!(done.is_ok() || done == Err(Errno::EAGAIN), "{request}: {done:?}");
    }

    /// Executes a command of `lru_gen`, for the generation that is `older` generations older than
    /// the youngest.
    fn command(
        &self,
        operation: Operation,
        (memcg, node): (usize, u8),
        older: u64,
        (swappiness, option): (u8, u64),
    ) {
        let lruvec = LruvecId { memcg: self.memcg(memcg), node: NodeId(node) };
        let seq = self.maps.lru_gen_seqs(lruvec).expect("it is online").0 - older;
        let swappiness = Some(swappiness);
        let memcg = lruvec.memcg.index().into();
        let command = Command { operation, memcg, node: node.into(), seq, swappiness, option };
        let done = self.with_engine(|engine| engine.lru_gen_command(&command));
        let refused = match operation {
            Operation::Age => Err(Errno::EEXIST),
            Operation::Evict => Err(Errno::EINVAL),
        };
        assert!(done.is_ok() || done == refused, "{command}: {done:?}");
    }

    /// Switches parts of the multi-generational LRU on and off, unless a switch is in progress, for
    /// which this would wait.
    fn switch_lru_gen(&self, caps: u8) {
        if !self.switching.replace(true) {
            let caps = LruGenCaps::from_bits_truncate(caps);
            self.with_engine(|engine| engine.set_lru_gen_caps(caps));
            self.switching.set(false);
        }
    }

    /// Uses a page of a file that is in memory, through a file descriptor.
    fn mark_accessed(&self, file: usize, page: u64) {
        let file = self.files.borrow()[file];
        self.with_engine(|engine| {
            if let Some(id) = engine.filemap_get_folio(file, page).expect("it lives") {
                engine.mark_accessed(id).expect("it lives");
                engine.release(id, 1).expect("the caller has it");
            }
        });
    }
}

//! Requests for reclaim, and switches of the multi-generational LRU.

use crate::model::Model;
use crate::steps::Op;
use pageout_paging::{Format, Order, Pfn, Rules};
use pageout_reclaim::{Errno, Frames, Targets};
use pageout_sim::Ground;

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
            Op::Balance { high } => {
                self.maps.set_high_watermark(high);
                self.with_engine(|engine| engine.balance());
            }
            Op::ReclaimZone { zone } => self.with_engine(|engine| {
                engine.try_to_free_pages_of(zone);
            }),
            Op::SwitchLruGen { caps } => self.switch_lru_gen(caps),
            Op::MinTtl { ms } => {
                let done = self.maps.min_ttl_ms_store(&ms.to_string());
                assert_eq!(done, Ok(()), "a number is understood");
            }
            Op::Age { memcg, older, swappiness, force } => {
                self.command('+', memcg, older, (swappiness, u64::from(force)));
            }
            Op::EvictGenerations { memcg, older, swappiness, pages } => {
                self.command('-', memcg, older, (swappiness, pages));
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

    fn reclaim_cgroup(&self, memcg: usize, pages: u64, swappiness: Option<u8>) {
        let mut text = (pages << F::PAGE_SHIFT).to_string();
        match swappiness {
            Some(201) => text += " swappiness=max",
            Some(swappiness) => text += &format!(" swappiness={swappiness}"),
            None => {}
        }
        let memcg = self.memcg(memcg);
        let done = self.with_engine(|engine| engine.memory_reclaim(memcg, &text));
        assert!(done.is_ok() || done == Err(Errno::EAGAIN), "{text:?}: {done:?}");
    }

    /// Writes a command to `lru_gen`, for the generation that is `older` generations older than the
    /// youngest.
    fn command(&self, command: char, memcg: usize, older: u64, (swappiness, last): (u8, u64)) {
        let memcg = self.memcg(memcg);
        let seq = self.maps.lru_gen_seqs(memcg).0 - older;
        let swappiness = match swappiness {
            201 => "max".to_owned(),
            number => number.to_string(),
        };
        let text = format!("{command} {} 0 {seq} {swappiness} {last}", memcg.0);
        let done = self.with_engine(|engine| engine.lru_gen_write(&text));
        let refused = match command {
            '+' => Err(Errno::EEXIST),
            _ => Err(Errno::EINVAL),
        };
        assert!(done.is_ok() || done == refused, "{text:?}: {done:?}");
    }

    /// Switches parts of the multi-generational LRU on and off, unless a switch is in progress, for
    /// which this would wait.
    fn switch_lru_gen(&self, caps: u8) {
        if !self.switching.replace(true) {
            let text = caps.to_string();
            let done = self.with_engine(|engine| engine.lru_gen_enabled_store(&text));
            assert_eq!(done, Ok(()), "a number is understood");
            self.switching.set(false);
        }
    }

    /// Uses a page of a file that is in memory, through a file descriptor.
    fn mark_accessed(&self, file: usize, page: u64) {
        let file = self.files.borrow()[file];
        self.with_engine(|engine| {
            if let Some(id) = engine.filemap_get_folio(file, page).expect("it lives") {
                engine.mark_accessed(id);
                engine.release(id, 1).expect("the caller has it");
            }
        });
    }
}

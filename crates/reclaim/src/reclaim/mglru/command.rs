//! The commands of `lru_gen`, executed.

use crate::engine::Engine;
use crate::id::MemcgNr;
use crate::lru::mglru::{MIN_NR_GENS, MmWalk};
use crate::reclaim::scan::{Agent, ScanControl};
use crate::world::World;
use pageout_uapi::Errno;
use pageout_uapi::lru_gen::{Command, Operation};

impl<W: World> Engine<'_, W> {
    /// Executes a command of `lru_gen` (Linux 7.3.4, `run_cmd`); [`pageout_uapi::lru_gen::write`]
    /// reads those of a write. A cgroup's number is [`MemcgId::index`](crate::MemcgId::index).
    ///
    /// [`Operation::Age`] opens a new generation and moves used folios to it. Unless the option is
    /// 0, all page tables are walked, regardless of filters. [`Operation::Evict`] evicts
    /// generations up to the one named, or as many pages as the option says.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] if the command names no cgroup or no node, if its generation does not
    /// exist yet, or if it would evict one of the two youngest. [`Errno::EEXIST`] if a concurrent
    /// walk opens the generation instead. [`Errno::EINTR`] of an eviction if a signal is pending
    /// before a round of it, even before the first and if nothing is left to do.
    pub fn lru_gen_command(&mut self, command: &Command) -> Result<(), Errno> {
        let node = self.maps.nodes().find(|node| u32::from(node.0) == command.node);
        let node = node.ok_or(Errno::EINVAL)?;
        let tree = self.lock_tree();
        let named = |id: &MemcgNr| u64::from(id.0) == command.memcg;
        let done = match self.maps.subtree(MemcgNr::ROOT).find(named) {
            None => Err(Errno::EINVAL),
            Some(memcg) => {
                self.cpu.walk = Some(MmWalk::default());
                let mut sc = ScanControl::new(Some(memcg), 0, Agent::Proactive);
                (sc.priority, sc.node) = (0, node);
                let done = match command.operation {
                    Operation::Age => self.run_aging(memcg, command, &sc),
                    Operation::Evict => self.run_eviction(memcg, command, &mut sc),
                };
                self.cpu.walk = None;
                done
            }
        };
        drop(tree);
        done
    }

    /// Opens the generation after the youngest, even if the command names an older one.
    fn run_aging(
        &mut self,
        memcg: MemcgNr,
        command: &Command,
        sc: &ScanControl,
    ) -> Result<(), Errno> {
        let maps = self.maps;
        let youngest = maps.lru_gen(sc.lruvec(memcg)).max_seq();
        if command.seq > youngest {
            return Err(Errno::EINVAL);
        }
        let swappiness = command.swappiness.unwrap_or_else(|| maps.get_swappiness(memcg, sc));
        let (force, _aging) = (command.option != 0, self.tuning.aging);
        match self.try_to_inc_max_seq_at(sc.lruvec(memcg), youngest, swappiness, force) {
            true => Ok(()),
            false => Err(Errno::EEXIST),
        }
    }

    /// Evicts until all generations up to the one named are retired, enough pages are reclaimed, or
    /// no more can be.
    fn run_eviction(
        &mut self,
        memcg: MemcgNr,
        command: &Command,
        sc: &mut ScanControl,
    ) -> Result<(), Errno> {
        let maps = self.maps;
        if command.seq.wrapping_add(MIN_NR_GENS) > maps.lru_gen(sc.lruvec(memcg)).max_seq() {
            return Err(Errno::EINVAL);
        }
        let swappiness = command.swappiness.unwrap_or_else(|| maps.get_swappiness(memcg, sc));
        while !self.world.signal_pending() {
            let done = command.seq < maps.evictable_min_seq(sc.lruvec(memcg), swappiness)
                || sc.nr_reclaimed >= command.option;
            if done {
                return Ok(());
            }
            let left = command.option - sc.nr_reclaimed;
            if self.evict_folios(memcg, left, swappiness, sc) == 0 {
                return Ok(());
            }
        }
        Err(Errno::EINTR)
    }
}

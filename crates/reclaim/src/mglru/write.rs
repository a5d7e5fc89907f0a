//! Writes to `lru_gen`, and the execution of their commands.

use super::MIN_NR_GENS;
use super::batch::MmWalk;
use super::command::{Command, Operation};
use crate::engine::Engine;
use crate::errno::Errno;
use crate::id::MemcgId;
use crate::scan::{Agent, ScanControl};
use crate::text::{c_string, is_space};
use crate::world::World;

impl<W: World> Engine<'_, W> {
    /// Executes one write(2) to `/sys/kernel/debug/lru_gen`: commands separated by `,`, `;` or a
    /// line end, in order, up to the first error. The effects of commands before it stay (Linux
    /// 7.3.4, `lru_gen_seq_write`). A cgroup's id is its [`MemcgId`], and the only node is 0.
    ///
    /// - `+ ID NODE SEQ [SWAPPINESS [FORCE]]` opens a new generation and moves used folios to it.
    ///   Unless FORCE is 0, all page tables are walked, regardless of filters.
    /// - `- ID NODE SEQ [SWAPPINESS [PAGES]]` evicts generations up to SEQ, or PAGES pages.
    ///
    /// SWAPPINESS is 0 to 200, or `max` for only anonymous memory. The default is the cgroup's.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] if there is no command; if a command cannot be parsed, or names no cgroup
    /// or no node. Likewise if its generation does not exist yet, or it would evict one of the two
    /// youngest. [`Errno::EEXIST`] if a concurrent walk opens the generation instead.
    /// [`Errno::EINTR`] of an eviction if a signal is pending before a round of it, even before the
    /// first and if nothing is left to do.
    pub fn lru_gen_write(&mut self, text: &str) -> Result<(), Errno> {
        let commands = c_string(text).split([',', ';', '\n']);
        let commands = commands.map(|command| command.trim_start_matches(is_space));
        let mut done = Err(Errno::EINVAL);
        for command in commands.filter(|command| !command.is_empty()) {
            done = Command::parse(command).and_then(|command| self.run_command(&command));
            if done.is_err() {
                break;
            }
        }
        done
    }

    /// Executes one command (`run_cmd`).
    fn run_command(&mut self, command: &Command) -> Result<(), Errno> {
        if command.node != 0 {
            return Err(Errno::EINVAL);
        }
        let tree = self.lock_tree();
        let named = |id: &MemcgId| u64::from(id.0) == command.memcg;
        let done = match self.maps.subtree(MemcgId::ROOT).find(named) {
            None => Err(Errno::EINVAL),
            Some(memcg) => {
                self.cpu.walk = Some(MmWalk::default());
                let mut sc = ScanControl::new(Some(memcg), 0, Agent::Proactive);
                sc.priority = 0;
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
        memcg: MemcgId,
        command: &Command,
        sc: &ScanControl,
    ) -> Result<(), Errno> {
        let maps = self.maps;
        let youngest = maps.lru_gen(memcg).max_seq();
        if command.seq > youngest {
            return Err(Errno::EINVAL);
        }
        let swappiness = command.swappiness.unwrap_or_else(|| maps.get_swappiness(memcg, sc));
        let (force, _aging) = (command.option != 0, self.tuning.aging);
        match self.try_to_inc_max_seq(memcg, youngest, swappiness, force) {
            true => Ok(()),
            false => Err(Errno::EEXIST),
        }
    }

    /// Evicts until all generations up to the one named are retired, enough pages are reclaimed, or
    /// no more can be.
    fn run_eviction(
        &mut self,
        memcg: MemcgId,
        command: &Command,
        sc: &mut ScanControl,
    ) -> Result<(), Errno> {
        let maps = self.maps;
        if command.seq.wrapping_add(MIN_NR_GENS) > maps.lru_gen(memcg).max_seq() {
            return Err(Errno::EINVAL);
        }
        let swappiness = command.swappiness.unwrap_or_else(|| maps.get_swappiness(memcg, sc));
        while !self.world.signal_pending() {
            let done = command.seq < maps.evictable_min_seq(memcg, swappiness)
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

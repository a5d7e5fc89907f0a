//! What the tasks of a modelled machine share beside page tables: frames, storage, and how much of
//! everything was done.

use super::env::ModelEnv;
use super::secondary::Vm;
use super::software::{Done, Meter, Software};
use pageout_experiment::formats::Arch;
use pageout_host::frames::HostFrames;
use pageout_host::journal::Journal;
use pageout_machine::{Task, Time};
use pageout_paging::tlb::FlushPolicy;
use pageout_reclaim::{CpuCtx, FolioId, Maps, Tuning, World};
use std::cell::RefCell;

/// Where swapped pages go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swap {
    /// The storage device.
    Device,
    /// Memory, compressed on the core that swaps (zram): done at once, for its CPU time.
    Compressed,
    /// The same for pages that repeat one word, of which zram keeps the word (Linux 7.3.4,
    /// zram_drv.c, write_same_filled_page): read on the way out, and filled on the way in.
    SameFilled,
}

/// A transfer of the storage device that the engine is to be told the end of.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    ends: Time,
    folio: FolioId,
    write: bool,
}

/// What all tasks share. A task works on it through a [`ModelEnv`] of its own ([`Kernel::on`]).
#[derive(Debug)]
pub struct Kernel<'m> {
    pub(super) frames: &'m HostFrames,
    pub(super) vms: Vec<Vm>,
    pub(super) software: Software,
    pub(super) swap: Swap,
    pub(super) done: Done,
    pub(super) journal: Option<&'m Journal>,
    transfers: RefCell<Vec<Transfer>>,
}

impl<'m> Kernel<'m> {
    /// A kernel with these frames, whose code is that of the entry format's architecture.
    pub fn new<F: Arch>(frames: &'m HostFrames, swap: Swap) -> Self {
        let software = Software::of::<F>();
        let (done, transfers) = (Done::default(), RefCell::default());
        let (vms, journal) = (Vec::new(), None);
        Self { frames, vms, software, swap, done, journal, transfers }
    }

    /// The same, whose code takes these instructions.
    #[must_use]
    pub fn with_software(self, software: Software) -> Self {
        Self { software, ..self }
    }

    /// The same, of whose frames and transfers a journal is kept.
    #[must_use]
    pub fn with_journal(self, journal: &'m Journal) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// The same, where these virtual machines use memory of address spaces.
    #[must_use]
    pub fn with_vms(self, vms: Vec<Vm>) -> Self {
        Self { vms, ..self }
    }

    /// Does `work` as a task, in kernel code.
    pub fn on<'a, F: Arch, R>(
        &self,
        task: &Task<'_, 'a, F>,
        work: impl FnOnce(&ModelEnv<'_, 'a, F>) -> R,
    ) -> R {
        let meter = Meter::new(&self.software, &self.done);
        work(&ModelEnv::new(self, task, &meter))
    }

    /// The virtual machines.
    pub fn vms(&self) -> &[Vm] {
        &self.vms
    }

    /// What was done so far, by all tasks.
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// A transfer was started whose end the engine is to be told.
    pub(super) fn begin_transfer(&self, ends: Time, folio: FolioId, write: bool) {
        self.transfers.borrow_mut().push(Transfer { ends, folio, write });
    }

    /// When the transfer of a folio ends that is under way, if there is one.
    pub fn transfer_of(&self, folio: FolioId) -> Option<Time> {
        let transfers = self.transfers.borrow();
        let of = transfers.iter().filter(|transfer| transfer.folio == folio);
        of.map(|transfer| transfer.ends).max()
    }

    /// Waits, off the core, for the end of a folio's transfer, and tells the engine of all that
    /// ended.
    pub fn wait_for<F: Arch>(
        &self,
        env: &ModelEnv<'_, '_, F>,
        maps: &Maps<'_>,
        cpu: &mut CpuCtx,
        folio: FolioId,
    ) {
        if let Some(ends) = self.transfer_of(folio) {
            env.task().wait_until(ends);
        }
        self.end_transfers(env, maps, cpu);
    }

    /// Tells the engine of all transfers that have ended by now, in the order of their ends: what
    /// the storage device's interrupts do. Whoever waits for one calls this; nobody else does.
    pub fn end_transfers<F: Arch>(
        &self,
        env: &ModelEnv<'_, '_, F>,
        maps: &Maps<'_>,
        cpu: &mut CpuCtx,
    ) {
        self.end_transfers_of(env, env.task().now(), maps, cpu);
    }

    /// The same, of another environment.
    pub(super) fn end_transfers_of<W: World>(
        &self,
        world: &W,
        now: Time,
        maps: &Maps<'_>,
        cpu: &mut CpuCtx,
    ) {
        let engine = &mut maps.on(world, cpu, Tuning::cheapest(FlushPolicy::GENERIC));
        while let Some(transfer) = self.take_ended(now) {
            match transfer.write {
                true => engine.write_done(transfer.folio, true),
                false => engine.read_done(transfer.folio, true),
            }
        }
    }

    /// Takes the first transfer that has ended by `now`; of equal ends, the one that began first.
    fn take_ended(&self, now: Time) -> Option<Transfer> {
        let mut transfers = self.transfers.borrow_mut();
        let ended = transfers.iter().enumerate().filter(|(_, transfer)| transfer.ends <= now);
        let (first, _) = ended.min_by_key(|(k, transfer)| (transfer.ends, *k))?;
        Some(transfers.remove(first))
    }
}

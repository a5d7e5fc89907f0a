//! State that the tasks of a modelled machine share besides page tables: frames, storage, and
//! counts of all work.

use super::env::ModelEnv;
use super::locks::Locks;
use super::secondary::Vm;
use super::software::{Done, Meter, Software};
use pageout_experiment::formats::Arch;
use pageout_host::frames::HostFrames;
use pageout_host::journal::Journal;
use pageout_machine::{Task, Time};
use pageout_paging::tlb::FlushPolicy;
use pageout_reclaim::{CpuCtx, FolioId, MmState, Tuning, World};
use std::cell::RefCell;

/// The destination of swapped pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swap {
    /// The storage device.
    Device,
    /// Memory, compressed on the core that swaps (zram). It is done at once and takes CPU time.
    Compressed,
    /// Memory, for pages that repeat one word, of which zram keeps only the word (Linux 7.3.4,
    /// zram_drv.c, write_same_filled_page). They are read on the way out, and filled on the way in.
    SameFilled,
}

/// A transfer of the storage device whose end must be reported to the engine.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    ends: Time,
    folio: FolioId,
    write: bool,
}

/// The state that all tasks share. A task uses it through its own [`ModelEnv`] ([`Kernel::on`]).
#[derive(Debug)]
pub struct Kernel<'m> {
    pub(super) frames: &'m HostFrames,
    pub(super) vms: Vec<Vm>,
    pub(super) software: Software,
    pub(super) swap: Swap,
    pub(super) done: Done,
    pub(super) journal: Option<&'m Journal>,
    pub(super) locks: Option<&'m Locks>,
    transfers: RefCell<Vec<Transfer>>,
}

impl<'m> Kernel<'m> {
    /// Makes a kernel with these frames, for the architecture of the entry format.
    pub fn new<F: Arch>(frames: &'m HostFrames, swap: Swap) -> Self {
        let software = Software::of::<F>();
        let (done, transfers) = (Done::default(), RefCell::default());
        let (vms, journal, locks) = (Vec::new(), None, None);
        Self { frames, vms, software, swap, done, journal, locks, transfers }
    }

    /// Returns the kernel with these instruction costs.
    #[must_use]
    pub fn with_software(self, software: Software) -> Self {
        Self { software, ..self }
    }

    /// Returns the kernel with a journal of its frames and transfers.
    #[must_use]
    pub fn with_journal(self, journal: &'m Journal) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// Returns the kernel with prices for the engine's locks. Without them, locks other than those
    /// of page tables take no time, and no one waits for them.
    #[must_use]
    pub fn with_locks(self, locks: &'m Locks) -> Self {
        Self { locks: Some(locks), ..self }
    }

    /// Returns the kernel with these virtual machines, which use memory of address spaces.
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

    /// Returns the virtual machines.
    pub fn vms(&self) -> &[Vm] {
        &self.vms
    }

    /// Returns counts of the work that all tasks have done so far.
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Notes that a transfer began, whose end must be reported to the engine.
    pub(super) fn begin_transfer(&self, ends: Time, folio: FolioId, write: bool) {
        self.transfers.borrow_mut().push(Transfer { ends, folio, write });
    }

    /// Returns when the folio's transfer ends, if one is under way.
    pub fn transfer_of(&self, folio: FolioId) -> Option<Time> {
        let transfers = self.transfers.borrow();
        let of = transfers.iter().filter(|transfer| transfer.folio == folio);
        of.map(|transfer| transfer.ends).max()
    }

    /// Waits, off the core, for the end of a folio's transfer. Reports all ended transfers to the
    /// engine.
    pub fn wait_for<F: Arch>(
        &self,
        env: &ModelEnv<'_, '_, F>,
        maps: &MmState<'_>,
        cpu: &mut CpuCtx,
        folio: FolioId,
    ) {
        if let Some(ends) = self.transfer_of(folio) {
            env.task().wait_until(ends);
        }
        self.end_transfers(env, maps, cpu);
    }

    /// Reports all transfers that have ended by now to the engine, in the order of their ends, as
    /// the storage device's interrupts would. Only tasks that wait for a transfer call this.
    pub fn end_transfers<F: Arch>(
        &self,
        env: &ModelEnv<'_, '_, F>,
        maps: &MmState<'_>,
        cpu: &mut CpuCtx,
    ) {
        self.end_transfers_of(env, env.task().now(), maps, cpu);
    }

    /// Reports ended transfers, like [`Kernel::end_transfers`], in another environment.
    pub(super) fn end_transfers_of<W: World>(
        &self,
        world: &W,
        now: Time,
        maps: &MmState<'_>,
        cpu: &mut CpuCtx,
    ) {
        let engine = &mut maps.on(world, cpu, Tuning::recommended(FlushPolicy::GENERIC));
        while let Some(transfer) = self.take_ended(now) {
            match transfer.write {
                true => engine.write_done(transfer.folio, Ok(())).expect("it goes on"),
                false => engine.read_done(transfer.folio, Ok(())).expect("it goes on"),
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

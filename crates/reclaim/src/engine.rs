//! The handle through which all calls go.

use crate::cpu::{CpuCtx, CpuState};
use crate::mm_state::MmState;
use crate::rank::HeldRanks;
use crate::tuning::Tuning;
use pageout_paging::Env;

/// The engine for one CPU: its tables, the world it runs on, and the context of the CPU that calls.
///
/// Its methods are the engine's interface. Those that need only page tables require that `E` is an
/// [`Env`]. Those that allocate or free memory, read or write require a [`World`](crate::World).
/// [`MmState::on`] makes a handle, for one call or for many: it holds references and the tuning,
/// and owns nothing. What methods return never borrows it.
#[derive(Debug)]
pub struct Engine<'e, E> {
    pub(crate) maps: &'e MmState<'e>,
    pub(crate) world: &'e E,
    pub(crate) cpu: &'e mut CpuState,
    /// The ranks of the locks held. They are separate from the rest of the context, since guards
    /// refer to them.
    pub(crate) ranks: &'e HeldRanks,
    pub(crate) tuning: Tuning,
}

impl<'e, E> Engine<'e, E> {
    /// Returns the tables, for calls that need neither the world nor the CPU.
    #[inline]
    pub fn maps(&self) -> &'e MmState<'e> {
        self.maps
    }
}

impl<'m> MmState<'m> {
    /// Makes the handle of the CPU whose context is `cpu`.
    #[inline]
    pub fn on<'e, E: Env>(
        &'e self,
        world: &'e E,
        cpu: &'e mut CpuCtx,
        tuning: Tuning,
    ) -> Engine<'e, E> {
        let CpuCtx { state, ranks } = cpu;
        Engine { maps: self, world, cpu: state, ranks, tuning }
    }
}

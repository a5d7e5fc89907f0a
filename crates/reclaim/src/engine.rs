//! The handle through which everything is called.

use crate::cpu::{CpuCtx, CpuState};
use crate::maps::Maps;
use crate::rank::HeldRanks;
use crate::tuning::Tuning;
use pageout_paging::Env;

/// The engine for one CPU: its tables, what it stands on, and the context of the CPU that calls.
///
/// Its methods are what an embedder calls. Those that need page tables alone ask of `E` that it is
/// an [`Env`], those that take or give back memory, read or write, that it is a
/// [`World`](crate::World). [`Maps::on`] makes one where it is needed, for one call or for many: it
/// holds references and the tuning, and nothing of its own. What methods return never borrows it.
#[derive(Debug)]
pub struct Engine<'e, E> {
    pub(crate) maps: &'e Maps<'e>,
    pub(crate) world: &'e E,
    pub(crate) cpu: &'e mut CpuState,
    /// Apart from the rest of the CPU's context, since guards refer to it.
    pub(crate) ranks: &'e HeldRanks,
    pub(crate) tuning: Tuning,
}

impl<'e, E> Engine<'e, E> {
    /// The tables, for what needs neither the world nor the CPU.
    #[inline]
    pub fn maps(&self) -> &'e Maps<'e> {
        self.maps
    }
}

impl<'m> Maps<'m> {
    /// The handle of the CPU whose context is `cpu`.
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

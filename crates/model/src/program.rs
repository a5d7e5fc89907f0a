//! Programs on a modelled machine, and guests of virtual machines: accesses, and the faults that
//! kernels resolve for them.

use super::env::ModelEnv;
use super::secondary::{Vm, VmCount};
use super::software::KernelOp;
use super::{Kernel, activity};
use pageout_experiment::formats::Arch;
use pageout_machine::Task;
use pageout_paging::VirtAddr;
use pageout_reclaim::{Access, CpuCtx, Fault, MmId, MmState, Tuning};

/// A program's address space, with what its faults need.
#[derive(Clone, Copy, Debug)]
pub struct Program<'p, 'm> {
    /// The engine's state.
    pub maps: &'p MmState<'m>,
    /// The state that all tasks share.
    pub kernel: &'p Kernel<'p>,
    /// The address space, which the task has loaded.
    pub mm: MmId,
    /// The settings of reclaim, which faults may have to do.
    pub tuning: Tuning,
}

impl Program<'_, '_> {
    /// Makes an access, with all its faults, and returns their number. It waits for reads off the
    /// core.
    ///
    /// # Panics
    /// If a fault cannot be resolved: the scenario has no memory for it, or no such mapping.
    pub fn access<F: Arch>(
        &self,
        task: &Task<'_, '_, F>,
        cpu: &mut CpuCtx,
        at: VirtAddr,
        store: bool,
    ) -> u64 {
        let mut faults = 0;
        while task.access(at, store).is_err() {
            faults += 1;
            self.kernel.on(task, |env| self.fault(env, cpu, at, store));
        }
        faults
    }

    fn fault<F: Arch>(
        &self,
        env: &ModelEnv<'_, '_, F>,
        cpu: &mut CpuCtx,
        at: VirtAddr,
        store: bool,
    ) {
        let access = if store { Access::Write } else { Access::Read };
        let fault = env.within(activity::FAULT, || {
            env.does(KernelOp::Fault, 1);
            self.maps.on(env, cpu, self.tuning).handle_fault(self.mm, at, access)
        });
        match fault {
            Fault::Done(_) => {}
            Fault::Pending(folio) => self.kernel.wait_for(env, self.maps, cpu, folio),
            failed => panic!("an access to {at:?} cannot be resolved: {failed:?}"),
        }
    }
}

/// A guest's side of a virtual machine.
#[derive(Clone, Copy, Debug)]
pub struct Guest<'p, 'm> {
    /// The process whose memory the virtual machine has.
    pub program: Program<'p, 'm>,
    /// The virtual machine, which the task has entered.
    pub vm: &'p Vm,
}

impl Guest<'_, '_> {
    /// Makes an access, with all work of the host for it. Returns the number of faults of the
    /// process.
    /// # Panics
    /// As [`Program::access`].
    pub fn access<F: Arch>(
        &self,
        task: &Task<'_, '_, F>,
        cpu: &mut CpuCtx,
        at: VirtAddr,
        store: bool,
    ) -> u64 {
        let mut faults = 0;
        while task.access(at, store).is_err() {
            faults += self.exit(task, cpu, at, store);
        }
        faults
    }

    fn exit<F: Arch>(
        &self,
        task: &Task<'_, '_, F>,
        cpu: &mut CpuCtx,
        at: VirtAddr,
        store: bool,
    ) -> u64 {
        let (program, mut faults) = (&self.program, 0);
        let kernel = program.kernel;
        let _frame = task.activity(activity::GUEST_EXIT);
        self.vm.count(VmCount::Exit);
        kernel.on(task, |env| env.does(KernelOp::GuestExit, 1));
        while !kernel.on(task, |env| self.vm.map(env, at, store, &mut { kernel.frames })) {
            faults += 1;
            kernel.on(task, |env| program.fault(env, cpu, at, store));
        }
        faults
    }
}

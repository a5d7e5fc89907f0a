//! The lock of a file's size: faults share it, and a truncation has it exclusively, as
//! [`Engine::truncate`](pageout_reclaim::Engine::truncate) requires of its caller.

use super::agent_cpu::AgentCpu;
use pageout_paging::Format;
use std::cell::Cell;

/// The holders of the lock.
#[derive(Debug, Default)]
pub struct SizeLock {
    faults: Cell<usize>,
    truncating: Cell<bool>,
}

impl SizeLock {
    /// Handles a fault while no truncation runs.
    pub fn shared<F: Format, R>(&self, agent: &AgentCpu<'_, F>, fault: impl FnOnce() -> R) -> R {
        while self.truncating.get() {
            agent.wait();
        }
        self.faults.set(self.faults.get() + 1);
        let handled = fault();
        self.faults.set(self.faults.get() - 1);
        handled
    }

    /// Truncates while no fault is handled.
    pub fn alone<F: Format>(&self, agent: &AgentCpu<'_, F>, truncate: impl FnOnce()) {
        self.truncating.set(true);
        while self.faults.get() > 0 {
            agent.wait();
        }
        truncate();
        self.truncating.set(false);
    }
}

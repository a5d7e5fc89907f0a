//! Kernels that are being built, one after another, for work that waits for each of them.

use std::sync::{Condvar, Mutex, PoisonError};

/// The kernels' states so far.
pub(super) struct UnderWay {
    states: Mutex<Vec<State>>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    ToCome,
    There,
    /// The kernel was not built, and will not be.
    Failed,
}

impl UnderWay {
    /// Returns the states of `kernels` kernels, none of which is built yet.
    pub(super) fn new(kernels: usize) -> Self {
        Self { states: Mutex::new(vec![State::ToCome; kernels]), changed: Condvar::new() }
    }

    /// Notes that a kernel is built.
    pub(super) fn is_there(&self, kernel: usize) {
        self.change(|states| states[kernel] = State::There);
    }

    /// Notes that a kernel was not built.
    pub(super) fn failed(&self, kernel: usize) {
        self.change(|states| states[kernel] = State::Failed);
    }

    /// Notes that no further kernel will be built: those to come have failed.
    pub(super) fn is_over(&self) {
        self.change(|states| {
            for state in states.iter_mut().filter(|state| **state == State::ToCome) {
                *state = State::Failed;
            }
        });
    }

    /// Waits for a kernel, and returns true if it was built.
    pub(super) fn wait(&self, kernel: usize) -> bool {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let to_come = |states: &mut Vec<State>| states[kernel] == State::ToCome;
        let states = self.changed.wait_while(states, to_come);
        states.unwrap_or_else(PoisonError::into_inner)[kernel] == State::There
    }

    fn change(&self, change: impl FnOnce(&mut [State])) {
        change(&mut self.states.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

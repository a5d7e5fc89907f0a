//! Kernels that are being built, one after another, for work that waits for each of them.

use std::sync::{Condvar, Mutex, PoisonError};

use super::build::Built;

/// What has become of the kernels so far.
pub(super) struct UnderWay {
    states: Mutex<Vec<State>>,
    changed: Condvar,
}

#[derive(Clone)]
enum State {
    ToCome,
    There(Built),
    /// It was not built, and will not be.
    Failed,
}

impl UnderWay {
    /// So many kernels, none of them there.
    pub(super) fn new(kernels: usize) -> Self {
        Self { states: Mutex::new(vec![State::ToCome; kernels]), changed: Condvar::new() }
    }

    /// A kernel is there.
    pub(super) fn is_there(&self, kernel: usize, built: Built) {
        self.change(|states| states[kernel] = State::There(built));
    }

    /// Those that are not there yet will not be.
    pub(super) fn failed(&self) {
        self.change(|states| {
            for state in states.iter_mut().filter(|state| matches!(state, State::ToCome)) {
                *state = State::Failed;
            }
        });
    }

    /// Waits for a kernel; `None` where it will not be there.
    pub(super) fn wait(&self, kernel: usize) -> Option<Built> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &states[kernel] {
                State::There(built) => return Some(built.clone()),
                State::Failed => return None,
                State::ToCome => {
                    states = self.changed.wait(states).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut [State])) {
        change(&mut self.states.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

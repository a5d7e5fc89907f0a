//! Threads that spin, each on its own CPU, so that an invalidation has to reach them.

use super::cpus::pin;
use super::proc_files;
use rustix::thread::gettid;
use std::fs;
use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

/// The state that the threads share with the measuring one.
#[derive(Debug)]
pub(super) struct Targets {
    /// The number of threads that spin, the first ones; the others sleep.
    active: AtomicUsize,
    done: AtomicBool,
    seats: Vec<Seat>,
}

/// The state of one thread, on its own line.
#[derive(Debug)]
#[repr(align(128))]
struct Seat {
    cpu: usize,
    turns: AtomicU64,
    /// The thread's id in the kernel.
    thread: AtomicI32,
    sleeps: AtomicBool,
    /// True if the thread could not have its CPU.
    failed: AtomicBool,
}

impl Targets {
    /// Starts a sleeping thread on each CPU, and ends them after `work`. The CPU of a sleeping
    /// thread is idle or runs another program, so that invalidations do not interrupt it.
    ///
    /// # Errors
    /// The error of `work`, or the kernel's if a thread cannot have its CPU.
    pub(super) fn with<R>(
        cpus: &[usize],
        work: impl FnOnce(&Running<'_, '_>) -> io::Result<R>,
    ) -> io::Result<R> {
        let seat = |cpu: &usize| Seat {
            cpu: *cpu,
            turns: AtomicU64::new(0),
            thread: AtomicI32::new(0),
            sleeps: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        };
        let targets = Self {
            active: AtomicUsize::new(0),
            done: AtomicBool::new(false),
            seats: cpus.iter().map(seat).collect(),
        };
        thread::scope(|scope| {
            let targets = &targets;
            let threads = (0..cpus.len()).map(|n| scope.spawn(move || targets.live(n)));
            let mut running = Running { targets, threads: threads.collect() };
            let result = running.spin(0).and_then(|()| work(&running));
            for thread in running.end() {
                thread.join().expect("a target only counts")?;
            }
            result
        })
    }

    fn live(&self, n: usize) -> io::Result<()> {
        let seat = &self.seats[n];
        seat.thread.store(gettid().as_raw_pid(), Relaxed);
        if let Err(error) = pin(seat.cpu) {
            seat.failed.store(true, Release);
            return Err(error);
        }
        while !self.done.load(Acquire) {
            if n < self.active.load(Relaxed) {
                // A spin-loop hint might give the CPU away in a virtual machine.
                seat.turns.store(seat.turns.load(Relaxed) + 1, Relaxed);
            } else {
                seat.sleeps.store(true, Release);
                thread::park();
                seat.sleeps.store(false, Release);
            }
        }
        Ok(())
    }
}

/// A handle to the running threads.
#[derive(Debug)]
pub(super) struct Running<'s, 't> {
    targets: &'t Targets,
    threads: Vec<ScopedJoinHandle<'s, io::Result<()>>>,
}

impl<'s> Running<'s, '_> {
    /// Has the first `count` threads spin and the others sleep; returns when they do.
    ///
    /// # Errors
    /// If a thread could not have its CPU.
    pub(super) fn spin(&self, count: usize) -> io::Result<()> {
        self.targets.active.store(count, Relaxed);
        self.wake();
        let before = self.turns();
        for (n, seat) in self.targets.seats.iter().enumerate() {
            let there = || {
                if n < count {
                    seat.turns.load(Relaxed) != before[n]
                } else {
                    seat.sleeps.load(Acquire)
                }
            };
            while !there() {
                if seat.failed.load(Acquire) {
                    return Err(io::Error::other(format!("CPU {} cannot be had", seat.cpu)));
                }
                thread::yield_now();
            }
        }
        // A thread that has set `sleeps` still has to reach the scheduler.
        thread::sleep(Duration::from_micros(100));
        Ok(())
    }

    /// Returns the number of turns that each thread made.
    pub(super) fn turns(&self) -> Vec<u64> {
        self.targets.seats.iter().map(|seat| seat.turns.load(Relaxed)).collect()
    }

    /// Returns the number of times that the first thread lost its CPU.
    ///
    /// # Errors
    /// The kernel's error, or one that says that its text lacks the number.
    pub(super) fn preemptions(&self) -> io::Result<u64> {
        let thread = self.targets.seats[0].thread.load(Relaxed);
        let text = fs::read_to_string(format!("/proc/self/task/{thread}/status"))?;
        let untold = || io::Error::other("/proc/self/task/*/status tells no preemptions");
        proc_files::preemptions(&text).ok_or_else(untold)
    }

    /// Waits until each thread that should spin has made a turn: on a busy machine their CPUs run
    /// other programs too.
    pub(super) fn wait(&self) {
        let before = self.turns();
        while !self.went_on(&before) {
            spin_loop();
        }
    }

    /// Returns true if each thread that should spin has made a turn since the counts `since`.
    pub(super) fn went_on(&self, since: &[u64]) -> bool {
        let active = self.targets.active.load(Relaxed);
        self.turns().iter().zip(since).take(active).all(|(now, then)| now > then)
    }

    /// Ends all threads, and returns their handles.
    fn end(&mut self) -> Vec<ScopedJoinHandle<'s, io::Result<()>>> {
        self.targets.done.store(true, Release);
        self.wake();
        std::mem::take(&mut self.threads)
    }

    fn wake(&self) {
        for thread in &self.threads {
            thread.thread().unpark();
        }
    }
}

/// Ends the threads also after a panic, for the scope waits for them.
impl Drop for Running<'_, '_> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::cores;

    #[test]
    fn as_many_spin_as_asked_for() {
        let cpu = cores().unwrap()[0];
        Targets::with(&[cpu, cpu], |running| {
            running.spin(1)?;
            let before = running.turns();
            thread::sleep(Duration::from_millis(20));
            let after = running.turns();
            assert!(after[0] > before[0] && after[1] == before[1], "{before:?} {after:?}");
            assert!(running.went_on(&before));
            running.spin(0)
        })
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        let far = rustix::thread::CpuSet::MAX_CPU - 1;
        assert!(Targets::with(&[far], |_| Ok(())).is_err());
    }
}

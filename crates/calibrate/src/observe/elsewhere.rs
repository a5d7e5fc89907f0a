//! A thread on another CPU that loads from pages without a pause.

use super::trial::flush;
use crate::cpus::pin;
use crate::kernel::load_from_each_page;
use memmap2::MmapMut;
use std::io;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread::{self, ScopedJoinHandle};

/// The state that the thread shares with the observing one.
#[derive(Debug, Default)]
struct Shared {
    turns: AtomicU64,
    flush: AtomicBool,
    done: AtomicBool,
}

/// A handle to the running thread.
#[derive(Debug)]
pub(super) struct Elsewhere<'s, 't> {
    shared: &'t Shared,
    thread: &'t ScopedJoinHandle<'s, io::Result<MmapMut>>,
}

impl Elsewhere<'_, '_> {
    /// Has a thread on `cpu` load from each of `pages` over and over while `work` runs, and returns
    /// the pages.
    ///
    /// # Errors
    /// The error of `work`, or the kernel's if the thread cannot have its CPU.
    pub(super) fn with<R, E: From<io::Error>>(
        cpu: usize,
        pages: MmapMut,
        work: impl FnOnce(&Elsewhere<'_, '_>) -> Result<R, E>,
    ) -> Result<(MmapMut, R), E> {
        let shared = Shared::default();
        thread::scope(|scope| {
            let thread = scope.spawn(|| shared.live(cpu, pages));
            let result = work(&Elsewhere { shared: &shared, thread: &thread });
            shared.done.store(true, Release);
            let pages = thread.join().expect("the thread only loads")?;
            Ok((pages, result?))
        })
    }

    /// Waits until the thread has loaded from all pages once more.
    pub(super) fn turn(&self) {
        // A turn may have begun before this call.
        let enough = self.shared.turns.load(Acquire) + 2;
        self.wait(|shared| shared.turns.load(Acquire) >= enough);
    }

    /// Has the thread flush the pages' translations, and waits until it did.
    pub(super) fn flush(&self) {
        self.shared.flush.store(true, Release);
        self.wait(|shared| !shared.flush.load(Acquire));
    }

    /// Waits for the thread, but no longer than it lives: if it ended, joining it returns its
    /// error.
    fn wait(&self, until: impl Fn(&Shared) -> bool) {
        while !until(self.shared) && !self.thread.is_finished() {
            thread::yield_now();
        }
    }
}

impl Shared {
    fn live(&self, cpu: usize, mut pages: MmapMut) -> io::Result<MmapMut> {
        pin(cpu)?;
        while !self.done.load(Acquire) {
            if self.flush.load(Acquire) {
                pages = flush(pages)?;
                self.flush.store(false, Release);
            }
            load_from_each_page(&pages);
            self.turns.store(self.turns.load(Relaxed) + 1, Release);
        }
        Ok(pages)
    }
}

//! What runs beside the program: background reclaim, and the flusher.

use super::program::{PATIENCE, Shared};
use crate::ModelEnv;
use pageout_experiment::formats::Arch;
use pageout_machine::{Task, Time};
use pageout_reclaim::CpuCtx;

/// Requests that a flusher has under way at once: a quarter of the device's queue, as write-back is
/// held to (Linux: blk-wbt).
const QUEUE_SHARE: usize = 4;
/// Pages that it writes at once at most (Linux: MAX_WRITEBACK_PAGES, 4 MiB).
const ROUND: usize = 1024;

impl<'a, F: Arch> Shared<'_, 'a, F> {
    /// Background reclaim (Linux: kswapd): woken where memory runs low, it works until the high
    /// watermark is met. Where it cannot get there, it waits for a transfer to end.
    pub(super) fn reclaims(&self, task: &Task<'_, 'a, F>) {
        self.tasks.reclaim.set(Some(task.id()));
        let (maps, mut cpu) = (&self.setup.ground.maps, CpuCtx::new());
        while !self.over.get() {
            if self.free() >= self.setup.watermarks.high {
                task.block("memory that runs low");
                continue;
            }
            let asked = cpu.events().wakeup_flusher;
            let met = self.kernel.on(task, |env| maps.on(env, &mut cpu, self.tuning).balance());
            if cpu.events().wakeup_flusher > asked {
                self.flush.set(true);
                Self::wake(task, &self.tasks.flusher);
            }
            if !met {
                let soon = task.now() + PATIENCE;
                let next = self.kernel.next_transfer().filter(|next| *next > task.now());
                task.wait_until(next.unwrap_or(soon).min(soon));
            }
        }
    }

    /// The flusher: while more than its share of memory is dirty, or reclaim asks for it, it writes
    /// dirty pages in the order of the file, from where it stopped, and waits for them.
    pub(super) fn flushes(&self, task: &Task<'_, 'a, F>) {
        self.tasks.flusher.set(Some(task.id()));
        let requests = usize::from(task.machine().shape().storage.queue_depth) / QUEUE_SHARE;
        let (mut cpu, mut cursor) = (CpuCtx::new(), 0);
        while !self.over.get() {
            let nr = self.dirty.borrow().len() as u64;
            let wanted = nr > self.background() || (self.flush.take() && nr > 0);
            if !wanted {
                task.block("pages to write");
                continue;
            }
            let pages = self.take_dirty(&mut cursor, requests.max(1));
            self.writing.set(pages.len() as u64);
            self.kernel.on(task, |env| self.write(env, &mut cpu, &pages));
            self.writing.set(0);
            Self::wake(task, &self.tasks.program);
        }
    }

    /// Takes the dirty pages that are to be written next, in so many runs.
    fn take_dirty(&self, cursor: &mut u64, runs: usize) -> Vec<u64> {
        let mut dirty = self.dirty.borrow_mut();
        let (mut pages, mut left): (Vec<u64>, _) = (Vec::new(), runs);
        let from_cursor = dirty.range(*cursor..).chain(dirty.range(..*cursor));
        for page in from_cursor.take(ROUND) {
            if pages.last().is_none_or(|last| last + 1 != *page) {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
            pages.push(*page);
        }
        for page in &pages {
            dirty.remove(page);
        }
        *cursor = pages.last().map_or(0, |last| last + 1);
        pages
    }

    /// Writes pages and waits until all of it is done.
    fn write(&self, env: &ModelEnv<'_, 'a, F>, cpu: &mut CpuCtx, pages: &[u64]) {
        let maps = &self.setup.ground.maps;
        let engine = &mut maps.on(env, cpu, self.tuning);
        env.plugged(|| {
            for page in pages {
                if let Some(id) = engine.filemap_get_folio(self.setup.file, *page) {
                    // What is clean after all, or being written, needs nothing.
                    let _ = engine.write_back(id);
                    engine.release(id, 1);
                }
            }
        });
        let done = self.kernel.last_write().unwrap_or(Time::ZERO);
        env.task().wait_until(done);
        self.kernel.end_transfers(env, maps, cpu);
    }
}

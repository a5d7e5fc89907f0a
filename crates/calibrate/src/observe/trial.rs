//! A repetition of observing: load, clear through `/proc/self/clear_refs`, disturb, load, and read
//! the number of `Referenced` pages from `/proc/self/smaps`.

use super::elsewhere::Elsewhere;
use super::{Between, Flush, MOST_OTHERS, ObserveError, PAGES};
use crate::area::{Pages, area, lone_area, page_size, store_to_each_page};
use crate::cpus::pin;
use crate::kernel::{load_from_each_page, pass};
use crate::proc_files;
use memmap2::MmapMut;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::process::Command;
use std::thread;
use std::time::Duration;

const CLEAR_REFS: &str = "/proc/self/clear_refs";
const SMAPS: &str = "/proc/self/smaps";

/// The files, threads and pages of repetitions, prepared so that a repetition begins with the
/// clear.
pub(super) struct Trial {
    pages: Option<MmapMut>,
    others: MmapMut,
    clear_refs: File,
    partner: Partner,
    other_cpu: Option<usize>,
    smaps: String,
}

impl Trial {
    /// Prepares repetitions on this thread's CPU, which is `cpu`, and on another if one is given.
    ///
    /// # Errors
    /// [`ObserveError`].
    pub(super) fn new(cpu: usize, other_cpu: Option<usize>) -> Result<Self, ObserveError> {
        let clear_refs = OpenOptions::new().write(true).open(CLEAR_REFS);
        let clear_refs =
            clear_refs.map_err(|source| ObserveError::File { path: CLEAR_REFS, source })?;
        let others = area(MOST_OTHERS * page_size(), Pages::Small)?;
        // These pages are never written: all of them are the kernel's page of zeroes.
        load_from_each_page(&others);
        let partner = Partner::new(cpu)?;
        let mut pages = lone_area(PAGES * page_size())?;
        store_to_each_page(&mut pages);
        let smaps = String::new();
        Ok(Self { pages: Some(pages), others, clear_refs, partner, other_cpu, smaps })
    }

    /// Runs a repetition and returns the number of hidden loads; `None` if the activity is not
    /// possible here.
    ///
    /// # Errors
    /// [`ObserveError`]. After an error no further repetition can run.
    pub(super) fn hidden(
        &mut self,
        between: Between,
        flush: Flush,
    ) -> Result<Option<u64>, ObserveError> {
        let pages = self.pages.take().expect("an error ends all trials");
        let (pages, referenced) = match (between, self.other_cpu) {
            (Between::OtherCpu(_), None) => (pages, None),
            (Between::OtherCpu(ms), Some(cpu)) => {
                let (pages, referenced) = self.on_another_cpu(cpu, ms, flush, pages)?;
                (pages, Some(referenced))
            }
            _ => self.on_this_cpu(between, flush, pages)?,
        };
        self.pages = Some(pages);
        Ok(referenced.map(|referenced| PAGES as u64 - referenced))
    }

    fn on_this_cpu(
        &mut self,
        between: Between,
        flushed: Flush,
        mut pages: MmapMut,
    ) -> Result<(MmapMut, Option<u64>), ObserveError> {
        // The first pass sets young bits that may be clear, the second makes translations.
        load_from_each_page(&pages);
        load_from_each_page(&pages);
        self.clear()?;
        if flushed == Flush::Mprotect {
            pages = flush(pages)?;
        }
        let mut done = true;
        match between {
            Between::OtherPages(n) => load_from_each_page(&self.others[..n * page_size()]),
            Between::OtherThread => self.partner.run()?,
            Between::OtherProgram => done = Command::new("true").status().is_ok(),
            Between::Sleep(ms) => thread::sleep(Duration::from_millis(ms)),
            Between::NoLoad | Between::OtherCpu(_) => {}
        }
        if between != Between::NoLoad {
            load_from_each_page(&pages);
        }
        let referenced = self.referenced(address(&pages))?;
        Ok((pages, done.then_some(referenced)))
    }

    fn on_another_cpu(
        &mut self,
        cpu: usize,
        ms: u64,
        flushed: Flush,
        pages: MmapMut,
    ) -> Result<(MmapMut, u64), ObserveError> {
        let address = address(&pages);
        Elsewhere::with(cpu, pages, |other| {
            other.turn();
            self.clear()?;
            if flushed == Flush::Mprotect {
                other.flush();
            }
            thread::sleep(Duration::from_millis(ms));
            other.turn();
            self.referenced(address)
        })
    }

    /// Clears the young bits of only anonymous pages (2, proc(5)), not of files' pages. The kernel
    /// then visits fewer pages, whose translations would evict others.
    fn clear(&mut self) -> Result<(), ObserveError> {
        let cleared = self.clear_refs.write_all(b"2");
        cleared.map_err(|source| ObserveError::File { path: CLEAR_REFS, source })
    }

    /// Returns the number of pages at an address that the kernel reports as referenced.
    fn referenced(&mut self, address: u64) -> Result<u64, ObserveError> {
        self.smaps.clear();
        let read = File::open(SMAPS).and_then(|mut file| file.read_to_string(&mut self.smaps));
        read.map_err(|source| ObserveError::File { path: SMAPS, source })?;
        let mapping = proc_files::mapping(&self.smaps, address);
        let page_kib = page_size() as u64 >> 10;
        match mapping {
            Some(mapping) if mapping.size == PAGES as u64 * page_kib => {
                Ok(mapping.referenced / page_kib)
            }
            _ => Err(ObserveError::NotTold),
        }
    }
}

fn address(pages: &MmapMut) -> u64 {
    pages.as_ptr().addr() as u64
}

/// Invalidates the pages' translations on every CPU of this process.
///
/// # Errors
/// The kernel's error.
pub(super) fn flush(pages: MmapMut) -> io::Result<MmapMut> {
    pages.make_read_only()?.make_mut()
}

/// A thread on the same CPU that runs when it is sent a byte.
struct Partner {
    there: PipeWriter,
    back: PipeReader,
}

impl Partner {
    /// Starts the thread, which ends when this value is dropped.
    fn new(cpu: usize) -> io::Result<Self> {
        let (mut theirs, there) = io::pipe()?;
        let (back, mut ours) = io::pipe()?;
        thread::spawn(move || {
            pin(cpu)?;
            while pass(&mut theirs, &mut ours)? {}
            io::Result::Ok(())
        });
        let mut partner = Self { there, back };
        partner.run()?;
        Ok(partner)
    }

    /// Lets the thread run, and returns when it waits again.
    fn run(&mut self) -> io::Result<()> {
        self.there.write_all(&[1])?;
        self.back.read_exact(&mut [0])
    }
}

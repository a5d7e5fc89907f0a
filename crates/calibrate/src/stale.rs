//! How long a translation that a TLB still has hides an access: young bits are cleared through
//! `/proc/self/clear_refs`, something else goes on, and pages are touched again. A page that the
//! kernel then does not take for referenced was touched through its old translation, or the TLB
//! walks without setting the bit.

use super::Rounds;
use super::area::{Pages, area, lone_area, page_size, store_to_each_page};
use super::cpus::pin;
use super::kernel::{load_from_each_page, pass};
use super::proc_files;
use memmap2::MmapMut;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Pages touched, cleared and touched again: few against any TLB.
const TOUCHED: usize = 16;

/// What goes on between the clear and the second touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// Nothing.
    Nothing,
    /// This thread loads from so many other pages, once each.
    OtherPages(usize),
    /// Another thread of the program runs on the CPU, and this one again.
    OtherThread,
    /// Another program runs on the CPU from its beginning to its end.
    OtherProgram,
    /// This thread sleeps for so many milliseconds; the CPU has others or is idle.
    Sleep(u64),
    /// `mprotect` of the pages, which invalidates them: none may be hidden.
    Invalidated,
    /// The pages are not touched again: all must look so.
    NotTouched,
}

impl Between {
    /// Each, with growing disturbance; the last two hold the measurement itself to account.
    pub const ALL: [Self; 14] = [
        Self::Nothing,
        Self::OtherPages(64),
        Self::OtherPages(256),
        Self::OtherPages(512),
        Self::OtherPages(1024),
        Self::OtherPages(2048),
        Self::OtherPages(4096),
        Self::OtherPages(MOST_OTHERS),
        Self::OtherThread,
        Self::OtherProgram,
        Self::Sleep(1),
        Self::Sleep(20),
        Self::Invalidated,
        Self::NotTouched,
    ];
}

/// More pages than any TLB holds.
const MOST_OTHERS: usize = 16_384;

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::OtherPages(n) => write!(f, "{n} other pages touched"),
            Self::OtherThread => f.write_str("another thread on the CPU, and back"),
            Self::OtherProgram => f.write_str("another program on the CPU, and back"),
            Self::Sleep(ms) => write!(f, "sleep of {ms} ms"),
            Self::Invalidated => f.write_str("check: invalidated by mprotect"),
            Self::NotTouched => f.write_str("check: not touched again"),
        }
    }
}

/// What was seen after one kind of activity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hidden {
    /// The activity.
    pub between: Between,
    /// Touches of pages whose young bit was clear.
    pub touches: u64,
    /// Those after which the kernel did not take the page for referenced.
    pub hidden: u64,
    /// The least and the most of a repetition's touches that were hidden.
    pub range: (u64, u64),
}

impl Hidden {
    /// The share of touches that were hidden.
    pub fn share(&self) -> f64 {
        self.hidden as f64 / self.touches as f64
    }
}

/// Why nothing can be said of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum CannotTell {
    /// A file that is not there or refuses.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// The pages' mapping is not found, or was joined with others.
    #[error("{SMAPS} tells nothing of the pages alone")]
    NotTold,
    /// Memory, a thread or a program.
    #[error(transparent)]
    Kernel(#[from] io::Error),
}

const CLEAR_REFS: &str = "/proc/self/clear_refs";
const SMAPS: &str = "/proc/self/smaps";

/// Touches after each activity, round by round.
///
/// # Errors
/// [`CannotTell`] says why not.
pub(super) fn measure(cpu: usize, rounds: Rounds<'_>) -> Result<Vec<Hidden>, CannotTell> {
    let mut trial = Trial::new(cpu)?;
    let mut seen = Between::ALL.map(|between| (between, Vec::new()));
    for _ in rounds {
        for (between, hidden) in &mut seen {
            hidden.extend(trial.hidden(*between)?);
        }
    }
    let told = |(between, hidden): (Between, Vec<u64>)| {
        let range = (*hidden.iter().min()?, *hidden.iter().max()?);
        let touches = (hidden.len() * TOUCHED) as u64;
        Some(Hidden { between, touches, hidden: hidden.iter().sum(), range })
    };
    Ok(seen.into_iter().filter_map(told).collect())
}

/// What a repetition needs, so that it begins with nothing but the clear.
struct Trial {
    pages: Option<MmapMut>,
    others: MmapMut,
    clear_refs: File,
    partner: Partner,
    smaps: String,
}

impl Trial {
    fn new(cpu: usize) -> Result<Self, CannotTell> {
        let others = area(MOST_OTHERS * page_size(), Pages::Small)?;
        // Never written: all of them are the kernel's page of zeroes.
        load_from_each_page(&others);
        let clear_refs = OpenOptions::new().write(true).open(CLEAR_REFS);
        let clear_refs =
            clear_refs.map_err(|source| CannotTell::File { path: CLEAR_REFS, source })?;
        let partner = Partner::new(cpu)?;
        let mut pages = lone_area(TOUCHED * page_size())?;
        store_to_each_page(&mut pages);
        Ok(Self { pages: Some(pages), others, clear_refs, partner, smaps: String::new() })
    }

    /// How many touches were hidden; nothing if the activity is not to be had here.
    fn hidden(&mut self, between: Between) -> Result<Option<u64>, CannotTell> {
        let mut pages = self.pages.take().expect("the pages are put back");
        // Twice: the first time may find young bits clear, the second finds translations.
        load_from_each_page(&pages);
        load_from_each_page(&pages);
        self.clear()?;
        let mut done = true;
        match between {
            Between::Nothing | Between::NotTouched => {}
            Between::OtherPages(n) => load_from_each_page(&self.others[..n * page_size()]),
            Between::OtherThread => self.partner.run()?,
            Between::OtherProgram => done = Command::new("true").status().is_ok(),
            Between::Sleep(ms) => thread::sleep(Duration::from_millis(ms)),
            Between::Invalidated => pages = pages.make_read_only()?.make_mut()?,
        }
        if between != Between::NotTouched {
            load_from_each_page(&pages);
        }
        let referenced = self.referenced(&pages)?;
        self.pages = Some(pages);
        Ok(done.then(|| TOUCHED as u64 - referenced))
    }

    /// Clears the young bits of anonymous pages (2, proc(5)), not of files': the kernel then looks
    /// at fewer pages, whose translations would take the place of others.
    fn clear(&mut self) -> Result<(), CannotTell> {
        let cleared = self.clear_refs.write_all(b"2");
        cleared.map_err(|source| CannotTell::File { path: CLEAR_REFS, source })
    }

    /// Pages that the kernel takes for referenced.
    fn referenced(&mut self, pages: &MmapMut) -> Result<u64, CannotTell> {
        self.smaps.clear();
        let read = File::open(SMAPS).and_then(|mut file| file.read_to_string(&mut self.smaps));
        read.map_err(|source| CannotTell::File { path: SMAPS, source })?;
        let mapping = proc_files::mapping(&self.smaps, pages.as_ptr().addr() as u64);
        let page_kib = page_size() as u64 >> 10;
        match mapping {
            Some(mapping) if mapping.size == TOUCHED as u64 * page_kib => {
                Ok(mapping.referenced / page_kib)
            }
            _ => Err(CannotTell::NotTold),
        }
    }
}

/// A thread on the same CPU that runs when it is handed a byte.
struct Partner {
    there: PipeWriter,
    back: PipeReader,
}

impl Partner {
    /// Begins the thread, which ends with this.
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

    /// Lets it run, and returns when it waits again.
    fn run(&mut self) -> io::Result<()> {
        self.there.write_all(&[1])?;
        self.back.read_exact(&mut [0])
    }
}

//! A machine whose turns are decided. It is booted once to the workload's beginning, and each run
//! continues from that state.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use pageout_experiment::bound::bound;
use tempfile::TempDir;

use super::super::build::Built;
use super::super::cache::{Cache, CacheError};
use super::super::child::{self, NotRun, version};
use super::super::digest::Name;
use super::super::plugin::{compiled, with_clock};
use super::super::progress::Progress;
use super::super::qemu::{COMMON, COUNTED};
use super::super::target::Arch;
use super::clock::Clock;
use super::debugger::Debugger;
use super::layout::{FOUND_HEAD, Found, LAYOUT, Listed, Orders, Ready};
use super::symbols::Symbols;
use super::workload::{Program, ProgramError};

/// The name of the machine's kept state in its image.
const STATE: &str = "begin";
/// The time that a machine has to boot.
const BOOT: Duration = Duration::from_secs(300);
/// The number of a machine's last lines that a message shows.
const SHOWN_LINES: usize = 8;

/// Reasons for which a machine gave no result.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// A program does not run.
    #[error(transparent)]
    Run(#[from] NotRun),
    /// There is no workload.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The image of a machine cannot be made.
    #[error("qemu-img: {0}")]
    Image(String),
    /// The emulator does not keep the machine's state.
    #[error("{title}: the emulator does not keep the machine's state: {said}")]
    NotKept {
        /// The machine.
        title: String,
        /// The emulator's answer.
        said: String,
    },
    /// The workload's beginning did not come.
    #[error("{title}: {why}; it says:\n{said}")]
    NeverBegins {
        /// The machine.
        title: String,
        /// The reason.
        why: &'static str,
        /// The machine's last lines.
        said: String,
    },
    /// The kept state is of another kernel, or none.
    #[error("{title}: the state that was kept is not of this kernel: remove {}", state.display())]
    OtherState {
        /// The machine.
        title: String,
        /// The state's place.
        state: PathBuf,
    },
    /// The kernel lacks what points need.
    #[error("{title}: the kernel has no `{symbol}`: it was built without points")]
    NoPoints {
        /// The machine.
        title: String,
        /// The symbol.
        symbol: &'static str,
    },
    /// The emulator ended or did not answer.
    #[error("{title}: the emulator failed: {source}; it says:\n{said}")]
    Emulator {
        /// The machine.
        title: String,
        /// The error of the system.
        source: io::Error,
        /// The machine's last lines.
        said: String,
    },
}

/// A run's result: the numbers, and the output on the serial line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ran {
    pub(super) found: Found,
    pub(super) serial: Vec<u8>,
    /// True if the machine was stopped by the host's clock, which other runs may not repeat.
    pub(super) is_cut_off: bool,
}

impl Ran {
    /// Returns the turns that were given up.
    pub(super) fn listed(&self) -> Vec<Listed> {
        self.found.given.iter().map(|given| given.listed).collect()
    }
}

/// Addresses of the kernel's object.
struct Addresses {
    orders: u64,
    found: u64,
    ready: u64,
    over: u64,
}

/// A machine at the workload's beginning.
pub(super) struct Machine<'a> {
    /// The machine's name in messages.
    title: String,
    /// The image with its state.
    state: PathBuf,
    line: Vec<OsString>,
    addresses: Addresses,
    pub(super) symbols: Symbols,
    /// The time that the emulator has a CPU for a run before it is cut off.
    pub(super) limit: Duration,
    pub(super) stop: &'a AtomicBool,
    /// Emulators that run nothing now.
    idle: Mutex<Vec<Emulator>>,
}

/// The emulator, which does not outlive this value.
struct Emulator {
    child: Child,
    debugger: Debugger,
    /// The directory with the socket, the image, and the output of the serial line and of the
    /// emulator itself.
    files: TempDir,
    /// The bytes of the serial line that earlier runs printed.
    said: usize,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the emulator's command line besides the arguments that name files of one run. `objects`
/// is the folder of the objects that it loads.
fn line(
    built: &Built,
    workload: &Program,
    (initrd, objects): (&Path, &Path),
    cpus: u8,
) -> Vec<OsString> {
    let smp = format!("{cpus},sockets={cpus}");
    let mut line: Vec<OsString> = with_clock(objects).into();
    line.push(Arch::X86_64.qemu().into());
    let memory = format!("{}M", workload.memory_mib());
    line.extend(["-M", "q35", "-cpu", "max", "-m", &memory, "-smp", &smp].map(Into::into));
    line.extend(COUNTED.into_iter().chain(COMMON).map(Into::into));
    // The parameters are those of machines that count, but a warning of the kernel is a failure.
    let mut parameters = "console=ttyS0 nolapic_timer tsc=reliable tsc_early_khz=1000000 \
        noreplace-smp loglevel=5 panic=-1 panic_on_warn=1"
        .to_owned();
    for word in built.kernel.parameters.iter().chain(&workload.boot_words()) {
        parameters += &format!(" {word}");
    }
    for (option, value) in [
        ("-kernel", built.image().into_os_string()),
        ("-initrd", initrd.join("initrd").into_os_string()),
        ("-append", parameters.into()),
    ] {
        line.extend([option.into(), value]);
    }
    line
}

/// Returns a line of a machine's output without control characters, and not too long.
pub(super) fn printable(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(160).collect()
}

/// Returns the last lines of a machine's output, for messages.
fn last(serial: &[u8]) -> String {
    let text = String::from_utf8_lossy(serial);
    let shown = |line: &str| format!("  {}", printable(line));
    let lines: Vec<String> =
        text.lines().filter(|line| !line.trim().is_empty()).map(shown).collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

/// Returns the output of the serial line, and that of the emulator itself.
fn words(files: &Path) -> Vec<u8> {
    ["serial", "errors"].map(|name| fs::read(files.join(name)).unwrap_or_default()).concat()
}

impl Emulator {
    /// Starts the emulator, with the machine stopped, on an image.
    fn start(line: &[OsString], files: TempDir, title: &str) -> Result<Self, MachineError> {
        let at = |name: &str| files.path().join(name);
        let create = |name: &str| File::create(at(name)).map_err(CacheError::at(&at(name)));
        let (serial, errors) = (create("serial")?, create("errors")?);
        let failed = |source| NotRun::new(&line[0].to_string_lossy(), source);
        let socket = at("gdb");
        let chardev = format!("socket,path={},server=on,wait=off,id=gdb", socket.display());
        let drive = format!("if=none,format=qcow2,file={}", at("state.qcow2").display());
        let mut child = bound("KILL", &line[0])
            .args(&line[1..])
            .args(["-S", "-drive", &drive, "-chardev", &chardev, "-gdb", "chardev:gdb"])
            .stdin(Stdio::null())
            .stdout(serial)
            .stderr(errors)
            .spawn()
            .map_err(failed)?;
        let connected =
            Debugger::connect(&socket, &mut || child.try_wait().is_ok_and(|end| end.is_none()));
        match connected {
            Ok(debugger) => Ok(Self { child, debugger, files, said: 0 }),
            Err(source) => {
                let _ = child.kill();
                let _ = child.wait();
                let said = last(&words(files.path()));
                Err(MachineError::Emulator { title: title.to_owned(), source, said })
            }
        }
    }

    /// Returns the last lines of the machine, and of the emulator itself.
    fn last(&self) -> String {
        last(&words(self.files.path()))
    }

    /// Returns the serial line's output in this run.
    fn serial(&self) -> Vec<u8> {
        let mut all = fs::read(self.files.path().join("serial")).unwrap_or_default();
        all.split_off(self.said.min(all.len()))
    }
}

fn qemu_img(arguments: &[&str]) -> Result<(), MachineError> {
    let failure = child::failure(Command::new("qemu-img").args(arguments))?;
    failure.map_or(Ok(()), |said| Err(MachineError::Image(said)))
}

/// Makes a directory for one run. Its name is short, because paths of sockets must be.
fn scratch() -> Result<TempDir, MachineError> {
    let made = tempfile::Builder::new().prefix("pageout-").tempdir();
    Ok(made.map_err(CacheError::at(&std::env::temp_dir()))?)
}

impl<'a> Machine<'a> {
    /// Boots a kernel to the workload's beginning, unless that state is in the cache. The state's
    /// name follows from the kernel, the workload and the emulator, so that no other state is
    /// taken.
    pub(super) fn open(
        built: &Built,
        workload: &Program,
        cpus: u8,
        limit: Duration,
        (cache, progress): (&Cache, &dyn Progress),
        stop: &'a AtomicBool,
    ) -> Result<Self, MachineError> {
        let title = format!("{}, {}", built.kernel.name, workload.text());
        let map = fs::read_to_string(built.symbols()).map_err(CacheError::at(&built.symbols()))?;
        let symbols = Symbols::parse(&map);
        let address = |symbol: &'static str| {
            let title = title.clone();
            symbols.address(symbol).ok_or(MachineError::NoPoints { title, symbol })
        };
        let addresses = Addresses {
            orders: address("pageout_orders")?,
            found: address("pageout_found")?,
            ready: address("pageout_schedule_ready")?,
            over: address("pageout_schedule_over")?,
        };
        let initrd = workload.initrd(cache, progress)?;
        let objects = compiled(cache, progress).map_err(ProgramError::from)?;
        let line = line(built, workload, (&initrd, &objects), cpus);
        let words = line.iter().map(|word| word.as_encoded_bytes());
        let key = Name::default().part(version(Arch::X86_64.qemu())?).parts(words);
        let mut machine = Self {
            title,
            state: PathBuf::new(),
            line,
            addresses,
            symbols,
            limit,
            stop,
            idle: Mutex::default(),
        };
        let kept = cache.made("states", &key.finish(), progress, |to| machine.boot(to))?;
        machine.state = kept.join("state.qcow2");
        Ok(machine)
    }

    /// Runs `work` with the debugger; its error gets the machine's last lines.
    fn on<T>(
        &self,
        emulator: &mut Emulator,
        work: impl FnOnce(&mut Debugger) -> io::Result<T>,
    ) -> Result<T, MachineError> {
        work(&mut emulator.debugger).map_err(|source| {
            let (title, said) = (self.title.clone(), emulator.last());
            MachineError::Emulator { title, source, said }
        })
    }

    /// Runs a machine until it stops; `None` if it had a CPU for `limit`, or no result is wanted.
    fn go_on(&self, emulator: &mut Emulator, limit: Duration) -> io::Result<Option<()>> {
        let clock = Clock::start(emulator.child.id());
        emulator.debugger.run(&|| clock.passed() > limit || self.is_stopped())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Boots, and saves the state in a directory.
    fn boot(&self, to: &Path) -> Result<(), MachineError> {
        let files = scratch()?;
        let image = files.path().join("state.qcow2");
        qemu_img(&["create", "-q", "-f", "qcow2", &image.display().to_string(), "64M"])?;
        let mut emulator = Emulator::start(&self.line, files, &self.title)?;
        self.on(&mut emulator, |debugger| debugger.stop_at(self.addresses.ready))?;
        let why = match self.go_on(&mut emulator, BOOT) {
            Ok(Some(())) => None,
            Ok(None) => Some("the workload does not begin in 300 s"),
            Err(_) => Some(
                "the machine ended before the workload began (schedule_begin() or lab_sample())",
            ),
        };
        if let Some(why) = why {
            let said = emulator.last();
            return Err(MachineError::NeverBegins { title: self.title.clone(), why, said });
        }
        let save = format!("savevm {STATE}");
        let said = self.on(&mut emulator, |debugger| debugger.monitor(&save))?;
        if !said.trim().is_empty() {
            let (title, said) = (self.title.clone(), said.trim().to_owned());
            return Err(MachineError::NotKept { title, said });
        }
        let kept = to.join("state.qcow2");
        fs::copy(&image, &kept).map_err(CacheError::at(&kept))?;
        Ok(())
    }

    /// Runs from the workload's beginning to its end, with these orders.
    pub(super) fn run(&self, orders: &Orders) -> Result<Ran, MachineError> {
        let mut emulator = self.begin()?;
        self.on(&mut emulator, |d| d.write(self.addresses.orders, &orders.bytes()))?;
        let ended = self.go_on(&mut emulator, self.limit);
        let (found, is_cut_off) = self.on(&mut emulator, |debugger| {
            let is_cut_off = ended?.is_none();
            if is_cut_off {
                debugger.interrupt()?;
            }
            Ok((self.found(debugger)?, is_cut_off))
        })?;
        let ran = Ran { found, serial: emulator.serial(), is_cut_off };
        if !is_cut_off {
            self.idle().push(emulator);
        }
        Ok(ran)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Emulator>> {
        self.idle.lock().expect("no panics")
    }

    /// Starts emulators until `emulators` of them are idle. The thread that starts an emulator must
    /// outlive its last run: the emulator ends with the thread.
    pub(super) fn fill(&self, emulators: usize) -> Result<(), MachineError> {
        while self.idle().len() < emulators {
            let started = self.start()?;
            self.idle().push(started);
        }
        Ok(())
    }

    /// Ends the emulators that run nothing, so that further runs start others.
    pub(super) fn renew(&self) {
        self.idle().clear();
    }

    /// Returns an emulator with the machine stopped at the workload's beginning.
    fn begin(&self) -> Result<Emulator, MachineError> {
        let idle = self.idle().pop();
        let mut emulator = match idle {
            Some(emulator) => emulator,
            None => self.start()?,
        };
        emulator.said += emulator.serial().len();
        let load = format!("loadvm {STATE}");
        let said = self.on(&mut emulator, |debugger| debugger.monitor(&load))?;
        let ready = self.on(&mut emulator, |d| d.read(self.addresses.orders, Ready::SIZE))?;
        match Ready::parse(&ready).filter(|ready| ready.layout == LAYOUT) {
            // The emulator continues with the CPU that ran last. This step makes it the same one
            // each time.
            Some(Ready { cpu, .. }) if said.trim().is_empty() => {
                self.on(&mut emulator, |debugger| debugger.step(cpu))?;
            }
            _ => {
                let (title, state) = (self.title.clone(), self.state.clone());
                return Err(MachineError::OtherState { title, state });
            }
        }
        Ok(emulator)
    }

    /// Starts an emulator that can load the kept state, and stops at the end of each run.
    fn start(&self) -> Result<Emulator, MachineError> {
        let files = scratch()?;
        let image = files.path().join("state.qcow2");
        // The emulator writes to the image that it loads the state from.
        fs::copy(&self.state, &image).map_err(CacheError::at(&image))?;
        let mut emulator = Emulator::start(&self.line, files, &self.title)?;
        self.on(&mut emulator, |debugger| debugger.stop_at(self.addresses.over))?;
        Ok(emulator)
    }

    fn found(&self, debugger: &mut Debugger) -> io::Result<Found> {
        let none =
            || io::Error::new(io::ErrorKind::InvalidData, "the kernel's numbers make no sense");
        let at = self.addresses.found;
        let head = Found::head(&debugger.read(at, FOUND_HEAD)?).ok_or_else(none)?;
        let mut part = |(offset, size): (usize, usize)| debugger.read(at + offset as u64, size);
        let (turns, events) = (part(head.turns_at())?, part(head.events_at())?);
        head.with(&turns, &events).ok_or_else(none)
    }

    /// Returns the bytes of the code between two addresses.
    pub(super) fn code(&self, [start, end]: [u64; 2]) -> Result<Vec<u8>, MachineError> {
        let mut emulator = self.begin()?;
        let size = usize::try_from(end - start).unwrap_or(0);
        self.on(&mut emulator, |debugger| debugger.read(start, size))
    }
}

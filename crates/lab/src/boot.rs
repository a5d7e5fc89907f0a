//! A running test machine: it is started, its output is read, and it is ended whatever happens.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use pageout_record::schema::Record;

use pageout_experiment::bound::bound;
use pageout_experiment::named;

use super::transcript::{Brought, Fault, RECORD, Stopped, Transcript};

/// The time that a machine may take to end after it said that it is done, or panicked.
const GRACE: Duration = Duration::from_secs(10);
/// The number of lines that a message shows: the last ones, or those up to a panic.
const SHOWN_LINES: usize = 10;
/// The maximum number of characters of such a line.
const SHOWN_COLUMNS: usize = 160;
/// The time between two checks whether to stop.
const TICK: Duration = Duration::from_millis(100);
/// The maximum number of bytes that a machine may print: over a hundred times what the benchmark's
/// print.
const MOST_OUTPUT: usize = 16 << 20;
/// The maximum number of bytes of a line that does not end.
const MOST_LINE: u64 = 1 << 20;
/// The maximum number of lines that may wait to be parsed.
const LINES: usize = 1024;

/// A machine to start.
#[derive(Debug)]
pub(super) struct Boot<'a> {
    /// The machine's name in messages: `s1, arm64-4k, cpu max`.
    pub(super) title: &'a str,
    /// The emulator and its arguments.
    pub(super) command: Vec<std::ffi::OsString>,
    /// The benchmark's runs.
    pub(super) plan: &'a [String],
    /// The file that the machine's serial line is written to.
    pub(super) log: &'a Path,
    /// The time after which the machine is stopped.
    pub(super) limit: Duration,
    /// The time within which the machine has to print its first line.
    pub(super) silence: Duration,
    /// Set when the machine's records are no longer wanted.
    pub(super) stop: &'a AtomicBool,
}

/// The outcome of a machine.
#[derive(Debug)]
pub(super) struct Ended {
    /// The benchmark's records.
    pub(super) records: Vec<Record>,
    /// A session's answers, line by line.
    pub(super) answers: Vec<String>,
    /// The number of lines in which the kernel warned.
    pub(super) warnings: usize,
}

/// The reason why a machine gave no records.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The log cannot be written.
    #[error("cannot write {}", named(log))]
    Log {
        /// The file.
        log: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The emulator does not start.
    #[error("cannot run `{program}`")]
    Start {
        /// The program.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The machine started, but its output is no result.
    #[error(transparent)]
    Failed(#[from] Box<Failed>),
}

/// Returns the last lines that a machine printed, for messages.
fn said(last: &[String]) -> String {
    match last {
        [] => "it has no line".to_owned(),
        _ => format!("it says:\n{}", last.join("\n")),
    }
}

/// A machine that gave no result.
#[derive(Debug, thiserror::Error)]
#[error("{title}: {fault}\nthe log is {}; {}", named(log), said(last))]
pub struct Failed {
    /// The machine's name in messages.
    title: String,
    /// The fault of the run.
    pub fault: Fault,
    /// The file with all that the machine printed.
    log: PathBuf,
    /// The last lines that the machine printed.
    last: Vec<String>,
}

/// The emulator's process. It does not outlive this value, nor the thread that made it: when that
/// thread ends, the system kills the emulator.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Boot<'_> {
    /// Runs the machine to its end, and reports the lines that it prints.
    pub(super) fn run(&self, tell: &dyn Fn(&str)) -> Result<Ended, BootError> {
        let failed = |source| BootError::Log { log: self.log.to_owned(), source };
        let mut log = File::create(self.log).map_err(failed)?;
        let (reader, emulator) = self.start()?;
        let lines = listen(reader);
        let mut transcript = Transcript::default();
        let mut last: Vec<String> = Vec::new();
        let mut deadline = Instant::now() + self.silence.min(self.limit);
        let mut over = false;
        let mut output = 0;
        let stopped = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match lines.recv_timeout(left.min(TICK)) {
                Ok(line) => {
                    if output == 0 {
                        deadline += self.limit.saturating_sub(self.silence);
                    }
                    log.write_all(&line).map_err(failed)?;
                    output += line.len();
                    if output > MOST_OUTPUT {
                        break Some(Stopped::Output { mib: MOST_OUTPUT >> 20 });
                    }
                    let line = String::from_utf8_lossy(&line);
                    let line = line.trim_end_matches(['\r', '\n']);
                    if !over {
                        last.drain(..(last.len() + 1).saturating_sub(SHOWN_LINES));
                        last.push(shown(line));
                    }
                    transcript.take(line);
                    // What the kernel or the workload says; a record is for programs.
                    if !line.starts_with(RECORD) {
                        tell(line);
                    }
                    if transcript.is_over() && !over {
                        over = true;
                        deadline = deadline.min(Instant::now() + GRACE);
                    }
                }
                Err(RecvTimeoutError::Timeout) if left > TICK && !self.is_stopped() => {}
                Err(RecvTimeoutError::Timeout) => {
                    break Some(match output {
                        0 if self.silence < self.limit => {
                            Stopped::Silent { seconds: self.silence.as_secs() }
                        }
                        _ => Stopped::Time { seconds: self.limit.as_secs() },
                    });
                }
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        drop(emulator);
        let warnings = transcript.warnings();
        match transcript.finish(self.plan, stopped) {
            Ok(Brought { records, answers }) => Ok(Ended { records, answers, warnings }),
            Err(fault) => {
                let (title, log) = (self.title.to_owned(), self.log.to_owned());
                Err(Box::new(Failed { title, fault, log, last }).into())
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn start(&self) -> Result<(PipeReader, Emulator), BootError> {
        let program = self.command[0].to_string_lossy().into_owned();
        let failed = |source| BootError::Start { program, source };
        let start = || {
            let (reader, writer) = io::pipe()?;
            let child = bound("KILL", &self.command[0])
                .args(&self.command[1..])
                .stdin(Stdio::null())
                .stdout(writer.try_clone()?)
                .stderr(writer)
                .spawn()?;
            Ok((reader, Emulator(child)))
        };
        start().map_err(failed)
    }
}

/// Returns a line as messages show it: cut to fit, without characters that a terminal would obey.
fn shown(line: &str) -> String {
    let printable = line.chars().filter(|c| !c.is_control());
    format!("  {}", printable.take(SHOWN_COLUMNS).collect::<String>())
}

/// Returns a receiver of the lines of a pipe, until the pipe ends.
fn listen(pipe: PipeReader) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(LINES);
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        // No more lines come after the end of the pipe, an error, or the end of the receiver.
        while (&mut pipe).take(MOST_LINE).read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::{TempDir, tempdir};

    const RECORD: &str =
        r#"echo 'record {"scenario": "x", "ground": "linux", "seed": 0, "metrics": []}'"#;

    struct Fake {
        directory: TempDir,
        stopped: bool,
    }

    impl Fake {
        fn new() -> Self {
            Self { directory: tempdir().unwrap(), stopped: false }
        }

        /// Boots a shell script in QEMU's place; the script first writes its process id to a file.
        fn boot(&self, script: &str, limit: Duration) -> Result<Ended, BootError> {
            let pid = self.directory.path().join("pid");
            let script = format!("echo $$ > {}\n{script}\n", pid.display());
            let command = ["sh", "-c", &script].map(Into::into).to_vec();
            let log = self.directory.path().join("serial.log");
            let plan = ["x".to_owned()];
            let stop = AtomicBool::new(self.stopped);
            let (title, stop) = ("s1", &stop);
            let boot =
                Boot { title, command, plan: &plan, log: &log, limit, silence: SILENCE, stop };
            boot.run(&|_| {})
        }

        fn fault(&self, script: &str, limit: Duration) -> (Fault, String) {
            let error = self.boot(script, limit).unwrap_err();
            let message = error.to_string();
            let BootError::Failed(failed) = error else {
                panic!("{message}");
            };
            assert!(message.contains(&failed.log.display().to_string()), "{message}");
            (failed.fault, message)
        }

        fn is_gone(&self) -> bool {
            let pid = fs::read_to_string(self.directory.path().join("pid")).unwrap();
            !Path::new("/proc").join(pid.trim()).exists()
        }
    }

    const LONG: Duration = Duration::from_secs(60);
    const SILENCE: Duration = Duration::from_secs(2);

    #[test]
    fn a_machine_that_ends_well_gives_its_records() {
        let fake = Fake::new();
        let script = format!("{RECORD}\necho 'WARNING: CPU: 0'\necho 'lab: exit 0\nlab: done'");
        let ended = fake.boot(&script, LONG).unwrap();
        assert_eq!((ended.records.len(), ended.warnings), (1, 1));
        assert!(fake.is_gone());
        let log = fs::read_to_string(fake.directory.path().join("serial.log")).unwrap();
        assert!(log.ends_with("lab: exit 0\nlab: done\n"), "{log}");
    }

    #[test]
    fn a_panic_is_told_with_the_lines_before_it() {
        let fake = Fake::new();
        let script = "echo 'Unable to handle x'\necho 'Kernel panic - not syncing: Oops'";
        let (fault, message) = fake.fault(script, LONG);
        assert_eq!(fault, Fault::Panic("Kernel panic - not syncing: Oops".into()));
        assert!(message.contains("\n  Unable to handle x\n"), "{message}");
    }

    #[test]
    fn a_machine_that_hangs_is_stopped() {
        let fake = Fake::new();
        let (_, message) = fake.fault("exec sleep 1000", Duration::from_millis(300));
        assert!(message.ends_with("serial.log; it has no line"), "{message}");
        let (fault, _) = fake.fault("echo up\nexec sleep 1000", Duration::from_millis(300));
        assert!(matches!(fault, Fault::TimeLimit { done: 0, of: 1, .. }), "{fault}");
        assert!(fake.is_gone());
        let (fault, _) = fake.fault("exec sleep 1000", LONG);
        assert_eq!(fault, Fault::Silent { seconds: SILENCE.as_secs() });
        assert!(fake.is_gone());
    }

    #[test]
    fn a_machine_that_talks_without_end_is_stopped() {
        let fake = Fake::new();
        for script in ["exec yes", "exec tr '\\0' x < /dev/zero"] {
            let (fault, message) = fake.fault(script, LONG);
            assert_eq!(fault, Fault::Output { mib: 16, done: 0, of: 1 });
            assert!(message.len() < 5000, "{message}");
            assert!(fake.is_gone());
        }
    }

    #[test]
    fn a_machine_that_nobody_wants_any_more_is_stopped() {
        let fake = Fake { stopped: true, ..Fake::new() };
        fake.fault("exec sleep 1000", LONG);
        assert!(fake.is_gone());
    }

    #[test]
    fn an_early_end_is_told_with_what_the_emulator_said() {
        let fake = Fake::new();
        let (fault, message) = fake.fault("echo 'qemu: no such machine' >&2; exit 1", LONG);
        assert_eq!(fault, Fault::Early { done: 0, of: 1 });
        assert!(message.ends_with("qemu: no such machine"), "{message}");
    }

    #[test]
    fn lines_are_shown_without_what_a_terminal_obeys() {
        assert_eq!(shown("\u{1b}[2Ja \"b\"\t"), "  [2Ja \"b\"");
        assert_eq!(shown(&"x".repeat(1000)).len(), 2 + SHOWN_COLUMNS);
    }

    #[test]
    fn the_machine_ends_with_the_thread_that_started_it() {
        let fake = Fake::new();
        let pid = fake.directory.path().join("pid");
        let script = format!("echo $$ > {}\nexec sleep 1000\n", pid.display());
        let command: Vec<std::ffi::OsString> = ["sh", "-c", &script].map(Into::into).to_vec();
        thread::spawn(move || {
            let log = Path::new("/dev/null");
            let stop = &AtomicBool::new(false);
            let (title, limit, silence) = ("s1", LONG, LONG);
            let boot = Boot { title, command, plan: &[], log, limit, silence, stop };
            let (_, emulator) = boot.start().unwrap();
            while fs::read_to_string(&pid).map_or(true, |text| text.is_empty()) {
                thread::sleep(Duration::from_millis(5));
            }
            // Like a killed process, this thread leaves the emulator to itself.
            std::mem::forget(emulator);
        })
        .join()
        .unwrap();
        let since = Instant::now();
        let is_running = || {
            let pid = fs::read_to_string(fake.directory.path().join("pid")).unwrap();
            let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while is_running() {
            assert!(since.elapsed() < LONG, "the emulator lives on");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

//! Records under QEMU's user mode with a plugin, whose words `files/record.c` defines.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use pageout_experiment::bound::bound;
use shared_child::SharedChild;
use tempfile::TempDir;

use super::child::{self, LOG_FD};
use super::options::{RecordError, RecordOptions, Recorder};
use super::recording::{Recording, begin};
use crate::PROGRESS_REFERENCES;
use crate::event::Page;
use crate::process::regions;
use crate::syscall::Call;

/// The plugin's source and its header.
const SOURCES: [(&str, &str); 2] = [
    ("record.c", include_str!("../../files/record.c")),
    ("plugin-api.h", include_str!("../../../lab/files/plugin/plugin-api.h")),
];
const COMPILER: &str = "gcc";
/// The word that ends the log, though a background child may still hold the pipe open.
const END: u64 = 0b1011;
/// The maximum length of one text, in bytes; the plugin never writes more.
const MAX_TEXT: u64 = 1 << 20;
const BUFFER: usize = 64 << 10;

/// QEMU and the plugin, whose files are removed when this is dropped.
pub(super) struct Qemu {
    program: PathBuf,
    version: String,
    directory: TempDir,
}

impl Qemu {
    /// Asks QEMU for its version, and compiles the plugin.
    pub(super) fn prepare(program: &Path) -> Result<Self, RecordError> {
        if env::consts::ARCH != "x86_64" {
            return Err(RecordError::Architecture { found: env::consts::ARCH });
        }
        let output = child::ask(Recorder::Qemu, program, &["--version"])?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said.split_whitespace().nth(2).unwrap_or("of unknown version").to_owned();
        let directory = child::directory()?;
        compile(directory.path())?;
        Ok(Self { program: program.to_owned(), version, directory })
    }

    fn start(&self, command: &[OsString], told: PipeWriter) -> Result<SharedChild, RecordError> {
        let (first, rest) = command.split_first().expect("there is a command");
        let program = found(first);
        if let Some(interpreter) = interpreter(&program) {
            return Err(RecordError::Script { program, interpreter });
        }
        let mut plugin = OsString::from("file=");
        // A comma in a value is doubled.
        let path = self.directory.path().join("record.so");
        plugin.push(path.to_string_lossy().replace(',', ",,"));
        plugin.push(format!(",fd={LOG_FD}"));
        let mut qemu = bound("KILL", &self.program);
        // The processor with all features that QEMU emulates: libraries choose their loops by it.
        qemu.args(["-cpu", "max", "-plugin"]).arg(plugin);
        qemu.arg("-0").arg(first).arg(program).args(rest);
        child::start(qemu, [(told.into(), LOG_FD)])
    }
}

fn compile(directory: &Path) -> Result<(), RecordError> {
    for (name, text) in SOURCES {
        fs::write(directory.join(name), text).map_err(RecordError::Temporary)?;
    }
    let output = Command::new(COMPILER)
        .current_dir(directory)
        .args(["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o", "record.so", "record.c"])
        .output()
        .map_err(|source| RecordError::Run { program: COMPILER.into(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(RecordError::Compile { said })
}

/// Returns the path of the program of that name, which QEMU does not search for.
fn found(name: &OsStr) -> PathBuf {
    let given = Path::new(name);
    if name.as_encoded_bytes().contains(&b'/') {
        return given.to_owned();
    }
    let is_executable = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let places = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&places).map(|place| place.join(name));
    places.into_iter().find(is_executable).unwrap_or_else(|| given.to_owned())
}

/// Returns the interpreter that a script names in its first line, of which the kernel reads 256
/// bytes.
fn interpreter(program: &Path) -> Option<String> {
    let mut line = Vec::new();
    BufReader::new(File::open(program).ok()?.take(256)).read_until(b'\n', &mut line).ok()?;
    let words = line.strip_prefix(b"#!")?;
    Some(String::from_utf8_lossy(words).trim().to_owned())
}

/// Runs the command to its end; returns its recording and its end.
pub(super) fn record(
    qemu: &Qemu,
    options: &RecordOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<(Recording, ExitStatus), RecordError> {
    let tool = format!("QEMU {} with a plugin", qemu.version);
    let epochs = begin(options, &tool, &options.output, options.words())?;
    let (told, mut end) = io::pipe().map_err(RecordError::Log)?;
    let child = qemu.start(&options.command, end.try_clone().map_err(RecordError::Log)?)?;
    let mut recording = Recording::new(child.id(), epochs);
    // The end is not needed if no reader is left.
    let end = move || drop(end.write_all(&END.to_ne_bytes()));
    let status = child::beside(&child, end, || read(&mut recording, told, progress))?;
    Ok((recording, status))
}

/// Turns the plugin's words into a trace.
fn read(
    recording: &mut Recording,
    told: PipeReader,
    progress: &mut dyn FnMut(u64),
) -> Result<(), RecordError> {
    let mut words = Words(BufReader::with_capacity(BUFFER, told));
    let mut shown = 0;
    // The other page of the next reference, and the file that the next call names.
    let (mut also, mut file) = (None, None);
    loop {
        let word = words.next()?;
        match word & 3 {
            0 => {
                let page = Page::new(word >> 20).ok_or_else(misunderstood)?;
                let (store, fetch) = (word & 4 != 0, word & 8 != 0);
                match word >> 4 & 0xffff {
                    0 => also = Some(page),
                    times => {
                        if let Some(also) = also.take() {
                            recording.access(also, store, fetch)?;
                        }
                        recording.run(page, store, fetch, times)?;
                    }
                }
                if recording.references() - shown >= PROGRESS_REFERENCES {
                    shown = recording.references();
                    progress(shown);
                }
            }
            1 => {
                let (result, arguments) = (words.next()?, words.arguments()?);
                let call = call(word >> 2, result, arguments).ok_or_else(misunderstood)?;
                if let (Call::Map { fd, .. }, Some(path)) = (&call, file.take()) {
                    recording.call(Call::Open { path, fd: *fd })?;
                }
                recording.call(call)?;
            }
            2 => {
                let text = words.text(word >> 3)?;
                match word & 4 {
                    0 => recording.find(regions(&text))?,
                    _ => file = Some(text),
                }
            }
            _ if word == END => return Ok(()),
            _ if word & 4 != 0 => recording.call(Call::Child { pid: word >> 4 })?,
            _ => recording.call(Call::Replace)?,
        }
    }
}

fn misunderstood() -> RecordError {
    RecordError::Log(io::Error::other("the plugin's words are not those of this program"))
}

/// Returns a call of x86-64 Linux, by its number there.
fn call(number: u64, result: u64, arguments: [u64; 6]) -> Option<Call> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let (address, length) = (first, second);
    Some(match number {
        9 => {
            let (protection, flags, fd, offset) = (third, fourth, fifth, sixth);
            Call::Map { address: result, length, protection, flags, fd, offset }
        }
        10 | 329 => Call::Protect { address, length, protection: third },
        11 => Call::Unmap { address, length },
        12 => Call::Break { end: result },
        25 => {
            let (old, old_length, new_length, flags) = (first, second, third, fourth);
            Call::Remap { old, old_length, new: result, new_length, flags }
        }
        28 => Call::Advise { address, length, advice: third },
        _ => return None,
    })
}

/// A reader of the plugin's words.
struct Words(BufReader<PipeReader>);

impl Words {
    fn next(&mut self) -> Result<u64, RecordError> {
        let mut word = [0; 8];
        self.0.read_exact(&mut word).map_err(RecordError::Log)?;
        Ok(u64::from_ne_bytes(word))
    }

    fn arguments(&mut self) -> Result<[u64; 6], RecordError> {
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = self.next()?;
        }
        Ok(arguments)
    }

    /// Reads `length` bytes, and those that fill the last word.
    fn text(&mut self, length: u64) -> Result<String, RecordError> {
        if length > MAX_TEXT {
            return Err(misunderstood());
        }
        let mut text = vec![0; length.next_multiple_of(8) as usize];
        self.0.read_exact(&mut text).map_err(RecordError::Log)?;
        text.truncate(length as usize);
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_its_first_line_and_says_its_interpreter() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("python3");
        let of = |content: &[u8]| {
            fs::write(&path, content).expect("a file");
            interpreter(&path)
        };
        assert_eq!(of(b"#!/usr/bin/env bash\nset -e\n").as_deref(), Some("/usr/bin/env bash"));
        assert_eq!(of(b"#! /bin/sh").as_deref(), Some("/bin/sh"));
        assert_eq!(
            of(&[b"#!/".to_vec(), vec![b'a'; 1 << 20]].concat()).map(|it| it.len()),
            Some(254)
        );
        for program in [&b"\x7fELF"[..], b"", b"# /bin/sh\n", b"#"] {
            assert_eq!(of(program), None);
        }
        assert_eq!(interpreter(directory.path()), None);
        assert_eq!(interpreter(&directory.path().join("none")), None);
    }
}

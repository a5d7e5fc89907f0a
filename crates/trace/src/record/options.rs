//! Options of a recording, and its errors.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use crate::error::WriteError;
use crate::filter::FilterShape;
use crate::header::DEFAULT_EPOCH_REFERENCES;
use pageout_experiment::named;

/// The tool that a program is recorded under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recorder {
    /// Valgrind's tool lackey.
    Valgrind,
    /// A plugin of QEMU's user mode, faster and with less in the trace (`docs/trace-format.md`).
    Qemu,
}

impl Recorder {
    /// Returns the default program of the recorder.
    const fn program(self) -> &'static str {
        match self {
            Self::Valgrind => "valgrind",
            Self::Qemu => "qemu-x86_64",
        }
    }

    /// Returns the Debian package of the recorder.
    const fn package(self) -> &'static str {
        match self {
            Self::Valgrind => "valgrind",
            Self::Qemu => "qemu-user",
        }
    }

    /// Returns the recorder's name in messages.
    const fn name(self) -> &'static str {
        match self {
            Self::Valgrind => "Valgrind",
            Self::Qemu => "QEMU",
        }
    }
}

/// The options of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordOptions {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// The trace to write.
    pub output: PathBuf,
    /// The epoch length, in references.
    pub epoch_references: u64,
    /// The references that the trace may lack.
    pub filter: FilterShape,
    /// True to record child processes too, each from the moment it executes a program, into a file
    /// of its own ([`RecordOptions::child_output`]). Only [`Recorder::Valgrind`] can.
    pub children: bool,
    /// The tool to record under.
    pub recorder: Recorder,
    /// The recorder's program to run.
    pub program: PathBuf,
}

impl RecordOptions {
    /// Records `command` into `output` with the default epoch length and filter.
    pub fn new(recorder: Recorder, command: Vec<OsString>, output: PathBuf) -> Self {
        Self {
            command,
            output,
            epoch_references: DEFAULT_EPOCH_REFERENCES,
            filter: FilterShape::DEFAULT,
            children: false,
            recorder,
            program: PathBuf::from(recorder.program()),
        }
    }

    /// Returns the command's words, as a trace has them.
    pub(super) fn words(&self) -> Vec<String> {
        self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// Returns the path for the trace of the child of this number, beside `output`: for `run.pgt`,
    /// `run.1.pgt` and so on.
    pub fn child_output(&self, number: u64) -> PathBuf {
        let mut name = self.output.file_stem().unwrap_or_default().to_owned();
        name.push(format!(".{number}"));
        for part in self.output.extension().into_iter().flat_map(|end| [OsStr::new("."), end]) {
            name.push(part);
        }
        self.output.with_file_name(name)
    }
}

/// An error that prevents a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// No command was given.
    #[error("no command to record")]
    NoCommand,
    /// The recorder is missing.
    #[error("cannot find `{}`: install the package `{}`", named(program), recorder.package())]
    NoRecorder {
        /// The recorder.
        recorder: Recorder,
        /// The program that was looked for.
        program: PathBuf,
    },
    /// A program does not run.
    #[error("cannot run `{}`", named(program))]
    Run {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Valgrind does not report where its tool is.
    #[error("`{}` does not say which program its tool lackey is", named(valgrind))]
    NoTool {
        /// The program that was asked.
        valgrind: PathBuf,
    },
    /// The plugin cannot be compiled.
    #[error("the compiler gcc does not make the plugin for QEMU: {said}")]
    Compile {
        /// The compiler's message.
        said: String,
    },
    /// The programs of this machine cannot be recorded with QEMU.
    #[error("--recorder qemu is for programs of x86-64 on x86-64, and this is {found}")]
    Architecture {
        /// The architecture of this machine.
        found: &'static str,
    },
    /// QEMU runs no scripts, and the command is one, as commands are that choose among versions.
    #[error(
        "{} is a script for `{interpreter}`, and QEMU runs programs only: name the interpreter, or \
         the program that the script ends in",
        named(program)
    )]
    Script {
        /// The file.
        program: PathBuf,
        /// The interpreter of the first line, with arguments.
        interpreter: String,
    },
    /// The recorder follows one process.
    #[error("--children needs --recorder valgrind: {} records one process", recorder.name())]
    Children {
        /// The recorder.
        recorder: Recorder,
    },
    /// A child cannot be followed.
    #[error("cannot record the child process {pid}")]
    Child {
        /// The child's number.
        pid: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The files that the recorder is started with cannot be made.
    #[error("cannot write to the directory for temporary files")]
    Temporary(#[source] io::Error),
    /// The recorder ran, but the program did not.
    #[error("`{command}` did not start under {}: {reason}", recorder.name())]
    NotStarted {
        /// The recorder.
        recorder: Recorder,
        /// The command's first word.
        command: String,
        /// The meaning of the recorder's exit status.
        reason: String,
    },
    /// The recorder's output cannot be read.
    #[error("reading what the recorder tells failed")]
    Log(#[source] io::Error),
    /// The trace cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_children_are_beside_that_of_the_first_process() {
        let output_of = |output: &str| {
            RecordOptions::new(Recorder::Valgrind, Vec::new(), output.into()).child_output(12)
        };
        let cases = [
            ("run.pgt", "run.12.pgt"),
            ("a.b/run", "a.b/run.12"),
            ("/tmp/run.old.pgt", "/tmp/run.old.12.pgt"),
            (".pgt", ".pgt.12"),
        ];
        for (output, expected) in cases {
            assert_eq!(output_of(output), PathBuf::from(expected));
        }
    }
}

//! The program of a workload that is not in C: a static binary, or a shell script, with the other
//! files of its directory.

use std::fs;
use std::path::{Path, PathBuf};

use object::elf::PT_INTERP;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Architecture, Endianness, Object};

use super::target::Arch;
use super::tools;

/// The text in a file's name that stands for the architecture.
pub(super) const ARCH: &str = "{arch}";
/// The first line of a script.
const SHEBANG: &[u8] = b"#!";
/// The interpreters of scripts that the test machine has.
const SHELLS: [&str; 2] = ["/bin/sh", "/bin/busybox sh"];
/// The shell of this machine's architecture.
const BUSYBOX: &str = "busybox";
/// The maximum number of bytes of all files together: they go into the machine's memory.
const MOST_BYTES: u64 = 256 << 20;

/// A program that a workload runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Program {
    /// The file's name, in which `{arch}` may stand for the architecture.
    pub(super) name: String,
    /// The region that a whole run of it is; `None` if it says where its regions are.
    pub(super) run: Option<String>,
    /// The name of the file that is the shell of scripts, with `{arch}` too; `None` for this
    /// machine's busybox.
    shell: Option<String>,
    /// All files of its directory: names and contents.
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// The reason why a workload has no program for an architecture.
#[derive(Debug, thiserror::Error)]
pub enum NoProgram {
    /// A file is not there.
    #[error("no file `{file}` beside the manifest, for {}", arch.label())]
    NoFile {
        /// The file's name.
        file: String,
        /// The architecture.
        arch: Arch,
    },
    /// A file is neither a script nor a program of the architecture.
    #[error(
        "{file} is not a program for {}: expected a statically linked ELF program of it, or a \
         script that begins with #!/bin/sh",
        arch.label()
    )]
    NotOne {
        /// The file's name.
        file: String,
        /// The architecture.
        arch: Arch,
    },
    /// A program takes libraries.
    #[error("{file} takes shared libraries, which the test machine does not have: link it -static")]
    Dynamic {
        /// The file's name.
        file: String,
    },
    /// A script is for another interpreter.
    #[error("{file} is a script for `{found}`: expected {}", SHELLS.join(" or "))]
    Interpreter {
        /// The file's name.
        file: String,
        /// The interpreter that the program names.
        found: String,
    },
    /// There is no shell for the test machine.
    #[error(
        "no shell for scripts on {}: {}, or `shell = \"FILE\"` in the manifest names a static \
         busybox of the directory",
        arch.label(), if arch.is_native() {
            "apt-get install busybox-static"
        } else {
            "this machine's is for another architecture"
        }
    )]
    NoShell {
        /// The architecture.
        arch: Arch,
    },
}

impl Program {
    /// Reads the files of a directory, of which one is the program.
    ///
    /// # Errors
    /// The path of a file that cannot be read, or of the directory if its files are too large.
    pub(super) fn read(
        directory: &Path,
        name: String,
        run: Option<String>,
        shell: Option<String>,
    ) -> Result<Self, (PathBuf, std::io::Error)> {
        let at = |path: &Path| {
            let path = path.to_owned();
            |error| (path, error)
        };
        let mut files = Vec::new();
        let mut bytes = 0;
        for entry in fs::read_dir(directory).map_err(at(directory))? {
            let path = entry.map_err(at(directory))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let size = fs::metadata(&path).map_err(at(&path))?;
            if !size.is_file() {
                continue;
            }
            bytes += size.len();
            if bytes > MOST_BYTES {
                let mib = MOST_BYTES >> 20;
                let error = std::io::Error::other(format!("its files have more than {mib} MiB"));
                return Err(at(directory)(error));
            }
            files.push((name.to_owned(), fs::read(&path).map_err(at(&path))?));
        }
        files.sort();
        Ok(Self { name, run, shell, files })
    }

    /// Checks that the program's file for an architecture is a program that runs there.
    pub(super) fn check(&self, arch: Arch) -> Result<(), NoProgram> {
        let (file, bytes) = self.found(&self.name, arch)?;
        match interpreter(bytes) {
            Some(found) if SHELLS.contains(&found.as_str()) => Ok(()),
            Some(found) => Err(NoProgram::Interpreter { file, found }),
            None => static_binary(&file, bytes, arch),
        }
    }

    /// Returns the shell that the program takes on an architecture, if it is a script.
    pub(super) fn shell(&self, arch: Arch) -> Result<Option<Vec<u8>>, NoProgram> {
        let (_, bytes) = self.found(&self.name, arch)?;
        if interpreter(bytes).is_none() {
            return Ok(None);
        }
        let (file, bytes) = match &self.shell {
            Some(shell) => self.found(shell, arch).map(|(file, bytes)| (file, bytes.to_owned()))?,
            None => {
                let ours = tools::find(BUSYBOX).filter(|_| arch.is_native());
                let bytes = ours.and_then(|path| fs::read(path).ok());
                (BUSYBOX.to_owned(), bytes.ok_or(NoProgram::NoShell { arch })?)
            }
        };
        static_binary(&file, &bytes, arch).map(|()| Some(bytes))
    }

    /// Returns a file whose name has the architecture in it, and its content.
    fn found(&self, name: &str, arch: Arch) -> Result<(String, &[u8]), NoProgram> {
        let file = name.replace(ARCH, arch.label());
        match self.files.iter().find(|(name, _)| *name == file) {
            Some((_, bytes)) => Ok((file, bytes)),
            None => Err(NoProgram::NoFile { file, arch }),
        }
    }

    /// Returns the architectures that the program has a file for.
    pub(super) fn arches(&self) -> impl Iterator<Item = Arch> {
        Arch::ALL.into_iter().filter(|arch| self.found(&self.name, *arch).is_ok())
    }
}

/// Returns the interpreter of a script, and its argument.
fn interpreter(bytes: &[u8]) -> Option<String> {
    let line = bytes.strip_prefix(SHEBANG)?;
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Some(String::from_utf8_lossy(line).trim().to_owned())
}

fn static_binary(file: &str, bytes: &[u8], arch: Arch) -> Result<(), NoProgram> {
    let not_one = || NoProgram::NotOne { file: file.to_owned(), arch };
    let elf = ElfFile64::<Endianness>::parse(bytes).map_err(|_| not_one())?;
    let expected = match arch {
        Arch::Arm64 => Architecture::Aarch64,
        Arch::X86_64 => Architecture::X86_64,
        Arch::Riscv64 => Architecture::Riscv64,
    };
    if elf.architecture() != expected {
        return Err(not_one());
    }
    let mut segments = elf.elf_program_headers().iter();
    match segments.any(|segment| segment.p_type(elf.endian()) == PT_INTERP) {
        true => Err(NoProgram::Dynamic { file: file.to_owned() }),
        false => Ok(()),
    }
}

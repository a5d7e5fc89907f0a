//! The initrd of the test machine: our init and benchmark, the plan, and a file system.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use cpio::NewcBuilder;
use walkdir::WalkDir;

use super::assets;
use super::cache::{Cache, CacheError, write_below};
use super::child::{self, NotRun, version};
use super::digest::Name;
use super::program::NoProgram;
use super::progress::Progress;
use super::target::Arch;
use super::tools;

/// The options of compilers, for programs that are linked statically.
pub(super) const C_OPTIONS: [&str; 6] = ["-std=gnu11", "-O2", "-Wall", "-Werror", "-static", "-s"];
/// Bytes of the file system's image: mkfs.xfs takes 300 MiB at the least, and the RAM disk has 512.
const IMAGE_SIZE: u64 = 400 << 20;
/// Bytes of a block of it.
const BLOCK: usize = 4096;
/// The options that make the image the same each time.
const MKFS_OPTIONS: [&str; 6] =
    ["-q", "-m", "uuid=7061676f-7574-4c61-8000-000000000001", "-b", "size=4096", "-f"];

/// The reason why there is no initrd.
#[derive(Debug, thiserror::Error)]
pub enum InitrdError {
    /// A program does not run.
    #[error(transparent)]
    Run(#[from] NotRun),
    /// Our own program does not compile.
    #[error("{compiler} does not compile {program}:\n{said}")]
    Compile {
        /// The compiler.
        compiler: String,
        /// Our program.
        program: &'static str,
        /// The messages of the compiler.
        said: String,
    },
    /// The user's workload does not compile.
    #[error("{compiler} does not compile workload {name}:\n{said}")]
    CompileGiven {
        /// The compiler.
        compiler: String,
        /// The workload.
        name: String,
        /// The first lines of its messages.
        said: String,
    },
    /// The file system cannot be made.
    #[error("mkfs.xfs ended with {status}: {said}")]
    MakeFileSystem {
        /// The status with which `mkfs.xfs` ended.
        status: std::process::ExitStatus,
        /// The messages of the program.
        said: String,
    },
    /// The program of a workload that is not in C is none for the machine.
    #[error("workload {name}: {error}")]
    NoProgram {
        /// The workload.
        name: String,
        /// The fault of the program.
        error: NoProgram,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The files that only one initrd has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried<'a> {
    /// Programs with their arguments, a line a run.
    pub(super) plan: &'a [String],
    /// The session, if one of them runs it.
    pub(super) session: Option<&'a str>,
    /// Programs by name, besides the benchmark; `None` for one that no run of the plan uses.
    pub(super) programs: [(&'static str, Option<&'a Path>); 2],
    /// A folder whose files go into the root too, as programs.
    pub(super) root: Option<&'a Path>,
}

/// The files that every initrd of an architecture has.
#[derive(Clone, Debug)]
pub(super) struct Guest {
    programs: PathBuf,
    file_system: PathBuf,
}

impl Guest {
    /// Makes the files that are not in the cache yet.
    pub(super) fn open(
        arch: Arch,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Self, InitrdError> {
        let programs = programs(arch, cache, progress)?;
        Ok(Self { programs, file_system: file_system(cache, progress)? })
    }

    /// Returns the directories of the initrd's files, whose names follow from their content.
    pub(super) fn directories(&self) -> [&Path; 2] {
        [&self.programs, &self.file_system]
    }

    /// Writes an initrd.
    pub(super) fn write_initrd(&self, carried: &Carried<'_>, to: &Path) -> Result<(), CacheError> {
        let read = |path: PathBuf| fs::read(&path).map_err(CacheError::at(&path));
        let plan: String = carried.plan.iter().map(|line| format!("{line}\n")).collect();
        let mut files = vec![
            Entry::program("init", read(self.programs.join("init"))?),
            Entry::program("bench", read(self.programs.join("bench"))?),
            Entry::file("plan", plan.into_bytes()),
            Entry::file("xfs.blocks", read(self.file_system.join("xfs.blocks"))?),
        ];
        files.extend(carried.session.map(|text| Entry::file("session", text.into())));
        for (name, program) in carried.programs {
            if let Some(program) = program {
                files.push(Entry::program(name, read(program.to_owned())?));
            }
        }
        files.extend(carried.root.map(of_folder).transpose()?.unwrap_or_default());
        let out = File::create(to).map_err(CacheError::at(to))?;
        archive(&files, out).map_err(CacheError::at(to))
    }
}

/// An entry of an archive.
#[derive(Debug)]
pub(super) struct Entry {
    name: String,
    /// The type and the permissions.
    mode: u32,
    content: Vec<u8>,
}

impl Entry {
    /// Returns a file to read.
    pub(super) fn file(name: &str, content: Vec<u8>) -> Self {
        Self { name: name.to_owned(), mode: 0o100_644, content }
    }

    /// Returns a file to execute.
    pub(super) fn program(name: &str, content: Vec<u8>) -> Self {
        Self { name: name.to_owned(), mode: 0o100_755, content }
    }

    fn directory(name: &str) -> Self {
        Self { name: name.to_owned(), mode: 0o040_755, content: Vec::new() }
    }
}

/// Returns the entries of all directories and files in a folder, as programs, in order.
fn of_folder(folder: &Path) -> Result<Vec<Entry>, CacheError> {
    let mut entries = Vec::new();
    for entry in WalkDir::new(folder).min_depth(1).sort_by_file_name() {
        let entry = entry.map_err(|error| CacheError::at(folder)(error.into()))?;
        let name = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let name = name.to_string_lossy();
        entries.push(if entry.file_type().is_dir() {
            Entry::directory(&name)
        } else {
            let content = fs::read(entry.path()).map_err(CacheError::at(entry.path()))?;
            Entry::program(&name, content)
        });
    }
    Ok(entries)
}

/// Writes a cpio archive (newc) without times, owners or anything else that differs between runs.
pub(super) fn archive(entries: &[Entry], mut out: impl Write) -> io::Result<()> {
    for (number, Entry { name, mode, content }) in (1..).zip(entries) {
        let builder = NewcBuilder::new(name).ino(number).mode(*mode).nlink(1);
        let size = u32::try_from(content.len()).map_err(io::Error::other)?;
        let mut entry = builder.write(&mut out, size);
        entry.write_all(content)?;
        entry.finish()?;
    }
    cpio::newc::trailer(&mut out)?;
    out.flush()
}

/// Returns the directory of our programs, compiled for an architecture.
fn programs(arch: Arch, cache: &Cache, progress: &dyn Progress) -> Result<PathBuf, InitrdError> {
    let compiler = arch.compiler();
    let files = assets::BENCH.iter().chain(assets::INIT).flat_map(|(name, text)| [name, text]);
    let key = Name::default().part(version(&compiler)?).parts(C_OPTIONS).parts(files);
    cache.made("programs", &key.finish(), progress, |to| {
        compile(&compiler, "bench", assets::BENCH, &[], to)?;
        compile(&compiler, "init", assets::INIT, &[], to)
    })
}

/// Compiles a program into a directory, with more options than all programs have.
pub(super) fn compile(
    compiler: &str,
    program: &'static str,
    files: &[(&str, &str)],
    options: &[&Path],
    to: &Path,
) -> Result<(), InitrdError> {
    let sources = to.join(format!("{program}.src"));
    for (name, text) in files {
        write_below(&sources, name, text)?;
    }
    let is_source = |name: &&str| name.ends_with(".c");
    let failure = child::failure(
        Command::new(compiler)
            .current_dir(&sources)
            .args(C_OPTIONS)
            .arg("-o")
            .arg(to.join(program))
            .args(files.iter().map(|(name, _)| *name).filter(is_source))
            // Libraries come after what takes them.
            .args(options),
    )?;
    let error = |said| InitrdError::Compile { compiler: compiler.to_owned(), program, said };
    failure.map_or(Ok(()), |said| Err(error(said)))
}

/// Returns the directory of the file system's blocks.
fn file_system(cache: &Cache, progress: &dyn Progress) -> Result<PathBuf, InitrdError> {
    // It is in a directory that not every user's path has.
    let mkfs = tools::find("mkfs.xfs").unwrap_or_else(|| "mkfs.xfs".into());
    let version = child::output(Command::new(&mkfs).arg("-V"))?.stdout;
    let key = Name::default().part(version).parts(MKFS_OPTIONS);
    cache.made("file-systems", &key.finish(), progress, |to| make_file_system(&mkfs, to))
}

fn make_file_system(mkfs: &Path, to: &Path) -> Result<(), InitrdError> {
    let path = to.join("image");
    let image = File::create(&path).map_err(CacheError::at(&path))?;
    image.set_len(IMAGE_SIZE).map_err(CacheError::at(&path))?;
    let output = child::output(Command::new(mkfs).args(MKFS_OPTIONS).arg(&path))?;
    if !output.status.success() {
        let said = child::said(&output);
        return Err(InitrdError::MakeFileSystem { status: output.status, said });
    }
    let image = File::open(&path).map_err(CacheError::at(&path))?;
    let blocks = non_zero_blocks(BufReader::new(image)).map_err(CacheError::at(&path))?;
    fs::remove_file(&path).map_err(CacheError::at(&path))?;
    let path = to.join("xfs.blocks");
    Ok(fs::write(&path, blocks).map_err(CacheError::at(&path))?)
}

/// Returns the blocks of an image that are not all zero, each after its offset in bytes.
fn non_zero_blocks(mut image: impl Read) -> io::Result<Vec<u8>> {
    let mut blocks = Vec::new();
    let mut block = [0; BLOCK];
    let mut offset: u64 = 0;
    loop {
        let mut filled = 0;
        while filled < BLOCK {
            match image.read(&mut block[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        if filled == 0 {
            return Ok(blocks);
        }
        block[filled..].fill(0);
        if block != [0; BLOCK] {
            blocks.extend_from_slice(&offset.to_le_bytes());
            blocks.extend_from_slice(&block);
        }
        offset += BLOCK as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_files_and_nothing_of_the_day() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        fs::write(folder.path().join("w/run.sh"), "true\n").unwrap();
        let mut entries = vec![
            Entry::program("init", b"#!".to_vec()),
            Entry::file("plan", b"age-file\n".to_vec()),
        ];
        entries.extend(of_folder(folder.path()).unwrap());
        let seen: Vec<_> = entries.iter().map(|of| (&*of.name, of.mode)).collect();
        let expected =
            [("init", 0o100_755), ("plan", 0o100_644), ("w", 0o040_755), ("w/run.sh", 0o100_755)];
        assert_eq!(seen, expected);
        let mut bytes = Vec::new();
        archive(&entries, &mut bytes).unwrap();
        let mut rest = bytes.as_slice();
        for Entry { name, mode, content } in &entries {
            let mut reader = cpio::NewcReader::new(rest).unwrap();
            assert_eq!(reader.entry().name(), *name);
            assert_eq!(reader.entry().mode(), *mode);
            assert_eq!((reader.entry().mtime(), reader.entry().uid()), (0, 0));
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            assert_eq!(read, *content);
            rest = reader.finish().unwrap();
        }
        assert!(cpio::NewcReader::new(rest).unwrap().entry().is_trailer());
    }

    #[test]
    fn only_blocks_with_something_in_them_are_kept() {
        let mut image = vec![0; 5 * BLOCK + 7];
        image[BLOCK + 1] = 1;
        image[5 * BLOCK + 6] = 2;
        let blocks = non_zero_blocks(image.as_slice()).unwrap();
        let records: Vec<&[u8]> = blocks.chunks(8 + BLOCK).collect();
        assert_eq!(records.len(), 2);
        assert_eq!(records[0][..8], (BLOCK as u64).to_le_bytes());
        assert_eq!(records[0][8 + 1], 1);
        assert_eq!(records[1][..8], (5 * BLOCK as u64).to_le_bytes());
        assert_eq!((records[1].len(), records[1][8 + 6]), (8 + BLOCK, 2));
    }
}

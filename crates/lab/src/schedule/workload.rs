//! Programs whose turns are decided, and the initial RAM disk of their machine.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use pageout_experiment::named;
use pageout_refusal::UnknownName;

use super::super::assets;
use super::super::cache::{Cache, CacheError, write_below};
use super::super::child::{self, NotRun, version};
use super::super::digest::Name;
use super::super::initrd::{Entry, archive};
use super::super::progress::Progress;
use super::super::target::Arch;
use super::super::tools;

/// Options of the compiler: programs are linked statically, and have threads.
const C_OPTIONS: [&str; 6] = ["-std=gnu11", "-O2", "-Wall", "-static", "-s", "-pthread"];
/// Bytes of the file system that the machine has as /mnt.
const FILE_SYSTEM: u64 = 16 << 20;
/// Options that make the file system the same each time.
const MKE2FS: [&str; 9] = [
    "-q",
    "-t",
    "ext4",
    "-b",
    "4096",
    "-U",
    "7061676f-7574-4c61-8000-000000000001",
    "-E",
    "hash_seed=7061676f-7574-4c61-8000-000000000002",
];
/// The variable that makes the times in it the same.
const MKE2FS_TIME: (&str, &str) = ("E2FSPROGS_FAKE_TIME", "1577836800");

/// The workloads that come with the lab: name, source, and arguments if none are given.
const SHIPPED: [(&str, &str, &str); 5] = [
    ("lost-write", "reports/lost-write/lost_write.c", "2 alone"),
    ("register-check", "schedule/register_check.c", "60"),
    ("stale-read-file", "reports/stale-read/stale_read.c", "file 2 alone"),
    ("stale-read-lazyfree", "reports/stale-read/stale_read.c", "lazyfree 2 alone"),
    ("stale-read-private", "reports/stale-read/stale_read.c", "private 2 alone"),
];

/// A program and its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    name: String,
    /// A C file of the user's; `None` for a workload of ours.
    file: Option<PathBuf>,
    arguments: Vec<String>,
}

/// Reasons for which there is no workload.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No workload has this name.
    #[error("{}", .0)]
    Unknown(UnknownName),
    /// An argument that the machine's command line cannot carry.
    #[error("workload argument `{0}`: expected letters, digits, and any of _.,:=/-")]
    Argument(String),
    /// A compiler or the maker of file systems does not run.
    #[error(transparent)]
    Run(#[from] NotRun),
    /// A program does not compile.
    #[error("{compiler} does not compile {program}:\n{said}")]
    Compile {
        /// The compiler.
        compiler: String,
        /// The program.
        program: String,
        /// The messages of the compiler.
        said: String,
    },
    /// A user's file cannot be read.
    #[error("--workload: cannot read {}", named(file))]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl Program {
    /// Returns the names of the workloads that come with the lab.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, ..)| *name)
    }

    /// Parses a workload: a name or a C file, then its arguments.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] for an unknown name, and an argument that cannot be passed on.
    pub fn parse(text: &str) -> Result<Self, ProgramError> {
        let mut words = text.split_whitespace().map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let given: Vec<String> = words.collect();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_.,:=/-".contains(c);
        if let Some(wrong) = given.iter().find(|word| !word.chars().all(allowed)) {
            return Err(ProgramError::Argument(wrong.clone()));
        }
        let shipped = SHIPPED.iter().find(|(shipped, ..)| *shipped == name);
        let file = name.ends_with(".c").then(|| PathBuf::from(&name));
        let default = match (shipped, &file) {
            (Some((.., arguments)), _) => *arguments,
            (None, Some(_)) => "",
            (None, None) => {
                let unknown = UnknownName::new("workload", &name, Self::names());
                let accepted = Self::names().collect::<Vec<_>>().join(", ") + ", or a C file";
                return Err(ProgramError::Unknown(unknown.accepting(accepted)));
            }
        };
        let default = default.split_whitespace().map(str::to_owned).collect();
        let arguments = if given.is_empty() { default } else { given };
        Ok(Self { name, file, arguments })
    }

    /// Returns the name and arguments, in the form that [`Self::parse`] takes.
    pub fn text(&self) -> String {
        [std::slice::from_ref(&self.name), &self.arguments].concat().join(" ")
    }

    pub(super) fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Returns the directory with the initial RAM disk that runs it, made unless it is there. Its
    /// name follows from its content.
    pub(super) fn initrd(
        &self,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<PathBuf, ProgramError> {
        let compiler = Arch::X86_64.compiler();
        let files = assets::SCHEDULED.iter().flat_map(|(path, text)| [path, text]);
        let key = Name::default().part(version(&compiler)?).parts(C_OPTIONS).parts(MKE2FS);
        let key = key.parts(files);
        let key = match &self.file {
            Some(file) => {
                let read = fs::read(file);
                key.part(read.map_err(|source| ProgramError::Read { file: file.clone(), source })?)
            }
            None => key.part(self.source()),
        };
        cache.made("workloads", &key.finish(), progress, |to| self.make(&compiler, to))
    }

    /// Returns the path of its source below our files.
    fn source(&self) -> &'static str {
        let shipped = SHIPPED.iter().find(|(name, ..)| *name == self.name);
        shipped.map_or("", |(_, source, _)| source)
    }

    fn make(&self, compiler: &str, to: &Path) -> Result<(), ProgramError> {
        for (path, text) in assets::SCHEDULED {
            write_below(to, path, text)?;
        }
        let source = self.file.as_ref().map_or_else(|| to.join(self.source()), |f| absolute(f));
        compile(compiler, &to.join("schedule/init.c"), to, "init")?;
        compile(compiler, &source, to, "workload")?;
        make_file_system(&to.join("fs.img"))?;
        let read = |name: &str| fs::read(to.join(name)).map_err(CacheError::at(&to.join(name)));
        let files = [
            Entry::program("init", read("init")?),
            Entry::program("workload", read("workload")?),
            Entry::file("fs.img", read("fs.img")?),
        ];
        let place = to.join("initrd");
        let out = File::create(&place).map_err(CacheError::at(&place))?;
        archive(&files, out).map_err(CacheError::at(&place))?;
        Ok(fs::remove_file(to.join("fs.img")).map_err(CacheError::at(to))?)
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Compiles a program, with our headers in its search path.
fn compile(compiler: &str, from: &Path, to: &Path, program: &str) -> Result<(), ProgramError> {
    let [headers, program] = ["schedule", program].map(|name| to.join(name));
    let mut command = Command::new(compiler);
    command.args(C_OPTIONS).arg("-I").arg(headers).arg("-o").arg(program).arg(from);
    let (compiler, program) = (compiler.to_owned(), from.display().to_string());
    let error = |said| ProgramError::Compile { compiler, program, said };
    child::failure(&mut command)?.map_or(Ok(()), |said| Err(error(said)))
}

fn make_file_system(image: &Path) -> Result<(), ProgramError> {
    let file = File::create(image).map_err(CacheError::at(image))?;
    file.set_len(FILE_SYSTEM).map_err(CacheError::at(image))?;
    let mke2fs = tools::find("mke2fs").unwrap_or_else(|| "mke2fs".into());
    let mut command = Command::new(mke2fs);
    command.args(MKE2FS).arg(image).env(MKE2FS_TIME.0, MKE2FS_TIME.1);
    let Some(said) = child::failure(&mut command)? else { return Ok(()) };
    Err(NotRun::new("mke2fs", io::Error::other(said)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_a_name_or_a_file_and_arguments() {
        let text = |text| Program::parse(text).map(|w| w.text()).map_err(|e| e.to_string());
        assert_eq!(text("lost-write").unwrap(), "lost-write 2 alone");
        assert_eq!(text("stale-read-file file 3 alone").unwrap(), "stale-read-file file 3 alone");
        assert_eq!(text("my/race.c 3").unwrap(), "my/race.c 3");
        let error = text("lost-writes").unwrap_err();
        assert!(error.contains("did you mean `lost-write`?"), "{error}");
        assert!(error.contains("or a C file"), "{error}");
        assert!(text("").unwrap_err().contains("unknown workload ``"));
        assert!(text("lost-write a\"b").unwrap_err().contains("`a\"b`"));
    }

    #[test]
    fn all_workloads_have_their_source() {
        for (_, source, _) in SHIPPED {
            let text = assets::SCHEDULED.iter().find(|(path, _)| *path == source).unwrap().1;
            for said in ["schedule_begin()", "schedule_end()", "schedule_check("] {
                assert!(text.contains(said), "{source}: {said}");
            }
        }
    }

    #[test]
    fn a_program_that_does_not_compile_is_told_with_what_the_compiler_says() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("x.c");
        fs::write(&source, "int main(void) { return y; }\n").unwrap();
        let error = compile("gcc", &source, directory.path(), "x").unwrap_err().to_string();
        assert!(error.contains("x.c:1:") && error.contains("undeclared"), "{error}");
    }
}

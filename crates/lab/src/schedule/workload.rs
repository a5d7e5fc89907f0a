//! Programs whose turns are decided, and the initial RAM disk of their machine.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pageout_experiment::fields::FieldError;
use pageout_experiment::named;
use pageout_refusal::UnknownName;

use super::super::assets;
use super::super::cache::{Cache, CacheError, write_below};
use super::super::child::{self, NotRun, version};
use super::super::digest::Name;
use super::super::initrd::{Carried, Entry, Guest, InitrdError, archive};
use super::super::manifest::WorkloadError;
use super::super::plan::{Bench, Clock, Needs};
use super::super::progress::Progress;
use super::super::target::Arch;
use super::super::tools;
use super::super::workload::Workload;

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
const SHIPPED: [(&str, &str, &str); 6] = [
    ("lost-write", "reports/lost-write/lost_write.c", "2 alone"),
    ("register-check", "schedule/register_check.c", "60"),
    ("stale-read-file", "reports/stale-read/stale_read.c", "file 2 alone"),
    ("stale-read-guard", "reports/stale-read/stale_read.c", "guard 2 alone"),
    ("stale-read-lazyfree", "reports/stale-read/stale_read.c", "lazyfree 2 alone"),
    ("stale-read-private", "reports/stale-read/stale_read.c", "private 2 alone"),
];

/// Functions of the lab that those of `lab_workload.c` are put around.
const WRAPPED: [&str; 6] = [
    "-Wl,--wrap=main",
    "-Wl,--wrap=lab_sample",
    "-Wl,--wrap=lab_check",
    "-Wl,--wrap=lab_require",
    "-Wl,--wrap=fail",
    "-Wl,--wrap=fail_with",
];
/// The header by which a C file is known as a workload with a manifest.
const HEADER: &str = "\"pageout_lab.h\"";
/// MiB of memory of every machine.
const MEMORY: u64 = 512;

/// A program and its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    name: String,
    arguments: Vec<String>,
    code: Code,
}

/// The code of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Code {
    /// A source of ours, below our files.
    Ours(&'static str),
    /// A C file of the user's.
    File(PathBuf),
    /// A run of a workload with a manifest.
    Lab(Bench),
}

/// Reasons for which there is no workload.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No workload has this name.
    #[error("{}", .0)]
    Unknown(UnknownName),
    /// A workload with a manifest that has a mistake.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A field of a workload with a manifest.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A workload whose turns are not decided.
    #[error("workload {0}: it is not a program in C with pageout_lab.h: expected {1}, or a C file")]
    NotInC(String, String),
    /// Several runs of a workload.
    #[error("workload {0}: a search takes one run, found {1}: give one value for each field")]
    Several(String, usize),
    /// A workload with a manifest is not made.
    #[error(transparent)]
    Initrd(#[from] InitrdError),
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
    #[error("cannot read {}", named(file))]
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
    /// Returns the names of the workloads that come with the lab: first those that are made to find
    /// races.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        let of_lab = Workload::ours().iter().filter(|workload| workload.is_in_c());
        SHIPPED.iter().map(|(name, ..)| *name).chain(of_lab.map(|workload| workload.name()))
    }

    /// Parses a workload: a name, a C file, or the directory of a manifest, then its arguments.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] for an unknown name, a manifest with a mistake, and an argument that cannot
    /// be passed on.
    pub fn parse(text: &str) -> Result<Self, ProgramError> {
        let mut words = text.split_whitespace().map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let given: Vec<String> = words.collect();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_.,:=/-".contains(c);
        if let Some(wrong) = given.iter().find(|word| !word.chars().all(allowed)) {
            return Err(ProgramError::Argument(wrong.clone()));
        }
        if let Some((_, source, default)) = SHIPPED.iter().find(|(shipped, ..)| *shipped == name) {
            let default = default.split_whitespace().map(str::to_owned).collect();
            let arguments = if given.is_empty() { default } else { given };
            return Ok(Self { name, arguments, code: Code::Ours(source) });
        }
        let path = Path::new(&name);
        if let Some(workload) = Workload::named(&name) {
            return Self::of_lab(name, Arc::clone(workload), &given);
        }
        if path.is_dir() || has_manifest(path) {
            let workload = Arc::new(Workload::read(path)?);
            return Self::of_lab(name, workload, &given);
        }
        if name.ends_with(".c") {
            File::open(path).map_err(|source| ProgramError::Read { file: path.into(), source })?;
            let code = Code::File(path.to_owned());
            return Ok(Self { name, arguments: given, code });
        }
        let unknown = UnknownName::new("workload", &name, Self::names());
        let for_races = SHIPPED.map(|(name, ..)| name).join(", ");
        let others = "a workload of the lab in C (`pageout lab --help`), or a C file";
        Err(ProgramError::Unknown(unknown.accepting(format!("{for_races}, {others}"))))
    }

    /// Returns a run of a workload with a manifest, by its fields.
    fn of_lab(
        name: String,
        workload: Arc<Workload>,
        fields: &[String],
    ) -> Result<Self, ProgramError> {
        if !workload.is_in_c() {
            return Err(ProgramError::NotInC(name, listed()));
        }
        match &Bench::parse(&workload, fields)?[..] {
            [bench] => Ok(Self { name, arguments: bench.words(), code: Code::Lab(bench.clone()) }),
            several => Err(ProgramError::Several(name, several.len())),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name and arguments, in the form that [`Self::parse`] takes.
    pub fn text(&self) -> String {
        [std::slice::from_ref(&self.name), &self.arguments].concat().join(" ")
    }

    /// Returns true if the program cannot run without a check of its own.
    pub(super) fn must_check(&self) -> bool {
        !matches!(self.code, Code::Lab(_))
    }

    /// Returns the needs of the program's kernels.
    pub fn needs(&self) -> Needs {
        match &self.code {
            Code::Lab(bench) => Needs { swap: true, ..bench.workload.needs() },
            Code::Ours(_) | Code::File(_) => Needs::SWAP,
        }
    }

    /// Returns the MiB of memory of its machine.
    pub(super) fn memory_mib(&self) -> u64 {
        match &self.code {
            Code::Lab(bench) => MEMORY + (bench.size().unwrap_or(0) >> 20),
            Code::Ours(_) | Code::File(_) => MEMORY,
        }
    }

    /// Returns the program's words of the kernel's command line.
    pub(super) fn boot_words(&self) -> Vec<String> {
        match &self.code {
            Code::Lab(bench) => bench.workload.parameters(),
            Code::Ours(_) | Code::File(_) => {
                let words = ["--", "workload"].map(str::to_owned);
                words.into_iter().chain(self.arguments.iter().cloned()).collect()
            }
        }
    }

    /// Returns the directory with the initial RAM disk that runs it, made unless it is there. Its
    /// name follows from its content.
    pub(super) fn initrd(
        &self,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<PathBuf, ProgramError> {
        let (source, content) = match &self.code {
            Code::Lab(bench) => return initrd_of_lab(bench, cache, progress),
            Code::Ours(source) => (PathBuf::from(source), source.as_bytes().to_owned()),
            Code::File(file) => {
                let read = fs::read(file);
                let read = read.map_err(|source| ProgramError::Read { file: file.clone(), source });
                (absolute(file), read?)
            }
        };
        let compiler = Arch::X86_64.compiler();
        let files = assets::SCHEDULED.iter().flat_map(|(path, text)| [path, text]);
        let key = Name::default().part(version(&compiler)?).parts(C_OPTIONS).parts(MKE2FS);
        let key = key.parts(files).part(content).finish();
        cache.made("workloads", &key, progress, |to| make(&compiler, &source, to))
    }
}

/// Returns the directory with the initial RAM disk of a workload with a manifest: that of every
/// machine of the lab, with this one run as its plan.
fn initrd_of_lab(
    bench: &Bench,
    cache: &Cache,
    progress: &dyn Progress,
) -> Result<PathBuf, ProgramError> {
    let arch = Arch::X86_64;
    let guest = Guest::open(arch, cache, progress)?;
    let made =
        bench.workload.made_with(arch, assets::SCHEDULED_LAB, &WRAPPED, (cache, progress))?;
    // The kernel's name is not in it, so that all kernels share it.
    let plan = [bench.line("searched", Some(1), Clock::Instructions)];
    let carried = Carried {
        plan: &plan,
        session: None,
        programs: [("selftest", None), ("workload", Some(&made.program))],
        root: None,
    };
    let places = guest.directories().into_iter().chain([made.program.as_path()]);
    let key = places.map(|place| place.as_os_str().as_encoded_bytes());
    let key = Name::default().parts(key).part(&plan[0]).finish();
    cache.made("workloads", &key, progress, |to| {
        Ok(guest.write_initrd(&carried, &to.join("initrd"))?)
    })
}

/// Names the workloads that come with the lab.
fn listed() -> String {
    Program::names().collect::<Vec<_>>().join(", ")
}

/// Returns true if a C file is a workload with a manifest.
fn has_manifest(path: &Path) -> bool {
    let is_c = path.extension().is_some_and(|extension| extension == "c");
    is_c && fs::read_to_string(path).is_ok_and(|text| text.contains(HEADER))
}

/// Makes the initial RAM disk of a program, whose source is a path, or one below our files.
fn make(compiler: &str, source: &Path, to: &Path) -> Result<(), ProgramError> {
    for (path, text) in assets::SCHEDULED {
        write_below(to, path, text)?;
    }
    compile(compiler, &to.join("schedule/init.c"), to, "init")?;
    compile(compiler, &to.join(source), to, "workload")?;
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
    use super::super::super::progress::Silent;
    use super::super::super::target::Config;
    use super::*;

    #[test]
    fn a_workload_is_a_name_or_a_file_and_arguments() {
        let text = |text| Program::parse(text).map(|w| w.text()).map_err(|e| e.to_string());
        assert_eq!(text("lost-write").unwrap(), "lost-write 2 alone");
        assert_eq!(text("stale-read-file file 3 alone").unwrap(), "stale-read-file file 3 alone");
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("race.c");
        let of_program = format!("{} 3", program.display());
        assert!(text(&of_program).unwrap_err().starts_with("cannot read "));
        fs::write(&program, "int main(void) { return 0; }\n").unwrap();
        assert_eq!(text(&of_program).unwrap(), of_program);
        let error = text("lost-writes").unwrap_err();
        assert!(error.contains("did you mean `lost-write`?"), "{error}");
        assert!(error.contains("or a C file"), "{error}");
        assert!(text("").unwrap_err().contains("unknown workload ``"));
        assert!(text("lost-write a\"b").unwrap_err().contains("`a\"b`"));
    }

    #[test]
    fn workloads_with_a_manifest_take_their_fields() {
        let text = |text| Program::parse(text).map(|w| w.text()).map_err(|e| e.to_string());
        for name in Program::names() {
            assert!(text(name).unwrap().starts_with(name));
        }
        let size = "lazy-free size=2MiB";
        assert_eq!(text(size).unwrap(), size);
        let error = |of| text(of).unwrap_err();
        assert!(error("lazy-free sizes=2MiB").contains("`size`"), "{}", error("lazy-free sizes=1"));
        assert!(error("lazy-free order=0,4").contains("found 2: give one value"));
        assert!(error("reclaim-file").contains("workload reclaim-file: it is not a program in C"));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.c");
        let shipped = assets::WORKLOADS.iter().find(|(name, _)| *name == "lazy-free.c").unwrap().1;
        fs::write(&path, shipped.replace("name = \"lazy-free\"", "name = \"mine\"")).unwrap();
        let mine = format!("{} size=2MiB", path.display());
        assert_eq!(text(&mine).unwrap(), mine);
        fs::write(&path, "/* workload.toml\nname = 1 */\n#include \"pageout_lab.h\"\n").unwrap();
        assert!(error(&mine).contains("mine.c"), "{}", error(&mine));
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
    fn a_workload_with_a_manifest_is_linked_with_the_search() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(directory.path())).unwrap();
        let workload = Workload::named("lazy-free").unwrap();
        let arch = Config::native(true).arch();
        let context: (&Cache, &dyn Progress) = (&cache, &Silent);
        let made = workload.made_with(arch, assets::SCHEDULED_LAB, &WRAPPED, context).unwrap();
        let program = fs::read(made.program).unwrap();
        let proc = b"/proc/pageout_schedule";
        assert!(program.windows(proc.len()).any(|part| part == proc));
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

//! Directories in which commands run, with the files that readers are assumed to have.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::{TempDir, tempdir};

use crate::page::{self, Page};

/// A patch to the tree that [`World::add_tree`] makes.
const PATCH: &str = "--- a/mm/vmscan.c\n+++ b/mm/vmscan.c\n@@ -1 +1 @@\n-all\n+half\n";

/// A directory, which is the reader's home too.
pub(crate) struct World(TempDir);

impl World {
    /// Makes the files that pages name and that none of their commands makes.
    pub(crate) fn new(pages: &[Page]) -> Self {
        let world = Self(tempdir().expect("a directory"));
        world.link_programs();
        world.add_repository();
        world.add_records();
        world.add_traces(pages);
        world.add_tree();
        world
    }

    /// Another directory with the same files.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self(tempdir().expect("a directory"));
        let all = format!("{}/.", self.path().display());
        let status = Command::new("cp").args(["-a", &all]).arg(copy.path()).status();
        assert!(status.expect("cp runs").success(), "the files are copied");
        copy
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Runs a command in a shell that knows `pageout`.
    pub(crate) fn run(&self, command: &str) -> Output {
        let installed = std::env::var("PATH").expect("a path");
        self.shell(command, &format!("{}:{installed}", self.path().join("bin").display()))
    }

    /// Runs a command where neither compilers nor emulators are installed.
    pub(crate) fn run_without_tools(&self, command: &str) -> Output {
        self.shell(command, &self.path().join("bin").display().to_string())
    }

    fn shell(&self, command: &str, path: &str) -> Output {
        Command::new("/bin/sh")
            .args(["-e", "-c", command])
            .current_dir(self.path())
            .env("PATH", path)
            .env("HOME", self.path())
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .env("COLUMNS", "80")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .expect("a shell runs")
    }

    fn must(&self, command: &str) {
        let output = self.run(command);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Links the program under the names that pages use, and the tools of `run_without_tools`.
    fn link_programs(&self) {
        let program = Path::new(env!("CARGO_BIN_EXE_pageout"));
        for name in ["bin/pageout", "target/release/pageout", "pageout-before", "pageout-after"] {
            let path = self.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            symlink(program, path).expect("a link");
        }
        for tool in ["git", "cat", "seq"] {
            let find = ["-c", &format!("command -v {tool}")];
            let found = Command::new("sh").args(find).output().expect("a shell runs");
            let found = String::from_utf8(found.stdout).expect("a path is text");
            symlink(found.trim(), self.path().join("bin").join(tool)).expect("a link");
        }
    }

    /// Adds the repository's own files, at the same paths from the root. Files that a command
    /// writes beside them stays here.
    fn add_repository(&self) {
        let root = page::root();
        for name in ["docs", "samples"] {
            fs::create_dir(self.path().join(name)).expect("a directory");
            for entry in fs::read_dir(root.join(name)).expect("the folder can be read") {
                let entry = entry.expect("the entry can be read");
                // Copies: commands write through links.
                if entry.file_type().expect("the entry can be read").is_file() {
                    fs::copy(entry.path(), self.path().join(name).join(entry.file_name()))
                        .expect("a copy");
                }
            }
        }
        for folder in ["crates", "docs/page-cache"] {
            symlink(root.join(folder), self.path().join(folder)).expect("a link");
        }
    }

    /// Adds records of runs that took turns, under the names of both sides.
    fn add_records(&self) {
        let run = "pageout run reclaim-file order=4 size=2MiB --ground model --runs 9";
        let names = ["a", "b", "before", "after", "b1", "a1", "b2", "a2"];
        let scripts = ["before-1", "after-1", "before-2", "after-2"];
        for name in names {
            self.must(&format!("{run} --json --output {name}.json"));
        }
        // The script names the kernel that runs; here another choice tells the two apart.
        for name in scripts {
            let young = if name.starts_with("before") { "per-entry" } else { "batched" };
            self.must(&format!("{run} --variant young={young} --json --output {name}.json"));
        }
    }

    /// Adds a reader's own trace, texts of other tools, and the plan of a sweep.
    fn add_traces(&self, pages: &[Page]) {
        // 64 pages in order, over and over, and stores to some of them.
        let references = (0..2000_u64).map(|n| {
            let kind = if n % 8 == 0 { " S" } else { " L" };
            format!("{kind} {:x},8\n", 0x1000_0000 + n % 64 * 4096)
        });
        self.file("my.lackey", &references.collect::<String>());
        self.must("pageout trace import my.lackey --epoch 100 --output my.pgt");
        self.file(
            "v.txt",
            "1 1: 42 ifetch 5 byte(s) @ 0x404a7e 48\n\
             2 1: 42 read 8 byte(s) @ 0x7fd000 by PC 0x404a7e\n",
        );
        self.file("run.sh", "true\n");
        let platform = page::root().join("crates/machine/platforms/x86-server-class.toml");
        fs::copy(platform, self.path().join("mine.toml")).expect("a copy");
        let page = pages.iter().find(|page| page.path == "docs/sweeps.md").expect("the page");
        let plan = page.blocks().into_iter().find(|block| block.language == "toml");
        let plan = plan.expect("a sweep's plan").text;
        self.file("limits.toml", &plan.replace("\"sqlite-orders\"", "\"my.pgt\""));
    }

    /// Adds a kernel's tree with a series, and the series as mails.
    fn add_tree(&self) {
        for (name, text) in [
            ("linux/Makefile", "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n"),
            ("linux/Kconfig", ""),
            ("linux/mm/Makefile", "obj-y := vmscan.o\n"),
            ("linux/mm/vmscan.c", "all\n"),
            ("my.patch", PATCH),
            ("old.patch", PATCH),
            ("new.patch", PATCH),
        ] {
            self.file(name, text);
        }
        let git = "git -c user.name=A -c user.email=a@example.org";
        self.must(&format!(
            "cd linux && git init -q && git add . && {git} commit -q -m base && git tag base && \
             git tag mm-stable && git apply ../my.patch && \
             {git} commit -q -a -m 'mm: halve reclaim' && \
             for name in mine my-series batch-v3 queue; do git tag $name; done && \
             git format-patch -q -o .. base.. && cat ../0001-*.patch | tee ../s.mbox \
             ../queue.mbox | gzip > ../t.mbox.gz"
        ));
        self.file(
            "here.txt",
            "memcg     1 /\n node     0\n          4     123456         0      10231 \n",
        );
    }
}

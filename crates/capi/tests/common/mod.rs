//! The compiling of the C programs that tests compare with Rust, and their random numbers.
#![allow(dead_code)] // no test uses all of it

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Compiles `tests/NAME.c` with the static library, and returns the program's path.
pub(crate) fn compiled(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = folder.join("staticlib");
    let cargo = env::var_os("CARGO").expect("tests run under cargo");
    run(Command::new(cargo)
        .current_dir(root)
        .args(["build", "--release", "--locked", "--package", "pageout-capi", "--target-dir"])
        .arg(&target));
    let program = folder.join(name);
    run(Command::new("cc")
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(root.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(root.join("tests").join(name).with_extension("c"))
        .arg(target.join("release/libpageout_capi.a"))
        .args(["-lpthread", "-ldl", "-lm"]));
    assert!(fs::exists(&program).is_ok_and(|there| there));
    program
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{said}");
}

/// splitmix64.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }
}

/// Adds words to a hash.
pub(crate) fn fold(hash: u64, words: &[u64]) -> u64 {
    words.iter().fold(hash, |hash, word| (hash ^ word).wrapping_mul(0x100_0000_01b3))
}

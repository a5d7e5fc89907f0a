//! The C of the README compiles.
#![cfg(not(miri))] // it starts a compiler
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_examples_in_c_compile() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("README.md")).expect("it can be read");
    let blocks =
        text.split("```c\n").skip(1).map(|rest| rest.split("```").next().expect("it ends"));
    for (number, block) in blocks.enumerate() {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("readme-{number}.c"));
        // A kernel has a function for this.
        let source = format!("void panic(const char *why);\n{block}");
        fs::write(&path, source).expect("it can be written");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]);
        compiler.args(["-fsyntax-only", "-I"]).arg(root.join("include")).arg(&path);
        let output = compiler.output().expect("cc starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "example {number}: {said}");
    }
}

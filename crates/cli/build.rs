//! Notes the commit that is built, for records; one that was changed since is called dirty.

use std::process::Command;

fn main() {
    for path in ["../../.git/logs/HEAD", "../../.git/index", "..", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = output.status.success().then(|| String::from_utf8(output.stdout).ok());
        Some(text??.trim().to_owned())
    };
    if let Some(commit) = git(&["describe", "--always", "--abbrev=12", "--dirty"]) {
        println!("cargo::rustc-env=PAGEOUT_COMMIT={commit}");
    }
}

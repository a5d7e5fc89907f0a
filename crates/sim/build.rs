//! Notes the commit that is built, for records.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = output.status.success().then(|| String::from_utf8(output.stdout).ok());
        Some(text??.trim().to_owned())
    };
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=PAGEOUT_COMMIT={commit}");
    }
}

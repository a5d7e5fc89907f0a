//! The public items of the embedded crates, listed in `public-api.txt` beside each manifest. A
//! change of the list is a change that embedders see, so both stand in the same commit.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::{cmd, package, setup};

/// Lists the public items of each crate; compares them with the stored list, or stores them.
pub(crate) fn run(update: bool) -> Result<()> {
    let mut stale = Vec::new();
    for package in package::EMBEDDED {
        let listed = list(package)?;
        let folder = package.strip_prefix("pageout-").unwrap_or(package);
        let path = cmd::root().join("crates").join(folder).join("public-api.txt");
        if update {
            fs::write(&path, &listed).with_context(|| format!("cannot write {path:?}"))?;
        }
        let kept = fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
        if kept != listed {
            println!("{package}:\n{}", differences(&kept, &listed));
            stale.push(package);
        }
    }
    if !stale.is_empty() {
        bail!("{} offers something else: `cargo xtask api --update` lists it", stale.join(", "));
    }
    Ok(())
}

/// Lists the items of a crate, one a line, sorted.
fn list(package: &str) -> Result<String> {
    let mut command = setup::nightly_cargo();
    command.args(["rustdoc", "--quiet", "--package", package, "--lib", "--target-dir"]);
    command.args(["target/public-api", "--", "-Z", "unstable-options", "--output-format", "json"]);
    cmd::run(&mut command)?;
    let name = package.replace('-', "_");
    let json = cmd::root().join("target/public-api/doc").join(name).with_extension("json");
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("cannot list what {package} offers"))?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// Returns the lines that only one of the lists has.
fn differences(kept: &str, listed: &str) -> String {
    let mut text = String::new();
    for (sign, these, others) in [('-', kept, listed), ('+', listed, kept)] {
        let others: std::collections::HashSet<_> = others.lines().collect();
        for line in these.lines().filter(|line| !others.contains(line)) {
            let _ = writeln!(text, "{sign}{line}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_and_went_is_shown() {
        assert_eq!(differences("a\nb\n", "b\nc\n"), "-a\n+c\n");
        assert_eq!(differences("a\n", "a\n"), "");
    }
}

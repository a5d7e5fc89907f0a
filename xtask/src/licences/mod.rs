//! The rules of `deny.toml` for dependencies, checked for every package in `Cargo.lock`, on every
//! platform. `cargo deny` reads the same file; this check uses the network only to fetch missing
//! crates.

mod texts;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};
use toml_edit::{Array, DocumentMut, Item, Value};

use crate::cmd;
pub(crate) use texts::texts;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The part of `cargo metadata` that this check reads.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// An SPDX expression.
    license: Option<String>,
    /// The registry that it came from; `None` for a folder of this machine.
    source: Option<String>,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    req: String,
    path: Option<PathBuf>,
}

/// The rules in `deny.toml`.
struct Rules {
    licences: Vec<Licensee>,
    /// The additional licences that single crates may have.
    exceptions: Vec<(String, Vec<Licensee>)>,
}

/// Checks every package; the error says how many findings were printed.
pub(crate) fn run() -> Result<()> {
    let path = cmd::root().join("deny.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
    let rules = Rules::read(&text)?;
    let found = metadata()?;
    let findings: Vec<_> =
        found.packages.iter().flat_map(|package| rules.check(package, cmd::root())).collect();
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    if !findings.is_empty() {
        bail!("{} package(s) against deny.toml", findings.len());
    }
    println!("licences: {} packages", found.packages.len());
    Ok(())
}

fn metadata() -> Result<Metadata> {
    let args = ["metadata", "--locked", "--all-features", "--format-version=1"];
    let text = cmd::output(&mut cmd::cargo(&args))?;
    serde_json::from_str(&text).context("cargo metadata printed something unknown")
}

impl Rules {
    fn read(text: &str) -> Result<Self> {
        let rules: DocumentMut = text.parse().context("deny.toml")?;
        let says = |table: &str, key: &str| rules.get(table).and_then(|table| table.get(key));
        for (table, key) in
            [("bans", "wildcards"), ("sources", "unknown-registry"), ("sources", "unknown-git")]
        {
            if says(table, key).and_then(Item::as_str) != Some("deny") {
                bail!("deny.toml: [{table}] {key} is held here as \"deny\" alone");
            }
        }
        let allowed = says("licenses", "allow").and_then(Item::as_array);
        let licences = licensees(allowed.context("deny.toml: [licenses] allow is missing")?)?;
        let exceptions = says("licenses", "exceptions").and_then(Item::as_array);
        let exceptions = exceptions.into_iter().flatten().map(|exception| {
            let exception = exception.as_inline_table();
            let says = |key: &str| exception.and_then(|table| table.get(key));
            let name = says("crate").and_then(Value::as_str);
            let allowed = says("allow").and_then(Value::as_array);
            let (name, allowed) = name.zip(allowed).context(
                "deny.toml: an exception is { allow = [\"LICENCE\"], crate = \"NAME\" }",
            )?;
            Ok((name.to_owned(), licensees(allowed)?))
        });
        Ok(Self { licences, exceptions: exceptions.collect::<Result<_>>()? })
    }

    fn check(&self, package: &Package, root: &Path) -> Vec<String> {
        let mut findings = Vec::new();
        let mut find = |what: String| {
            findings.push(format!("{} {}: {what}", package.name, package.version));
        };
        if let Err(why) = self.allow(&package.name, package.license.as_deref()) {
            find(why);
        }
        match &package.source {
            Some(source) if source == CRATES_IO => return findings,
            Some(source) => find(format!("comes from {source}")),
            None if !package.manifest_path.starts_with(root) => {
                find(format!("lies outside of the project: {}", package.manifest_path.display()));
            }
            None => {}
        }
        let any = |of: &&Dependency| of.req == "*" && of.path.is_none();
        for dependency in package.dependencies.iter().filter(any) {
            find(format!("takes any version of {}", dependency.name));
        }
        findings
    }

    fn allow(&self, package: &str, licence: Option<&str>) -> Result<(), String> {
        let Some(licence) = licence else {
            return Err("names no licence".to_owned());
        };
        let parsed = Expression::parse_mode(licence, ParseMode::LAX);
        let parsed = parsed.map_err(|why| format!("{licence} is no licence: {}", why.reason))?;
        let own = self.exceptions.iter().filter(|(name, _)| name == package);
        let ours: Vec<&Licensee> =
            self.licences.iter().chain(own.flat_map(|(_, allowed)| allowed)).collect();
        let allowed = |asked: &_| ours.iter().any(|ours| ours.satisfies(asked));
        match parsed.evaluate(allowed) {
            true => Ok(()),
            false => Err(format!("{licence} is not allowed")),
        }
    }
}

fn licensees(names: &Array) -> Result<Vec<Licensee>> {
    let licensee = |name: &Value| {
        let name = name.as_str().context("deny.toml: a licence is a string")?;
        Licensee::parse(name).with_context(|| format!("deny.toml: {name}"))
    };
    names.iter().map(licensee).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "
        [licenses]
        allow = [\"Apache-2.0\", \"MIT\"]
        [bans]
        wildcards = \"deny\"
        [sources]
        unknown-registry = \"deny\"
        unknown-git = \"deny\"";

    fn package(licence: Option<&str>, source: Option<&str>) -> Package {
        Package {
            name: "name".to_owned(),
            version: "1.0.0".to_owned(),
            license: licence.map(str::to_owned),
            source: source.map(str::to_owned),
            manifest_path: "/project/name/Cargo.toml".into(),
            dependencies: Vec::new(),
        }
    }

    fn found(package: &Package) -> Vec<String> {
        Rules::read(RULES).expect("good rules").check(package, Path::new("/project"))
    }

    #[test]
    fn one_licence_of_a_choice_is_enough_and_all_that_are_asked_together_are_needed() {
        for allowed in ["MIT", "MIT/Apache-2.0", "GPL-2.0-only OR MIT", "MIT AND Apache-2.0"] {
            assert_eq!(found(&package(Some(allowed), Some(CRATES_IO))), [""; 0], "{allowed}");
        }
        for denied in ["GPL-2.0-only", "MIT AND Zlib", "Apache-2.0 WITH LLVM-exception"] {
            let expected = format!("name 1.0.0: {denied} is not allowed");
            assert_eq!(found(&package(Some(denied), Some(CRATES_IO))), [expected]);
        }
        assert_eq!(found(&package(None, Some(CRATES_IO))), ["name 1.0.0: names no licence"]);
    }

    #[test]
    fn an_exception_is_for_one_crate() {
        let exception = "exceptions = [{ allow = [\"Zlib\"], crate = \"name\" }]\n[bans]";
        let rules = Rules::read(&RULES.replacen("[bans]", exception, 1)).expect("good rules");
        let mut zlib = package(Some("Zlib"), Some(CRATES_IO));
        assert_eq!(rules.check(&zlib, Path::new("/project")), [""; 0]);
        zlib.name = "other".to_owned();
        let expected = ["other 1.0.0: Zlib is not allowed"];
        assert_eq!(rules.check(&zlib, Path::new("/project")), expected);
    }

    #[test]
    fn packages_come_from_crates_io_or_lie_in_the_project() {
        let git = "git+https://example.org/name";
        assert_eq!(
            found(&package(Some("MIT"), Some(git))),
            [format!("name 1.0.0: comes from {git}")]
        );
        let mut own = package(Some("MIT"), None);
        assert_eq!(found(&own), [""; 0]);
        own.manifest_path = "/elsewhere/Cargo.toml".into();
        assert_eq!(found(&own), ["name 1.0.0: lies outside of the project: /elsewhere/Cargo.toml"]);
    }

    #[test]
    fn our_own_packages_say_which_versions_they_take() {
        let mut own = package(Some("MIT"), None);
        let on = |path: Option<&str>| Dependency {
            name: "other".to_owned(),
            req: "*".to_owned(),
            path: path.map(PathBuf::from),
        };
        own.dependencies = vec![on(Some("/project/other"))];
        assert_eq!(found(&own), [""; 0], "a path says it");
        own.dependencies = vec![on(None)];
        assert_eq!(found(&own), ["name 1.0.0: takes any version of other"]);
    }

    #[test]
    fn rules_that_would_not_be_held_are_refused() {
        let weaker = RULES.replace("unknown-git = \"deny\"", "unknown-git = \"warn\"");
        let why = Rules::read(&weaker).err().expect("refused").to_string();
        assert_eq!(why, "deny.toml: [sources] unknown-git is held here as \"deny\" alone");
    }
}

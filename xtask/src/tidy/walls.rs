//! The crates that each crate may depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::finding::Finding;
use crate::cmd;

/// The crate that holds the engine's unsafe code.
pub(super) const PAGING: &str = "pageout-paging";
/// The crate that C calls.
pub(super) const CAPI: &str = "pageout-capi";
const RECLAIM: &str = "pageout-reclaim";
const MACHINE: &str = "pageout-machine";
const RECORD: &str = "pageout-record";
const EXHIBITS: &str = "pageout-exhibits";
const EXPERIMENT: &str = "pageout-experiment";
const TRACE: &str = "pageout-trace";
const HOST: &str = "pageout-host";
const MODEL: &str = "pageout-model";
const CHECK: &str = "pageout-check";
const LAB: &str = "pageout-lab";
const CALIBRATE: &str = "pageout-calibrate";
const REFUSAL: &str = "pageout-refusal";
const REPORT: &str = "pageout-report";
const REPRODUCE: &str = "pageout-reproduce";
const RUN: &str = "pageout-run";
const SIM: &str = "pageout-sim";
const STEPS: &str = "pageout-steps";
const SWEEP: &str = "pageout-sweep";
const UAPI: &str = "pageout-uapi";

/// The crates of the workspace that a crate may name. A crate without a row, such as the binary,
/// may name all but `exhibits` and `sim`.
const WALLS: [(&str, &[&str]); 21] = [
    (PAGING, &[]),
    (CAPI, &[PAGING, RECLAIM, UAPI]),
    (REFUSAL, &[]),
    (UAPI, &[]),
    (RECLAIM, &[PAGING, UAPI]),
    (MACHINE, &[PAGING, REFUSAL]),
    (RECORD, &[]),
    (REPORT, &[RECORD]),
    (SIM, &[PAGING, RECLAIM]),
    (EXHIBITS, &[PAGING, RECLAIM]),
    (EXPERIMENT, &[PAGING, RECLAIM, RECORD, REFUSAL]),
    (TRACE, &[EXPERIMENT]),
    (SWEEP, &[EXPERIMENT, RECORD, REFUSAL]),
    (CHECK, &[EXPERIMENT, PAGING, RECLAIM, RECORD]),
    (STEPS, &[]),
    (CALIBRATE, &[EXPERIMENT, MACHINE, RECORD, STEPS]),
    (LAB, &[EXPERIMENT, RECORD, REFUSAL, UAPI]),
    (HOST, &[EXPERIMENT, PAGING, RECLAIM, RECORD, TRACE, UAPI]),
    (MODEL, &[EXPERIMENT, HOST, MACHINE, PAGING, RECLAIM, RECORD, TRACE]),
    (RUN, &[EXPERIMENT, HOST, MACHINE, MODEL, RECORD, REFUSAL, SWEEP, TRACE]),
    (REPRODUCE, &[EXPERIMENT, HOST, LAB, MACHINE, MODEL, PAGING, RECORD]),
];

/// The beginning of a library's name, and the folder of the binary, whose package has no such name.
const PREFIX: &str = "pageout-";
const BINARY: &str = "cli";

/// The crates of the engine: no features, and nothing that depends on the target.
const ENGINE: [&str; 3] = [PAGING, RECLAIM, UAPI];

/// The part of `cargo metadata` that this check reads.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    pub(super) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    features: serde_json::Map<String, serde_json::Value>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build` or `None` for a normal dependency.
    kind: Option<String>,
    /// The platform of the dependency; `None` for all platforms.
    target: Option<String>,
    optional: bool,
    /// The path of a crate of the workspace; `None` for others.
    path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

impl Workspace {
    /// Asks cargo; it fails where Cargo.lock does not match the manifests.
    pub(crate) fn read() -> Result<Self> {
        let args = ["metadata", "--locked", "--no-deps", "--format-version=1"];
        let text = cmd::output(&mut cmd::cargo(&args))?;
        serde_json::from_str(&text).context("cargo metadata printed something unknown")
    }
}

impl Workspace {
    /// Returns the crates by their short names, each with those that it imports outside of tests.
    pub(crate) fn imports(&self) -> BTreeMap<String, BTreeSet<String>> {
        let short =
            |name: &str| name.strip_prefix(PREFIX).map_or_else(|| BINARY.to_owned(), str::to_owned);
        let ours = self.packages.iter().filter(|package| package.folder().starts_with("crates/"));
        let imports = |package: &Package| {
            let all = package.dependencies.iter();
            let all = all.filter(|on| on.path.is_some() && on.kind.is_none());
            (short(&package.name), all.map(|on| short(&on.name)).collect())
        };
        ours.map(imports).collect()
    }
}

impl Package {
    /// Returns the package's folder, from the workspace root.
    pub(super) fn folder(&self) -> String {
        let manifest = relative(&self.manifest_path);
        manifest.strip_suffix("/Cargo.toml").unwrap_or(&manifest).to_owned()
    }

    /// Returns true for a crate that an operating system links.
    pub(super) fn is_of_engine(&self) -> bool {
        ENGINE.contains(&self.name.as_str())
    }

    /// Returns the root files of the package's library and binaries, from the workspace root.
    pub(super) fn roots(&self) -> Vec<String> {
        let is_code =
            |target: &&Target| target.kind.iter().any(|kind| kind == "lib" || kind == "bin");
        self.targets.iter().filter(is_code).map(|target| relative(&target.src_path)).collect()
    }
}

fn relative(path: &std::path::Path) -> String {
    path.strip_prefix(cmd::root()).unwrap_or(path).to_string_lossy().into_owned()
}

/// Checks every package's dependencies and features.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let path = format!("{}/Cargo.toml", package.folder());
        let mut find = |what: String| findings.push(Finding::new(&path, 0, what));
        for dependency in &package.dependencies {
            let Dependency { name, kind, .. } = dependency;
            let is_dev = kind.as_deref() == Some("dev");
            if dependency.path.is_some() && !may_depend(&package.name, name, is_dev) {
                find(format!("{} may not depend on {name}", package.name));
            }
            let conditional = dependency.optional || dependency.target.is_some();
            if conditional && !is_dev && package.is_of_engine() {
                find(format!("the engine needs {name} always or never"));
            }
        }
        if package.is_of_engine() && !package.features.is_empty() {
            find("the engine has no Cargo features".to_owned());
        }
    }
    findings
}

fn may_depend(package: &str, on: &str, is_dev: bool) -> bool {
    if [EXHIBITS, SIM].contains(&on) {
        // `check` finds the exhibits, and has their harness and the simulated machine in common
        // with the engine's tests.
        return is_dev || package == CHECK;
    }
    let wall = WALLS.iter().find(|(name, _)| *name == package);
    wall.is_none_or(|(_, allowed)| allowed.contains(&on))
}

#[cfg(test)]
impl Workspace {
    /// Makes a workspace of these packages (name, folder), each a library without dependencies.
    pub(super) fn with(packages: &[(&str, &str)]) -> Self {
        let package = |&(name, folder): &(&str, &str)| Package {
            name: name.to_owned(),
            manifest_path: format!("{folder}/Cargo.toml").into(),
            dependencies: Vec::new(),
            features: serde_json::Map::new(),
            targets: vec![Target {
                kind: vec!["lib".to_owned()],
                src_path: format!("{folder}/src/lib.rs").into(),
            }],
        };
        Workspace { packages: packages.iter().map(package).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depends(kind: Option<&str>, target: Option<&str>, path: Option<&str>) -> Dependency {
        Dependency {
            name: RECORD.to_owned(),
            kind: kind.map(str::to_owned),
            target: target.map(str::to_owned),
            optional: false,
            path: path.map(PathBuf::from),
        }
    }

    fn found(workspace: &Workspace) -> Vec<String> {
        check(workspace).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_walls_are_as_drawn() {
        assert!(may_depend(RECLAIM, PAGING, false));
        assert!(!may_depend(PAGING, RECLAIM, false));
        assert!(!may_depend(RECORD, PAGING, false));
        assert!(may_depend(MACHINE, PAGING, false));
        assert!(!may_depend(MACHINE, RECLAIM, false), "no price can be tuned to a policy");
        assert!(!may_depend(MACHINE, RECLAIM, true), "nor a test of the machine");
        assert!(!may_depend(EXHIBITS, HOST, false));
        assert!(!may_depend(HOST, MODEL, false));
        assert!(may_depend(MODEL, HOST, false));
        assert!(may_depend(CAPI, RECLAIM, false), "C gets the whole engine");
        assert!(!may_depend(LAB, PAGING, false), "a kernel is not the engine");
        assert!(!may_depend(SWEEP, HOST, false), "a sweep knows no ground");
    }

    #[test]
    fn the_exhibits_are_for_checks_and_tests() {
        assert!(may_depend(CHECK, EXHIBITS, false));
        assert!(!may_depend(HOST, EXHIBITS, false));
        assert!(may_depend(PAGING, EXHIBITS, true));
        assert!(!may_depend(RECLAIM, EXHIBITS, false));
        assert!(!may_depend(MACHINE, EXHIBITS, false));
        assert!(may_depend(CHECK, SIM, false));
        assert!(!may_depend(HOST, SIM, false));
    }

    #[test]
    fn a_broken_wall_is_found() {
        let mut workspace = Workspace::with(&[(PAGING, "crates/paging")]);
        workspace.packages[0].dependencies = vec![depends(None, None, Some("crates/record"))];
        assert_eq!(found(&workspace), ["pageout-paging may not depend on pageout-record"]);
        workspace.packages[0].dependencies = vec![depends(None, None, None)];
        assert_eq!(found(&workspace), [""; 0], "a crate of the registry is no wall's matter");
    }

    #[test]
    fn the_engine_is_built_one_way() {
        let mut workspace = Workspace::with(&[(RECLAIM, "crates/reclaim")]);
        workspace.packages[0].dependencies = vec![depends(None, Some("cfg(unix)"), None)];
        assert_eq!(found(&workspace), ["the engine needs pageout-record always or never"]);
        workspace.packages[0].dependencies = vec![depends(Some("dev"), Some("cfg(unix)"), None)];
        workspace.packages[0].features.insert("guest".to_owned(), serde_json::json!([]));
        assert_eq!(found(&workspace), ["the engine has no Cargo features"]);
    }
}

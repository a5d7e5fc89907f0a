//! Files of a crate that import each other in a circle can only be read, and changed, together.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use syn::visit::{self, Visit};
use syn::{ImplItemFn, Item, ItemUse, Macro, Path, UseTree, VisRestricted, Visibility};

use super::finding::Finding;
use super::source::Source;
use super::walls::Workspace;
use super::{shape, tokens};

/// The maximum number of files of a crate that may import each other in a circle.
const MOST: usize = 3;

/// The words of a path: `crate`, `a`, `B`.
pub(super) type Words = Vec<String>;

/// The file of a module.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) file: String,
    /// The path of the module in the crate, from the root.
    pub(super) place: Words,
    /// The names that `use` brings in, each with its path.
    pub(super) brings: BTreeMap<String, Words>,
    /// The paths that the file names. A path that it only re-exports is not among them.
    names: BTreeSet<Words>,
}

/// Checks the cycles among the files of each package, tests left out.
pub(super) fn check(
    workspace: &Workspace,
    sources: &[Source],
    tests: &BTreeSet<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let folder = package.folder();
        let code = format!("{folder}/src/");
        let of_tests = |path: &String| tests.contains(path) || path.contains("/tests/");
        let sources = sources.iter().filter(|source| !of_tests(&source.path));
        let modules: Vec<_> = sources.filter_map(|source| Module::read(source, &code)).collect();
        for cycle in cycles(&modules).into_iter().filter(|cycle| cycle.len() > MOST) {
            let (nr, files) = (cycle.len(), cycle.join(", "));
            let what = format!("{nr} files import each other, more than {MOST}: {files}");
            findings.push(Finding::new(&folder, 0, what));
        }
    }
    findings
}

/// Returns the files of each cycle, in order.
fn cycles(modules: &[Module]) -> Vec<Vec<&str>> {
    let places: BTreeMap<_, _> = modules.iter().map(|m| (m.place.as_slice(), m)).collect();
    let mut imports = DiGraphMap::<&str, ()>::new();
    for module in modules {
        for name in &module.names {
            let from = module.absolute(name).and_then(|path| declaring(&places, &path));
            if let Some(from) = from.filter(|from| from.file != module.file) {
                imports.add_edge(&module.file, &from.file, ());
            }
        }
    }
    let mut cycles = tarjan_scc(&imports);
    cycles.retain(|cycle| cycle.len() > 1);
    cycles.iter_mut().for_each(|cycle| cycle.sort_unstable());
    cycles
}

/// Returns the module that declares the item at a path from the root, through any re-exports.
pub(super) fn declaring<'m>(
    places: &BTreeMap<&[String], &'m Module>,
    path: &[String],
) -> Option<&'m Module> {
    let mut path = path.to_vec();
    // An endless chain of re-exports does not compile.
    for _ in 0..8 {
        let depth = (0..=path.len()).rev().find(|depth| places.contains_key(&path[..*depth]))?;
        let module = places[&path[..depth]];
        let Some(from) = path.get(depth).and_then(|name| module.brings.get(name)) else {
            return Some(module);
        };
        path = module.absolute(from)?;
    }
    None
}

impl Module {
    /// Reads a file below `code`; returns `None` if it is elsewhere or not Rust.
    pub(super) fn read(source: &Source, code: &str) -> Option<Self> {
        let place = source.path.strip_prefix(code)?.strip_suffix(".rs")?;
        let mut place: Words = place.split('/').map(str::to_owned).collect();
        if place.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            place.pop();
        }
        let mut paths = Paths::default();
        paths.visit_file(source.rust().as_ref().ok()?);
        let Paths { brings, mut names } = paths;
        // Any other single word is a name of this file's own, even if it is like a module's.
        names.retain(|path| path.len() > 1 || path[0] == "super" || brings.contains_key(&path[0]));
        Some(Self { file: source.path.clone(), place, brings, names })
    }

    /// Returns a path of this file as a path from the root; `None` if the path leads above it.
    pub(super) fn absolute(&self, path: &[String]) -> Option<Words> {
        let up = path.iter().take_while(|word| *word == "super").count();
        let (start, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (&self.place[..], &path[1..]),
            _ => (&self.place[..self.place.len().checked_sub(up)?], &path[up..]),
        };
        Some([start, rest].concat())
    }
}

/// The names that a file brings in and uses, test code left out.
#[derive(Default)]
struct Paths {
    brings: BTreeMap<String, Words>,
    names: BTreeSet<Words>,
}

impl Paths {
    fn bring(&mut self, tree: &UseTree, mut path: Words, hands_on: bool) {
        let mut add = |name: Option<String>, path: Words| {
            if !hands_on {
                self.names.insert(path.clone());
            }
            self.brings.extend(name.map(|name| (name, path)));
        };
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.bring(&tree.tree, path, hands_on);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.bring(tree, path.clone(), hands_on));
            }
            UseTree::Glob(_) => add(None, path),
            UseTree::Name(tree) => {
                if tree.ident != "self" {
                    path.push(tree.ident.to_string());
                }
                add(path.last().cloned(), path);
            }
            UseTree::Rename(tree) => {
                path.push(tree.ident.to_string());
                add(Some(tree.rename.to_string()), path);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !shape::is_test_item(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !shape::is_test_only(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.bring(&item.tree, Words::new(), !matches!(item.vis, Visibility::Inherited));
    }

    /// `pub(super)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_path(&mut self, path: &'ast Path) {
        self.names.insert(path.segments.iter().map(|word| word.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast Macro) {
        visit::visit_macro(self, mac);
        self.names.extend(tokens::paths(mac.tokens.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let read = |(path, text): &(&str, &str)| {
            let source = Source::new(format!("c/src/{path}"), (*text).to_owned());
            Module::read(&source, "c/src/").unwrap()
        };
        let modules: Vec<_> = files.iter().map(read).collect();
        cycles(&modules).iter().map(|cycle| cycle.join(" ").replace("c/src/", "")).collect()
    }

    #[test]
    fn files_that_name_each_other_are_a_cycle() {
        let b = ("b.rs", "fn g() { super::c::h(); }");
        let c = ("c.rs", "fn h() { println!(\"{}\", crate::a::F); }");
        assert_eq!(found(&[("a.rs", "use crate::b::g;"), b, c]), ["a.rs b.rs c.rs"]);
        assert_eq!(found(&[("a.rs", "use other::b::g;"), b, c]), [""; 0]);
    }

    #[test]
    fn what_is_handed_on_counts_where_it_is_declared() {
        let root = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;");
        let a = ("a.rs", "use crate::B;\npub struct A;");
        assert_eq!(found(&[root, a, ("b.rs", "pub struct B;")]), [""; 0]);
        assert_eq!(found(&[root, a, ("b.rs", "use crate::A;\npub struct B;")]), ["a.rs b.rs"]);
    }

    #[test]
    fn what_is_handed_on_and_used_is_imported() {
        let child = ("a/child.rs", "use super::F;\npub struct Child;");
        let hands_on = "mod child;\npub use child::Child;\nconst F: u8 = 0;";
        assert_eq!(found(&[("a/mod.rs", hands_on), child]), [""; 0]);
        let uses = format!("{hands_on}\nfn f(_: Child) {{}}");
        assert_eq!(found(&[("a/mod.rs", &uses), child]), ["a/child.rs a/mod.rs"]);
    }

    #[test]
    fn tests_import_what_they_like() {
        let b = ("b.rs", "use crate::a::F;");
        let test = "#[cfg(test)]\nmod tests { use crate::b::G; }";
        assert_eq!(found(&[("a.rs", test), b]), [""; 0]);
        assert_eq!(found(&[("a.rs", "fn f() -> super::b::G {}"), b]), ["a.rs b.rs"]);
    }

    #[test]
    fn who_may_see_an_item_is_no_import() {
        let child = ("a/child.rs", "pub(super) struct Child { pub(super) f: u8 }");
        assert_eq!(found(&[("a/mod.rs", "mod child;\nuse child::Child;"), child]), [""; 0]);
    }

    #[test]
    fn a_variable_is_no_module() {
        let child = ("child.rs", "use super::F;");
        let variable = "mod child;\nfn f(child: u8) -> u8 { child }";
        assert_eq!(found(&[("lib.rs", variable), child]), [""; 0]);
        let calls = "mod child;\nfn f() { child::g() }";
        assert_eq!(found(&[("lib.rs", calls), child]), ["child.rs lib.rs"]);
    }
}

//! The rooms of a crate: folders of which each knows only the rooms below it, and shows the others
//! only what they use.
//!
//! The compiler holds the walls of a room: its modules are private, and what others need is named
//! in its `mod.rs`. This check holds what the compiler does not. Uses run one way, method calls
//! and fields among them. A name that one room alone declares leads to it; a name of several rooms
//! leads nowhere, since types are not known here. And an item that is visible in the whole crate
//! is used outside of its room.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{
    Expr, ExprField, ExprMethodCall, Field, FnArg, Ident, ImplItemFn, Item, ItemImpl, ItemUse,
    Macro, Member, Path, Signature, TraitItemFn, Type, VisRestricted, Visibility,
};

use super::cycles::{self, Module, Words};
use super::finding::Finding;
use super::source::Source;
use super::{shape, tokens};

/// A crate with rooms.
struct House {
    /// The folder of the crate's code.
    code: &'static str,
    /// The rooms' folders, each above those that it may use. All other files are the ground, which
    /// every room may use, and which uses no room.
    rooms: &'static [&'static str],
    /// The files that put the parts of a table together, and may use any room for that.
    holders: &'static [&'static str],
}

const HOUSES: [House; 1] = [House {
    code: "crates/reclaim/src/",
    rooms: &[
        "cgroup",
        "mm",
        "page_cache",
        "lru",
        "unmap",
        "reclaim",
        "compaction",
        "space",
        "fault",
    ],
    holders: &["cgroup/memcg.rs", "memory.rs", "mm/mm_struct.rs", "mm_state/mod.rs"],
}];

/// A room, by its place in the order; `None` for the ground.
type Room = Option<usize>;

/// A file of a house.
struct Place<'s> {
    source: &'s Source,
    room: Room,
    module: Module,
    code: Code,
    /// All words of the file, those of its tests among them.
    words: BTreeSet<String>,
}

/// Checks each crate with rooms.
pub(super) fn check(sources: &[Source], tests: &BTreeSet<String>) -> Vec<Finding> {
    HOUSES.iter().flat_map(|house| house.check(sources, tests)).collect()
}

impl House {
    fn check(&self, sources: &[Source], tests: &BTreeSet<String>) -> Vec<Finding> {
        let (test_files, files): (Vec<_>, Vec<_>) = sources
            .iter()
            .filter(|source| source.path.starts_with(self.code) && source.is_rust())
            .partition(|source| tests.contains(&source.path));
        let places: Vec<_> = files.into_iter().filter_map(|source| self.place(source)).collect();
        let words_of_tests =
            test_files.into_iter().map(|source| (self.room(source), words(source)));
        let words: Vec<_> = places
            .iter()
            .map(|place| (place.room, place.words.clone()))
            .chain(words_of_tests)
            .collect();
        let mut findings = self.arrows_up(&places);
        for (i, folder) in self.rooms.iter().enumerate() {
            let inside = || places.iter().filter(|place| place.room == Some(i));
            let doors: BTreeSet<_> = inside().flat_map(|place| &place.code.in_doors.0).collect();
            let of_room = inside().flat_map(|place| too_visible(folder, place, &doors, &words));
            findings.extend(of_room);
        }
        findings
    }

    fn place<'s>(&self, source: &'s Source) -> Option<Place<'s>> {
        let mut code = Code::default();
        code.visit_file(source.rust().as_ref().ok()?);
        let module = Module::read(source, self.code)?;
        Some(Place { source, room: self.room(source), module, code, words: words(source) })
    }

    fn room(&self, source: &Source) -> Room {
        let folder = source.path.strip_prefix(self.code)?.split('/').next()?;
        self.rooms.iter().position(|room| *room == folder)
    }

    fn name(&self, room: Room) -> &'static str {
        room.map_or("the ground", |room| self.rooms[room])
    }

    /// Finds uses of a room by a lower one or by the ground.
    fn arrows_up(&self, places: &[Place<'_>]) -> Vec<Finding> {
        let modules = places.iter().map(|place| &place.module);
        let modules: BTreeMap<_, _> = modules.map(|m| (m.place.as_slice(), m)).collect();
        let rooms: BTreeMap<_, _> = places.iter().map(|p| (&p.source.path, p.room)).collect();
        let mut declaring: BTreeMap<&Name, Vec<(Room, &Declared)>> = BTreeMap::new();
        for place in places {
            for declared in &place.code.declares {
                declaring.entry(&declared.name).or_default().push((place.room, declared));
            }
        }
        // The only room that the use can lead to.
        let only = |used: &Use, by: Room| {
            let all = declaring.get(&used.name)?.iter();
            let of_type = |declared: &Declared| used.of.as_ref() == Some(&declared.of);
            let is_known = all.clone().any(|(_, declared)| of_type(declared));
            let all = all.filter(|(_, declared)| !is_known || of_type(declared));
            let all = all.filter(|(room, declared)| declared.shown || *room == by);
            let rooms: BTreeSet<Room> = all.map(|(room, _)| *room).collect();
            rooms.first().copied().filter(|_| rooms.len() == 1)
        };
        let mut findings = Vec::new();
        for place in places {
            let path = place.source.path.as_str();
            if self.holders.iter().any(|holder| path.strip_prefix(self.code) == Some(holder)) {
                continue;
            }
            let mut find = |line: usize, what: &str, to: Room| {
                if to > place.room {
                    let (from, to) = (self.name(place.room), self.name(to));
                    let what = format!("{from} is below {to} and may not use its {what}");
                    findings.push(Finding::new(path, line, what));
                }
            };
            for used in &place.code.uses {
                if let Some(room) = only(used, place.room) {
                    find(used.line, used.name.word(), room);
                }
            }
            for (words, line) in &place.code.paths {
                let known = words.len() > 1 || place.module.brings.contains_key(&words[0]);
                let path = place.module.absolute(words).filter(|_| known);
                if let Some(from) = path.and_then(|path| cycles::declaring(&modules, &path)) {
                    find(*line, &words.join("::"), rooms[&from.file]);
                }
            }
        }
        findings
    }
}

/// Finds items of a room that the whole crate sees and no other room uses.
fn too_visible(
    folder: &str,
    place: &Place<'_>,
    doors: &BTreeSet<&String>,
    words: &[(Room, BTreeSet<String>)],
) -> Vec<Finding> {
    let elsewhere = |name: &String| {
        words.iter().any(|(other, words)| *other != place.room && words.contains(name))
    };
    let unused = place.code.of_crate.iter().filter(|(name, _)| !elsewhere(name));
    let unused = unused.filter(|(name, _)| !doors.contains(name));
    let word = match place.module.place.len() {
        0..=2 => "pub(super)".to_owned(),
        _ => format!("pub(in crate::{folder})"),
    };
    let what = |name: &str| format!("{name} is used only in {folder}: make it {word}, or less");
    unused.map(|(name, line)| Finding::new(&place.source.path, *line, what(name))).collect()
}

/// Returns all words of a file outside of comments and strings.
fn words(source: &Source) -> BTreeSet<String> {
    let tokens = tokens::flatten(&source.text).unwrap_or_default();
    tokens.into_iter().map(|token| token.text).collect()
}

/// A method or a field that a file declares.
struct Declared {
    name: Name,
    /// The type, or trait, that has the method.
    of: String,
    /// True if other rooms may see it.
    shown: bool,
}

/// The name of a method, with the number of its arguments besides the receiver, or of a field.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Name {
    Method(String, usize),
    Field(String),
}

impl Name {
    fn word(&self) -> &str {
        match self {
            Self::Method(name, _) | Self::Field(name) => name,
        }
    }
}

/// The use of a method or a field.
struct Use {
    name: Name,
    /// The type that has it, if the receiver shows it.
    of: Option<String>,
    line: usize,
}

/// The declarations and uses of a file, test code left out.
#[derive(Default)]
struct Code {
    declares: Vec<Declared>,
    uses: Vec<Use>,
    /// The paths outside of imports, with their lines. The types of fields are left out: a table
    /// may hold what it can't look into.
    paths: Vec<(Words, usize)>,
    /// The items that the whole crate sees, with their lines.
    of_crate: Vec<(String, usize)>,
    /// The types in signatures and fields that other rooms may see: they are as visible.
    in_doors: Types,
    /// The type of the `impl`, or the trait, that is being read.
    inside: String,
}

impl Code {
    fn declare_method(&mut self, signature: &Signature, shown: bool) {
        let receivers = signature.inputs.iter().filter(|arg| matches!(arg, FnArg::Receiver(_)));
        let arguments = signature.inputs.len() - receivers.count();
        let name = Name::Method(signature.ident.to_string(), arguments);
        self.declares.push(Declared { name, of: self.inside.clone(), shown });
    }

    /// Notes an item with its visibility. If other rooms may see it, `see` reads its types.
    fn note(&mut self, visibility: &Visibility, name: &Ident, see: impl FnOnce(&mut Types)) {
        if is_shown(visibility) {
            see(&mut self.in_doors);
        }
        if is_of_crate(visibility) {
            self.of_crate.push((name.to_string(), name.span().start().line));
        }
    }

    /// Returns the type of a receiver that is named as the engine's code names it.
    fn type_of(&self, receiver: &Expr) -> Option<String> {
        let name = match receiver {
            Expr::Field(ExprField { member: Member::Named(name), .. }) => name.to_string(),
            Expr::Path(path) => path.path.get_ident()?.to_string(),
            _ => return None,
        };
        match name.as_str() {
            "self" => Some(self.inside.clone()),
            "maps" => Some("MmState".to_owned()),
            "engine" => Some("Engine".to_owned()),
            _ => None,
        }
    }
}

/// The words of paths.
#[derive(Default)]
struct Types(BTreeSet<String>);

impl<'ast> Visit<'ast> for Types {
    fn visit_path(&mut self, path: &'ast Path) {
        self.0.extend(path.segments.iter().map(|word| word.ident.to_string()));
        visit::visit_path(self, path);
    }
}

fn is_of_crate(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Restricted(to) if to.path.is_ident("crate"))
}

fn is_shown(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_)) || is_of_crate(visibility)
}

impl<'ast> Visit<'ast> for Code {
    fn visit_item(&mut self, item: &'ast Item) {
        if shape::is_test_item(item) {
            return;
        }
        match item {
            Item::Const(item) => {
                self.note(&item.vis, &item.ident, |types| types.visit_type(&item.ty));
            }
            Item::Enum(item) => {
                self.note(&item.vis, &item.ident, |types| types.visit_item_enum(item));
            }
            Item::Fn(item) => {
                self.note(&item.vis, &item.sig.ident, |types| types.visit_signature(&item.sig));
            }
            Item::Mod(item) => self.note(&item.vis, &item.ident, |_| ()),
            Item::Static(item) => {
                self.note(&item.vis, &item.ident, |types| types.visit_type(&item.ty));
            }
            Item::Struct(item) => self.note(&item.vis, &item.ident, |_| ()),
            Item::Trait(item) => {
                self.inside = item.ident.to_string();
                self.note(&item.vis, &item.ident, |types| types.visit_item_trait(item));
            }
            Item::Type(item) => {
                self.note(&item.vis, &item.ident, |types| types.visit_type(&item.ty));
            }
            Item::Impl(ItemImpl { self_ty, .. }) => {
                self.inside = match &**self_ty {
                    Type::Path(path) => path.path.segments.last().unwrap().ident.to_string(),
                    _ => String::new(),
                };
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !shape::is_test_only(&item.attrs) {
            self.note(&item.vis, &item.sig.ident, |types| types.visit_signature(&item.sig));
            self.declare_method(&item.sig, is_shown(&item.vis));
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.declare_method(&item.sig, true);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_field(&mut self, field: &'ast Field) {
        if let Some(ident) = &field.ident {
            self.note(&field.vis, ident, |types| types.visit_type(&field.ty));
            let name = Name::Field(ident.to_string());
            let shown = is_shown(&field.vis);
            self.declares.push(Declared { name, of: String::new(), shown });
        }
    }

    fn visit_item_use(&mut self, _: &'ast ItemUse) {}

    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let name = Name::Method(call.method.to_string(), call.args.len());
        let (of, line) = (self.type_of(&call.receiver), call.method.span().start().line);
        self.uses.push(Use { name, of, line });
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_field(&mut self, field: &'ast ExprField) {
        if let Member::Named(name) = &field.member {
            let line = name.span().start().line;
            self.uses.push(Use { name: Name::Field(name.to_string()), of: None, line });
        }
        visit::visit_expr_field(self, field);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let words = path.segments.iter().map(|word| word.ident.to_string()).collect();
        self.paths.push((words, path.segments[0].ident.span().start().line));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast Macro) {
        visit::visit_macro(self, mac);
        let line = mac.path.segments[0].ident.span().start().line;
        self.paths.extend(tokens::paths(mac.tokens.clone()).into_iter().map(|path| (path, line)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd;

    const HOUSE: House = House { code: "c/src/", rooms: &["low", "high"], holders: &["tables.rs"] };

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source =
            |(path, text): &(&str, &str)| Source::new(format!("c/src/{path}"), (*text).into());
        let sources: Vec<_> = files.iter().map(source).collect();
        let findings = HOUSE.check(&sources, &BTreeSet::new());
        findings.iter().map(|finding| finding.to_string().replace("c/src/", "")).collect()
    }

    const HIGH: (&str, &str) = (
        "high/mod.rs",
        "mod a;\npub use a::A;\npub struct B { pub b: u8 }\n\
         impl Engine { pub fn go(&self, nr: u8) {} }",
    );
    const A: (&str, &str) = ("high/a.rs", "pub struct A;\nimpl A { pub fn new() -> Self { A } }");

    #[test]
    fn uses_run_one_way() {
        let call = "low is below high and may not use its go";
        let low = |text: &str| found(&[("low/mod.rs", text), HIGH, A]);
        assert_eq!(low("fn f(e: &Engine) { e.go(1) }"), [format!("low/mod.rs:1: {call}")]);
        assert_eq!(low("use crate::high::A;\nfn f() { A::new(); }").len(), 1, "by a path");
        assert_eq!(low("fn f(x: X) -> u8 { x.b }").len(), 1, "by a field");
        assert_eq!(low("fn f() { assert!(crate::high::A::new()); }").len(), 1, "in a macro");
        let test = "use crate::high::A;\n#[cfg(test)]\nmod tests { fn f() { A::new(); } }";
        assert_eq!(low(test), [""; 0]);
        let down = ("low/mod.rs", "impl Engine { pub fn down(&self) {} }");
        assert_eq!(found(&[down, ("high/mod.rs", "fn f(e: &Engine) { e.down() }")]), [""; 0]);
    }

    #[test]
    fn the_ground_uses_no_room_but_where_it_puts_their_tables_together() {
        let text = "fn f(e: &Engine) { e.go(1) }";
        let what = "ground.rs:1: the ground is below high and may not use its go";
        assert_eq!(found(&[("ground.rs", text), HIGH, A]), [what]);
        assert_eq!(found(&[("tables.rs", text), HIGH, A]), [""; 0]);
    }

    #[test]
    fn a_table_may_hold_what_it_cannot_look_into() {
        let low = |text: &str| found(&[("low/mod.rs", text), HIGH, A]);
        assert_eq!(low("use crate::high::A;\nstruct S { a: A }"), [""; 0]);
        assert_eq!(low("use crate::high::A;\nfn f(a: A) {}").len(), 1);
    }

    #[test]
    fn a_name_of_several_rooms_leads_nowhere() {
        let low = |text: &str| found(&[("low/mod.rs", text), HIGH, A]);
        assert_eq!(low("fn f(x: X) { x.go() }"), [""; 0], "of another number of arguments");
        let own = "impl X { fn go(&self, nr: u8) {} }\n";
        assert_eq!(low(&format!("{own}fn f(x: X) {{ x.go(1) }}")), [""; 0]);
        let engine = format!("{own}impl Y {{ fn f(&self) {{ self.engine.go(1) }} }}");
        assert_eq!(low(&engine).len(), 1, "its receiver is known");
        let hidden = ("high/mod.rs", "impl X { fn go(&self) {} }");
        assert_eq!(found(&[("low/mod.rs", "fn f(x: Z) { x.go() }"), hidden]), [""; 0]);
    }

    #[test]
    fn what_the_crate_sees_is_used_outside_of_its_room() {
        let low = "pub(crate) fn f() {}\npub(crate) struct S { pub(crate) s: u8 }";
        let high = |text: &str| found(&[("low/a.rs", low), ("high/mod.rs", text)]);
        let why = "is used only in low: make it pub";
        let what = |line, name| format!("low/a.rs:{line}: {name} {why}(super), or less");
        assert_eq!(high(""), [what(1, "f"), what(2, "S"), what(2, "s")]);
        assert_eq!(high("fn g() { low::f() }"), [what(2, "S"), what(2, "s")]);
        assert_eq!(high("use crate::low::{S, f};\nfn g(s: S) { s.s; f() }"), [""; 0]);
        let nested = found(&[("low/a/b.rs", "pub(crate) fn f() {}")]);
        assert_eq!(nested, [format!("low/a/b.rs:1: f {why}(in crate::low), or less")]);
    }

    #[test]
    fn a_type_in_a_door_is_as_visible_as_the_door() {
        let low = |text: &str| found(&[("low/a.rs", text), ("high/mod.rs", "fn g() { f() }")]);
        assert_eq!(low("pub(crate) fn f() -> S { S }\npub(crate) struct S;"), [""; 0]);
        assert_eq!(low("pub(super) fn f() -> S { S }\npub(crate) struct S;").len(), 1);
    }

    #[test]
    fn every_room_is_there() {
        for House { code, rooms, holders } in HOUSES {
            let is_there = |path: &str| cmd::root().join(code).join(path).exists();
            assert!(rooms.iter().all(|room| is_there(&format!("{room}/mod.rs"))));
            assert!(holders.iter().all(|file| is_there(file)));
        }
    }
}

//! Lengths of functions and files.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta};

use super::finding::{Finding, Rule};
use super::source::Source;

/// The maximum number of lines of a function, from its signature to its closing brace.
const FUNCTION: usize = 70;
/// The maximum number of lines of a file, tests not counted.
const FILE: usize = 600;

/// Checks a parsed file. The length of a file that has only tests is not limited.
pub(super) fn check(source: &Source, file: &syn::File, is_test: bool) -> Vec<Finding> {
    let mut functions = Functions(Vec::new());
    functions.visit_file(file);
    let mut findings: Vec<Finding> = functions
        .0
        .into_iter()
        .filter(|function| function.lines() > FUNCTION)
        .map(|function| {
            let what = format!("{} has {} lines, more than {FUNCTION}", function.name, {
                function.lines()
            });
            // The excuse stands above the function or its attributes, or in it.
            let place = function.above.saturating_sub(1)..=function.last;
            Finding::new(&source.path, function.first, what).excusable(Rule::LongFunction, place)
        })
        .collect();
    let all = source.text.lines().count();
    let lines = all - test_lines(file);
    if lines > FILE && !is_test {
        let what = format!("{lines} lines without tests, more than {FILE}");
        findings.push(Finding::new(&source.path, 0, what).excusable(Rule::LongFile, 1..=all));
    }
    findings
}

/// Returns the files that hold only tests: integration tests, and modules declared for tests.
pub(super) fn test_files(sources: &[Source]) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        if source.path.split('/').any(|part| part == "tests" || part == "tests.rs") {
            files.insert(source.path.clone());
        }
        let Ok(file) = source.rust() else {
            continue;
        };
        for item in &file.items {
            if let Item::Mod(module) = item
                && module.content.is_none()
                && is_test_only(&module.attrs)
            {
                let folder = module_folder(&source.path);
                files.insert(format!("{folder}/{}.rs", module.ident));
                files.insert(format!("{folder}/{}/mod.rs", module.ident));
            }
        }
    }
    files
}

/// Returns the folder that holds the modules which a file declares.
fn module_folder(path: &str) -> &str {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = path.rsplit('/').next().unwrap_or(path);
    if ["lib.rs", "main.rs", "mod.rs"].contains(&name) {
        folder
    } else {
        path.strip_suffix(".rs").unwrap_or(path)
    }
}

/// Returns true if the attributes keep the item out of every build but the tests'.
pub(super) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let predicate = list.tokens.to_string().replace(' ', "");
            predicate == "test" || predicate.starts_with("all(test,")
        }
        _ => false,
    })
}

/// Returns true if an item is a test module or compiled only for tests.
pub(super) fn is_test_item(item: &Item) -> bool {
    match item {
        Item::Mod(item) => is_test_only(&item.attrs),
        Item::Fn(item) => is_test_only(&item.attrs),
        Item::Impl(item) => is_test_only(&item.attrs),
        Item::Struct(item) => is_test_only(&item.attrs),
        Item::Use(item) => is_test_only(&item.attrs),
        _ => false,
    }
}

/// Counts the lines of the file's test modules and test-only items.
fn test_lines(file: &syn::File) -> usize {
    file.items.iter().filter(|item| is_test_item(item)).map(|item| lines_of(item).count()).sum()
}

fn lines_of(item: &impl Spanned) -> RangeInclusive<usize> {
    let span = item.span();
    span.start().line..=span.end().line
}

struct Function {
    name: String,
    /// The line of the function's first attribute or documentation.
    above: usize,
    first: usize,
    last: usize,
}

impl Function {
    fn new(item: &impl Spanned, signature: &syn::Signature) -> Self {
        let lines = lines_of(item);
        Function {
            name: signature.ident.to_string(),
            above: *lines.start(),
            first: *lines_of(signature).start(),
            last: *lines.end(),
        }
    }

    fn lines(&self) -> usize {
        self.last - self.first + 1
    }
}

struct Functions(Vec<Function>);

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.0.push(Function::new(item, &item.sig));
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.0.push(Function::new(item, &item.sig));
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.0.push(Function::new(item, &item.sig));
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: String) -> Source {
        Source::new(path.to_owned(), text)
    }

    fn found(text: &str) -> Vec<String> {
        let source = source("a.rs", text.to_owned());
        let findings = check(&source, source.rust().as_ref().unwrap(), false);
        source.excuse(findings).iter().map(ToString::to_string).collect()
    }

    fn function(lines: usize) -> String {
        format!("/// Long.\nfn long() {{\n{}}}\n", "    f();\n".repeat(lines - 2))
    }

    #[test]
    fn long_functions_are_found() {
        assert_eq!(found(&function(70)), [""; 0]);
        assert_eq!(found(&function(71)), ["a.rs:2: long has 71 lines, more than 70"]);
        let method = format!("impl A {{\n{}}}\n", function(71));
        assert_eq!(found(&method).len(), 1);
        let nested = format!("fn outer() {{\n{}}}\n", function(71));
        assert_eq!(found(&nested).len(), 2);
    }

    #[test]
    fn a_reason_excuses_a_long_function() {
        let excused = format!("// tidy: long function: one table\n{}", function(71));
        assert_eq!(found(&excused), [""; 0]);
        let idle = format!("// tidy: long function: one table\n{}", function(70));
        assert_eq!(found(&idle), ["a.rs:1: this excuses no long function: delete it"]);
    }

    #[test]
    fn long_files_are_found_and_tests_not_counted() {
        let lines = "const A: u8 = 0;\n".repeat(600);
        assert_eq!(found(&lines), [""; 0]);
        let tests = format!("{lines}#[cfg(test)]\nmod tests {{\n    use super::*;\n}}\n");
        assert_eq!(found(&tests), [""; 0]);
        let longer = format!("{tests}struct A;\n");
        assert_eq!(found(&longer), ["a.rs: 601 lines without tests, more than 600"]);
    }

    #[test]
    fn files_of_tests_are_known() {
        let sources = [
            source("c/src/lib.rs", "#[cfg(test)]\nmod random;\nmod other;\n".to_owned()),
            source("c/src/a.rs", "#[cfg(all(test, not(miri)))]\nmod b;\n".to_owned()),
            source("c/tests/all.rs", String::new()),
        ];
        let files = test_files(&sources);
        for path in ["c/src/random.rs", "c/src/a/b.rs", "c/tests/all.rs"] {
            assert!(files.contains(path), "{path}");
        }
        assert!(!files.contains("c/src/other.rs"));
    }
}

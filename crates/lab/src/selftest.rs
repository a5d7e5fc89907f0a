//! The kernel selftest: taken from its patch, compiled with the harness of a kernel's own source.

use std::path::{Path, PathBuf};

use super::assets;
use super::cache::Cache;
use super::child::version;
use super::digest::Name;
use super::initrd::{C_OPTIONS, InitrdError, compile};
use super::progress::Progress;
use super::source::Pristine;
use super::target::Arch;

/// The test in the kernel's tree.
const FILE: &str = "tools/testing/selftests/mm/folio_young.c";
/// The program.
const PROGRAM: &str = "selftest";

/// Returns the program's path, after compiling it for an architecture unless it is in the cache.
pub(super) fn compiled(
    arch: Arch,
    source: &Pristine,
    cache: &Cache,
    progress: &dyn Progress,
) -> Result<PathBuf, InitrdError> {
    let compiler = arch.compiler();
    let text = added(assets::SELFTEST, FILE);
    let key = Name::default().part(version(&compiler)?).part(&text).part(&source.content);
    let key = key.parts(C_OPTIONS);
    let directory = cache.made("selftests", &key.finish(), progress, |to| {
        let harness = source.directory.join("tools/testing/selftests");
        // The compiler may warn of another release's harness.
        let options = ["-Wno-error".as_ref(), "-I".as_ref(), harness.as_path(), "-I".as_ref()];
        let options: Vec<&Path> = [&options[..], &[&source.directory]].concat();
        compile(&compiler, PROGRAM, &[("selftest.c", &text)], &options, to)
    })?;
    Ok(directory.join(PROGRAM))
}

/// Returns the text of a file that a patch adds.
fn added(patch: &str, path: &str) -> String {
    let header = format!("+++ b/{path}\n@@ -0,0 +1,");
    let (_, rest) = patch.split_once(&header).expect("the patch adds the file");
    let lines = rest.lines().skip(1).map_while(|line| line.strip_prefix('+'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_added_file_is_all_of_its_lines_and_no_others() {
        let patch = "--- a/m\n+++ b/m\n@@ -1 +1,2 @@\n x\n+y\n--- /dev/null\n+++ b/d/a.c\n\
            @@ -0,0 +1,3 @@\n+one\n+\n++three\n-- \n2.39\n";
        assert_eq!(added(patch, "d/a.c"), "one\n\n+three\n");
    }

    #[test]
    fn the_patch_has_the_test_whole() {
        let text = added(assets::SELFTEST, FILE);
        let header = format!("@@ -0,0 +1,{} @@", text.lines().count());
        assert!(assets::SELFTEST.contains(&header), "{header}");
        assert!(text.starts_with("// SPDX") && text.ends_with("\nTEST_HARNESS_MAIN\n"));
    }
}

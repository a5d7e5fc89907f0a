//! The proc file that is added to every kernel, and its line in the makefile.

use std::fs;
use std::path::{Path, PathBuf};

use super::assets;
use super::cache::CacheError;
use super::mirror::{Patched, Staged};

/// The batched young helpers that only some kernels have.
const HELPERS: [&str; 2] = ["clear_flush_young_ptes", "test_and_clear_young_ptes"];
/// The headers that may declare them: generic ones, the architecture's, and the mm's own.
const HEADERS: [&str; 4] =
    ["include/linux", "include/asm-generic", "arch/$(SRCARCH)/include/asm", "mm"];

/// Adds the proc file that counts entries, and its lines in the makefile, which tell it of each
/// batched helper whether this kernel has it: `-DHAVE_…=1` or `=0`.
pub(super) fn add_proc_file(tree: &Path, staged: &mut Staged) -> Result<(), CacheError> {
    let path = PathBuf::from("mm/Makefile");
    let makefile = match staged.remove(&path).flatten() {
        Some(patched) => patched.content,
        None => fs::read(tree.join(&path)).map_err(CacheError::at(&tree.join(&path)))?,
    };
    let mut makefile = String::from_utf8_lossy(&makefile).into_owned();
    makefile += "\nobj-y += pageout_lab.o\n";
    let headers = HEADERS.map(|directory| format!(" $(srctree)/{directory}")).concat();
    for helper in HELPERS {
        let flag = helper.to_uppercase();
        makefile += &format!(
            "CFLAGS_pageout_lab.o += -DHAVE_{flag}=$(if $(shell grep -rlw {helper} \
             --include=*.h{headers}),1,0)\n"
        );
    }
    let file = |content: Vec<u8>| Some(Patched { content, mode: 0o644 });
    staged.insert(path, file(makefile.into_bytes()));
    staged.insert("mm/pageout_lab.c".into(), file(assets::PROC_FILE.into()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    #[test]
    fn the_proc_file_is_added_to_a_patched_makefile_too() {
        let directory = tempdir().unwrap();
        fs::create_dir(directory.path().join("mm")).unwrap();
        fs::write(directory.path().join("mm/Makefile"), "obj-y := a.o\n").unwrap();
        let text = |staged: &Staged| {
            let makefile = staged[Path::new("mm/Makefile")].clone().unwrap();
            String::from_utf8(makefile.content).unwrap()
        };
        let mut staged = Staged::new();
        add_proc_file(directory.path(), &mut staged).unwrap();
        assert!(text(&staged).starts_with("obj-y := a.o\n\nobj-y += pageout_lab.o\n"));
        assert!(staged[Path::new("mm/pageout_lab.c")].is_some());
        let patched = Patched { content: b"obj-y := b.o\n".to_vec(), mode: 0o644 };
        let mut staged = Staged::from([("mm/Makefile".into(), Some(patched))]);
        add_proc_file(directory.path(), &mut staged).unwrap();
        assert!(text(&staged).starts_with("obj-y := b.o\n"));
    }

    /// Returns the flags that make gives the proc file in a tree with those headers.
    fn flags(headers: &[(&str, &str)]) -> String {
        let directory = tempdir().unwrap();
        for (name, text) in headers.iter().chain(&[("mm/Makefile", "")]) {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut staged = Staged::new();
        add_proc_file(directory.path(), &mut staged).unwrap();
        let makefile = &staged[Path::new("mm/Makefile")].as_ref().unwrap().content;
        let shown = b"$(info $(strip $(CFLAGS_pageout_lab.o)))\nall:\n";
        let makefile = [makefile, &shown[..]].concat();
        fs::write(directory.path().join("Makefile"), makefile).unwrap();
        let mut make = std::process::Command::new("make");
        let make = make.args(["--silent", "srctree=.", "SRCARCH=arm64"]);
        let output = make.current_dir(directory.path()).output().expect("make runs");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn a_helper_is_found_in_whatever_header_declares_it() {
        let both = |clear: u8, test: u8| {
            format!("-DHAVE_CLEAR_FLUSH_YOUNG_PTES={clear} -DHAVE_TEST_AND_CLEAR_YOUNG_PTES={test}")
        };
        let clear = "static inline bool clear_flush_young_ptes(struct vm_area_struct *vma,\n";
        let test = "bool test_and_clear_young_ptes(void);\n";
        assert_eq!(flags(&[]), both(0, 0));
        assert_eq!(flags(&[("include/linux/pgtable.h", clear)]), both(1, 0));
        assert_eq!(flags(&[("arch/arm64/include/asm/pgtable.h", test)]), both(0, 1));
        assert_eq!(flags(&[("arch/x86/include/asm/pgtable.h", test)]), both(0, 0));
        let headers = [("mm/internal.h", clear), ("include/linux/mm_inline.h", test)];
        assert_eq!(flags(&headers), both(1, 1));
        let others = "#define __clear_flush_young_ptes\n#define test_and_clear_young_ptes_notify\n";
        assert_eq!(flags(&[("include/linux/pgtable.h", others)]), both(0, 0));
        assert_eq!(flags(&[("mm/rmap.c", clear)]), both(0, 0));
    }
}

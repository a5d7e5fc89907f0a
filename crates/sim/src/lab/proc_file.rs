//! The proc file that is added to every kernel, and its line in the makefile.

use std::fs;
use std::path::{Path, PathBuf};

use super::assets;
use super::cache::CacheError;
use super::mirror::{Patched, Staged};

/// Adds the proc file that counts entries, and its line in the makefile: with a flag for each of
/// the batched helpers that this kernel has.
pub(super) fn add_proc_file(tree: &Path, staged: &mut Staged) -> Result<(), CacheError> {
    const HELPERS: [&str; 2] = ["clear_flush_young_ptes", "test_and_clear_young_ptes"];
    let path = PathBuf::from("mm/Makefile");
    let makefile = match staged.remove(&path).flatten() {
        Some(patched) => patched.content,
        None => fs::read(tree.join(&path)).map_err(CacheError::at(&tree.join(&path)))?,
    };
    let mut makefile = String::from_utf8_lossy(&makefile).into_owned();
    makefile += "\nobj-y += pageout_lab.o\n";
    for helper in HELPERS {
        makefile += &format!(
            "CFLAGS_pageout_lab.o += $(if $(shell grep -l {helper} \
             $(srctree)/include/linux/pgtable.h),-DHAVE_{})\n",
            helper.to_uppercase()
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
        assert!(text(&staged).contains("-DHAVE_TEST_AND_CLEAR_YOUNG_PTES)\n"));
        assert!(staged[Path::new("mm/pageout_lab.c")].is_some());
        let patched = Patched { content: b"obj-y := b.o\n".to_vec(), mode: 0o644 };
        let mut staged = Staged::from([("mm/Makefile".into(), Some(patched))]);
        add_proc_file(directory.path(), &mut staged).unwrap();
        assert!(text(&staged).starts_with("obj-y := b.o\n"));
    }
}

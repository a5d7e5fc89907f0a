//! Points at which a CPU may give up its turn: calls that the compiler puts into every basic block
//! of the files asked for, and the object that they call.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::super::assets;
use super::super::cache::CacheError;
use super::super::mirror::{Patched, Staged};

/// Options of the compiler: points, and the lines that they are at.
const FLAGS: &str = "-g1 -fsanitize-coverage=trace-pc";
/// Our own objects, which get no points.
const OURS: [&str; 2] = ["pageout_schedule.o", "pageout_lab.o"];

/// The files and directories of a kernel that get points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Points(Vec<PathBuf>);

/// Points that cannot be put in.
#[derive(Debug, thiserror::Error)]
pub enum PointsError {
    /// A path that the kernel's source does not have.
    #[error("--points {0}: this kernel has no such file or directory with a Makefile")]
    NotThere(String),
    /// A path that cannot be a C file or directory in the tree.
    #[error(
        "--points {0}: expected a directory of the kernel, such as mm, or a C file of one, \
        such as mm/rmap.c"
    )]
    NotAPlace(String),
    /// A makefile cannot be read.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl Default for Points {
    fn default() -> Self {
        Self(vec!["mm".into()])
    }
}

impl Points {
    /// Takes C files, and directories whose own C files get points.
    ///
    /// # Errors
    ///
    /// [`PointsError::NotAPlace`] for the first that is neither.
    pub fn new(places: &[PathBuf]) -> Result<Self, PointsError> {
        for place in places {
            let is_inside = place.components().all(|part| matches!(part, Component::Normal(_)));
            let is_kind = place.extension().is_none_or(|extension| extension == "c");
            if !is_inside || !is_kind || place.as_os_str().is_empty() {
                return Err(PointsError::NotAPlace(place.display().to_string()));
            }
        }
        Ok(Self(places.to_vec()))
    }

    /// Adds the points and their object to the staged makefiles and files.
    pub(in super::super) fn add(
        &self,
        tree: &Path,
        staged: &mut Staged,
    ) -> Result<(), PointsError> {
        let mut lines: BTreeMap<PathBuf, String> = BTreeMap::new();
        let mm = lines.entry("mm/Makefile".into()).or_default();
        *mm += "\nobj-y += pageout_schedule.o\n";
        for ours in OURS {
            *mm += &format!("CFLAGS_REMOVE_{ours} += {FLAGS}\n");
        }
        for place in &self.0 {
            let is_there = staged.get(place).map_or(tree.join(place).exists(), Option::is_some);
            let is_file = place.extension().is_some();
            let directory = if is_file { place.parent().unwrap_or(place) } else { place };
            let makefile = directory.join("Makefile");
            if !is_there || !(staged.contains_key(&makefile) || tree.join(&makefile).is_file()) {
                return Err(PointsError::NotThere(place.display().to_string()));
            }
            *lines.entry(makefile).or_default() += &match place.file_stem() {
                Some(stem) if is_file => format!("CFLAGS_{}.o += {FLAGS}\n", stem.display()),
                _ => format!("\nccflags-y += {FLAGS}\n"),
            };
        }
        let file = |content: Vec<u8>| Some(Patched { content, mode: 0o644 });
        for (path, lines) in lines {
            let mut content = match staged.remove(&path).flatten() {
                Some(patched) => patched.content,
                None => fs::read(tree.join(&path)).map_err(CacheError::at(&tree.join(&path)))?,
            };
            content.extend(b"\n");
            content.extend(lines.into_bytes());
            staged.insert(path, file(content));
        }
        staged.insert("mm/pageout_schedule.c".into(), file(assets::SCHEDULE_OBJECT.into()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    fn added(places: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let tree = tempdir().unwrap();
        for (name, text) in
            [("mm/Makefile", "obj-y := rmap.o\n"), ("mm/rmap.c", ""), ("fs/a.c", "")]
        {
            let path = tree.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let places: Vec<PathBuf> = places.iter().map(Into::into).collect();
        let mut staged = Staged::new();
        let points = Points::new(&places).map_err(|error| error.to_string())?;
        points.add(tree.path(), &mut staged).map_err(|error| error.to_string())?;
        let text = |of: Option<Patched>| String::from_utf8(of.unwrap().content).unwrap();
        Ok(staged.into_iter().map(|(path, of)| (path.display().to_string(), text(of))).collect())
    }

    #[test]
    fn a_directory_and_a_file_get_points_and_our_own_objects_none() {
        let makefile = added(&["mm"]).unwrap()["mm/Makefile"].clone();
        assert!(makefile.starts_with("obj-y := rmap.o\n"), "{makefile}");
        assert!(makefile.contains("\nobj-y += pageout_schedule.o\n"), "{makefile}");
        assert!(makefile.contains("\nccflags-y += -g1 -fsanitize-coverage=trace-pc\n"));
        assert!(makefile.contains("CFLAGS_REMOVE_pageout_lab.o += -g1 -fsanitize"), "{makefile}");
        let makefile = added(&["mm/rmap.c"]).unwrap()["mm/Makefile"].clone();
        assert!(makefile.contains("\nCFLAGS_rmap.o += -g1 "), "{makefile}");
        assert!(!makefile.contains("ccflags-y"), "{makefile}");
        assert!(added(&["mm"]).unwrap().contains_key("mm/pageout_schedule.c"));
    }

    #[test]
    fn places_that_are_not_there_are_refused_by_name() {
        for place in ["mm/rmap2.c", "nm", "fs", "fs/a.c"] {
            let error = added(&[place]).unwrap_err();
            assert!(
                error.contains(&format!("--points {place}: this kernel has no such")),
                "{error}"
            );
        }
        for place in ["/mm", "../mm", "mm/rmap.o", ""] {
            let error = added(&[place]).unwrap_err();
            assert!(error.contains("expected a directory of the kernel"), "{error}");
        }
    }
}

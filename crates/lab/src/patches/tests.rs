use super::super::git::git;
use super::*;
use std::os::unix::fs::symlink;
use tempfile::tempdir;

const CREATE: &str = "\
From: A\nSubject: [PATCH] new file\n\nWhy.\n---\n mm/new.c | 1 +\n\n\
diff --git a/mm/new.c b/mm/new.c\nnew file mode 100644\n--- /dev/null\n+++ b/mm/new.c\n\
@@ -0,0 +1 @@\n+new\n-- \n2.39\n";
const DELETE: &str = "\
diff --git a/mm/old.c b/mm/old.c\ndeleted file mode 100644\n--- a/mm/old.c\n+++ /dev/null\n\
@@ -1 +0,0 @@\n-old\n";
const CHANGE: &str = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
const AGAIN: &str = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n three\n";
const LINK: &str = "\
diff --git a/mm/made b/mm/made\nnew file mode 120000\n--- /dev/null\n+++ b/mm/made\n@@ -0,0 +1 @@\n\
+../../..\n\\ No newline at end of file\n";
const RENAME: &str = "\
diff --git a/mm/a.c b/mm/b.c\nsimilarity index 60%\nrename from mm/a.c\nrename to mm/b.c\n\
--- a/mm/a.c\n+++ b/mm/b.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
const COPY: &str = "\
diff --git a/mm/a.c b/mm/b.c\nsimilarity index 100%\ncopy from mm/a.c\ncopy to mm/b.c\n";
const MODE: &str = "diff --git a/mm/a.c b/mm/a.c\nold mode 100644\nnew mode 100755\n";
const BINARY: &str = "\
diff --git a/mm/x.bin b/mm/x.bin\nindex 1111111..2222222 100644\nBinary files a/mm/x.bin and \
b/mm/x.bin differ\n";

struct World {
    directory: TempDir,
    cache: Cache,
}

impl World {
    fn new() -> Self {
        let directory = tempdir().unwrap();
        let tree = directory.path().join("tree/mm");
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join("a.c"), "one\ntwo\nthree\n").unwrap();
        fs::write(tree.join("old.c"), "old\n").unwrap();
        let cache = Cache::open(Some(&directory.path().join("cache"))).unwrap();
        Self { directory, cache }
    }

    fn stage(&self, texts: &[&str]) -> Result<Staged, PatchError> {
        let patch = |(k, text): (usize, &&str)| Patch {
            name: format!("{k}.patch"),
            subject: String::new(),
            diff: text.as_bytes().to_vec(),
            file: None,
        };
        let patches: Vec<Patch> = texts.iter().enumerate().map(patch).collect();
        stage(&self.directory.path().join("tree"), &patches, &self.cache)
    }

    fn error(&self, text: &str) -> String {
        self.stage(&[text]).unwrap_err().to_string()
    }
}

fn file<'a>(staged: &'a Staged, path: &str) -> Option<&'a str> {
    let content = staged.get(Path::new(path)).expect("staged");
    content.as_ref().map(|patched| std::str::from_utf8(&patched.content).unwrap())
}

#[test]
fn patches_follow_one_another_and_leave_the_tree_alone() {
    let world = World::new();
    let staged = world.stage(&[CHANGE, AGAIN, CREATE, DELETE]).unwrap();
    assert_eq!(file(&staged, "mm/a.c"), Some("one\nzwei\nthree\n"));
    assert_eq!(file(&staged, "mm/new.c"), Some("new\n"));
    assert_eq!(file(&staged, "mm/old.c"), None);
    let original = world.directory.path().join("tree/mm/a.c");
    assert_eq!(fs::read_to_string(original).unwrap(), "one\ntwo\nthree\n");
}

#[test]
fn renames_copies_and_modes_are_applied_as_git_does() {
    let world = World::new();
    let renamed = world.stage(&[RENAME]).unwrap();
    assert_eq!(file(&renamed, "mm/a.c"), None);
    assert_eq!(file(&renamed, "mm/b.c"), Some("one\n2\nthree\n"));
    let copied = world.stage(&[COPY, &CHANGE.replace("a.c", "b.c")]).unwrap();
    assert_eq!(file(&copied, "mm/a.c"), Some("one\ntwo\nthree\n"));
    assert_eq!(file(&copied, "mm/b.c"), Some("one\n2\nthree\n"));
    let staged = world.stage(&[MODE]).unwrap();
    let patched = staged[Path::new("mm/a.c")].as_ref().unwrap();
    assert_eq!(patched.mode & 0o111, 0o111);
    let none = RENAME.replace("a.c", "none.c");
    assert!(world.error(&none).contains("mm/none.c: No such file or directory"));
}

#[test]
fn a_file_that_diff_marks_as_new_by_its_date_is_added() {
    let diff = "diff -ruN linux/mm/n.c mine/mm/n.c\n\
        --- linux/mm/n.c\t1970-01-01 00:00:00.000000000 +0000\n\
        +++ mine/mm/n.c\t2026-11-25 10:00:00.000000000 +0000\n@@ -0,0 +1 @@\n+a\n";
    let staged = World::new().stage(&[diff]).unwrap();
    assert_eq!(file(&staged, "mm/n.c"), Some("a\n"));
}

#[test]
fn a_cache_inside_of_a_repository_changes_nothing() {
    let world = World::new();
    git(world.directory.path(), &["init", "--quiet"], None).unwrap();
    let staged = world.stage(&[CHANGE, MODE]).unwrap();
    assert_eq!(file(&staged, "mm/a.c"), Some("one\n2\nthree\n"));
}

#[test]
fn a_patch_that_does_not_fit_names_itself_the_file_and_the_hunk() {
    let world = World::new();
    let error = world.stage(&[CHANGE, &AGAIN.replace("one", "eins")]).unwrap_err().to_string();
    assert!(error.contains("patch 1.patch does not apply: mm/a.c (hunk 1 of 1)"), "{error}");
    let rejects = world.cache.place("rejects", "last");
    assert!(error.ends_with(&rejects.display().to_string()), "{error}");
    assert!(rejects.join("patch.log").exists() && rejects.join("mm/a.c.rej").exists());
    let long: String = (0..40).map(|n| format!("{n}\n")).collect();
    fs::write(world.directory.path().join("tree/mm/a.c"), long).unwrap();
    let hunk = |at: u32, old: &str| {
        let [before, after] = [at - 1, at + 1];
        format!("@@ -{at},3 +{at},3 @@\n {before}\n-{old}\n+x\n {after}\n")
    };
    let hunks = [hunk(2, "none"), hunk(12, "12"), hunk(30, "none")].concat();
    let error = world.error(&format!("--- a/mm/a.c\n+++ b/mm/a.c\n{hunks}"));
    assert!(error.contains("mm/a.c (hunks 1, 3 of 3)"), "{error}");
}

#[test]
fn a_patch_that_is_there_already_is_named_so() {
    let error = World::new().stage(&[CHANGE, CHANGE]).unwrap_err().to_string();
    assert!(error.contains("1.patch does not apply: all of it is there already"), "{error}");
}

#[test]
fn context_that_differs_is_refused() {
    let moved = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n ONE\n-two\n+2\n three\n";
    assert!(World::new().error(moved).contains("mm/a.c (hunk 1 of 1)"));
}

/// A repository of the world's tree, and what its commits are as `git format-patch` writes them.
struct Repository<'a>(&'a World);

impl Repository<'_> {
    fn path(&self, of: &str) -> PathBuf {
        self.0.directory.path().join("repository").join(of)
    }

    fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let who = ["-c", "user.name=a", "-c", "user.email=a@invalid"];
        git(&self.path(""), &[&who[..], arguments].concat(), None).unwrap()
    }

    /// Commits what is there.
    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "x"]);
    }

    /// Returns the last commit as a mail.
    fn mail(&self) -> String {
        String::from_utf8(self.git(&["format-patch", "-1", "--stdout"])).unwrap()
    }
}

#[test]
fn binary_files_are_applied_as_git_writes_them() {
    let world = World::new();
    let repository = Repository(&world);
    fs::create_dir_all(repository.path("mm")).unwrap();
    repository.git(&["init", "--quiet"]);
    let commit = |content: &[u8]| {
        fs::write(repository.path("mm/x.bin"), content).unwrap();
        repository.commit();
        repository.mail()
    };
    let [added, changed] = [commit(b"a\0b"), commit(b"a\0c\xff")];
    let content = |staged: &Staged| {
        staged[Path::new("mm/x.bin")].as_ref().map(|patched| patched.content.clone())
    };
    let staged = world.stage(&[&added, &changed]).unwrap();
    assert_eq!(content(&staged).unwrap(), b"a\0c\xff");
    fs::remove_file(repository.path("mm/x.bin")).unwrap();
    repository.commit();
    let staged = world.stage(&[&added, &changed, &repository.mail()]).unwrap();
    assert_eq!(content(&staged), None);
    // Git compares the content before with what the patch was made of.
    let error = world.stage(&[&added, &changed, &changed]).unwrap_err().to_string();
    assert!(error.contains("2.patch does not apply: all of it is there already"), "{error}");
    fs::write(world.directory.path().join("tree/mm/x.bin"), "other").unwrap();
    let error = world.error(&changed);
    assert!(error.contains("does not match the current contents"), "{error}");
}

#[test]
fn binary_files_without_their_content_are_refused_by_name() {
    let world = World::new();
    let of_diff = BINARY.lines().last().unwrap().replace("a/mm", "linux/mm");
    let beside = format!("{CHANGE}{of_diff}\n");
    let removed = "Binary files a/mm/x.bin and /dev/null differ\n";
    for text in [BINARY, &of_diff, &beside, removed] {
        let error = world.error(text);
        assert!(error.contains("no content of the binary file `"), "{error}");
        assert!(error.contains("mm/x.bin`: expected it as"), "{error}");
    }
}

#[test]
fn texts_that_are_no_patches_of_this_tree_are_refused() {
    let world = World::new();
    assert!(world.error("hello\n").contains("0.patch: not a patch: it has no diff"));
    let cut = CHANGE.strip_suffix("+2\n three\n").unwrap();
    assert!(world.error(cut).contains("patch 0.patch: corrupt patch at line 6"));
    let missing = CHANGE.replace("a.c", "none.c");
    assert!(world.error(&missing).contains("mm/none.c: No such file or directory"));
    for path in ["a/../../x", "a/mm/../../../x"] {
        let text = CHANGE.replace("b/mm/a.c", path).replace("a/mm/a.c", path);
        assert!(world.error(&text).contains("is not a path in a kernel tree"), "{path}");
    }
}

#[test]
fn a_patch_goes_through_no_link() {
    let world = World::new();
    let elsewhere = world.directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, world.directory.path().join("tree/link")).unwrap();
    symlink("a.c", world.directory.path().join("tree/mm/l.c")).unwrap();
    for (text, path) in [
        (CREATE.replace("mm/new.c", "link/new.c"), "link/new.c"),
        (CHANGE.replace("mm/a.c", "mm/l.c"), "mm/l.c"),
        (COPY.replace("mm/a.c", "mm/l.c"), "mm/l.c"),
        (RENAME.replace("mm/b.c", "link/b.c"), "link/b.c"),
        (LINK.to_owned(), "mm/made"),
    ] {
        let error = world.error(&text);
        let expected = format!("patch 0.patch: `{path}` is, or goes through, a symbolic link");
        assert_eq!(error, expected);
    }
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
}

#[test]
fn a_removed_line_that_looks_like_a_header_is_none() {
    let world = World::new();
    fs::write(world.directory.path().join("tree/mm/a.c"), "x\n-- a/b\ny\n").unwrap();
    let text = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,2 @@\n x\n--- a/b\n y\n";
    let staged = world.stage(&[text]).unwrap();
    assert_eq!(staged.len(), 1);
    assert_eq!(file(&staged, "mm/a.c"), Some("x\ny\n"));
}

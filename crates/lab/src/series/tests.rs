use super::*;
use std::fs;
use std::process::Command;
use tempfile::{TempDir, tempdir};

/// A repository with a commit for each text of one file; the first is tagged `start`.
struct Repository(TempDir);

impl Repository {
    fn new(texts: &[&str]) -> Self {
        let repository = Self(tempdir().unwrap());
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        for (text, number) in texts.iter().zip(0..) {
            repository.commit(text, &format!("mm: make {number}"));
            if number == 0 {
                repository.git(&["tag", "start"]);
            }
        }
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let person = ["-c", "user.name=A", "-c", "user.email=a@b"];
        let mut command = Command::new("git");
        command.current_dir(self.path()).args(person).args(arguments);
        let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn commit(&self, text: &str, subject: &str) {
        fs::write(self.path().join("a.c"), text).unwrap();
        self.git(&["add", "a.c"]);
        self.git(&["commit", "--quiet", "--message", subject]);
    }

    fn series(&self, range: &str) -> Result<Series, String> {
        Series::of_range(self.path(), range).map_err(|error| error.to_string())
    }

    fn error(&self, range: &str) -> String {
        self.series(range).unwrap_err()
    }
}

fn subjects(series: &Series) -> Vec<String> {
    series.patches.iter().map(|patch| patch.subject.clone()).collect()
}

fn mails(text: &str) -> Result<Series, String> {
    let directory = tempdir().unwrap();
    let path = directory.path().join("s.mbox");
    fs::write(&path, text).unwrap();
    Series::of_mails(&path, Source::Tree("/linux".into())).map_err(|error| error.to_string())
}

#[test]
fn a_range_gives_its_base_and_a_patch_for_each_commit() {
    let repository = Repository::new(&["zero\n", "one\n", "two\n"]);
    let tree = repository.git(&["rev-parse", "start^{tree}"]);
    let commit = repository.git(&["rev-parse", "start"]);
    // What is not committed, and what the user's diffs look like, does not matter.
    fs::write(repository.path().join("a.c"), "mine\n").unwrap();
    for setting in ["diff.noprefix", "diff.mnemonicPrefix", "color.ui", "format.attach"] {
        repository.git(&["config", setting, "true"]);
    }
    let series = repository.series("start..main").unwrap();
    assert_eq!(subjects(&series), ["mm: make 1", "mm: make 2"]);
    assert_eq!(series.patches[0].name, "1 (`mm: make 1`)");
    let text = String::from_utf8(series.patches[1].diff.clone()).unwrap();
    assert!(text.contains("\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n"), "{text}");
    let Source::Commit(base) = &series.base else { panic!("{series:?}") };
    assert_eq!((&*base.tree, &*base.commit), (tree.trim(), commit.trim()));
    assert!(base.repository.join("HEAD").is_file() && base.repository.is_absolute());
    assert_eq!(fs::read_to_string(repository.path().join("a.c")).unwrap(), "mine\n");
    assert_eq!(repository.series("start..").unwrap(), series);
    let kernels = series.kernels();
    let names = kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.patches.len()));
    assert_eq!(names.collect::<Vec<_>>(), [("base", 0), ("p1", 1), ("p2", 2)]);
}

#[test]
fn a_commit_that_changes_nothing_is_passed_over() {
    let repository = Repository::new(&["zero\n"]);
    repository.git(&["commit", "--quiet", "--allow-empty", "--message", "a cover letter"]);
    assert!(repository.error("start..").contains("no patch in start..:"));
    repository.commit("one\n", "mm: one # and `more`");
    let series = repository.series("start..main").unwrap();
    assert_eq!(subjects(&series), ["mm: one # and `more`"]);
}

#[test]
fn ranges_that_are_no_series_are_refused() {
    let repository = Repository::new(&["zero\n", "one\n"]);
    for range in ["start", "start...main", "..main", "--all..main", "start..--all"] {
        assert!(repository.error(range).contains("expected BASE..HEAD"), "{range}");
    }
    assert!(repository.error("main..main").starts_with("there is no patch in main..main"));
    assert!(repository.error("main..start").starts_with("there is no patch in main..start"));
    assert!(repository.error("start..none").contains("has no commit `none`: expected a branch"));
    let start = repository.git(&["rev-parse", "--short=12", "start"]);
    repository.git(&["checkout", "--quiet", "-b", "side", "start"]);
    repository.git(&["commit", "--quiet", "--allow-empty", "--message", "side"]);
    let error = repository.error("side..main");
    let expected = format!("side is not among the ancestors of main: expected {}..", start.trim());
    assert!(error.starts_with(&expected), "{error}");
    repository.git(&["merge", "--quiet", "--message", "mm: both", "main"]);
    let error = repository.error("start..side");
    assert!(error.contains("(`mm: both`) is a merge"), "{error}");
    let elsewhere = tempdir().unwrap();
    let error = Series::of_range(elsewhere.path(), "a..b").unwrap_err().to_string();
    assert!(error.contains("not a git repository"), "{error}");
}

#[test]
fn a_file_of_format_patch_is_one_of_mails() {
    let repository = Repository::new(&["zero\n", "one\n", "two\n"]);
    let text = repository.git(&["format-patch", "--stdout", "--cover-letter", "start.."]);
    let series = mails(&text).unwrap();
    assert_eq!(subjects(&series), ["mm: make 1", "mm: make 2"]);
    assert_eq!(series.patches[1].name, "2 (`mm: make 2`)");
    let one = repository.git(&["format-patch", "--stdout", "-1"]);
    let bare = one.split_once('\n').unwrap().1;
    assert_eq!(subjects(&mails(bare).unwrap()), ["mm: make 2"]);
    let none = Series::of_mails(Path::new("/no/such.mbox"), Source::Tree("/x".into()));
    assert!(none.unwrap_err().to_string().contains("cannot read /no/such.mbox"));
    assert!(mails("").unwrap_err().contains("there is no patch in it"));
}

//! `lab`, with programs in the place of compilers and emulator that only pretend.

use crate::common::{assert_refused, command, read, refused, stderr, stdout};
use pageout_record::schema::Record;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::{TempDir, tempdir};

/// A make that takes all options asked for, and fails if the source asks for it.
const MAKE: &str = r#"
for word; do
    case $word in O=*) out=${word#O=} ;; /*) tree=$word ;; esac
done
case $word in
allnoconfig) grep -v "$UNKNOWN" "$KCONFIG_ALLCONFIG" >"$out/.config" ;;
*)
    if grep -q broken "$tree/mm/vmscan.c"; then
        echo "$tree/mm/vmscan.c:1:1: error: broken"
        exit 2
    fi
    echo "  CC      mm/vmscan.o"
    mkdir -p "$out/arch/arm64/boot" "$out/arch/x86/boot"
    cp "$tree/mm/vmscan.c" "$out/arch/arm64/boot/Image"
    cp "$tree/mm/vmscan.c" "$out/arch/x86/boot/bzImage"
    echo "ffff000000000100 T try_to_free_mem_cgroup_pages" >"$out/System.map"
    ;;
esac
"#;
const COMPILER: &str = r#"
while [ $# -gt 0 ]; do
    case $1 in --version) echo "cc 1.0" ;; -o) echo program >"$2" ;; esac
    shift
done
"#;
const MKFS: &str = r#"for image; do :; done; case $image in -V) ;; *) echo XFSB >"$image" ;; esac"#;
/// Says what a machine says that ends well, or as BOOT tells it; a patched kernel takes half.
const QEMU: &str = r#"
case $1 in --version) echo "emulator 1.0" && exit ;; esac
echo $$ >>"$PIDS"
unit=instructions basis=counted
case "$*" in *' kvm '*) unit=ns basis=measured && echo "$*" >>"$PIDS.timed" ;; esac
while [ $# -gt 0 ]; do
    case $1 in -initrd) initrd=$2 ;; -kernel) image=$2 ;; -plugin) plugin=$2 ;; esac
    shift
done
case $BOOT in
panic) echo "Kernel panic - not syncing: Oops" && exit ;;
hang) exec sleep 1000 ;;
babble) exec yes ;;
fail) printf 'bench: error: order: 1 is not 4\nlab: exit 1\nlab: done\n' && exit ;;
wrong) printf 'bench: wrong: call 7\nlab: exit 1\nlab: done\n' && exit ;;
selftest)
    # Besides init and the benchmark.
    [ "$(grep -ao program "$initrd" | wc -l)" = 3 ] || exit
    printf 'not ok 2 b\nbench: wrong: 1 of 2 tests failed\nbench: wrong: not ok 2 b\n'
    printf 'lab: exit 1\nlab: done\n' && exit
    ;;
esac
metric=reclaim
# Where a plugin counts, the benchmark does not.
grep -aq 'clock=plugin' "$initrd" && metric=other &&
    sample='# sample 800 4 8 2 1 1 6 3 40 0 4 2 0 0 8\n'
grep -aq 'clock=regions' "$initrd" && metric=other
case $plugin in
*/profile.so*) printf "r;f 40 2 1 0 0 0 0 4\n$sample# lost-returns 0\n" >"${plugin##*out=}" ;;
*/regions.so*) printf '0 0 0 800 4 8 2 1 1 6\n0 0 1 40 0 4 2 0 0 8\nend\n' >"${plugin##*out=}" ;;
esac
if grep -aq 'session clock=instructions' "$initrd"; then
    # Step 1 of the test's session writes, step 3 shows; the machine gets ids' places by number.
    grep -aq '^write + $0; 0 3' "$initrd" && printf 'session 1: = EINVAL\r\n'
    grep -aq '^sleep 7' "$initrd" && printf 'session 3: memcg     2 /a\r\n'
    printf 'session 3:  node     0 \r\nlab: exit 0\r\nlab: done\r\n' && exit
fi
value=1000
grep -q half "$image" && value=500
grep -q third "$image" && value=300
grep -q panics "$image" && echo "Kernel panic - not syncing: Oops" && exit
grep -ao '[a-z]*-[a-z]* .*kernel=.*' "$initrd" | while read -r scenario words; do
    kernel=${words#*kernel=}
    fields=${words%%kernel=*}
    field=${fields%% *}
    pages=4
    counter=pgsteal
    case $scenario in
    first-touch) counter='reclaim: units' ;;
    reclaim-file) [ "$BOOT" = rescans ] && counter=pgscan && pages=7,6,6 ;;
    mixed-mappings) grep -q fewer "$image" && pages=3 ;;
    helper-calls) grep -q lies "$image" &&
        printf 'bench: wrong: call 7\nlab: exit 1\nlab: done\n' && exit ;;
    esac
    printf 'record {"scenario":"%s","ground":"linux","seed":0,' "$scenario"
    printf '"fields":{"order":"%s","more":"%s"},' "${field#*=}" "${fields#"$field "}"
    printf '"variant":{"kernel":"%s"},' "${kernel%% *}"
    printf '"metrics":[{"name":"%s","unit":"%s/4K page","basis":"%s",' "$metric" $unit $basis
    [ $unit = ns ] && value="$value,$(wc -l <"$PIDS"),9999"
    printf '"better":"lower","values":[%s]},{"name":"%s","unit":"pages",' "$value" "$counter"
    printf '"basis":"counted","better":"neither","values":[%s]}]}\r\nlab: exit 0\r\n' "$pages"
done
printf 'lab: done\r\n'
"#;

/// The configuration that is built where none is named.
pub(crate) const NATIVE: &str = if cfg!(target_arch = "x86_64") { "x86-64" } else { "arm64-4k" };

const PATCH: &str = "--- a/mm/vmscan.c\n+++ b/mm/vmscan.c\n@@ -1 +1 @@\n-all\n+half\n";

/// A directory with the pretenders, a tree, patches and a cache.
pub(crate) struct World(TempDir);

impl World {
    pub(crate) fn new() -> Self {
        let world = Self(tempdir().expect("a directory"));
        for (name, script) in [
            ("make", MAKE),
            ("gcc", COMPILER),
            ("aarch64-linux-gnu-gcc", COMPILER),
            ("x86_64-linux-gnu-gcc", COMPILER),
            ("flex", ""),
            ("bison", ""),
            ("bc", ""),
            ("mkfs.xfs", MKFS),
            ("qemu-system-aarch64", QEMU),
            ("qemu-system-x86_64", QEMU),
        ] {
            let path = world.file(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}"));
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the mode");
        }
        let makefile = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\nEXTRAVERSION = -mine\n";
        for (name, text) in [
            ("tree/Makefile", makefile),
            ("tree/Kconfig", ""),
            ("tree/mm/Makefile", "obj-y := vmscan.o\n"),
            ("tree/mm/vmscan.c", "all\n"),
            ("half.patch", PATCH),
        ] {
            world.file(name, text);
        }
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn command(&self, words: &str) -> Command {
        self.plain(&format!("{words} --cache cache --tree tree --jobs 2"))
    }

    /// Returns a command without the tree and the cache.
    pub(crate) fn plain(&self, words: &str) -> Command {
        let mut command = command(&format!("lab {words}"));
        let path = std::env::var("PATH").expect("a path");
        command
            .current_dir(self.0.path())
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("PIDS", self.path("pids"))
            .env("UNKNOWN", "no such option");
        command
    }

    pub(crate) fn run(&self, words: &str) -> Output {
        self.command(words).output().expect("it runs")
    }

    pub(crate) fn text(&self, words: &str) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs a command whose machine ends as the variable BOOT says.
    fn boot(&self, how: &str, words: &str) -> Output {
        self.command(words).env("BOOT", how).output().expect("it runs")
    }

    /// Returns true if every emulator that was started has ended.
    pub(crate) fn is_quiet(&self) -> bool {
        let pids = fs::read_to_string(self.path("pids")).expect("emulators were started");
        pids.lines().all(|pid| !Path::new("/proc").join(pid).exists())
    }
}

/// Checks the error of a command, after the lines on its progress.
pub(crate) fn assert_failed(output: &Output, parts: &[&str]) {
    let message = stderr(output);
    let error = message.find("error: ").unwrap_or_else(|| panic!("no error in: {message}"));
    let quiet = Output { stderr: message[error..].into(), ..output.clone() };
    assert_refused(&quiet, parts);
}

#[test]
fn a_patch_is_compared_with_what_it_is_a_patch_of() {
    let world = World::new();
    let output = world.run("compare --patch half.patch");
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in [
        "500 -50.0%",
        "instructions saved per 4K page against stock",
        "patched saves",
        "Linux 6.12.1-mine, ",
        "+ half.patch",
        "emulator 1.0",
        "cc 1.0",
        "no cache misses",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let told = stderr(&output);
    assert!(told.contains(&format!("building patched, {NATIVE}\n")), "{told}");
    assert!(told.contains("built and compared in "), "{told}");
    assert!(world.is_quiet());
    assert_eq!(fs::read_to_string(world.path("tree/mm/vmscan.c")).expect("the tree"), "all\n");
}

#[test]
fn samples_that_scan_differently_are_said() {
    let world = World::new();
    for words in ["compare --patch half.patch reclaim-file order=4", "run stock reclaim-file"] {
        let output = world.boot("rescans", words);
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains("pgscan differs"), "{text}");
        assert!(text.contains("stock 6 to 7"), "{text}");
        assert!(!world.text(words).contains("pgscan differs"));
    }
}

#[test]
fn the_first_lines_say_what_is_built_and_what_that_takes() {
    let world = World::new();
    let first_lines = |words: &str| {
        let told = stderr(&world.run(words));
        told.lines().take(3).map(str::to_owned).collect::<Vec<_>>()
    };
    let asked = "run stock --patch proto=half.patch reclaim-file";
    let lines = first_lines(asked);
    assert!(
        lines[0].starts_with(&format!("for {NATIVE}, as this machine is; others: ")),
        "{lines:?}"
    );
    assert!(lines[0].contains(": --config "), "{lines:?}");
    assert_eq!(lines[1], "kernels: stock, proto (--patch)");
    let takes = format!("the first build of {NATIVE} takes ");
    assert!(lines[2].starts_with(&takes) && lines[2].contains(" min on "), "{lines:?}");
    let again = first_lines(asked);
    assert!(!again.iter().any(|line| line.contains("the first build")), "{again:?}");
    let both = first_lines("build --config arm64-4k,x86-64");
    assert_eq!(both[..2], ["for arm64-4k, x86-64", "kernel: stock"]);
    assert!(both.iter().all(|line| line.len() <= 80), "{both:?}");
}

#[test]
fn a_list_has_a_column_for_each_kernel_and_says_what_it_is() {
    let world = World::new();
    let text = world.text("compare --patch half.patch --format list");
    assert!(text.lines().all(|line| line.len() <= 72 && line.is_ascii()), "{text}");
    for part in [
        "reclaim-file on linux, ",
        "base kernel=stock",
        " stock     patched\n",
        "500 -50.0%",
        "patched: Linux 6.12.1-mine, ",
        "+ half.patch",
        "compiler: cc 1.0",
        "the same on every kernel",
        "no cost of TLBI",
        "\npageout lab compare --patch half.patch --format list",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn records_have_the_configuration_and_the_processor() {
    let world = World::new();
    let words = "run stock stock+a=1 reclaim-file order=0,4 --config arm64-4k --json";
    let set = read(&world.text(&format!("{words} --cpu max,neoverse-n1")));
    assert_eq!(set.records.len(), 8);
    for record in &set.records {
        assert_eq!(record.fields["config"], "arm64-4k");
        assert!(["max", "neoverse-n1"].contains(&record.fields["cpu"].as_str()));
    }
    let kernels = |name: &str| set.records.iter().filter(|r| r.variant["kernel"] == name).count();
    assert_eq!((kernels("stock"), kernels("stock+a=1")), (4, 4));
}

#[test]
fn this_machines_own_processor_gives_a_time_for_each_boot() {
    let world = World::new();
    let words = "compare stock patched --patch half.patch --cpu host --boots 3";
    let output = world.run(words);
    if let Err(error) = File::options().read(true).write(true).open("/dev/kvm") {
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().expect("a part");
        return assert_failed(&output, &["--cpu host", "/dev/kvm", reason]);
    }
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in ["cpu=host", "ns saved per 4K page against stock", "by KVM", "median of one boot"] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    assert!(!text.contains("instructions under QEMU"), "{text}");
    // Each boot of two fields' values, in turn with the other kernel; a boot gives its median.
    let timed = fs::read_to_string(world.path("pids.timed")).expect("boots");
    let kernel = |line: &str| {
        let (_, image) = line.split_once("-kernel ").expect("an image");
        let image = image.split(' ').next().expect("a path");
        let content = fs::read_to_string(image).expect("an image");
        if content.contains("half") { 'p' } else { 's' }
    };
    assert_eq!(timed.lines().map(kernel).collect::<String>(), "spsppspsspsp");
    let set = read(&world.text(&format!("{words} --json")));
    let values = |record: &Record| record.metric("reclaim").expect("a time").values.len();
    assert_eq!(set.records.iter().map(values).collect::<Vec<_>>(), [3; 4]);
}

#[test]
fn every_patch_set_is_a_kernel_and_nothing_is_built_twice() {
    let world = World::new();
    world.file("other.patch", &PATCH.replace("half", "other"));
    let words = "compare --patch a=half.patch --patch b=other.patch";
    let output = world.run(words);
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in ["a saves", "b saves", "+ half.patch", "+ other.patch"] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let told = stderr(&output);
    for part in ["building 3 kernels takes about ", " MiB free", "9 of 9 done"] {
        assert!(told.contains(part), "no `{part}` in:\n{told}");
    }
    let again = world.run(words);
    assert!(!stderr(&again).contains("building"), "{}", stderr(&again));
    assert!(stderr(&again).contains("6 of 6 done"), "{}", stderr(&again));
    // What is in the tree decides, not its times.
    world.file("tree/mm/vmscan.c", "all\n");
    assert!(!stderr(&world.run(words)).contains("building"));
    world.file("tree/mm/rmap.c", "new\n");
    assert!(stderr(&world.run(words)).contains("building stock"));
}

#[test]
fn a_cache_in_the_tree_is_refused() {
    let world = World::new();
    let mut command = world.plain("build --tree tree --cache tree/cache");
    assert_failed(&command.output().expect("it runs"), &["is in the tree", "--cache"]);
}

#[test]
fn a_users_tree_is_compared_with_nothing_by_itself() {
    let world = World::new();
    assert_failed(&world.run("compare"), &["stock alone", "--patch FILE"]);
}

#[test]
fn a_source_without_a_network_is_told_how_to_come_by() {
    let world = World::new();
    for (name, script) in [
        ("apt-get", "echo \"E: Failed to fetch http://x  Could not resolve 'x'\" >&2; exit 100"),
        ("dpkg-deb", ""),
    ] {
        let path = world.file(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the mode");
    }
    let keys = world.file("keys.gpg", "");
    let words = format!("source --mirror http://x --keyring {} --cache cache", keys.display());
    let output = world.plain(&words).output().expect("it runs");
    let parts =
        ["cannot fetch http://x trixie-backports", "Could not resolve", "--mirror DIRECTORY"];
    assert_failed(&output, &parts);
    assert!(!world.path("cache/fetched").exists());
}

#[test]
fn a_profile_is_a_table_and_folded_stacks() {
    let world = World::new();
    let text = world.text("profile stock --folded out.folded");
    assert!(text.contains("all of r") && text.contains("10.0"), "{text}");
    assert_eq!(fs::read_to_string(world.path("out.folded")).expect("a file"), "r;f 40\n");
    let error = world.run("profile --root no_such_function");
    assert_failed(&error, &["`no_such_function`", "System.map"]);
    let text = world.text("profile stock order=0,4 --folded out.folded");
    let title = format!("stock, {NATIVE}, cpu max: reclaim-file ");
    assert_eq!(text.matches(&title).count(), 2, "{text}");
    for order in ["order=0\n", "order=4\n"] {
        assert!(text.contains(order), "no `{order}` in {text}");
    }
    let folded = fs::read_to_string(world.path("out.folded")).expect("a file");
    assert_eq!(folded.lines().filter(|line| line.ends_with(";r;f 40")).count(), 2, "{folded}");
}

#[test]
fn on_two_cpus_the_plugin_counts_and_nobody_has_to_ask_for_it() {
    let world = World::new();
    let words = "run stock reclaim-file order=4 cpus=1,2 --json";
    let set = read(&world.text(words));
    let values = |name: &str| {
        let metrics = set.records.iter().map(|record| record.metrics.iter());
        let found = metrics.map(|mut all| all.find(|m| m.name == name).map(|m| m.values[0]));
        found.collect::<Vec<_>>()
    };
    assert_eq!(values("reclaim"), [Some(1000.0), Some(200.0)]);
    assert_eq!(values("invalidations"), [None, Some(0.5)]);
    assert_eq!(values("other CPU: interrupts"), [None, Some(0.75)]);
    assert_eq!(values("other CPU: kernel"), [None, Some(10.0)]);
    assert_eq!(values("lines first touched"), [None, Some(1.5)]);
}

#[test]
fn on_one_cpu_the_plugin_counts_where_it_is_asked_to() {
    let world = World::new();
    let set = read(&world.text("run stock reclaim-file order=4 --counts --json"));
    let metrics = &set.records[0].metrics;
    let values: Vec<_> = metrics.iter().map(|m| (m.name.as_str(), m.values[0])).collect();
    let expected = [
        ("reclaim", 200.0),
        ("compare-and-swaps", 1.0),
        ("other atomics", 2.0),
        ("invalidations", 0.5),
        ("barriers", 0.5),
        ("barriers for stores", 0.25),
        ("lines first touched", 1.5),
        ("other", 1000.0),
        ("pgsteal", 4.0),
    ];
    assert_eq!(values, expected);
    let error = world.run("run stock age-file --counts");
    assert_failed(&error, &["age-file", "--counts", "does not reclaim", "lab profile"]);
}

#[test]
fn kernels_are_built_and_said_where() {
    let world = World::new();
    let text = world.text("build stock patched --patch half.patch");
    for (kernel, content) in [("stock", "all\n"), ("patched", "half\n")] {
        let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("{kernel}, ")));
        let image = lines.nth(1).unwrap_or_else(|| panic!("no image of {kernel} in:\n{text}"));
        assert_eq!(fs::read_to_string(image.trim()).expect("an image"), content);
    }
}

#[test]
fn what_goes_wrong_is_told_with_the_place_of_the_log() {
    let world = World::new();
    world.file("bad.patch", &PATCH.replace("-all", "-none"));
    let parts = ["bad.patch", "mm/vmscan.c (hunk 1 of 1)", "cache/rejects/last"];
    assert_failed(&world.run("build --patch bad.patch"), &parts);
    world.file("broken.patch", &PATCH.replace("half", "broken"));
    let [of, log] = [format!("patched, {NATIVE}"), format!("runs/patched-{NATIVE}-build-")];
    let parts = [&of, "vmscan.c:1:1: error", &log];
    let output = world.run("build --patch broken.patch");
    assert_eq!(output.status.code(), Some(2));
    parts.iter().for_each(|part| assert!(stderr(&output).contains(part), "{}", stderr(&output)));
    let without = |words| world.command(words).env("UNKNOWN", "LRU_GEN=y").output().expect("it");
    let parts = [NATIVE, "CONFIG_LRU_GEN=y (it has no such option)", ".config"];
    assert_failed(&without("build"), &parts);
    assert_failed(&without("build"), &["--config-option LRU_GEN=n"]);
    assert_eq!(without("build --config-option LRU_GEN=n").status.code(), Some(0));
    let parts = ["CONFIG_NO_SUCH=y (it has no such option)"];
    let mut command = world.command("build --config-option NO_SUCH=y");
    assert_failed(&command.env("UNKNOWN", "NO_SUCH=y").output().expect("it runs"), &parts);
    for (boot, parts) in [
        ("panic", &["cpu max", NATIVE, "panic", "Oops", "runs/stock-"][..]),
        ("hang", &["not done after 1 s", "runs/stock-"]),
        ("fail", &["`bench reclaim-file order=4", "status 1", "1 is not 4", "runs/stock-"]),
    ] {
        let output = world.boot(boot, "run stock reclaim-file order=4 --time-limit 1");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        parts.iter().for_each(|part| assert!(message.contains(part), "no `{part}`: {message}"));
        assert!(world.is_quiet(), "{boot}");
    }
    assert_eq!(fs::read_dir(world.path("cache/tmp")).expect("a directory").count(), 0);
}

#[test]
fn a_session_gives_each_kernels_answers_under_its_steps() {
    let world = World::new();
    world.file("bad.session", "memcg a # no comment here\n");
    let error = world.run("lru-gen bad.session");
    assert_failed(&error, &["bad.session:1: ", "`memcg a # no comment here`", "`memcg NAME`"]);
    world.file("x.session", "# why\nmemcg  a\nwrite + $a 0 3\nsleep 7\nshow a\n");
    let answered = "> memcg a\n> write + $a 0 3\n= EINVAL\n> sleep 7\n> show a\n\
        memcg     2 /a\n node     0 \n";
    let tree = fs::canonicalize(world.path("tree")).expect("a tree");
    let header = |kernel: &str| {
        let tree = tree.display();
        format!("# Linux 6.12.1-mine, {tree}, {kernel}, {NATIVE}-swap, cpu max\n")
    };
    let text = world.text("lru-gen x.session stock stock+a=1");
    let expected = format!("{}{answered}\n{}{answered}", header("stock"), header("stock+a=1"));
    assert_eq!(text, expected);
    world.file("y.session", "memcg a\nwrite junk\nsleep 8\nshow a\n");
    assert_failed(&world.run("lru-gen y.session stock"), &["stock, ", "do not match"]);
    let output = world.boot("fail", "lru-gen x.session stock");
    assert_eq!(output.status.code(), Some(2));
    for part in ["`bench session clock=instructions`", "status 1", "runs/stock-"] {
        assert!(stderr(&output).contains(part), "no `{part}`: {}", stderr(&output));
    }
}

#[test]
fn generations_of_a_machine_are_a_table_for_each_cgroup_or_records() {
    let world = World::new();
    let text = "memcg     1 /\n node     0\n          4     123456         0      10231 \n\
        \x20         5      98765         0x        -1 \n node     1\n\
        \x20         2       3456         7          8 \n\
        memcg  2177 /user.slice/\u{1b}b\n node     0\n\
        \x20         0       3000         1          2 \n";
    world.file("here.txt", text);
    let shown = |words: &str| {
        let output = world.plain(words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let table = shown("lru-gen --read here.txt");
    for part in [
        "cgroup 1 /\n",
        "   0           4  123.456           0       10231\n",
        "   0           5   98.765          0x          -1\n",
        "cgroup 2177 /user.slice/\\u{1b}b\n",
        "2 cgroups, 2 nodes: 8 anonymous pages and 10240 file pages\n",
    ] {
        assert!(table.contains(part), "no `{part}` in:\n{table}");
    }
    let set = read(&shown("lru-gen --read here.txt --json"));
    assert_eq!(set.records.len(), 4);
    let one = &set.records[1];
    assert_eq!((&*one.fields["node"], &*one.fields["generation"]), ("0", "5"));
    let names: Vec<&str> = one.metrics.iter().map(|metric| &*metric.name).collect();
    assert_eq!(names, ["age", "file pages"], "a generation that is gone for a type has no pages");
    let long = format!("memcg 1 /{}\n node 0\n 1 2 3 4\n", "a".repeat(300));
    world.file("long.txt", &long);
    assert!(shown("lru-gen --read long.txt").lines().all(|line| line.len() <= 80));
    world.file("bad.txt", "memcg 1 /\n 1 2 3 4\n");
    let bad = world.plain("lru-gen --read bad.txt").output().expect("it runs");
    assert_refused(&bad, &["bad.txt:2: a generation before any `node` line"]);
    refused("lab lru-gen --read /no/such", &["cannot read /no/such"]);
    refused("lab lru-gen", &["<SESSION>"]);
    refused("lab lru-gen evict --read x", &["--read"]);
}

#[test]
fn a_wrong_kernel_is_a_failed_check() {
    let world = World::new();
    let output = world.boot("wrong", "run stock helper-calls");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("found the kernel wrong: call 7"), "{}", stderr(&output));
}

#[test]
fn a_failed_selftest_is_a_failed_check_that_names_what_failed() {
    let world = World::new();
    let output = world.boot("selftest", "run stock selftest cpus=2");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let part = "`bench selftest cpus=2 kernel=stock clock=instructions` found the kernel wrong: \
        1 of 2 tests failed\n  not ok 2 b\n";
    assert!(stderr(&output).contains(part), "{}", stderr(&output));
}

#[test]
fn a_run_that_did_not_end_is_taken_up_once() {
    let world = World::new();
    world.file("panics.patch", &PATCH.replace("half", "panics"));
    let run = |kernels: &str| {
        let words =
            format!("run {kernels} reclaim-file order=4 --cache cache --tree tree --jobs 1");
        world.plain(&words).output().expect("it runs")
    };
    let booted = || fs::read_to_string(world.path("pids")).expect("a list").lines().count();
    let output = run("stock --patch panics.patch");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(booted(), 2);
    let taken = run("stock");
    assert_eq!(booted(), 2, "the first machine had ended well");
    let note = "from a run that did not end";
    assert!(stderr(&taken).contains(note), "{}", stderr(&taken));
    let again = run("stock");
    assert_eq!(booted(), 3, "its run has come to its end");
    assert!(!stderr(&again).contains(note), "{}", stderr(&again));
    assert_eq!(again.stdout, taken.stdout);
}

#[test]
fn no_emulator_is_left_when_the_program_is_killed() {
    let world = World::new();
    let mut lab = world.command("run stock reclaim-file").env("BOOT", "hang").spawn().expect("it");
    let has_started = || fs::read_to_string(world.path("pids")).is_ok_and(|p| p.ends_with('\n'));
    while !has_started() {
        assert!(lab.try_wait().expect("a child").is_none(), "it ended too early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    lab.kill().expect("it runs");
    lab.wait().expect("it ends");
    let since = std::time::Instant::now();
    while !world.is_quiet() {
        assert!(since.elapsed().as_secs() < 60, "the emulator lives on");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn missing_programs_are_named_with_their_packages() {
    let world = World::new();
    let empty = world.file("empty/x", "").with_file_name("");
    let words = "build --config arm64-4k,x86-64";
    let output = world.command(words).env("PATH", &empty).output().expect("it runs");
    let [cross, package] = if cfg!(target_arch = "x86_64") {
        ["aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"]
    } else {
        ["x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"]
    };
    let parts = ["git (package git)", &format!("{cross} (package {package})")];
    assert_failed(&output, &parts);
    let line = format!("apt-get install bc bison flex gcc {package} git make util-linux\n");
    assert!(stderr(&output).ends_with(&line), "{}", stderr(&output));
}

#[test]
fn words_that_are_no_kernels_and_no_scenarios() {
    refused("lab build s9", &["`s9`", "stock, no-young", "(7.3)"]);
    refused("lab build s9 --kernel 6.12", &["`s9`", "stock, s1 to s", "(6.12)"]);
    refused("lab build 5.4:stock", &["`5.4:stock`", "`5.4`", "7.3 or 6.12"]);
    refused("lab build --kernel 5.4", &["`5.4`", "7.3 or 6.12"]);
    refused("lab build --kernel 6.12 --tree x", &["--kernel", "--tree"]);
    refused("lab build --config-option LRU_GEN", &["`LRU_GEN`", "NAME=VALUE"]);
    refused("lab build --patch stock=Cargo.toml", &["`stock` is a kernel already"]);
    refused("lab build reclaim-file", &["`reclaim-file`", "unknown kernel"]);
    refused("lab build stock stock", &["`stock`", "twice"]);
    refused("lab build patched", &["--patch FILE"]);
    refused("lab build stock+", &["boot parameter ``"]);
    refused("lab build --patch /no/such.patch", &["/no/such.patch", "No such file"]);
    refused("lab build --config arm64", &["`arm64`", "arm64-4k"]);
    refused("lab build --jobs 0", &["--jobs", "`0`"]);
    refused("lab run stock", &["no scenario", "reclaim-file, reclaim-shmem"]);
    refused("lab run stock reclaim-shmem --config arm64-4k", &["arm64-4k has no swap"]);
    refused("lab run stock order=4", &["`order=4`", "without a scenario", "helper-calls"]);
    refused("lab run reclaim", &["kernel or scenario `reclaim`", "stock", "`reclaim-file`?"]);
    refused("lab run stock reclaim-file order=14", &["`order`", "`14`", "2 to 13"]);
    refused("lab run stock reclaim-file colour=red", &["`colour`", "order, lru, cpus, process"]);
    refused("lab run stock reclaim-file cpus=3", &["`cpus`", "`3`", "1 or 2"]);
    refused(
        "lab run stock helper-calls --runs 5",
        &["helper-calls", "--runs 5", "order, calls or seed"],
    );
    refused("lab run stock selftest order=4", &["selftest", "`order`", "cpus"]);
    refused("lab run stock selftest --runs 5", &["selftest", "--runs 5", "no samples"]);
    refused("lab compare stock no-young age-file --runs 101", &["--runs 101", "at most 100"]);
    refused("lab run stock reclaim-file --cpu m1", &["`m1`", "neoverse-n1"]);
    refused("lab run stock reclaim-file --time-limit 0", &["--time-limit", "`0`"]);
    refused("lab compare stock", &["stock alone", "--patch FILE"]);
    refused("lab compare stock no-young lru=lru", &["`lru`", "`lru`", "classic"]);
    refused("lab lru-gen nosuch", &["unknown session `nosuch`", "age-file, age-anon", "or a file"]);
    refused("lab lru-gen evict s9", &["`s9`", "stock, no-young"]);
    refused("lab lru-gen evict --config arm64-4k", &["arm64-4k has no swap", "x86-64-swap"]);
    refused("lab profile stock age-file young=1/1", &["`young`", "`1/1`", "1/N"]);
    let cache = tempdir().expect("a directory");
    let cache = cache.path().display();
    let words = "lab run stock reclaim-file --config x86-64 --cpu neoverse-n1 --cache";
    refused(&format!("{words} {cache}"), &["x86-64", "neoverse-n1", "max"]);
    refused("lab run stock reclaim-file --boots 3", &["--boots", "--cpu host"]);
    for words in
        ["lab run stock reclaim-file --counts", "lab profile stock", "lab series a..b --tree ."]
    {
        refused(&format!("{words} --cpu host"), &["counts instructions", "neoverse-n1"]);
    }
    let words = "lab run stock reclaim-file --config riscv64 --cpu host --cache";
    refused(&format!("{words} {cache}"), &["riscv64", "expected max", "own architecture"]);
    let words = "lab run stock reclaim-file cpus=1,2 --config x86-64,riscv64 --cache";
    refused(&format!("{words} {cache}"), &["riscv64: its machine has one CPU", "cpus=1"]);
}

#[test]
fn a_tree_that_is_none_is_refused() {
    let world = World::new();
    fs::remove_file(world.path("tree/Kconfig")).expect("it is there");
    assert_failed(&world.run("build"), &["tree", "not a kernel source tree", "Kconfig"]);
}

#[test]
fn the_script_is_whole() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("measure.sh");
    let printed = stdout("lab script");
    assert!(printed.starts_with("#!/bin/sh\n") && printed.contains("int main("));
    assert_eq!(stdout(&format!("lab script --output {}", path.display())), "");
    assert_eq!(fs::read_to_string(path).expect("the script"), printed);
}

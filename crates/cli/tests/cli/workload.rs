//! `lab --workload`, with programs in the place of compilers and emulator that only pretend.

use crate::common::{read, stderr};
use crate::lab::{NATIVE, World, assert_failed};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A workload whose whole is the metric that the pretending emulator gives.
pub(crate) const WORKLOAD: &str = r#"/* What a file says before its manifest. */
/* workload.toml
name = "first-touch"
about = "First touch of anonymous memory, page by page."
whole = "reclaim"

[[field]]
name = "order"
size = ["2MiB", "1GiB"]
default = "64MiB"

[[field]]
name = "huge"
choices = ["never", "always"]
default = "never"

[[metric]]
name = "reclaim"
per = "4K page"

[[metric]]
name = "faults"
unit = "faults"
better = "lower"
*/
#include "pageout_lab.h"
"#;

fn world() -> World {
    let world = World::new();
    world.file("touch.c", WORKLOAD);
    world
}

#[test]
fn a_workload_is_compared_as_a_scenario_is() {
    let world = world();
    let words = "compare --workload touch.c stock --patch half.patch order=8MiB,16M";
    let text = world.text(words);
    for part in ["first-touch on linux", "order=8MiB", "order=16MiB", "500 -50.0%", "is better"] {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
    let set = read(&world.text(&format!("{words} --json")));
    assert!(set.records.iter().all(|record| record.scenario == "first-touch"));
    assert_eq!(set.records.len(), 4);
    let told = stderr(&world.run(words));
    assert!(told.contains("max: first-touch order=8MiB"), "{told}");
}

#[test]
fn a_workload_of_several_files_is_a_directory() {
    let world = world();
    let manifest = WORKLOAD.split("workload.toml\n").nth(1).expect("a manifest");
    let manifest = manifest.split("*/").next().expect("its text");
    world.file("w/workload.toml", manifest);
    world.file("w/part.h", "");
    assert_failed(
        &world.run("run --workload w stock"),
        &["w: no C file beside workload.toml, which has no `program` either"],
    );
    world.file("w/a.c", "");
    assert!(world.text("run --workload w stock").contains("first-touch on linux"));
    world.file("w/workload.toml", &manifest.replace("choices", "chioces"));
    let unknown = "w/workload.toml:12: unknown key `chioces`: did you mean `choices`?";
    assert_failed(&world.run("run --workload w stock"), &[unknown]);
}

#[test]
fn the_whole_may_be_that_of_one_cpu() {
    let world = world();
    let of = |whole: &str| {
        world.file("touch.c", &WORKLOAD.replace("whole = \"reclaim\"", whole));
        world.plain("script --workload touch.c").output().expect("it runs")
    };
    assert!(of("whole = \"reclaim, CPU 1\"\ncpus = 2").status.success());
    let refused = of("whole = \"reclaim, CPU 2\"\ncpus = 2");
    assert_failed(
        &refused,
        &["touch.c:5: unknown metric `reclaim, CPU 2`: did you mean `reclaim,"],
    );
    assert_failed(&of("whole = \"reclaim, CPU 0\""), &["did you mean `reclaim`?"]);
}

#[test]
fn what_a_manifest_says_wrong_is_told_with_its_line() {
    let world = world();
    for (from, to, line, parts) in [
        ("about = \"", "about \"", 4, "key with no value, expected `=`"),
        ("about", "abuot", 4, "unknown key `abuot`: did you mean `about`?"),
        ("whole = \"reclaim\"", "whole = \"reclami\"", 5, "`reclami`: did you mean `reclaim`?"),
        ("\"first-touch\"", "\"First\"", 3, "name `First` has 'F': expected a-z"),
        ("\"order\"", "\"kernel\"", 8, "`kernel` is the lab's own"),
        ("\"order\"", "\"cpus\"", 8, "field `cpus` is the machine's: number = [1, 8] or less"),
        (
            "size = [\"2MiB\", \"1GiB\"]",
            "percent = true\nshare = true",
            8,
            "expected one of number",
        ),
        ("\"huge\"", "\"order\"", 13, "field `order` is there twice"),
        ("[\"2MiB\", \"1GiB\"]", "[\"2MiB\", \"1GB\"]", 9, "has the unknown unit `GB`"),
        ("[\"2MiB\", \"1GiB\"]", "[\"2GiB\", \"1GiB\"]", 9, "the least comes first"),
        ("\"64MiB\"", "\"64GiB\"", 10, "`64GiB` is out of bounds; accepted: a size from 2MiB"),
        ("\"64MiB\"", "[1]", 10, "found array, expected a text or a number"),
        ("\"never\"\n", "\"nevr\"\n", 15, "`nevr`: did you mean `never`?"),
        ("[\"never\", \"always\"]", "[\"ne ver\"]", 14, "choice \"ne ver\": expected letters"),
        ("choices = [\"never\", \"always\"]\n", "", 13, "field `huge`: expected one of number ="),
        ("whole", "config = [\"ZRAM\"]\nwhole", 5, "config \"ZRAM\": expected NAME=VALUE"),
        ("size = [\"2MiB\", \"1GiB\"]", "order = 1", 9, "`1` is out of bounds; accepted: 2 to 13"),
        ("per = \"4K page\"", "", 17, "expected per = \"UNIT\" of a region, or unit ="),
        ("per = \"4K page\"", "per = \"\"", 19, "an empty unit"),
        ("better = \"lower\"", "better = \"less\"", 24, "unknown value `less`"),
        ("whole", "cpus = 9\nwhole", 5, "`9` is out of bounds; accepted: 1 to 8"),
        ("whole", "memory = \"1\"\nwhole", 5, "`1` is out of bounds; accepted: 2MiB to 1TiB"),
    ] {
        let text = WORKLOAD.replacen(from, to, 1);
        assert_ne!(text, WORKLOAD, "{from}");
        world.file("touch.c", &text);
        let place = format!("touch.c:{line}: ");
        assert_failed(&world.run("run --workload touch.c stock"), &[&place, parts]);
    }
    for name in ["age-file", "swap-anon"] {
        world.file("touch.c", &WORKLOAD.replacen("first-touch", name, 1));
        let taken = format!("touch.c: `{name}` is a scenario of the lab: expected another name");
        assert_failed(&world.run("run --workload touch.c stock"), &[&taken]);
    }
    world.file("touch.c", "int main(void) { return 0; }\n");
    let none = "touch.c: no manifest: expected a comment that begins with `/* workload.toml`";
    assert_failed(&world.run("run --workload touch.c stock"), &[none]);
    assert_failed(&world.run("run --workload none.c stock"), &["cannot read none.c"]);
}

#[test]
fn fields_are_those_of_the_manifest() {
    let world = world();
    for (words, parts) in [
        ("order=1", ["`1` is out of bounds", "a size from 2MiB to 1GiB, such as 64MiB"]),
        ("huge=nevr", ["did you mean `never`?", "never or always"]),
        ("hueg=never", ["of scenario first-touch: did you mean `huge`?", "order or huge"]),
        ("lru=classic", ["first-touch has no such field", "accepted: order or huge"]),
        ("age-file", ["takes the place of scenario age-file", "one of the two"]),
        ("--runs 101", ["scenario first-touch", "at most 100 samples"]),
    ] {
        assert_failed(&world.run(&format!("run stock {words} --workload touch.c")), &parts);
    }
}

#[test]
fn what_does_not_compile_is_told_in_the_first_lines_of_the_compiler() {
    let world = world();
    // The programs of ours compile.
    let compiler = "#!/bin/sh\ncase $* in *touch.c*)\n\
        for line in a b c d e f g h i j k l m; do echo \"touch.c:$line: no such thing\" >&2; done\n\
        exit 1 ;; esac\n\
        while [ $# -gt 0 ]; do case $1 in --version) echo cc ;; -o) echo program >$2 ;; esac\n\
        shift; done\n";
    for name in ["gcc", "x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"] {
        world.file(&format!("bin/{name}"), compiler);
    }
    let output = world.run("run --workload touch.c stock");
    let parts = ["does not compile workload first-touch: touch.c:a: no such thing", "touch.c:l:"];
    assert_failed(&output, &parts);
    assert!(!stderr(&output).contains("touch.c:m:"), "{}", stderr(&output));
    assert!(!world.path("pids").exists(), "a machine was started");
}

#[test]
fn what_a_machine_says_wrong_is_told_of_the_workload() {
    let world = world();
    let run = |how: &str| {
        let mut command = world.command("run --workload touch.c stock order=2MiB");
        command.env("BOOT", how).output().expect("it runs")
    };
    let line = "`workload first-touch order=2MiB kernel=stock clock=instructions`";
    let failed = run("fail");
    assert_eq!(failed.status.code(), Some(2), "{}", stderr(&failed));
    let told = format!("{line} ended with status 1: error: order: 1 is not 4");
    assert!(stderr(&failed).contains(&told), "{}", stderr(&failed));
    let wrong = run("wrong");
    assert_eq!(wrong.status.code(), Some(1), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("found the kernel wrong: call 7"), "{}", stderr(&wrong));
    assert_failed(&run("babble"), &["printed more than 16 MiB", "stopped"]);
    assert!(world.is_quiet());
}

#[test]
fn the_program_of_the_documentation_is_the_file_beside_it() {
    let [page, program] =
        [include_str!("../../../../docs/lab.md"), include_str!("../../../../docs/first-touch.c")];
    assert!(page.contains(&format!("```c\n{program}```\n")), "docs/lab.md has another program");
    let world = World::new();
    world.file("touch.c", program);
    let refused = world.run("run --workload touch.c stock huge=allways");
    assert_failed(&refused, &["did you mean `always`?"]);
}

/// The least that is an ELF program for this machine's architecture: a header.
fn elf_program() -> Vec<u8> {
    let machine: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([2, 0]);
    bytes.extend(machine.to_le_bytes());
    bytes.extend([1, 0, 0, 0]);
    bytes.resize(52, 0);
    bytes.extend([64, 0, 56, 0, 0, 0, 64, 0, 0, 0, 0, 0]);
    bytes
}

/// Writes a file that may be executed.
fn program(world: &World, name: &str, bytes: &[u8]) {
    let path = world.file(name, "");
    fs::write(&path, bytes).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the mode");
}

#[test]
fn the_script_of_the_documentation_is_a_workload() {
    let page = include_str!("../../../../docs/lab.md");
    let manifest = include_str!("../../../../docs/page-cache/workload.toml");
    let script = include_str!("../../../../docs/page-cache/run.sh");
    for (kind, text) in [("toml", manifest), ("bash", script)] {
        assert!(
            page.contains(&format!("```{kind}\n{text}```\n")),
            "docs/lab.md has another {kind}"
        );
    }
    let world = World::new();
    world.file("page-cache/workload.toml", manifest);
    world.file("page-cache/run.sh", script);
    program(&world, "bin/busybox", &elf_program());
    let words = "compare --workload page-cache stock --patch half.patch size=8MiB";
    let text = world.text(words);
    for part in ["page-cache on linux", "500 -50.0%", "is better"] {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
    let other = if NATIVE == "x86-64" { "arm64-4k" } else { "x86-64" };
    let refused = world.run(&format!("{words} --config {other}"));
    assert_failed(&refused, &["no shell for scripts on", "`shell = \"FILE\"` in the manifest"]);
    fs::write(world.path("bin/busybox"), "#!/bin/sh\n").expect("a file");
    assert_failed(&world.run(words), &["busybox is not a program for"]);
}

#[test]
fn a_static_binary_is_a_workload_for_its_architecture_alone() {
    let world = World::new();
    let manifest = "name = \"my-test\"\nabout = \"Mine.\"\nprogram = \"mine-{arch}\"\n\
        run = \"reclaim\"\nmetric = [{ name = \"reclaim\", per = \"run\" }]\n";
    world.file("mine/workload.toml", manifest);
    let arch = if NATIVE == "x86-64" { "x86-64" } else { "arm64" };
    program(&world, &format!("mine/mine-{arch}"), &elf_program());
    assert!(world.text("run --workload mine stock").contains("my-test on linux"));
    let (other, config) =
        if NATIVE == "x86-64" { ("arm64", "arm64-4k") } else { ("x86-64", "x86-64") };
    let refused = world.run(&format!("run --workload mine stock --config {config}"));
    let said = format!("workload my-test: no file `mine-{other}` beside the manifest, for {other}");
    assert_failed(&refused, &[&said]);
}

#[test]
fn packages_that_a_workload_takes_are_named_with_all_that_is_missing() {
    let world = world();
    world.file("touch.c", &WORKLOAD.replacen("whole", "packages = [\"libmine-dev\"]\nwhole", 1));
    program(&world, "bin/dpkg-query", b"#!/bin/sh\necho not-installed\n");
    let refused = world.run("run --workload touch.c stock");
    let install = "install with: apt-get install libmine-dev";
    assert_failed(&refused, &["libmine-dev (package libmine-dev)", install]);
}

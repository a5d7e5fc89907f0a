//! `lab schedule`: what is refused, before any kernel is built or by a kernel that only pretends.

use crate::common::{refused, stderr};
use crate::lab::{World, assert_failed};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const LOST_WRITE: &str = "schedule stock --workload lost-write --config x86-64-swap";

/// Makes what a kernel with points has, as far as the lab looks at it.
const MAKE: &str = r#"
for word; do
    case $word in O=*) out=${word#O=} ;; esac
done
case $word in
allnoconfig) cp "$KCONFIG_ALLCONFIG" "$out/.config" ;;
*)
    mkdir -p "$out/arch/x86/boot"
    echo image >"$out/arch/x86/boot/bzImage"
    echo linked >"$out/vmlinux"
    for symbol in $SYMBOLS; do
        echo "ffffffff81000100 T $symbol"
    done >"$out/System.map"
    ;;
esac
"#;

fn world() -> World {
    let world = World::new();
    let qemu_img = "for word; do case $word in *.qcow2) echo disk >\"$word\" ;; esac; done";
    for (name, script) in [("make", MAKE), ("mke2fs", ""), ("qemu-img", qemu_img)] {
        let path = world.file(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the mode");
    }
    world
}

#[test]
fn what_is_no_search_is_refused() {
    let lost = "lab schedule stock --workload lost-write";
    refused("lab schedule stock", &["--workload"]);
    refused(
        "lab schedule stock --workload lost-writes",
        &["unknown workload `lost-writes`", "`lost-write`?", "or a C file"],
    );
    refused(&format!("{lost} --seeds 5..5"), &["--seeds", "`5..5`", "expected A..B"]);
    refused(&format!("{lost} --seeds 5"), &["--seeds", "`5`", "expected A..B"]);
    refused(&format!("{lost} --strategy pct=0"), &["`pct=0`", "pct=N, priorities"]);
    refused(&format!("{lost} --strategy few=0"), &["`few=0`", "few=N"]);
    refused(&format!("{lost} --cpus 1"), &["--cpus", "`1`"]);
    refused(&format!("{lost} --points /mm"), &["--points /mm", "such as mm/rmap.c"]);
    refused(&format!("{lost} --config arm64-4k-swap"), &["x86-64-swap"]);
    refused(&format!("{lost} --config x86-64"), &["x86-64 has no swap"]);
    refused(&format!("{lost} --config x86-64-swap --replay /no/such"), &["/no/such"]);
    let alone = &["--replay", "expected no --seeds", "--until-passes"];
    refused(&format!("{lost} --replay x --seeds 0..5"), alone);
    refused(&format!("{lost} --replay x --strategy few=2"), alone);
    refused(&format!("{lost} --until-passes"), &["--replay"]);
}

#[test]
fn a_stored_schedule_is_of_its_workload() {
    let world = world();
    world.file("x.schedule", "turns\n");
    let replay = |words: &str| world.run(&format!("{words} --replay x.schedule"));
    assert_failed(&replay(LOST_WRITE), &["x.schedule", "pageout schedule 1"]);
    let head = "pageout schedule 1\nworkload lost-write 3 alone\ncpus 3\nkernel stock\nbuild 0\n\
        found few=3\nseed 0\nfailure x\n";
    world.file("x.schedule", head);
    let parts = &["of another machine", "--workload 'lost-write 3 alone'", "--cpus 3"];
    assert_failed(&replay(LOST_WRITE), parts);
    world.file("x.schedule", &format!("{head}turn 0 shrink_folio_list 1 1\n"));
    assert_failed(&replay(LOST_WRITE), &["line 9", "FUNCTION+0xOFFSET"]);
    world.file("found/other", "");
    let replay = || world.run(&format!("{LOST_WRITE} --replay found --until-passes"));
    assert_failed(&replay(), &["--replay found", "*.schedule", "there is none"]);
    world.file("found/x.schedule", head);
    assert_failed(&replay(), &["found/x.schedule", "of another machine"]);
}

#[test]
fn points_are_put_where_the_kernel_has_files() {
    let world = world();
    let error = world.run(&format!("{LOST_WRITE} --points mm/none.c"));
    assert_failed(&error, &["--points mm/none.c", "no such file or directory with a Makefile"]);
    let error = world.run(&format!("{LOST_WRITE} --points fs"));
    assert_failed(&error, &["--points fs: this kernel has no such"]);
}

#[test]
fn a_kernel_that_takes_no_points_is_told() {
    let world = world();
    let error = world.command(LOST_WRITE).env("SYMBOLS", "vmscan").output().expect("it runs");
    assert_failed(&error, &["stock, lost-write 2 alone", "`pageout_orders`", "without points"]);
}

#[test]
fn an_emulator_that_fails_is_told_with_its_words() {
    let world = world();
    let path = world.path("bin/qemu-system-x86_64");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo 1.0 && exit\n\
        echo $$ >>\"$PIDS\"\necho 'qemu: no such machine' >&2\nexit 1\n";
    fs::write(path, script).expect("a file");
    let symbols = "pageout_orders pageout_found pageout_schedule_ready pageout_schedule_over";
    let output = world.command(LOST_WRITE).env("SYMBOLS", symbols).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_failed(&output, &["the emulator failed", "qemu: no such machine"]);
    assert!(world.is_quiet());
}

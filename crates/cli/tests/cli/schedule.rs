//! `lab schedule`: what is refused, before any kernel is built or by a kernel that only pretends.

use crate::common::{refused, stderr};
use crate::lab::{World, assert_failed};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

const LOST_WRITE: &str = "schedule stock --workload lost-write --config x86-64-swap";

/// Makes what a kernel with points has, as far as the lab looks at it, and fails if the source asks
/// for it.
const MAKE: &str = r#"
for word; do
    case $word in O=*) out=${word#O=} ;; /*) tree=$word ;; esac
done
case $word in
allnoconfig) cp "$KCONFIG_ALLCONFIG" "$out/.config" ;;
*)
    if grep -q broken "$tree/mm/vmscan.c"; then
        echo "$tree/mm/vmscan.c:1:1: error: broken"
        exit 2
    fi
    mkdir -p "$out/arch/x86/boot"
    cp "$tree/mm/vmscan.c" "$out/arch/x86/boot/bzImage"
    echo linked >"$out/vmlinux"
    for symbol in $SYMBOLS; do
        echo "ffffffff${symbol#*@} T ${symbol%@*}"
    done >"$out/System.map"
    ;;
esac
"#;
/// The symbols of a kernel with points; `emulator.c` has the same addresses.
pub(crate) const SYMBOLS: &str = "pageout_orders@81000000 pageout_found@82000000 \
    shrink_folio_list@83000000 pageout_schedule_ready@83000020 pageout_schedule_over@83000030 \
    __sanitizer_cov_trace_pc@84000000";
const MAKE_IMAGE: &str = "for word; do case $word in *.qcow2) echo disk >\"$word\" ;; esac; done";
const LINES: &str =
    "for word; do case $word in 0x*) echo \"$word\"; echo mm/vmscan.c:7 ;; esac; done";

fn world() -> World {
    let world = World::new();
    pretend(&world);
    world
}

/// Puts pretenders into a world that make kernels with points, and run them.
pub(crate) fn pretend(world: &World) {
    for (name, script) in
        [("make", MAKE), ("mke2fs", ""), ("qemu-img", MAKE_IMAGE), ("addr2line", LINES)]
    {
        let path = world.file(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the mode");
    }
    let source = world.file("emulator.c", include_str!("emulator.c"));
    let mut compiler = Command::new("gcc");
    compiler.args(["-Wall", "-Werror", "-o"]).arg(world.path("bin/qemu-system-x86_64"));
    let output = compiler.arg(source).output().expect("gcc runs");
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Runs a command on kernels with points.
pub(crate) fn searched(world: &World, words: &str) -> Output {
    world.command(words).env("SYMBOLS", SYMBOLS).output().expect("it runs")
}

#[test]
fn what_is_no_search_is_refused() {
    let lost = "lab schedule stock --workload lost-write";
    refused("lab schedule stock", &["--workload"]);
    refused(
        "lab schedule stock --workload lost-writes",
        &["unknown workload `lost-writes`", "`lost-write`?", "or a C file"],
    );
    refused(
        "lab schedule stock --workload reclaim-file",
        &["workload reclaim-file: it is not a program in C", "register-check", "lazy-free"],
    );
    refused(&format!("{lost} --seeds 5..5"), &["--seeds", "`5..5`", "expected A..B"]);
    refused(&format!("{lost} --seeds 5"), &["--seeds", "`5`", "expected A..B"]);
    refused(&format!("{lost} --strategy pct=0"), &["`pct=0`", "pct=N, priorities"]);
    refused(&format!("{lost} --strategy few=0"), &["`few=0`", "few=N"]);
    refused(&format!("{lost} --cpus 1"), &["--cpus", "`1`"]);
    refused(&format!("{lost} --points /mm"), &["--points /mm", "such as mm/rmap.c"]);
    refused(&format!("{lost} --config arm64-4k-swap"), &["x86-64-swap"]);
    refused(&format!("{lost} --config x86-64"), &["x86-64 has no swap"]);
    refused(&format!("{lost} --config arm64-4k"), &["expected --config x86-64-swap"]);
    refused(&format!("{lost} --config x86-64-swap --replay /no/such"), &["/no/such"]);
    let alone = &["--replay", "expected no --seeds", "--until-passes"];
    refused(&format!("{lost} --replay x --seeds 0..5"), alone);
    refused(&format!("{lost} --replay x --strategy few=2"), alone);
    refused(&format!("{lost} --until-passes"), &["--replay"]);
    let functions = ["f"; 17].join(",");
    refused(&format!("{lost} --turns-in {functions}"), &["up to 16 functions, found 17"]);
    refused(&format!("{lost} --format picture"), &["expected table or list"]);
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
    let symbols = "vmscan@81000000";
    let error = world.command(LOST_WRITE).env("SYMBOLS", symbols).output().expect("it runs");
    assert_failed(&error, &["stock, lost-write 2 alone", "`pageout_orders`", "without points"]);
}

#[test]
fn an_emulator_that_fails_is_told_with_its_words() {
    let world = world();
    let path = world.path("bin/qemu-system-x86_64");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo 1.0 && exit\n\
        echo $$ >>\"$PIDS\"\necho 'qemu: no such machine' >&2\nexit 1\n";
    fs::write(path, script).expect("a file");
    let output = searched(&world, LOST_WRITE);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_failed(&output, &["the emulator failed", "qemu: no such machine"]);
    assert!(world.is_quiet());
}

#[test]
fn a_program_has_to_check_and_a_workload_of_the_lab_need_not() {
    let world = world();
    world.file("tree/mm/vmscan.c", "unchecked\n");
    let error = searched(&world, LOST_WRITE);
    assert_failed(&error, &["workload lost-write 2 alone: it checks nothing"]);
    let lab = "schedule stock --config x86-64-swap --seeds 0..3 --workload lazy-free";
    let of_lab = searched(&world, lab);
    let text = String::from_utf8(of_lab.stdout.clone()).expect("text");
    assert_eq!(of_lab.status.code(), Some(0), "{}", stderr(&of_lab));
    assert!(text.contains("lazy-free on 3 CPUs") && text.contains(", 0 checks"), "{text}");
    world.file("tree/mm/vmscan.c", "tired\n");
    let text = String::from_utf8(searched(&world, lab).stdout).expect("text");
    assert!(text.contains("3 tried, 0 failed, 1 gave up;"), "{text}");
    let error = searched(&world, &lab.replace("0..3", "1..2").replace("lazy-free", "none.c"));
    assert_failed(&error, &["cannot read none.c"]);
    world.file("tree/mm/vmscan.c", "pointless\n");
    assert_failed(&searched(&world, lab), &["it passes no point of kernel stock"]);
    assert!(world.is_quiet());
}

#[test]
fn a_machine_that_does_not_do_as_it_is_told_ends_with_one_message() {
    let world = world();
    let error = |kernel: &str, words: &str, parts: &[&str]| {
        world.file("tree/mm/vmscan.c", kernel);
        assert_failed(&searched(&world, &format!("{LOST_WRITE} {words}")), parts);
        assert!(world.is_quiet());
    };
    let none = &["--turns-in shrink", "stock has no such function", "there is shrink_folio_list"];
    error("all\n", "--turns-in shrink", none);
    error("never\n", "", &["before the workload began", "Kernel panic"]);
    error("full\n", "", &["does not keep the machine's state: No space"]);
    error("other\n", "", &["the state that was kept is not of this kernel: remove "]);
}

#[test]
fn a_run_that_does_not_end_is_cut_off() {
    let world = world();
    world.file("tree/mm/vmscan.c", "stuck\n");
    let words = format!("{LOST_WRITE} --time-limit 1 --seeds 0..1 --tries 0");
    let output = searched(&world, &words);
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(text.contains("fails: it did not end in 1 s of the host's time"), "{text}");
    assert!(world.is_quiet());
}

#[test]
fn a_search_that_is_stopped_for_a_while_goes_on() {
    let world = world();
    world.file("tree/mm/vmscan.c", "stuck\n");
    let words = format!("{LOST_WRITE} --time-limit 2 --seeds 0..1 --tries 0");
    let mut command = world.command(&words);
    command.env("SYMBOLS", SYMBOLS).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it runs");
    let send = |signal: &str| {
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    };
    // As ^Z and fg of a shell: reads with a time limit are interrupted by that (signal(7)).
    for _ in 0..30 {
        sleep(Duration::from_millis(60));
        send("-STOP");
        sleep(Duration::from_millis(10));
        send("-CONT");
    }
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(text.contains("fails: it did not end in 2 s of the host's time"), "{text}");
    assert!(world.is_quiet());
}

#[test]
fn a_schedule_of_another_kernel_says_what_is_not_there() {
    let world = world();
    let head = "pageout schedule 1\nworkload lost-write 2 alone\ncpus 3\nkernel other\nbuild 0\n\
        found few=3\nseed 0\nfailure x\n";
    let turns = "turn 0 no_such_function+0x10 1 1\nturn 1 shrink_folio_list+0x12 1 1\n";
    world.file("x.schedule", &format!("{head}{turns}"));
    let output = searched(&world, &format!("{LOST_WRITE} --replay x.schedule"));
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = "stock: passes; 1 of 2 turns given up, 1 at the nearest point, none in \
        no_such_function(), which is not there; another build";
    assert!(text.contains(said), "{text}");
    assert!(world.is_quiet());
}

#[test]
fn a_failure_is_made_small_and_kept() {
    let world = world();
    world.file("tree/mm/vmscan.c", "races\n");
    let output = searched(&world, &format!("{LOST_WRITE} --save found"));
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    for part in [
        "passes; 100 points, 1 checks",
        "4 tried, 1 failed",
        "seed 3, after",
        "a check failed: stored 3, the disk has 0",
        "3 of the seed, 1 after",
        "shrink_folio_list(), mm/vmscan.c:7, pass",
        "turn 0 shrink_folio_list+0x15 ",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let kept = fs::read_to_string(world.path("found/stock-seed-3.schedule")).expect("it is kept");
    assert!(text.contains(&kept), "{kept}");
    assert!(world.is_quiet());
    let page = format!("{LOST_WRITE} --format list --html page.html");
    let mail = searched(&world, &page);
    let mail = String::from_utf8(mail.stdout).expect("text");
    assert!(mail.lines().all(|line| line.len() <= 72 && line.is_ascii()), "{mail}");
    for part in [
        "stock     Linux 6.12.1-mine, ",
        "emulator  emulator 1.0\n",
        "\npageout schedule 1\n",
        "\npageout lab schedule stock --workload lost-write ",
        "waits ",
    ] {
        assert!(mail.contains(part), "no `{part}` in:\n{mail}");
    }
    let page = fs::read_to_string(world.path("page.html")).expect("a page");
    for part in [
        "A row is a step, in the column of the one who takes it",
        "CPU 2",
        "shrink_folio_list(), mm/vmscan.c:7, pass",
        "broken: ",
        "1 of 4 seeds failed",
    ] {
        assert!(page.contains(part), "no `{part}` on the page");
    }
    world.file("mail", &mail);
    world.file("tree/mm/vmscan.c", "all\n");
    let again = searched(&world, &format!("{LOST_WRITE} --replay ./mail"));
    let text = String::from_utf8(again.stdout.clone()).expect("text");
    assert!(text.contains("stock: passes; 1 of 1 turns given up"), "{text}{}", stderr(&again));
    let again = searched(&world, &format!("{LOST_WRITE} --replay found"));
    let text = String::from_utf8(again.stdout.clone()).expect("text");
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(text.contains("stock: passes; 1 of 1 turns given up; another build"), "{text}");
}

#[test]
fn a_failure_without_turns_is_the_verdict_and_is_kept() {
    let world = world();
    world.file("tree/mm/vmscan.c", "always\n");
    let output = searched(&world, &format!("{LOST_WRITE} --save found --html page.html"));
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    for part in [
        "without turns  fails: a check failed: stored 0, the disk has 0\n",
        "seeds          none tried, since it fails without\n",
        "again          1 of 1 further runs equal to the byte\n",
        "\nfound no turns\nseed 0\n",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    assert!(!text.contains("the seed again"), "{text}");
    let kept = fs::read_to_string(world.path("found/stock-seed-0.schedule")).expect("it is kept");
    assert!(text.contains(&kept), "{kept}");
    let page = fs::read_to_string(world.path("page.html")).expect("a page");
    assert!(page.contains("It fails without turns") && !page.contains("0 of 0"), "the page");
    let again = searched(&world, &format!("{LOST_WRITE} --replay found"));
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
    let text = String::from_utf8(again.stdout).expect("text");
    assert!(text.contains("stock: fails: a check failed"), "{text}");
}

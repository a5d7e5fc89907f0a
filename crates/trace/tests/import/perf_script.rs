//! `perf script`; fields and their columns as perf 6.1 prints them.

use super::{Case, Read, Refused, case, check, of};
use pageout_trace::{Cause, Format, ImportOptions};

const TWO_PROCESSES: &str = "\
 4242 mem:     559fdf9825c0
 4300 mem:     7f1122334000
";

#[test]
fn samples_are_imported_whatever_fields_are_printed() {
    let hybrid = "\
            list  4242 [004]  1203.512345:          1 cpu_core/mem-loads-aux/:                0
            list  4242 [004]  1203.512345:         11 cpu_core/mem-loads,ldlat=30/P:     55d0c0de1000      10668100842 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A              33               0     55d0c0de0040 main+0x40 (/usr/bin/list)
            list  4242 [013]  1203.512399:         12 cpu_atom/mem-stores/P:     7ffc0a000018       5080022 |OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A               0               0     55d0c0de0050 main+0x50 (/usr/bin/list)
";
    let spe = "\
 4242 l1d-access:     ffffcafe0000       20 |OP N/A|LVL N/A|SNP N/A|TLB Walker hit|LCK No|BLK  N/A
 4242 memory:     ffffcafe1000       42 |OP PFETCH|LVL L2 miss|SNP N/A|TLB N/A|LCK N/A|BLK  N/A
 4242 memory:     ffffcafe2000       62 |OP STORE|LVL L1 hit|SNP N/A|TLB Walker hit|LCK No|BLK  N/A
";
    let chains = "\
true 17604   596.325633:          1 page-faults:     56331a8ac1e0
\tffffffff8175336a elf_load+0x28a ([kernel.kallsyms])
\tffffffff81753aa0 load_elf_binary+0x5c0 ([kernel.kallsyms])
\t    7f2be1901290 _start+0x0 (/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2)

true 17604   596.325905:          1 page-faults:     7f2be1923110
\t    7f2be1901290 _start+0x0 (/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2)
\t            55d0 inner (inlined)

";
    let with_symbols = "\
17604 page-faults:     56331a8ac1e0 __progname ffffffff8175336a elf_load
17604 page-faults:     7ffcaa226ec0 [unknown] ffffffff821ecf7d __put_user_8
";
    let kernel_and_unknown = "\
10710 cpu/mem-loads,ldlat=30/P: ffffffff821e8700      10268100142 |OP LOAD|LVL L1 hit|SNP None
10710 cpu/mem-loads,ldlat=30/P:                0      10268100142 |OP LOAD|LVL L1 hit|SNP None
10710 cpu/mem-loads,ldlat=30/P:     559fdf982000      10268100142 |OP LOAD|LVL L1 hit|SNP None
";
    let other_events = "\
# captured on    : Wed Nov 25 10:00:00 2026
ls 10 [003]   596.325633: PERF_RECORD_MMAP2 10/10: [0x55d0(0x1000) @ 0 08:01 1 1]: r-xp /bin/ls
ls 10 [003]   596.325634: sched:sched_switch: prev_comm=ls prev_pid=10 ==> next_comm=sh
ls 10 [003]   596.325635:          1 page-faults:     55d0c0de1000
";
    let comm = "\
tmux: server  4242/4243  596.325635: page-faults:     55d0c0de1000
Web Content   4242/4250  596.325636: page-faults:     55d0c0de2000
";
    let options = of(Format::PerfScript);
    check(
        &options,
        vec![
            case("fields pid,event,addr", "17604 page-faults:     56331a8ac1e0\n", Read(1, 1, &[])),
            case("hybrid PMUs, all fields", hybrid, Read(2, 2, &[(Cause::UnknownAddress, 1)])),
            case("Arm SPE", spe, Read(2, 2, &[(Cause::Prefetch, 1)])),
            case("call chains", chains, Read(2, 2, &[(Cause::CallChain, 5)])),
            case("fields ip,sym", with_symbols, Read(2, 2, &[])),
            case(
                "kernel addresses",
                kernel_and_unknown,
                Read(1, 1, &[(Cause::Kernel, 1), (Cause::UnknownAddress, 1)]),
            ),
            case("other events", other_events, Read(1, 1, &[(Cause::OtherEvent, 2)])),
            case("commands with spaces", comm, Read(2, 2, &[])),
            case("a period without a time", "10  1 a:     1000\n", Read(1, 1, &[])),
            case("a CPU without a time", "10 [003] a:     1000\n", Read(1, 1, &[])),
            case("threads", "10/11 a:     1000\n10/12 a:     2000\n", Read(2, 2, &[])),
            case("a byte-order mark", "\u{feff}10 a:     1000\n", Read(1, 1, &[])),
            case("line ends of another system", "10 a:     1000\r\n", Read(1, 1, &[])),
        ],
    );
}

#[test]
fn odd_names_of_events_and_commands_are_read() {
    let names = "\
ls 10 1.5: 11 mem_load_retired.l1_miss:pp:     1000
ls 10 1.6: 11 ibs_op//:     2000
";
    let lost = "\
:10 10 [3] 1.5: PERF_RECORD_LOST lost 7
:10 10 [3] 1.6: mem:     1000
";
    check(
        &of(Format::PerfScript),
        vec![
            case("modifiers, and slashes", names, Read(2, 2, &[])),
            case("lost samples of no command", lost, Read(1, 1, &[(Cause::OtherEvent, 1)])),
        ],
    );
}

#[test]
fn texts_without_addresses_and_of_several_processes_are_refused() {
    let no_address = "\
            true 17604   596.325633:          1 page-faults:  ffffffff8175336a elf_load+0x28a ([kernel.kallsyms])
            true 17604   596.325905:          1 page-faults:      7f2be1901290 _start+0x0 (ld.so)
";
    check(
        &of(Format::PerfScript),
        vec![
            case("default fields of page faults", no_address, Refused("without an address 2")),
            case("default fields of page faults", no_address, Refused("perf script -F +addr")),
            case("two processes", TWO_PROCESSES, Refused("--pid 4242")),
            case("no process", "page-faults:     1000\n", Refused("line 1: found `page-faults:")),
            case("a perf.data", "PERFILE2h\0\0\0", Refused("found perf's own file")),
        ],
    );
}

#[test]
fn one_process_of_several_is_imported_by_its_number() {
    let cases = |pid: u64, passed: &'static [(Cause, u64)]| -> (ImportOptions, Vec<Case>) {
        let options = ImportOptions { process: Some(pid), ..of(Format::PerfScript) };
        (options, vec![case("two processes", TWO_PROCESSES, Read(1, 1, passed))])
    };
    for pid in [4242, 4300] {
        let (options, cases) = cases(pid, &[(Cause::OtherProcess, 1)]);
        check(&options, cases);
    }
    let options = ImportOptions { process: Some(1), ..of(Format::PerfScript) };
    let refused = Refused("no reference in it (lines of other processes 2)");
    check(&options, vec![case("no such process", TWO_PROCESSES, refused)]);
}

//! `drrun -t drmemtrace -tool view`; forms of versions from 2021 on.

use super::{Read, Refused, case, check, of};
use pageout_trace::{Cause, Format, ImportOptions};

const CORE_SHARDED: &str = "\
Output format:
<--record#-> <--instr#->: <---tid---> <record details>
------------------------------------------------------------
           1           0:   W0.T4242 <marker: version 7>
           2           0:   W0.T4242 <marker: filetype 0xe40>
           3           0:   W0.T4242 <marker: tid W0.T4242 on core 3>
           4           1:   W0.T4242 ifetch       4 byte(s) @ 0x0000ffff8d2a1000 non-branch
           5           1:   W0.T4242 read        16 byte(s) @ 0x0000ffffcafe0000 by PC 0x0000ffff8d2a1000
           6           1:   W0.T4242 pref-r-L1    0 byte(s) @ 0x0000ffffcafe1000 by PC 0x0000ffff8d2a1000
           7           1:   W0.T4242 <marker: core is idle>
           8           1:   W0.T4242 <entry type 46>
<marker: core is idle>
           9           2:   W0.T4242 ifetch       4 byte(s) @ 0x0000ffff8d2a1004 d503201f   nop
          10           2:   W0.T4242 <thread W0.T4242 exited>
View tool results:
              2 : total instructions
";

#[test]
fn views_of_all_versions_are_imported() {
    let with_kernel = "\
           1           1:       4242 ifetch       2 byte(s) @ 0x00007f0000401000 0f 05  syscall
           2           1:       4242 <marker: trace start for system call number 0>
           3           2:       4242 ifetch       3 byte(s) @ 0xffffffff81e00000 non-branch
           4           2:       4242 write        8 byte(s) @ 0xffffc90000003ff8 by PC 0xffffffff81e00000
           5           2:       4242 <marker: trace end for system call number 0>
           6           3:       4242 read         8 byte(s) @ 0x00007ffc00000008 by PC 0x00007f0000401002
";
    let without_numbers = "\
T342625 <marker: version 3>
T342625 <marker: cache line size 64>
T342625 <marker: timestamp 13267440962534947>
T342625 ifetch       3 byte(s) @ 0x00007f14a1b4a100 48 89 e7             mov    %rsp -> %rdi
T342625 write        8 byte(s) @ 0x00007ffd1a2b3c48 by PC 0x00007f14a1b4a103
";
    let long_instruction = "\
  47447  37771:     2765544 ifetch      10 byte(s) @ 0x0000000000404ffc 48 b8 00 mov
                              2765544                                            00 00 00
";
    let flushes = "\
1 1: 5 dflush       0 byte(s) @ 0x1000 by PC 0x1
2 1: 5 iflush       4 byte(s) @ 0x1000 by PC 0x1
3 1: 5 read         4 byte(s) @ 0x1000 by PC 0x1
";
    let prefetches = "\
1 1: 5 pref-HW      0 byte(s) @ 0x2000 by PC 0x1
2 1: 5 pref-i-L2-NT 0 byte(s) @ 0x2000 by PC 0x1
3 1: 5 pref-NTA     1 byte(s) @ 0x2000 by PC 0x1
4 1: 5 write        4 byte(s) @ 0x1000 by PC 0x1
";
    let windows = "\
------------------------------------------------------------
1 0: 5 <marker: timestamp 132674409>
2 0: 5 <marker: window 1>
3 1: 5 ifetch       4 byte(s) @ 0x0000000000404ffc conditional jump (untaken)
";
    check(
        &of(Format::Drmemtrace),
        vec![
            case(
                "core-sharded",
                CORE_SHARDED,
                Read(3, 2, &[(Cause::Prefetch, 1), (Cause::Marker, 6), (Cause::UnknownEntry, 1)]),
            ),
            case(
                "with the kernel's part",
                with_kernel,
                Read(2, 2, &[(Cause::Kernel, 2), (Cause::Marker, 2)]),
            ),
            case("no numbers", without_numbers, Read(2, 2, &[(Cause::Marker, 3)])),
            case("a long instruction", long_instruction, Read(1, 2, &[])),
            case("flushes", flushes, Read(1, 1, &[(Cause::Flush, 2)])),
            case("prefetches", prefetches, Read(1, 1, &[(Cause::Prefetch, 3)])),
            case("windows", windows, Read(1, 1, &[(Cause::Marker, 2)])),
            case("one number", "12: T5 read 8 byte(s) @ 0x1000 by PC 0x1\n", Read(1, 1, &[])),
            case(
                "a notice",
                "<Starting application /bin/ls (5)>\n1 1: 5 read 8 byte(s) @ 0x1000 by PC 0x1\n",
                Read(1, 1, &[(Cause::Marker, 1)]),
            ),
            case("one program", "1 1: W3.T5 read 8 byte(s) @ 0x1000 by PC 0x1\n", Read(1, 1, &[])),
        ],
    );
}

#[test]
fn an_empty_view_and_several_programs_are_refused() {
    let two = "\
1 1: W0.T5 read 8 byte(s) @ 0x1000 by PC 0x1
2 2: W1.T6 read 8 byte(s) @ 0x2000 by PC 0x1
";
    check(
        &of(Format::Drmemtrace),
        vec![
            case("nothing", "", Refused("prints to standard error: redirect it with `2>`")),
            case("two programs", two, Refused("--pid 0")),
            case("its own trace", *b"PK\x03\x04\x14\0", Refused("drrun -t drmemtrace -tool view")),
            case(
                "a kind of access that is not known",
                "1 1: 5 atomic 8 byte(s) @ 0x1000 by PC 0x1\n",
                Refused("line 1: found `1 1: 5 atomic"),
            ),
        ],
    );
    let options = ImportOptions { process: Some(1), ..of(Format::Drmemtrace) };
    check(&options, vec![case("two programs", two, Read(1, 1, &[(Cause::OtherProcess, 1)]))]);
}

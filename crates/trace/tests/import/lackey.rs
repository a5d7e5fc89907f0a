//! `valgrind --tool=lackey`.

use super::{Read, Refused, case, check, of};
use pageout_trace::{Cause, Format};

#[test]
fn logs_are_imported_with_the_lines_of_other_options() {
    let with_blocks = "\
==3601== Lackey, an example Valgrind tool
==3601== Command: /bin/ls -l
==3601== 
SB 0401ab70
I  0401ab70,3
 S 1fff000748,8
SB 0401ab90
I  0401ab90,3
==3601== 
";
    let with_calls = "\
I  0401ab70,3
SYSCALL[3601,1](12) sys_brk ( 0x0 ) --> [pre-success] Success(0x4035000) 
--3601-- REDIR: 0x401d8a0
 M 04033e06,1
";
    check(
        &of(Format::Lackey),
        vec![
            case(
                "--trace-superblocks=yes",
                with_blocks,
                Read(3, 2, &[(Cause::Marker, 2), (Cause::Remark, 3)]),
            ),
            case("--trace-syscalls=yes", with_calls, Read(2, 2, &[(Cause::Remark, 2)])),
            case("bare lines", "I  0401ab70,3\n L 1000,4\n S 1004,4\n", Read(3, 2, &[])),
            case("line ends of another system", " L 1000,4\r\n\r\n", Read(1, 1, &[])),
            case("a byte-order mark", "\u{feff}I  0401ab70,3\n", Read(1, 1, &[])),
            case("two pages", " L 1fff,8\n", Read(1, 2, &[])),
            case(
                "a kernel address",
                " L ffffffff81000000,8\n L 1000,8\n",
                Read(1, 1, &[(Cause::Kernel, 1)]),
            ),
            case("a wide load", " L 1000,64\n", Read(1, 1, &[])),
        ],
    );
}

#[test]
fn other_texts_are_refused_for_what_they_are() {
    let utf16: Vec<u8> =
        "\u{feff}I  0401ab70,3\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    check(
        &of(Format::Lackey),
        vec![
            case("UTF-16", utf16, Refused("found UTF-16 text, not a lackey log: make it UTF-8")),
            case("JSON", "{\"a\": 1}\n", Refused("found JSON")),
            case("CSV", "time,id,size\n1,2,3\n", Refused("found comma-separated values")),
            case("perf script", "10 a:     1000\n", Refused("import --from perf-script")),
            case("a page trace", *b"\x89PGT\r\n\x1a\n\x02\0", Refused("found a page trace")),
            case("a program", *b"\x7fELF\x02\x01", Refused("pageout trace record")),
            case(
                "another tool of Valgrind's",
                "==1== Memcheck\n",
                Refused("remarks of the tool 1"),
            ),
            case("no line", "", Refused("no reference in it; accepted are `I  ADDRESS")),
            case("a size of 0", " L 1000,0\n", Refused("line 1: found ` L 1000,0`")),
        ],
    );
}

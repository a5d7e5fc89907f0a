//! ChampSim's records of both sizes.

use super::{Read, Refused, case, check, of};
use pageout_trace::{Cause, Format};

/// Makes an instruction of `N` bytes, whose stores begin at one place and whose loads at another.
fn instruction(size: usize, places: [usize; 2], ip: u64, store: u64, load: u64) -> Vec<u8> {
    let mut record = vec![0; size];
    record[..8].copy_from_slice(&ip.to_le_bytes());
    record[8..10].copy_from_slice(&[1, 0]);
    record[places[0]..places[0] + 8].copy_from_slice(&store.to_le_bytes());
    record[places[1]..places[1] + 8].copy_from_slice(&load.to_le_bytes());
    record
}

fn usual(ip: u64, store: u64, load: u64) -> Vec<u8> {
    instruction(64, [16, 32], ip, store, load)
}

fn cloudsuite(ip: u64, store: u64, load: u64) -> Vec<u8> {
    let mut record = instruction(96, [24, 56], ip, store, load);
    record[88] = 1;
    record
}

#[test]
fn both_records_are_imported() {
    for (format, of_format) in [
        (Format::Champsim, usual as fn(u64, u64, u64) -> Vec<u8>),
        (Format::Cloudsuite, cloudsuite),
    ] {
        let loop_of = |n: u64| -> Vec<u8> {
            (0..n).flat_map(|k| of_format(0x40_0000 + 4 * k, 0x7f00_0010_0000, k << 12)).collect()
        };
        let with = |flags: [u8; 2], places: &[usize]| -> Vec<u8> {
            let mut record = of_format(0x40_0000, 0x1000, 0x2000);
            record[8..10].copy_from_slice(&flags);
            for place in places {
                record[*place..place + 8].copy_from_slice(&(place << 16).to_le_bytes());
            }
            record
        };
        // The second store, and the last load.
        let [second, last] = if format == Format::Champsim { [24, 56] } else { [32, 80] };
        let mut registers = with([0, 0], &[]);
        registers[10..16].copy_from_slice(&[25, 26, 6, 64, 255, 1]);
        let kernel =
            [of_format(0x40_0000, 0xffff_c900_0000_3ff8, 0), of_format(1 << 63 | 4, 0, 0x1000)];
        check(
            &of(format),
            vec![
                case("one instruction", of_format(0x40_0000, 0, 0), Read(1, 1, &[])),
                case("a store and a load", of_format(0x40_0000, 0x1000, 0x2000), Read(3, 3, &[])),
                // The first does not load: 0 is no address.
                case("eight instructions", loop_of(8), Read(23, 9, &[])),
                case("the kernel's part", kernel.concat(), Read(2, 2, &[(Cause::Kernel, 2)])),
                case("a branch", with([1, 0], &[]), Read(3, 3, &[])),
                case("a taken branch", with([1, 1], &[]), Read(3, 3, &[])),
                case("two stores and two loads", with([0, 0], &[second, last]), Read(5, 5, &[])),
                case("registers", registers, Read(3, 3, &[])),
                case("one page for all", of_format(0x1000, 0x1008, 0x1ff8), Read(3, 1, &[])),
                case("no branch flag", with([2, 0], &[]), Refused("byte 0: found no instruction")),
                case(
                    "a fault after the first",
                    [with([0, 0], &[]), with([0, 3], &[])].concat(),
                    Refused(if format == Format::Champsim {
                        "byte 64: found"
                    } else {
                        "byte 96: found"
                    }),
                ),
                case("zeros", [0; 192], Refused("byte 0: found no instruction")),
                case("cut off", &loop_of(2)[..100], Refused("the input ends within a record")),
            ],
        );
    }
}

#[test]
fn each_record_is_named_where_the_other_was_asked_for() {
    let of_cloudsuite =
        [cloudsuite(0x40_0000, 0x1000, 0), cloudsuite(0x40_0004, 0, 0x1000)].concat();
    let of_champsim: Vec<u8> = (0..6).flat_map(|k| usual(0x40_0000 + k, 0x1000, 0)).collect();
    check(
        &of(Format::Champsim),
        vec![case("CloudSuite's", of_cloudsuite, Refused("--from cloudsuite"))],
    );
    check(
        &of(Format::Cloudsuite),
        vec![case("the usual", of_champsim, Refused("--from champsim"))],
    );
}

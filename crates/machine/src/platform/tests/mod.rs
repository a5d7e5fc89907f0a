//! Tests of reading, refusing and drawing from platform files.

mod drawn;
mod refused;

use super::*;
use crate::tlb::Walks;

/// Returns a whole file of an architecture, with prices that no machine has.
fn file(architecture: Architecture) -> String {
    let invalidation = match architecture {
        Architecture::Arm64 => {
            "[broadcast]\nasid_bits = 16\nrange_operations = true\nhold = 0\n\
             waits_for_devices = false\n"
        }
        _ => "[ipi]\ntag_slots = 6\nfull_flush_ceiling = 33\nlazy = true\n",
    };
    let from = "basis = \"guessed\"\nsource = \"a test\"\n";
    let arm = if architecture == Architecture::Arm64 { "bbml2_noabort = false\n" } else { "" };
    let riscv = if architecture == Architecture::Riscv { "caches_invalid = true\n" } else { "" };
    let x86 = if architecture == Architecture::X86 { "invlpg_drops = \"to-page\"\n" } else { "" };
    let mut text = format!(
        "name = \"test\"\nabout = \"A test.\"\narchitecture = \"{architecture}\"\n\
         [cores]\ncount = 4\nhardware_accessed = true\nhardware_dirty = true\n\
         nonleaf_accessed = false\n{arm}{from}{invalidation}{from}[storage]\nqueue_depth = 32\n{from}\
         [tlb]\ncontiguous = true\ncoalesce = 4\nwalk_cache = 16\n{riscv}{x86}{from}\
         [tlb.l1]\nentries = 64\nsets = 16\nways = 4\n{from}\
         [tlb.l2]\nentries = 1024\nsets = 128\nways = 8\n{from}"
    );
    for PriceName { name, kind, .. } in Prices::names(architecture) {
        let unit = kind.units()[1].name();
        let price = "value = 2\nlow = 1\nhigh = 4";
        text += &format!("[prices.{name}]\n{price}\nunit = \"{unit}\"\n{from}");
    }
    text
}

#[test]
fn whole_files_are_read() {
    for architecture in Architecture::ALL {
        let platform = Platform::parse("a.toml", &file(architecture)).unwrap();
        assert_eq!(platform.architecture(), architecture);
        assert_eq!(platform.shape().cores, 4);
        let prices = platform.prices(Draw::Nominal);
        assert_eq!(prices.access, crate::Time::from_ns(2));
        assert_eq!(prices.bandwidth_read.time(4096), crate::Time::from_ps(2_048_000));
    }
}

#[test]
fn shipped_files_are_read_and_called_by_their_names() {
    for name in Platform::names() {
        let platform = Platform::named(name).unwrap();
        assert_eq!(platform.name(), name);
        assert_eq!(Platform::parse(name, Platform::file(name).unwrap()), Ok(platform));
    }
}

#[test]
fn the_engine_is_told_of_the_hardware() {
    use pageout_paging::mmu::{Caps, Shootdown};
    use pageout_paging::pte::{Arm64_4K, Arm64_64K, Riscv64, X86_64};

    let parse = |architecture, from, to| {
        let text = file(architecture);
        assert!(text.contains(from));
        Platform::parse("a.toml", &text.replace(from, to)).unwrap().shape
    };
    let ideal = Caps { cpus: parse(Architecture::Arm64, "", "").cores, ..Caps::IDEAL };
    let arm = Caps { range_limit: (1 << 21) + 1, ..ideal };
    assert_eq!(parse(Architecture::Arm64, "", "").caps::<Arm64_4K>(), arm);
    let single = ["range_operations = true", "range_operations = false"];
    let single = parse(Architecture::Arm64, single[0], single[1]);
    assert_eq!(single.caps::<Arm64_4K>(), Caps { range_limit: 512, ..arm });
    assert_eq!(single.caps::<Arm64_64K>(), Caps { range_limit: 8192, ..arm });
    let ipi = Caps { shootdown: Shootdown::Ipi, ..ideal };
    let x86 = parse(Architecture::X86, "nonleaf_accessed = false", "nonleaf_accessed = true");
    assert_eq!(x86.caps::<X86_64>(), Caps { range_limit: 34, nonleaf_af: true, ..ipi });
    let riscv = parse(Architecture::Riscv, "ceiling = 33", "ceiling = 64");
    assert_eq!(riscv.caps::<Riscv64>(), Caps { range_limit: 65, ..ipi });
    assert!(riscv.tlb.caches_invalid);
    assert_eq!((riscv.tlb.page_drops, x86.tlb.page_drops), (Walks::None, Walks::ToPage));
}

#[test]
fn the_documentation_names_every_key() {
    let page = include_str!("../../../../../docs/platforms.md");
    for architecture in Architecture::ALL {
        for line in file(architecture).lines() {
            let key = line.split([' ', ']']).next().unwrap().trim_start_matches('[');
            let key = key.trim_start_matches("prices.");
            // Prices stand as their declarations print them.
            let forms = [format!("`{key}`"), format!("[{key}]"), format!("\n  {key} ")];
            let is_named = forms.iter().any(|form| page.contains(form));
            assert!(is_named, "docs/platforms.md does not name {key}");
        }
    }
    for name in Platform::names() {
        assert!(page.contains(&format!("| `{name}` |")), "docs/platforms.md has no row of {name}");
    }
}

//! Pictures of the engine: entries, states and counts.

use anyhow::{Context, Result};
use pageout_paging::pte::{Arm64_4K, Riscv64, X86_64};
use pageout_paging::{Format, Level, Pfn};

use super::axis::Axis;
use super::bits::{self, Strip};
use super::boxes::{self, Arrow, Node};
use super::data::Source::{self, Printed, Stored};
use super::data::{Picture, Texts, quartiles};
use super::dots::{self, Dot, Row};
use super::heat;
use super::svg::Svg;

const YOUNG_CHECKS: Source =
    Printed("compare age-file order=4 young=100%,0% size=4MiB format=arm64-4k --runs 1");
const SESSION: Source =
    Stored("crates/lab/files/lru_gen/captures/age-file-7.3-stock-arm64-4k-swap.txt");

pub(super) const PICTURES: &[Picture] = &[
    Picture { file: "entry-bits.svg", from: &[], draw: entry_bits },
    Picture { file: "young-checks.svg", from: &[YOUNG_CHECKS], draw: young_checks },
    Picture { file: "generations.svg", from: &[SESSION], draw: generations },
    Picture { file: "page-life.svg", from: &[], draw: page_life },
];

/// The meanings of bits, with their colours.
const MEANINGS: [(&str, &str); 6] = [
    ("b", "frame"),
    ("d", "valid"),
    ("c", "young"),
    ("e", "dirty"),
    ("f", "write"),
    ("a", "contiguous"),
];

/// The bits of entries, as each format's code has them.
fn entry_bits(_: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "The young bit is one of 64, and hardware sets it",
        "Bits of a last-level page-table entry, from the engine\'s formats; grey: others",
    );
    bits::draw(&mut svg, &MEANINGS, &[strip::<Arm64_4K>(), strip::<X86_64>(), strip::<Riscv64>()]);
    Ok(svg)
}

fn strip<F: Format>() -> Strip {
    let pte = F::leaf(Level::Pte, Pfn::new(0), pageout_paging::pte::Prot::WRITE);
    // Bits that a frame number changes hold it; its lowest and highest bits are where they end.
    let step = F::STEP;
    let frame = |bit: usize| {
        let one = 1u64 << bit;
        one >= step && F::pfn(pageout_paging::Pte(pte.0 | one)) != F::pfn(pte)
    };
    let dirty = (F::mkdirty(pte).0 ^ pte.0) & !F::SOFT_DIRTY;
    let meaning = |bit: usize| {
        let one = 1u64 << bit;
        let masks = [F::VALID, F::YOUNG, dirty, F::WRITE, F::CONT];
        let named = masks.iter().position(|mask| mask & one != 0).map(|at| at + 1);
        named.or_else(|| frame(bit).then_some(0))
    };
    Strip { name: F::NAME.to_owned(), bits: std::array::from_fn(meaning) }
}

/// The atomics of a young check of a folio, by algorithm.
fn young_checks(texts: &Texts) -> Result<Svg> {
    let records = texts.records(YOUNG_CHECKS)?;
    let mut rows = Vec::new();
    for (young, name) in [("100%", "all young"), ("0%", "all old")] {
        let mut dots = Vec::new();
        for (check, series, class) in [
            ("per-entry", "entry by entry", "c"),
            ("batched", "batched", "b"),
            ("line", "line", "d"),
        ] {
            let of = records.0.iter().find(|record| {
                record.fields.get("young").is_some_and(|of| of == young)
                    && record.variant.get("young").is_some_and(|of| of == check)
            });
            let value = 16.0 * quartiles(of.context("a record of each check")?, "atomics")?[1];
            dots.push(Dot { series, class, value, range: None });
        }
        rows.push(Row { name: name.to_owned(), dots });
    }
    let mut svg = Svg::new(
        "Entry by entry, each call changes every entry of the block",
        "Atomic operations of one young check of a 64K folio on arm64, counted on the engine",
    );
    let all = dots::values(&rows);
    dots::draw(&mut svg, Axis::linear("atomics for each folio", all), &rows, None);
    Ok(svg)
}

/// The pages of each generation after each command of a session on a real kernel.
fn generations(texts: &Texts) -> Result<Svg> {
    let mut rows = Vec::new();
    let (mut commands, mut is_shown) = (Vec::new(), false);
    for line in texts.text(SESSION)?.lines() {
        if let Some(command) = line.strip_prefix("> ") {
            is_shown = command.starts_with("show");
            if is_shown {
                let name = commands.join(", ");
                rows.push((name, vec![None; 9]));
                commands.clear();
            } else if command.starts_with(['f', 't', 'w']) && !command.starts_with("file ") {
                commands.push(command.replace("write ", "").replace("$a ", ""));
            }
        }
        // A generation has its number, its age, its anonymous pages and its file pages.
        let numbers: Vec<usize> =
            line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        if let ([generation, _, _, file], true) = (&numbers[..], is_shown) {
            let row = rows.last_mut().context("a command comes first")?;
            *row.1.get_mut(*generation).context("a generation below 9")? = Some(*file as f64);
        }
    }
    rows.retain(|(name, _)| !name.is_empty());
    let names: Vec<String> = (0..9).map(|generation| generation.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut svg = Svg::new(
        "Aging opens generations, and pages that are used move up",
        "File pages in each generation after these commands: session age-file on Linux 7.3.4, \
         arm64",
    );
    heat::draw(&mut svg, ("generation, the oldest at the left", &names), &rows);
    Ok(svg)
}

/// The states of a page.
const STATES: [Node; 7] = [
    Node { at: (0.0, 0.0), name: "absent", text: "no frame" },
    Node { at: (1.0, 0.0), name: "pending", text: "being read" },
    Node { at: (2.0, 0.0), name: "mapped", text: "entries name it" },
    Node { at: (3.0, 0.0), name: "unmapped", text: "TLBs may know it" },
    Node { at: (4.0, 0.0), name: "flushed", text: "no TLB knows it" },
    Node { at: (4.0, 1.0), name: "write-back", text: "being written" },
    Node { at: (5.0, 0.0), name: "free", text: "no frame" },
];

/// The calls that lead from a state to the next.
const ARROWS: [Arrow; 7] = [
    Arrow { from: "absent", to: "pending", text: "handle_fault" },
    Arrow { from: "pending", to: "mapped", text: "read_done, then handle_fault again" },
    Arrow { from: "mapped", to: "unmapped", text: "try_to_unmap" },
    Arrow { from: "unmapped", to: "flushed", text: "TlbBatch::flush, once for a batch of folios" },
    Arrow { from: "flushed", to: "write-back", text: "if dirty" },
    Arrow { from: "write-back", to: "flushed", text: "write_done" },
    Arrow { from: "flushed", to: "free", text: "out of its file or swap cache, Frames::free" },
];

/// The states of a page with the calls that change them.
fn page_life(_: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "Reclaim frees a page only after every TLB has forgotten it",
        "States of a page, and the calls of the engine that lead from one to the next",
    );
    boxes::draw(&mut svg, 2.0, &STATES, &ARROWS);
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd;

    #[test]
    fn the_engine_has_the_calls_of_a_page_s_life() {
        let mut code = String::new();
        let mut left = vec![cmd::root().join("crates/reclaim/src")];
        while let Some(path) = left.pop() {
            match std::fs::read_dir(&path) {
                Ok(folder) => left.extend(folder.map(|entry| entry.unwrap().path())),
                Err(_) => code += &std::fs::read_to_string(&path).unwrap(),
            }
        }
        let texts = ARROWS.iter().flat_map(|arrow| arrow.text.split([' ', ',']));
        let calls: Vec<&str> = texts.filter(|word| word.contains(['_', ':'])).collect();
        assert!(calls.contains(&"try_to_unmap"), "{calls:?}");
        for call in calls {
            let name = call.rsplit("::").next().unwrap();
            assert!(code.contains(&format!("fn {name}")), "the engine has no {call}");
        }
    }
}

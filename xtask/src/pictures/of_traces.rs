//! Pictures of programs: their pages, their misses, and the loads that a TLB hides.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use pageout_record::schema::Record;

use super::axis::Axis;
use super::bars::{self, Bar};
use super::data::Source::{self, Printed, Stored};
use super::data::{Picture, Texts, label, quartiles};
use super::dots::{self, Dot, Row};
use super::heat;
use super::lines::{self, Line, Panel};
use super::map;
use super::svg::Svg;

const SQLITE: Source = Printed("run trace limit=50% format=x86-64 --trace sqlite-orders");
const SQLITE_CURVES: Source =
    Printed("trace curve sqlite-orders --limit 10%,20%..100%:20% --policy classic,mglru,min");
const SQLITE_NEAR_HALF: Source =
    Printed("trace curve sqlite-orders --limit 42%..54%:2% --policy classic,mglru,min");
const OBSERVED: Source = Stored("docs/pictures/observe.json");

const PYTHON: Source = Printed("run trace limit=50% format=x86-64 --trace python-table");
const PYTHON_CURVES: Source =
    Printed("trace curve python-table --limit 10%,20%..100%:20% --policy classic,mglru,min");
const CC1PLUS: Source = Printed("run trace limit=50% format=x86-64 --trace cc1plus-list");
const CC1PLUS_CURVES: Source =
    Printed("trace curve cc1plus-list --limit 10%,20%..100%:20% --policy classic,mglru,min");
const SQLITE_ON_BOTH: Source = Printed(
    "compare trace limit=50% format=x86-64 --base lru=classic --new lru=mglru \
     --trace sqlite-orders",
);
const LIMITS_AND_ORDERS: Source = Printed(
    "compare trace limit=20%,50%,80% order=0,2,4 format=x86-64 --base lru=classic \
     --new lru=mglru --trace cc1plus-list",
);
const ROUNDS_ARM64: Source = Printed(
    "compare aging-rounds format=arm64-4k access=all,1/128,10%,1/256 \
     --base young=per-entry --new young=batched",
);
const ROUNDS_X86: Source = Printed(
    "compare aging-rounds format=x86-64 access=all,1/128,10%,1/256 \
     --base young=per-entry --new young=batched",
);

pub(super) const PICTURES: &[Picture] = &[
    Picture { file: "map-python.svg", from: &[PYTHON], draw: map_of_python },
    Picture { file: "map-cc1plus.svg", from: &[CC1PLUS], draw: map_of_cc1plus },
    Picture {
        file: "curves.svg",
        from: &[PYTHON_CURVES, SQLITE_CURVES, CC1PLUS_CURVES],
        draw: curves_of_samples,
    },
    Picture { file: "parts.svg", from: &[SQLITE_ON_BOTH], draw: parts },
    Picture { file: "sweep.svg", from: &[LIMITS_AND_ORDERS], draw: limits_and_orders },
    Picture { file: "filters.svg", from: &[ROUNDS_ARM64, ROUNDS_X86], draw: filters },
    Picture { file: "access-map.svg", from: &[SQLITE, SQLITE_CURVES], draw: access_map },
    Picture { file: "more-memory.svg", from: &[SQLITE_NEAR_HALF], draw: more_memory },
    Picture { file: "observe.svg", from: &[OBSERVED], draw: reach },
    Picture { file: "hidden-loads.svg", from: &[OBSERVED], draw: hidden_loads },
];

/// The policies of curves, with the names and colours of their lines.
const POLICIES: [(&str, &str, &str); 3] =
    [("min", "best", "a"), ("classic", "classic", "c"), ("mglru", "MGLRU", "b")];

const SHOWS_MISSES: &str = "miss ratio, % of all accesses";
const MEMORY: &str = "memory, % of the pages that the program uses";

fn access_map(texts: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "SQLite in half of its memory: most of what reclaim took came back",
        "Every page over time, counted on the engine; below, misses by memory, with the gap to \
         the best possible",
    );
    let run = texts.records(SQLITE)?;
    map::draw(&mut svg, run.0.first().context("the run has a record")?, 300.0)?;
    let panel = curves(texts, SQLITE_CURVES, "")?;
    lines::draw(&mut svg, memory(&panel), 130.0, &[panel]);
    Ok(svg)
}

fn more_memory(texts: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "More memory can bring more misses",
        "Misses of a recorded run of SQLite by its memory, counted on the engine; shaded: the gap \
         to the best possible",
    );
    let panel = curves(texts, SQLITE_NEAR_HALF, "")?;
    lines::draw(&mut svg, memory(&panel), 240.0, &[panel]);
    Ok(svg)
}

/// Returns the axis of memory below a panel of curves.
fn memory(panel: &Panel) -> Axis {
    let limits = panel.lines.iter().flat_map(|line| &line.points).map(|(limit, _)| *limit);
    Axis::between(MEMORY, limits)
}

/// Returns the curves of a trace, with the gap between the best possible and the nearest policy.
fn curves(texts: &Texts, source: Source, name: &str) -> Result<Panel> {
    let mut by_policy = BTreeMap::<String, Vec<(f64, f64)>>::new();
    for record in &texts.records(source)?.0 {
        let limit: f64 = label(record, "limit").trim_end_matches('%').parse()?;
        let ratio = 100.0 * quartiles(record, "miss ratio")?[1];
        by_policy.entry(label(record, "policy").to_owned()).or_default().push((limit, ratio));
    }
    by_policy.values_mut().for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let mut lines = Vec::new();
    for (policy, name, class) in POLICIES {
        let points = by_policy.remove(policy).with_context(|| format!("no curve of {policy}"))?;
        lines.push(Line { name, class, points });
    }
    let least = |at: usize| lines[1].points[at].1.min(lines[2].points[at].1);
    let places = lines[0].points.iter().enumerate();
    let nearest = places.map(|(at, (limit, _))| (*limit, least(at))).collect();
    Ok(Panel { name: name.to_owned(), y: SHOWS_MISSES, lines, above_first: Some(nearest) })
}

/// The share of loads that are hidden, by the other pages that the program loads in between.
fn reach(texts: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "The kernel misses nearly all loads, until the TLB has replaced its entries",
        "Loads that it did not see, %, by loads from other pages since it cleared the young bits. \
         Measured: median of all repetitions; line: the middle half",
    );
    let records = texts.records(OBSERVED)?.with(&[("between", "other pages"), ("flush", "none")]);
    let mut rows = Vec::new();
    for record in &records.0 {
        let pages: f64 = label(record, "pages").parse()?;
        let [low, value, high] = quartiles(record, "hidden loads")?;
        let dot = Dot { series: "", class: "b", value, range: Some((low, high)) };
        rows.push(Row { name: format!("{} pages", super::axis::number(pages)), dots: vec![dot] });
    }
    let axis = Axis::linear("hidden, % of loads", [100.0].into_iter());
    dots::draw(&mut svg, axis, &rows, None);
    Ok(svg)
}

/// The share of loads that are hidden, by what goes on in between, with and without a flush.
fn hidden_loads(texts: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "Sleep and other programs hide less; a flush hides nothing",
        "Loads that the kernel did not see, %, by what went on since it cleared the young bits. \
         Measured: median of all repetitions; line: the middle half",
    );
    let records = texts.records(OBSERVED)?;
    let mut rows = BTreeMap::<usize, Row>::new();
    let mut places = Vec::new();
    for record in &records.0 {
        let name = between(record);
        let place = places.iter().position(|known| *known == name).unwrap_or_else(|| {
            places.push(name.clone());
            places.len() - 1
        });
        let (series, class) = match label(record, "flush") {
            "none" => ("no flush", "b"),
            _ => ("flushed", "c"),
        };
        let [low, value, high] = quartiles(record, "hidden loads")?;
        let row = rows.entry(place).or_insert_with(|| Row { name, dots: Vec::new() });
        row.dots.push(Dot { series, class, value, range: Some((low, high)) });
    }
    let axis = Axis::linear("hidden, % of loads", [100.0].into_iter());
    dots::draw(&mut svg, axis, &rows.into_values().collect::<Vec<_>>(), None);
    Ok(svg)
}

/// Returns what went on between the clear of the young bits and the question.
fn between(record: &Record) -> String {
    match label(record, "between") {
        "other pages" if label(record, "pages") == "0" => "nothing".to_owned(),
        "other pages" => format!("{} other pages", label(record, "pages")),
        "sleep" => format!("sleep of {} ms", label(record, "ms")),
        "another CPU" => format!("{} ms on another CPU", label(record, "ms")),
        "no load" => "no load at all (control)".to_owned(),
        other => format!("{other} ran"),
    }
}

fn map_of_python(texts: &Texts) -> Result<Svg> {
    let title = "A Python program: a heap that grows, is swept, and is given back";
    map_of(texts, PYTHON, title)
}

fn map_of_cc1plus(texts: &Texts) -> Result<Svg> {
    map_of(texts, CC1PLUS, "A compiler: a small working set moves through its heap")
}

fn map_of(texts: &Texts, source: Source, title: &str) -> Result<Svg> {
    let mut svg =
        Svg::new(title, "Every page over time in half of its memory, counted on the engine");
    let run = texts.records(source)?;
    map::draw(&mut svg, run.0.first().context("the run has a record")?, 240.0)?;
    Ok(svg)
}

/// The curves of the three samples.
fn curves_of_samples(texts: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "Neither list wins everywhere; in little memory both are far from the best",
        "Misses of the sample traces by memory, counted on the engine; shaded: the gap to the best \
         possible",
    );
    let panels = [
        curves(texts, PYTHON_CURVES, "python-table")?,
        curves(texts, SQLITE_CURVES, "sqlite-orders")?,
        curves(texts, CC1PLUS_CURVES, "cc1plus-list")?,
    ];
    lines::draw(&mut svg, memory(&panels[0]), 110.0, &panels);
    Ok(svg)
}

/// The pages that came back after reclaim, by the part of the program that they are of.
fn parts(texts: &Texts) -> Result<Svg> {
    let records = texts.records(SQLITE_ON_BOTH)?;
    let kinds = [("c", "orders.db"), ("b", "heap"), ("a", "anonymous")];
    let mut bars = Vec::new();
    for (lru, name) in [("classic", "classic"), ("mglru", "MGLRU")] {
        let record = records.0.iter().find(|record| label(record, "lru") == lru).context(lru)?;
        let back = record.metric("pages used again after reclaim");
        let back = back.and_then(|metric| metric.matrix.as_deref()).context("pages by place")?;
        let mut sums = [0.0; 3];
        for (edges, row) in back.y.edges.windows(2).zip(&back.rows) {
            let part = back.y.part_at(edges[0]).unwrap_or_default();
            // The library is small, and is left out where no kind has it.
            if let Some(kind) = kinds.iter().position(|(_, name)| *name == part) {
                sums[kind] += row.iter().flatten().sum::<f64>();
            }
        }
        let end = super::axis::number(quartiles(record, "refaults")?[1]);
        bars.push(Bar { name: name.to_owned(), parts: sums.to_vec(), end });
    }
    let mut svg = Svg::new(
        "The classic lists lose the file, generations the heap as well",
        "Pages of SQLite that came back after reclaim, by what they are of, in half of its memory; \
         at the end all refaults. Counted on the engine",
    );
    bars::draw(&mut svg, &kinds, &bars);
    Ok(svg)
}

/// The refaults of a sweep over limits and orders.
fn limits_and_orders(texts: &Texts) -> Result<Svg> {
    let records = texts.records(LIMITS_AND_ORDERS)?;
    let limits = ["20%", "50%", "80%"];
    let mut rows = Vec::new();
    for (lru, name) in [("classic", "classic"), ("mglru", "MGLRU")] {
        for order in ["0", "2", "4"] {
            let figure = |limit: &&str| {
                let cell = [("lru", lru), ("order", order), ("limit", limit)];
                records.figure(&cell, "refaults").map(Some)
            };
            let values = limits.iter().map(figure).collect::<Result<_>>()?;
            rows.push((format!("{name}, order {order}"), values));
        }
    }
    let mut svg = Svg::new(
        "Large folios bring pages back many times as often",
        "Refaults of the trace cc1plus-list, 4K pages, counted on the engine",
    );
    heat::draw(&mut svg, ("memory, of the pages that the program uses", &limits), &rows);
    Ok(svg)
}

/// The change of refaults in rounds of use and reclaim by young checks in batches.
fn filters(texts: &Texts) -> Result<Svg> {
    let mut rows = Vec::new();
    for (source, name) in [(ROUNDS_ARM64, "arm64, contiguous"), (ROUNDS_X86, "x86-64")] {
        let records = texts.records(source)?;
        rows.push(Row { name: name.to_owned(), dots: Vec::new() });
        for access in ["all", "10%", "1/128", "1/256"] {
            let of = |young| records.figure(&[("access", access), ("young", young)], "refaults");
            let value = 100.0 * (of("batched")? / of("per-entry")? - 1.0);
            let dot = Dot { series: "", class: "b", value, range: Some((0.0, value)) };
            rows.push(Row { name: format!("uses {access}"), dots: vec![dot] });
        }
    }
    let mut svg = Svg::new(
        "Batched young checks change which pages come back: for better or worse",
        "Refaults with batches against those without, in 16 rounds of use and reclaim, MGLRU, \
         counted on the engine",
    );
    let all = dots::values(&rows);
    let axis = Axis::linear("change of refaults, %", all);
    dots::draw(&mut svg, axis, &rows, Some((0.0, "")));
    Ok(svg)
}

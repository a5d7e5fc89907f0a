//! Pictures of real kernels: instructions that were counted under QEMU.

use anyhow::Result;

use super::axis::Axis;
use super::data::Source::{self, Stored};
use super::data::{Picture, Records, Texts};
use super::dots::{self, Dot, Row};
use super::lines::{self, Line, Panel};
use super::svg::Svg;

const QUEUE: Source = Stored("crates/lab/files/records/queue-7.3.json");
const LINUX_6_12: Source = Stored("crates/lab/files/records/linux-6.12.json");
const LINUX_7_3: Source = Stored("crates/lab/files/records/linux-7.3.json");

/// The stored records of a workload on both architectures, with the names and colours of these.
type Stores = [(Source, &'static str, &'static str); 2];

macro_rules! stores {
    ($name:literal) => {
        [
            (
                Stored(concat!("crates/lab/files/records/workloads/", $name, "-arm64-4k.json")),
                "arm64",
                "b",
            ),
            (
                Stored(concat!("crates/lab/files/records/workloads/", $name, "-x86-64.json")),
                "x86-64",
                "c",
            ),
        ]
    };
}

/// A workload: its name in pictures, its records, the metric that it is judged by, and the labels
/// of the cells that are shown.
type Workload = (&'static str, Stores, &'static str, &'static [(&'static str, &'static str)]);

const CLASSIC: (&str, &str) = ("lru", "classic");

const WORKLOADS: [Workload; 11] = [
    ("reclaim a mapped file", stores!("reclaim-file"), "reclaim", &[CLASSIC]),
    ("… of four cgroups", stores!("cgroup-tree"), "reclaim", &[CLASSIC, ("cgroups", "4")]),
    ("… lazily freed memory", stores!("lazy-free"), "reclaim", &[CLASSIC]),
    ("… shared memory", stores!("reclaim-shmem"), "reclaim", &[CLASSIC]),
    ("… cold memory", stores!("cold-anon"), "reclaim", &[CLASSIC]),
    ("swap to zram", stores!("swap-anon"), "swap-out", &[CLASSIC, ("content", "same")]),
    ("… mapped by 8", stores!("swap-processes"), "swap-out", &[CLASSIC, ("processes", "8")]),
    ("age, all young", stores!("age-file"), "age", &[("young", "all")]),
    ("age, all old", stores!("age-file"), "age", &[("young", "none")]),
    ("copy after fork", stores!("fork-copy"), "copy", &[("order", "4")]),
    ("write back", stores!("write-back"), "write-back", &[("by", "msync")]),
];

const PROCESSES: Stores = stores!("swap-processes");
const CGROUPS: Stores = stores!("cgroup-tree");

const WORKLOAD_RECORDS: &[Source] = &{
    let mut all = [QUEUE; 2 * WORKLOADS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = WORKLOADS[at / 2].1[at % 2].0;
        at += 1;
    }
    all
};

pub(super) const PICTURES: &[Picture] = &[
    Picture { file: "queue.svg", from: &[QUEUE], draw: queue },
    Picture { file: "batches.svg", from: &[LINUX_6_12, LINUX_7_3], draw: batches },
    Picture { file: "workloads.svg", from: WORKLOAD_RECORDS, draw: workloads },
    Picture { file: "processes.svg", from: &[PROCESSES[0].0, PROCESSES[1].0], draw: processes },
    Picture { file: "cgroups.svg", from: &[CGROUPS[0].0, CGROUPS[1].0], draw: cgroups },
];

/// The names of the LRUs in records and in pictures.
const LRUS: [(&str, &str, &str); 2] = [("classic", "classic", "c"), ("mglru", "MGLRU", "b")];

/// The instructions of a page on Linux 7.3, with the queue's mends and with all of it.
fn queue(texts: &Texts) -> Result<Svg> {
    let records = texts.records(QUEUE)?.with(&[("config", "arm64-4k"), ("young", "all")]);
    let kernels = [("stock", "7.3", "b"), ("q5", "with the mends", "a"), ("q24", "with all", "d")];
    let mut rows = Vec::new();
    for (lru, name, _) in LRUS {
        rows.push(Row { name: name.to_owned(), dots: Vec::new() });
        for order in ["4", "0"] {
            let mut dots = Vec::new();
            for (kernel, series, class) in kernels {
                let wanted = [("kernel", kernel), ("lru", lru), ("order", order)];
                let value = records.figure(&wanted, "reclaim")?;
                dots.push(Dot { series, class, value, range: None });
            }
            rows.push(Row { name: format!("order {order}"), dots });
        }
    }
    let mut svg = Svg::new(
        "The mends cost a little; the other patches more than pay for them",
        "Instructions to reclaim a 4K page of a mapped file, arm64, counted under QEMU",
    );
    let all = dots::values(&rows);
    let axis = Axis::log("instructions for each 4K page (logarithmic)", all);
    dots::draw(&mut svg, axis, &rows, None);
    Ok(svg)
}

/// The instructions of a page by order, on kernels without and with batches.
fn batches(texts: &Texts) -> Result<Svg> {
    let common = [("config", "arm64-4k"), ("cpu", "max"), ("process", "asleep"), ("young", "all")];
    let old = texts.records(LINUX_6_12)?.with(&common);
    let new = texts.records(LINUX_7_3)?.with(&common);
    let new = new.with(&[("cpus", "1")]);
    let kernels: [(&Records, &str, &'static str, &'static str); 3] = [
        (&new, "stock", "7.3", "b"),
        (&old, "stock", "6.12", "a"),
        (&new, "no-batch", "7.3 without batches", "c"),
    ];
    let mut rows = Vec::new();
    for (lru, name, _) in LRUS {
        rows.push(Row { name: name.to_owned(), dots: Vec::new() });
        for order in ["9", "8", "5", "4", "0"] {
            let mut dots = Vec::new();
            for (records, kernel, series, class) in kernels {
                let wanted = [("kernel", kernel), ("lru", lru), ("order", order)];
                let value = records.figure(&wanted, "reclaim")?;
                dots.push(Dot { series, class, value, range: None });
            }
            rows.push(Row { name: format!("order {order}"), dots });
        }
    }
    let mut svg = Svg::new(
        "Batches pay the more, the larger the folio",
        "Instructions to reclaim a 4K page of a mapped file, arm64, counted under QEMU",
    );
    let all = dots::values(&rows);
    let axis = Axis::log("instructions for each 4K page (logarithmic)", all);
    dots::draw(&mut svg, axis, &rows, None);
    Ok(svg)
}

/// The instructions that batches save, by workload.
fn workloads(texts: &Texts) -> Result<Svg> {
    let mut rows = Vec::new();
    for (name, stores, metric, cell) in WORKLOADS {
        let mut dots = Vec::new();
        for (store, series, class) in stores {
            let records = texts.records(store)?.with(cell);
            let of = |kernel: &str| records.figure(&[("kernel", kernel)], metric);
            let value = 100.0 * (1.0 - of("7.3:stock")? / of("7.3:no-batch")?);
            dots.push(Dot { series, class, value, range: None });
        }
        rows.push(Row { name: name.to_owned(), dots });
    }
    let mut svg = Svg::new(
        "Batches save where mapped pages go, and hardly elsewhere",
        "Instructions that Linux 7.3 saves by its batches, % of those without; 64K folios, classic \
         LRU, counted under QEMU",
    );
    let all = dots::values(&rows);
    dots::draw(&mut svg, Axis::linear("saved, %", all), &rows, Some((0.0, "")));
    Ok(svg)
}

/// The instructions of swapping a page out, by the processes that map it.
fn processes(texts: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "The more processes map a page, the more batches save",
        "Instructions to swap a 4K page out to zram, 64K folios, counted under QEMU",
    );
    by_field(&mut svg, texts, PROCESSES, ("processes", &["1", "4", "8"]), "swap-out")?;
    Ok(svg)
}

/// The instructions of reclaiming a page, by the cgroups that it is spread over.
fn cgroups(texts: &Texts) -> Result<Svg> {
    let mut svg = Svg::new(
        "Each page costs more where more cgroups share the request",
        "Instructions to reclaim a 4K page of mapped files through the cgroup above, 64K folios, \
         classic LRU, counted under QEMU",
    );
    by_field(&mut svg, texts, CGROUPS, ("cgroups", &["1", "4", "8"]), "reclaim")?;
    Ok(svg)
}

/// Draws a figure of 7.3 without and with batches by a field, a panel for each architecture.
fn by_field(
    svg: &mut Svg,
    texts: &Texts,
    stores: Stores,
    (field, values): (&'static str, &[&str]),
    metric: &str,
) -> Result<()> {
    let mut panels = Vec::new();
    for (store, name, _) in stores {
        let records = texts.records(store)?.with(&[CLASSIC]);
        let mut lines = Vec::new();
        for (kernel, name, class) in
            [("7.3:no-batch", "no batches", "c"), ("7.3:stock", "batches", "b")]
        {
            let mut points = Vec::new();
            for value in values {
                let figure = records.figure(&[("kernel", kernel), (field, value)], metric)?;
                points.push((value.parse()?, figure));
            }
            lines.push(Line { name, class, points });
        }
        panels.push(Panel { name: name.to_owned(), lines, ..Panel::default() });
    }
    let places = values.iter().map(|value| value.parse::<f64>()).collect::<Result<Vec<_>, _>>()?;
    let below = Axis::between(field, places.into_iter());
    lines::draw(svg, below, 110.0, &panels);
    Ok(())
}

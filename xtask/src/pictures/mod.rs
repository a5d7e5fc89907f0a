//! `cargo xtask pictures`: the pictures of the book, drawn from what the program prints.
//!
//! Each picture is an SVG file in `docs/pictures`. Its records are stored beside it if they were
//! measured; otherwise the program makes them again, the same on every machine. Its colours follow
//! the reader's light or dark scheme.

mod access_map;
mod crates;
mod curve;
mod hidden;
mod sequence;
mod stages;
mod svg;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use pageout_record::schema::{Record, RecordFile};

use crate::cmd;
use crate::tidy::Workspace;
use Source::{Printed, Stored};

/// The folder of the pictures.
const FOLDER: &str = "docs/pictures";

/// The map of the crates.
pub(crate) const MAP_OF_CRATES: &str = "docs/pictures/crates.svg";

/// A picture: the name of its file, the records that it shows, and their drawing.
struct Picture {
    file: &'static str,
    records: &'static [Source],
    draw: fn(&[Vec<Record>]) -> Result<String>,
}

/// The origin of records.
enum Source {
    /// A command of the program.
    Printed(&'static str),
    /// A file, for records of a measurement.
    Stored(&'static str),
}

const PICTURES: [Picture; 5] = [
    Picture {
        file: "access-map.svg",
        records: &[
            Printed("run trace limit=50% format=x86-64 --trace sqlite-orders"),
            Printed("trace curve sqlite-orders --limit 10%..100%:10% --policy classic,mglru,min"),
        ],
        draw: access_map::draw,
    },
    Picture {
        file: "more-memory.svg",
        records: &[Printed(
            "trace curve sqlite-orders --limit 42%..54%:2% --policy classic,mglru,min",
        )],
        draw: curve::draw,
    },
    Picture {
        file: "stages.svg",
        records: &[Printed(
            "compare reclaim-file order=4 size=4MiB --ground model --draws 0 \
             --platform kunpeng-920-class",
        )],
        draw: stages::draw,
    },
    Picture {
        file: "free-before-flush.svg",
        records: &[Printed("check --exhibit free-before-flush --format arm64-small-4")],
        draw: sequence::draw,
    },
    Picture {
        file: "observe.svg",
        records: &[Stored("docs/pictures/observe.json")],
        draw: hidden::draw,
    },
];

pub(crate) use crates::draw as map_of_crates;

/// Draws every picture again.
pub(crate) fn run() -> Result<()> {
    let folder = cmd::root().join(FOLDER);
    fs::create_dir_all(&folder)?;
    fs::write(cmd::root().join(MAP_OF_CRATES), map_of_crates(&Workspace::read()?))?;
    for (file, drawn) in all()? {
        fs::write(folder.join(&file), drawn)?;
        println!("{FOLDER}/{file}");
    }
    Ok(())
}

/// Checks that the stored pictures show what the program prints.
pub(crate) fn test() -> Result<()> {
    let stored = |file: &str| fs::read_to_string(cmd::root().join(FOLDER).join(file)).ok();
    let stale: Vec<String> = all()?
        .into_iter()
        .filter(|(file, drawn)| stored(file).as_ref() != Some(drawn))
        .map(|(file, _)| file)
        .collect();
    if !stale.is_empty() {
        bail!("run `cargo xtask pictures`: {} would change", stale.join(", "));
    }
    Ok(())
}

fn all() -> Result<Vec<(String, String)>> {
    let program = cmd::program_of_tests()?;
    let mut all = Vec::new();
    for Picture { file, records, draw } in PICTURES {
        let records = records.iter().map(|source| source.records(&program));
        let records = records.collect::<Result<Vec<Vec<Record>>>>()?;
        all.push((file.to_owned(), draw(&records).with_context(|| file.to_owned())?));
    }
    Ok(all)
}

/// Returns the first value of a record's metric.
fn value(record: &Record, name: &str) -> Result<f64> {
    let values = record.metric(name).map(|metric| &metric.values);
    values.and_then(|values| values.first()).copied().with_context(|| name.to_owned())
}

impl Source {
    fn records(&self, program: &Path) -> Result<Vec<Record>> {
        let (Printed(name) | Stored(name)) = self;
        let text = match self {
            Printed(words) => {
                let mut pageout = cmd::program(program);
                cmd::output(pageout.args(words.split_whitespace()).arg("--json"))?
            }
            Stored(path) => fs::read_to_string(cmd::root().join(path))?,
        };
        let file = RecordFile::from_json(&text).with_context(|| (*name).to_owned())?;
        Ok(file.sets.into_iter().flat_map(|set| set.records).collect())
    }
}

//! `cargo xtask pictures`: the pictures of the book, drawn from what the tree has and what the
//! program prints.
//!
//! Each picture is an SVG file in `docs/pictures`, and is listed beside those of its subject. No
//! figure is written by hand: a test draws all again. Colours follow the reader's light or dark
//! scheme.

mod axis;
mod bars;
mod bits;
mod boxes;
mod crates;
mod data;
mod dots;
mod heat;
mod lanes;
mod lines;
mod map;
mod svg;

mod of_engine;
mod of_kernels;
mod of_model;
mod of_races;
mod of_traces;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::cmd;
use crate::tidy::Workspace;
pub(crate) use crates::draw as map_of_crates;
use data::{Picture, Texts};

/// The folder of the pictures.
const FOLDER: &str = "docs/pictures";

/// The map of the crates.
pub(crate) const MAP_OF_CRATES: &str = "docs/pictures/crates.svg";

fn pictures() -> impl Iterator<Item = &'static Picture> {
    let subjects = [
        of_engine::PICTURES,
        of_kernels::PICTURES,
        of_model::PICTURES,
        of_races::PICTURES,
        of_traces::PICTURES,
    ];
    subjects.into_iter().flatten()
}

/// Draws every picture again.
pub(crate) fn run() -> Result<()> {
    fs::create_dir_all(cmd::root().join(FOLDER))?;
    for (file, drawn) in all()? {
        fs::write(cmd::root().join(&file), drawn)?;
        println!("{file}");
    }
    Ok(())
}

/// Checks that the stored pictures are those that would be drawn.
pub(crate) fn test() -> Result<()> {
    let is_stale = |file: &str, drawn: &str| {
        fs::read_to_string(cmd::root().join(file)).ok().as_deref() != Some(drawn)
    };
    let all = all()?.into_iter();
    let stale: Vec<String> =
        all.filter(|(file, drawn)| is_stale(file, drawn)).map(|(file, _)| file).collect();
    if !stale.is_empty() {
        bail!("run `cargo xtask pictures`: {} would change", stale.join(", "));
    }
    Ok(())
}

/// Returns the path of each picture, with its text.
fn all() -> Result<Vec<(String, String)>> {
    let sources = pictures().flat_map(|picture| picture.from).copied();
    let texts = Texts::of(sources, &cmd::program_of_tests()?)?;
    let mut all = vec![(MAP_OF_CRATES.to_owned(), map_of_crates(&Workspace::read()?))];
    for Picture { file, draw, .. } in pictures() {
        let drawn = draw(&texts).with_context(|| (*file).to_owned())?;
        all.push((format!("{FOLDER}/{file}"), drawn.done()));
    }
    Ok(all)
}

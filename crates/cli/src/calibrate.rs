//! `calibrate`: this machine's prices.

use crate::args::CalibrateArgs;
use crate::error::CliError;
use crate::model::platform_with_text;
use crate::{output, paths, progress};
use pageout_calibrate as prices;
use pageout_calibrate::{Calibration, Effort, Figure, Like};
use pageout_machine::platform::{Architecture, Platform, Price};
use pageout_record::render::{Align, Grid};

use std::path::Path;

/// What a platform is called that has no file.
const UNNAMED: &str = "this-machine";

pub(crate) fn calibrate(args: &CalibrateArgs) -> Result<(), CliError> {
    if let Some(like) = &args.like {
        paths::named("platform", Path::new(like), Platform::names())?;
    }
    output::check(&[args.output.as_deref()], &[args.like.as_deref().map(Path::new)])?;
    let like = like(args.like.as_deref())?;
    let mut cpus = prices::cores().map_err(CliError::Cpus)?;
    if let Some(asked) = args.cores.map(usize::from) {
        if asked > cpus.len() {
            return Err(CliError::TooFewCores { asked, there: cpus.len() });
        }
        cpus.truncate(asked);
    }
    let effort = if args.quick { Effort::QUICK } else { Effort::FULL };
    let bar = progress::bar("measuring");
    let architecture = like.platform().architecture();
    let mut steps = progress::steps(&bar);
    let calibration = prices::calibrate(effort, &cpus, architecture, &mut steps)?;
    bar.finish_and_clear();
    if let Some(path) = &args.output {
        let file = prices::file(&name(path), &calibration, &like);
        output::to(Some(path), file.as_bytes())?;
    }
    output::print_text(&text(&calibration, &like))
}

/// The platform whose figures are taken where nothing was measured.
fn like(word: Option<&str>) -> Result<Like, CliError> {
    let server = match prices::architecture() {
        Some(Architecture::Arm64) => Some("arm64-server-32-class"),
        Some(Architecture::X86) => Some("x86-server-class"),
        Some(Architecture::Riscv) | None => None,
    };
    let word = word.or(server).ok_or(CliError::NoPlatformLikeThis)?;
    let (platform, text) = platform_with_text(word)?;
    Ok(Like::new(platform, text)?)
}

/// The platform's name, after its file.
fn name(path: &Path) -> String {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(UNNAMED).to_owned()
}

fn text(calibration: &Calibration, like: &Like) -> String {
    let Calibration { cpu, cores, .. } = calibration;
    let cores = if *cores == 1 { "one core".to_owned() } else { format!("{cores} cores") };
    format!(
        "Prices of {cpu}, measured on {cores}; median, and 5th to 95th percentile\n\n{}\n\
         What else was seen, no price of the model\n\n{}",
        prices(calibration, like),
        seen(calibration),
    )
}

fn prices(calibration: &Calibration, like: &Like) -> Grid {
    let columns = [("price", Align::Left), ("value", Align::Right), ("range", Align::Left)];
    let more = [("n", Align::Right), ("how", Align::Left)];
    let mut grid = Grid::new(columns.into_iter().chain(more));
    for quote in like.platform().quotes() {
        let measured = calibration.prices.iter().find(|price| price.name == quote.name);
        match measured {
            Some(price) => {
                let (figure, how) = (price.figure, price.how.clone());
                let name = price.name.to_owned();
                grid.row([name, ns(figure.median), range(figure), figure.n.to_string(), how]);
            }
            None => {
                let reason = calibration.left_out.iter().find(|(name, _)| *name == quote.name);
                let reason = reason.map_or("not measured", |(_, reason)| reason);
                let basis = quote.provenance.basis.name();
                let how = format!("{reason}; as {}, {basis}", like.platform().name());
                let (value, range) = given(quote);
                grid.row([quote.name.to_owned(), value, range, String::new(), how]);
            }
        }
    }
    grid
}

/// A price in the unit in which its platform gives it.
fn given(quote: &Price) -> (String, String) {
    let unit = quote.unit.name();
    let of = |base: u64| base as f64 / quote.unit.in_base() as f64;
    let range = format!("{} to {}", of(quote.low), of(quote.high));
    (format!("{} {unit}", of(quote.value)), range)
}

fn seen(calibration: &Calibration) -> Grid {
    let columns = [("what", Align::Left), ("median", Align::Right), ("range", Align::Left)];
    let mut grid = Grid::new(columns);
    for seen in &calibration.seen {
        grid.row([seen.what.clone(), ns(seen.figure.median), range(seen.figure)]);
    }
    for (level, pages) in ["first", "second"].iter().zip(calibration.reach) {
        let pages = pages.map_or_else(|| "does not show".to_owned(), |n| format!("{n} pages"));
        grid.row([format!("reach of the {level} TLB level, about"), pages, String::new()]);
    }
    grid
}

fn range(figure: Figure) -> String {
    format!("{} to {}", digits(figure.low), digits(figure.high))
}

fn ns(value: f64) -> String {
    format!("{} ns", digits(value))
}

/// Three digits, or as many as stand before the point.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_platforms_are_named_after_their_files() {
        let shown = [0.314, 9.994, 9.996, 42.31, 99.96, 12_345.6, -3.0].map(digits);
        assert_eq!(shown, ["0.31", "9.99", "10.0", "42.3", "100", "12346", "-3.00"]);
        assert_eq!(name(Path::new("a/mine.toml")), "mine");
    }
}

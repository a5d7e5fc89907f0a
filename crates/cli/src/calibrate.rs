//! `calibrate`: this machine's prices.

use crate::args::CalibrateArgs;
use crate::error::CliError;
use crate::{output, paths, predict, progress, terminal};
use pageout_calibrate as prices;
use pageout_calibrate::{Calibration, Effort, Figure, Like, Seen};
use pageout_machine::platform::{Architecture, Platform, Price};
use pageout_record::render::{Align, Grid, estimate, exact};
use pageout_run::platform_with_text;

use std::path::Path;

/// The name of a platform without a file.
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
    let mut calibration = prices::calibrate(effort, &cpus, architecture, &mut steps)?;
    bar.finish_and_clear();
    let work = predict::work_prices();
    let named = work.as_ref().map_or_else(|_| Vec::new(), |prices| prices.named().to_vec());
    let seen = named.into_iter().map(|(what, figure)| Seen { what: what.to_owned(), figure });
    calibration.seen.extend(seen);
    if let Some(path) = &args.output {
        let file = prices::file(&name(path), &calibration, &like);
        output::to(Some(path), file.as_bytes())?;
    }
    output::print_text(&text(&calibration, &like, terminal::columns()))?;
    work.map_or_else(
        |error| output::print_text(&format!("No prices of work: {error}\n")),
        |_| Ok(()),
    )
}

/// Returns the platform whose figures are taken for those that are not measured.
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

/// Returns the platform's name, which is its file's.
fn name(path: &Path) -> String {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(UNNAMED).to_owned()
}

fn text(calibration: &Calibration, like: &Like, columns: usize) -> String {
    let Calibration { cpu, cores, .. } = calibration;
    let cores = if *cores == 1 { "one core".to_owned() } else { format!("{cores} cores") };
    format!(
        "Prices of {cpu}, measured on {cores}; median, and 5th to 95th percentile\n\n{}\n\
         What else was seen, no price of the model\n\n{}",
        prices(calibration, like).text(columns),
        seen(calibration).text(columns),
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
                let [value, range] = in_ns(price.figure);
                let (name, n) = (price.name.to_owned(), price.figure.n.to_string());
                grid.row([name, value, range, n, price.how.clone()]);
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

/// Writes a price in the unit in which its platform gives it.
fn given(quote: &Price) -> (String, String) {
    let unit = quote.unit.name();
    let of = |base: u64| base as f64 / quote.unit.in_base() as f64;
    let range = format!("{} to {}", exact(of(quote.low)), exact(of(quote.high)));
    (format!("{} {unit}", exact(of(quote.value))), range)
}

fn seen(calibration: &Calibration) -> Grid {
    let columns = [("what", Align::Left), ("median", Align::Right), ("range", Align::Left)];
    let mut grid = Grid::new(columns);
    for seen in &calibration.seen {
        let [median, range] = in_ns(seen.figure);
        grid.row([seen.what.clone(), median, range]);
    }
    for (level, pages) in ["first", "second"].iter().zip(calibration.reach) {
        let pages = pages
            .map_or_else(|| "does not show".to_owned(), |n| format!("{} pages", exact(n as f64)));
        grid.row([format!("reach of the {level} TLB level, about"), pages, String::new()]);
    }
    grid
}

/// Writes the median and the range of a measurement.
fn in_ns(figure: Figure) -> [String; 2] {
    let [median, low, high] = estimate(figure.median, [figure.low, figure.high]);
    [format!("{median} ns"), format!("{low} to {high}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_named_after_their_files() {
        assert_eq!(name(Path::new("a/mine.toml")), "mine");
    }
}

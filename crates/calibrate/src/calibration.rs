//! All kinds of measurement, one after another.

use super::effort::Effort;
use super::prices::{Priced, Raw, Seen};
use super::rounds::Repeat;
use super::{cpus, kernel, lines, loads, shootdown};
use pageout_experiment::this_machine;
use pageout_machine::platform::{Architecture, Prices};
use std::io;

/// The results of all measurements.
#[derive(Debug)]
pub struct Calibration {
    /// The CPU's name, as the kernel reports it.
    pub cpu: String,
    /// The number of cores that were measured on.
    pub cores: usize,
    /// Prices.
    pub prices: Vec<Priced>,
    /// Other measurements, which are no prices of the model.
    pub seen: Vec<Seen>,
    /// The pages whose translations each level of the TLB holds; `None` if it does not show.
    pub reach: [Option<usize>; 2],
    /// Prices that were not measured here, with the reason.
    pub left_out: Vec<(&'static str, String)>,
}

/// The reason why no measurement was made.
#[derive(Debug, thiserror::Error)]
#[error("cannot measure {what}")]
pub struct CalibrateError {
    what: &'static str,
    source: io::Error,
}

/// The number of kinds of measurement. Each has its own rounds.
const KINDS: usize = 4;

/// Measures the prices of the architecture on the given CPUs, the first of which this thread takes
/// meanwhile. Calls `progress` with the number of steps done and of all steps.
///
/// # Errors
/// [`CalibrateError`] if the kernel refuses memory or a CPU.
///
/// # Panics
/// If no CPU is given.
pub fn calibrate(
    effort: Effort,
    cpus: &[usize],
    architecture: Architecture,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Calibration, CalibrateError> {
    let (own, others) = cpus.split_first().expect("a CPU to measure on");
    let effort = effort.within_memory();
    let mut rounds = Repeat::new(effort, KINDS, progress);
    let failed = |what| move |source| CalibrateError { what, source };

    let _pinned = cpus::Pinned::to(*own).map_err(failed("on the first CPU"))?;
    let loads = loads::measure(&effort, rounds.kind(0)).map_err(failed("loads"))?;
    let lines = lines::measure(others, rounds.kind(1)).map_err(failed("other cores' lines"))?;
    let kernel = kernel::measure(&effort, *own, rounds.kind(2)).map_err(failed("the kernel"))?;
    let shootdowns = shootdown::measure(others, rounds.kind(3)).map_err(failed("invalidations"))?;

    let cpu = this_machine::cpu();
    let raw = Raw { effort, loads, lines, kernel, shootdowns };
    let (mut prices, mut left_out) = raw.prices();
    let has = |name| Prices::names(architecture).any(|own| own.name == name);
    prices.retain(|price| has(price.name));
    left_out.retain(|(name, _)| has(name));
    let (seen, reach) = (raw.seen(), raw.reach());
    Ok(Calibration { cpu, cores: cpus.len(), prices, seen, reach, left_out })
}

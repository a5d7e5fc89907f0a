//! The whole of a scenario at different prices: each run moves one price and keeps all others. The
//! records of a base and a variant then show from which price on the variant pays.

use crate::{Model, ModelRun, Scenario};
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::metrics::machine::{
    ALONG_ATOMIC, ALONG_FLUSH_ARM64, ALONG_FLUSH_X86, ALONG_INSTRUCTION, ATOMIC_PRICE, FLUSH_ARM64,
    FLUSH_X86, INSTRUCTION_PRICE,
};
use pageout_experiment::spread::spread;
use pageout_experiment::variant::Variant;
use pageout_machine::platform::{Architecture, Draw, Lever};
use pageout_record::schema::{Axis, Line, Metric, Record, Series};
use pageout_record::stats::{Interval, Kind};
use std::collections::{BTreeMap, BTreeSet};

/// The ends of the search, in millionths of the price: zero, and a hundred times the price.
const ENDS: [u64; 2] = [0, 100 * Draw::ONE];

/// The maximum number of rounds of the search for one break-even price.
const ROUNDS: u32 = 12;

/// The precision of a break-even price: one part in this many.
const FINE: u64 = 1000;

/// The distance from the wanted gain that counts as none, as a share of the base's whole.
const CLOSE: f64 = 1e-5;

/// The search for one scenario and one price, under all variants. The first variant is the base.
struct Search {
    /// The index of the scenario.
    one: usize,
    lever: Lever,
    /// The gain asked for, as a share of the base's whole.
    least_gain: f64,
    /// For each variant, the whole by millionths of the price.
    curves: Vec<BTreeMap<u64, f64>>,
}

/// The runs that a search needs: pairs of variant and millionths.
type Needed = BTreeSet<(usize, u64)>;

/// Adds to records of [`Scenario::records`] the prices that can be moved, with their ranges, and
/// the whole at each value. Searches for the price at which a variant gains `least_gain` per cent
/// over the first one.
pub(crate) fn add<S: Scenario>(
    all: &[S],
    variants: &[Variant],
    model: &Model,
    least_gain: f64,
    records: &mut [Record],
    progress: &mut dyn FnMut(usize, usize),
) {
    let nominal = |one: usize, variant: usize| {
        let record = &records[one * variants.len() + variant];
        let whole = record.metric(S::WHOLE.name);
        whole.expect("a record has what its scenario is judged by").values[0]
    };
    let search = |one| {
        let curve = move |variant| BTreeMap::from([(Draw::ONE, nominal(one, variant))]);
        Lever::ALL.map(|lever| Search {
            one,
            lever,
            least_gain: least_gain / 100.0,
            curves: (0..variants.len()).map(curve).collect(),
        })
    };
    let mut searches: Vec<Search> = (0..all.len()).flat_map(search).collect();
    for round in 0..ROUNDS {
        let needed = searches.iter().map(|search| search.needed(round)).enumerate();
        let needed: Vec<(usize, usize, u64)> = needed
            .flat_map(|(search, needed)| needed.into_iter().map(move |(v, at)| (search, v, at)))
            .collect();
        if needed.is_empty() {
            break;
        }
        let wholes = spread(needed.len(), model.threads, progress, |k| {
            let (search, variant, at) = needed[k];
            let Search { one, lever, .. } = searches[search];
            let run = ModelRun { draw: Draw::Moved(lever, at), seed: model.seed };
            S::whole(&all[one].run(model, variants[variant], run))
        });
        for ((search, variant, at), whole) in needed.into_iter().zip(wholes) {
            searches[search].curves[variant].insert(at, whole);
        }
    }
    for search in &searches {
        for variant in 0..variants.len() {
            let record = &mut records[search.one * variants.len() + variant];
            record.metrics.extend(search.metrics(&all[search.one], variant, model));
        }
    }
}

impl Search {
    /// Returns the next runs; none once every break-even price is known.
    fn needed(&self, round: u32) -> Needed {
        if round == 0 {
            return (0..self.curves.len()).flat_map(|v| ENDS.map(|end| (v, end))).collect();
        }
        let mut needed = Needed::new();
        for variant in 1..self.curves.len() {
            for at in self.between(variant, round) {
                needed.extend([(0, at), (variant, at)]);
            }
        }
        needed.retain(|(variant, at)| !self.curves[*variant].contains_key(at));
        needed
    }

    /// Returns the next values between two values of which the variant pays at only one: where
    /// straight lines would cross, and in every second round the middle.
    fn between(&self, variant: usize, round: u32) -> Vec<u64> {
        let ahead = self.ahead(variant);
        let pairs = ahead.windows(2).filter_map(|pair| {
            let [(low, less), (high, more)] = [pair[0], pair[1]];
            if less * more >= 0.0 || high - low <= (low / FINE).max(1) {
                return None;
            }
            let share = if round % 2 == 1 { less / (less - more) } else { 0.5 };
            let at = low + ((high - low) as f64 * share) as u64;
            Some(at.clamp(low + 1, high - 1))
        });
        pairs.collect()
    }

    /// Returns by how much the variant's gain exceeds the wanted one, by millionths of the price,
    /// where both were run. Tiny differences become 0.
    fn ahead(&self, variant: usize) -> Vec<(u64, f64)> {
        let [base, other] = [0, variant].map(|variant| &self.curves[variant]);
        let share = |(at, base): (&u64, &f64)| {
            let ahead = 1.0 - other.get(at)? / base - self.least_gain;
            Some((*at, if ahead.abs() < CLOSE { 0.0 } else { ahead }))
        };
        base.iter().filter_map(share).collect()
    }

    /// Returns the price with its range, and the whole at its values.
    fn metrics<S: Scenario>(&self, of: &S, variant: usize, model: &Model) -> [Metric; 2] {
        let platform = of.platform();
        let (cores, lever) = (model.shape(platform).cores, self.lever);
        let price = |draw| lever.time(&platform.prices(draw), cores).ns();
        let [low, high] = platform.range_of(lever, cores).map(|time| time.ns());
        let interval = Interval { kind: Kind::Draws, low, high, level: 0.9 };
        let (spec, along) = specs(lever, platform.architecture());
        let nominal = spec.one(price(Draw::Nominal));
        let mut places: Vec<(f64, f64)> = Vec::new();
        for (at, whole) in &self.curves[variant] {
            let place = price(Draw::Moved(lever, *at));
            // Prices are whole picoseconds, so neighbours may be equal.
            if places.last().is_none_or(|(last, _)| *last < place) {
                places.push((place, *whole));
            }
        }
        let line = Line {
            name: S::WHOLE.name.to_owned(),
            values: places.iter().map(|p| Some(p.1)).collect(),
        };
        let series = Series {
            x: Axis::new(spec.name, spec.unit),
            at: places.iter().map(|place| place.0).collect(),
            lines: vec![line],
            stacked: false,
        };
        let along = along.per(S::WHOLE.unit).of(&[]);
        [
            Metric { interval: Some(interval), ..nominal },
            Metric { series: Some(Box::new(series)), ..along },
        ]
    }
}

/// Returns the metrics of a lever: its price, and the whole along it.
const fn specs(lever: Lever, architecture: Architecture) -> (MetricSpec, MetricSpec) {
    match (lever, architecture) {
        (Lever::Flush, Architecture::Arm64) => (FLUSH_ARM64, ALONG_FLUSH_ARM64),
        (Lever::Flush, _) => (FLUSH_X86, ALONG_FLUSH_X86),
        (Lever::Instruction, _) => (INSTRUCTION_PRICE, ALONG_INSTRUCTION),
        (Lever::Atomic, _) => (ATOMIC_PRICE, ALONG_ATOMIC),
    }
}

#[cfg(test)]
mod tests;

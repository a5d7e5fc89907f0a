//! What scenario `thpscale` says of S2's table.

use super::answer::{Answer, Quantity, drawn, ratio_of};
use super::effort::Effort;
use super::method::Told;
use pageout_experiment::fields::FieldError;
use pageout_experiment::metrics::MetricSpec;
use pageout_experiment::scenarios::Compared;
use pageout_experiment::scenarios::metrics::thpscale::{AMEAN, ELAPSED, SYSTEM, USER};
use pageout_experiment::spread::host_threads;
use pageout_machine::platform::Platform;
use pageout_model::thpscale::Thpscale;
use pageout_model::{Model, Scenario as _};
use pageout_record::schema::Record;

/// The scenario's records, of each number of threads before and after.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<Record>);

const HOW: &str = "scenario thpscale in about 256 MiB; the interval is the least and the most of \
    few draws";

/// A value at nominal prices, and those of draws.
type Values = (f64, Vec<f64>);

impl Runs {
    /// Runs all rows on a platform.
    ///
    /// # Errors
    /// [`FieldError`] if the platform has other page tables than the thread's.
    pub(super) fn gather(
        platform: Platform,
        effort: Effort,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, FieldError> {
        let model = Model {
            platform: Some(platform),
            cores: None,
            draws: effort.modelled,
            runs: 1,
            seed: 1,
            threads: host_threads(),
        };
        let all = Thpscale::rows_near(effort.memory, &model)?;
        Ok(Self(Thpscale::records(&all, &Compared::YOUNG_FLUSH, &model, progress)))
    }

    /// What they say of a row.
    ///
    /// # Errors
    /// If it did not run.
    pub(super) fn answer(&self, told: Told) -> Result<Answer, String> {
        let (metric, threads) = match told {
            Told::Slots(threads) => (AMEAN, Some(threads)),
            Told::User => (USER, None),
            Told::System => (SYSTEM, None),
            Told::Elapsed => (ELAPSED, None),
        };
        let ends = self.sum(metric, threads, 0).zip(self.sum(metric, threads, 1));
        let (before, after) = ends.ok_or("the scenario was not run")?;
        let mut quantities = Vec::new();
        // How long all of it takes depends on how much memory there is.
        if threads.is_some() {
            quantities.extend([quantity("before", &before), quantity("after", &after)]);
        }
        quantities.push(ratio_of(&before, &after));
        Ok(Answer::modelled(HOW, quantities))
    }

    /// A metric before (0) or after (1), of one number of threads or summed over all.
    fn sum(&self, metric: MetricSpec, threads: Option<u32>, which: usize) -> Option<Values> {
        let threads = threads.map(|threads| threads.to_string());
        let these = self.0.chunks(2).map(|pair| &pair[which]);
        let these = these.filter(|record| {
            threads.as_ref().is_none_or(|threads| record.fields["threads"] == *threads)
        });
        let mut all: Option<Values> = None;
        for record in these {
            let of = |name: &str| {
                let metric = record.metrics.iter().find(|metric| metric.name == name);
                metric.map(|metric| metric.values.clone())
            };
            let (nominal, draws) =
                (of(metric.name)?[0], of(&metric.drawn_name()).unwrap_or_default());
            let (sum, sums) = all.get_or_insert_with(|| (0.0, vec![0.0; draws.len()]));
            *sum += nominal;
            sums.iter_mut().zip(draws).for_each(|(sum, draw)| *sum += draw);
        }
        all
    }
}

fn quantity(name: &'static str, (nominal, draws): &Values) -> Quantity {
    drawn(name, "us", *nominal, draws)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_experiment::metrics::labels;
    use pageout_record::schema::{Ground, Labels};

    fn record(threads: u32, nominal: f64, draws: [f64; 2]) -> Record {
        let metrics = [AMEAN, USER].into_iter();
        let metrics = metrics.flat_map(|metric| [metric.one(nominal), metric.of_draws(&draws)]);
        Record {
            scenario: pageout_experiment::scenarios::Scenario::Thpscale.name().to_owned(),
            ground: Ground::Model,
            seed: 1,
            fields: labels([("threads", threads.to_string())]),
            variant: Labels::new(),
            metrics: metrics.collect(),
        }
    }

    #[test]
    fn rows_are_found_by_threads_and_durations_are_sums() {
        let runs = Runs(vec![
            record(1, 10.0, [8.0, 12.0]),
            record(1, 5.0, [4.0, 3.0]),
            record(3, 30.0, [20.0, 40.0]),
            record(3, 15.0, [10.0, 10.0]),
        ]);
        let [.., ratio] = &runs.answer(Told::Slots(3)).unwrap().quantities[..] else { panic!() };
        let interval = |of: &Quantity| of.interval.map(|of| (of.low, of.high));
        // The two draws' ratios are 2 and 4.
        assert_eq!((ratio.values[0], interval(ratio)), (2.0, Some((2.1, 3.9))));
        let of = runs.answer(Told::User).unwrap().quantities;
        let [ratio] = &of[..] else { panic!("durations have no times: {of:?}") };
        assert_eq!((ratio.values[0], interval(ratio)), (2.0, Some((2.1, 3.9))));
        assert!(runs.answer(Told::Slots(5)).is_err());
        assert!(runs.answer(Told::Elapsed).is_err());
    }
}

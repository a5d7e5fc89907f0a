//! The roles of all scenarios' metrics.

use super::Scenario;
use super::metrics::machine::{
    BARRIERS, BROADCASTS, INSTRUCTION_TIME, INTERRUPTS, LOCAL, LOCAL_FLUSHES, TABLE_TIME,
};
use super::metrics::reclaim_file::{FLUSHING, INSTRUCTIONS, TABLE_OPERATIONS};
use crate::metrics::MetricSpec;
use pageout_record::compare::{Cause, Declarations};

/// Declares every scenario on each of its grounds.
pub fn declare(to: &mut Declarations) {
    for scenario in Scenario::ALL {
        for form in scenario.forms() {
            let metrics = form.metrics.iter().flat_map(MetricSpec::roles);
            to.declare(scenario.name(), form.ground, metrics);
        }
    }
    to.causes_of_wholes(CAUSES.map(|(time, counts)| Cause {
        time: time.name.to_owned(),
        counts: counts.iter().map(|count| count.name.to_owned()).collect(),
    }));
}

/// The times that add up to modelled wholes, each with the metrics that count its causes.
const CAUSES: [(MetricSpec, &[MetricSpec]); 3] = [
    (INSTRUCTION_TIME, &[INSTRUCTIONS]),
    (FLUSHING, &[BROADCASTS, INTERRUPTS, BARRIERS, LOCAL, LOCAL_FLUSHES]),
    (TABLE_TIME, &[TABLE_OPERATIONS]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use pageout_record::compare::Role;
    use pageout_record::schema::Better;

    #[test]
    fn every_form_of_a_scenario_is_judged_by_one_whole() {
        for scenario in Scenario::ALL {
            for form in scenario.forms() {
                let wholes = form.metrics.iter().filter(|metric| metric.role == Role::Whole);
                let [whole] = wholes.collect::<Vec<_>>()[..] else {
                    panic!("{} on {} has not one whole", scenario.name(), form.ground)
                };
                assert_ne!(whole.better, Better::Neither, "{}", whole.name);
                let parts = form.metrics.iter().filter(|metric| metric.role == Role::Part);
                parts.for_each(|part| assert_eq!(part.unit, whole.unit, "{}", part.name));
            }
        }
    }

    #[test]
    fn no_metric_has_two_roles_on_a_ground() {
        declare(&mut Declarations::default());
    }
}

//! The common names of the steps that kernels took, and of ours.

use super::{Axes, Lru, Variant};
use pageout_paging::young::YoungAlgorithm;
use pageout_record::compare::{Declarations, Name};

/// A variant with its name, for scenarios on which these axes bear.
struct Step {
    name: &'static str,
    about: &'static str,
    axes: Axes,
    variant: Variant,
}

const fn step(name: &'static str, about: &'static str, axes: Axes, variant: Variant) -> Step {
    Step { name, about, axes, variant }
}

const BEFORE: &str = "before";
const LINE: &str = "line";
const UNBATCHED: &str = "Linux 7.3 without its batches";
const MERGED: &str = "Linux 7.3";
const OURS: &str = "ours: eight entries a step";

/// Every step: on active and inactive lists, on generations, and in scenarios that only age.
const STEPS: [Step; 10] = [
    step(BEFORE, UNBATCHED, Axes::Reclaim, Variant::BEFORE),
    step("batched young", "", Axes::Reclaim, Variant::STEPS[0]),
    step("+ batched unmap", MERGED, Axes::Reclaim, Variant::STEPS[1]),
    step(LINE, OURS, Axes::Reclaim, Variant::STEPS[2]),
    step(BEFORE, UNBATCHED, Axes::Reclaim, Variant::MGLRU_BEFORE),
    step("batched", MERGED, Axes::Reclaim, Variant::MGLRU_STEPS[0]),
    step(LINE, OURS, Axes::Reclaim, Variant::MGLRU_STEPS[1]),
    step(BEFORE, UNBATCHED, Axes::Aging, Variant::UNBATCHED_AGING),
    step("batched", MERGED, Axes::Aging, Variant::of(YoungAlgorithm::Batched)),
    step(LINE, OURS, Axes::Aging, Variant::of(YoungAlgorithm::Line)),
];

/// Declares the names of the steps.
pub fn declare(to: &mut Declarations) {
    to.name(STEPS.iter().map(|step| Name {
        name: step.name.to_owned(),
        variant: step.variant.labels(step.axes),
        about: step.about.to_owned(),
    }));
}

/// Returns the names, each once.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for step in &STEPS {
        if !names.contains(&step.name) {
            names.push(step.name);
        }
    }
    names
}

/// Returns the variant that a name stands for on these lists. `batched` is the merged state,
/// whether a scenario reclaims or only ages.
pub(super) fn named(name: &str, lru: Lru) -> Option<Variant> {
    let fits = |step: &&Step| step.name == name && step.variant.lru == lru;
    STEPS.iter().find(fits).map(|step| step.variant)
}

/// Returns the name of a variant when all axes bear on a scenario.
pub fn name_of(variant: Variant) -> Option<&'static str> {
    let fits = |step: &&Step| step.axes == Axes::Reclaim && step.variant == variant;
    STEPS.iter().find(fits).map(|step| step.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_variant_that_it_is_declared_for() {
        let mut declared = Declarations::default();
        declare(&mut declared);
        for step in &STEPS {
            let variant = named(step.name, step.variant.lru).expect("a name");
            assert_eq!(variant.labels(step.axes), step.variant.labels(step.axes), "{}", step.name);
            let found = declared.name_of(&step.variant.labels(step.axes));
            assert_eq!(found.map(|name| &*name.name), Some(step.name));
        }
    }

    #[test]
    fn names_are_read_as_variants() {
        let read = |lru, text| Variant::parse_on(lru, text);
        assert_eq!(read(None, "before"), Ok(Variant::BEFORE));
        assert_eq!(read(None, "+ batched unmap"), Ok(Variant::STEPS[1]));
        assert_eq!(read(Some(Lru::Mglru), "before"), Ok(Variant::MGLRU_BEFORE));
        assert_eq!(read(Some(Lru::Mglru), "batched"), Ok(Variant::MGLRU_STEPS[0]));
        let refused = read(None, "after").unwrap_err().to_string();
        assert!(refused.contains("before, batched young, + batched unmap, line"), "{refused}");
    }
}

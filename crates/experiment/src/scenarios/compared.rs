//! The variants that are compared of a scenario by default.

use crate::variant::{FLUSHES, Lru, Variant};
use pageout_paging::young::YoungAlgorithm;
use pageout_reclaim::FlushTiming;

/// The set of variants that are compared of a scenario if none are named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    /// The algorithms of young checks, with `per-entry` as the base.
    Algorithms,
    /// The steps that kernels took, and ours.
    Steps,
    /// Immediate shootdowns against deferred ones.
    Shootdown,
    /// Every flush after a young bit, on the lists asked for, or on both.
    Flushes,
}

impl Compared {
    /// The merged state with immediate and with deferred shootdowns.
    pub const SHOOTDOWN: [Variant; 2] =
        [merged(FlushTiming::Immediate), merged(FlushTiming::Deferred)];

    /// Returns the variants, the base first. They are on the lists `lru`, if it is given.
    pub fn variants(self, lru: Option<Lru>) -> Vec<Variant> {
        let here = lru.unwrap_or(Lru::Classic);
        let on = |variants: &[Variant]| variants.iter().map(|one| one.on(here)).collect();
        match self {
            Self::Algorithms => Variant::UNBATCHED_AGING.on(here).with_every_algorithm(),
            Self::Steps if here == Lru::Mglru => {
                [&[Variant::MGLRU_BEFORE][..], &Variant::MGLRU_STEPS].concat()
            }
            Self::Steps => [&[Variant::BEFORE][..], &Variant::STEPS].concat(),
            Self::Shootdown => on(&Self::SHOOTDOWN),
            Self::Flushes => flushes(lru),
        }
    }
}

fn flushes(lru: Option<Lru>) -> Vec<Variant> {
    let lists = lru.map_or_else(|| vec![Lru::Classic, Lru::Mglru], |lru| vec![lru]);
    let on =
        |lru| FLUSHES.map(|flush| Variant { flush, ..Variant::of(YoungAlgorithm::Line).on(lru) });
    lists.into_iter().flat_map(on).collect()
}

const fn merged(shootdown: FlushTiming) -> Variant {
    Variant { shootdown, ..Variant::of(YoungAlgorithm::Batched) }
}

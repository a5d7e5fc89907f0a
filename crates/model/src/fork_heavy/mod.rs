//! Scenario `fork-heavy`: shells that fork on every core, whose children write, protect, unmap and
//! exit, while their cgroup is reclaimed from: what deferring shootdowns costs those who then rely
//! on page tables.

mod run;
#[cfg(test)]
mod tests;

pub use run::Outcome;

use crate::{Model, Modelled, OnMachine, One, Scenario};
use pageout_experiment::declare::Declared;
use pageout_experiment::footprint::Footprint;
use pageout_experiment::formats::{Arch, FormatName, with_format};
use pageout_experiment::scenarios::{self, ForkHeavyLists};
use pageout_experiment::variant::Variant;
use pageout_host::layout::tables_of;
use pageout_machine::Report;
use pageout_reclaim::{Limits, MapAs};
use pageout_record::schema::{Labels, Metric};

/// The scenario on a modelled machine.
pub type ForkHeavy = OnMachine<scenarios::ForkHeavy>;

impl ForkHeavy {
    /// Shells on a machine of so many cores: the last core is the reclaiming task's.
    const fn shells(cores: u16) -> u16 {
        if cores == 1 { 1 } else { cores - 1 }
    }

    fn pages<F: Arch>(&self) -> usize {
        (self.bytes >> F::PAGE_SHIFT) as usize
    }

    fn limits<F: Arch>(&self, cores: u16) -> Limits {
        let shells = usize::from(Self::shells(cores));
        // A shell's and a child's, and what is not free yet.
        let pages = 3 * self.pages::<F>() * shells;
        Limits {
            frames: pages,
            folios: pages,
            // The child's is cut in pieces.
            vmas: 6 * shells,
            mms: 2 * shells,
            mappings: 2 * shells,
            memcgs: 1,
            slots: pages,
            filters: 4,
            ..Limits::NOTHING
        }
    }

    fn tables<F: Arch>(&self, cores: u16) -> usize {
        tables_of::<F>(self.pages::<F>(), 2 * u32::from(Self::shells(cores)), MapAs::Ptes)
    }
}

impl Modelled for scenarios::ForkHeavy {
    fn lists(model: &Model) -> ForkHeavyLists {
        ForkHeavyLists { format: model.formats(), ..Default::default() }
    }

    fn format(&self) -> FormatName {
        self.format
    }
}

impl Scenario for ForkHeavy {
    type Outcome = Outcome;
    const NAME: &'static str = scenarios::ForkHeavy::NAME;

    fn labels(&self, model: &Model) -> Labels {
        let mut all = Declared::labels(&**self);
        all.extend(model.labels(&self.platform));
        all
    }

    fn footprint(&self, model: &Model) -> Footprint {
        let cores = model.shape(&self.platform).cores;
        with_format!(self.format, F => {
            Footprint::of::<F>(&self.limits::<F>(cores), self.tables::<F>(cores))
        })
    }

    fn run(&self, model: &Model, variant: Variant, one: One) -> Outcome {
        with_format!(self.format, F => run::run::<F>(self, model, variant, one))
    }

    fn metrics(&self, nominal: &[Outcome], drawn: &[Outcome]) -> Vec<Metric> {
        run::metrics(nominal, drawn)
    }

    fn report(outcome: &Outcome) -> &Report {
        &outcome.between.after
    }
}

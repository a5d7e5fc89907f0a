//! Plans on modelled machines.

use crate::error::QuestionError;
use crate::inputs::Trace;
use crate::plan::Plan;
use crate::question::Question;
use crate::variants::{Variants, distinct};
use pageout_experiment::variant::{Axes, Variant};
use pageout_model::{Model, Scenarios, scenarios};
use pageout_record::schema::Record;
use std::num::NonZeroUsize;

/// Scenarios on modelled machines.
pub struct ModelPlan {
    all: Box<dyn Scenarios>,
    variants: Vec<Variant>,
    trace: Trace,
    model: Model,
}

impl ModelPlan {
    /// Plans a question.
    ///
    /// # Errors
    /// [`QuestionError`] for fields, and for variants that are the same.
    pub fn new(
        question: &Question,
        variants: &Variants,
        trace: &Trace,
        model: Model,
    ) -> Result<Self, QuestionError> {
        let all = scenarios(question.scenario, &question.fields, &trace.source, &model)?;
        let variants = variants.of(question.compared);
        distinct(&variants, Axes::Reclaim)?;
        Ok(Self { all, variants, trace: trace.clone(), model })
    }

    /// Returns the number of combinations of values.
    pub fn combinations(&self) -> usize {
        self.all.combinations()
    }

    /// Returns the plan with this many draws of prices.
    #[must_use]
    pub fn with_draws(mut self, draws: u32) -> Self {
        self.model.draws = draws;
        self
    }

    /// Adds the whole along each price to the plan's records, from which follow the prices from
    /// which on a variant gains more than `least_gain` per cent over the base.
    pub fn add_break_even(
        &self,
        least_gain: f64,
        records: &mut [Record],
        progress: &mut dyn FnMut(usize, usize),
    ) {
        self.all.add_break_even(&self.variants, &self.model, least_gain, records, progress);
    }

    /// Returns where the time of the first run under the base goes, as folded stacks in
    /// nanoseconds.
    ///
    /// # Errors
    /// [`QuestionError`] of a trace.
    pub fn folded(&self) -> Result<String, QuestionError> {
        let folded = self.all.folded(&self.model, self.variants[0]);
        folded.map_err(|error| self.trace.failed(error))
    }
}

impl Plan for ModelPlan {
    fn check_memory(&self, at_once: NonZeroUsize) -> Result<(), QuestionError> {
        let threads = self.model.threads.saturating_mul(at_once);
        let model = Model { threads, ..self.model.clone() };
        Ok(self.all.check_memory(self.variants.len() * at_once.get(), &model)?)
    }

    fn records(
        &self,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Record>, QuestionError> {
        let records = self.all.records(&self.variants, &self.model, progress);
        records.map_err(|error| self.trace.failed(error))
    }
}

//! Plans: their interface, which is independent of their ground.

use crate::error::QuestionError;
use crate::host::HostPlan;
use crate::inputs::Trace;
use crate::model::ModelPlan;
use crate::question::Question;
use crate::variants::Variants;
use pageout_experiment::rounds::Rounds;
use pageout_model::Model;
use pageout_record::schema::Record;
use std::num::NonZeroUsize;

/// Scenarios under variants, ready to run on their ground.
pub trait Plan {
    /// Checks that there is memory to run it `at_once` times at the same time, as far as the need
    /// is known.
    ///
    /// # Errors
    /// [`QuestionError::Field`] with what it needs and what there is.
    fn check_memory(&self, at_once: NonZeroUsize) -> Result<(), QuestionError>;

    /// Runs every scenario under every variant, and returns a record for each. `progress` gets the
    /// steps that are done, and the number of all steps.
    ///
    /// # Errors
    /// [`QuestionError`] of a trace.
    fn records(&self, progress: &mut dyn FnMut(usize, usize))
    -> Result<Vec<Record>, QuestionError>;
}

/// The way in which a ground runs a question.
#[derive(Clone, Debug)]
pub enum Setting {
    /// This CPU.
    Host {
        /// The seed of everything chosen at random.
        seed: u64,
        /// The number of rounds.
        rounds: Rounds,
        /// True to measure time by stage too.
        by_stage: bool,
    },
    /// A modelled machine.
    Model(Model),
}

/// Plans a question on its ground.
///
/// # Errors
/// [`QuestionError`] for values of fields that do not fit together, and for variants that are the
/// same to the scenario.
///
/// # Panics
/// If the scenario does not run on this ground, which [`Question::new`] refuses.
pub fn plan(
    question: &Question,
    variants: &Variants,
    trace: &Trace,
    setting: Setting,
) -> Result<Box<dyn Plan>, QuestionError> {
    Ok(match setting {
        Setting::Host { seed, rounds, by_stage } => {
            let plan = HostPlan::new(question, variants, trace, seed, rounds)?;
            Box::new(if by_stage { plan } else { plan.without_stages() })
        }
        Setting::Model(model) => Box::new(ModelPlan::new(question, variants, trace, model)?),
    })
}

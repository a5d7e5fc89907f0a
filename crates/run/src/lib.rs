//! The runner: a question about a scenario becomes a plan, which runs on the question's ground.
//!
//! - [`Question`]: a scenario with its fields, and [`Variants`];
//! - [`Plan`]: what runs, whatever the ground; [`plan`](plan()) is the one place that knows the
//!   grounds;
//! - [`Cells`]: runs the cells of sweeps;
//! - [`FlushSweep`]: the sweeps that come with the program, as cells.
#![forbid(unsafe_code)]

mod cells;
mod error;
mod flush;
mod host;
mod inputs;
mod model;
mod plan;
mod question;
mod variants;

pub use cells::Cells;
pub use error::{QuestionError, message, modelled_alone, unread, without_number};
pub use flush::{FlushSweep, Swept};
pub use host::HostPlan;
pub use inputs::{Trace, platform_of, platform_with_text};
pub use model::ModelPlan;
pub use plan::{Plan, Setting, plan};
pub use question::Question;
pub use variants::Variants;

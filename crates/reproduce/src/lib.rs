//! `reproduce`: one row for every figure of the threads. It has the thread's figure, ours, and the
//! kind of evidence that ours is.
#![forbid(unsafe_code)]

mod answer;
mod cause;
mod condition;
mod effort;
mod figure;
mod figures;
mod material;
mod method;
mod platforms;
mod predict;
pub mod published;
mod reclaim;
mod records;
mod rows;
mod score;
mod shootdowns;
mod split;
mod step;
mod table;
#[cfg(test)]
mod tests;

pub use effort::Effort;
pub use figure::{Certainty, Figure, Side, Theirs, Thread};
pub use method::{Arithmetic, Method, Policy, SharedQuantity, State, Steps, Test};
pub use score::{answer, score};
pub use table::table;

use figures::all;
use material::{Material, Needs};
use pageout_record::schema::Record;
use split::Class;

/// Answers the figures of a thread, or of all. There is one record for each figure as published,
/// with the reason if nothing here can answer it, and one for each line of ours. Of all threads,
/// only identified figures get lines, and ratios of S0 and S1 one more for each setting that the
/// threads leave open. Calls `progress` with the steps done and the most there can be.
pub fn reproduce(
    thread: Option<Thread>,
    effort: Effort,
    progress: &mut dyn FnMut(usize, usize),
) -> Vec<Record> {
    let asked = |figure: &&Figure| thread.is_none_or(|thread| figure.thread == thread);
    let figures: Vec<_> = all().filter(asked).collect();
    let of = |figure: &Figure| -> Vec<Method> {
        let methods = figure.methods.iter().copied();
        methods.filter(|method| thread.is_some() || scored(figure, *method)).collect()
    };
    let methods = || figures.iter().flat_map(|figure| of(figure));
    let needs = Needs {
        host: methods().any(|method| method.needs_host()),
        reclaim: methods().any(|method| method.needs_reclaim()),
        settings: thread.is_none(),
        shootdowns: methods().any(|method| matches!(method, Method::Shootdowns(_))),
    };
    let material = Material::gather(effort, needs, progress);
    let mut records = Vec::new();
    for figure in figures {
        let answers: Vec<_> =
            of(figure).iter().map(|method| method.answer(figure, &material)).collect();
        let mut whys: Vec<_> = answers.iter().filter_map(|one| one.clone().err()).collect();
        if answers.is_empty() {
            whys.extend(split::reason(figure.id));
        }
        records.push(records::theirs(figure, whys));
        records.extend(answers.iter().flatten().map(|answer| records::ours(figure, answer)));
        let otherwise =
            of(figure).into_iter().flat_map(|method| method.otherwise(figure, &material));
        records.extend(
            otherwise.map(|(setting, answer)| records::otherwise(figure, setting, &answer)),
        );
    }
    records
}

/// Returns true if the score of all threads needs the method's line: predictions of identified
/// figures, and instructions as a simpler prediction.
fn scored(figure: &Figure, method: Method) -> bool {
    split::class(figure.id) == Some(Class::Identified) && !method.needs_host()
}

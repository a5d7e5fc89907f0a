//! `reproduce`: every figure of the threads beside ours.

use crate::args::ReproduceArgs;
use crate::error::CliError;
use crate::this_run::this_run;
use crate::{output, progress};
use pageout_record::schema::{Labels, RecordSet};
use pageout_reproduce as threads;
use pageout_reproduce::Effort;

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<(), CliError> {
    output::check(&args.output.paths(), &[])?;
    let effort = if args.quick { Effort::QUICK } else { Effort::FULL };
    let effort = Effort { draws: args.draws.unwrap_or(effort.draws), ..effort };
    let bar = progress::bar("measuring");
    let records = threads::reproduce(args.thread, effort, &mut progress::steps(&bar));
    bar.finish_and_clear();
    let score = RecordSet::new(this_run(), threads::score(&records));
    let answer: Vec<String> = threads::answer(&records).into_iter().collect();
    let base = Labels::new();
    let first = [(&score, &base)];
    let compared = if score.records.is_empty() { &[][..] } else { &first };
    let mut set = RecordSet { run: score.run.clone(), records };
    set.records.extend(score.records.iter().cloned());
    output::emit_answering(&args.output, &set, compared, &answer, |set, columns| {
        Ok(threads::table(set, columns))
    })
}

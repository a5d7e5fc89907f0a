//! `reproduce`: every figure of the threads, theirs beside ours.

use crate::args::ReproduceArgs;
use crate::error::CliError;
use crate::this_run::this_run;
use crate::{output, progress};
use pageout_record::schema::RecordSet;
use pageout_reproduce as threads;
use pageout_reproduce::Effort;

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<(), CliError> {
    output::check(&args.output.paths(), &[])?;
    let effort = if args.quick { Effort::QUICK } else { Effort::FULL };
    let effort = Effort { draws: args.draws.unwrap_or(effort.draws), ..effort };
    let bar = progress::bar("measuring");
    let records = threads::reproduce(args.thread, effort, &mut progress::steps(&bar));
    bar.finish_and_clear();
    let set = RecordSet::new(this_run(), records);
    output::emit(&args.output, &set, &[], |set, columns| Ok(threads::table(set, columns)))
}

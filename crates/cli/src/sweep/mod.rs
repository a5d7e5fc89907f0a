//! `sweep`: one question under many values. Files plan cells, which run in shards; two questions
//! come with the program.

pub(crate) mod args;
mod estimate;
mod questions;

use crate::error::CliError;
use crate::this_run::this_run;
use crate::{output, progress};
use args::{MergeArgs, PlanArgs, ShardArgs, StatusArgs, SweepArgs, SweepCommand};
use pageout_experiment::spread::host_threads;
use pageout_experiment::{input, named, shown};
use pageout_run::Cells;
use pageout_sweep::{Cell, Directory, Failed, Plan, Planned, Runner, Spec, Status};
use std::process::ExitCode;

pub(crate) fn sweep(args: &SweepArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        SweepCommand::Plan(args) => plan(args)?,
        SweepCommand::Run(args) => return run(args),
        SweepCommand::Status(args) => status(args)?,
        SweepCommand::Merge(args) => merge(args)?,
        SweepCommand::Flush(args) => questions::flush(args)?,
        SweepCommand::Pageout(args) => questions::pageout(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(args: &PlanArgs) -> Result<(), CliError> {
    let text = input::read_text(&args.spec, input::MAX_TEXT);
    let text = text.map_err(|source| CliError::Read { path: args.spec.clone(), source })?;
    let refused = |source| CliError::Spec { path: args.spec.clone(), source: Box::new(source) };
    let mut cells = Spec::read(&text).and_then(|spec| spec.cells()).map_err(refused)?;
    let inputs = Cells::of(&mut cells, this_run)?;
    let (mut runnable, mut refused) = (Vec::new(), Vec::new());
    for cell in &cells {
        match inputs.check(cell) {
            Ok(()) => runnable.push(cell.clone()),
            Err(error) => refused.push((cell, error)),
        }
    }
    if runnable.is_empty() {
        return Err(refused.swap_remove(0).1.into());
    }
    let (all, nr_refused) = (cells.len(), refused.len());
    for (cell, error) in refused {
        let cell = cell.to_string();
        output::say(&format!("cell `{}` will fail: {}", shown(&cell), error.message()));
    }
    let plan = Plan::new(&inputs.this_run(), inputs.inputs().clone(), cells)?;
    let Some(root) = &args.dir else {
        let line = |Planned { id, cell }: &Planned| format!("{id}  {cell}\n");
        return output::print_text(&plan.cells().iter().map(line).collect::<String>());
    };
    let directory = Directory::new(root);
    let is_new = directory.planned().ok().as_ref() != Some(&plan);
    directory.plan(&plan)?;
    let will_fail = match nr_refused {
        0 => String::new(),
        some => format!(", of which {some} will fail"),
    };
    output::print_text(&format!("{}: {all} cells{will_fail}\n", named(root)))?;
    if is_new {
        output::say(&estimate::estimate(inputs, &runnable));
    }
    Ok(())
}

fn run(args: &ShardArgs) -> Result<ExitCode, CliError> {
    let directory = Directory::new(&args.dir);
    let plan = directory.planned()?;
    let of_shard = plan.cells().iter().enumerate().filter(|(place, _)| args.shard.has(*place));
    let mut cells: Vec<Cell> = of_shard.map(|(_, planned)| planned.cell.clone()).collect();
    let inputs = Cells::of(&mut cells, this_run)?;
    plan.check(&this_run(), inputs.inputs())?;
    let bar = progress::bar("sweeping");
    let jobs = args.jobs.map_or_else(host_threads, Into::into);
    let steps = &mut progress::steps(&bar);
    let done = pageout_sweep::run(&plan, &directory, args.shard, jobs, &inputs, steps);
    bar.finish_and_clear();
    let done = done?;
    let (cells, before, failed) = (done.cells, done.before, done.failed.len());
    output::print_text(&format!(
        "shard {}: {cells} cells, {before} done before, {} done now, {failed} failed\n",
        args.shard,
        cells - before - failed
    ))?;
    for Failed { id, cell, error } in &done.failed {
        output::say(&format!("error: cell {id}, {}: {}", shown(cell), shown(error)));
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn status(args: &StatusArgs) -> Result<(), CliError> {
    let directory = Directory::new(&args.dir);
    let status = directory.status(&directory.planned()?)?;
    if args.json {
        return output::print(status.to_json().as_bytes());
    }
    let Status { cells, done, failed } = &status;
    let (nr_failed, left) = (failed.len(), status.left());
    let mut text = format!("{cells} cells: {done} done, {nr_failed} failed, {left} left\n");
    for Failed { id, cell, error } in failed {
        text += &format!("failed: {id}, {}: {}\n", shown(cell), shown(error));
    }
    output::print_text(&text)
}

fn merge(args: &MergeArgs) -> Result<(), CliError> {
    let directory = Directory::new(&args.dir);
    output::check(&[args.output.as_deref()], &[])?;
    let plan = directory.planned()?;
    let status = directory.status(&plan)?;
    if status.done == 0 || status.done < status.cells && !args.partial {
        let (cells, failed, left) = (status.cells, status.failed.len(), status.left());
        return Err(CliError::SweepIncomplete { cells, failed, left });
    }
    let file = directory.merged(&plan)?;
    let content = if args.csv {
        let mut csv = Vec::new();
        file.to_csv(&mut csv)?;
        csv
    } else {
        file.to_json()?.into_bytes()
    };
    output::to(args.output.as_deref(), &content)
}

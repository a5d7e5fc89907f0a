//! `pageout`: compare page-aging variants, before against after, on real page tables.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod calibrate;
mod caution;
mod check;
mod command_line;
mod compare;
mod completion;
mod declared;
mod error;
mod fail_on;
mod files;
mod first_screen;
mod help;
mod lab;
mod man;
mod model;
mod numbers;
mod observe;
mod options;
mod other_file;
mod output;
mod page;
mod paths;
mod predict;
mod progress;
mod report;
mod reproduce;
mod request;
mod run;
mod scenario_list;
mod scenarios;
mod sweep;
mod tables;
mod terminal;
mod this_run;
mod trace;
mod usage;

use args::{AloneArgs, Args, Command, CompareArgs};
use clap::Parser;
use clap::error::ErrorKind;
use error::CliError;
use options::{Common, Rows, Shown};
use pageout_record::schema::shown;
use std::process::ExitCode;

fn main() -> ExitCode {
    match completion::answered(help::command) {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => {}
        Err(told) => {
            refuse(&told);
            return ExitCode::from(2);
        }
    }
    match predict::answered() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => {}
        Err(error) => {
            output::say(&format!("error: {}", error.message()));
            return ExitCode::from(2);
        }
    }
    let done = match usage::parse() {
        Ok(args) => dispatch(args),
        Err(told) if told.use_stderr() => {
            refuse(&told);
            return fail_on::status_of(2, std::env::args_os());
        }
        // Help and the version.
        Err(told) => help::print(&told).map_err(CliError::Stdout).map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(code) => code,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::say(&format!("error: {}", error.message()));
            fail_on::status_of(error.status(), std::env::args_os())
        }
    }
}

/// Says what is wrong with the arguments. A command that lacks its subcommand prints its help.
fn refuse(told: &clap::Error) {
    if told.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Errors on standard error are ignored.
        let _ = help::print(told);
    } else {
        output::say(&format!("error: {}", shown(&usage::message(told))));
    }
}

fn dispatch(args: Args) -> Result<ExitCode, CliError> {
    match args.command {
        None if args.alone.full => {
            let AloneArgs { measuring, output, .. } = args.alone;
            let mut main = CompareArgs::parse_from(["compare"]);
            let shown = Shown { rows: Rows { full: true }, ..main.common.shown };
            main.common = Common { measuring, output, shown, ..main.common };
            return compare::compare(&main);
        }
        None => first_screen::show(&args.alone)?,
        Some(Command::Compare(args)) => return compare::compare(&args),
        Some(Command::Run(args)) => run::run(&args)?,
        Some(Command::Scenarios(args)) => scenarios::scenarios(&args)?,
        Some(Command::Bench(args)) => bench::bench(&args)?,
        Some(Command::Sweep(args)) => return sweep::sweep(&args),
        Some(Command::Reproduce(args)) => reproduce::reproduce(&args)?,
        Some(Command::Report(args)) => report::report(&args)?,
        Some(Command::Calibrate(args)) => calibrate::calibrate(&args)?,
        Some(Command::Observe(args)) => observe::observe(&args)?,
        Some(Command::Check(args)) => return check::check(&args),
        Some(Command::Trace(args)) => return trace::trace(&args),
        Some(Command::Lab(args)) => return lab::lab(&args),
        Some(Command::Completions { shell }) => output::print(&completion::script(shell))?,
        Some(Command::Man { directory }) => man::write(&directory)?,
    }
    Ok(ExitCode::SUCCESS)
}

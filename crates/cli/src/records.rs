//! `records`: record files themselves.

use crate::error::CliError;
use crate::files::text_of;
use crate::output;
use clap::{Parser, Subcommand};
use pageout_record::schema::from_version_1;
use std::path::PathBuf;

#[derive(Debug, Parser)]
pub(crate) struct RecordsArgs {
    #[command(subcommand)]
    command: RecordsCommand,
}

#[derive(Debug, Subcommand)]
enum RecordsCommand {
    /// Make a file of version 2 out of one of version 1 (docs/records.md)
    Convert {
        /// The file of version 1; it is kept
        old: PathBuf,
        /// Where the file of version 2 goes
        new: PathBuf,
    },
}

pub(crate) fn records(args: &RecordsArgs) -> Result<(), CliError> {
    let RecordsCommand::Convert { old, new } = &args.command;
    output::check(&[Some(new)], &[Some(old)])?;
    let set = from_version_1(&text_of(old)?);
    let set = set.map_err(|source| CliError::NotConverted { path: old.clone(), source })?;
    output::to(Some(new), set.to_json()?.as_bytes())
}

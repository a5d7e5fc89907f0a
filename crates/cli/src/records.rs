//! `records`: record files themselves.

use crate::args::{RecordsArgs, RecordsCommand};
use crate::error::CliError;
use crate::files::text_of;
use crate::output;
use pageout_record::schema::from_version_1;

pub(crate) fn records(args: &RecordsArgs) -> Result<(), CliError> {
    let RecordsCommand::Convert { old, new } = &args.command;
    output::check(&[Some(new)], &[Some(old)])?;
    let set = from_version_1(&text_of(old)?);
    let set = set.map_err(|source| CliError::NotConverted { path: old.clone(), source })?;
    output::to(Some(new), set.to_json()?.as_bytes())
}

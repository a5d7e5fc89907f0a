//! `report`: a page of record files.

use crate::args::ReportArgs;
use crate::declared::DECLARED;
use crate::error::CliError;
use crate::{files, output, page};
use pageout_report::Table;

pub(crate) fn report(args: &ReportArgs) -> Result<(), CliError> {
    let named = files::all(args.files.iter().cloned(), &args.label);
    let inputs: Vec<_> = named.iter().map(|of| Some(of.path.as_path())).collect();
    output::check(&[Some(&args.output)], &inputs)?;
    let file = files::merged(&named, args.pool)?.file;
    let base = args.base.as_deref().map(|text| files::labels(text, &file)).transpose()?;
    let tables = match base.or_else(|| files::label_of(&file)) {
        Some(base) => vec![Table::of(&file, &base, files::along(&base), &DECLARED)?],
        None => Table::of_each_scenario(&file, &DECLARED)?,
    };
    if args.json {
        return output::to(Some(&args.output), pageout_report::json(&tables).as_bytes());
    }
    page::write(&args.output, &file, &tables, &[], None)
}

//! `run`: one variant of a scenario, or the memory that the scenario takes.

use crate::args::RunArgs;
use crate::compare::{Plan, Variants};
use crate::error::CliError;
use crate::request::Request;
use crate::this_run::this_run;
use crate::{model, output, paths, tables};
use pageout_experiment::variant::Variant;
use pageout_record::render::wrapped;
use pageout_record::schema::{Ground, RecordSet};

pub(crate) fn run(args: &RunArgs) -> Result<(), CliError> {
    paths::check(&args.common, &[args.folded.as_deref()])?;
    let request = Request::new(Some(&args.scenario), &args.fields, &args.common)?;
    let variant = Variant::parse_on(request.lru, &args.variant)?;
    if args.common.ground == Ground::Model {
        return model::run(args, &request, variant);
    }
    if args.folded.is_some() {
        return Err(CliError::ModelAlone("--folded"));
    }
    let plan = Plan::new(&request, &args.common, &Variants::one(variant))?;
    if args.sizes {
        let columns = args.common.output.columns();
        let sizes = wrapped(&plan.sizes(columns)?, columns);
        return output::to(args.common.output.output.as_deref(), sizes.as_bytes());
    }
    let generations = plan.generations(variant, args)?;
    let records = plan.measure(&args.common)?;
    let set = RecordSet::new(this_run(), records);
    output::emit(&args.common.output, &set, &[], |set, columns| {
        Ok(tables::figures_of(set, args.common.shown, &[], columns)? + &generations)
    })
}

//! `run`: one variant of a scenario, or what the scenario takes of memory.

use crate::args::RunArgs;
use crate::compare::{Plan, Variants, lru_of, variant_on};
use crate::error::CliError;
use crate::this_run::this_run;
use crate::{model, output, tables};
use pageout_record::schema::RecordSet;

pub(crate) fn run(args: &RunArgs) -> Result<(), CliError> {
    let scenario = Some(&*args.scenario);
    let (lru, fields) = lru_of(scenario, &args.fields, &args.common.ground)?;
    let variant = variant_on(lru, &args.variant)?;
    if args.common.ground == "model" {
        return model::run(args, &fields, variant);
    }
    if args.folded.is_some() {
        return Err(CliError::ModelAlone("--folded"));
    }
    let plan = Plan::new(scenario, &fields, &args.common)?;
    output::check(&[args.common.output.path()], &args.common.inputs())?;
    if args.sizes {
        let sizes = plan.sizes()?;
        return output::to(args.common.output.path(), sizes.as_bytes());
    }
    let generations = plan.generations(variant, args)?;
    let records = plan.measure(&args.common, &Variants::one(variant))?;
    let set = RecordSet::new(this_run(), records);
    output::emit(&args.common.output, &set, |set| Ok(tables::metrics(set) + &generations))
}

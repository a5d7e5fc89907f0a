//! Kernels, a scenario and its fields, from the words of a command line.

use crate::declared;
use crate::error::CliError;
use pageout_lab::{Bench, Kernel, KernelError, Workload};
use pageout_refusal::{UnknownName, one_of};
use std::path::Path;
use std::sync::Arc;

/// The scenario if none is named.
const DEFAULT: &str = "reclaim-file";

/// The request of a command line.
#[derive(Debug)]
pub(super) struct Request {
    /// Words that name kernels.
    pub(super) kernels: Vec<String>,
    workload: Option<Arc<Workload>>,
    fields: Vec<String>,
}

impl Request {
    /// Parses kernels, then a scenario's name, then its fields. With a workload of the user's no
    /// scenario is named.
    pub(super) fn parse(words: &[String], given: Option<&Path>) -> Result<Self, CliError> {
        let is_kernel = |word: &&String| Workload::named(word).is_none() && Kernel::is_name(word);
        let kernels: Vec<String> = words.iter().take_while(is_kernel).cloned().collect();
        let rest = &words[kernels.len()..];
        let scenario = rest.first().and_then(|word| Workload::named(word));
        let fields = rest[usize::from(scenario.is_some())..].to_vec();
        let workload = chosen(scenario, given)?;
        Ok(Self { kernels, workload, fields })
    }

    /// Returns the runs of the benchmark.
    pub(super) fn plan(&self) -> Result<Vec<Bench>, CliError> {
        match (&self.workload, self.fields.first()) {
            (Some(workload), _) => Ok(Bench::parse(workload, &self.fields)?),
            (None, Some(field)) => Err(CliError::LabFieldFirst { field: field.clone() }),
            (None, None) => Err(CliError::LabNoScenario),
        }
    }

    /// Returns the runs of the benchmark; if no scenario is named, those of the threads' own
    /// benchmark, with `default` for fields that are left out.
    pub(super) fn plan_or(&self, default: &[&str]) -> Result<Vec<Bench>, CliError> {
        if self.workload.is_some() {
            return self.plan();
        }
        let name = |field: &str| field.split('=').next().map(str::to_owned);
        let given: Vec<_> = self.fields.iter().map(|field| name(field)).collect();
        let left_out = default.iter().filter(|field| !given.contains(&name(field)));
        let left_out = left_out.map(|field| (*field).to_owned());
        let fields: Vec<String> = self.fields.iter().cloned().chain(left_out).collect();
        Ok(Bench::parse(default_workload(), &fields)?)
    }
}

/// Returns the workload of a name or of a file of the user's; the default scenario if neither is
/// given.
pub(super) fn workload(
    name: Option<&str>,
    given: Option<&Path>,
) -> Result<Arc<Workload>, CliError> {
    let named = |name: &str| {
        let unknown = || UnknownName::new("scenario", name, Workload::names());
        Workload::named(name).ok_or_else(|| unknown().listed_by("pageout lab --help"))
    };
    let workload = chosen(name.map(named).transpose()?, given)?;
    Ok(workload.unwrap_or_else(|| default_workload().clone()))
}

/// Returns the scenario or the workload of the user's, of which one is given at most.
fn chosen(
    scenario: Option<&Arc<Workload>>,
    given: Option<&Path>,
) -> Result<Option<Arc<Workload>>, CliError> {
    match (given, scenario) {
        (Some(_), Some(scenario)) => {
            Err(CliError::LabTwoWorkloads { scenario: scenario.name().to_owned() })
        }
        (Some(path), None) => {
            let name = path.to_str().filter(|name| Workload::named(name).is_some());
            if let Some(name) = name.filter(|_| !path.exists()) {
                return Err(CliError::LabScenarioAsFile(name.to_owned()));
            }
            let workload = Arc::new(Workload::read(path)?);
            declared::declare(&workload);
            Ok(Some(workload))
        }
        (None, scenario) => Ok(scenario.cloned()),
    }
}

fn default_workload() -> &'static Arc<Workload> {
    Workload::named(DEFAULT).expect("a scenario of the lab's")
}

/// Returns the error of a word of a series that is neither its range nor a scenario.
pub(super) fn no_scenario(word: &str) -> CliError {
    if word.contains("..") {
        return CliError::LabTwoRanges(word.to_owned());
    }
    let unknown = UnknownName::new("scenario", word, Workload::names());
    let accepted = format!("a range BASE..HEAD, or a scenario such as {DEFAULT}");
    unknown.accepting(accepted).listed_by("pageout lab --help").into()
}

/// Returns the names of the scenarios, for messages.
pub(crate) fn scenarios() -> String {
    one_of(&Workload::names())
}

/// Makes the error of an unknown kernel that of an unknown scenario, if a scenario may be meant.
pub(super) fn kernel_or_scenario(error: KernelError) -> CliError {
    match error {
        KernelError::Unknown { found, names, kernels } => {
            let names = names.iter().map(String::as_str).chain(Workload::names());
            let unknown = UnknownName::new("kernel or scenario", &found, names);
            let accepted = format!("{kernels}, or a scenario such as {DEFAULT}");
            unknown.accepting(accepted).listed_by("pageout lab --help").into()
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Request {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Request::parse(&words, None).unwrap()
    }

    #[test]
    fn kernels_then_a_scenario_then_fields() {
        let request = parse("stock s4+young_flush=none reclaim-file order=0,4");
        assert_eq!(request.kernels, ["stock", "s4+young_flush=none"]);
        assert_eq!(request.plan().unwrap().len(), 2);
        assert_eq!(parse("helper-calls").kernels, [""; 0]);
    }

    #[test]
    fn without_a_scenario_there_is_none_or_the_default_with_the_fields_given() {
        let error = |words| parse(words).plan().unwrap_err().message();
        assert!(error("stock s1").starts_with("no scenario: expected reclaim-file"));
        assert!(error("stock order=4").starts_with("field `order=4` without a scenario"));
        let plan = |words| parse(words).plan_or(&["order=4", "lru=classic,mglru"]).unwrap();
        assert_eq!(plan("s1"), plan("s1 reclaim-file order=4 lru=classic,mglru"));
        assert_eq!(plan("s1 lru=mglru"), plan("s1 reclaim-file lru=mglru order=4"));
        assert_eq!(plan("s1 age-file").len(), 1);
    }
}

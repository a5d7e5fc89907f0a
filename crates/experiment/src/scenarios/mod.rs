//! The declarations of all scenarios, each with its name, its fields, the grounds it runs on and
//! the axes of its variants. The crate of a ground has the code that runs it there.

mod age_file;
mod aging_rounds;
mod compared;
mod declared;
mod faults;
mod madv_free;
pub mod metrics;
mod pageout_shared;
mod reclaim_file;
mod reclaim_shmem;
mod trace;

pub use age_file::{AgeFile, AgeFileLists};
pub use aging_rounds::{AgingRounds, AgingRoundsLists, FAULT_AROUND, Pattern};
pub use compared::Compared;
pub use declared::declare;
pub use faults::{Beside, FaultedIn, Faults, FaultsLists, Space};
pub use madv_free::{MadvFree, MadvFreeLists};
pub use pageout_shared::{Content, Out, PageoutShared, PageoutSharedLists};
pub use reclaim_file::{
    Align, Chosen, ListOrder, Mapped, Orders, Process, Processes, ProcessesLists, ReclaimFile,
    ReclaimFileLists, Secondary,
};
pub use reclaim_shmem::{ReclaimShmem, ReclaimShmemLists};
pub use trace::{
    MemoryLimit, PAGE_SHIFT, TraceAged, TraceAgedLists, TraceLimited, TraceLimitedLists,
    TraceModelled, TraceModelledLists,
};

use crate::declare::{self, Declared, FieldHelp, Lists, help};
use crate::fields::FieldError;
use crate::metrics::MetricSpec;
use crate::variant::{Axes, Lru, Variant};
use pageout_record::schema::Ground;
use pageout_refusal::UnknownName;

/// A scenario that runs on ground `host` or `model`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// [`ReclaimFile`].
    ReclaimFile,
    /// [`AgeFile`].
    AgeFile,
    /// [`ReclaimShmem`].
    ReclaimShmem,
    /// [`MadvFree`].
    MadvFree,
    /// [`AgingRounds`].
    AgingRounds,
    /// [`TraceAged`], [`TraceLimited`] and [`TraceModelled`].
    Trace,
    /// [`PageoutShared`].
    PageoutShared,
    /// [`Faults`].
    Faults,
}

/// A scenario as one ground runs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnGround {
    /// The ground.
    pub ground: Ground,
    /// A description of what it does, if that of the scenario does not fit.
    pub about: Option<&'static str>,
    /// The fields that the scenario takes.
    pub fields: Vec<FieldHelp>,
    /// The axes in which the scenario's variants may differ.
    pub axes: Axes,
    /// True if `lru` may be given among the fields, for all variants.
    pub takes_lru: bool,
    /// The variants that are compared if none are named.
    pub compared: Compared,
    /// The metrics that the scenario's records may have.
    pub metrics: Vec<MetricSpec>,
}

impl Scenario {
    /// Every scenario; those that run on ground `host` come first.
    pub const ALL: [Self; 8] = [
        Self::ReclaimFile,
        Self::AgeFile,
        Self::ReclaimShmem,
        Self::MadvFree,
        Self::AgingRounds,
        Self::Trace,
        Self::PageoutShared,
        Self::Faults,
    ];

    /// Returns the scenario's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReclaimFile => ReclaimFile::NAME,
            Self::AgeFile => AgeFile::NAME,
            Self::ReclaimShmem => ReclaimShmem::NAME,
            Self::MadvFree => MadvFree::NAME,
            Self::AgingRounds => AgingRounds::NAME,
            Self::Trace => TraceAged::NAME,
            Self::PageoutShared => PageoutShared::NAME,
            Self::Faults => Faults::NAME,
        }
    }

    /// Returns the scenario of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    /// Returns the scenario of a name.
    ///
    /// # Errors
    /// [`UnknownName`] with the names accepted.
    pub fn find(name: &str) -> Result<Self, UnknownName> {
        Self::named(name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            UnknownName::new("scenario", name, names).listed_by("pageout scenarios")
        })
    }

    /// Describes what the scenario does.
    pub const fn about(self) -> &'static str {
        match self {
            Self::ReclaimFile => ReclaimFile::ABOUT,
            Self::AgeFile => AgeFile::ABOUT,
            Self::ReclaimShmem => ReclaimShmem::ABOUT,
            Self::MadvFree => MadvFree::ABOUT,
            Self::AgingRounds => AgingRounds::ABOUT,
            Self::Trace => TraceAged::ABOUT,
            Self::PageoutShared => PageoutShared::ABOUT,
            Self::Faults => Faults::ABOUT,
        }
    }

    /// Describes the scenario in a few words.
    pub const fn brief(self) -> &'static str {
        match self {
            Self::ReclaimFile => "reclaim of a clean mapped file",
            Self::AgeFile => "one aging pass over a clean mapped file",
            Self::ReclaimShmem => "reclaim of shared memory, to swap",
            Self::MadvFree => "reclaim of anonymous memory after MADV_FREE",
            Self::AgingRounds => "generations of a file that is used in rounds",
            Self::Trace => "accesses of a real program, with or without a limit",
            Self::PageoutShared => "swap-in and pageout in turn",
            Self::Faults => "faults of many cores at once",
        }
    }

    /// Returns the forms in which the scenario runs, by ground.
    pub fn forms(self) -> Vec<OnGround> {
        let host = |fields, metrics| OnGround::new(Ground::Host, fields, metrics);
        let model = |fields, metrics| OnGround::new(Ground::Model, fields, metrics);
        match self {
            Self::ReclaimFile => {
                let modelled = ReclaimFileLists::modelled().help();
                let added = [modelled, fields_of::<Processes>()].concat();
                let of_host = host(fields_of::<ReclaimFile>(), metrics::reclaim_file::on_host());
                vec![of_host, model(added, metrics::reclaim_file::on_model())]
            }
            Self::AgeFile => {
                vec![host(fields_of::<AgeFile>(), metrics::age_file::on_host()).for_aging()]
            }
            Self::ReclaimShmem => {
                let of_host =
                    host(fields_of::<ReclaimShmem>(), metrics::reclaim_file::of_reclaim_shmem());
                let fields = ReclaimShmemLists::modelled().help();
                vec![of_host, model(fields, metrics::reclaim_file::of_shmem_on_model())]
            }
            Self::MadvFree => {
                vec![host(fields_of::<MadvFree>(), metrics::reclaim_file::of_madv_free())]
            }
            // This scenario is always about generations.
            Self::AgingRounds => {
                let all = host(fields_of::<AgingRounds>(), metrics::aging_rounds::on_host());
                vec![OnGround { takes_lru: false, ..all }]
            }
            Self::Trace => {
                let aged = host(fields_of::<TraceAged>(), metrics::trace::aged());
                let limited = host(fields_of::<TraceLimited>(), metrics::trace::limited());
                let modelled = model(fields_of::<TraceModelled>(), metrics::trace::on_model());
                vec![
                    aged.for_aging(),
                    limited.comparing(Compared::Algorithms).that(TraceLimited::ABOUT),
                    modelled.comparing(Compared::Flushes).that(TraceModelled::ABOUT),
                ]
            }
            Self::PageoutShared => {
                let all = model(fields_of::<PageoutShared>(), metrics::pageout_shared::on_model());
                vec![all.comparing(Compared::Shootdown)]
            }
            Self::Faults => {
                let all = model(fields_of::<Faults>(), metrics::faults::on_model());
                vec![all.comparing(Compared::Shootdown)]
            }
        }
    }

    /// Returns the values that a text gives a field on a ground, each as records write it. Lists
    /// and ranges become single values.
    ///
    /// # Errors
    /// [`FieldError`] for a field or a value that the scenario does not have there.
    pub fn values(
        self,
        ground: Ground,
        field: &str,
        text: &str,
    ) -> Result<Vec<String>, FieldError> {
        let forms = self.forms_on(ground);
        if field == LRU && forms.iter().any(|form| form.takes_lru) {
            return Ok(declare::values::<Lru>(LRU, text)?.iter().map(Lru::to_string).collect());
        }
        for read in self.readers(ground) {
            if let Some(values) = read(field, text)? {
                return Ok(values);
            }
        }
        Err(self.lacks(ground, field))
    }

    /// Returns the form in which the scenario runs on a ground with these fields. The scenario's
    /// own fields choose the form; `lru` does not.
    ///
    /// # Errors
    /// [`FieldError`] for a field that no form has there, and for fields of several forms.
    pub fn form(self, ground: Ground, given: &[&str]) -> Result<OnGround, FieldError> {
        let mut forms = self.forms_on(ground);
        if let Some(field) = given.iter().find(|field| !forms.iter().any(|form| form.has(field))) {
            return Err(self.lacks(ground, field));
        }
        let own = || given.iter().filter(|field| **field != LRU);
        let chosen = forms.iter().position(|form| own().all(|field| form.has(field)));
        let Some(chosen) = chosen else {
            let lacking = |form: &OnGround| own().find(|field| !form.has(field)).copied();
            let fields: Vec<_> = forms.iter().filter_map(lacking).collect();
            let problem = format!("{} do not go together: give one of them", fields.join(" and "));
            return Err(FieldError::together(self.name(), problem));
        };
        if given.contains(&LRU) && !forms[chosen].takes_lru {
            let with = forms.iter().find(|form| form.takes_lru).expect("a form has every field");
            let added = |field: &&FieldHelp| !forms[chosen].has(field.name);
            let added = with.fields.iter().find(added).expect("forms differ in their fields");
            let FieldHelp { name, default, .. } = added;
            let problem =
                format!("{} takes it together with {name}: add {name}={default}", self.name());
            return Err(FieldError::Elsewhere { field: LRU.to_owned(), problem });
        }
        Ok(forms.swap_remove(chosen))
    }

    /// Returns the error for a field that no form has on a ground. It names the ground or scenario
    /// that has such a field, or else the field that was probably meant.
    fn lacks(self, ground: Ground, field: &str) -> FieldError {
        let on_ground = |form: &OnGround| form.ground == ground;
        let elsewhere = |problem| FieldError::Elsewhere { field: field.to_owned(), problem };
        if let Some(form) = self.forms().iter().find(|form| !on_ground(form) && form.has(field)) {
            let (name, other) = (self.name(), form.ground);
            let verb = if other == Ground::Host { "use" } else { "add" };
            let problem = format!("{name} has it on ground {other} only: {verb} --ground {other}");
            return elsewhere(problem);
        }
        let names = self.fields_on(ground);
        let others = Self::ALL
            .into_iter()
            .filter(|other| *other != self && other.forms().iter().any(|form| form.has(field)));
        let others: Vec<_> = others.map(Self::name).collect();
        if others.is_empty() {
            let listed_by = format!("pageout scenarios {}", self.name());
            return FieldError::unknown(self.name(), field, &names, listed_by);
        }
        FieldError::of_others(self.name(), field, &others, &names)
    }

    /// Returns the names of the fields of all forms on a ground, each once.
    pub fn fields_on(self, ground: Ground) -> Vec<&'static str> {
        let mut names = Vec::new();
        for field in self.forms_on(ground).iter().flat_map(OnGround::given) {
            if !names.contains(&field.name) {
                names.push(field.name);
            }
        }
        names
    }

    fn forms_on(self, ground: Ground) -> Vec<OnGround> {
        self.forms().into_iter().filter(|form| form.ground == ground).collect()
    }

    /// Returns the readers of the fields of all forms on a ground.
    fn readers(self, ground: Ground) -> Vec<Reader> {
        match self {
            Self::ReclaimFile if ground == Ground::Model => {
                vec![values_of::<ReclaimFile>, values_of::<Processes>]
            }
            Self::ReclaimFile => vec![values_of::<ReclaimFile>],
            Self::AgeFile => vec![values_of::<AgeFile>],
            Self::ReclaimShmem => vec![values_of::<ReclaimShmem>],
            Self::MadvFree => vec![values_of::<MadvFree>],
            Self::AgingRounds => vec![values_of::<AgingRounds>],
            Self::Trace if ground == Ground::Model => vec![values_of::<TraceModelled>],
            Self::Trace => vec![values_of::<TraceAged>, values_of::<TraceLimited>],
            Self::PageoutShared => vec![values_of::<PageoutShared>],
            Self::Faults => vec![values_of::<Faults>],
        }
    }

    /// Returns true if the scenario runs on a ground.
    pub fn runs_on(self, ground: Ground) -> bool {
        self.forms().iter().any(|form| form.ground == ground)
    }

    /// Returns true if the scenario needs a trace, which `--trace` names.
    pub const fn takes_trace(self) -> bool {
        matches!(self, Self::Trace)
    }

    /// Returns the names of the scenarios that run on a ground.
    pub fn names_on(ground: Ground) -> Vec<&'static str> {
        let there = Self::ALL.into_iter().filter(|scenario| scenario.runs_on(ground));
        there.map(Self::name).collect()
    }
}

impl OnGround {
    /// Returns true for a field that may be given, `lru` too.
    fn has(&self, field: &str) -> bool {
        (field == LRU && self.takes_lru) || self.fields.iter().any(|of| of.name == field)
    }

    /// Returns the form's fields, and `lru` if it may be given among them.
    pub fn given(&self) -> Vec<FieldHelp> {
        let lru = self.takes_lru.then(|| {
            let about = "by which lists folios age, in every variant";
            help::<Lru>(LRU, &[about], &[Variant::BEFORE.lru])
        });
        self.fields.iter().cloned().chain(lru).collect()
    }

    const fn new(ground: Ground, fields: Vec<FieldHelp>, metrics: Vec<MetricSpec>) -> Self {
        let (axes, compared) = (Axes::Reclaim, Compared::Steps);
        Self { ground, about: None, fields, axes, takes_lru: true, compared, metrics }
    }

    fn for_aging(self) -> Self {
        Self { axes: Axes::Aging, takes_lru: false, ..self.comparing(Compared::Algorithms) }
    }

    fn comparing(self, compared: Compared) -> Self {
        Self { compared, ..self }
    }

    fn that(self, about: &'static str) -> Self {
        Self { about: Some(about), ..self }
    }
}

/// The axis that may be given among fields.
const LRU: &str = "lru";

/// A function that returns the values a text gives a field, or `None` if there is no such field.
type Reader = fn(&str, &str) -> Result<Option<Vec<String>>, FieldError>;

fn values_of<S: Declared>(field: &str, text: &str) -> Result<Option<Vec<String>>, FieldError> {
    let mut lists = S::Lists::default();
    if !lists.read(field, text)? {
        return Ok(None);
    }
    let read = lists.help().into_iter().find(|help| help.name == field);
    let values = read.expect("a field that is read has help").default;
    Ok(Some(values.split(',').map(str::to_owned).collect()))
}

fn fields_of<S: Declared>() -> Vec<FieldHelp> {
    S::Lists::default().help()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    /// Checks that the default of each field of `S`, read from its text, is the default.
    fn check<S: Declared>()
    where
        S::Lists: PartialEq + Debug,
    {
        let mut lists = S::Lists::default();
        for field in lists.help().iter().filter(|field| !field.default.is_empty()) {
            assert_eq!(
                lists.read(field.name, &field.default),
                Ok(true),
                "{} {}",
                S::NAME,
                field.name
            );
        }
        assert_eq!(lists, S::Lists::default(), "{}", S::NAME);
    }

    #[test]
    fn every_default_is_accepted_as_help_has_it() {
        check::<ReclaimFile>();
        check::<Processes>();
        check::<AgeFile>();
        check::<ReclaimShmem>();
        check::<MadvFree>();
        check::<AgingRounds>();
        check::<TraceAged>();
        check::<TraceLimited>();
        check::<TraceModelled>();
        check::<PageoutShared>();
        check::<Faults>();
    }

    #[test]
    fn values_are_told_one_by_one() {
        let values = |of: Scenario, ground, field, text: &str| of.values(ground, field, text);
        let told = values(Scenario::Trace, Ground::Host, "limit", "5%..20%,64MiB");
        assert_eq!(told.unwrap(), ["5%", "10%", "15%", "20%", "64MiB"]);
        let told = values(Scenario::ReclaimFile, Ground::Model, "lru", "classic,mglru");
        assert_eq!(told.unwrap(), ["classic", "mglru"]);
        let refused = values(Scenario::ReclaimFile, Ground::Host, "process", "asleep");
        assert!(refused.unwrap_err().to_string().contains("add --ground model"));
        let refused = values(Scenario::Trace, Ground::Host, "limit", "0%");
        assert!(refused.unwrap_err().to_string().contains("`0%`"));
    }

    #[test]
    fn a_field_that_lacks_is_said_to_be_elsewhere_or_misspelt() {
        let lacks = |of: Scenario, ground, given: &[&str]| {
            of.form(ground, given).expect_err("it lacks").to_string()
        };
        let (host, model) = (Ground::Host, Ground::Model);
        assert_eq!(
            lacks(Scenario::ReclaimFile, host, &["order", "process"]),
            "field `process`: reclaim-file has it on ground model only: add --ground model"
        );
        assert_eq!(
            lacks(Scenario::PageoutShared, model, &["lru", "map"]),
            "field `map`: pageout-shared has no such field; accepted: format, size, processes, \
             times, out, content or lru (it is of reclaim-file or age-file)"
        );
        let misspelt = lacks(Scenario::ReclaimFile, host, &["yuong"]);
        assert!(misspelt.contains("did you mean `young`?"), "{misspelt}");
        let listed = lacks(Scenario::Trace, host, &["colour"]);
        let accepted =
            "accepted: format, order, every, limit or lru (all: `pageout scenarios trace`)";
        assert!(listed.ends_with(accepted), "{listed}");
        assert_eq!(
            lacks(Scenario::Trace, host, &["limit", "every"]),
            "scenario trace: limit and every do not go together: give one of them"
        );
        assert_eq!(
            lacks(Scenario::Trace, host, &["lru"]),
            "field `lru`: trace takes it together with limit: add limit=50%"
        );
    }

    #[test]
    fn the_form_is_the_one_that_has_the_fields() {
        let form = |given: &[&str]| Scenario::Trace.form(Ground::Host, given).expect("a form");
        assert!(!form(&[]).takes_lru && !form(&["every"]).takes_lru);
        assert!(form(&["limit"]).takes_lru && form(&["lru", "limit"]).takes_lru);
    }

    #[test]
    fn every_field_of_every_form_is_read() {
        for scenario in Scenario::ALL {
            for form in scenario.forms() {
                for FieldHelp { name, default, .. } in form.given() {
                    if !default.is_empty() {
                        let told = scenario.values(form.ground, name, &default);
                        let told = told.unwrap_or_else(|error| panic!("{error}"));
                        assert_eq!(told.join(","), default, "{} {name}", scenario.name());
                    }
                }
            }
        }
    }
}

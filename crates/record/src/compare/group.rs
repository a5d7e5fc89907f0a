//! Records that may be compared with each other, and the axes in which their variants differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::chosen::Chosen;
use super::declarations::Declarations;
use super::error::CompareError;
use super::role::Role;
use crate::schema::{Ground, Labels, Metric, Record, Series};

/// The axes in the order of titles; others follow by name.
const AXIS_ORDER: [&str; 5] = ["young", "unmap", "shootdown", "flush", "lru"];

/// The text for the choice of an axis that a variant does not name.
const UNNAMED: &str = "-";

/// The properties that two records must share to be compared.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key<'a> {
    pub(crate) scenario: &'a str,
    pub(crate) ground: Ground,
    pub(crate) seed: u64,
    pub(crate) fields: &'a Labels,
    /// All other axes, if only one is compared.
    held: BTreeMap<&'a str, &'a str>,
}

/// The samples of a metric under one variant, as its runs took them.
pub(crate) struct Samples<'a> {
    /// The metric as in the first of the runs.
    pub(crate) metric: &'a Metric,
    /// Each run that has the metric, by its index among all runs, with its samples.
    pub(crate) runs: Vec<(usize, &'a [f64])>,
}

/// A variant of a group.
pub(crate) struct Variant<'a> {
    pub(crate) labels: &'a Labels,
    /// The variant's records in the order met, each with the index of its run among all.
    records: Vec<(usize, &'a Record)>,
}

/// The metrics of a variant, which may come from several records.
pub(crate) struct OfVariant<'a> {
    /// The samples of each metric, in the order met.
    samples: Vec<Samples<'a>>,
    /// The index in `samples` of each metric, by name.
    places: HashMap<&'a str, usize>,
    /// Metrics along an axis, in the order met.
    series: Vec<&'a Series>,
}

/// The records with one key, by variant.
pub(crate) struct Group<'a> {
    pub(crate) key: Key<'a>,
    pub(crate) variants: Vec<Variant<'a>>,
}

/// Groups the records of all grounds that run anything, in record order. If `along` names an axis,
/// variants that differ in another axis are in different groups.
pub(super) fn groups<'a>(of: &[Chosen<'a>], along: Option<&str>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places: HashMap<Key<'_>, usize> = HashMap::new();
    let all = of.iter().enumerate();
    let all = all.flat_map(|(run, of)| of.records.iter().map(move |record| (run, *record)));
    for (run, record) in all.filter(|(_, record)| record.ground != Ground::Published) {
        let Record { scenario, ground, seed, fields, variant, .. } = record;
        let is_held = |axis: &str| along.is_some_and(|along| axis != along);
        let held = variant.iter().filter(|(axis, _)| is_held(axis));
        let held = held.map(|(axis, choice)| (axis.as_str(), choice.as_str())).collect();
        let key = Key { scenario, ground: *ground, seed: *seed, fields, held };
        let at = *places.entry(key.clone()).or_insert_with(|| {
            groups.push(Group { key, variants: Vec::new() });
            groups.len() - 1
        });
        let variants = &mut groups[at].variants;
        match variants.iter_mut().find(|known| known.labels == variant) {
            Some(known) => known.records.push((run, record)),
            None => variants.push(Variant { labels: variant, records: vec![(run, record)] }),
        }
    }
    groups
}

/// Returns the axes in which two variants of some group differ, in title order.
pub(super) fn differing_axes(groups: &[Group<'_>]) -> Vec<String> {
    let mut axes: Vec<&str> = axes(groups).into_iter().collect();
    axes.retain(|axis| groups.iter().any(|group| group.choices(axis).len() > 1));
    let place = |axis: &str| AXIS_ORDER.iter().position(|known| *known == axis);
    axes.sort_by_key(|axis| (place(axis).unwrap_or(AXIS_ORDER.len()), *axis));
    axes.into_iter().map(str::to_owned).collect()
}

/// Returns the axes, besides the compared ones, with one choice in all groups.
pub(super) fn common_axes(groups: &[Group<'_>], compared: &[String]) -> Labels {
    let mut common = Labels::new();
    for axis in axes(groups).into_iter().filter(|axis| !compared.iter().any(|c| c == axis)) {
        let choices: BTreeSet<&str> = groups.iter().flat_map(|group| group.choices(axis)).collect();
        if let (1, Some(choice)) = (choices.len(), choices.first()) {
            common.insert(axis.to_owned(), (*choice).to_owned());
        }
    }
    common
}

/// Returns a variant's column title: its choices on the compared axes.
pub(super) fn title(compared: &[String], variant: &Labels) -> String {
    if compared.is_empty() {
        return "value".to_owned();
    }
    compared.iter().map(|axis| choice(variant, axis)).collect::<Vec<_>>().join(",")
}

fn axes<'a>(groups: &[Group<'a>]) -> BTreeSet<&'a str> {
    let variants = groups.iter().flat_map(|group| &group.variants);
    variants.flat_map(|variant| variant.labels.keys().map(String::as_str)).collect()
}

fn choice<'a>(variant: &'a Labels, axis: &str) -> &'a str {
    variant.get(axis).map_or(UNNAMED, String::as_str)
}

fn pairs(labels: &Labels) -> String {
    if labels.is_empty() {
        return "no axis named".to_owned();
    }
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(",")
}

impl<'a> Group<'a> {
    fn choices(&self, axis: &str) -> BTreeSet<&'a str> {
        self.variants.iter().map(|variant| choice(variant.labels, axis)).collect()
    }

    /// Returns the index of the variant that is `base`, or else of the one that has all of its
    /// choices.
    pub(super) fn base(&self, base: &Labels) -> Result<usize, CompareError> {
        let fits =
            |variant: &Variant<'_>| base.iter().all(|(axis, c)| choice(variant.labels, axis) == c);
        let fitting: Vec<usize> =
            (0..self.variants.len()).filter(|&index| fits(&self.variants[index])).collect();
        let list = |indices: &mut dyn Iterator<Item = usize>| {
            indices.map(|i| pairs(self.variants[i].labels)).collect::<Vec<_>>().join("; ")
        };
        let is_base = |index: &usize| self.variants[*index].labels == base;
        match fitting[..] {
            [one] => Ok(one),
            _ if let Some(one) = fitting.iter().copied().find(is_base) => Ok(one),
            [] => Err(CompareError::NoBase {
                group: self.name(),
                base: pairs(base),
                found: list(&mut (0..self.variants.len())),
            }),
            [_, _, ..] => Err(CompareError::SeveralBases {
                group: self.name(),
                base: pairs(base),
                found: list(&mut fitting.into_iter()),
            }),
        }
    }

    /// Returns the axes with one choice in this group that are neither compared nor common to all
    /// groups.
    pub(super) fn axes_besides(&self, compared: &[String], common: &Labels) -> Labels {
        let Some(first) = self.variants.first() else {
            return Labels::new();
        };
        let told = |axis: &String| compared.contains(axis) || common.contains_key(axis);
        let axes = first.labels.iter().filter(|(axis, _)| !told(axis));
        axes.map(|(axis, choice)| (axis.clone(), choice.clone())).collect()
    }

    /// Returns every metric of the group's variants that has samples, once, with its role. They are
    /// sorted by role, then in the order met.
    pub(super) fn metrics_by_role(
        &self,
        named: &[OfVariant<'a>],
        declared: &Declarations,
    ) -> Result<Vec<(&'a Metric, Role)>, CompareError> {
        let Key { scenario, ground, .. } = self.key;
        let with_role =
            |metric: &'a Metric| (metric, declared.role(scenario, ground, &metric.name));
        let mut all: Vec<_> = self.metrics(named)?.into_iter().map(with_role).collect();
        all.sort_by_key(|(_, role)| *role);
        Ok(all)
    }

    /// Returns every metric of the group's variants that has samples, once, in the order met.
    fn metrics(&self, named: &[OfVariant<'a>]) -> Result<Vec<&'a Metric>, CompareError> {
        let mut metrics: Vec<&'a Metric> = Vec::new();
        let mut by_name: HashMap<&str, &Metric> = HashMap::new();
        let all = named.iter().flat_map(|named| &named.samples);
        for metric in all.map(|samples| samples.metric) {
            match by_name.get(&*metric.name) {
                None => {
                    by_name.insert(&metric.name, metric);
                    metrics.push(metric);
                }
                Some(known) if kind(known) == kind(metric) => {}
                Some(known) => {
                    let told = |m: &Metric| format!("{:?}, {}, {:?}", m.unit, m.basis, m.better);
                    return Err(CompareError::Unlike {
                        group: self.name(),
                        metric: metric.name.clone(),
                        first: told(known),
                        second: told(metric),
                    });
                }
            }
        }
        Ok(metrics)
    }

    fn name(&self) -> String {
        let Key { scenario, ground, seed, fields, held } = &self.key;
        let fields = fields.iter().map(|(field, value)| format!(" {field}={value}"));
        let held = held.iter().map(|(axis, choice)| format!(" {axis}={choice}"));
        let labels: String = fields.chain(held).collect();
        format!("{scenario} on {ground}, seed {seed}{labels}")
    }
}

/// Returns the sources that variants name for a metric, each once.
pub(super) fn sources(of: &[OfVariant<'_>], metric: &str) -> Vec<String> {
    let mut sources: Vec<String> = Vec::new();
    let all = of.iter().filter_map(|named| named.samples(metric));
    for source in all.filter_map(|samples| samples.metric.source.as_ref()) {
        if !sources.contains(source) {
            sources.push(source.clone());
        }
    }
    sources
}

impl<'a> OfVariant<'a> {
    /// Collects the metrics of a variant that have samples.
    pub(super) fn of(variant: &Variant<'a>) -> Self {
        let mut named = Self { samples: Vec::new(), places: HashMap::new(), series: Vec::new() };
        for (run, record) in &variant.records {
            for metric in record.metrics.iter().filter(|metric| metric.is_sampled()) {
                named.add(*run, metric);
            }
            named.series.extend(record.metrics.iter().filter_map(|of| of.series.as_deref()));
        }
        named
    }

    pub(super) fn samples(&self, metric: &str) -> Option<&Samples<'a>> {
        self.places.get(metric).map(|place| &self.samples[*place])
    }

    /// Returns the metrics along an axis.
    pub(super) fn series(&self) -> impl Iterator<Item = &'a Series> {
        self.series.iter().copied()
    }

    /// Returns the runs that have the variant, by their indices.
    pub(super) fn runs(&self) -> impl Iterator<Item = usize> {
        self.samples.iter().flat_map(|samples| samples.runs.iter().map(|(run, _)| *run))
    }

    fn add(&mut self, run: usize, metric: &'a Metric) {
        let new = self.samples.len();
        let place = *self.places.entry(&metric.name).or_insert(new);
        if place == new {
            self.samples.push(Samples { metric, runs: Vec::new() });
        }
        self.samples[place].runs.push((run, &metric.values));
    }
}

impl Samples<'_> {
    /// Returns the samples of all runs, in their order.
    pub(super) fn values(&self) -> Vec<f64> {
        self.runs.iter().flat_map(|(_, values)| *values).copied().collect()
    }
}

fn kind(metric: &Metric) -> (&str, crate::schema::Basis, crate::schema::Better) {
    (&metric.unit, metric.basis, metric.better)
}

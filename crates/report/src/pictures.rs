//! The pictures of metrics that have no samples.

use crate::budget::Budget;
use crate::chart::Charts;
use crate::charts::{matrix, series};
use crate::flame::{self, Base, flame};
use crate::sequence::sequence;
use crate::text::variant;
use maud::{Markup, html};
use pageout_record::chart::Naming;
use pageout_record::compare::Comparison;
use pageout_record::schema::{Activity, Metric, Record, Told};

/// The maximum number of pictures of each kind.
const PICTURES: usize = 40;

/// The maximum number of pictures of a kind that are not folded.
const FEW: usize = 4;

/// The kinds of pictures, the one that says most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sequence,
    Matrix,
    Series,
    Activities,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Sequence, Self::Matrix, Self::Series, Self::Activities];

    /// Returns the kind of a metric; none if it is no picture.
    fn of(metric: &Metric) -> Option<Self> {
        match metric.told() {
            Told::Sequence(_) => Some(Self::Sequence),
            Told::Matrix(_) => Some(Self::Matrix),
            Told::Series(_) => Some(Self::Series),
            Told::Activities(_) => Some(Self::Activities),
            Told::Values(_) | Told::Bound(_) | Told::Claim(_) => None,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Sequence => "Step by step",
            Self::Matrix => "Maps",
            Self::Series => "Over time",
            Self::Activities => "Time by activity",
        }
    }

    /// Returns the name of the kind's section.
    fn id(self) -> &'static str {
        match self {
            Self::Sequence => "sequence",
            Self::Matrix => "matrix",
            Self::Series => "series",
            Self::Activities => "activities",
        }
    }

    fn reading(self) -> &'static str {
        match self {
            Self::Sequence => {
                "A row is a step, in the column of the one who takes it; to the right is the state \
                 after it."
            }
            Self::Matrix => "The brighter a cell, the larger its value; without a colour, none.",
            Self::Series => "A colour is a list or a figure, from left to right along time.",
            Self::Activities => {
                "A box is an activity, as wide as its time; the activities that it calls stand on \
                 it. Beside a base, red ones grew and blue ones shrank."
            }
        }
    }
}

/// Pictures of one metric, all different, on the same axes.
struct Group<'a> {
    kind: Kind,
    pictures: Vec<Picture<'a>>,
}

/// A picture, and the number of records that have it.
struct Picture<'a> {
    record: &'a Record,
    metric: &'a Metric,
    alike: usize,
}

impl Picture<'_> {
    /// Returns true if only the variant tells its record from another.
    fn is_beside(&self, of: &Record) -> bool {
        (&self.record.scenario, self.record.ground, &self.record.fields)
            == (&of.scenario, of.ground, &of.fields)
    }

    fn activities(&self) -> Option<&[Activity]> {
        match self.metric.told() {
            Told::Activities(of) => Some(of),
            _ => None,
        }
    }

    /// Returns the number of steps, of which few are easier to follow; 0 for other pictures.
    fn steps(&self) -> usize {
        match self.metric.told() {
            Told::Sequence(of) => of.steps.len(),
            _ => 0,
        }
    }
}

/// All pictures of a page.
pub(crate) struct Pictures<'a> {
    groups: Vec<Group<'a>>,
    naming: Naming,
    comparisons: Vec<&'a Comparison>,
}

impl<'a> Pictures<'a> {
    /// Gathers the pictures; what is the same under several variants is one picture.
    pub(crate) fn of(
        records: impl Iterator<Item = &'a Record>,
        comparisons: Vec<&'a Comparison>,
    ) -> Self {
        let mut groups: Vec<Group<'a>> = Vec::new();
        for record in records {
            for metric in &record.metrics {
                let Some(kind) = Kind::of(metric) else { continue };
                let group = groups.iter_mut().find(|group| {
                    let first = group.pictures[0].metric;
                    (group.kind, &first.name, &first.unit) == (kind, &metric.name, &metric.unit)
                });
                let picture = Picture { record, metric, alike: 1 };
                let Some(group) = group else {
                    groups.push(Group { kind, pictures: vec![picture] });
                    continue;
                };
                match group.pictures.iter_mut().find(|of| of.metric.told() == metric.told()) {
                    Some(same) => same.alike += 1,
                    None => group.pictures.push(picture),
                }
            }
        }
        for group in &mut groups {
            group.pictures.sort_by_key(Picture::steps);
        }
        groups.sort_by_key(|group| Kind::ALL.iter().position(|kind| *kind == group.kind));
        let all = groups.iter().flat_map(|group| &group.pictures);
        let naming = Naming::of(&all.map(|of| (of.record, of.metric)).collect::<Vec<_>>());
        Self { groups, naming, comparisons }
    }

    /// Returns true if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns true if there are steps or maps.
    pub(crate) fn tell_most(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.kind, Kind::Sequence | Kind::Matrix))
    }

    /// Returns the pictures that say most, and takes them out.
    pub(crate) fn lead(&mut self, charts: &mut Charts, budget: &mut Budget) -> Markup {
        if self.groups.is_empty() {
            return html! {};
        }
        let mut first = self.groups.remove(0);
        // Those behind the first few stay with the others of their kind.
        let rest = first.pictures.split_off(first.pictures.len().min(2));
        let kind = first.kind;
        let markup = html! {
            p.reading { (kind.reading()) }
            (self.group(&first, PICTURES, charts, budget))
        };
        if !rest.is_empty() {
            self.groups.insert(0, Group { kind, pictures: rest });
        }
        markup
    }

    /// Returns a section for each kind.
    pub(crate) fn sections(&self, charts: &mut Charts, budget: &mut Budget) -> Markup {
        let each = Kind::ALL.map(|kind| {
            let groups: Vec<_> = self.groups.iter().filter(|group| group.kind == kind).collect();
            let all: usize = groups.iter().map(|group| group.pictures.len()).sum();
            let mut left = PICTURES;
            let drawn = groups.into_iter().map(|group| {
                let markup = self.group(group, left, charts, budget);
                left -= group.pictures.len().min(left);
                markup
            });
            let drawn: Vec<Markup> = drawn.collect();
            if all > PICTURES {
                budget.note(format!("{}: {PICTURES} of {all} pictures are drawn.", kind.title()));
            }
            let content = html! {
                p.reading { (kind.reading()) }
                @for group in drawn { (group) }
            };
            html! {
                @if all > FEW {
                    details.charts id=(kind.id()) { summary { h2 { (kind.title()) } } (content) }
                } @else if all > 0 {
                    section id=(kind.id()) { h2 { (kind.title()) } (content) }
                }
            }
        });
        html! { @for section in each { (section) } }
    }

    /// Returns the title of a record's variant in the comparison of its scenario, or else its
    /// choices.
    fn variant(&self, record: &Record) -> String {
        let has = |of: &&&Comparison| {
            let mut rows = of.rows.iter();
            rows.any(|row| (&row.scenario, row.ground) == (&record.scenario, record.ground))
        };
        let comparison = self.comparisons.iter().filter(|of| !of.others.is_empty()).find(has);
        comparison.map_or_else(|| variant(&record.variant), |of| of.title(&record.variant))
    }

    /// Returns the first `most` pictures of a group.
    fn group(
        &self,
        of: &Group<'_>,
        most: usize,
        charts: &mut Charts,
        budget: &mut Budget,
    ) -> Markup {
        let shown = &of.pictures[..of.pictures.len().min(most)];
        let beside = shown.len() > 1 && matches!(of.kind, Kind::Matrix | Kind::Series);
        let range = beside.then(|| range(shown));
        let pictures = shown.iter().map(|Picture { record, metric, alike }| {
            // A picture that all variants have is none of any.
            let is_of_all = *alike > 1 && of.pictures.len() == 1;
            let name = if is_of_all { String::new() } else { self.variant(record) };
            let mut title = self.naming.title_with(record, metric, Some(&name));
            if *alike > 1 {
                title += match is_of_all {
                    true => ", the same under every variant",
                    false => ", the same under several variants",
                };
            }
            match metric.told() {
                Told::Activities(of) => {
                    let alike = shown.iter().filter(|of| of.is_beside(record));
                    let all = || alike.clone().filter_map(|of| Some((of.record, of.activities()?)));
                    let base = all().next().filter(|(base, _)| base.variant != record.variant);
                    let name = base.map(|(base, _)| self.variant(base));
                    let base = base.zip(name.as_deref());
                    let base = base.map(|((_, activities), name)| Base { name, activities });
                    let widest = all().map(|(_, of)| flame::sum(of)).fold(0.0, f64::max);
                    flame(&title, metric, of, (base, widest), budget)
                }
                Told::Series(of) => charts.figure(series(title, metric, of, range, budget)),
                Told::Matrix(of) => charts.figure(matrix(title, metric, of, range, budget)),
                Told::Sequence(of) => {
                    let replay = metric.source.as_deref();
                    let replay = replay.filter(|source| source.starts_with("pageout "));
                    sequence(&title, of, replay, budget)
                }
                Told::Values(_) | Told::Bound(_) | Told::Claim(_) => {
                    unreachable!("samples and quotes are in tables")
                }
            }
        });
        let pictures: Vec<Markup> = pictures.collect();
        html! {
            @if beside {
                div.grid { @for picture in pictures { (picture) } }
            } @else {
                @for picture in pictures { (picture) }
            }
        }
    }
}

/// Returns the least and the largest value of maps, or of the tops of series.
fn range(of: &[Picture<'_>]) -> [f64; 2] {
    let values = of.iter().flat_map(|picture| match picture.metric.told() {
        Told::Matrix(of) => of.rows.iter().flatten().flatten().copied().collect(),
        Told::Series(of) => {
            let value = |line: &pageout_record::schema::Line, at: usize| line.values[at];
            let tops = (0..of.at.len()).flat_map(|at| {
                let values = of.lines.iter().filter_map(move |line| value(line, at));
                if of.stacked { vec![values.sum()] } else { values.collect() }
            });
            tops.collect::<Vec<f64>>()
        }
        _ => Vec::new(),
    });
    values.fold([0.0, 0.0], |[low, high], value| [value.min(low), value.max(high)])
}

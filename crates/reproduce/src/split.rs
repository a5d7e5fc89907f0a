//! The split of figures by what each lets one conclude, read from a file that was frozen before any
//! price was changed. Its SHA-256 is in docs/decisions/0031.

use std::fmt::Write;

/// The frozen file: one figure a line.
pub(super) const FROZEN: &str = include_str!("../frozen/split.txt");

/// The kind of evidence that a figure is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// The thread says enough to run it.
    Identified,
    /// A consequence of the thread's own numbers, or of a definition.
    Arithmetic,
    /// A limit can be computed, but not the figure.
    Bounded,
    /// A setting that decides the figure is missing.
    NotIdentified,
}

impl Class {
    /// Every class, in the order of tables.
    pub(super) const ALL: [Self; 4] =
        [Self::Identified, Self::Arithmetic, Self::Bounded, Self::NotIdentified];

    /// Returns the name of the class in the file and in tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Identified => "identified",
            Self::Arithmetic => "arithmetic",
            Self::Bounded => "bounded",
            Self::NotIdentified => "not identified",
        }
    }

    /// Returns the meaning of a reason in this class.
    const fn about(self) -> &'static str {
        match self {
            Self::Identified => "the thread says enough to run them, with these assumptions",
            Self::Arithmetic => "they follow from the thread's own numbers, or by definition",
            Self::Bounded => "a limit can be computed, from",
            Self::NotIdentified => "settings that decide the figure are missing",
        }
    }
}

/// A line of the split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Split {
    /// The figure's name.
    pub(super) figure: &'static str,
    /// The class of the figure.
    pub(super) class: Class,
    /// The assumption, the rule, the limit, or the missing setting.
    pub(super) why: &'static str,
}

/// Returns every line of the frozen file.
///
/// # Panics
/// If a line has another form: the file is part of the program.
pub(super) fn split() -> impl Iterator<Item = Split> {
    FROZEN.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<_> = line.split(" | ").collect();
        let [figure, class, why] = fields[..] else {
            panic!("a line of the split has a figure, a class and a reason: {line}")
        };
        let class = Class::ALL.into_iter().find(|known| known.name() == class);
        Split { figure, class: class.expect("the split names known classes"), why }
    })
}

/// Returns the line of a figure.
pub(super) fn of(figure: &str) -> Option<Split> {
    split().find(|one| one.figure == figure)
}

/// Returns the class of a figure, if it is in the split.
pub(super) fn class(figure: &str) -> Option<Class> {
    of(figure).map(|one| one.class)
}

/// Returns the class of a figure and its reason, in words.
pub(super) fn reason(figure: &str) -> Option<String> {
    let found = of(figure)?;
    Some(format!("{}: {}", found.class.name(), found.why))
}

/// Prints, for each class besides the identified one, the number of its figures, and its reasons
/// with the number of figures of each.
pub(super) fn others() -> String {
    let all: Vec<_> = split().collect();
    let mut text = String::new();
    for class in &Class::ALL[1..] {
        let class = *class;
        let of: Vec<_> = all.iter().filter(|one| one.class == class).collect();
        let (name, about) = (class.name(), class.about());
        writeln!(text, "{name}, {} of {}: {about}", of.len(), all.len()).expect("text grows");
        let mut seen = Vec::new();
        for why in of.iter().map(|one| one.why) {
            if !seen.contains(&why) {
                seen.push(why);
                let count = of.iter().filter(|one| one.why == why).count();
                writeln!(text, "{count:>4}  {why}").expect("text grows");
            }
        }
    }
    text
}

/// Returns the reason of a figure's class.
///
/// # Panics
/// If the split has no such figure: tests hold that it has every one.
pub(super) fn why(figure: &str) -> &'static str {
    of(figure).expect("the split has every figure").why
}

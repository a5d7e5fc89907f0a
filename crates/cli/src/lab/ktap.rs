//! Results of checks as the kernel's tests print theirs: KTAP, version 1
//! (Documentation/dev-tools/ktap.rst of the kernel).

/// Points that belong together.
#[derive(Debug)]
pub(super) struct Subtest {
    pub(super) title: String,
    pub(super) points: Vec<Point>,
}

/// A property that was checked.
#[derive(Debug)]
pub(super) struct Point {
    pub(super) name: &'static str,
    pub(super) outcome: Outcome,
}

/// The outcome of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    /// A failure with its reasons, in lines.
    NotOk(Vec<String>),
    /// A failure that was expected, with the reason.
    Expected(String),
    /// A skipped point with the reason.
    Skipped(String),
}

impl Subtest {
    pub(super) fn is_ok(&self) -> bool {
        self.failed().next().is_none()
    }

    /// Returns the reason why all of it was skipped, if it was.
    fn skipped(&self) -> Option<&str> {
        let why = self.points.iter().map(|point| match &point.outcome {
            Outcome::Skipped(why) => Some(why.as_str()),
            Outcome::Ok | Outcome::NotOk(_) | Outcome::Expected(_) => None,
        });
        why.collect::<Option<Vec<_>>>()?.first().copied()
    }

    /// Returns the names of the points that are not ok.
    pub(super) fn failed(&self) -> impl Iterator<Item = &'static str> {
        let failed = self.points.iter().filter(|of| matches!(of.outcome, Outcome::NotOk(_)));
        failed.map(|point| point.name)
    }
}

/// Writes the results as text.
pub(super) fn ktap(tests: &[Subtest]) -> String {
    let mut text = format!("KTAP version 1\n1..{}\n", tests.len());
    for (test, number) in tests.iter().zip(1..) {
        text += &format!("  KTAP version 1\n  1..{}\n", test.points.len());
        for (point, number) in test.points.iter().zip(1..) {
            text += &of_point(point, number);
        }
        let (result, title) = (result(test.is_ok()), description(&test.title));
        let skipped = test.skipped().map_or_else(String::new, |why| directive("SKIP", why));
        text += &format!("{result} {number} {title}{skipped}\n");
    }
    text
}

fn of_point(Point { name, outcome }: &Point, number: usize) -> String {
    let mut text = String::new();
    let mut as_well = String::new();
    match outcome {
        Outcome::Ok => {}
        Outcome::NotOk(why) => {
            why.iter()
                .flat_map(|why| why.lines())
                .for_each(|line| text += &format!("  # {line}\n"));
        }
        Outcome::Expected(why) => as_well = directive("XFAIL", why),
        Outcome::Skipped(why) => as_well = directive("SKIP", why),
    }
    let result = result(!matches!(outcome, Outcome::NotOk(_)));
    text + &format!("  {result} {number} {name}{as_well}\n")
}

fn directive(name: &str, why: &str) -> String {
    format!(" # {name} {}", why.replace('\n', " "))
}

const fn result(is_ok: bool) -> &'static str {
    if is_ok { "ok" } else { "not ok" }
}

/// Returns a text as a test's name, without number signs, which would end it.
fn description(title: &str) -> String {
    title.replace('#', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_nested_with_why_before_each() {
        let point = |name, outcome| Point { name, outcome };
        let tests = [
            Subtest {
                title: "p1: mm: drop #ifdef".to_owned(),
                points: vec![
                    point("applies", Outcome::Ok),
                    point("builds", Outcome::NotOk(vec!["one\ntwo".to_owned()])),
                    point("boots", Outcome::Skipped("it does\nnot build".to_owned())),
                    point("passes", Outcome::Expected("the base fails".to_owned())),
                ],
            },
            Subtest { title: "p2".to_owned(), points: vec![point("applies", Outcome::Ok)] },
            Subtest {
                title: "p3".to_owned(),
                points: vec![point("applies", Outcome::Skipped("why".to_owned()))],
            },
        ];
        let expected = "\
KTAP version 1
1..3
  KTAP version 1
  1..4
  ok 1 applies
  # one
  # two
  not ok 2 builds
  ok 3 boots # SKIP it does not build
  ok 4 passes # XFAIL the base fails
not ok 1 p1: mm: drop _ifdef
  KTAP version 1
  1..1
  ok 1 applies
ok 2 p2
  KTAP version 1
  1..1
  ok 1 applies # SKIP why
ok 3 p3 # SKIP why
";
        assert_eq!(ktap(&tests), expected);
    }
}

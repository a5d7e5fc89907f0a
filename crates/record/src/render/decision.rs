//! Decisions on variants of modelled machines, in words: the probability that each gains, the price
//! from which on it pays, and what it saves.

use super::labelling::Labelling;
use super::number::{fixed, rounded};
use super::text::lines;
use crate::compare::{BreakEven, Comparison, Decision, Driver, Pays, Row};
use crate::stats::quantile;

/// The maximum number of machines or settings that are shown in detail, unless all are asked for.
/// More have a line each.
const IN_DETAIL: usize = 2;
/// The maximum number of causes that are named.
const CAUSES: usize = 3;
/// The share of the machine's lowest price below which a price counts as zero.
const NOTHING: f64 = 0.01;
/// The smallest share, in per cent, of a cause that is named.
const LEAST_SHARE: f64 = 5.0;

/// The words on a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Title of the variant.
    pub variant: String,
    /// The probability over all machines and settings: `over 97% (40 of 40)`.
    pub chance: String,
    /// Each machine and setting.
    pub each: Vec<DecidedOn>,
}

/// The words on a variant on one machine, in one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedOn {
    /// The labels that tell it from the others; empty where there is one only.
    pub place: String,
    /// The probability there, and the gain with its interval.
    pub chance: String,
    /// The prices from which on the variant pays, and what it saves, a sentence each.
    pub details: Vec<String>,
}

/// Returns the question that [`decided`] answers; none if the comparison has no decision.
pub fn question(of: &Comparison) -> Option<String> {
    let is_drawn = |row: &Row| row.decisions.iter().flatten().any(|one| !one.gains.is_empty());
    of.rows.iter().any(is_drawn).then(|| {
        let (limit, base) = (of.least_gain, &of.base);
        format!("Probability of a gain over {base} of more than {limit}%, by draws of prices:")
    })
}

/// Returns the decision on each variant that has one. With `full`, all are in detail.
pub fn decided(of: &Comparison, full: bool) -> Vec<Decided> {
    let labelling = Labelling::of(&of.rows);
    let wholes: Vec<&Row> = of.rows.iter().filter(|row| !row.decisions.is_empty()).collect();
    let titles = of.others.iter().enumerate();
    let decided = titles.filter_map(|(other, variant)| {
        let each = |row| Some((row, row_decision(row, other)?));
        let each: Vec<(&Row, &Decision)> = of.rows.iter().filter_map(each).collect();
        let draws: usize = each.iter().map(|(_, one)| one.gains.len()).sum();
        let paying = each.iter().map(|(_, one)| one.paying).sum();
        let in_detail = full || each.len() <= IN_DETAIL;
        let on = |(row, decision): &(&Row, &Decision)| DecidedOn {
            place: labelling.shortest(row, &wholes),
            chance: on_one(row, (other, decision)),
            details: if in_detail { details((row, other), decision) } else { Vec::new() },
        };
        let (variant, chance) = (variant.clone(), chance(paying, draws));
        (draws > 0).then(|| Decided { variant, chance, each: each.iter().map(on).collect() })
    });
    decided.collect()
}

/// Returns all decisions as lines of a width; none if there is no decision.
pub(super) fn decision_lines(of: &Comparison, full: bool, width: usize) -> Vec<String> {
    let mut text = Vec::new();
    let Some(question) = question(of) else { return text };
    text.push(String::new());
    text.extend(lines(&question, width));
    let indented = |depth: usize, line: &str| {
        let inner = lines(line, width.saturating_sub(depth));
        inner.into_iter().map(move |line| format!("{:depth$}{line}", "")).collect::<Vec<_>>()
    };
    for Decided { variant, chance, each } in decided(of, full) {
        let [one] = &each[..] else {
            text.extend(lines(&format!("{variant}: {chance}"), width));
            for DecidedOn { place, chance, details } in &each {
                text.extend(indented(2, &format!("{place}: {chance}")));
                text.extend(details.iter().flat_map(|line| indented(4, line)));
            }
            continue;
        };
        text.extend(lines(&format!("{variant}: {}", one.chance), width));
        text.extend(one.details.iter().flat_map(|line| indented(2, line)));
    }
    text
}

fn row_decision(row: &Row, other: usize) -> Option<&Decision> {
    row.decisions.get(other)?.as_ref()
}

/// Returns the probability that `above` of `draws` draws show: `over 95% (20 of 20)`.
fn chance(above: usize, draws: usize) -> String {
    // By Laplace's rule of succession, the next draw may be the first of its kind.
    let percent = match above {
        0 => format!("below {:.0}%", (100.0 / (draws + 1) as f64).ceil()),
        _ if above == draws => {
            format!("over {:.0}%", (100.0 * draws as f64 / (draws + 1) as f64).floor())
        }
        _ => format!("{:.0}%", 100.0 * above as f64 / draws as f64),
    };
    format!("{percent} ({above} of {draws})")
}

/// Returns a decision in short: `over 95% (20 of 20); gain 17.2% [14.8, 18.5]`.
fn on_one(row: &Row, (other, decision): (usize, &Decision)) -> String {
    let gains = &decision.gains;
    let mut text = chance(decision.paying, gains.len());
    let nominal = row.others[other].as_ref().and_then(|change| change.percent);
    if let Some(nominal) = nominal {
        text += &format!("; gain {}%", fixed(nominal, 1));
    }
    if let Some((low, high)) = quantile(gains, 0.05).zip(quantile(gains, 0.95)) {
        text += &format!(" [{}, {}]", fixed(low, 1), fixed(high, 1));
    }
    text
}

fn details((row, other): (&Row, usize), decision: &Decision) -> Vec<String> {
    let mut details: Vec<String> = decision.prices.iter().filter_map(turns).collect();
    let always = [(Pays::Always, "pays at any price of"), (Pays::Never, "pays at no price of")];
    details.extend(always.iter().filter_map(|(pays, said)| {
        let named = decision.prices.iter().filter(|price| shown(price) == *pays);
        let named: Vec<&str> = named.map(|price| price.price.as_str()).collect();
        (!named.is_empty()).then(|| format!("{said} {}", listed(&named, "or")))
    }));
    let gains = row.others[other].as_ref().and_then(|change| change.percent) > Some(0.0);
    details.extend(driven(&decision.causes, gains));
    details
}

/// Returns the prices at which the variant pays. A turn at nearly zero counts as none.
fn shown(of: &BreakEven) -> Pays {
    let least = of.interval.map_or(of.nominal, |of| of.low);
    match &of.pays {
        Pays::From(at) if *at < NOTHING * least => Pays::Always,
        Pays::UpTo(at) if *at < NOTHING * least => Pays::Never,
        pays => pays.clone(),
    }
}

/// Returns the price from which on, or up to which, it pays, with the machine's own price.
fn turns(of: &BreakEven) -> Option<String> {
    let BreakEven { price, unit, nominal, interval, .. } = of;
    let at = match &shown(of) {
        Pays::Always | Pays::Never => return None,
        Pays::From(at) => format!("pays where {price} takes {} {unit} or more", rounded(*at)),
        Pays::UpTo(at) => format!("pays where {price} takes at most {} {unit}", rounded(*at)),
        Pays::Between(all) => {
            let all: Vec<String> = all.iter().map(|at| rounded(*at)).collect();
            format!("pays or not by {price}: changes sides at {} {unit}", all.join(", "))
        }
    };
    let range = interval.map(|of| format!(" [{}, {}]", rounded(of.low), rounded(of.high)));
    Some(format!("{at}; here {}{}", rounded(*nominal), range.unwrap_or_default()))
}

/// Returns the largest causes, as counts that are saved or lost.
fn driven(causes: &[Driver], gains: bool) -> Option<String> {
    let told = causes.iter().enumerate();
    let told = told.filter(|(place, of)| *place == 0 || of.share.abs() >= LEAST_SHARE);
    let mut what = if gains { " of what is saved" } else { " of what is lost" };
    let told = told.take(CAUSES).map(|(_, of)| {
        let share = format!("{}%{}", fixed(of.share, 0), std::mem::take(&mut what));
        match (&of.grown, of.name.as_str()) {
            (_, "") => format!("what none of these counts ({share})"),
            (None, time) => format!("{time} ({share})"),
            (Some((unit, grown)), count) => {
                let way = if *grown > 0.0 { "more" } else { "fewer" };
                let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                format!("{} {way} {count}{unit} ({share})", rounded(grown.abs()))
            }
        }
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("driven by {}", told.join(", ")))
}

/// Lists names: `one, two or three`.
fn listed(names: &[&str], last: &str) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., one] => format!("{} {last} {one}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_is_not_certain_after_some_draws() {
        assert_eq!(chance(20, 20), "over 95% (20 of 20)");
        assert_eq!(chance(0, 20), "below 5% (0 of 20)");
        assert_eq!(chance(15, 20), "75% (15 of 20)");
    }

    #[test]
    fn a_break_even_price_stands_beside_the_machine_s() {
        let of = |pays| BreakEven {
            price: "TLBI and DSB".to_owned(),
            unit: "ns".to_owned(),
            nominal: 345.0,
            interval: None,
            along: Vec::new(),
            pays,
        };
        let said = turns(&of(Pays::From(12.34))).expect("a price");
        assert_eq!(said, "pays where TLBI and DSB takes 12.3 ns or more; here 345");
        assert_eq!(turns(&of(Pays::Always)), None);
        assert_eq!(turns(&of(Pays::From(0.01))), None, "next to nothing");
    }
}

//! Miss ratios of replacement policies by the memory that they have.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use pageout_record::schema::Record;

use super::svg::{Scale, Svg};
use super::value;

/// Limits in per cent of a program's pages, with miss ratios in per cent.
type Points = Vec<(f64, f64)>;

/// The classes of the policies' lines, for the best possible and for others.
const BEST: &str = "min";
const CLASSES: [(&str, &str); 3] = [("classic", "c"), ("mglru", "b"), ("arc", "d")];

pub(super) fn draw(records: &[Vec<Record>]) -> Result<String> {
    let mut svg = Svg::new(
        800,
        360,
        "Miss ratios of the trace sqlite-orders by memory: on generations more memory brings more \
         misses in places; under MIN never.",
    );
    svg.text("title", (16.0, 26.0), "sqlite-orders: more memory, more misses");
    curves(&mut svg, &records[0], [60.0, 50.0, 660.0, 260.0])?;
    Ok(svg.done())
}

/// Draws the curves of a trace into a rectangle, with the gap between MIN and the policy that is
/// nearest to it shaded.
pub(super) fn curves(svg: &mut Svg, records: &[Record], room: [f64; 4]) -> Result<()> {
    let by_policy = points(records)?;
    let [left, top, width, height] = room;
    let all = || by_policy.values().flatten();
    let most = all().map(|(_, ratio)| *ratio).fold(0.0, f64::max);
    let ends = all().fold((f64::MAX, f64::MIN), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
    let x = Scale { numbers: ends, pixels: (left, left + width) };
    let step = if most > 1.0 { 0.5 } else { 0.2 };
    let top_tick = (most / step).ceil() * step;
    let y = Scale { numbers: (0.0, top_tick), pixels: (top + height, top) };
    let ticks = (top_tick / step).round() as u32;
    for tick in 0..=ticks {
        let value = f64::from(tick) * step;
        svg.path("grid", &[(left, y.at(value)), (left + width, y.at(value))]);
        svg.text("small quiet end", (left - 8.0, y.at(value) + 4.0), &format!("{value:.1}%"));
    }
    let apart = if ends.1 - ends.0 > 20.0 { 10.0 } else { 2.0 };
    let ticks = (ends.0 / apart).ceil() as u32..=(ends.1 / apart).floor() as u32;
    for percent in ticks.map(|tick| f64::from(tick) * apart) {
        let at = x.at(percent);
        svg.text("small quiet middle", (at, top + height + 18.0), &format!("{percent}%"));
    }
    let below = (left + width / 2.0, top + height + 36.0);
    svg.text("small quiet middle", below, "memory, of the pages that the program uses");
    let at = |points: &Points| -> Points {
        points.iter().map(|(limit, ratio)| (x.at(*limit), y.at(*ratio))).collect()
    };
    let best = by_policy.get(BEST).context("the curves have min")?;
    let others = || by_policy.iter().filter(|(name, _)| *name != BEST);
    let nearest =
        |place: usize| others().map(|(_, points)| points[place].1).fold(f64::MAX, f64::min);
    let nearest: Points =
        best.iter().enumerate().map(|(place, (limit, _))| (*limit, nearest(place))).collect();
    let gap: Points = at(best).into_iter().chain(at(&nearest).into_iter().rev()).collect();
    svg.path("gap", &gap);
    svg.path("curve sa", &at(best));
    for (name, points) in others() {
        svg.path(&format!("curve s{}", class(name)), &at(points));
    }
    let mut key = left + width - 90.0;
    for (class, name) in [("a", "MIN")].into_iter().chain(others().map(|(n, _)| (class(n), &**n))) {
        svg.key(class, (key, top + 12.0), name);
        key -= 80.0;
    }
    Ok(())
}

fn class(policy: &str) -> &'static str {
    CLASSES.iter().find(|(name, _)| *name == policy).map_or("a", |(_, class)| class)
}

/// Returns the points of each policy, with ascending limits.
fn points(records: &[Record]) -> Result<BTreeMap<String, Points>> {
    let mut by_policy = BTreeMap::<String, Points>::new();
    for record in records {
        let policy = record.variant.get("policy").context("a point has a policy")?;
        let limit = record.fields.get("limit").context("a point has a limit")?;
        let limit: f64 = limit.trim_end_matches('%').parse().context("limits are in per cent")?;
        let ratio = value(record, "miss ratio")?;
        by_policy.entry(policy.clone()).or_default().push((limit, 100.0 * ratio));
    }
    by_policy.values_mut().for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    Ok(by_policy)
}

//! Steps from the top down: a lane for each actor, and the step's text beside the lanes.

use super::svg::{EDGE, LINE, Svg, WIDTH, width, wrapped};

const LANE: f64 = 24.0;
const CLASSES: [&str; 4] = ["b", "c", "d", "e"];

/// A step of an actor.
pub(super) struct Step {
    pub(super) actor: usize,
    /// The text before the actor's name: a number or a time.
    pub(super) mark: String,
    pub(super) text: String,
    /// True if this is what should not happen.
    pub(super) is_bad: bool,
}

/// Draws the steps of the actors.
pub(super) fn draw(svg: &mut Svg, actors: &[String], steps: &[Step]) {
    let marks = steps.iter().map(|step| width("", &step.mark)).fold(0.0, f64::max);
    let lane = |actor: usize| EDGE + marks + 20.0 + LANE * actor as f64;
    let text = lane(actors.len()) - 4.0;
    let class = |actor: usize| CLASSES[actor % CLASSES.len()];
    let top = svg.bottom;
    let mut rows = Vec::new();
    for step in steps {
        let y = svg.bottom + LINE;
        svg.text("quiet end", (EDGE + marks, y - 4.0), &step.mark);
        let name = &actors[step.actor];
        let room = WIDTH - EDGE - text;
        if !name.is_empty() {
            svg.lines(&format!("strong {}", class(step.actor)), text, room, name);
        }
        let words = if step.is_bad { "strong bad" } else { "" };
        svg.lines(words, text, room, &step.text);
        svg.bottom += 8.0;
        rows.push((y - 9.0, step));
    }
    for actor in 0..actors.len() {
        svg.path(
            &format!("s{} lane", class(actor)),
            &[(lane(actor), top), (lane(actor), svg.bottom)],
        );
    }
    for (y, step) in rows {
        let kind = if step.is_bad { "bad" } else { class(step.actor) };
        svg.dot(kind, (lane(step.actor), y));
    }
}

/// Writes what holds at the start.
pub(super) fn start(svg: &mut Svg, text: &str) {
    let lines = wrapped("", WIDTH - 4.0 * EDGE, text);
    let height = LINE * lines.len() as f64 + 12.0;
    svg.rect("box", [EDGE, svg.bottom, WIDTH - 2.0 * EDGE, height]);
    svg.bottom += 4.0;
    svg.lines("", 2.0 * EDGE, WIDTH - 4.0 * EDGE, text);
    svg.bottom += 16.0;
}

//! The bits of a word by their meaning, a strip for each format.

use super::svg::{EDGE, LINE, Svg, WIDTH, width};

const STRIP: f64 = 26.0;
const BITS: usize = 64;

/// A format: its name, and for each bit from 0 the index of its meaning.
pub(super) struct Strip {
    pub(super) name: String,
    pub(super) bits: [Option<usize>; BITS],
}

/// Draws the strips, the highest bit at the left, each above the names of its bits.
pub(super) fn draw(svg: &mut Svg, meanings: &[(&str, &str)], strips: &[Strip]) {
    let step = (WIDTH - 2.0 * EDGE) / BITS as f64;
    for strip in strips {
        svg.lines("strong", EDGE, WIDTH, &strip.name);
        let y = svg.bottom + 2.0;
        svg.rect("g", [EDGE, y, step * BITS as f64, STRIP]);
        for (bit, meaning) in strip.bits.iter().enumerate() {
            let Some((class, _)) = meaning.map(|meaning| meanings[meaning]) else { continue };
            let x = EDGE + step * (BITS - 1 - bit) as f64;
            svg.rect(class, [x + 0.5, y, step - 1.0, STRIP]);
        }
        svg.bottom = y + STRIP + LINE;
        let mut x = EDGE;
        for (at, (class, name)) in meanings.iter().enumerate() {
            let bits = |bit: &usize| strip.bits[*bit] == Some(at);
            let bits: Vec<usize> = (0..BITS).filter(bits).collect();
            let name = match &bits[..] {
                [] => continue,
                [low, .., high] if high - low == bits.len() - 1 => format!("{name} {low}–{high}"),
                bits => {
                    let bits: Vec<String> = bits.iter().map(usize::to_string).collect();
                    format!("{name} {}", bits.join(", "))
                }
            };
            svg.text(&format!("strong {class}"), (x, svg.bottom - 3.0), &name);
            x += width("strong", &name) + 12.0;
        }
        svg.bottom += 12.0;
    }
}

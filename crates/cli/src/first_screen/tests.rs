use super::*;
use pageout_record::schema::{Machine, Run};

/// Makes a run's records on a CPU of this name: for each column and step a median, and `n` samples
/// around it.
fn set(cpu: &str, columns: [[f64; 4]; 4], n: u32) -> RecordSet {
    let machine = Machine {
        cpu: cpu.to_owned(),
        arch: "x86_64".to_owned(),
        cores: 8,
        memory_mib: 16384,
        os: "Linux".to_owned(),
    };
    let run = Run::new("pageout 0.1.0", None, machine);
    let mut records = Vec::new();
    for (scenario, middles) in scenarios().iter().zip(columns) {
        for (variant, middle) in steps().into_iter().zip(middles) {
            let sample = |i| middle * (1.0 + 0.01 * f64::from(i) - 0.005 * f64::from(n - 1));
            let values: Vec<_> = (0..n).map(sample).collect();
            let time = WHOLE.of(&values);
            records.push(Record {
                scenario: ReclaimFile::NAME.to_owned(),
                ground: Ground::Host,
                seed: 1,
                fields: scenario.labels(),
                variant: variant.labels(Axes::Reclaim),
                metrics: vec![time],
            });
        }
    }
    records.extend(bug::record());
    records.extend(published::records());
    RecordSet::new(run, records)
}

const LIKELY: [[f64; 4]; 4] = [
    [51.32, 44.05, 31.13, 31.31],
    [34.69, 27.27, 13.73, 13.26],
    [251.0, 57.51, 37.63, 32.10],
    [234.5, 39.98, 20.57, 13.89],
];

/// Returns the screen without its colours, and checks that it fits.
fn fitting(set: &RecordSet) -> String {
    let coloured = screen(set).unwrap();
    let plain = anstream::adapter::strip_str(&coloured).to_string();
    // The last line is the prompt's.
    assert!(plain.lines().count() <= 23, "{} lines:\n{plain}", plain.lines().count());
    for line in plain.lines() {
        assert!(line.chars().count() <= WIDTH, "{} columns: {line}", line.chars().count());
        assert_eq!(line, line.trim_end(), "blanks at its end");
    }
    plain
}

#[test]
fn the_screen_as_it_is_read() {
    insta::assert_snapshot!(fitting(&set("Example 9000 @ 3.00GHz", LIKELY, 7)));
}

#[test]
fn too_few_samples_tell_no_per_cent() {
    let text = fitting(&set("Example 9000", LIKELY, 5));
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(" saves ")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows.iter().all(|row| !row.contains('%')), "{text}");
    assert!(text.contains("n = 5: too few"), "{text}");
}

#[test]
fn anything_measured_fits() {
    let extremes =
        [0.0, 1e-300, 1e-9, 0.004, 0.996, 9.996, 99.96, 1e5, 999_999.6, 1e7, 1.23e99, 1e300];
    let name = "A processor whose vendor wrote a very long marketing name for it (R) (TM) @ 4 GHz";
    for (k, value) in extremes.into_iter().enumerate() {
        let other = extremes[(k + 5) % extremes.len()];
        for n in [1, 6, 15] {
            fitting(&set(name, [[value, other, value, other]; 4], n));
            fitting(&set(name, [[value; 4], [other; 4], [value, 0.0, 0.0, 0.0], LIKELY[0]], n));
        }
    }
}

#[test]
fn a_step_that_is_missing_leaves_a_dash() {
    let mut set = set("Example 9000", LIKELY, 7);
    let line = steps()[3].labels(Axes::Reclaim);
    let place = set.records.iter().position(|record| record.variant == line).unwrap();
    set.records.remove(place);
    assert!(fitting(&set).contains(" - "));
}

#[test]
fn every_step_has_its_colour() {
    let coloured = screen(&set("Example 9000", LIKELY, 7)).unwrap();
    for colour in COLOURS {
        let start = colour.on_default().to_string();
        assert_eq!(coloured.matches(&start).count(), scenarios().len(), "{colour:?}");
    }
}

#[test]
fn numbers_keep_what_digits_there_is_room_for() {
    let cases = [
        (0.0, "0"),
        (0.004, "4.0e-3"),
        (0.005, "0.01"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (999_999.4, "999999"),
        (999_999.6, "1.0e6"),
        (-99_999.6, "-1.0e5"),
        (1.23e99, "1.2e99"),
        (-1e-300, "0"),
    ];
    for (value, want) in cases {
        assert_eq!(brief(value), want, "{value}");
        assert!(brief(value).len() <= NUMBER);
    }
}

//! Prices of a platform file, computed from the measurements.

use super::effort::Effort;
use super::figure::{Figure, median, slope};
use super::kernel::Kernel;
use super::lines::Lines;
use super::loads::{self, Loads, PAGES, SECOND_LEVEL};
use super::shootdown::{Operation, RANGES, Shootdowns};

/// A price, in nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Priced {
    /// The price's name in platform files.
    pub name: &'static str,
    /// Value and range.
    pub figure: Figure,
    /// A description of the measurement.
    pub how: String,
}

/// A measurement that is no price, in nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// A description of the measurement.
    pub what: String,
    /// Median and spread.
    pub figure: Figure,
}

/// All measurements.
pub(super) struct Raw {
    pub(super) effort: Effort,
    pub(super) loads: Loads,
    pub(super) lines: Lines,
    pub(super) kernel: Kernel,
    pub(super) shootdowns: Shootdowns,
}

/// A price's values, round by round.
struct Candidate {
    name: &'static str,
    values: Vec<f64>,
    how: String,
    /// The low end of the range, if other values give it.
    low: Option<f64>,
    /// The high end of the range, if other values give it.
    high: Option<f64>,
}

impl Candidate {
    fn new(name: &'static str, values: &[f64], how: impl Into<String>) -> Self {
        Self { name, values: values.to_vec(), how: how.into(), low: None, high: None }
    }

    /// Returns the price, or its name and the reason why it has no value.
    fn price(self) -> Result<Priced, (&'static str, String)> {
        let Some(mut figure) = Figure::of(&self.values) else {
            return Err((self.name, "no round in which all threads ran".to_owned()));
        };
        if figure.median < LEAST {
            let Figure { median, low, high, .. } = figure;
            let reason = format!("lost in the spread: {median:.1} ns ({low:.1} to {high:.1})");
            return Err((self.name, reason));
        }
        figure.low = figure.low.min(self.low.unwrap_or(figure.low));
        figure.high = figure.high.max(self.high.unwrap_or(figure.high));
        figure.low = figure.low.max(figure.median * LEAST_LOW);
        Ok(Priced { name: self.name, figure, how: self.how })
    }
}

/// The lowest price that differs from zero with certainty, in nanoseconds.
const LEAST: f64 = 0.01;

/// The minimum of a range's low end, as a fraction of the value. Differences of noisy times reach
/// below zero, but no price can.
const LEAST_LOW: f64 = 0.1;

impl Raw {
    /// Returns the prices, and the names of those that were not measured, with the reason.
    pub(super) fn prices(&self) -> (Vec<Priced>, Vec<(&'static str, String)>) {
        let mut candidates = self.of_loads();
        candidates.extend(self.of_the_kernel());
        let (lines, none) = (&self.lines, "there is no other core to measure with");
        let mut left_out = Vec::new();
        if lines.transfer.is_empty() {
            let names = ["line_transfer", "ipi_send", "ipi_latency", "ipi_handler", "ipi_ack"];
            let flushes = ["flush_entry", "flush_full"];
            left_out.extend(names.into_iter().chain(flushes).map(|name| (name, none.to_owned())));
        } else {
            let how = "dependent loads of lines that another core changed";
            candidates.push(Candidate::new("line_transfer", &lines.transfer, how));
            if self.shootdowns.threads().len() < 3 {
                let reason = "takes a third core: the step from one target to two".to_owned();
                left_out.push(("ipi_send", reason));
            }
            candidates.extend(self.of_interrupts());
        }
        let mut prices = Vec::new();
        for candidate in candidates {
            match candidate.price() {
                Ok(price) => prices.push(price),
                Err(reason) => left_out.push(reason),
            }
        }
        (prices, left_out)
    }

    fn of_loads(&self) -> Vec<Candidate> {
        let loads = &self.loads;
        let (walk, most) = (loads.over(PAGES[PAGES.len() - 1]), PAGES[PAGES.len() - 1]);
        let of_near = Figure::of(&loads.near).map(|near| near.high);
        let far = self.effort.far_bytes >> 20;
        let lines = (self.effort.sparse_entries * 64) >> 20;
        vec![
            Candidate {
                high: of_near,
                ..Candidate::new(
                    "access",
                    &loads.free,
                    "independent loads in the first cache; high: dependent ones",
                )
            },
            Candidate::new(
                "l2_hit",
                loads.over(SECOND_LEVEL),
                format!("dependent loads over {SECOND_LEVEL} pages, less on one"),
            ),
            Candidate::new(
                "walk_level",
                walk,
                format!("dependent loads over {most} pages, less on one"),
            ),
            Candidate::new(
                "walk_far",
                &pairs(&loads.far_leaf, walk, |far, near| far - 2.0 * near),
                format!("the same, leaf entries on {lines} MiB of lines; less two walk_level"),
            ),
            Candidate::new("line_far", &loads.far, format!("dependent loads over {far} MiB")),
        ]
    }

    fn of_the_kernel(&self) -> Vec<Candidate> {
        let (kernel, copied) = (&self.kernel, self.effort.copied_bytes >> 20);
        let of_fault = Figure::of(&kernel.fault_of_zeroes).map(|fault| fault.high);
        vec![
            Candidate {
                high: of_fault,
                ..Candidate::new(
                    "fault",
                    &kernel.call,
                    "an empty system call; high: first load of an anonymous page",
                )
            },
            Candidate::new("rmw", &self.lines.rmw, "a locked operation in the first cache"),
            Candidate::new(
                "zero_page",
                &kernel.zero_page,
                format!("clearing 4 KiB of {copied} MiB in turn"),
            ),
            Candidate::new(
                "copy_page",
                &kernel.copy_page,
                format!("copying 4 KiB of {copied} MiB in turn"),
            ),
            Candidate::new(
                "switch",
                &kernel.switch,
                "pipe between two threads of a CPU, less the calls; with wake-up",
            ),
            Candidate::new("relax", &self.lines.relax, "the spin-loop hint"),
        ]
    }

    fn of_interrupts(&self) -> Vec<Candidate> {
        use Operation::{Barrier, Protect};
        let (lines, seen) = (&self.lines, &self.shootdowns);
        let handler = present(seen.taken(Barrier));
        let send = self.slopes(Barrier);
        let rest = middle(&send) + middle(&handler) + middle(&lines.transfer);
        // A step is a latency only without its other parts.
        let steps = if handler.is_empty() { Vec::new() } else { self.step(Barrier) };
        let latency: Vec<f64> = steps.iter().map(|step| step - rest).collect();
        // If the change back to writable also invalidates, as on x86, it interrupts once more.
        let again = middle(&self.step(Operation::Permit(1))) > middle(&self.step(Protect(1))) / 2.0;
        let rounds = if again { 2.0 } else { 1.0 };
        let taken = |pages| {
            let of_pair = seen.taken(Protect(pages)).iter();
            of_pair.map(|ns| ns.map(|ns| ns / rounds)).collect::<Vec<_>>()
        };
        let entry = both(&taken(16), &taken(1), |many, one| (many - one) / 15.0);
        let full = both(&taken(34), seen.taken(Barrier), |full, nothing| full - nothing);
        let mut candidates = vec![
            Candidate::new(
                "ipi_latency",
                &latency,
                "membarrier: one spinning thread, less none, less other parts",
            ),
            Candidate::new(
                "ipi_handler",
                &handler,
                "what a membarrier takes from a thread that spins",
            ),
            Candidate::new("ipi_ack", &lines.transfer, "as line_transfer"),
            Candidate::new(
                "flush_entry",
                &entry,
                "taken by mprotect: of 16 pages, less of one, by 15",
            ),
            Candidate::new(
                "flush_full",
                &full,
                "taken by mprotect of 34 pages, less by membarrier",
            ),
        ];
        if seen.threads().len() >= 3 {
            let how = "membarrier: slope by spinning threads";
            candidates.push(Candidate::new("ipi_send", &send, how));
        }
        candidates
    }

    /// Returns the additional time of an operation with one spinning thread over that with none.
    fn step(&self, operation: Operation) -> Vec<f64> {
        let among = |threads| self.shootdowns.took(operation, threads);
        both(among(1), among(0), |one, none| one - none)
    }

    /// Returns the additional time of an operation with each further spinning thread, from the
    /// first on.
    fn slopes(&self, operation: Operation) -> Vec<f64> {
        let seen = &self.shootdowns;
        let of_round = |round| {
            let points = seen.threads().iter().filter(|threads| **threads > 0).filter_map(|n| {
                let took = seen.took(operation, *n).get(round).copied().flatten()?;
                Some((*n as f64, took))
            });
            slope(&points.collect::<Vec<_>>())
        };
        (0..self.effort.rounds).filter_map(of_round).collect()
    }

    /// Returns the measurements that are shown besides the prices.
    pub(super) fn seen(&self) -> Vec<Seen> {
        let (loads, kernel, lines) = (&self.loads, &self.kernel, &self.lines);
        let mut seen = Vec::new();
        let mut add = |what: String, values: &[f64]| {
            seen.extend(Figure::of(values).map(|figure| Seen { what, figure }));
        };
        add("dependent load in the second cache".to_owned(), &loads.second_cache);
        for (pages, more) in PAGES.iter().zip(&loads.translation) {
            add(format!("dependent load over {pages} pages, less on one"), more);
        }
        add("dependent load, leaf entries far, less on one page".to_owned(), &loads.far_leaf);
        add("locked operation on another core's line".to_owned(), &lines.rmw_elsewhere);
        add("system call".to_owned(), &kernel.call);
        add("first store to an anonymous page".to_owned(), &kernel.fault);
        add("first load of one (page of zeroes)".to_owned(), &kernel.fault_of_zeroes);
        self.shootdowns_seen(&mut add);
        seen
    }

    fn shootdowns_seen(&self, add: &mut impl FnMut(String, &[f64])) {
        use Operation::{Barrier, Permit, Protect};
        let seen = &self.shootdowns;
        for &n in seen.threads() {
            let among = format!("spinning threads {n}");
            for pages in RANGES {
                let took = present(seen.took(Protect(pages), n));
                add(format!("mprotect to read only, {among}, pages {pages}"), &took);
            }
            add(
                format!("mprotect to writable, {among}, pages 1"),
                &present(seen.took(Permit(1), n)),
            );
            add(format!("membarrier, {among}"), &present(seen.took(Barrier, n)));
        }
        add("mprotect, each thread more".to_owned(), &self.slopes(Protect(1)));
        add("membarrier, each thread more".to_owned(), &self.slopes(Barrier));
        add("taken from a thread by membarrier".to_owned(), &present(seen.taken(Barrier)));
        for pages in RANGES {
            let taken = present(seen.taken(Protect(pages)));
            add(format!("taken from a thread by both mprotects, pages {pages}"), &taken);
        }
    }

    /// Returns the pages whose translations each level of the TLB holds; `None` if the curve does
    /// not rise.
    pub(super) fn reach(&self) -> [Option<usize>; 2] {
        let curve = loads::curve(&self.loads);
        let at = |pages| median(self.loads.over(pages));
        let (first, second, walk) = (at(PAGES[0]), at(SECOND_LEVEL), at(PAGES[PAGES.len() - 1]));
        let rises = |from: f64, to: f64| to > from + RISE;
        [
            rises(first, second).then(|| loads::reach(&curve, first, second)).flatten(),
            rises(second, walk).then(|| loads::reach(&curve, second, walk)).flatten(),
        ]
    }
}

/// The smallest rise of a load's time that is not noise, in nanoseconds: about a cycle.
const RISE: f64 = 0.3;

/// Returns the values of those rounds that have one.
fn present(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().flatten().copied().collect()
}

/// Returns the median, or zero if there are no values.
fn middle(values: &[f64]) -> f64 {
    Figure::of(values).map_or(0.0, |figure| figure.median)
}

/// Combines two kinds of measurement of each round by `of`.
fn pairs(a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| of(*a, *b)).collect()
}

/// Combines two kinds of measurement by `of`, in those rounds that have both.
fn both(a: &[Option<f64>], b: &[Option<f64>], of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).filter_map(|(a, b)| Some(of((*a)?, (*b)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_lost_in_the_spread_is_left_out_and_its_range_stays_above_zero() {
        let lost = Candidate::new("flush_full", &[-3.0, -1.0, 2.0], "a difference").price();
        let (name, reason) = lost.unwrap_err();
        assert_eq!(name, "flush_full");
        assert!(reason.starts_with("lost in the spread: -1.0 ns"), "{reason}");

        let noisy = Candidate::new("flush_entry", &[-9.0, 20.0, 40.0], "a difference");
        let price = noisy.price().unwrap();
        assert_eq!((price.figure.median, price.figure.low), (20.0, 2.0));
        assert!(Candidate::new("switch", &[], "nothing").price().is_err());
    }

    #[test]
    fn other_values_widen_a_range_and_never_narrow_it() {
        let wide = Candidate {
            low: Some(0.5),
            high: Some(1.0),
            ..Candidate::new("access", &[2.0; 9], "")
        };
        let Figure { median, low, high, .. } = wide.price().unwrap().figure;
        assert_eq!((median, low, high), (2.0, 0.5, 2.0));
    }

    #[test]
    fn rounds_count_where_both_were_measured() {
        let (a, b) = ([Some(5.0), None, Some(7.0)], [Some(1.0), Some(2.0), None]);
        assert_eq!(both(&a, &b, |a, b| a - b), [4.0]);
        assert_eq!(pairs(&[5.0, 6.0], &[1.0, 2.0], |a, b| a - b), [4.0, 4.0]);
    }
}

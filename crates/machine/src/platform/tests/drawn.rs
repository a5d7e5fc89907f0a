//! Prices drawn from their ranges.

use super::*;
use crate::platform::draw::log_uniform;
use proptest::prelude::*;

#[test]
fn nominal_prices_are_those_of_the_file() {
    let platform = Platform::named("x86-server-class").unwrap();
    let prices = platform.prices(Draw::Nominal);
    for (name, value) in
        [("access", prices.access), ("rmw", prices.rmw), ("read_latency", prices.read_latency)]
    {
        let quote = platform.quotes().iter().find(|quote| quote.name == name).unwrap();
        assert_eq!(value.ps(), quote.value, "{name}");
    }
}

/// The same on every host: only operations that IEEE 754 defines to the last bit are used.
#[test]
fn a_seed_means_the_same_everywhere() {
    let prices = Platform::parse("a.toml", &file(Architecture::X86)).unwrap();
    let prices = prices.prices(Draw::Seeded(1));
    let InvalidationPrices::Ipi(ipi) = prices.invalidation else {
        panic!("x86 is interrupted");
    };
    let drawn = [prices.access, prices.l2_hit, prices.copy_page, ipi.ipi_send].map(|t| t.ps());
    assert_eq!(drawn, [2791, 1649, 2574, 1347]);
}

#[test]
fn ends_and_middle_of_a_range() {
    assert_eq!(log_uniform(1000, 4000, 0), 1000);
    assert_eq!(log_uniform(1000, 4000, 1 << 63), 2000);
    assert_eq!(log_uniform(1000, 4000, u64::MAX), 4000);
    assert_eq!(log_uniform(7, 7, 12345), 7);
    assert_eq!(log_uniform(0, 0, 12345), 0);
}

#[test]
fn draws_are_log_uniform_and_independent() {
    let quotes = Platform::parse("a.toml", &file(Architecture::Arm64)).unwrap();
    let drawn: Vec<_> = (0..4096).map(|seed| quotes.prices(Draw::Seeded(seed))).collect();
    let share = |is: &dyn Fn(&Prices) -> bool| {
        drawn.iter().filter(|prices| is(prices)).count() as f64 / drawn.len() as f64
    };
    let (quarter, half) = (crate::Time::from_ps(1414), crate::Time::from_ps(2000));
    assert!((share(&|prices| prices.access < quarter) - 0.25).abs() < 0.03);
    assert!((share(&|prices| prices.access < half) - 0.5).abs() < 0.03);
    assert!((share(&|prices| prices.rmw < half) - 0.5).abs() < 0.03);
    let both = share(&|prices| prices.access < half && prices.rmw < half);
    assert!((both - 0.25).abs() < 0.03);
}

proptest! {
    #[test]
    fn draws_stay_in_their_ranges_in_order(
        low in 1_u64..1_000_000_000_000_000,
        factor in 1_u64..10_000,
        one: u64,
        other: u64,
    ) {
        let high = low.saturating_mul(factor).min(1_000_000_000_000_000).max(low);
        let [least, most] = [one.min(other), one.max(other)].map(|at| log_uniform(low, high, at));
        prop_assert!(low <= least && least <= most && most <= high);
    }
}

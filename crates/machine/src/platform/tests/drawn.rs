//! Prices drawn from their ranges.

use super::*;
use crate::platform::draw::log_normal;

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

/// A seed gives the same prices on every host, because only operations that IEEE 754 defines to the
/// last bit are used.
#[test]
fn a_seed_means_the_same_everywhere() {
    let prices = Platform::parse("a.toml", &file(Architecture::X86)).unwrap();
    let prices = prices.prices(Draw::Seeded(1));
    let InvalidationPrices::Ipi(ipi) = prices.invalidation else {
        panic!("x86 is interrupted");
    };
    let drawn = [prices.access, prices.l2_hit, prices.copy_page, ipi.ipi_send].map(|t| t.ps());
    assert_eq!(drawn, [1673, 1654, 2228, 844]);
}

#[test]
fn ends_and_middle_of_a_range() {
    let range = [1000, 2000, 6000];
    assert_eq!(log_normal(range, 0.0), 2000);
    assert_eq!(log_normal(range, -1.65), 1000);
    assert_eq!(log_normal(range, 1.65), 6000);
    assert_eq!(log_normal(range, 3.3), 18_000, "beyond the range by the same ratio");
    assert_eq!(log_normal([7, 7, 7], 1.0), 7);
    assert_eq!(log_normal([0, 0, 0], 1.0), 0);
}

/// 5 % of the draws lie below the range, 5 % above it. Prices of the core's clock move together,
/// others do not.
#[test]
fn draws_are_log_normal_and_share_the_clock() {
    let quotes = Platform::parse("a.toml", &file(Architecture::Arm64)).unwrap();
    let drawn: Vec<_> = (0..4096).map(|seed| quotes.prices(Draw::Seeded(seed))).collect();
    let share = |is: &dyn Fn(&Prices) -> bool| {
        drawn.iter().filter(|prices| is(prices)).count() as f64 / drawn.len() as f64
    };
    let of = |name: &str| quotes.quotes().iter().find(|quote| quote.name == name).unwrap();
    let access = of("access");
    assert!((share(&|prices| prices.access.ps() < access.low) - 0.05).abs() < 0.02);
    assert!((share(&|prices| prices.access.ps() < access.value) - 0.5).abs() < 0.03);
    assert!((share(&|prices| prices.access.ps() > access.high) - 0.05).abs() < 0.02);
    let low = |name: &str, time: crate::Time| time.ps() < of(name).value;
    let both =
        share(&|prices| low("access", prices.access) && low("instruction", prices.instruction));
    assert!((both - 1.0 / 3.0).abs() < 0.03, "half of the variance in common: {both}");
    let both = share(&|prices| low("access", prices.access) && low("copy_page", prices.copy_page));
    assert!((both - 0.25).abs() < 0.03, "nothing in common: {both}");
    let flat = share(&|prices| match prices.invalidation {
        InvalidationPrices::Broadcast(prices) => prices.publish == Publish::RoundTrip,
        InvalidationPrices::Ipi(_) => unreachable!(),
    });
    assert!((flat - 0.25).abs() < 0.03, "the flat form in one draw of four: {flat}");
}

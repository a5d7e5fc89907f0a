//! Young checks of single runs.

use pageout_exhibits::harness::{
    Call, Counterexample, Decode, Expected, Op, World, check_call, each_small_case,
    try_every_access,
};
use pageout_paging::Rules;
use pageout_paging::tlb::YoungFlush;
use pageout_paging::young::YoungAlgorithm;

/// Checks every small case with every algorithm, while hardware stands still; then a few patterns
/// of young bits, while hardware may use any entry at any moment.
pub fn young<R: Rules, F: Decode>() -> Result<u64, Box<Counterexample>> {
    let world = World::<F>::new(1);
    let mut tried = 0;
    for algorithm in YoungAlgorithm::ALL {
        let call = Call { op: Op::TestAndClear, algorithm, flush: YoungFlush::None };
        tried += each_small_case::<F>(|case, expected: &Expected| {
            check_call::<R, F>(&world, case, expected, call)
        })?;
        each_small_case::<F>(|case, expected| {
            let young = case.entries.iter().filter(|pte| F::is_young(**pte)).count();
            if matches!(young, 0 | 8) {
                tried += try_every_access::<R, F>(&world, case, expected, call)?;
            }
            Ok(())
        })?;
    }
    Ok(tried)
}

//! Lists with fewer turns, if no turn of a list can just be left out: other lists that may fail
//! too.

use super::layout::Listed;

/// Rounds that one turn may be given up for in place of several.
const HOLDS: [u64; 4] = [2, 4, 8, 16];
/// Earlier and later passes of the same point, in steps.
const PASSES: [i64; 4] = [-1, 1, -2, 2];

/// Returns lists with a turn less, the likeliest to fail first: another turn takes longer in its
/// place, then another one is at an earlier or later pass of its point, then two are left out at
/// once. There are far more of them than turns, so each is made when it is asked for.
pub(super) fn fewer(listed: &[Listed]) -> impl Iterator<Item = Vec<Listed>> {
    let without = |out: usize, other: Listed, at: usize| {
        let mut rest = listed.to_vec();
        rest[at] = other;
        rest.remove(out);
        rest
    };
    let longer = pairs(listed.len()).flat_map(move |(out, at)| {
        let other = listed[at];
        let holds = HOLDS.into_iter().filter(move |hold| *hold > other.hold);
        holds.map(move |hold| without(out, Listed { hold, ..other }, at))
    });
    let passed = pairs(listed.len()).flat_map(move |(out, at)| {
        let other = listed[at];
        let passes = PASSES.into_iter().filter_map(move |step| other.nth.checked_add_signed(step));
        let passes = passes.filter(|nth| *nth > 0);
        passes.map(move |nth| without(out, Listed { nth, ..other }, at))
    });
    let two = pairs(listed.len()).filter(|(out, other)| out < other).map(|(out, other)| {
        let rest = (0..listed.len()).filter(|place| ![out, other].contains(place));
        rest.map(|place| listed[place]).collect()
    });
    longer.chain(passed).chain(two)
}

/// Returns all pairs of different places below a number, neighbours first.
fn pairs(many: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..many).flat_map(move |apart| {
        (0..many).flat_map(move |place| {
            let before = place.checked_sub(apart);
            let after = Some(place + apart).filter(|after| *after < many);
            before.into_iter().chain(after).map(move |other| (place, other))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::layout::MAX_TURNS;
    use super::*;

    fn turn(point: u64) -> Listed {
        Listed { point, cpu: 0, nth: 2, hold: 1 }
    }

    #[test]
    fn each_list_has_fewer_turns_and_neighbours_are_merged_first() {
        let lists: Vec<_> = fewer(&[turn(1), turn(2), turn(3)]).collect();
        assert!(lists.iter().all(|list| list.len() < 3));
        assert_eq!(lists[0], [Listed { hold: 2, ..turn(2) }, turn(3)]);
        let later = vec![Listed { nth: 3, ..turn(2) }, turn(3)];
        assert!(lists.contains(&later));
        assert!(lists.contains(&vec![turn(2)]));
        assert!(lists.iter().flatten().all(|turn| turn.nth > 0));
    }

    #[test]
    fn one_turn_has_none_to_take_its_place() {
        assert_eq!(fewer(&[turn(1)]).next(), None);
        assert_eq!(fewer(&[]).next(), None);
    }

    #[test]
    fn of_the_most_turns_that_a_run_keeps_some_lists_are_made_and_no_more() {
        let many: Vec<Listed> = (0..MAX_TURNS as u64).map(turn).collect();
        let lists: Vec<_> = fewer(&many).take(300).collect();
        assert!(lists.iter().all(|list| list.len() == many.len() - 1));
    }
}

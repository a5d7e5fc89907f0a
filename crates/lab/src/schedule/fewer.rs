//! Lists with fewer turns, if no turn of a list can just be left out: other lists that may fail
//! too.

use super::layout::Listed;

/// Rounds that one turn may be given up for in place of several.
const HOLDS: [u64; 4] = [2, 4, 8, 16];
/// Earlier and later passes of the same point, in steps.
const PASSES: [i64; 4] = [-1, 1, -2, 2];

/// Returns lists with a turn less, the likeliest to fail first: another turn takes longer in its
/// place, then another one is at an earlier or later pass of its point, then two are left out at
/// once.
pub(super) fn fewer(listed: &[Listed]) -> Vec<Vec<Listed>> {
    let mut pairs: Vec<(usize, usize)> = (0..listed.len())
        .flat_map(|out| (0..listed.len()).map(move |other| (out, other)))
        .filter(|(out, other)| out != other)
        .collect();
    pairs.sort_by_key(|(out, other)| out.abs_diff(*other));
    let without = |out: usize, other: usize, change: &dyn Fn(&mut Listed)| {
        let mut rest = listed.to_vec();
        change(&mut rest[other]);
        rest.remove(out);
        rest
    };
    let mut lists = Vec::new();
    for &(out, other) in &pairs {
        let longer = HOLDS.into_iter().filter(|hold| *hold > listed[other].hold);
        lists.extend(longer.map(|hold| without(out, other, &|turn| turn.hold = hold)));
    }
    for &(out, other) in &pairs {
        let passes = PASSES
            .into_iter()
            .filter_map(|step| listed[other].nth.checked_add_signed(step).filter(|nth| *nth > 0));
        lists.extend(passes.map(|nth| without(out, other, &|turn| turn.nth = nth)));
    }
    for &(out, other) in pairs.iter().filter(|(out, other)| out < other) {
        let rest = (0..listed.len()).filter(|place| ![out, other].contains(place));
        lists.push(rest.map(|place| listed[place]).collect());
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(point: u64) -> Listed {
        Listed { point, cpu: 0, nth: 2, hold: 1 }
    }

    #[test]
    fn each_list_has_fewer_turns_and_neighbours_are_merged_first() {
        let lists = fewer(&[turn(1), turn(2), turn(3)]);
        assert!(lists.iter().all(|list| list.len() < 3));
        assert_eq!(lists[0], [Listed { hold: 2, ..turn(2) }, turn(3)]);
        let later = vec![Listed { nth: 3, ..turn(2) }, turn(3)];
        assert!(lists.contains(&later));
        assert!(lists.contains(&vec![turn(2)]));
        assert!(lists.iter().flatten().all(|turn| turn.nth > 0));
    }

    #[test]
    fn one_turn_has_none_to_take_its_place() {
        assert_eq!(fewer(&[turn(1)]), Vec::<Vec<Listed>>::new());
        assert_eq!(fewer(&[]), Vec::<Vec<Listed>>::new());
    }
}

//! The fewest turns that still fail.

/// A list made small.
pub(super) struct Shrunk<T> {
    /// The items that are left: without any one of them it passes, if the tries sufficed.
    pub(super) kept: Vec<T>,
    /// Lists that were tried.
    pub(super) tries: usize,
}

/// Removes items as long as the rest fails: halves first, then smaller parts, at last one by one.
/// `first` says which of several candidates is the first that fails; it may try several at once.
/// After `most` tries what was reached is returned.
pub(super) fn shrink<T: Clone, E>(
    items: Vec<T>,
    most: usize,
    mut first: impl FnMut(&[Vec<T>]) -> Result<Option<usize>, E>,
) -> Result<Shrunk<T>, E> {
    let (mut kept, mut tries, mut parts) = (items, 0, 2);
    while !kept.is_empty() && tries < most {
        let parts_now = parts.min(kept.len());
        let size = kept.len().div_ceil(parts_now);
        let chunks: Vec<Vec<T>> = kept.chunks(size).map(<[T]>::to_vec).collect();
        // A part alone is the greatest step; what is left without one the next.
        let alone = if chunks.len() > 2 { chunks.clone() } else { Vec::new() };
        let without = (0..chunks.len()).map(|left_out| {
            let rest = chunks.iter().enumerate().filter(|(place, _)| *place != left_out);
            rest.flat_map(|(_, chunk)| chunk.clone()).collect()
        });
        let candidates: Vec<Vec<T>> = alone.into_iter().chain(without).collect();
        tries += candidates.len();
        match first(&candidates)? {
            Some(place) => {
                kept = candidates[place].clone();
                parts = if kept.len() * 2 <= size * chunks.len() { 2 } else { parts_now.max(2) };
            }
            None if size == 1 => break,
            None => parts = parts_now * 2,
        }
    }
    Ok(Shrunk { kept, tries })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shrinks 0 to 99 where these together fail.
    fn shrunk(needed: &[u32], most: usize) -> Shrunk<u32> {
        let fails = |candidate: &Vec<u32>| needed.iter().all(|item| candidate.contains(item));
        let first = |candidates: &[Vec<u32>]| Ok::<_, ()>(candidates.iter().position(fails));
        shrink((0..100).collect(), most, first).unwrap()
    }

    #[test]
    fn what_is_needed_is_kept_and_nothing_else() {
        for needed in [&[0][..], &[99], &[3, 4], &[0, 50, 99], &[10, 11, 12, 80, 81]] {
            let Shrunk { kept, tries } = shrunk(needed, usize::MAX);
            assert_eq!(kept, needed);
            assert!(tries < 400, "{tries} tries for {needed:?}");
        }
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_needed() {
        assert_eq!(shrunk(&[], usize::MAX).kept, [0; 0]);
    }

    #[test]
    fn after_so_many_tries_what_was_reached_is_returned() {
        let Shrunk { kept, .. } = shrunk(&[0, 99], 3);
        assert!(kept.contains(&0) && kept.contains(&99) && kept.len() > 2);
    }

    #[test]
    fn an_error_ends_it() {
        let first = |_: &[Vec<u8>]| Err("no emulator");
        assert_eq!(shrink(vec![1, 2], 10, first).err(), Some("no emulator"));
    }
}

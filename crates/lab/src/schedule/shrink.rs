//! Search for the fewest turns that still fail.

/// Removes items as long as the rest fails: halves first, then smaller parts, at last one by one.
/// `first` returns the index of the first candidate that fails; it may try several at once. If
/// `first` tried all candidates, the items that are left pass without any one of them.
pub(super) fn shrink<T: Clone, E>(
    items: Vec<T>,
    mut first: impl FnMut(&[Vec<T>]) -> Result<Option<usize>, E>,
) -> Result<Vec<T>, E> {
    let (mut kept, mut parts) = (items, 2);
    while !kept.is_empty() {
        let parts_now = parts.min(kept.len());
        let size = kept.len().div_ceil(parts_now);
        let chunks: Vec<Vec<T>> = kept.chunks(size).map(<[T]>::to_vec).collect();
        // To keep only one part is the greatest step; to leave one part out is the next.
        let alone = if chunks.len() > 2 { chunks.clone() } else { Vec::new() };
        let without = (0..chunks.len()).map(|left_out| {
            let rest = chunks.iter().enumerate().filter(|(place, _)| *place != left_out);
            rest.flat_map(|(_, chunk)| chunk.clone()).collect()
        });
        let candidates: Vec<Vec<T>> = alone.into_iter().chain(without).collect();
        match first(&candidates)? {
            Some(place) => {
                kept = candidates[place].clone();
                parts = if kept.len() * 2 <= size * chunks.len() { 2 } else { parts_now.max(2) };
            }
            None if size == 1 => break,
            None => parts = parts_now * 2,
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shrinks 0 to 99, where these items together fail. Returns also the number of lists tried.
    fn shrunk(needed: &[u32]) -> (Vec<u32>, usize) {
        let fails = |candidate: &Vec<u32>| needed.iter().all(|item| candidate.contains(item));
        let mut tries = 0;
        let first = |candidates: &[Vec<u32>]| {
            tries += candidates.len();
            Ok::<_, ()>(candidates.iter().position(fails))
        };
        (shrink((0..100).collect(), first).unwrap(), tries)
    }

    #[test]
    fn what_is_needed_is_kept_and_nothing_else() {
        for needed in [&[0][..], &[99], &[3, 4], &[0, 50, 99], &[10, 11, 12, 80, 81]] {
            let (kept, tries) = shrunk(needed);
            assert_eq!(kept, needed);
            assert!(tries < 400, "{tries} tries for {needed:?}");
        }
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_needed() {
        assert_eq!(shrunk(&[]).0, [0; 0]);
    }

    #[test]
    fn it_ends_where_nothing_more_is_tried() {
        let none = |_: &[Vec<u8>]| Ok::<_, ()>(None);
        assert_eq!(shrink(vec![1, 2, 3], none), Ok(vec![1, 2, 3]));
    }

    #[test]
    fn an_error_ends_it() {
        let first = |_: &[Vec<u8>]| Err("no emulator");
        assert_eq!(shrink(vec![1, 2], first).err(), Some("no emulator"));
    }
}

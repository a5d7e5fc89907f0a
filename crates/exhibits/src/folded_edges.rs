use pageout_paging::Rules;

/// Constructed: part of a contiguous block is unmapped, and the rest stays marked contiguous.
///
/// `contpte_try_unfold_partial` prevents this (Linux 7.3.4): a walk through a remaining entry
/// caches a translation of the whole block, with the unmapped pages.
#[derive(Clone, Copy, Debug)]
pub struct FoldedEdges;

impl Rules for FoldedEdges {
    fn unfold_edges() -> bool {
        false
    }
}

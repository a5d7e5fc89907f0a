use pageout_paging::Rules;

/// Constructed: part of a contiguous block is taken out, and the rest stays marked contiguous.
///
/// What `contpte_try_unfold_partial` prevents (Linux 7.3.4): a walk through an entry that is left
/// caches a translation of the whole block, the pages taken out with it.
#[derive(Clone, Copy, Debug)]
pub struct FoldedEdges;

impl Rules for FoldedEdges {
    fn unfold_edges() -> bool {
        false
    }
}

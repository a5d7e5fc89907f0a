//! The tables that checks run on.

use super::Decode;
use pageout_paging::pte::{Level, Prot, SwapEntry, SwapKind};
use pageout_paging::{Format, Pfn, Pte};
use std::ops::Range;

/// The frame that entry 0 of a case's table maps; entry k maps the k-th after it.
pub const BASE: Pfn = Pfn::new(0x8_0000);

/// A table, and the run of entries in it that is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Every entry of the table.
    pub entries: Vec<Pte>,
    /// The run: present, consecutive pages of one folio.
    pub run: Range<usize>,
}

/// The pages that the entries of the run map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    /// Pages for hardware.
    Present,
    /// PROT_NONE pages.
    ProtNone,
}

/// The entries beside the run and the contiguous blocks it touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// More pages of the folio.
    Folio,
    /// Swap entries whose bits at the places of contiguous and young are in use.
    Swap,
}

/// A table's contents except for the young bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The contiguous blocks: bit b stands for block b, the 64th after it and so on.
    pub cont: u64,
    /// The pages that the run maps.
    pub kind: PageKind,
    /// The entries beside the run.
    pub outside: Outside,
}

impl Layout {
    /// Returns a layout of present pages, with `cont` blocks, of one folio everywhere.
    pub const fn folio(cont: u64) -> Self {
        Self { cont, kind: PageKind::Present, outside: Outside::Folio }
    }

    /// Returns the case of `run` in which the entries are young for which `young` is true.
    pub fn case<F: Decode>(&self, run: Range<usize>, young: impl Fn(usize) -> bool) -> Case {
        let (first, last) = (run.start, run.end - 1);
        let pages = [self.pages::<F>(false), self.pages::<F>(true)];
        let junk = junk::<F>();
        let pte = |i: usize| {
            let cont = self.is_cont::<F>(i);
            // A block belongs to one folio. A block that the run touches belongs to the run's
            // folio.
            let touched = |end: usize| cont && i / F::CONT_PTES == end / F::CONT_PTES;
            let inside = run.contains(&i) || touched(first) || touched(last);
            let pte = match self.outside {
                Outside::Swap if !inside => junk,
                _ => F::stored(F::advance(pages[usize::from(cont)][i % 3], i)),
            };
            Pte(pte.0 | if young(i) { F::YOUNG } else { 0 })
        };
        Case { entries: (0..F::PTES).map(pte).collect(), run: run.clone() }
    }

    fn is_cont<F: Format>(&self, i: usize) -> bool {
        F::CONT_SHIFT > 0 && self.cont >> (i / F::CONT_PTES % 64) & 1 == 1
    }

    /// Returns old entries for the page of entry 0: clean, and dirty in each of the format's ways.
    fn pages<F: Format>(&self, cont: bool) -> [Pte; 3] {
        let prot = Prot { none: self.kind == PageKind::ProtNone, ..Prot::WRITE };
        let leaf = F::leaf(Level::Pte, BASE, prot);
        let clean = if cont { F::mkcont(leaf) } else { leaf };
        [clean, F::hardware_dirty(clean).unwrap_or(clean), F::mkdirty(clean)]
    }
}

fn junk<F: Format>() -> Pte {
    let bit_52_or_63_in_any_format = 1 << 40 | 1 << 43 | 1 << 49;
    let swap = SwapEntry::new(SwapKind::Device(3), bit_52_or_63_in_any_format);
    F::swap(swap.expect("the offset fits"))
}

//! The tables that checks run on.

use super::Decode;
use pageout_paging::pte::{Level, Prot, SwapEntry, SwapKind};
use pageout_paging::{Format, Pfn, Pte};
use std::ops::Range;

/// The frame that entry 0 of a case's table maps; entry k maps the k-th after it.
pub const BASE: Pfn = Pfn::new(0x8_0000);

/// One table, and the run of entries in it that is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Every entry of the table.
    pub entries: Vec<Pte>,
    /// The run: present, consecutive pages of one folio.
    pub run: Range<usize>,
}

/// What the entries of the run map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    /// Pages for hardware.
    Present,
    /// PROT_NONE pages.
    ProtNone,
}

/// What lies beside the run and the contiguous blocks it touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// More pages of the folio.
    Folio,
    /// Swap entries whose contiguous and young bits' places are in use.
    Swap,
}

/// A table's contents but for the young bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bit b: block b is contiguous, and so are the 64th after it and so on.
    pub cont: u64,
    /// What pages.
    pub kind: PageKind,
    /// What else.
    pub outside: Outside,
}

impl Layout {
    /// Present pages, `cont` blocks, one folio all over.
    pub const fn folio(cont: u64) -> Self {
        Self { cont, kind: PageKind::Present, outside: Outside::Folio }
    }

    /// The case of `run` with the entries young that `young` names.
    pub fn case<F: Decode>(&self, run: Range<usize>, young: impl Fn(usize) -> bool) -> Case {
        let (first, last) = (run.start, run.end - 1);
        let pages = [self.pages::<F>(false), self.pages::<F>(true)];
        let junk = junk::<F>();
        let pte = |i: usize| {
            let cont = self.is_cont::<F>(i);
            // A block belongs to one folio: one that the run touches, to the run's.
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

    /// Old entries for the page of entry 0: clean, and dirty in each of the format's ways.
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

//! Checks of the young-bit code against an oracle, in a world where hardware can act between any
//! two table operations. A check returns a [`Counterexample`]; it never panics because of the
//! subject.

mod case;
mod check;
mod counterexample;
mod decode;
mod ground;
mod hardware;
mod oracle;
mod search;
mod world;

pub use case::{BASE, Case, Layout, Outside, PageKind};
pub use check::{Call, Op, check_call};
pub use counterexample::Counterexample;
pub use decode::{Bits, Decode};
pub use ground::{Ground, Guard};
pub use hardware::{Tried, check_hardware, try_every_access};
pub use oracle::{Expected, batch_len, gathered, merged};
pub use search::{case_numbers, each_edge_case, each_small_case, random_case};
pub use world::{Access, Counts, Event, FIRST_TABLE, World};

use pageout_paging::{Mmu, Rules, Sound, Table};

/// The code under check: the engine with these rules, through these wrappers of the world's
/// handles.
pub trait Subject: 'static {
    /// The soundness decisions.
    type Rules: Rules;
    /// The table handle that the engine is given.
    type Table<T: Table>: Table;
    /// The MMU that the engine is given.
    type Mmu<M: Mmu>: Mmu;
    /// Wraps the world's table handle.
    fn table<T: Table>(table: T) -> Self::Table<T>;
    /// Wraps the world's MMU.
    fn mmu<M: Mmu>(mmu: M) -> Self::Mmu<M>;
}

impl Subject for Sound {
    type Rules = Self;
    type Table<T: Table> = T;
    type Mmu<M: Mmu> = M;

    fn table<T: Table>(table: T) -> T {
        table
    }

    fn mmu<M: Mmu>(mmu: M) -> M {
        mmu
    }
}

/// The engine as shipped.
pub type Engine = Sound;

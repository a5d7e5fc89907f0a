//! The simulated machine: frames with contents, storage that completes at once, late or never, and
//! TLBs at their laziest. The engine's tests, its random histories and the searches of `check` run
//! the engine on it.
#![forbid(unsafe_code)]

mod ground;
mod memory;
mod storage;
mod tables;
mod tlb;

pub use ground::{Call, Cpu, Ground, Hardware};
pub use memory::{Frame, GARBAGE, Lost, Memory};
pub use storage::{Answer, Storage, Transfer, pristine};
pub use tables::{EngineMemory, FIRST_TABLE, PageTables};
pub use tlb::{Held, Levels, Tlb, Tlbs};

//! The architectures of machines.

use std::fmt;

/// The architectures whose invalidations are modelled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Architecture {
    /// AArch64: invalidations are instructions that hardware broadcasts.
    Arm64,
    /// x86-64: the issuer interrupts other cores, which invalidate themselves.
    X86,
    /// RV64: like x86.
    Riscv,
}

impl Architecture {
    /// Every architecture.
    pub const ALL: [Self; 3] = [Self::Arm64, Self::X86, Self::Riscv];

    /// Returns the architecture's name in platform files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86 => "x86",
            Self::Riscv => "riscv",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

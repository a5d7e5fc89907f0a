//! Small formats for exhaustive search: the real bit layouts in tables of 8, which is one 64-byte
//! line, with contiguous blocks of 2 or 4. Only the geometry is small: the code is the shipped
//! code.

use super::{Arm64, Riscv, X86};

/// arm64 entries in tables of 8 with contiguous blocks of 2.
pub type SmallArm2 = Arm64<12, 3, 1>;

/// arm64 entries in tables of 8 with contiguous blocks of 4.
pub type SmallArm4 = Arm64<12, 3, 2>;

/// x86-64 entries in tables of 8.
pub type SmallX86 = X86<3>;

/// riscv64 entries in tables of 8 with blocks of 4, whose order entries encode as Svnapot's.
pub type SmallRiscv = Riscv<3, 2>;

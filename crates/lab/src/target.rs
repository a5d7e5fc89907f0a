//! The machines that kernels are built and booted for.

use std::fmt;

/// A processor architecture.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Arch {
    /// arm64.
    Arm64,
    /// x86-64.
    X86_64,
    /// 64-bit RISC-V.
    Riscv64,
}

impl Arch {
    /// Every architecture.
    pub const ALL: [Self; 3] = [Self::Arm64, Self::X86_64, Self::Riscv64];

    /// Returns the name for people, with which the names of its configurations begin.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86_64 => "x86-64",
            Self::Riscv64 => "riscv64",
        }
    }

    /// Returns the architecture's name in the kernel's make.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86_64 => "x86_64",
            Self::Riscv64 => "riscv",
        }
    }

    /// Returns the architecture's name in compilers and QEMU.
    const fn gnu_name(self) -> &'static str {
        match self {
            Self::Arm64 => "aarch64",
            Self::X86_64 => "x86_64",
            Self::Riscv64 => "riscv64",
        }
    }

    /// Returns true if programs of this architecture run here.
    pub fn is_native(self) -> bool {
        self.gnu_name() == std::env::consts::ARCH
    }

    /// Returns the prefix of the names of the compiler and its tools: none if they are native.
    pub fn tool_prefix(self) -> String {
        if self.is_native() { String::new() } else { format!("{}-linux-gnu-", self.gnu_name()) }
    }

    /// Returns the name of the C compiler.
    pub fn compiler(self) -> String {
        self.tool_prefix() + "gcc"
    }

    /// Returns the Debian packages of the architecture's compiler and of its C library for
    /// programs.
    pub fn compiler_packages(self) -> [&'static str; 2] {
        match self {
            _ if self.is_native() => ["gcc", "libc6-dev"],
            Self::Arm64 => ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
            Self::X86_64 => ["gcc-x86-64-linux-gnu", "libc6-dev-amd64-cross"],
            Self::Riscv64 => ["gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"],
        }
    }

    /// Returns the name of the machine emulator.
    pub const fn qemu(self) -> &'static str {
        match self {
            Self::Arm64 => "qemu-system-aarch64",
            Self::X86_64 => "qemu-system-x86_64",
            Self::Riscv64 => "qemu-system-riscv64",
        }
    }

    /// Returns the Debian package of the emulator.
    pub const fn qemu_package(self) -> &'static str {
        match self {
            Self::Arm64 => "qemu-system-arm",
            Self::X86_64 => "qemu-system-x86",
            Self::Riscv64 => "qemu-system-misc",
        }
    }

    /// Returns true if the emulator can run several of its CPUs by turns that are counted in
    /// instructions. QEMU's riscv64 keeps a CPU's turn through PAUSE, and so through any wait for
    /// another CPU.
    pub(super) const fn takes_turns(self) -> bool {
        !matches!(self, Self::Riscv64)
    }

    /// Returns the make goal of a bootable kernel.
    pub const fn goal(self) -> &'static str {
        match self {
            Self::Arm64 | Self::Riscv64 => "Image",
            Self::X86_64 => "bzImage",
        }
    }

    /// Returns the path at which make leaves that kernel.
    pub const fn image(self) -> &'static str {
        match self {
            Self::Arm64 => "arch/arm64/boot/Image",
            Self::X86_64 => "arch/x86/boot/bzImage",
            Self::Riscv64 => "arch/riscv/boot/Image",
        }
    }
}

/// A kernel configuration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Config {
    /// arm64, 4K pages.
    Arm64_4K,
    /// arm64, 16K pages.
    Arm64_16K,
    /// arm64, 64K pages.
    Arm64_64K,
    /// x86-64, 4K pages.
    X86_64,
    /// 64-bit RISC-V, 4K pages.
    Riscv64,
    /// arm64, 4K pages, with swap: for sessions of `lru_gen`.
    Arm64_4KSwap,
    /// x86-64, 4K pages, with swap: for sessions of `lru_gen`.
    X86_64Swap,
    /// 64-bit RISC-V, 4K pages, with swap.
    Riscv64Swap,
}

impl Config {
    /// Every configuration.
    pub const ALL: [Self; 8] = [
        Self::Arm64_4K,
        Self::Arm64_16K,
        Self::Arm64_64K,
        Self::X86_64,
        Self::Riscv64,
        Self::Arm64_4KSwap,
        Self::X86_64Swap,
        Self::Riscv64Swap,
    ];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arm64_4K => "arm64-4k",
            Self::Arm64_16K => "arm64-16k",
            Self::Arm64_64K => "arm64-64k",
            Self::X86_64 => "x86-64",
            Self::Arm64_4KSwap => "arm64-4k-swap",
            Self::X86_64Swap => "x86-64-swap",
            Self::Riscv64 => "riscv64",
            Self::Riscv64Swap => "riscv64-swap",
        }
    }

    /// Returns the configuration of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|config| config.name() == name)
    }

    /// Returns the configuration with 4K pages of an architecture, with swap or without.
    pub fn of(arch: Arch, with_swap: bool) -> Self {
        let is_it = |config: &Self| config.arch() == arch && config.has_swap() == with_swap;
        Self::ALL.into_iter().find(is_it).expect("every architecture has both")
    }

    /// Returns the configuration with 4K pages of this machine's architecture, with swap or
    /// without; that of arm64 if there is none.
    pub fn native(with_swap: bool) -> Self {
        let native = Arch::ALL.into_iter().find(|arch| arch.is_native());
        Self::of(native.unwrap_or(Arch::Arm64), with_swap)
    }

    /// Returns the number of 4K pages in a page.
    pub const fn small_pages(self) -> u64 {
        match self {
            Self::Arm64_16K => 4,
            Self::Arm64_64K => 16,
            Self::Arm64_4K
            | Self::X86_64
            | Self::Riscv64
            | Self::Arm64_4KSwap
            | Self::X86_64Swap
            | Self::Riscv64Swap => 1,
        }
    }

    /// Returns true if the configuration's kernels swap, and keep the history of one generation as
    /// sessions show it.
    pub const fn has_swap(self) -> bool {
        matches!(self, Self::Arm64_4KSwap | Self::X86_64Swap | Self::Riscv64Swap)
    }

    /// Returns the architecture.
    pub const fn arch(self) -> Arch {
        match self {
            Self::Arm64_4K | Self::Arm64_16K | Self::Arm64_64K | Self::Arm64_4KSwap => Arch::Arm64,
            Self::X86_64 | Self::X86_64Swap => Arch::X86_64,
            Self::Riscv64 | Self::Riscv64Swap => Arch::Riscv64,
        }
    }
}

/// A processor that machines have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cpu {
    /// A processor with all features that the emulator has.
    Max,
    /// Neoverse N1, of 2019: it sets the accessed bit itself, but cannot broadcast range
    /// invalidations yet.
    NeoverseN1,
    /// The processor of this machine, by KVM: its time is measured, where instructions of the
    /// others are counted.
    Host,
}

impl Cpu {
    /// Every processor.
    pub const ALL: [Self; 3] = [Self::Max, Self::NeoverseN1, Self::Host];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::NeoverseN1 => "neoverse-n1",
            Self::Host => "host",
        }
    }

    /// Returns the processor of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cpu| cpu.name() == name)
    }

    /// Returns true if the CPU runs programs of the architecture.
    pub fn runs(self, arch: Arch) -> bool {
        match self {
            Self::Max => true,
            Self::NeoverseN1 => arch == Arch::Arm64,
            Self::Host => arch.is_native(),
        }
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_native_configuration_is_of_this_machine() {
        for with_swap in [false, true] {
            let native = Config::native(with_swap);
            assert_eq!(native.has_swap(), with_swap);
            assert!(Arch::ALL.iter().all(|arch| !arch.is_native()) || native.arch().is_native());
            for arch in Arch::ALL {
                let config = Config::of(arch, with_swap);
                assert_eq!((config.arch(), config.small_pages()), (arch, 1));
            }
        }
    }
}

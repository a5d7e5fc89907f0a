//! The effects of instructions, as far as the checks need them.

use super::listing::Instruction;

/// An instruction set whose listings are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Isa {
    /// x86-64 in AT&T syntax.
    X86,
    /// arm64.
    Arm64,
}

/// A kind of atomic read-modify-write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Atomic {
    /// Clears one bit and returns its old value: `lock btr`.
    TestAndClear,
    /// Clears bits: `lock and`, `stclr`; `ldclr` also returns the old word.
    Clear,
    /// `lock cmpxchg`, `cas`.
    CompareAndSwap,
    /// A pair of exclusive load and store with a loop around it: `ldxr`, `stxr`.
    Exclusive,
    /// Anything else that is locked.
    Other,
}

/// The place that control goes to after an instruction.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Next<'a> {
    /// The following instruction.
    Through,
    /// Always a label: an unconditional jump.
    Jump(&'a str),
    /// A label or the following instruction: a conditional branch.
    Branch(&'a str),
    /// A function, which returns to the following instruction.
    Call(&'a str),
    /// Back to the caller.
    Return,
    /// A trap: the program stops here.
    Trap,
    /// An address in a register.
    Unknown,
}

impl Isa {
    /// Returns the atomic read-modify-write that begins with this instruction, if one does.
    pub(super) fn atomic(self, instruction: &Instruction) -> Option<Atomic> {
        let mnemonic = instruction.mnemonic.as_str();
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| mnemonic.starts_with(prefix));
        match self {
            Isa::X86 if starts(&["lock btr"]) => Some(Atomic::TestAndClear),
            Isa::X86 if starts(&["lock and"]) => Some(Atomic::Clear),
            Isa::X86 if starts(&["lock cmpxchg"]) => Some(Atomic::CompareAndSwap),
            Isa::X86 if starts(&["lock "]) => Some(Atomic::Other),
            // An exchange with memory is locked without a lock prefix.
            Isa::X86 if starts(&["xchg"]) && instruction.operands.contains('(') => {
                Some(Atomic::Other)
            }
            Isa::X86 => None,
            Isa::Arm64 if starts(&["ldclr", "stclr"]) => Some(Atomic::Clear),
            Isa::Arm64 if starts(&["cas"]) => Some(Atomic::CompareAndSwap),
            Isa::Arm64 if starts(&["ldxr", "ldaxr"]) => Some(Atomic::Exclusive),
            Isa::Arm64
                if starts(&["swp", "ldadd", "ldset", "ldeor", "stadd", "stset", "steor"]) =>
            {
                Some(Atomic::Other)
            }
            Isa::Arm64 => None,
        }
    }

    /// Returns true if the instruction writes memory other than the stack, and not atomically.
    pub(super) fn is_plain_store(self, instruction: &Instruction) -> bool {
        let Instruction { mnemonic, operands } = instruction;
        match self {
            Isa::X86 => {
                let reads =
                    ["cmp", "test", "prefetch", "bt", "jmp", "call", "nop", "push", "clflush"];
                let stores = operands.ends_with(')') && !operands.contains("(%rsp");
                let only_reads = reads.iter().any(|read| mnemonic.starts_with(read));
                // `btr`, `btc` and `bts` write; `bt` does not.
                let bit_write = ["btr", "btc", "bts"].iter().any(|bit| mnemonic.starts_with(bit));
                stores && (!only_reads || bit_write) && self.atomic(instruction).is_none()
            }
            Isa::Arm64 => {
                let atomic = ["stxr", "stlxr", "stclr", "stadd", "stset", "steor"];
                mnemonic.starts_with("st")
                    && !atomic.iter().any(|prefix| mnemonic.starts_with(prefix))
                    && !operands.contains("[sp")
            }
        }
    }

    /// Counts the entries that the instruction reads, by loads of 64 bits or by testing a part of
    /// one. An entry is in memory other than the stack, and the instruction does not write it.
    pub(super) fn entries_read(self, instruction: &Instruction) -> usize {
        let Instruction { mnemonic, operands } = instruction;
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| mnemonic.starts_with(prefix));
        match self {
            Isa::X86 => {
                let memory = operands.contains('(') && !operands.contains("(%rsp");
                let no_read = starts(&["lea", "prefetch", "nop", "j", "call", "lock "]);
                usize::from(memory && !no_read && !self.is_plain_store(instruction))
            }
            Isa::Arm64 if operands.contains("[sp") => 0,
            Isa::Arm64 if starts(&["ldp"]) => 2,
            Isa::Arm64 => usize::from(starts(&["ldr", "ldur"])),
        }
    }

    /// Returns the place that control goes to after the instruction.
    pub(super) fn next(self, instruction: &Instruction) -> Next<'_> {
        let mnemonic = instruction.mnemonic.as_str();
        let target = instruction.operands.rsplit(", ").next().unwrap_or("");
        // x86 marks an address in a register or in memory with a star, and a symbol's PLT entry
        // with `@`. A symbol's own place in the table of addresses is as good as its name.
        let by_table = target.strip_prefix('*').and_then(|t| t.strip_suffix("@GOTPCREL(%rip)"));
        let target = by_table.or_else(|| target.split('@').next()).unwrap_or(target);
        match self {
            Isa::X86 if target.starts_with('*') => Next::Unknown,
            Isa::X86 => match mnemonic {
                "jmp" | "jmpq" => Next::Jump(target),
                "call" | "callq" => Next::Call(target),
                "ret" | "retq" => Next::Return,
                "ud2" | "int3" => Next::Trap,
                _ if mnemonic.starts_with('j') => Next::Branch(target),
                _ => Next::Through,
            },
            Isa::Arm64 => match mnemonic {
                "b" => Next::Jump(target),
                "bl" => Next::Call(target),
                "br" | "blr" => Next::Unknown,
                "ret" => Next::Return,
                "brk" | "udf" => Next::Trap,
                "cbz" | "cbnz" | "tbz" | "tbnz" => Next::Branch(target),
                _ if mnemonic.starts_with("b.") => Next::Branch(target),
                _ => Next::Through,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Instruction {
        let at = text.find("  ").unwrap_or(text.len());
        let (mnemonic, operands) = text.split_at(at);
        Instruction { mnemonic: mnemonic.to_owned(), operands: operands.trim().to_owned() }
    }

    #[test]
    fn atomics_are_told_apart() {
        let cases = [
            (Isa::X86, "lock btrq  $5, (%rdi)", Some(Atomic::TestAndClear)),
            (Isa::X86, "lock andq  $-33, (%rdi,%rcx,8)", Some(Atomic::Clear)),
            (Isa::X86, "lock cmpxchgq  %rdx, (%rdi)", Some(Atomic::CompareAndSwap)),
            (Isa::X86, "lock xaddq  %rdx, (%rdi)", Some(Atomic::Other)),
            (Isa::X86, "xchgq  %rdx, (%rdi)", Some(Atomic::Other)),
            (Isa::X86, "xchgq  %rdx, %rax", None),
            (Isa::X86, "andq  $-33, (%rdi)", None),
            (Isa::Arm64, "ldclr  x8, x9, [x10]", Some(Atomic::Clear)),
            (Isa::Arm64, "stclrl  x8, [x10]", Some(Atomic::Clear)),
            (Isa::Arm64, "cas  x8, x9, [x10]", Some(Atomic::CompareAndSwap)),
            (Isa::Arm64, "ldxr  x8, [x10]", Some(Atomic::Exclusive)),
            (Isa::Arm64, "stxr  w8, x9, [x10]", None),
            (Isa::Arm64, "swpal  x8, x9, [x10]", Some(Atomic::Other)),
            (Isa::Arm64, "ldr  x8, [x10]", None),
        ];
        for (isa, text, expected) in cases {
            assert_eq!(isa.atomic(&parse(text)), expected, "{text}");
        }
    }

    #[test]
    fn plain_stores_are_found() {
        let stores = [
            (Isa::X86, "movq  %rax, (%rdi,%rcx,8)"),
            (Isa::X86, "andq  $-33, 8(%rdi)"),
            (Isa::X86, "btrq  $5, (%rdi)"),
            (Isa::Arm64, "str  x8, [x0, x1, lsl #3]"),
            (Isa::Arm64, "stp  x8, x9, [x0]"),
        ];
        for (isa, text) in stores {
            assert!(isa.is_plain_store(&parse(text)), "{text}");
        }
        let others = [
            (Isa::X86, "movq  (%rdi), %rax"),
            (Isa::X86, "movq  %rax, 8(%rsp)"),
            (Isa::X86, "lock andq  $-33, (%rdi)"),
            (Isa::X86, "testb  $32, (%rdi)"),
            (Isa::X86, "btq  $5, (%rdi)"),
            (Isa::X86, "prefetchw  (%rdi)"),
            (Isa::Arm64, "stp  x29, x30, [sp, #-16]!"),
            (Isa::Arm64, "stxr  w8, x9, [x10]"),
            (Isa::Arm64, "stclr  x8, [x10]"),
        ];
        for (isa, text) in others {
            assert!(!isa.is_plain_store(&parse(text)), "{text}");
        }
    }

    #[test]
    fn reads_of_entries_are_counted() {
        let cases = [
            (Isa::X86, "movq  (%rdi,%rcx,8), %rax", 1),
            (Isa::X86, "orq  8(%rdi), %rax", 1),
            (Isa::X86, "testb  $32, (%rdi)", 1),
            (Isa::X86, "btq  $10, (%rdi)", 1),
            (Isa::X86, "movq  8(%rsp), %rax", 0),
            (Isa::X86, "movq  %rax, (%rdi)", 0),
            (Isa::X86, "leaq  8(%rdi), %rax", 0),
            (Isa::X86, "prefetchw  (%rdi)", 0),
            (Isa::X86, "lock andq  $-33, (%rdi)", 0),
            (Isa::Arm64, "ldr  x8, [x10, #8]", 1),
            (Isa::Arm64, "ldp  x8, x9, [x10]", 2),
            (Isa::Arm64, "ldp  x29, x30, [sp], #16", 0),
            (Isa::Arm64, "str  x8, [x10]", 0),
            (Isa::Arm64, "prfm  pstl1keep, [x10]", 0),
        ];
        for (isa, text, expected) in cases {
            assert_eq!(isa.entries_read(&parse(text)), expected, "{text}");
        }
    }

    #[test]
    fn control_flow_is_known() {
        let cases = [
            (Isa::X86, "jmp  .LBB0_1", Next::Jump(".LBB0_1")),
            (Isa::X86, "jne  .LBB0_1", Next::Branch(".LBB0_1")),
            (Isa::X86, "callq  memcpy@PLT", Next::Call("memcpy")),
            (Isa::X86, "callq  *memcpy@GOTPCREL(%rip)", Next::Call("memcpy")),
            (Isa::X86, "jmpq  *f@GOTPCREL(%rip)", Next::Jump("f")),
            (Isa::X86, "callq  *%rax", Next::Unknown),
            (Isa::X86, "ud2", Next::Trap),
            (Isa::Arm64, "tbnz  w8, #0, .LBB0_1", Next::Branch(".LBB0_1")),
            (Isa::Arm64, "b.ne  .LBB0_1", Next::Branch(".LBB0_1")),
            (Isa::Arm64, "bl  f", Next::Call("f")),
            (Isa::Arm64, "bic  x8, x8, x9", Next::Through),
            (Isa::Arm64, "ret", Next::Return),
        ];
        for (isa, text, expected) in cases {
            assert_eq!(isa.next(&parse(text)), expected, "{text}");
        }
    }
}

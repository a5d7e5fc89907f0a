//! Instructions of x86-64, decoded once for each address.

use super::classes::Classes;
use super::lines::Lines;
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
    UsedMemory,
};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The longest instruction, in bytes.
pub(super) const LONGEST: usize = 15;

/// The registers before an instruction.
pub(super) trait Registers {
    /// Returns the address of the instruction.
    fn next(&self) -> u64;
    /// Returns the value of a register of 64 bits or of a segment's base; `None` for others.
    fn value(&self, register: Register) -> Option<u64>;
}

/// An instruction, as far as its class depends on it.
#[derive(Debug)]
struct Decoded {
    is_atomic: bool,
    repeats: bool,
    memory: Vec<UsedMemory>,
}

/// The work that was seen, and the instructions that were decoded for it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    decoded: HashMap<u64, Decoded>,
    classes: Classes,
    lines: Lines,
    /// The address of the last instruction.
    last: u64,
}

impl Seen {
    /// Counts the instruction that runs next; `code` reads it, where it is new.
    ///
    /// # Errors
    /// Those of `code`.
    pub(super) fn run<E>(
        &mut self,
        registers: &impl Registers,
        code: impl FnOnce(u64) -> Result<[u8; LONGEST], E>,
    ) -> Result<(), E> {
        let at = registers.next();
        let decoded = match self.decoded.entry(at) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Decoded::new(at, &code(at)?)),
        };
        // A step is one turn of an instruction that repeats itself.
        if !(decoded.repeats && self.last == at) {
            self.classes.instructions += 1;
            self.classes.atomics += u64::from(decoded.is_atomic);
        }
        self.last = at;
        for memory in &decoded.memory {
            let value = |register: Register, _, _| value(registers, register);
            if let Some(address) = memory.virtual_address(0, value) {
                self.lines.touch(address, memory.memory_size().size() as u64);
            }
        }
        Ok(())
    }

    /// Ends a region and returns what ran in it.
    pub(super) fn end_region(&mut self) -> Classes {
        let lines = std::mem::take(&mut self.lines);
        Classes { lines: lines.count(), ..std::mem::take(&mut self.classes) }
    }
}

impl Decoded {
    fn new(at: u64, code: &[u8]) -> Self {
        let instruction = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
        let mut factory = InstructionInfoFactory::new();
        let used = factory.info(&instruction).used_memory();
        let is_access = |memory: &&UsedMemory| memory.access() != OpAccess::NoMemAccess;
        let memory: Vec<_> = used.iter().filter(is_access).copied().collect();
        Self {
            is_atomic: is_atomic(&instruction, &memory),
            repeats: instruction.has_rep_prefix() || instruction.has_repne_prefix(),
            memory,
        }
    }
}

/// Returns true for a `lock` prefix, which an exchange with memory implies.
fn is_atomic(instruction: &Instruction, memory: &[UsedMemory]) -> bool {
    instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg && !memory.is_empty()
}

/// Returns the value of a register that an address is made of; a part of one is cut out of it.
fn value(registers: &impl Registers, register: Register) -> Option<u64> {
    let full = registers.value(register.full_register())?;
    Some(if register.is_gpr32() { full & u64::from(u32::MAX) } else { full })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers that are all equal, but for segments and the instruction's address.
    struct Same {
        next: u64,
        all: u64,
    }

    impl Registers for Same {
        fn next(&self) -> u64 {
            self.next
        }

        fn value(&self, register: Register) -> Option<u64> {
            Some(if register.is_gpr64() { self.all } else { 0 })
        }
    }

    fn classes(code: &[u8], registers: &Same) -> Classes {
        let mut seen = Seen::default();
        run(&mut seen, code, registers);
        seen.end_region()
    }

    fn run(seen: &mut Seen, code: &[u8], registers: &Same) {
        let mut bytes = [0; LONGEST];
        bytes[..code.len()].copy_from_slice(code);
        seen.run(registers, |_| Ok::<_, ()>(bytes)).unwrap();
    }

    #[test]
    fn classes_of_single_instructions() {
        let one = |atomics, lines| Classes { instructions: 1, atomics, lines };
        let at = |all| Same { next: 0x1000, all };
        // mov rax, [rbx]; lea rax, [rbx]; nop
        assert_eq!(classes(&[0x48, 0x8b, 0x03], &at(64)), one(0, 1));
        assert_eq!(classes(&[0x48, 0x8b, 0x03], &at(60)), one(0, 2), "across two lines");
        assert_eq!(classes(&[0x48, 0x8d, 0x03], &at(64)), one(0, 0));
        assert_eq!(classes(&[0x90], &at(64)), one(0, 0));
        // lock or [rbx], rax; xchg [rbx], rax; xchg rcx, rax
        assert_eq!(classes(&[0xf0, 0x48, 0x09, 0x03], &at(64)), one(1, 1));
        assert_eq!(classes(&[0x48, 0x87, 0x03], &at(64)), one(1, 1));
        assert_eq!(classes(&[0x48, 0x87, 0xc8], &at(64)), one(0, 0));
        // mov eax, [ebx + ebx] wraps at 32 bits
        assert_eq!(classes(&[0x67, 0x8b, 0x04, 0x1b], &at(1 << 31)), one(0, 1));
        // push rax is an access of the stack
        assert_eq!(classes(&[0x50], &at(64)), one(0, 1));
    }

    #[test]
    fn an_instruction_that_repeats_itself_counts_once() {
        let mut seen = Seen::default();
        for step in 0..4 {
            // rep movsb
            run(&mut seen, &[0xf3, 0xa4], &Same { next: 0x1000, all: 64 * step });
        }
        let Classes { instructions, atomics, lines } = seen.end_region();
        assert_eq!((instructions, atomics), (1, 0));
        assert_eq!(lines, 4, "each turn's line");
    }
}

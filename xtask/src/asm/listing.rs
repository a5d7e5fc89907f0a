//! A compiler's assembly listing, split into functions and instructions.

use std::collections::BTreeMap;

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Instruction {
    /// The mnemonic; on x86 a lock prefix is part of it ("lock andq").
    pub(super) mnemonic: String,
    pub(super) operands: String,
}

/// The code of a function.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Function {
    pub(super) code: Vec<Instruction>,
    /// The local labels, each with the index of the instruction after it.
    pub(super) labels: BTreeMap<String, usize>,
}

/// The functions of a listing by their symbols.
pub(super) type Listing = BTreeMap<String, Function>;

/// Splits a listing as LLVM prints it: a symbol opens a function, its `.size` closes it.
pub(super) fn split(text: &str) -> Listing {
    let mut listing = Listing::new();
    let mut open: Option<(String, Function)> = None;
    let mut locked = false;
    for line in text.lines() {
        let line = strip_comment(line).trim();
        if let Some(label) = line.strip_suffix(':') {
            match &mut open {
                Some((_, function)) => {
                    function.labels.insert(label.to_owned(), function.code.len());
                }
                None if !label.starts_with(".L") => {
                    open = Some((label.to_owned(), Function::default()));
                }
                None => {}
            }
        } else if let Some((symbol, code)) = line.split_once(" = ").filter(|_| open.is_none()) {
            // Of two functions with the same code, one is only a second name of the other.
            listing.extend(listing.get(code).cloned().map(|code| (symbol.to_owned(), code)));
        } else if line.starts_with(".size") {
            // Data has a size too, but no code.
            listing.extend(open.take().filter(|(_, function)| !function.code.is_empty()));
        } else if let Some((_, function)) = &mut open
            && !line.is_empty()
            && !line.starts_with('.')
        {
            let (mnemonic, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let (mnemonic, operands) = (mnemonic.to_owned(), operands.trim().to_owned());
            if mnemonic != "lock" {
                let mnemonic = if locked { format!("lock {mnemonic}") } else { mnemonic };
                locked = false;
                function.code.push(Instruction { mnemonic, operands });
            } else if operands.is_empty() {
                locked = true;
            } else {
                function.code.push(lock_prefixed(&operands));
            }
        }
    }
    listing
}

fn lock_prefixed(rest: &str) -> Instruction {
    let (mnemonic, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let operands = operands.trim().to_owned();
    Instruction { mnemonic: format!("lock {mnemonic}"), operands }
}

/// Returns the line up to its comment: `#` on x86, `//` on arm64, where `#` marks a number.
fn strip_comment(line: &str) -> &str {
    let end = line.find("//").or_else(|| line.find("# ")).unwrap_or(line.len());
    let line = &line[..end];
    if line.trim_start().starts_with('#') { "" } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "
\t.section\t.text.a,\"ax\",@progbits
\t.globl\t_RNv4a
\t.type\t_RNv4a,@function
_RNv4a:
\t.cfi_startproc
\ttestq\t%rsi, %rsi               # a comment
.LBB0_1:
\tlock\t\tbtrq\t$5, (%rdi)
\t#APP
\tprefetchw\t(%rax)
\t#NO_APP
\tlock
\tandq\t$-33, (%rdi)
\tjne\t.LBB0_1
\tretq
.Lfunc_end0:
\t.size\t_RNv4a, .Lfunc_end0-_RNv4a
";

    fn instruction(mnemonic: &str, operands: &str) -> Instruction {
        Instruction { mnemonic: mnemonic.to_owned(), operands: operands.to_owned() }
    }

    #[test]
    fn an_x86_listing_is_split() {
        let listing = split(X86);
        let function = &listing["_RNv4a"];
        let code = [
            instruction("testq", "%rsi, %rsi"),
            instruction("lock btrq", "$5, (%rdi)"),
            instruction("prefetchw", "(%rax)"),
            instruction("lock andq", "$-33, (%rdi)"),
            instruction("jne", ".LBB0_1"),
            instruction("retq", ""),
        ];
        assert_eq!(function.code, code);
        assert_eq!(function.labels[".LBB0_1"], 1);
    }

    #[test]
    fn an_arm64_listing_is_split() {
        let text = "f:\n\tand\tx8, x8, #0xf // =15\n\t//APP\n\tstclr\tx9, [x10]\n\tret\n\
                    \t.size\tf, .-f\n";
        let code = [
            instruction("and", "x8, x8, #0xf"),
            instruction("stclr", "x9, [x10]"),
            instruction("ret", ""),
        ];
        assert_eq!(split(text)["f"].code, code);
    }

    #[test]
    fn a_second_name_has_the_same_code() {
        let listing = split(&format!("{X86}\n_RNv4b = _RNv4a\n"));
        assert_eq!(listing["_RNv4b"], listing["_RNv4a"]);
    }

    #[test]
    fn data_is_no_function() {
        let text = ".L__unnamed_1:\n\t.ascii\t\"a\"\n\t.size\t.L__unnamed_1, 1\n\
                    alloc_1:\n\t.quad\t0\n\t.size\talloc_1, 8\n";
        assert_eq!(split(text), Listing::new());
    }
}

//! The rules for a helper's machine code.

use std::collections::BTreeSet;

use super::isa::{Atomic, Isa, Next};
use super::listing::{Function, Listing};

/// The rules for one function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Demand {
    /// The function's name, without its path.
    pub(super) name: &'static str,
    /// The only kind of atomic operation it may hold; it holds at least one.
    pub(super) atomic: Atomic,
    /// For a helper that changes only young entries: the entries that a round of its loop reads.
    pub(super) at_once: Option<usize>,
}

/// Checks the function and those it calls; returns what is wrong.
pub(super) fn check(listing: &Listing, isa: Isa, demand: Demand) -> Vec<String> {
    let Some(symbol) = symbol(listing, demand.name) else {
        return vec!["is not in the listing".to_owned()];
    };
    let mut wrong = Vec::new();
    let mut atomics = 0;
    let mut looped = false;
    for symbol in reached(listing, isa, symbol) {
        let function = &listing[symbol];
        let sites = sites(listing, isa, function);
        looped |= sites.iter().any(|site| reaches(isa, function, *site, *site, None));
        let clears = clears(isa, function, &sites, demand.at_once);
        wrong.extend(shared_rounds(isa, function, &clears));
        for instruction in &function.code {
            let shown = format!("`{} {}`", instruction.mnemonic, instruction.operands);
            if let Some(found) = isa.atomic(instruction) {
                atomics += 1;
                if found != demand.atomic {
                    wrong.push(format!("{found:?} {shown}, where {:?} is due", demand.atomic));
                }
            }
            if isa.is_plain_store(instruction) {
                wrong.push(format!("a store that is not atomic: {shown}"));
            }
            match isa.next(instruction) {
                Next::Trap | Next::Unknown => wrong.push(format!("leaves its code: {shown}")),
                Next::Call(to) if !listing.contains_key(to) => {
                    wrong.push(format!("calls {to}"));
                }
                Next::Jump(to) | Next::Branch(to)
                    if !listing.contains_key(to) && !function.labels.contains_key(to) =>
                {
                    wrong.push(format!("jumps to {to}"));
                }
                _ => {}
            }
        }
    }
    if atomics == 0 {
        wrong.push(format!("holds no atomic operation, where {:?} is due", demand.atomic));
    } else if !looped {
        wrong.push("has no loop around an atomic operation".to_owned());
    }
    wrong
}

/// Returns the symbol of the named function (mangling v0 puts each name after its length).
pub(super) fn symbol<'a>(listing: &'a Listing, name: &str) -> Option<&'a str> {
    let named = format!("{}{name}", name.len());
    listing.keys().map(String::as_str).find(|symbol| symbol.ends_with(&named))
}

/// Returns the function and those in the listing that it calls, directly or not.
pub(super) fn reached<'a>(listing: &'a Listing, isa: Isa, symbol: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut left = vec![symbol];
    while let Some(symbol) = left.pop() {
        if !seen.insert(symbol) {
            continue;
        }
        for instruction in &listing[symbol].code {
            if let Next::Call(to) | Next::Jump(to) | Next::Branch(to) = isa.next(instruction)
                && let Some((callee, _)) = listing.get_key_value(to)
            {
                left.push(callee);
            }
        }
    }
    seen
}

/// Returns the indices of the instructions that do an atomic operation, directly or in a call.
fn sites(listing: &Listing, isa: Isa, function: &Function) -> Vec<usize> {
    let holds_atomics = |callee: &str| {
        let functions = reached(listing, isa, callee);
        functions.iter().any(|name| listing[*name].code.iter().any(|i| isa.atomic(i).is_some()))
    };
    let is_site = |index: &usize| {
        let instruction = &function.code[*index];
        isa.atomic(instruction).is_some()
            || matches!(isa.next(instruction), Next::Call(to)
                if listing.get_key_value(to).is_some_and(|(callee, _)| holds_atomics(callee)))
    };
    (0..function.code.len()).filter(is_site).collect()
}

/// Returns the sites, with only the first of those that clear a whole line: as many in a row as a
/// round reads entries, each of which leads to the next alone.
fn clears(isa: Isa, function: &Function, sites: &[usize], at_once: Option<usize>) -> Vec<usize> {
    let line = at_once.filter(|entries| *entries > 1);
    let leads = |from: usize, to: usize| {
        let next = next_sites(isa, function, sites, from);
        next.contains(&to) && next.iter().all(|site| [from, to].contains(site))
    };
    let mut left = sites;
    let mut clears = Vec::new();
    while let Some(&first) = left.first() {
        let whole = line.filter(|line| {
            left.get(..*line).is_some_and(|row| row.windows(2).all(|pair| leads(pair[0], pair[1])))
        });
        clears.push(first);
        left = &left[whole.unwrap_or(1)..];
    }
    clears
}

/// Returns the sites that control may reach after `from` without passing another.
fn next_sites(isa: Isa, function: &Function, sites: &[usize], from: usize) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut left = successors(isa, function, from);
    while let Some(index) = left.pop() {
        if seen.insert(index) && !sites.contains(&index) {
            left.extend(successors(isa, function, index));
        }
    }
    seen.into_iter().filter(|index| sites.contains(index)).collect()
}

/// Returns the pairs of sites in one loop where control cannot return to one site without passing
/// the other: an entry would see two atomic operations. Two sites on alternative paths of a loop,
/// or in two inner loops, are not such a pair.
fn shared_rounds(isa: Isa, function: &Function, sites: &[usize]) -> Vec<String> {
    let shown = |at: usize| {
        let instruction = &function.code[at];
        format!("`{} {}`", instruction.mnemonic, instruction.operands)
    };
    let passes = |from, to, avoiding| reaches(isa, function, from, to, avoiding);
    let mut wrong = Vec::new();
    for (position, &a) in sites.iter().enumerate() {
        for &b in &sites[position + 1..] {
            let one_loop = passes(a, b, None) && passes(b, a, None);
            let alone = |site, other| passes(site, site, Some(other));
            if one_loop && !(alone(a, b) && alone(b, a)) {
                wrong.push(format!("one round passes both {} and {}", shown(a), shown(b)));
            }
        }
    }
    wrong
}

/// Returns true if control can pass from after instruction `from` to instruction `to` without
/// passing `avoiding`.
fn reaches(isa: Isa, function: &Function, from: usize, to: usize, avoiding: Option<usize>) -> bool {
    let mut seen: BTreeSet<usize> = avoiding.into_iter().collect();
    let mut left = successors(isa, function, from);
    while let Some(index) = left.pop() {
        if index == to {
            return true;
        }
        if seen.insert(index) {
            left.extend(successors(isa, function, index));
        }
    }
    false
}

/// Returns the instructions that may run right after the one at `index`, in the same function.
pub(super) fn successors(isa: Isa, function: &Function, index: usize) -> Vec<usize> {
    let after = (index + 1 < function.code.len()).then_some(index + 1);
    let label = |name: &str| function.labels.get(name).copied();
    match isa.next(&function.code[index]) {
        Next::Through | Next::Call(_) => after.into_iter().collect(),
        Next::Jump(to) => label(to).into_iter().collect(),
        Next::Branch(to) => label(to).into_iter().chain(after).collect(),
        Next::Return | Next::Trap | Next::Unknown => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::listing::split;
    use super::*;

    const CLEAR: Demand = Demand { name: "f", atomic: Atomic::Clear, at_once: None };

    /// Checks an x86 function `f` of these lines; other functions follow it.
    fn found(body: &str, others: &str) -> Vec<String> {
        let text = format!("_RNv1f:\n{body}\n.size _RNv1f, 1\n{others}");
        check(&split(&text), Isa::X86, CLEAR)
    }

    const GOOD: &str = ".LBB0_1:\nlock andq $-33, (%rdi)\ndecq %rsi\njne .LBB0_1\nretq";

    #[test]
    fn one_atomic_in_a_loop_is_good() {
        assert_eq!(found(GOOD, ""), [""; 0]);
        let nested = ".LBB0_1:\ntestq %rax, (%rdi)\nje .LBB0_3\n.LBB0_2:\n\
                      lock andq $-33, (%rdi)\njne .LBB0_2\n.LBB0_3:\njne .LBB0_1\nretq";
        assert_eq!(found(nested, ""), [""; 0]);
        let before_the_loop = format!("lock andq $-33, (%rdi)\nje .LBB0_9\n{GOOD}\n.LBB0_9:\nretq");
        assert_eq!(found(&before_the_loop, ""), [""; 0]);
    }

    #[test]
    fn a_compare_and_swap_loop_is_found() {
        let body = ".LBB0_1:\nlock cmpxchgq %rdx, (%rdi)\njne .LBB0_1\nretq";
        let what = "CompareAndSwap `lock cmpxchgq %rdx, (%rdi)`, where Clear is due";
        assert_eq!(found(body, ""), [what]);
    }

    #[test]
    fn two_atomics_a_round_are_found() {
        let body = ".LBB0_1:\nlock andq $-33, (%rdi)\nlock andq $-65, (%rdi)\njne .LBB0_1\nretq";
        let what = "one round passes both `lock andq $-33, (%rdi)` and `lock andq $-65, (%rdi)`";
        assert_eq!(found(body, ""), [what]);
    }

    #[test]
    fn a_row_of_atomics_for_the_entries_of_a_line_is_good() {
        let row = |entries: i32| {
            let clear = |k| format!("lock andq $-33, {}(%rdi)\n", 8 * k);
            format!(".LBB0_1:\n{}jne .LBB0_1\nretq", (0..entries).map(clear).collect::<String>())
        };
        let found = |entries| {
            let text = format!("_RNv1f:\n{}\n.size _RNv1f, 1\n", row(entries));
            check(&split(&text), Isa::X86, Demand { at_once: Some(8), ..CLEAR }).len()
        };
        assert_eq!([found(8), found(7), found(9)], [0, 21, 1]);
        let branch = row(8).replacen("8(%rdi)\n", "8(%rdi)\njs .LBB0_1\n", 1);
        let text = format!("_RNv1f:\n{branch}\n.size _RNv1f, 1\n");
        assert_ne!(check(&split(&text), Isa::X86, Demand { at_once: Some(8), ..CLEAR }).len(), 0);
    }

    #[test]
    fn one_of_two_atomics_a_round_is_good() {
        let either = ".LBB0_1:\njs .LBB0_2\nlock andq $-33, (%rdi)\njmp .LBB0_3\n.LBB0_2:\n\
                      lock andq $-33, (%rdx)\n.LBB0_3:\njne .LBB0_1\nretq";
        assert_eq!(found(either, ""), [""; 0]);
        let first_always = ".LBB0_1:\nlock andq $-33, (%rdi)\njs .LBB0_3\n\
                            lock andq $-33, (%rdx)\n.LBB0_3:\njne .LBB0_1\nretq";
        assert_eq!(found(first_always, "").len(), 1);
    }

    #[test]
    fn a_clear_by_load_and_store_is_found() {
        let body = ".LBB0_1:\nandq $-33, (%rdi)\njne .LBB0_1\nretq";
        let what = [
            "a store that is not atomic: `andq $-33, (%rdi)`",
            "holds no atomic operation, where Clear is due",
        ];
        assert_eq!(found(body, ""), what);
    }

    #[test]
    fn a_panic_path_is_found() {
        let body = format!("{GOOD}\n.LBB0_2:\ncallq _RNvNtCs1_4core9panicking5panic\nud2");
        let what = ["calls _RNvNtCs1_4core9panicking5panic", "leaves its code: `ud2 `"];
        assert_eq!(found(&body, ""), what);
        let tail = format!("{GOOD}\njmp memset@PLT");
        assert_eq!(found(&tail, ""), ["jumps to memset"]);
    }

    #[test]
    fn called_functions_are_checked_too() {
        let callee = format!("_RNv1g:\n{GOOD}\n.size _RNv1g, 1\n");
        assert_eq!(found("jmp _RNv1g", &callee), [""; 0]);
        let twice = ".LBB0_1:\ncallq _RNv1g\nlock andq $-33, (%rdi)\njne .LBB0_1\nretq";
        let what = "one round passes both `callq _RNv1g` and `lock andq $-33, (%rdi)`";
        assert_eq!(found(twice, &callee), [what]);
    }

    #[test]
    fn an_exclusive_pair_is_one_operation() {
        let text = "_RNv1f:\n.LBB0_1:\nldxr x8, [x0]\nand x8, x8, #0xffffffffffffffdf\n\
                    stxr w9, x8, [x0]\ncbnz w9, .LBB0_1\nb.ne .LBB0_1\nret\n.size _RNv1f, 1\n";
        let demand = Demand { atomic: Atomic::Exclusive, ..CLEAR };
        assert_eq!(check(&split(text), Isa::Arm64, demand), [""; 0]);
        let outline = text.replace("ldxr x8, [x0]", "bl __aarch64_ldclr8_relax");
        let what =
            ["calls __aarch64_ldclr8_relax", "holds no atomic operation, where Exclusive is due"];
        assert_eq!(check(&split(&outline), Isa::Arm64, demand), what);
    }

    #[test]
    fn a_missing_function_is_found() {
        let demand = Demand { name: "g", ..CLEAR };
        let what = check(&split("_RNv1f:\nretq\n.size _RNv1f, 1\n"), Isa::X86, demand);
        assert_eq!(what, ["is not in the listing"]);
    }
}

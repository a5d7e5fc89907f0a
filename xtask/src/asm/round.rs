//! The cost of passing old entries: the round of a loop that reads and clears nothing.

use std::collections::VecDeque;

use super::check::{reached, successors};
use super::isa::{Isa, Next};
use super::listing::{Function, Listing};

/// Returns the number of instructions of the shortest round of a loop that reads `entries` entries,
/// and neither changes one nor calls. The loop is in the function that `symbol` names or in one
/// that it calls.
pub(super) fn shortest(listing: &Listing, isa: Isa, symbol: &str, entries: usize) -> Option<usize> {
    let functions = reached(listing, isa, symbol).into_iter().map(|name| &listing[name]);
    let rounds = functions.flat_map(|function| {
        let reads = (0..function.code.len()).filter(|at| isa.entries_read(&function.code[*at]) > 0);
        reads.filter_map(|at| round_through(isa, function, at))
    });
    rounds.filter(|round| round.entries == entries).map(|round| round.instructions).min()
}

/// A round of a loop.
struct Round {
    instructions: usize,
    /// The number of entries that it reads.
    entries: usize,
}

/// Finds the shortest path from the instruction back to itself.
fn round_through(isa: Isa, function: &Function, start: usize) -> Option<Round> {
    let plain = |at: &usize| {
        let instruction = &function.code[*at];
        isa.atomic(instruction).is_none() && !matches!(isa.next(instruction), Next::Call(_))
    };
    let mut came_from = vec![None; function.code.len()];
    let mut left: VecDeque<usize> = [start].into();
    while let Some(from) = left.pop_front() {
        for to in successors(isa, function, from).into_iter().filter(plain) {
            if came_from[to].is_none() {
                came_from[to] = Some(from);
                left.push_back(to);
            }
        }
    }
    let mut round = Round { instructions: 0, entries: 0 };
    let mut at = start;
    loop {
        round.instructions += 1;
        round.entries += isa.entries_read(&function.code[at]);
        at = came_from[at]?;
        if at == start {
            return Some(round);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::listing::split;
    use super::*;

    /// Instructions of a round of an x86 function that reads two entries.
    fn of(body: &str) -> Option<usize> {
        let text = format!("_RNv1f:\n{body}\n.size _RNv1f, 1\n");
        shortest(&split(&text), Isa::X86, "_RNv1f", 2)
    }

    #[test]
    fn the_round_that_clears_nothing_is_found() {
        let line = ".LBB0_1:\nmovq (%rdi), %rax\norq 8(%rdi), %rax\ntestb $32, %al\njne .LBB0_3\n\
                    .LBB0_2:\naddq $16, %rdi\ncmpq %rdi, %rsi\njne .LBB0_1\nretq\n\
                    .LBB0_3:\nlock andq $-33, (%rdi)\njmp .LBB0_2";
        assert_eq!(of(line), Some(7));
        let beside = format!("{line}\n.LBB0_9:\norq (%rdi), %rax\njne .LBB0_9");
        assert_eq!(of(&beside), Some(7));
    }

    #[test]
    fn a_loop_over_the_entries_of_a_line_is_no_such_round() {
        let rolled = ".LBB0_1:\nmovq (%rdi), %rax\n.LBB0_2:\norq 8(%rdi), %rax\njne .LBB0_2\nretq";
        assert_eq!(of(rolled), None);
    }

    #[test]
    fn what_always_changes_or_calls_has_none() {
        let reads = ".LBB0_1:\nmovq (%rdi), %rax\norq 8(%rdi), %rax";
        assert_eq!(of(&format!("{reads}\nlock btrq $5, (%rdi)\njne .LBB0_1")), None);
        assert_eq!(of(&format!("{reads}\ncallq g\njne .LBB0_1")), None);
        assert_eq!(of(&format!("{reads}\nretq")), None);
    }
}

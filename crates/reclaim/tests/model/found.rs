//! The scenarios in which the property failed once, in their shortest form.

use crate::model::Machine;
use crate::property::hold;
use crate::steps::{Meanwhile, Op, Span, Step, What};
use pageout_paging::Sound;
use pageout_paging::pte::{SmallArm4, SmallX86};
use pageout_reclaim::{Advice, VmFlags};
use pageout_sim::Answer;

fn holds(ops: impl IntoIterator<Item = Op>) {
    let steps: Vec<_> = ops.into_iter().map(Step::alone).collect();
    hold::<SmallX86, Sound>(Machine::IDEAL, 0, &steps);
    hold::<SmallArm4, Sound>(Machine::IDEAL, 0, &steps);
}

/// A page of a file that is reclaimed while userfaultfd write-protects it leaves a marker. When the
/// protection ends, so does the marker.
#[test]
fn protection_of_a_reclaimed_page_ends_with_that_of_its_range() {
    let one = Span::new(0, 0, 1);
    let pages = Op::MapFile { span: one, file: 0, pgoff: 0, order: 0, shared: false, write: true };
    holds([
        pages,
        Op::Load { process: 0, page: 0 },
        Op::WriteProtect { span: one, on: true },
        Op::ReclaimCgroup { memcg: 0, pages: 1, swappiness: Some(0) },
        Op::ReclaimCgroup { memcg: 0, pages: 1, swappiness: Some(0) },
        Op::WriteProtect { span: one, on: false },
        Op::Store { process: 0, page: 0 },
    ]);
}

/// A lazyfree page of zeros is still lazyfree when zeros are read from it. So it may go with the
/// marker that userfaultfd put on it. The model took it for a page whose zeros are new.
#[test]
fn zeros_read_from_a_page_given_up_lazily_do_not_end_that() {
    let one = Span::new(0, 0, 1);
    holds([
        Op::MapAnonymous { span: one, order: 0 },
        Op::Protect { span: one, prot: VmFlags::READ | VmFlags::WRITE },
        Op::Load { process: 0, page: 0 },
        Op::Advise { span: one, advice: Advice::Free },
        Op::Load { process: 0, page: 0 },
        Op::WriteProtect { span: one, on: true },
        Op::ReclaimCgroup { memcg: 0, pages: 1, swappiness: Some(0) },
        Op::Store { process: 0, page: 0 },
    ]);
}

/// A page is unmapped while its write to swap fails. The folio stays in the swap cache, with its
/// slot, until reclaim meets it, which protection of its cgroup delays. The model took it for a
/// leak.
#[test]
fn what_only_the_swap_cache_holds_goes_when_nothing_protects_it() {
    let one = Span::new(0, 0, 1);
    let failing = Op::Storage { reads: Answer::AtOnce, writes: Answer::Failure };
    let mut steps: Vec<_> = [
        Op::MapAnonymous { span: one, order: 0 },
        Op::AddCgroup { parent: 0 },
        Op::MoveProcess { process: 0, memcg: 1 },
        Op::Load { process: 0, page: 0 },
        failing,
    ]
    .map(Step::alone)
    .to_vec();
    let what = What::Op { cpu: 0, op: Op::Unmap(one) };
    for after in 0..16 {
        let meanwhile = vec![Meanwhile { after, what: what.clone() }];
        let op = Op::ReclaimCgroup { memcg: 0, pages: 1, swappiness: Some(100) };
        steps.push(Step { cpu: 1, op, meanwhile });
        steps.push(Step::alone(Op::Protection { memcg: 1, min: 1, low: 0 }));
        hold::<SmallX86, Sound>(Machine::IDEAL, 0, &steps);
        steps.truncate(5);
    }
}

//! Operations on contiguous blocks against an oracle of single pages. All are tried in small
//! formats, with hardware idle and with hardware acting between any two table operations.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

use pageout_exhibits::harness::{
    Access, BASE, Bits, Case, Decode, Event, FIRST_TABLE, Ground, World, each_small_case, gathered,
};
use pageout_exhibits::{Bug, Faulty};
use pageout_paging::contig::{
    AccessFlags, get_and_clear_ptes, set_access_flags, set_pte, set_ptes, wrprotect_ptes,
};
use pageout_paging::mmu::{Asid, Barrier, Invalidate};
use pageout_paging::pte::{Level, Prot, SmallArm2, SmallArm4, SmallRiscv, SmallX86};
use pageout_paging::{Env, Format, LockedTable, Pfn, Pte, Rules, Sound, VirtAddr};
use std::ops::Range;

const START: VirtAddr = VirtAddr::new(0x40_0000);
const ASID: Asid = Asid(3);

fn addr<F: Format>(i: usize) -> VirtAddr {
    START.add((i as u64) << F::PAGE_SHIFT)
}

/// The operation on the run of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Clear,
    WrProtect,
    /// Grants accesses through the run's first entry.
    Grant(AccessFlags),
}

const FLAGS: [AccessFlags; 3] =
    [AccessFlags::Young, AccessFlags::YoungDirty, AccessFlags::YoungDirtyWrite];

/// The result of an operation: the entry that a clear took out, or true if a grant changed any.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Taken(Pte),
    Changed(bool),
    Nothing,
}

fn perform<R: Rules, F: Decode>(world: &World<F>, run: &Range<usize>, op: Op) -> Answer {
    let env = Ground::<R, F>::new(world);
    let pt = LockedTable::lock(&env, FIRST_TABLE);
    let start = addr::<F>(run.start);
    match op {
        Op::Clear => Answer::Taken(get_and_clear_ptes(&env, &pt, ASID, start, run.len())),
        Op::WrProtect => {
            wrprotect_ptes(&env, &pt, ASID, start, run.len());
            Answer::Nothing
        }
        Op::Grant(flags) => Answer::Changed(set_access_flags(&env, &pt, ASID, start, flags)),
    }
}

fn block_of<F: Format>(i: usize) -> Range<usize> {
    let start = i - i % F::CONT_PTES;
    start..start + F::CONT_PTES
}

/// A page as software sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Page {
    young: bool,
    dirty: bool,
    write: bool,
    pfn: u64,
    rest: u64,
}

/// Returns page `i` of a table, if there is one: its own entry's address and permissions, with its
/// block's bits.
fn page<F: Decode>(entries: &[Pte], i: usize) -> Option<Page> {
    let bits = F::bits(gathered::<F>(entries, i));
    let rest = F::mknoncont(Pte(bits.rest)).0;
    let Bits { young, dirty, write, pfn, .. } = bits;
    bits.present.then_some(Page { young, dirty, write, pfn, rest })
}

fn table<F: Decode>(world: &World<F>) -> Vec<Pte> {
    (0..F::PTES).map(|i| world.entry(i)).collect()
}

/// Returns the error in the result of `op` on `case`, if there is one. `hardware` is true if
/// hardware has acted, which adds young and dirty bits.
fn wrong<F: Decode>(world: &World<F>, case: &Case, op: Op, answer: Answer) -> Option<String> {
    let after = table(world);
    let events = world.events();
    let used = |i: usize, writes: bool| {
        let used = |event: &Event| match event {
            Event::Accessed { entry, write, cont } => {
                let block = *cont && block_of::<F>(*entry).contains(&i);
                (*entry == i || block) && (*write || !writes)
            }
            _ => false,
        };
        events.iter().any(used)
    };
    let touched = if matches!(op, Op::Grant(_)) {
        case.run.start..case.run.start + 1
    } else {
        case.run.clone()
    };
    let unfolds = |i: usize| unfolds::<F>(case, op, &touched, i);
    let mut taken = (false, false);
    for i in 0..F::PTES {
        let Some(was) = page::<F>(&case.entries, i) else {
            if after[i] != case.entries[i] {
                return Some(format!("entry {i}, no page, became {:?}", after[i]));
            }
            continue;
        };
        let cont = F::bits(case.entries[i]).cont;
        let now = page::<F>(&after, i);
        let may = (was.young || used(i, false), was.dirty || used(i, true));
        if op == Op::Clear && touched.contains(&i) {
            if !after[i].is_none() {
                return Some(format!("entry {i} was to be taken out and is {:?}", after[i]));
            }
            taken = (taken.0 | may.0, taken.1 | may.1);
            continue;
        }
        let mut want = Page { young: may.0, dirty: may.1, ..was };
        if op == Op::WrProtect && touched.contains(&i) {
            want.write = false;
        }
        if let Op::Grant(flags) = op {
            // A grant that unfolds changes only its own page, any other the whole block.
            let block = cont && !unfolds(i) && block_of::<F>(i).contains(&touched.start);
            if block || touched.contains(&i) {
                want.young = true;
                want.dirty |= flags != AccessFlags::Young;
                want.write |= flags == AccessFlags::YoungDirtyWrite;
            }
        }
        if now != Some(want) {
            return Some(format!("page {i} is {now:?}, not {want:?}"));
        }
        let cont_now = F::bits(after[i]).cont;
        if cont_now != (cont && !unfolds(i)) {
            return Some(format!("entry {i} is contiguous: {cont_now}"));
        }
    }
    if let Answer::Taken(pte) = answer {
        let first = F::bits(pte);
        let start = case.run.start;
        let was = F::bits(F::read(case.entries[start], start));
        if (first.young, first.dirty, first.pfn) != (taken.0, taken.1, was.pfn) {
            return Some(format!("{first:?} was taken out, young and dirty {taken:?}"));
        }
    }
    wrong_flushes::<F>(world, case, &events, unfolds)
        .or_else(|| wrong_grant::<F>(case, op, answer, &events, &after))
}

/// Returns true if the block of entry `i` has to be unfolded.
fn unfolds<F: Decode>(case: &Case, op: Op, touched: &Range<usize>, i: usize) -> bool {
    if !F::bits(case.entries[i]).cont {
        return false;
    }
    let block = block_of::<F>(i);
    match op {
        Op::Clear | Op::WrProtect => {
            let inside = block.clone().filter(|k| touched.contains(k)).count();
            inside != 0 && inside != block.len()
        }
        Op::Grant(AccessFlags::YoungDirtyWrite) => {
            block.contains(&touched.start) && !F::bits(case.entries[touched.start]).write
        }
        Op::Grant(_) => false,
    }
}

/// Checks for one flush, published and completed, for each block unfolded, and no other; and for
/// none on hardware that needs none.
fn wrong_flushes<F: Decode>(
    world: &World<F>,
    case: &Case,
    events: &[Event],
    unfolds: impl Fn(usize) -> bool,
) -> Option<String> {
    let flushes: Vec<_> = events
        .iter()
        .filter(|event| matches!(event, Event::Invalidate(_) | Event::Barrier(_)))
        .cloned()
        .collect();
    let mut due = Vec::new();
    for first in (0..case.entries.len()).step_by(F::CONT_PTES) {
        if unfolds(first) && !world.bbml2() {
            let (start, nr) = (addr::<F>(first), F::CONT_PTES);
            due.push(Event::Barrier(Barrier::Publish));
            let level = Level::Pte;
            due.push(Event::Invalidate(Invalidate::Range { asid: ASID, start, nr, level }));
            due.push(Event::Barrier(Barrier::Complete));
        }
    }
    (flushes != due).then(|| format!("flushes {flushes:?}, not {due:?}"))
}

/// Checks that a grant reports if it changed anything and grants to every entry of the block. It
/// invalidates on this CPU exactly if it granted a write.
fn wrong_grant<F: Decode>(
    case: &Case,
    op: Op,
    answer: Answer,
    events: &[Event],
    after: &[Pte],
) -> Option<String> {
    let local: Vec<_> =
        events.iter().filter(|event| matches!(event, Event::InvalidateLocal(_))).collect();
    let (Op::Grant(flags), Answer::Changed(changed)) = (op, answer) else {
        return (!local.is_empty()).then(|| format!("{local:?}"));
    };
    let i = case.run.start;
    let block = if F::bits(after[i]).cont { block_of::<F>(i) } else { i..i + 1 };
    let lacks = |pte: &Pte| {
        let bits = F::bits(*pte);
        !bits.young
            || (flags != AccessFlags::Young && !bits.dirty)
            || (flags == AccessFlags::YoungDirtyWrite && !bits.write)
    };
    if let Some(k) = block.clone().find(|k| lacks(&after[*k])) {
        return Some(format!("entry {k} lacks {flags:?}"));
    }
    let lacked = case.entries[block.clone()].iter().any(lacks);
    let moved = events.iter().any(|event| matches!(event, Event::Accessed { .. }));
    if lacked && !changed && !moved {
        return Some("it says that nothing changed".to_owned());
    }
    let (start, nr) = (addr::<F>(block.start), block.len());
    let want =
        Event::InvalidateLocal(Invalidate::Range { asid: ASID, start, nr, level: Level::Pte });
    let due = if changed && flags != AccessFlags::Young { vec![&want] } else { vec![] };
    (local != due).then(|| format!("on this CPU {local:?}, not {due:?}"))
}

/// Returns cases with the entries' own dirty bits, and with those that `young` has in reverse
/// order.
fn with_dirt<F: Decode>(case: &Case) -> [Case; 2] {
    let entries = case.entries.iter().enumerate().map(|(i, pte)| {
        let other = F::bits(case.entries[F::PTES - 1 - i]).young;
        match F::is_present(*pte) {
            true if other => F::mkdirty(*pte),
            true => F::mkclean(*pte),
            false => *pte,
        }
    });
    [case.clone(), Case { entries: entries.collect(), run: case.run.clone() }]
}

fn still<R: Rules, F: Decode>(op: Op, bbml2: bool, readonly: bool) -> Result<u64, String> {
    let world = World::<F>::new(1);
    world.set_bbml2(bbml2);
    let mut failed = None;
    let mut tried = 0;
    let _ = each_small_case::<F>(|case, _| {
        for mut case in with_dirt::<F>(case) {
            if matches!(op, Op::Grant(_)) && case.run.len() > 1 {
                continue;
            }
            if readonly {
                for pte in case.entries.iter_mut().filter(|pte| F::is_present(**pte)) {
                    *pte = F::wrprotect(*pte);
                }
            }
            world.reset(&case.entries);
            let answer = perform::<R, F>(&world, &case.run, op);
            tried += 1;
            if let (None, Some(wrong)) = (&failed, wrong(&world, &case, op, answer)) {
                failed = Some(format!("{op:?} of {case:#?}: {wrong}"));
            }
        }
        Ok(())
    });
    failed.map_or(Ok(tried), Err)
}

fn moving<R: Rules, F: Decode>(op: Op, readonly: bool) -> Result<u64, String> {
    let world = World::<F>::new(1);
    let mut failed = None;
    let mut tried = 0;
    let _ = each_small_case::<F>(|case, _| {
        let young = case.entries.iter().filter(|pte| F::is_young(**pte)).count();
        let grant = matches!(op, Op::Grant(_));
        let enough = matches!(young, 0 | 8) && F::is_valid(case.entries[0]);
        if !enough || failed.is_some() || (grant && case.run.len() > 1) {
            return Ok(());
        }
        for mut case in with_dirt::<F>(case) {
            if readonly {
                case.entries.iter_mut().for_each(|pte| *pte = F::wrprotect(*pte));
            }
            for entry in 0..F::PTES {
                for write in [false, true] {
                    for before in 0.. {
                        world.reset(&case.entries);
                        world
                            .plan(&[Access { before, entry, write }], usize::from(before % 3 == 0));
                        let answer = perform::<R, F>(&world, &case.run, op);
                        tried += 1;
                        if let Some(wrong) = wrong(&world, &case, op, answer) {
                            let at = format!("{entry} before {before}, write {write}");
                            failed = Some(format!("{op:?} of {case:#?}, {at}: {wrong}"));
                        }
                        if before >= world.ops() {
                            break;
                        }
                    }
                }
            }
        }
        Ok(())
    });
    failed.map_or(Ok(tried), Err)
}

fn ops() -> impl Iterator<Item = Op> {
    [Op::Clear, Op::WrProtect].into_iter().chain(FLAGS.map(Op::Grant))
}

#[test]
fn hardware_standing_still() {
    fn all<F: Decode>() {
        for op in ops() {
            for (bbml2, readonly) in [(false, false), (true, false), (false, true)] {
                let tried = still::<Sound, F>(op, bbml2, readonly);
                assert!(tried.unwrap_or_else(|wrong| panic!("{}: {wrong}", F::NAME)) > 0);
            }
        }
    }
    all::<SmallX86>();
    all::<SmallArm2>();
    all::<SmallArm4>();
    all::<SmallRiscv>();
}

#[test]
fn hardware_acting_between_any_two_operations() {
    fn all<F: Decode>() {
        for op in ops() {
            for readonly in [false, true] {
                let tried = moving::<Sound, F>(op, readonly);
                assert!(tried.unwrap_or_else(|wrong| panic!("{}: {wrong}", F::NAME)) > 0);
            }
        }
    }
    all::<SmallX86>();
    all::<SmallArm2>();
    all::<SmallArm4>();
    all::<SmallRiscv>();
}

#[test]
fn each_decision_matters() {
    fn of<F: Decode>(bug: Bug, op: Op, readonly: bool) -> Result<u64, String> {
        Bug::during(Some(bug), || still::<Faulty, F>(op, false, readonly))
    }
    for op in [Op::Clear, Op::WrProtect] {
        assert!(of::<SmallX86>(Bug::FoldedEdges, op, false).is_ok());
        assert!(of::<SmallArm4>(Bug::FoldedEdges, op, false).is_err());
        assert!(of::<SmallArm4>(Bug::MakeBeforeBreak, op, false).is_err());
    }
    assert!(of::<SmallArm2>(Bug::MakeBeforeBreak, Op::Grant(FLAGS[2]), true).is_err());
    for flags in FLAGS {
        assert!(of::<SmallArm4>(Bug::GatheredFlags, Op::Grant(flags), false).is_err());
    }
}

/// An obstacle to a fold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Odd {
    Nothing,
    Missing,
    ReadOnly,
    UffdWp,
    Special,
    Frame,
    Swap,
}

const ODDS: [Odd; 7] =
    [Odd::Nothing, Odd::Missing, Odd::ReadOnly, Odd::UffdWp, Odd::Special, Odd::Frame, Odd::Swap];

/// Tries every block, completed by each of its entries, with any entry odd and any of them young or
/// dirty. Frames are aligned with addresses or not, and the folio is equal to the block, larger, or
/// smaller.
#[test]
fn a_single_set_folds_what_it_completes_and_nothing_else() {
    fn all<F: Decode>() -> u64 {
        let (n, world) = (F::CONT_PTES.max(2), World::<F>::new(1));
        let mut folds = 0;
        for first in (0..F::PTES).step_by(n) {
            for (last, at, odd) in (0..n * n * ODDS.len())
                .map(|k| (k % n, k / n % n, ODDS[k / n / n]))
                .filter(|(last, at, odd)| last != at || *odd == Odd::Nothing)
            {
                for (shift, folio) in [(0, 0..8), (0, 1..8), (0, 0..7), (1, 0..9)] {
                    for marked in 0..1 << n {
                        let block = first..first + n;
                        let entries = before_fold::<F>(&block, last, at, odd, shift, marked);
                        world.reset(&entries);
                        let set = leaf::<F>(first + last, shift);
                        let folio = BASE.add(folio.start)..BASE.add(folio.end);
                        set_one(&world, first + last, set, &folio);
                        let inside = (BASE.add((first + shift) as u64) >= folio.start)
                            && BASE.add((first + n + shift) as u64) <= folio.end;
                        let folded = F::CONT_SHIFT > 0
                            && last == n - 1
                            && odd == Odd::Nothing
                            && shift == 0
                            && inside;
                        check_folded(&world, &entries, &block, first + last, set, folded);
                        folds += u64::from(folded);
                    }
                }
            }
        }
        folds
    }
    assert_eq!(all::<SmallX86>(), 0);
    assert!(all::<SmallArm2>() > 0);
    assert!(all::<SmallArm4>() > 0);
    assert!(all::<SmallRiscv>() > 0);
}

fn leaf<F: Format>(i: usize, shift: usize) -> Pte {
    F::leaf(Level::Pte, BASE.add((i + shift) as u64), Prot::WRITE)
}

fn before_fold<F: Decode>(
    block: &Range<usize>,
    last: usize,
    at: usize,
    odd: Odd,
    shift: usize,
    marked: usize,
) -> Vec<Pte> {
    use pageout_paging::pte::{SwapEntry, SwapKind};
    let swap = SwapEntry::new(SwapKind::Device(1), 1 << 40).expect("it fits");
    let entry = |i: usize| {
        let page = leaf::<F>(i, shift);
        if !block.contains(&i) || i == block.start + last {
            return Pte::NONE;
        }
        let k = i - block.start;
        let written = F::hardware_dirty(page).expect("writable");
        let kinds = [F::mkyoung(page), written, F::mkyoung(written)];
        let plain = if marked >> k & 1 == 1 { kinds[k % 3] } else { page };
        if k != at {
            return plain;
        }
        match odd {
            Odd::Nothing => plain,
            Odd::Missing => Pte::NONE,
            Odd::ReadOnly => F::wrprotect(plain),
            Odd::UffdWp => F::mkuffd_wp(plain),
            Odd::Special => F::mkspecial(plain),
            Odd::Frame => F::advance(plain, 1),
            Odd::Swap => F::swap(swap),
        }
    };
    (0..F::PTES).map(entry).collect()
}

fn set_one<F: Decode>(world: &World<F>, i: usize, pte: Pte, folio: &Range<Pfn>) {
    let env = Ground::<Sound, F>::new(world);
    let pt = LockedTable::lock(&env, FIRST_TABLE);
    set_pte(&env, &pt, ASID, addr::<F>(i), pte, folio);
}

fn check_folded<F: Decode>(
    world: &World<F>,
    before: &[Pte],
    block: &Range<usize>,
    i: usize,
    set: Pte,
    folded: bool,
) {
    let mut want = before.to_vec();
    want[i] = set;
    let any = |is: fn(Pte) -> bool| want[block.clone()].iter().any(|pte| is(*pte));
    let (young, dirty) = (any(F::is_young), any(F::is_dirty));
    let after = table(world);
    for k in 0..F::PTES {
        let inside = folded && block.contains(&k);
        assert_eq!(F::bits(after[k]).cont, inside, "entry {k} of {before:#?}");
        if inside {
            let bits = F::bits(F::read(after[k], k));
            let was = F::bits(want[k]);
            assert_eq!((bits.young, bits.dirty), (young, dirty), "entry {k} of {before:#?}");
            assert_eq!((bits.pfn, bits.write), (was.pfn, was.write), "entry {k} of {before:#?}");
        } else {
            assert_eq!(after[k], want[k], "entry {k} of {before:#?}");
        }
    }
    let flushes = world.events().iter().filter(|e| matches!(e, Event::Invalidate(_))).count();
    assert_eq!(flushes, usize::from(folded));
}

/// A block that is folded and unfolded again is as before, except for young and dirty.
#[test]
fn a_range_set_and_single_sets_come_to_the_same() {
    fn same<F: Decode>() {
        let [ranged, single] = [World::<F>::new(1), World::<F>::new(1)];
        let env = Ground::<Sound, F>::new(&ranged);
        set_ptes::<F, _>(env.table(FIRST_TABLE), 0, leaf::<F>(0, 0), F::PTES);
        let folio = BASE..BASE.add(F::PTES as u64);
        (0..F::PTES).for_each(|i| set_one(&single, i, leaf::<F>(i, 0), &folio));
        assert_eq!(table(&ranged), table(&single));
    }
    same::<SmallX86>();
    same::<SmallArm2>();
    same::<SmallArm4>();
    same::<SmallRiscv>();
}

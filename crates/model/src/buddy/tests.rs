use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn order(order: u8) -> Order {
    Order::new(order).expect("a small order")
}

/// Frames one by one, and what follows from them.
#[derive(Clone, Debug)]
struct Naive {
    used: Vec<bool>,
}

impl Naive {
    fn is_free(&self, first: usize, order: usize) -> bool {
        let run = self.used.get(first..first + (1 << order));
        run.is_some_and(|run| run.iter().all(|used| !used))
    }

    /// The free blocks: aligned free runs that lie in no larger one.
    fn blocks(&self) -> Vec<(u64, u8)> {
        let mut blocks = Vec::new();
        let mut frame = 0;
        while frame < self.used.len() {
            let aligned = |order: &usize| frame.is_multiple_of(1 << order);
            let largest = (0..LISTS).filter(aligned).filter(|k| self.is_free(frame, *k)).max();
            if let Some(order) = largest {
                blocks.push((frame as u64, order as u8));
            }
            frame += largest.map_or(1, |order| 1 << order);
        }
        blocks
    }
}

/// What the allocator says is free is what is; its lists are whole.
fn agree(buddy: &Buddy, naive: &Naive) {
    let blocks = naive.blocks();
    let at = |frame: u64| buddy.block_at(Pfn::new(frame)).map(|order| (frame, order.get()));
    let found: Vec<_> = (0..naive.used.len() as u64).filter_map(at).collect();
    assert_eq!(found, blocks);
    assert_eq!(buddy.free_pages(), naive.used.iter().filter(|used| !**used).count());
    for k in 0..LISTS {
        let here = blocks.iter().filter(|(_, order)| usize::from(*order) == k).count();
        assert_eq!(buddy.free_blocks(order(k as u8)), here, "blocks of order {k}");
        let mut listed = 0;
        let mut frame = buddy.heads[k];
        while frame != NONE {
            assert_eq!(usize::from(buddy.frames[frame as usize].order), k);
            listed += 1;
            frame = buddy.frames[frame as usize].next;
        }
        assert_eq!(listed, here, "blocks on the list of order {k}");
    }
}

/// What may be done: a run is allocated, a certain one, or given back.
#[derive(Clone, Copy, Debug)]
enum Step {
    Alloc(u8),
    AllocAt(u64, u8),
    Free(usize, u8),
}

/// Does it to both, and compares; false if there is nothing to do.
fn step(buddy: &mut Buddy, naive: &mut Naive, held: &mut Vec<(Pfn, Order)>, step: Step) -> bool {
    match step {
        Step::Alloc(wanted) => {
            let wanted = order(wanted);
            let smallest =
                naive.blocks().into_iter().map(|(_, k)| k).filter(|k| *k >= wanted.get()).min();
            let got = buddy.alloc(wanted);
            assert_eq!(got.is_some(), smallest.is_some(), "{wanted:?}");
            let Some(pfn) = got else {
                return false;
            };
            let first = pfn.get() as usize;
            let block = naive.blocks().into_iter().find(|(at, _)| *at == pfn.get());
            assert_eq!(block.map(|(_, k)| k), smallest, "the lowest of a smallest block");
            naive.used[first..first + wanted.nr_pages()].fill(true);
            held.push((pfn, wanted));
        }
        Step::AllocAt(at, wanted) => {
            let wanted = order(wanted);
            let block = naive.blocks().into_iter().find(|(first, _)| *first == at);
            let fits = block.is_some_and(|(_, k)| k >= wanted.get());
            assert_eq!(buddy.alloc_at(Pfn::new(at), wanted), fits);
            if !fits {
                return false;
            }
            naive.used[at as usize..at as usize + wanted.nr_pages()].fill(true);
            held.push((Pfn::new(at), wanted));
        }
        Step::Free(number, split) => {
            if held.is_empty() {
                return false;
            }
            let (pfn, whole) = held.swap_remove(number % held.len());
            // In pieces, if they are smaller.
            let piece = order(split.min(whole.get()));
            for k in 0..(whole.nr_pages() / piece.nr_pages()) as u64 {
                buddy.free(pfn.add(k * piece.nr_pages() as u64), piece);
            }
            naive.used[pfn.get() as usize..][..whole.nr_pages()].fill(false);
        }
    }
    agree(buddy, naive);
    true
}

/// Every history of four steps on every memory of up to nine frames.
#[test]
fn small_memories_all() {
    fn go(buddy: &Buddy, naive: &Naive, held: &[(Pfn, Order)], depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let frees = (0..held.len()).flat_map(|k| (0..2).map(move |split| Step::Free(k, split)));
        let steps = (0..4).map(Step::Alloc).chain([Step::AllocAt(2, 1), Step::AllocAt(4, 0)]);
        let mut tried = 0;
        for next in steps.chain(frees) {
            let (mut buddy, mut naive, mut held) = (buddy.clone(), naive.clone(), held.to_vec());
            if step(&mut buddy, &mut naive, &mut held, next) {
                tried += go(&buddy, &naive, &held, depth - 1);
            }
        }
        tried
    }
    for frames in 0..10 {
        let (buddy, naive) = (Buddy::new(frames), Naive { used: vec![false; frames] });
        agree(&buddy, &naive);
        let tried = go(&buddy, &naive, &[], 4);
        assert!(tried > 0 || frames == 0, "{frames} frames");
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let order = || prop_oneof![4 => 0..3_u8, 1 => 0..=MAX_ORDER];
    prop_oneof![
        4 => order().prop_map(Step::Alloc),
        1 => (0..3000_u64, order()).prop_map(|(at, order)| Step::AllocAt(at, order)),
        3 => (any::<usize>(), order()).prop_map(|(number, split)| Step::Free(number, split)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn blocks_are_what_frames_make_them(frames in 0..3000_usize, steps in vec(any_step(), 1..60)) {
        let mut buddy = Buddy::new(frames);
        let mut naive = Naive { used: vec![false; frames] };
        let mut held = Vec::new();
        agree(&buddy, &naive);
        for next in steps {
            step(&mut buddy, &mut naive, &mut held, next);
        }
        for (pfn, order) in held {
            buddy.free(pfn, order);
        }
        naive.used.fill(false);
        agree(&buddy, &naive);
    }
}

#[test]
#[should_panic(expected = "frames are freed once")]
fn a_frame_freed_twice_panics() {
    let mut buddy = Buddy::new(8);
    let pfn = buddy.alloc(order(0)).expect("a frame");
    buddy.free(pfn, order(0));
    buddy.free(pfn, order(0));
}

#[test]
#[should_panic(expected = "frames are freed once")]
fn a_frame_inside_of_a_free_block_panics() {
    Buddy::new(8).free(Pfn::new(3), order(0));
}

/// 16 GiB of 4 KiB: 16 MiB, and a thousandth more each.
#[test]
fn watermarks_are_the_kernels() {
    let pages = 16 << 18;
    assert_eq!(
        Watermarks::of(pages, 12),
        Watermarks { min: 4096, low: 4096 + 4194, high: 4096 + 2 * 4194 }
    );
    assert_eq!(Watermarks::of(64, 12).min, 32);
}

#[test]
fn a_watermark_counts_what_would_be_left() {
    let mut buddy = Buddy::new(8);
    assert!(buddy.watermark_ok(order(2), 4) && !buddy.watermark_ok(order(2), 5));
    buddy.alloc_at(Pfn::new(0), order(0));
    buddy.alloc_at(Pfn::new(4), order(0));
    assert!(!buddy.watermark_ok(order(2), 0), "six frames are free, and no four in a row");
}

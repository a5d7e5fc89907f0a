//! Each policy against a string worked out by hand, and against a plain version of it made of
//! vectors, which follows the words of its paper as closely as possible.

use super::arc::Arc;
use super::lru::Lru;
use super::policy::Replacement;
use super::s3_fifo::S3Fifo;
use super::sieve::Sieve;
use proptest::prelude::*;

/// Returns the result of each access, `.` for a hit and `x` for a fault.
fn faults_of<R: Replacement>(frames: usize, pages: &[u32]) -> String {
    let nr_pages = pages.iter().max().map_or(0, |most| *most as usize + 1);
    let mut policy = R::new(nr_pages, frames).expect("there is room");
    pages.iter().map(|page| if policy.access(*page) { '.' } else { 'x' }).collect()
}

/// Returns the results of a plain version, which returns true if the accessed page was resident.
fn plainly(mut access: impl FnMut(u32) -> bool, pages: &[u32]) -> String {
    pages.iter().map(|page| if access(*page) { '.' } else { 'x' }).collect()
}

/// Removes a page from a queue; returns true if the queue had it.
fn take(queue: &mut Vec<u32>, page: u32) -> bool {
    let at = queue.iter().position(|one| *one == page);
    at.map(|at| queue.remove(at)).is_some()
}

fn plain_lru(frames: usize) -> impl FnMut(u32) -> bool {
    let mut resident = Vec::new();
    move |page| {
        let hit = take(&mut resident, page);
        resident.insert(0, page);
        resident.truncate(frames);
        hit
    }
}

/// The queue's oldest page stands first.
fn plain_sieve(frames: usize) -> impl FnMut(u32) -> bool {
    let mut queue: Vec<(u32, bool)> = Vec::new();
    let mut hand = 0;
    move |page| {
        if let Some(found) = queue.iter_mut().find(|one| one.0 == page) {
            found.1 = true;
            return true;
        }
        if queue.len() == frames {
            while queue[hand].1 {
                queue[hand].1 = false;
                hand = (hand + 1) % frames;
            }
            queue.remove(hand);
            if hand == queue.len() {
                hand = 0;
            }
        }
        queue.push((page, false));
        false
    }
}

/// Cases I to IV of the paper; the most recent page of a list stands first.
fn plain_arc(frames: usize) -> impl FnMut(u32) -> bool {
    let (mut t1, mut t2, mut b1, mut b2) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut p: f64 = 0.0;
    move |page| {
        if take(&mut t1, page) || take(&mut t2, page) {
            t2.insert(0, page);
            return true;
        }
        let (l1, all) = (t1.len() + b1.len(), t1.len() + t2.len() + b1.len() + b2.len());
        let (in_b1, in_b2) = (b1.contains(&page), b2.contains(&page));
        let ratio = |of: &Vec<u32>, to: &Vec<u32>| of.len() as f64 / to.len() as f64;
        if in_b1 {
            p += if b1.len() >= b2.len() { 1.0 } else { ratio(&b2, &b1) };
            p = p.min(frames as f64);
        } else if in_b2 {
            p -= if b2.len() >= b1.len() { 1.0 } else { ratio(&b1, &b2) };
            p = p.max(0.0);
        } else if l1 == frames {
            if t1.len() == frames {
                t1.pop();
            } else {
                b1.pop();
            }
        } else if all == 2 * frames {
            b2.pop();
        }
        let replaces = in_b1 || in_b2 || all >= frames && t1.len() + t2.len() == frames;
        if replaces {
            let size = t1.len() as f64;
            if !t1.is_empty() && (in_b2 && size == p || size > p) {
                b1.insert(0, t1.pop().expect("it is not empty"));
            } else {
                b2.insert(0, t2.pop().expect("one of the two is not empty"));
            }
        }
        if take(&mut b1, page) || take(&mut b2, page) {
            t2.insert(0, page);
        } else {
            t1.insert(0, page);
        }
        false
    }
}

/// Queues of pages with their uses, the newest first.
fn plain_s3_fifo(frames: usize) -> impl FnMut(u32) -> bool {
    let small_frames = (frames / 10).max(1);
    let (mut small, mut main) = (Vec::<(u32, u32)>::new(), Vec::<(u32, u32)>::new());
    let mut ghost = Vec::new();
    let mut evicted = false;
    move |page| {
        if let Some(found) = small.iter_mut().chain(&mut main).find(|one| one.0 == page) {
            found.1 += 1;
            return true;
        }
        let was_in_ghost = take(&mut ghost, page);
        while small.len() + main.len() == frames {
            evicted = true;
            if main.len() > frames - small_frames || small.is_empty() {
                let (last, uses) = main.pop().expect("memory is full");
                if uses > 0 {
                    main.insert(0, (last, uses.min(3) - 1));
                }
            } else {
                while let Some((last, uses)) = small.pop() {
                    if uses <= 1 {
                        ghost.insert(0, last);
                        ghost.truncate(frames * 9 / 10);
                        break;
                    }
                    main.insert(0, (last, 0));
                }
            }
        }
        if was_in_ghost || !evicted && small.len() == small_frames {
            main.insert(0, (page, 0));
        } else {
            small.insert(0, (page, 0));
        }
        false
    }
}

#[test]
fn lru_evicts_what_was_used_longest_ago() {
    let textbook = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1];
    assert_eq!(faults_of::<Lru>(3, &textbook), "xxxx.x.xxxx..x.x.x..");
}

/// Page 0 is used before the hand first reaches it, so that 1 is evicted. Then 2, 3 and 4 are
/// evicted in their order, and 2 before 0 and 1, which were used. At last the hand is at the tail
/// again.
#[test]
fn sieve_passes_what_was_used_since_it_came() {
    let pages = [0, 1, 2, 0, 3, 4, 0, 1, 2, 0, 1, 5, 6, 0, 1];
    assert_eq!(faults_of::<Sieve>(3, &pages), "xxx.xx.xx..xx.x");
}

/// All four cases of the paper, and both lists of evicted pages full once.
#[test]
fn arc_learns_from_hits_on_what_it_evicted() {
    let pages = [0, 1, 0, 2, 1, 0, 2, 0, 3, 1, 4, 2, 1, 5, 2];
    assert_eq!(faults_of::<Arc>(2, &pages), "xx.xxxx.xxxx.xx");
}

/// Page 0 goes to the main queue since it was used twice in the small one. Pages 4 and 5 go there
/// since they return soon after they were evicted. Page 6 does not: three others were evicted
/// meanwhile.
#[test]
fn s3_fifo_keeps_what_comes_back_in_its_main_queue() {
    let pages = [0, 1, 2, 3, 0, 0, 4, 5, 4, 2, 6, 5, 7, 0, 8, 9, 6, 4];
    assert_eq!(faults_of::<S3Fifo>(4, &pages), "xxxx..xxx.xxxxxxx.");
}

proptest! {
    #[test]
    fn policies_decide_as_their_plain_versions(
        (frames, pages) in (1..40_usize).prop_flat_map(|frames| {
            let most = 3 * frames as u32;
            (Just(frames), prop::collection::vec(0..=most, 0..400))
        }),
    ) {
        prop_assert_eq!(faults_of::<Lru>(frames, &pages), plainly(plain_lru(frames), &pages));
        prop_assert_eq!(faults_of::<Sieve>(frames, &pages), plainly(plain_sieve(frames), &pages));
        prop_assert_eq!(faults_of::<Arc>(frames, &pages), plainly(plain_arc(frames), &pages));
        let s3_fifo = plainly(plain_s3_fifo(frames), &pages);
        prop_assert_eq!(faults_of::<S3Fifo>(frames, &pages), s3_fifo);
    }

    /// The most popular pages are used often, as in programs: with uniform chances, most strings
    /// are only faults.
    #[test]
    fn policies_decide_so_where_few_pages_have_most_uses(
        frames in 1..40_usize,
        draws in prop::collection::vec((0..100_u32, 0..100_u32), 0..600),
    ) {
        let pages: Vec<u32> = draws.iter().map(|(one, other)| one * other / 100).collect();
        prop_assert_eq!(faults_of::<Sieve>(frames, &pages), plainly(plain_sieve(frames), &pages));
        prop_assert_eq!(faults_of::<Arc>(frames, &pages), plainly(plain_arc(frames), &pages));
        let s3_fifo = plainly(plain_s3_fifo(frames), &pages);
        prop_assert_eq!(faults_of::<S3Fifo>(frames, &pages), s3_fifo);
    }
}

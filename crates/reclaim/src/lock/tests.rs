extern crate std;

use super::*;
use core::cell::Cell;
use core::hint::spin_loop;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::vec::Vec;

fn spinning() -> Waiter<(), fn(&AtomicU32, u32)> {
    Waiter { in_order: true, wake: (), wait: |_, _| thread::yield_now() }
}

fn handed_out(lock: &QueuedLock) -> u32 {
    lock.tickets.load(Relaxed) & HANDED_OUT
}

/// Tasks that sleep until they are woken, apart for each of a lock's two words: one that is missed
/// never wakes.
#[derive(Default)]
struct Beds {
    lock: Mutex<()>,
    woken: [Condvar; 2],
}

impl Beds {
    fn woken(&self, word: &AtomicU32) -> &Condvar {
        &self.woken[core::ptr::from_ref(word).addr() / size_of::<AtomicU32>() % 2]
    }

    fn sleep(&self, word: &AtomicU32, seen: u32) {
        let mut asleep = self.lock.lock().expect("no thread panics");
        while word.load(Relaxed) == seen {
            asleep = self.woken(word).wait(asleep).expect("no thread panics");
        }
    }
}

impl Wake for &Beds {
    const SLEEPS: bool = true;

    fn wake(&self, word: &AtomicU32) {
        let asleep = self.lock.lock().expect("no thread panics");
        self.woken(word).notify_all();
        drop(asleep);
    }
}

/// Readers and writers queue behind a writer, one after the other; `first` tickets were handed out
/// before. Each notes its turn. A reader lets the next reader in at once.
fn enters_in_order(first: u32) {
    const WAITERS: usize = 40;
    let lock =
        QueuedLock { tickets: AtomicU32::new(first << SERVED | first), ..Default::default() };
    let entered = Mutex::new(Vec::new());
    // The last is a writer.
    let note = |i| {
        let marked = lock.lock.state.load(Relaxed) & AWAITED != 0;
        entered.lock().expect("no thread panics").push(i);
        assert_eq!(marked, i + 1 < WAITERS, "{i}: a mark while others wait");
    };
    let holder = lock.write(spinning());
    thread::scope(|scope| {
        for i in 0..WAITERS {
            let (lock, note) = (&lock, &note);
            scope.spawn(move || match i % 3 {
                0 => {
                    let _guard = lock.write(spinning());
                    note(i);
                }
                _ => {
                    let _guard = lock.read(spinning());
                    note(i);
                }
            });
            let queued = (first + i as u32 + 1) & HANDED_OUT;
            while handed_out(lock) != queued {
                thread::yield_now();
            }
            assert!(lock.unqueued().try_read().is_none(), "nobody overtakes those that wait");
        }
        drop(holder);
    });
    let mut entered = entered.into_inner().expect("no thread panics");
    // Two readers that are inside together note their turns in any order.
    for pair in 0..WAITERS / 3 {
        entered[3 * pair + 1..][..2].sort_unstable();
    }
    assert!(entered.into_iter().eq(0..WAITERS));
    assert!(lock.unqueued().try_write().is_some(), "no mark is left");
}

#[test]
fn waiters_enter_in_the_order_in_which_they_came() {
    enters_in_order(0);
}

#[test]
fn tickets_begin_again_after_the_last() {
    enters_in_order(HANDED_OUT - 7);
}

#[test]
fn no_reader_enters_between_two_writers_that_wait() {
    let lock = QueuedLock::default();
    let first = Cell::new(Some(lock.write(spinning())));
    let wait = |_: &AtomicU32, _| {
        first.take();
        assert!(lock.unqueued().try_read().is_none(), "a writer waits");
    };
    let second = lock.write(Waiter { in_order: true, wake: (), wait });
    drop(second);
    assert!(lock.unqueued().try_read().is_some());
}

/// Threads that sleep while the lock is taken, in a bed that only a wake-up leaves: if one is
/// missed, this does not end.
#[test]
fn whoever_sleeps_is_woken() {
    const ROUNDS: u64 = 20_000;
    const THREADS: u64 = 4;
    let (lock, beds) = (QueuedLock::default(), Beds::default());
    let (written, slept) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (lock, beds, written, slept) = (&lock, &beds, &written, &slept);
            let sleep = move |word: &AtomicU32, seen| {
                slept.fetch_add(1, Relaxed);
                beds.sleep(word, seen);
            };
            let waiter = move || Waiter { in_order: true, wake: beds, wait: sleep };
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    match (round + thread) % 4 {
                        0 => {
                            let _guard = lock.write(waiter());
                            let now = written.load(Relaxed);
                            thread::yield_now();
                            written.store(now + 1, Relaxed);
                        }
                        1 => drop(lock.try_read(beds)),
                        _ => {
                            let _guard = lock.read(waiter());
                            spin_loop();
                        }
                    }
                }
            });
        }
    });
    assert_eq!(u64::from(written.into_inner()), ROUNDS * THREADS / 4, "writers exclude each other");
    assert!(slept.into_inner() > 0, "somebody slept");
}

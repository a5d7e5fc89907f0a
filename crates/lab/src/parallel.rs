//! Several pieces of work at once. Their results keep their order, and the first error stops all.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Does `work` on every item, `at_once` of them at a time, in their order. The first error sets
/// `stop`, as other threads may. Work must end soon after that, and its result is dropped.
pub(super) fn each<T: Sync, R: Send, E: Send>(
    items: &[T],
    at_once: usize,
    stop: &AtomicBool,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    let first_error = Mutex::new(None);
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index).filter(|_| !stop.load(Ordering::Relaxed)) else {
                return;
            };
            match work(item) {
                Ok(result) => results.lock().expect("no panics")[index] = Some(result),
                Err(error) => {
                    // Later errors come from our own stop.
                    if !stop.swap(true, Ordering::Relaxed) {
                        *first_error.lock().expect("no panics") = Some(error);
                    }
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..at_once.clamp(1, items.len().max(1)) {
            scope.spawn(worker);
        }
    });
    match first_error.into_inner().expect("no panics") {
        Some(error) => Err(error),
        None => Ok(results.into_inner().expect("no panics").into_iter().flatten().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let stop = AtomicBool::new(false);
        let squares = each(&[3u64, 2, 1, 0], 2, &stop, |n| {
            thread::sleep(Duration::from_millis(*n));
            Ok::<_, ()>(n * n)
        });
        assert_eq!(squares, Ok(vec![9, 4, 1, 0]));
        assert_eq!(each(&[0u8; 0], 2, &stop, |_| Ok::<u8, ()>(0)), Ok(vec![]));
    }

    #[test]
    fn the_first_error_stops_the_others() {
        let done = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let result = each(&[0, 1, 2, 3], 2, &stop, |n| {
            if *n == 0 {
                return Err("first");
            }
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            done.fetch_add(1, Ordering::Relaxed);
            Err("stopped")
        });
        assert_eq!(result, Err::<Vec<()>, _>("first"));
        assert!(done.into_inner() <= 1, "no work began after the error");
    }
}

//! Independent runs, spread over the host's threads. Results are in the order of the runs, so that
//! records are the same for any number of threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Calls `run` with each number below `runs`, on `threads` threads, or fewer if the system starts
/// no more. Calls `progress` after each run. Results are by number.
///
/// # Panics
/// If a run panics, with that panic; if no thread can be started.
pub fn spread<R: Send>(
    runs: usize,
    threads: NonZeroUsize,
    progress: &mut dyn FnMut(usize, usize),
    run: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let (tell, told) = std::sync::mpsc::channel();
    let results = Mutex::new((0..runs).map(|_| None).collect::<Vec<_>>());
    thread::scope(|scope| {
        for thread in 0..threads.get().min(runs) {
            let (tell, next, results, run) = (tell.clone(), &next, &results, &run);
            let started = thread::Builder::new().spawn_scoped(scope, move || {
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    if number >= runs {
                        return;
                    }
                    let result = run(number);
                    results.lock().expect("no run panics holding it")[number] = Some(result);
                    // The receiver is gone once another run has panicked.
                    let _ = tell.send(());
                }
            });
            match started {
                Ok(_) => {}
                Err(_) if thread > 0 => break,
                Err(error) => panic!("no thread can be started: {error}"),
            }
        }
        drop(tell);
        for done in 1..=runs {
            // Receiving fails only if threads ended by panics; the scope passes a panic on.
            if told.recv().is_err() {
                return;
            }
            progress(done, runs);
        }
    });
    let results = results.into_inner().expect("no run panics holding it");
    results.into_iter().map(|result| result.expect("every run is done")).collect()
}

/// Returns the number of the host's threads.
pub fn host_threads() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(threads: usize) -> (Vec<usize>, Vec<usize>) {
        let mut told = Vec::new();
        let threads = NonZeroUsize::new(threads).unwrap();
        let results = spread(20, threads, &mut |done, of| told.push(done * 100 + of), |n| n * n);
        (results, told)
    }

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        let expected: Vec<usize> = (0..20).map(|n| n * n).collect();
        for threads in [1, 2, 7, 64] {
            let (results, told) = squares(threads);
            assert_eq!(results, expected, "{threads} threads");
            assert_eq!(told, (1..=20).map(|done| done * 100 + 20).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_of_a_run_is_passed_on() {
        let fails = |n: usize| assert_ne!(n, 5, "the sixth");
        spread(8, NonZeroUsize::new(2).unwrap(), &mut |_, _| {}, fails);
    }
}

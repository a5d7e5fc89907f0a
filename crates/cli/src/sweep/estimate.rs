//! The time of a sweep, from one of its cells that runs while the sweep is planned.

use pageout_experiment::shown;
use pageout_experiment::spread::host_threads;
use pageout_run::Cells;
use pageout_sweep::{Cell, Runner};
use std::num::NonZeroUsize;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time for the cell: the plan does not wait longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs the cell in the middle of these, and returns a sentence that estimates the time of all of
/// them. The sentence names the number of CPUs and the cell. Its records are not kept.
pub(super) fn estimate(inputs: Cells, cells: &[Cell]) -> String {
    let cell = &cells[cells.len() / 2];
    let at_once = if inputs.is_timed(cell) { NonZeroUsize::MIN } else { host_threads() };
    let on = match at_once.get() {
        1 => "one by one".to_owned(),
        cpus => format!("on the {cpus} CPUs here"),
    };
    let all = |each: Duration| {
        let nr = cells.len() as u32;
        words(each * nr / (at_once.get() as u32).min(nr))
    };
    let (tell, told) = mpsc::channel();
    let (running, cell) = (cell.clone(), cell.to_string());
    let cell = shown(&cell);
    // A cell that takes longer ends with this process, which does not wait for it.
    thread::spawn(move || {
        let since = Instant::now();
        let ran = inputs.run(&running, NonZeroUsize::MIN);
        // The plan may no longer wait.
        let _ = tell.send(ran.map(|_| since.elapsed()));
    });
    match told.recv_timeout(PATIENCE) {
        Ok(Ok(each)) => {
            let (all, each) = (all(each), words(each));
            format!("time: about {all} {on}, if all cells are like `{cell}`, which took {each}")
        }
        Ok(Err(error)) => format!("time: not known, since cell `{cell}` fails: {}", shown(&error)),
        Err(RecvTimeoutError::Timeout) => {
            let (all, each) = (all(PATIENCE), words(PATIENCE));
            format!("time: at least {all} {on}: `{cell}` takes more than {each}")
        }
        Err(RecvTimeoutError::Disconnected) => {
            format!("time: not known, since cell `{cell}` panicked, which is a bug")
        }
    }
}

/// Writes a time for people.
fn words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..1.0 => format!("{:.0} ms", (seconds * 1e3).ceil()),
        ..10.0 => format!("{seconds:.1} s"),
        ..100.0 => format!("{seconds:.0} s"),
        ..6000.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_to_two_figures_or_three() {
        let told = [0.0, 0.0123, 1.0, 9.96, 59.0, 100.0, 5_940.0, 20_000.0, 360_000.0]
            .map(|seconds| words(Duration::from_secs_f64(seconds)));
        assert_eq!(
            told,
            ["0 ms", "13 ms", "1.0 s", "10.0 s", "59 s", "2 min", "99 min", "6 h", "100 h"]
        );
    }
}

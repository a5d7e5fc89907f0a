//! The kernel's work for a program (system calls, switches and faults), and clearing and copying of
//! pages.

use super::area::{Pages, area, lone_area, page_size, store_to_each_page};
use super::cpus::pin;
use super::effort::Effort;
use super::lines::per;
use super::loads::own_ns;
use super::rounds::Rounds;
use std::hint::black_box;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread;
use std::time::Instant;

/// The number of system calls of a repetition.
const CALLS: usize = 500;

/// The number of turns through pipes of a repetition.
const TURNS: usize = 100;

/// The number of pages that a repetition faults in.
const FAULTS: usize = 256;

/// The bytes that one price is for, of clearing and of copying.
const UNIT: usize = 4096;

/// The number of units that a repetition clears or copies.
const UNITS: usize = 128;

/// The times of the kernel's work, a value for each round, in nanoseconds for each operation.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// A system call that does nothing.
    pub(super) call: Vec<f64>,
    /// A switch from one thread to another on the same CPU, without the system calls for it.
    pub(super) switch: Vec<f64>,
    /// The first store to an anonymous page.
    pub(super) fault: Vec<f64>,
    /// The first load from an anonymous page: a fault that allocates no memory.
    pub(super) fault_of_zeroes: Vec<f64>,
    /// Clearing 4 KiB that are not in a near cache.
    pub(super) zero_page: Vec<f64>,
    /// Copying 4 KiB, when neither source nor destination is in a near cache.
    pub(super) copy_page: Vec<f64>,
}

/// Measures all times on this thread's CPU.
///
/// # Errors
/// The kernel's error, if it refuses memory, pipes or the CPU to a second thread.
pub(super) fn measure(effort: &Effort, cpu: usize, rounds: Rounds<'_>) -> io::Result<Kernel> {
    let mut kernel = Kernel::default();
    let mut copies = Copies::new(effort.copied_bytes)?;
    for _ in rounds {
        kernel.call.push(call());
        kernel.switch.push((there_and_back(cpu)? - 2.0 * write_and_read()?) / 2.0);
        kernel.fault.push(fault(store_to_each_page)?);
        kernel.fault_of_zeroes.push(fault(|memory| load_from_each_page(memory))?);
        kernel.zero_page.push(copies.zero());
        kernel.copy_page.push(copies.copy());
    }
    Ok(kernel)
}

fn call() -> f64 {
    own_ns(CALLS, || {
        for _ in 0..CALLS {
            black_box(rustix::thread::gettid());
        }
    })
}

/// Measures the way of a byte to another thread on this CPU and back: two switches, two writes, two
/// reads.
fn there_and_back(cpu: usize) -> io::Result<f64> {
    let (mut theirs, mut there) = io::pipe()?;
    let (mut ours, mut back) = io::pipe()?;
    thread::scope(|scope| {
        let partner = scope.spawn(move || {
            pin(cpu)?;
            // The loop ends when the pipe's writing end is closed.
            while pass(&mut theirs, &mut back)? {}
            io::Result::Ok(())
        });
        let mut turn = || {
            there.write_all(&[1])?;
            ours.read_exact(&mut [0])
        };
        // The first turn waits for the thread to begin.
        let took = turn().and_then(|()| {
            let since = Instant::now();
            for _ in 0..TURNS {
                turn()?;
            }
            Ok(per(since, TURNS))
        });
        drop(there);
        partner.join().expect("the partner passes bytes on")?;
        took
    })
}

/// Passes a byte on. Returns false if the pipe has ended.
pub(super) fn pass(from: &mut PipeReader, to: &mut PipeWriter) -> io::Result<bool> {
    let mut byte = [0];
    if from.read(&mut byte)? == 0 {
        return Ok(false);
    }
    to.write_all(&byte)?;
    Ok(true)
}

/// Measures a byte's way through a pipe of this thread's own, without waiting for another thread.
fn write_and_read() -> io::Result<f64> {
    let (mut from, mut to) = io::pipe()?;
    let since = Instant::now();
    for _ in 0..TURNS {
        pass_alone(&mut from, &mut to)?;
    }
    Ok(per(since, TURNS))
}

fn pass_alone(from: &mut PipeReader, to: &mut PipeWriter) -> io::Result<()> {
    to.write_all(&[1])?;
    from.read_exact(&mut [0])
}

/// Measures the first touch of pages.
fn fault(touch: impl Fn(&mut [u8])) -> io::Result<f64> {
    let mut memory = lone_area(FAULTS * page_size())?;
    Ok(own_ns(FAULTS, || touch(&mut memory)))
}

/// Loads the first byte of each page.
pub(super) fn load_from_each_page(memory: &[u8]) {
    let or = memory.iter().step_by(page_size()).fold(0, |or, byte| or | byte);
    black_box(or);
}

/// Memory to clear and to copy, large enough that the next bytes are not in a near cache.
struct Copies {
    from: memmap2::MmapMut,
    to: memmap2::MmapMut,
    next: usize,
}

impl Copies {
    fn new(bytes: usize) -> io::Result<Self> {
        let mut from = area(bytes, Pages::Huge)?;
        let mut to = area(bytes, Pages::Huge)?;
        store_to_each_page(&mut from);
        store_to_each_page(&mut to);
        Ok(Self { from, to, next: 0 })
    }

    /// Returns the range of the next bytes; it starts again at the beginning after all of them.
    fn advance(&mut self) -> std::ops::Range<usize> {
        let bytes = UNIT * UNITS;
        self.next = if self.next + 2 * bytes <= self.to.len() { self.next + bytes } else { 0 };
        self.next..self.next + bytes
    }

    fn zero(&mut self) -> f64 {
        let bytes = self.advance();
        own_ns(UNITS, || {
            for unit in self.to[bytes].chunks_exact_mut(UNIT) {
                black_box(unit).fill(0);
            }
        })
    }

    fn copy(&mut self) -> f64 {
        let bytes = self.advance();
        own_ns(UNITS, || {
            let units = self.to[bytes.clone()].chunks_exact_mut(UNIT);
            for (to, from) in units.zip(self.from[bytes].chunks_exact(UNIT)) {
                black_box(to).copy_from_slice(black_box(from));
            }
        })
    }
}

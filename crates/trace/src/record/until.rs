//! Reads a pipe that never ends by itself, until something else has ended.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

/// A reader that ends when `end` is ready and `pipe` is empty. It first reads everything that was
/// written to the pipe before.
pub(super) struct Until<E> {
    pub(super) pipe: File,
    pub(super) end: E,
}

impl<E: AsFd> Until<E> {
    /// Waits for more bytes; returns true if there are some.
    pub(super) fn wait(&self) -> io::Result<bool> {
        let mut both =
            [PollFd::new(&self.pipe, PollFlags::IN), PollFd::new(&self.end, PollFlags::IN)];
        retry_on_intr(|| poll(&mut both, None))?;
        if !both[0].revents().is_empty() {
            return Ok(true);
        }
        // The end is ready, but something may have been written after the pipe was checked.
        let mut pipe = [PollFd::new(&self.pipe, PollFlags::IN)];
        Ok(retry_on_intr(|| poll(&mut pipe, Some(&Timespec::default())))? > 0)
    }
}

impl<E: AsFd> Read for Until<E> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.wait()? { self.pipe.read(out) } else { Ok(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io::Write;

    use rustix::fs::{CWD, Mode, mkfifoat};

    #[test]
    fn what_was_written_before_the_end_is_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pipe");
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("a pipe");
        let mut pipe = File::options().read(true).write(true).open(&path).expect("opens");
        pipe.write_all(b"last words").expect("there is room");
        let (end, held) = io::pipe().expect("a pipe");
        drop(held);
        let mut said = String::new();
        Until { pipe, end }.read_to_string(&mut said).expect("reads");
        assert_eq!(said, "last words");
    }
}

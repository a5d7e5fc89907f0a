//! Reads announcements of children, and starts a thread to follow each.

use std::io::{self, BufReader, Read};
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::str;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::Scope;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::follow::Child;
use super::launch::{Launch, NO_MORE};
use super::options::{RecordError, RecordOptions};
use super::recorded::RecordedChild;
use super::recording::{Finished, Recording};
use crate::lines::Lines;

/// A message of a recording's threads to the one that began it.
pub(super) enum Message {
    /// The number of further references.
    References(u64),
    /// The child of this number is about to run, as this process.
    Began(u64, Arc<OwnedFd>),
    /// The child of this number has ended, or cannot be followed.
    Ended(u64, Box<Result<(RecordedChild, Finished), RecordError>>),
    /// The first process has ended.
    First(Box<Result<(Recording, ExitStatus), RecordError>>),
    /// The announcements cannot be read any more.
    Deaf(io::Error),
}

/// Starts a thread to follow each child, until no more can come.
pub(super) fn listen<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    (launch, options): (&'env Launch, &'env RecordOptions),
    announcements: impl Read,
    tell: &Sender<Message>,
) -> io::Result<()> {
    let mut lines = Lines::new(BufReader::new(announcements));
    let mut number = 0;
    while let Some(line) = lines.next()?.filter(|line| *line != NO_MORE) {
        let pid = pid(line)?;
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => Arc::new(process),
            // The process was killed before it ran anything.
            Err(Errno::SRCH) => {
                launch.forget(pid)?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        number += 1;
        send(tell, Message::Began(number, Arc::clone(&process)));
        let (child, tell) = (Child { number, pid, process, hold: launch.hold()? }, tell.clone());
        scope.spawn(move || {
            let mut told = 0;
            let result = child.follow(launch, options, &mut |references| {
                send(&tell, Message::References(references - told));
                told = references;
            });
            send(&tell, Message::Ended(number, Box::new(result)));
        });
    }
    Ok(())
}

/// Sends a message to the thread that began the recording, which reads to the end.
pub(super) fn send(tell: &Sender<Message>, message: Message) {
    let _ = tell.send(message);
}

/// Returns the process of an announcement.
fn pid(line: &[u8]) -> io::Result<Pid> {
    let number = str::from_utf8(line).ok().and_then(|line| line.parse().ok());
    let misunderstood = || io::Error::other("a child's announcement is not a process's number");
    number.and_then(Pid::from_raw).ok_or_else(misunderstood)
}

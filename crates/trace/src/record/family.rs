//! Records a program and its children under Valgrind's lackey, a thread for each process.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::process::{Signal, pidfd_send_signal};
use shared_child::SharedChild;

use super::child::beside;
use super::children::Children;
use super::launch::{Launch, NO_MORE};
use super::listen::{Message, listen, send};
use super::options::{RecordError, RecordOptions};
use super::recording::{Recording, begin};
use super::valgrind::{end, read};

/// Runs the command to the end of its last process. Returns the recording of the first process, its
/// end, and the recordings of the others.
pub(super) fn record(
    launch: &Launch,
    options: &RecordOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<(Recording, ExitStatus, Children), RecordError> {
    let epochs = begin(options, &launch.tool(), &options.output, options.words())?;
    let log = launch.log().map_err(RecordError::Log)?;
    let (announcements, no_more) = launch.announcements().map_err(RecordError::Log)?;
    let hold = launch.hold().map_err(RecordError::Log)?;
    let first = launch.start(&options.command, Some(hold))?;
    let recording = Recording::new(first.id(), epochs);
    thread::scope(|scope| {
        let (tell, told) = channel();
        let (first, tell_of_first) = (&first, tell.clone());
        scope.spawn(move || follow_first(first, recording, log, &tell_of_first));
        scope.spawn(move || {
            if let Err(error) = listen(scope, (launch, options), announcements, &tell) {
                send(&tell, Message::Deaf(error));
            }
        });
        let mut family = Family {
            first,
            no_more,
            progress,
            references: 0,
            running: HashMap::new(),
            ended: None,
            children: Children::default(),
            failed: None,
        };
        // Each thread has a sender, so this loop ends with the last of them.
        for message in told {
            family.hear(message);
        }
        family.finish()
    })
}

/// Reads the log of the first process to its end.
fn follow_first(
    child: &SharedChild,
    mut recording: Recording,
    (log, log_end): (File, File),
    tell: &Sender<Message>,
) {
    let mut told = 0;
    let progress = &mut |references| {
        send(tell, Message::References(references - told));
        told = references;
    };
    let status = beside(child, || end(log_end), || read(&mut recording, log, progress));
    send(tell, Message::First(Box::new(status.map(|status| (recording, status)))));
}

/// All processes of a recording.
struct Family<'a> {
    first: &'a SharedChild,
    /// The pipe that ends the announcements of children.
    no_more: File,
    progress: &'a mut dyn FnMut(u64),
    references: u64,
    /// The running children, by their numbers.
    running: HashMap<u64, Arc<OwnedFd>>,
    /// The recording and the end of the first process, when it has ended.
    ended: Option<(Recording, ExitStatus)>,
    children: Children,
    failed: Option<RecordError>,
}

impl Family<'_> {
    fn hear(&mut self, message: Message) {
        match message {
            Message::References(references) => {
                self.references += references;
                (self.progress)(self.references);
            }
            Message::Began(number, process) => {
                if self.failed.is_some() {
                    kill(&process);
                }
                self.running.insert(number, process);
            }
            Message::Ended(number, result) => {
                let added = result.and_then(|(child, done)| self.children.add(child, done));
                if let Err(error) = added {
                    self.fail(error);
                }
                self.running.remove(&number);
            }
            Message::First(result) => match *result {
                Ok(ended) => self.ended = Some(ended),
                Err(error) => self.fail(error),
            },
            Message::Deaf(error) => self.fail(RecordError::Log(error)),
        }
    }

    /// Ends all processes and keeps the error if it is the first one.
    fn fail(&mut self, error: RecordError) {
        if self.failed.is_some() {
            return;
        }
        self.failed = Some(error);
        // A process that has ended already need not be killed, and its error is ignored.
        let _ = self.first.kill();
        self.running.values().for_each(|process| kill(process));
        let _ = self.no_more.write_all(&[NO_MORE, b"\n"].concat());
    }

    fn finish(self) -> Result<(Recording, ExitStatus, Children), RecordError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (recording, status) = self.ended.expect("it ended, or failed");
        Ok((recording, status, self.children))
    }
}

fn kill(process: &OwnedFd) {
    // The process may have ended by itself.
    let _ = pidfd_send_signal(process, Signal::KILL);
}

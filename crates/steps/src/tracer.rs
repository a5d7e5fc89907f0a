//! The parent's side: steps through the child's regions.

use super::StepError;
use super::classes::Classes;
use super::decode::{LONGEST, Registers, Seen};
use iced_x86::Register;
use nix::libc::{c_void, user_regs_struct};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io::Read;
use std::process::{Command, Stdio};

/// Runs a command that marks regions ([`super::Regions`]), and returns what it printed and what ran
/// in each region, without the mark itself. Calls `progress` with the regions done. A step goes to
/// the child and back, which takes many times as long between two CPUs: a caller that keeps its
/// thread to one keeps the child to it too.
///
/// # Errors
/// [`StepError`] if it does not run, may not be traced, or fails.
pub fn count(
    command: &mut Command,
    progress: &mut dyn FnMut(usize),
) -> Result<(String, Vec<Classes>), StepError> {
    let failed = |what| move |source| StepError::System { what, source };
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed("the child"))?;
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process has a positive number"));
    let mut stdout = child.stdout.take().expect("standard output is a pipe");
    let regions = Tracer { pid, seen: Seen::default() }.regions(progress)?;
    let mut printed = String::new();
    stdout.read_to_string(&mut printed).map_err(failed("the child's output"))?;
    let (mark, regions) =
        regions.split_first().ok_or_else(|| StepError::Ended("at once".into()))?;
    Ok((printed, regions.iter().map(|region| *region - *mark).collect()))
}

/// A child that stops by itself at the edges of its regions.
struct Tracer {
    pid: Pid,
    seen: Seen,
}

impl Tracer {
    /// Runs the child to its end and returns the regions.
    fn regions(mut self, progress: &mut dyn FnMut(usize)) -> Result<Vec<Classes>, StepError> {
        let mut regions = Vec::new();
        let mut is_first = true;
        loop {
            match self.wait()? {
                WaitStatus::Stopped(_, Signal::SIGSTOP) => {
                    if std::mem::take(&mut is_first) {
                        let options = Options::PTRACE_O_EXITKILL;
                        ptrace::setoptions(self.pid, options).map_err(StepError::of("ptrace"))?;
                    }
                    self.step_through()?;
                    regions.push(self.seen.end_region());
                    progress(regions.len());
                    self.go_on(None)?;
                }
                // Between regions only the step that ended the last one is left.
                WaitStatus::Stopped(_, Signal::SIGTRAP) => self.go_on(None)?,
                WaitStatus::Stopped(_, other) => self.go_on(Some(other))?,
                WaitStatus::Exited(_, 0) => return Ok(regions),
                ended => return Err(StepError::Ended(format!("{ended:?}"))),
            }
        }
    }

    /// Steps until the child stops itself again.
    fn step_through(&mut self) -> Result<(), StepError> {
        let pid = self.pid;
        let mut signal = None;
        loop {
            let registers = ptrace::getregs(pid).map_err(StepError::of("ptrace"))?;
            self.seen.run(&registers, |at| code(pid, at))?;
            ptrace::step(pid, signal.take()).map_err(StepError::of("ptrace"))?;
            match self.wait()? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
                WaitStatus::Stopped(_, Signal::SIGSTOP) => return Ok(()),
                WaitStatus::Stopped(_, other) => signal = Some(other),
                ended => return Err(StepError::Ended(format!("{ended:?}"))),
            }
        }
    }

    fn wait(&self) -> Result<WaitStatus, StepError> {
        waitpid(self.pid, None).map_err(StepError::of("waitpid"))
    }

    fn go_on(&self, signal: Option<Signal>) -> Result<(), StepError> {
        ptrace::cont(self.pid, signal).map_err(StepError::of("ptrace"))
    }
}

/// Reads the bytes of an instruction, which may end where mapped memory does.
fn code(pid: Pid, at: u64) -> Result<[u8; LONGEST], StepError> {
    let read = |at: u64| ptrace::read(pid, at as *mut c_void).map(i64::to_ne_bytes);
    let mut bytes = [0; LONGEST];
    let first = read(at).map_err(StepError::of("ptrace"))?;
    bytes[..8].copy_from_slice(&first);
    if let Ok(second) = read(at + 8) {
        bytes[8..].copy_from_slice(&second[..LONGEST - 8]);
    }
    Ok(bytes)
}

impl Registers for user_regs_struct {
    fn next(&self) -> u64 {
        self.rip
    }

    fn value(&self, register: Register) -> Option<u64> {
        Some(match register {
            Register::RAX => self.rax,
            Register::RBX => self.rbx,
            Register::RCX => self.rcx,
            Register::RDX => self.rdx,
            Register::RSI => self.rsi,
            Register::RDI => self.rdi,
            Register::RBP => self.rbp,
            Register::RSP => self.rsp,
            Register::R8 => self.r8,
            Register::R9 => self.r9,
            Register::R10 => self.r10,
            Register::R11 => self.r11,
            Register::R12 => self.r12,
            Register::R13 => self.r13,
            Register::R14 => self.r14,
            Register::R15 => self.r15,
            Register::RIP => self.rip,
            Register::FS => self.fs_base,
            Register::GS => self.gs_base,
            Register::CS | Register::DS | Register::ES | Register::SS => 0,
            _ => return None,
        })
    }
}

//! The system calls that Valgrind logs with `--trace-syscalls=yes`.
//!
//! A line holds a call with its result. For a call that may block, one line holds the call and a
//! later one the result. The forms are Valgrind 3.19's:
//!
//! ```text
//! SYSCALL[5011,1](11) sys_munmap ( 0x4a2c000, 4096 )[sync] --> Success(0x0)
//! SYSCALL[5011,1](9) sys_mmap ( 0x0, 4096, 3, 34, 4294967295, 0 ) --> [pre-success] Success(0x…)
//! SYSCALL[5011,1](257) sys_openat ( 4294967196, 0x10a004(m.c), 0 ) --> [async] ...
//! SYSCALL[5011,1](257) ... [async] --> Success(0x3)
//! SYSCALL[4983,1](58) sys_fork ( )   fork: process 4983 created child 4984
//! ```

use std::collections::HashMap;

/// A successful call that changes mappings, or opens or changes a descriptor. Addresses, lengths
/// and offsets are in bytes, as the program passed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    Map {
        address: u64,
        length: u64,
        protection: u64,
        flags: u64,
        fd: u64,
        offset: u64,
    },
    Unmap {
        address: u64,
        length: u64,
    },
    Protect {
        address: u64,
        length: u64,
        protection: u64,
    },
    Remap {
        old: u64,
        old_length: u64,
        new: u64,
        new_length: u64,
        flags: u64,
    },
    Break {
        end: u64,
    },
    Advise {
        address: u64,
        length: u64,
        advice: u64,
    },
    Open {
        path: String,
        fd: u64,
    },
    Duplicate {
        from: u64,
        to: u64,
    },
    Close {
        fd: u64,
    },
    /// A child process began.
    Child {
        pid: u64,
    },
    /// The program ends with this status.
    Exit {
        status: u64,
    },
    /// The program asked to be replaced; if it makes another call, the request failed.
    Replace,
}

/// A parser of the lines, which keeps the calls that wait for their result.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// The calls without a result, by thread.
    waiting: HashMap<u64, Head>,
}

/// A call without its result.
#[derive(Debug, Clone)]
struct Head {
    name: String,
    arguments: String,
}

/// The result after the arrow.
enum Outcome {
    Success(u64),
    Failure,
    Later,
}

impl Calls {
    /// Returns the call that `line` completes, if it is a [`Call`] and succeeded.
    pub(crate) fn line(&mut self, line: &[u8]) -> Option<Call> {
        let line = String::from_utf8_lossy(line);
        let (ids, rest) = line.strip_prefix("SYSCALL[")?.split_once(']')?;
        let thread = number(ids.split_once(',')?.1)?;
        let text = rest.split_once(") ")?.1;
        let (call, outcome) = match text.rsplit_once("--> ") {
            Some((call, outcome)) => (call, Some(self::outcome(outcome)?)),
            None => (text, None),
        };
        if call.starts_with("... ") {
            let head = self.waiting.remove(&thread)?;
            return head.complete(outcome?);
        }
        let head = Head::parse(call)?;
        match outcome {
            Some(Outcome::Later) => {
                self.waiting.insert(thread, head);
                None
            }
            Some(outcome) => head.complete(outcome),
            None if head.name.ends_with("fork") || head.name == "clone" => {
                let (_, pid) = call.rsplit_once(" created child ")?;
                Some(Call::Child { pid: number(pid)? })
            }
            None => head.name.starts_with("execve").then_some(Call::Replace),
        }
    }
}

impl Head {
    /// Parses `sys_NAME ( ARGUMENTS )`.
    fn parse(call: &str) -> Option<Self> {
        let end = call.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let name = call[..end].strip_prefix("sys_").unwrap_or(&call[..end]);
        let after = &call[end..];
        let (open, close) = (after.find('(')?, after.rfind(')')?);
        let arguments = after.get(open + 1..close)?;
        Some(Self { name: name.to_owned(), arguments: arguments.to_owned() })
    }

    fn complete(&self, outcome: Outcome) -> Option<Call> {
        let Outcome::Success(result) = outcome else {
            return None;
        };
        match self.name.as_str() {
            "open" | "openat" | "openat2" | "creat" => {
                let (start, end) = (self.arguments.find('(')?, self.arguments.rfind(')')?);
                let path = self.arguments.get(start + 1..end)?.to_owned();
                Some(Call::Open { path, fd: result })
            }
            "memfd_create" => Some(Call::Open { path: "/memfd".to_owned(), fd: result }),
            // A failed brk(2) succeeds, with the old end.
            "brk" => Some(Call::Break { end: result }),
            _ => self.numeric(result),
        }
    }

    /// Returns the call, if its arguments are all numbers.
    fn numeric(&self, result: u64) -> Option<Call> {
        let arguments = self.arguments.split(',').map(number).collect::<Option<Vec<u64>>>()?;
        Some(match (self.name.as_str(), arguments.as_slice()) {
            ("mmap" | "mmap2", &[_, length, protection, flags, fd, offset]) => {
                Call::Map { address: result, length, protection, flags, fd, offset }
            }
            ("munmap", &[address, length]) => Call::Unmap { address, length },
            ("mprotect" | "pkey_mprotect", &[address, length, protection, ..]) => {
                Call::Protect { address, length, protection }
            }
            ("mremap", &[old, old_length, new_length, flags, ..]) => {
                Call::Remap { old, old_length, new: result, new_length, flags }
            }
            ("madvise", &[address, length, advice]) => Call::Advise { address, length, advice },
            ("dup" | "dup2" | "dup3", &[from, ..]) => Call::Duplicate { from, to: result },
            // F_DUPFD and F_DUPFD_CLOEXEC.
            ("fcntl", &[from, 0 | 1030, ..]) => Call::Duplicate { from, to: result },
            ("close", &[fd]) => Call::Close { fd },
            ("exit_group", &[status]) => Call::Exit { status },
            _ => return None,
        })
    }
}

fn outcome(text: &str) -> Option<Outcome> {
    if text.starts_with("[async] ...") {
        return Some(Outcome::Later);
    }
    let Some((_, value)) = text.split_once("Success(") else {
        return Some(Outcome::Failure);
    };
    number(value.split_once(')')?.0).map(Outcome::Success)
}

/// Parses `0x` and hexadecimal digits, or decimal ones; negative numbers wrap as in a register.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = text.strip_prefix('-') {
        return digits.parse::<u64>().ok().map(u64::wrapping_neg);
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(log: &str) -> Vec<Call> {
        let mut calls = Calls::default();
        log.lines().filter_map(|line| calls.line(line.as_bytes())).collect()
    }

    #[test]
    fn a_recorded_log_gives_its_calls() {
        let log = "\
SYSCALL[5011,1](9) sys_mmap ( 0x0, 1048576, 3, 34, 4294967295, 0 ) \
--> [pre-success] Success(0x4a2a000) 
SYSCALL[5011,1](25) sys_mremap ( 0x4a2a000, 1048576, 4194304, 0x1 ) \
--> [pre-success] Success(0x4b2a000) 
SYSCALL[5011,1](28) sys_madvise ( 0x4a2a000, 65536, 4 ) --> [async] ... 
SYSCALL[5011,2](14) sys_rt_sigprocmask ( 0, 0x532afb0, 0x0, 8 ) --> [pre-success] Success(0x0) 
SYSCALL[5011,1](28) ... [async] --> Success(0x0) 
SYSCALL[5011,1](10) sys_mprotect ( 0x4a2a000, 4096, 1 )[sync] --> Success(0x0) 
SYSCALL[5011,1](11) sys_munmap ( 0x4a2c000, 4096 )[sync] --> Success(0x0) 
SYSCALL[5011,1](12) sys_brk ( 0x4045000 ) --> [pre-success] Success(0x4045000) 
SYSCALL[5011,1](11) sys_munmap ( 0x4a2c001, 4096 )[sync] --> Failure(0x16) 
SYSCALL[5011,1](231) exit_group( 3 ) --> [pre-success] Success(0x0) 
";
        let expected = [
            Call::Map {
                address: 0x4a2a000,
                length: 1 << 20,
                protection: 3,
                flags: 34,
                fd: u32::MAX.into(),
                offset: 0,
            },
            Call::Remap {
                old: 0x4a2a000,
                old_length: 1 << 20,
                new: 0x4b2a000,
                new_length: 4 << 20,
                flags: 1,
            },
            Call::Advise { address: 0x4a2a000, length: 65536, advice: 4 },
            Call::Protect { address: 0x4a2a000, length: 4096, protection: 1 },
            Call::Unmap { address: 0x4a2c000, length: 4096 },
            Call::Break { end: 0x4045000 },
            Call::Exit { status: 3 },
        ];
        assert_eq!(calls(log), expected);
    }

    #[test]
    fn descriptors_are_followed_through_blocking_calls_and_odd_paths() {
        let log = "\
SYSCALL[5011,1](257) sys_openat ( 4294967196, 0x10a004(a, b) --> (c), 0 ) --> [async] ... 
SYSCALL[5011,2](257) sys_openat ( 4294967196, 0x10a004(/none), 0 ) --> [async] ... 
SYSCALL[5011,2](257) ... [async] --> Failure(0x2) 
SYSCALL[5011,1](257) ... [async] --> Success(0x3) 
SYSCALL[5011,1](32) sys_dup ( 3 )[sync] --> Success(0x4) 
SYSCALL[4983,1](72) sys_fcntl[ARG3=='arg'] ( 3, 0, 10 )[sync] --> Success(0xb) 
SYSCALL[4983,1](72) sys_fcntl[ARG3=='arg'] ( 11, 2, 1 )[sync] --> Success(0x0) 
SYSCALL[5011,1](319) sys_memfd_create ( 0x10a008, 0 )[sync] --> Success(0x5) 
SYSCALL[4983,1](3) sys_close ( 3 )[sync] --> Success(0x0) 
";
        let expected = [
            Call::Open { path: "a, b) --> (c".to_owned(), fd: 3 },
            Call::Duplicate { from: 3, to: 4 },
            Call::Duplicate { from: 3, to: 11 },
            Call::Open { path: "/memfd".to_owned(), fd: 5 },
            Call::Close { fd: 3 },
        ];
        assert_eq!(calls(log), expected);
    }

    #[test]
    fn children_and_replacement_are_seen_and_threads_are_not_children() {
        let log = "\
SYSCALL[4983,1](58) sys_fork ( )   fork: process 4983 created child 4984
SYSCALL[5011,1](56) sys_clone ( 3d0f00, 0x5329f70, 0x532a990, 0x532a990, 0x532a6c0 ) \
--> [pre-success] Success(0x1394) 
SYSCALL[1629,1](56) sys_clone ( 1200011, 0x0, 0x0, 0x50c4f10, 0x0 )   \
clone(fork): process 1629 created child 2618
SYSCALL[4983,1](59) sys_execve ( 0x1298e0(/bin/true), 0x129910, 0x4035b38 )
";
        assert_eq!(
            calls(log),
            [Call::Child { pid: 4984 }, Call::Child { pid: 2618 }, Call::Replace]
        );
    }

    #[test]
    fn unfinished_and_foreign_lines_are_nothing() {
        let lines = [
            "SYSCALL[",
            "SYSCALL[1,1](9) ",
            "SYSCALL[1,1](9) sys_mmap (",
            "SYSCALL[1,1](9) sys_mmap ( ) --> Success(0x1)",
            "SYSCALL[1,1](9) ... [async] --> Success(0x1)",
            "SYSCALL[1,1](11) sys_munmap ( 0x99999999999999999, 1 )[sync] --> Success(0x0)",
            "SYSCALL[1,1](11) )sys_munmap( --> Success(0x0)",
            "SYSCALL[5011,1](435) unimplemented (by the kernel) syscall: 435! (ni_syscall)",
        ];
        for line in lines {
            assert_eq!(calls(line), [], "{line}");
        }
    }
}

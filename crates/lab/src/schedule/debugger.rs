//! The emulator's debugging socket, which stops, reads, writes and continues a machine by the
//! remote protocol of gdb.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The maximum number of bytes of the machine's memory that one packet carries.
const CHUNK: usize = 1024;
/// The pause between tries to connect.
const TICK: Duration = Duration::from_millis(5);
/// The time that the emulator has to answer.
const ANSWER: Duration = Duration::from_secs(60);

/// A machine under the debugger.
pub(super) struct Debugger {
    socket: UnixStream,
    pending: Vec<u8>,
}

fn unexpected(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the emulator's debugger {what}"))
}

impl Debugger {
    /// Connects as soon as the emulator listens; returns an error if the emulator ends before.
    pub(super) fn connect(path: &Path, is_alive: &mut dyn FnMut() -> bool) -> io::Result<Self> {
        let until = Instant::now() + ANSWER;
        let socket = loop {
            match UnixStream::connect(path) {
                Ok(socket) => break socket,
                Err(error) if Instant::now() > until || !is_alive() => return Err(error),
                Err(_) => std::thread::sleep(TICK),
            }
        };
        socket.set_read_timeout(Some(ANSWER))?;
        Ok(Self { socket, pending: Vec::new() })
    }

    /// Sends a packet, and waits for its answer.
    fn ask(&mut self, packet: &str) -> io::Result<String> {
        self.send(packet)?;
        self.expected()
    }

    /// Returns the next packet, which has to come in time.
    fn expected(&mut self) -> io::Result<String> {
        self.answer().map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                let why = format!("it did not answer in {} s", ANSWER.as_secs());
                io::Error::new(io::ErrorKind::TimedOut, why)
            }
            _ => error,
        })
    }

    fn send(&mut self, packet: &str) -> io::Result<()> {
        let sum = packet.bytes().fold(0u8, u8::wrapping_add);
        self.socket.write_all(format!("${packet}#{sum:02x}").as_bytes())
    }

    /// Returns the next packet, and skips acknowledgements of ours.
    fn answer(&mut self) -> io::Result<String> {
        loop {
            if let Some(packet) = self.packet() {
                self.socket.write_all(b"+")?;
                return Ok(packet);
            }
            let mut bytes = [0; 4096];
            match self.socket.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.pending.extend_from_slice(&bytes[..n]),
                // A read with a time limit ends so when this process goes on after a stop.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn packet(&mut self) -> Option<String> {
        let start = self.pending.iter().position(|byte| *byte == b'$')?;
        let end = start + self.pending[start..].iter().position(|byte| *byte == b'#')?;
        if self.pending.len() < end + 3 {
            return None;
        }
        let packet = String::from_utf8_lossy(&self.pending[start + 1..end]).into_owned();
        self.pending.drain(..end + 3);
        Some(packet)
    }

    fn done(&mut self, packet: &str) -> io::Result<()> {
        match self.ask(packet)?.as_str() {
            "OK" => Ok(()),
            other => Err(unexpected(&format!("answered `{other}` to `{packet:.20}`"))),
        }
    }

    /// Reads memory.
    pub(super) fn read(&mut self, address: u64, size: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(size);
        while bytes.len() < size {
            let length = CHUNK.min(size - bytes.len());
            let hex = self.ask(&format!("m{:x},{length:x}", address + bytes.len() as u64))?;
            // An error is `E` and two digits, all of them hexadecimal digits too.
            let is_whole = hex.len() == 2 * length;
            let read: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
            match read.filter(|_| is_whole) {
                Some(read) => bytes.extend(read),
                None => return Err(unexpected("cannot read the machine's memory")),
            }
        }
        Ok(bytes)
    }

    /// Writes memory.
    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> io::Result<()> {
        for (chunk, number) in bytes.chunks(CHUNK).zip(0..) {
            let hex: String = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
            let at = address + number * CHUNK as u64;
            self.done(&format!("M{at:x},{:x}:{hex}", chunk.len()))?;
        }
        Ok(())
    }

    /// Has the machine stop where it executes an address.
    pub(super) fn stop_at(&mut self, address: u64) -> io::Result<()> {
        self.done(&format!("Z1,{address:x},1"))
    }

    /// Has one CPU execute one instruction, while the other CPUs stand still.
    pub(super) fn step(&mut self, cpu: u64) -> io::Result<()> {
        match self.ask(&format!("vCont;s:{:x}", cpu + 1))? {
            stopped if stopped.starts_with('T') => Ok(()),
            other => Err(unexpected(&format!("answered `{other}` to a step"))),
        }
    }

    /// Runs the machine until it stops; `None` if `is_over` returns true before.
    pub(super) fn run(&mut self, is_over: &dyn Fn() -> bool) -> io::Result<Option<()>> {
        self.send("c")?;
        self.socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        let stopped = loop {
            match self.answer() {
                Ok(packet) if packet.starts_with(['T', 'S']) => break Some(()),
                // The machine is gone. Other packets have its output.
                Ok(packet) if packet.starts_with(['W', 'X']) => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if is_over() {
                        break None;
                    }
                }
                Err(error) => return Err(error),
            }
        };
        self.socket.set_read_timeout(Some(ANSWER))?;
        Ok(stopped)
    }

    /// Stops a machine that runs.
    pub(super) fn interrupt(&mut self) -> io::Result<()> {
        self.socket.write_all(&[3])?;
        self.expected().map(|_| ())
    }

    /// Sends a command to the emulator's monitor, and returns its answer.
    pub(super) fn monitor(&mut self, command: &str) -> io::Result<String> {
        let hex: String = command.bytes().map(|byte| format!("{byte:02x}")).collect();
        let mut said = String::new();
        let mut answer = self.ask(&format!("qRcmd,{hex}"))?;
        while let Some(text) = answer.strip_prefix('O').filter(|text| *text != "K") {
            let text: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
            said += &String::from_utf8_lossy(&text.unwrap_or_default());
            answer = self.expected()?;
        }
        Ok(said)
    }
}

/// Parses a byte of two hexadecimal digits.
fn byte(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use tempfile::tempdir;

    /// Runs `ask` with a debugger that answers these packets in turn, and returns also the packets
    /// that it was sent.
    fn with<R>(answers: &[&str], ask: impl FnOnce(&mut Debugger) -> R) -> (R, String) {
        let directory = tempdir().unwrap();
        let path = directory.path().join("gdb");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::scope(|scope| {
            let asked = scope.spawn(move || {
                let (mut socket, _) = listener.accept().unwrap();
                let mut asked = Vec::new();
                for answer in answers {
                    let mut bytes = [0; 4096];
                    let n = socket.read(&mut bytes).unwrap();
                    asked.extend_from_slice(&bytes[..n]);
                    socket.write_all(answer.as_bytes()).unwrap();
                }
                // Acknowledgements, until the debugger is done.
                io::copy(&mut socket, &mut io::sink()).unwrap();
                String::from_utf8(asked).unwrap()
            });
            let mut debugger = Debugger::connect(&path, &mut || true).unwrap();
            let result = ask(&mut debugger);
            drop(debugger);
            (result, asked.join().unwrap())
        })
    }

    #[test]
    fn memory_is_read_by_packets() {
        let (read, asked) = with(&["+$0aff#00"], |debugger| debugger.read(0x1000, 2));
        assert_eq!(read.unwrap(), [0x0a, 0xff]);
        assert_eq!(asked, "$m1000,2#8c");
        let (read, _) = with(&["+$E14#aa"], |debugger| debugger.read(0x1000, 2));
        assert!(read.unwrap_err().to_string().contains("cannot read the machine's memory"));
    }

    #[test]
    fn the_monitor_says_lines_until_it_is_done() {
        let said = ["+$O6869#00$O0a#00$OK#9a"];
        let (said, asked) = with(&said, |debugger| debugger.monitor("x"));
        assert_eq!(said.unwrap(), "hi\n");
        assert_eq!(asked, "$qRcmd,78#92");
    }

    #[test]
    fn a_machine_that_runs_too_long_is_told() {
        let (ran, _) = with(&["+"], |debugger| debugger.run(&|| true));
        assert_eq!(ran.unwrap(), None);
        let (ran, _) = with(&["+$T05thread:01;#00"], |debugger| debugger.run(&|| false));
        assert_eq!(ran.unwrap(), Some(()));
    }

    #[test]
    fn an_emulator_that_is_gone_is_not_waited_for() {
        let nowhere = tempdir().unwrap();
        assert!(Debugger::connect(&nowhere.path().join("gdb"), &mut || false).is_err());
    }
}

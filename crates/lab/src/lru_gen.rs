//! Sessions of `lru_gen` on real kernels.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::build::Built;
use super::kernel::Kernel;
use super::measure::Job;
use super::pages::Pages;
use super::session::{Lab, LabError, OnFailure, Sources, Wanted};
use super::target::{Config, Cpu};
use pageout_experiment::lru_gen::{Backing, Session, Step};

/// The benchmark's arguments for a session.
const LINE: &str = "bench session clock=instructions";
/// The bytes of memory that a session may take: several times the largest size of a region or file.
const MEMORY: u64 = 512 << 20;
/// The seconds that a machine gets: more than ten times those of the longest session.
const SECONDS: u64 = 240;

/// A kernel's answers to a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// The kernel, its configuration and its processor, in a line that begins with `# `.
    pub header: String,
    /// The steps, and the answers as the kernel gave them.
    pub text: String,
    /// The machine's log, if the kernel warned.
    pub warned: Option<PathBuf>,
}

impl Lab<'_> {
    /// Runs a session on every kernel, built under every configuration, and every processor that
    /// runs it.
    ///
    /// # Errors
    ///
    /// The first failure; the other machines are stopped.
    pub fn lru_gen(
        &self,
        kernels: &[Kernel],
        configs: &[Config],
        cpus: &[Cpu],
        session: &Session,
        limit: Option<Duration>,
    ) -> Result<Vec<Captured>, LabError> {
        let guest_session = guest_form(session);
        let jobs = |wanted: &[Wanted], _: &Sources| {
            self.jobs(wanted, cpus, |_, config, cpu, host| {
                let job = Job {
                    config,
                    cpu,
                    place: 0,
                    line: LINE.to_owned(),
                    selftest: None,
                    made: None,
                    parameters: Vec::new(),
                    session: Some(guest_session.clone()),
                    cpus: 1,
                    file_size: MEMORY,
                    pages: Pages::Ours,
                    limit: limit.unwrap_or(Duration::from_secs(SECONDS)),
                    counting: None,
                    host: host.clone(),
                };
                vec![job]
            })
        };
        let capture = |built: Built, job: &Job, stop: &AtomicBool| {
            let brought = self.emulate(&built, job, stop)?;
            let machine = brought.title().to_owned();
            let header = format!("# {}, {machine}", built.source);
            let wanted = session.steps.iter().map(|(_, step)| step.answers());
            let answers = answers(&brought.answers, wanted);
            let answers = answers.ok_or(LabError::NoAnswers { machine })?;
            Ok(Captured { header, text: session.transcript(&answers), warned: brought.warned })
        };
        self.build_for(kernels, configs, OnFailure::End, jobs, capture)?.whole()
    }
}

/// Returns a session in the test machine's form: a step a line, with numbers in place of names.
fn guest_form(session: &Session) -> String {
    let lines = session.steps.iter().map(|(_, step)| guest_line(session, step) + "\n");
    lines.collect()
}

fn guest_line(session: &Session, step: &Step) -> String {
    match step {
        Step::Memcg(memcg) => format!("memcg {}", session.memcgs[*memcg]),
        Step::Process(process) => format!("process {}", session.processes[*process].memcg),
        Step::File(file) => {
            let file = &session.files[*file];
            format!("file {} {}", file.pages, file.order)
        }
        Step::Map(region) => {
            let address = session.address(*region);
            let region = &session.regions[*region];
            let map = format!("map {} {address:x} {}", region.process, region.pages);
            match region.backing {
                Backing::File { file, first } => format!("{map} {file} {first}"),
                Backing::Anon { .. } => map,
            }
        }
        Step::Fill { memcg, file } => format!("fill {memcg} {file}"),
        Step::Read { memcg, file, pages } => {
            format!("read {memcg} {file} {} {}", pages.start, pages.end - pages.start)
        }
        Step::Touch { region, pages, write } => {
            let process = session.regions[*region].process;
            let order = match session.regions[*region].backing {
                Backing::Anon { order } => order,
                Backing::File { .. } => 0,
            };
            let (write, count) = (u8::from(*write), pages.end - pages.start);
            let address = session.address(*region);
            format!("touch {process} {address:x} {} {count} {write} {order}", pages.start)
        }
        Step::Sleep(ms) => format!("sleep {ms}"),
        Step::Write(command) => {
            let text = command.text(|memcg| format!("${memcg};"));
            format!("write {}", text.replace('\n', "\\n"))
        }
        Step::Show { memcg, full: false } => format!("show {memcg}"),
        Step::Show { memcg, full: true } => format!("show-full {memcg}"),
    }
}

/// Returns the answers of the steps that give one, from lines `STEP: TEXT`; `None` if the lines are
/// not those of these steps in their order.
fn answers(lines: &[String], wanted: impl Iterator<Item = bool>) -> Option<Vec<String>> {
    let lines: Option<Vec<(usize, &str)>> = lines
        .iter()
        .map(|line| line.split_once(": ").and_then(|(step, text)| Some((step.parse().ok()?, text))))
        .collect();
    let mut rest = &lines?[..];
    let mut answers = Vec::new();
    for (step, _) in wanted.enumerate().filter(|(_, answers)| *answers) {
        let count = rest.iter().take_while(|(of, _)| *of == step).count();
        let (of_step, others) = rest.split_at(count);
        if of_step.is_empty() {
            return None;
        }
        answers.push(of_step.iter().map(|(_, text)| format!("{text}\n")).collect());
        rest = others;
    }
    rest.is_empty().then_some(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_machine_gets_numbers_for_names() {
        let text = "memcg a\nmemcg b\nprocess p b\nfile f 64 order=2\nfill a f\nmap p m f 8..24\n\
            anon p h 32 order=3\nread a f 1..3\ntouch m 4..6\ntouch h write\nsleep 5\n\
            write + $b 0 3\\n- $a 0\nshow b\nshow a full\n";
        let expected = "memcg a\nmemcg b\nprocess 1\nfile 64 2\nfill 0 0\nmap 0 1000000000 16 0 8\n\
            map 0 1040000000 32\nread 0 0 1 2\ntouch 0 1000000000 4 2 0 0\n\
            touch 0 1040000000 0 32 1 3\nsleep 5\nwrite + $1; 0 3\\n- $0; 0\nshow 1\nshow-full 0\n";
        assert_eq!(guest_form(&Session::parse("x", text).unwrap()), expected);
    }

    #[test]
    fn answers_are_those_of_the_steps_that_give_one() {
        let of = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            answers(&lines, [false, true, false, true].into_iter())
        };
        let good = ["1: = 0", "3: memcg     2 /a", "3:  node     0"];
        let expected = ["= 0\n", "memcg     2 /a\n node     0\n"].map(str::to_owned);
        assert_eq!(of(&good), Some(expected.into()));
        for bad in [&good[..1], &good[1..], &["1: = 0", "3: x", "1: = 0"], &["0: x"], &["x"]] {
            assert_eq!(of(bad), None, "{bad:?}");
        }
    }
}

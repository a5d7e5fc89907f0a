//! Every command of every page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use crate::elsewhere::Way;
use crate::page::{self, Page};
use crate::script;
use crate::smaller;
use crate::world::World;

/// A command as a page prints it.
struct Documented {
    place: String,
    command: String,
    is_in_a_block: bool,
}

/// The outcome of all commands.
#[derive(Default)]
struct Tally {
    commands: BTreeMap<Way, usize>,
    changes: BTreeSet<usize>,
    failures: Vec<String>,
}

#[test]
fn every_command_runs() {
    let pages = page::all();
    let world = World::new(&pages);
    let mut left: Vec<Vec<Documented>> = pages.iter().map(documented).collect();
    let with_commands = left.iter().filter(|commands| !commands.is_empty()).count();
    // The page with the most commands begins first.
    left.sort_by_key(Vec::len);
    let left = Mutex::new(left);
    let tally = Mutex::new(Tally::default());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let page = left.lock().expect("no panic before").pop();
                    let Some(page) = page.filter(|page| !page.is_empty()) else { break };
                    // Later commands of a page use what earlier ones made.
                    let world = world.copy();
                    page.iter().for_each(|documented| documented.run(&world, &tally));
                }
            });
        }
    });
    let tally = tally.into_inner().expect("no panic before");
    let text = summary(&tally, with_commands);
    println!("{text}");
    assert!(tally.failures.is_empty(), "{}", tally.failures.join("\n"));
    let idle = (0..smaller::CHANGES.len()).filter(|change| !tally.changes.contains(change));
    let idle: Vec<_> = idle.map(|change| &smaller::CHANGES[change]).collect();
    assert!(idle.is_empty(), "no command takes these changes: {idle:#?}");
    insta::assert_snapshot!(text);
}

/// Returns the commands of a page's blocks in order, then those that its sentences name.
fn documented(page: &Page) -> Vec<Documented> {
    let blocks = page.blocks().into_iter().filter(|block| block.language == "sh");
    let commands = blocks.flat_map(|block| {
        let place = format!("{}:{}", page.path, block.line);
        let commands = script::commands(&block.text).into_iter();
        commands.map(move |command| Documented {
            place: place.clone(),
            command,
            is_in_a_block: true,
        })
    });
    // Words in capitals stand for others.
    let stands_for_others = |c: char| c.is_ascii_uppercase() || "…[".contains(c);
    let named = page
        .spans()
        .into_iter()
        .filter(|span| span.text.starts_with("pageout ") && !span.text.contains(stands_for_others));
    let named = named.map(|span| {
        let place = format!("{}:{}", page.path, span.line);
        Documented { place, command: span.text, is_in_a_block: false }
    });
    commands.chain(named).collect()
}

impl Documented {
    fn run(&self, world: &World, tally: &Mutex<Tally>) {
        let start = Instant::now();
        let (command, changes) = smaller::of(&self.command);
        let (command, changes, way) = match (self.is_in_a_block, Way::of(&self.command)) {
            (false, _) => (self.command.clone(), Vec::new(), Way::Help("a sentence names it")),
            (true, Some(way)) => (command, changes, way),
            (true, None) if changes.is_empty() => (command, changes, Way::AsPrinted),
            (true, None) => (command, changes, Way::Smaller),
        };
        let output = match way {
            Way::AsPrinted | Way::Smaller => Some(world.run(&command)),
            Way::WithoutTools(_) => Some(world.run_without_tools(&command)),
            Way::Help(_) => Some(world.run(&format!("{command} --help"))),
            Way::Elsewhere(_) => None,
        };
        let failure = output.and_then(|output| {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_right = match way {
                Way::WithoutTools(_) => error.contains("missing "),
                Way::AsPrinted | Way::Smaller | Way::Help(_) | Way::Elsewhere(_) => {
                    output.status.success()
                }
            };
            (!is_right).then(|| format!("{}: {error}", output.status))
        });
        let time = start.elapsed().as_secs_f64();
        println!("{time:5.1} s  {}: {command}", self.place);
        let mut tally = tally.lock().expect("no panic before");
        *tally.commands.entry(way).or_default() += 1;
        tally.changes.extend(changes);
        tally.failures.extend(failure.map(|f| format!("{}: {command}\n  {f}", self.place)));
    }
}

fn summary(tally: &Tally, pages: usize) -> String {
    let all: usize = tally.commands.values().sum();
    let mut text = format!("{all} commands on {pages} pages\n");
    for (way, count) in &tally.commands {
        let way = match way {
            Way::AsPrinted => "run as printed".to_owned(),
            Way::Smaller => "run with a smaller workload".to_owned(),
            Way::WithoutTools(why) => format!("read to where tools are missing ({why})"),
            Way::Help(why) => format!("read with --help ({why})"),
            Way::Elsewhere(why) => format!("not run ({why})"),
        };
        let _ = writeln!(text, "{count:4} {way}");
    }
    text
}

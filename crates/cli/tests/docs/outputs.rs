//! Every output that a page shows.
//!
//! The comment before a block says what it is:
//! - `prints: COMMAND`: what a shell prints for the command, 80 columns wide.
//! - `measured: DATE, MACHINE`: it is another each time, and nothing compares it.
//!
//! `INSTA_UPDATE=always` writes what is printed now into the pages.

use std::fs;

use crate::page::{self, Block, Page};
use crate::world::World;

const PRINTS: &str = "prints: ";
const MEASURED: &str = "measured: ";

#[test]
fn every_block_without_a_language_says_where_it_is_from() {
    for page in page::all() {
        for block in page.blocks().iter().filter(|block| block.language.is_empty()) {
            let comment = block.comment.as_deref().unwrap_or_default();
            let says = [PRINTS, MEASURED].iter().any(|kind| comment.starts_with(kind));
            assert!(says, "{}:{}: a comment says what prints this", page.path, block.line);
        }
    }
}

/// Every block is compared, or written.
#[test]
fn every_output_is_what_its_command_prints() {
    let pages = page::all();
    let world = World::new(&pages);
    let updates = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    let mut differences = Vec::new();
    let mut compared = 0;
    for page in &pages {
        let blocks = page.blocks();
        let marked = blocks.iter().filter_map(|block| {
            let command = block.comment.as_ref()?.strip_prefix(PRINTS)?;
            Some((block, command))
        });
        let marked: Vec<(&Block, &str)> = marked.collect();
        compared += marked.len();
        // Later commands of a page use what earlier ones made.
        let world = world.copy();
        let printed = marked.iter().map(|(block, command)| printed(&world, command, page, block));
        let printed: Vec<String> = printed.collect();
        let mut text = page.text.clone();
        // From the end, so that earlier places stay where they are.
        for ((block, command), printed) in marked.iter().zip(printed).rev() {
            if printed != block.text {
                let (path, line, shown) = (&page.path, block.line, &block.text);
                let now = format!("{path}:{line}: {command}\nshown:\n{shown}\nprinted:\n{printed}");
                differences.push(now);
                let fence = page.text[block.range.clone()].lines().next().unwrap_or("```");
                text.replace_range(block.range.clone(), &format!("{fence}\n{printed}```"));
            }
        }
        if updates && text != page.text {
            fs::write(page::root().join(&page.path), text).expect("the page can be written");
        }
    }
    println!("{compared} outputs that are marked `{}`", PRINTS.trim());
    assert!(compared > 0, "no page has such an output");
    assert!(updates || differences.is_empty(), "{}", differences.join("\n"));
}

/// Returns the text that a command prints, without blanks at the ends of lines.
fn printed(world: &World, command: &str, page: &Page, block: &Block) -> String {
    let output = world.run(command);
    let place = format!("{}:{}: {command}", page.path, block.line);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{place}: {}: {error}", output.status);
    let text = String::from_utf8(output.stdout).expect("output is text");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n").trim_matches('\n').to_owned() + "\n";
    assert!(!text.contains("```"), "{place}: the output would end its block");
    text
}

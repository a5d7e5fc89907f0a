//! Mistakes that operating systems made, and what the kit says of them. Each case is code that
//! writes its tables by itself, with the mistake and without. `MISTAKES.md` has the messages;
//! `INSTA_UPDATE=always` is not needed: the test prints what it should have.
#![cfg(not(miri))] // one thread, no unsafe code: Miri would be slow and find nothing

mod cases;
mod os;

use std::panic::catch_unwind;

#[test]
fn code_without_the_mistake_passes() {
    for case in cases::ALL {
        let run = case.run;
        assert!(catch_unwind(move || run(false)).is_ok(), "{}", case.mistake);
    }
}

#[test]
fn each_mistake_is_found_and_the_page_has_its_message() {
    let mut rows = String::new();
    for case in cases::ALL {
        let run = case.run;
        let panic = catch_unwind(move || run(true)).expect_err(case.mistake);
        let text = panic.downcast_ref::<String>().expect("a formatted message");
        rows += &format!("| {} | {} | {} |\n", case.mistake, case.seen, outline(text));
    }
    let page = include_str!("../../MISTAKES.md");
    assert!(page.ends_with(&rows), "MISTAKES.md should end with:\n{rows}");
}

/// Returns the rule that a message names, and its reason: numbers say nothing in a table.
fn outline(message: &str) -> String {
    let (rule, rest) = message.split_once(": ").expect("a rule");
    let (rest, _manual) = rest.rsplit_once(" [").expect("a manual");
    let why = rest.rsplit_once(": ").map_or(rest, |(_, why)| why);
    format!("**{rule}**: {why}")
}

//! Help of the commands that read records, or write files for the shell.

use super::text::{Help, Section};

pub(super) fn report() -> Help {
    Help {
        notes: vec![Section::Prose(
            "The page is one HTML file: the verdict, then tables, charts and where the records \
             come from. It needs no network. Every command that prints a table writes such a page \
             with --html (docs/report.md).",
        )],
        examples: &[
            "pageout report records.json --output report.html",
            "pageout report --label before=b.json --label after=a.json \\\n  \
                --output report.html",
            "pageout report before.json after.json --json --output both.json",
            "pageout report before.json after.json --base kernel=6.12.0 \\\n  \
                --output report.html",
        ],
        ..Help::default()
    }
}

pub(super) fn completions() -> Help {
    Help { brief: vec![setup()], notes: vec![setup()], examples: &["pageout completions bash"] }
}

fn setup() -> Section {
    Section::Lines {
        heading: "Set-up, after which the shell asks `pageout` to complete words",
        lines: "\
bash  echo 'source <(pageout completions bash)' >> ~/.bashrc
zsh   echo 'source <(pageout completions zsh)' >> ~/.zshrc
fish  pageout completions fish > ~/.config/fish/completions/pageout.fish",
    }
}

pub(super) fn man() -> Help {
    Help {
        notes: vec![Section::Prose(
            "Existing pages are replaced. `man` looks below ~/.local/share/man where PATH has \
             ~/.local/bin.",
        )],
        examples: &["pageout man ~/.local/share/man/man1 && man pageout-trace-record"],
        ..Help::default()
    }
}

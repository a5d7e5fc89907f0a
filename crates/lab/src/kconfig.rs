//! Kernel configuration: the options that our fragments and the user ask for, and the check that
//! the kernel took them.

use pageout_experiment::named;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::assets;
use super::target::Config;
use super::tree;

/// The separator between the choices of a fragment's line. The first that a kernel takes is chosen.
const OR: &str = " or ";
/// The last choice if a kernel may do without the option.
const NOTHING: &str = "nothing";
const PREFIX: &str = "CONFIG_";

/// An option and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigOption {
    /// The name: `CONFIG_LRU_GEN`.
    name: String,
    value: String,
}

/// The error of a text that is not `NAME=VALUE`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected NAME=VALUE, such as LRU_GEN=y, with y, n, a number or a \"text\"")]
pub struct NotAnOption;

impl FromStr for ConfigOption {
    type Err = NotAnOption;

    /// Reads `NAME=VALUE`; the name may begin with `CONFIG_`.
    fn from_str(text: &str) -> Result<Self, NotAnOption> {
        let (name, value) = text.split_once('=').ok_or(NotAnOption)?;
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) || !is_value(value) {
            return Err(NotAnOption);
        }
        Ok(Self { name: format!("{PREFIX}{name}"), value: value.to_owned() })
    }
}

fn is_value(value: &str) -> bool {
    let text = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    match text {
        Some(text) => !text.contains(['"', '\\']) && !text.chars().any(char::is_control),
        None if matches!(value, "y" | "n") => true,
        None => match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).is_ok(),
            None => value.parse::<i64>().is_ok(),
        },
    }
}

/// A wanted option: the first of its choices that a kernel accepts.
#[derive(Clone, Debug)]
struct Wanted {
    choices: Vec<ConfigOption>,
    /// True if a kernel may lack all of these choices.
    or_nothing: bool,
    /// The choice that is tried.
    chosen: usize,
}

/// The options that are asked of a kernel's configuration, over `allnoconfig`.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    config: Config,
    wanted: Vec<Wanted>,
}

/// Options that a configuration asks for and did not get.
#[derive(Debug, thiserror::Error)]
#[error(
    "configuration {config}: this kernel does not take {}; its configuration is {}\n\
     with --config-option NAME=VALUE another option is asked for; with {} it may be missing",
    missing.join(", "),
    named(file),
    without.join(" ")
)]
pub struct NotTaken {
    /// The configuration.
    config: Config,
    /// The options as asked, and why: `CONFIG_LRU_GEN=y (it has no such option)`.
    missing: Vec<String>,
    /// The configuration that make wrote.
    file: PathBuf,
    /// The arguments that ask for a kernel without them: `--config-option LRU_GEN=n`.
    without: Vec<String>,
}

impl Wish {
    /// Returns the options that a configuration asks for, with the user's own in place of ours.
    pub(super) fn new(config: Config, users: &[ConfigOption]) -> Self {
        let fragments = match config {
            Config::Arm64_4K | Config::Arm64_4KSwap => {
                [assets::COMMON, assets::ARM64, assets::ARM64_4K]
            }
            Config::Arm64_16K => [assets::COMMON, assets::ARM64, assets::ARM64_16K],
            Config::Arm64_64K => [assets::COMMON, assets::ARM64, assets::ARM64_64K],
            Config::X86_64 | Config::X86_64Swap => [assets::COMMON, assets::X86_64, ""],
            Config::Riscv64 | Config::Riscv64Swap => [assets::COMMON, assets::RISCV64, ""],
        };
        let text = fragments.concat() + if config.has_swap() { assets::SWAP } else { "" };
        let mut wish = Self { config, wanted: Vec::new() };
        text.lines().filter_map(Wanted::parse).for_each(|wanted| wish.add(wanted));
        for option in users {
            let choices = vec![option.clone()];
            wish.add(Wanted { choices, or_nothing: false, chosen: 0 });
        }
        wish
    }

    /// Adds a wanted option, in place of earlier ones that name one of its choices.
    fn add(&mut self, wanted: Wanted) {
        let names = |of: &Wanted| -> BTreeSet<String> {
            of.choices.iter().map(|option| option.name.clone()).collect()
        };
        let new = names(&wanted);
        self.wanted.retain(|old| new.is_disjoint(&names(old)));
        self.wanted.push(wanted);
    }

    /// Returns a text that names all wanted options.
    pub(super) fn key(&self) -> String {
        let line = |wanted: &Wanted| {
            let choices = wanted.choices.iter().map(ConfigOption::line);
            let nothing = wanted.or_nothing.then(|| NOTHING.to_owned());
            choices.chain(nothing).collect::<Vec<_>>().join(OR) + "\n"
        };
        self.wanted.iter().map(line).collect()
    }

    /// Returns the choices that are tried, in the form of a configuration file.
    pub(super) fn options(&self) -> String {
        let chosen = self.wanted.iter().filter_map(|wanted| wanted.choices.get(wanted.chosen));
        chosen.map(|option| option.line() + "\n").collect()
    }

    /// Compares the configuration `made` that make wrote to `file` with the wanted options. Returns
    /// true if it has all of them, and false if other choices are to be tried next.
    ///
    /// # Errors
    ///
    /// [`NotTaken`] if an option did not take and no choice is left to try.
    pub(super) fn took(&mut self, made: &str, file: &Path, tree: &Path) -> Result<bool, NotTaken> {
        let made = options(made);
        let mut goes_on = false;
        let mut refused = Vec::new();
        for wanted in &mut self.wanted {
            let Some(option) = wanted.choices.get(wanted.chosen) else { continue };
            if made.get(option.name.as_str()).unwrap_or(&"n") == &option.value {
                continue;
            }
            if wanted.chosen + 1 < wanted.choices.len() + usize::from(wanted.or_nothing) {
                wanted.chosen += 1;
                goes_on = true;
            } else {
                refused.push(wanted.clone());
            }
        }
        // Another choice may set the options that a refused one depends on.
        if goes_on || refused.is_empty() {
            return Ok(!goes_on);
        }
        let there = symbols(tree);
        let why = |option: &ConfigOption| {
            let is_there = there.contains(option.name.trim_start_matches(PREFIX));
            let why =
                if is_there { "what it depends on is not set" } else { "it has no such option" };
            format!("{} ({why})", option.line())
        };
        let all = |of: &Wanted| of.choices.iter().map(why).collect::<Vec<_>>().join(OR);
        let without = refused.iter().flat_map(|wanted| &wanted.choices);
        let without = without
            .map(|option| format!("--config-option {}=n", option.name.trim_start_matches(PREFIX)));
        Err(NotTaken {
            config: self.config,
            missing: refused.iter().map(all).collect(),
            file: file.to_owned(),
            without: without.collect(),
        })
    }
}

impl Wanted {
    /// Parses a fragment's line: `CONFIG_A=y`, `CONFIG_A=y or CONFIG_B=y`, `CONFIG_A=y or nothing`.
    fn parse(line: &str) -> Option<Self> {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            return None;
        }
        let mut choices: Vec<&str> = line.split(OR).collect();
        let or_nothing = choices.pop_if(|choice| *choice == NOTHING).is_some();
        let choices =
            choices.into_iter().map(|choice| choice.parse().expect("a fragment's option"));
        Some(Self { choices: choices.collect(), or_nothing, chosen: 0 })
    }
}

impl ConfigOption {
    fn line(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

/// Returns the options of a configuration with their values; `n` for one that is not set.
fn options(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| {
            let unset = line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set"));
            let pair = unset.map(|option| (option, "n")).or_else(|| line.split_once('='));
            pair.filter(|(option, _)| option.starts_with(PREFIX))
        })
        .collect()
}

/// Returns the options that a tree's readable Kconfig files name, for a message.
fn symbols(tree: &Path) -> BTreeSet<String> {
    let mut symbols = BTreeSet::new();
    for entry in tree::walk(tree, false).into_iter().flatten().flatten() {
        let is_kconfig = entry.file_name().to_string_lossy().starts_with("Kconfig");
        let Some(text) = is_kconfig.then(|| fs::read_to_string(entry.path()).ok()).flatten() else {
            continue;
        };
        for line in text.lines() {
            let name = line.strip_prefix("config ").or_else(|| line.strip_prefix("menuconfig "));
            symbols.extend(name.map(|name| name.trim().to_owned()));
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    fn wish(fragment: &str, users: &[&str]) -> Wish {
        let mut wish = Wish { config: Config::Arm64_4K, wanted: Vec::new() };
        fragment.lines().filter_map(Wanted::parse).for_each(|wanted| wish.add(wanted));
        for option in users {
            let choices = vec![option.parse().unwrap()];
            wish.add(Wanted { choices, or_nothing: false, chosen: 0 });
        }
        wish
    }

    fn took(wish: &mut Wish, made: &str) -> Result<bool, String> {
        let tree = tempdir().unwrap();
        fs::write(tree.path().join("Kconfig.x"), "config B\nmenuconfig C\n").unwrap();
        wish.took(made, Path::new("/x/config"), tree.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_did_not_take_is_told_with_why_and_a_way_on() {
        let asked = "# why\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=\"x\"\nCONFIG_D=8\n";
        let made = "CONFIG_A=y\nCONFIG_C=\"x\"\nCONFIG_D=8\n# CONFIG_B is not set\n";
        assert_eq!(took(&mut wish(asked, &[]), made), Ok(true));
        let made = "# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C=\"x\"\nCONFIG_D=8\n";
        let error = took(&mut wish(asked, &[]), made).unwrap_err();
        for part in [
            "arm64-4k",
            "CONFIG_A=y (it has no such option)",
            "CONFIG_B=n (what it depends on is not set)",
            "/x/config",
            "--config-option A=n",
        ] {
            assert!(error.contains(part), "no `{part}` in {error}");
        }
    }

    #[test]
    fn the_first_choice_that_takes_is_chosen() {
        let mut wish = wish("CONFIG_A=y or CONFIG_B=y\nCONFIG_L=y or nothing\n", &[]);
        assert_eq!(wish.options(), "CONFIG_A=y\nCONFIG_L=y\n");
        assert_eq!(took(&mut wish, "# CONFIG_A is not set\n"), Ok(false));
        assert_eq!(wish.options(), "CONFIG_B=y\n");
        assert_eq!(took(&mut wish, "CONFIG_B=y\n"), Ok(true));
        assert!(took(&mut wish, "").unwrap_err().contains("CONFIG_A=y (it has no such option) or"));
    }

    #[test]
    fn the_users_options_and_later_fragments_take_the_place_of_ours() {
        assert_eq!(wish("CONFIG_A=y\nCONFIG_A=n\n", &[]).options(), "CONFIG_A=n\n");
        let mut without = wish("CONFIG_A=y or CONFIG_B=y\nCONFIG_D=1\n", &["B=n", "CONFIG_D=2"]);
        assert_eq!(without.options(), "CONFIG_B=n\nCONFIG_D=2\n");
        assert_eq!(took(&mut without, "CONFIG_D=2\n"), Ok(true));
    }

    #[test]
    fn options_are_names_and_values() {
        for good in ["LRU_GEN=y", "CONFIG_NR_CPUS=8", "A=\"a b\"", "A=0x10", "A=-1", "A=\"\""] {
            assert!(good.parse::<ConfigOption>().is_ok(), "{good}");
        }
        for bad in ["", "LRU_GEN", "=y", "A=", "A=m", "A B=y", "A=\"", "A=y\n", "A=\"\\\""] {
            assert!(bad.parse::<ConfigOption>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_page_size_is_asked_for_by_every_arm64_configuration() {
        for (config, option) in [
            (Config::Arm64_4K, "CONFIG_ARM64_4K_PAGES=y"),
            (Config::Arm64_16K, "CONFIG_ARM64_16K_PAGES=y"),
            (Config::Arm64_64K, "CONFIG_ARM64_64K_PAGES=y"),
            (Config::X86_64, "CONFIG_SERIAL_8250=y"),
            (Config::X86_64Swap, "CONFIG_SWAP=y"),
            (Config::Riscv64Swap, "CONFIG_RISCV_ISA_FALLBACK=y"),
        ] {
            let wish = Wish::new(config, &[]);
            assert!(wish.options().lines().any(|line| line == option), "{config}");
            assert!(wish.key().contains(" or "), "{config}");
        }
    }
}

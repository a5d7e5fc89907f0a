//! Kernel configuration: our fragments, and whether what they ask for took.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::assets;
use super::target::Config;

/// Options that a configuration asks for and did not get.
#[derive(Debug, thiserror::Error)]
#[error(
    "configuration {config}: this kernel does not take {}; its configuration is {}",
    missing.join(", "),
    file.display()
)]
pub struct NotTaken {
    /// The configuration.
    config: Config,
    /// The options as asked: `CONFIG_LRU_GEN=y`.
    missing: Vec<String>,
    /// What make made of them.
    file: PathBuf,
}

impl Config {
    /// The options asked for over `allnoconfig`, in the form of a configuration file.
    pub(super) fn options(self) -> String {
        let fragments = match self {
            Self::Arm64_4K | Self::Arm64_4KSwap => {
                [assets::COMMON, assets::ARM64, assets::ARM64_4K]
            }
            Self::Arm64_64K => [assets::COMMON, assets::ARM64, assets::ARM64_64K],
            Self::X86_64 | Self::X86_64Swap => [assets::COMMON, assets::X86_64, ""],
        };
        fragments.concat() + if self.has_swap() { assets::SWAP } else { "" }
    }

    /// Refuses a configuration, read from `file`, in which an option asked for did not take.
    pub(super) fn check(self, made: &str, file: PathBuf) -> Result<(), NotTaken> {
        let missing = missing(&self.options(), made);
        if missing.is_empty() {
            return Ok(());
        }
        Err(NotTaken { config: self, missing, file })
    }
}

fn missing(asked: &str, made: &str) -> Vec<String> {
    let made = options(made);
    let differs = |(option, value): &(&&str, &&str)| made.get(**option).unwrap_or(&"n") != *value;
    let asked = options(asked);
    asked.iter().filter(differs).map(|(option, value)| format!("{option}={value}")).collect()
}

/// The options of a configuration; one that is not set is `n`. A later line takes precedence.
fn options(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| {
            let unset = line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set"));
            let pair = unset.map(|option| (option, "n")).or_else(|| line.split_once('='));
            pair.filter(|(option, _)| option.starts_with("CONFIG_"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_take_is_found() {
        let asked =
            "# why\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=\"x\"\nCONFIG_D=8\n# CONFIG_E is not set\n";
        let made = "CONFIG_A=y\nCONFIG_C=\"x\"\nCONFIG_D=8\n# CONFIG_B is not set\n";
        assert_eq!(missing(asked, made), [""; 0]);
        let made = "# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C=\"y\"\nCONFIG_D=8\nCONFIG_E=m\n";
        let expected = ["CONFIG_A=y", "CONFIG_B=n", "CONFIG_C=\"x\"", "CONFIG_E=n"];
        assert_eq!(missing(asked, made), expected);
    }

    #[test]
    fn the_last_fragment_has_the_last_word() {
        assert_eq!(missing("CONFIG_A=y\nCONFIG_A=n\n", ""), [""; 0]);
        assert_eq!(missing("CONFIG_A=n\nCONFIG_A=y\n", ""), ["CONFIG_A=y"]);
    }

    #[test]
    fn a_page_size_is_asked_for_by_every_arm64_configuration() {
        for (config, option) in [
            (Config::Arm64_4K, "CONFIG_ARM64_4K_PAGES=y"),
            (Config::Arm64_64K, "CONFIG_ARM64_64K_PAGES=y"),
            (Config::X86_64, "CONFIG_SERIAL_8250=y"),
        ] {
            assert!(config.options().lines().any(|line| line == option), "{config}");
        }
        let error = Config::X86_64.check("", "/x/config".into()).unwrap_err().to_string();
        assert!(error.starts_with("configuration x86-64: ") && error.ends_with("/x/config"));
    }
}

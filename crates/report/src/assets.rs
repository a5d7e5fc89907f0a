//! The assets of every page: style, script, and the library that draws charts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Vega, Vega-Lite and Vega's interpreter in one file, made by `cargo xtask charts`.
pub(crate) static CHARTS: &str = include_str!("../assets/charts.js");
/// The licences of everything in that file.
pub(crate) static LICENCES: &str = include_str!("../assets/charts.LICENCES.txt");
/// The script of the page itself: it draws charts and filters rows.
pub(crate) static SCRIPT: &str = include_str!("../assets/page.js");
/// The style of the page.
pub(crate) static STYLE: &str = include_str!("../assets/page.css");

/// Returns the page's content security policy: it may run these scripts, use this style, and
/// nothing else.
pub(crate) fn policy() -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; script-src {} {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(CHARTS),
        hash(SCRIPT),
        hash(STYLE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_asset_ends_its_element() {
        for text in [CHARTS, SCRIPT, STYLE] {
            let text = text.to_lowercase();
            for end in ["</script", "</style", "<!--", "<script"] {
                assert!(!text.contains(end), "{end}");
            }
        }
    }
}

//! The platforms that model the threads' systems.

use pageout_experiment::spread::host_threads;
use pageout_machine::platform::Platform;
use pageout_model::Model;

/// The platform of S0's and S1's arm64 figures.
pub(super) const ARM: &str = "arm64-server-32-class";
/// The platform of the threads' x86 figures.
pub(super) const X86: &str = "x86-server-class";
/// The platform of S3's Xavier.
pub(super) const CARMEL: &str = "carmel-8-class";
/// The platform of S4's phone.
pub(super) const SNAPDRAGON: &str = "snapdragon-888-class";
/// The platform of S4's server.
pub(super) const KUNPENG: &str = "kunpeng-920-class";

/// Returns a shipped platform's model, which runs once at nominal prices and with `draws` draws.
pub(super) fn model(platform: &str, draws: u32) -> Model {
    let platform = Some(Platform::named(platform).expect("a shipped platform"));
    Model { platform, cores: None, draws, runs: 1, seed: 1, threads: host_threads() }
}

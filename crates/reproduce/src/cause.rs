//! Causes of missed ratios, found by runs that change one setting which the threads leave open.

use super::score::{CLUSTERS, Scored, holds, mean};
use pageout_record::render::rounded;

/// For each cluster with a ratio outside of its interval, names the setting whose run is nearest.
pub(super) fn of_misses(scored: &[Scored<'_, '_>]) -> String {
    (0..CLUSTERS.len()).filter_map(|cluster| of_cluster(cluster, scored)).collect()
}

fn of_cluster(cluster: usize, scored: &[Scored<'_, '_>]) -> Option<String> {
    let ratios: Vec<_> =
        scored.iter().filter(|one| one.is_ratio() && one.cluster == cluster).collect();
    if ratios.iter().all(|one| holds(one, scored)) {
        return None;
    }
    let (name, _) = CLUSTERS[cluster];
    let settings = ratios[0].otherwise;
    let assumed: Vec<_> = ratios.iter().map(|one| one.ours).collect();
    let runs = settings.iter().filter_map(|(setting, _)| {
        let ours: Option<Vec<_>> = ratios.iter().map(|one| with(setting, one)).collect();
        let ours = ours?;
        Some((*setting, error(&ours, &ratios), ours))
    });
    let (setting, nearest, ours) = runs.min_by(|(_, a, _), (_, b, _)| a.total_cmp(b))?;
    if nearest >= error(&assumed, &ratios) {
        return Some(format!("{name}: none of {} other settings is nearer\n", settings.len()));
    }
    let theirs: Vec<_> = ratios.iter().map(|one| one.theirs).collect();
    Some(format!(
        "{name}: of {} other settings {setting} is nearest: {} (theirs {})\n",
        settings.len(),
        list(&ours),
        list(&theirs)
    ))
}

fn with(setting: &str, of: &Scored<'_, '_>) -> Option<f64> {
    of.otherwise.iter().find(|(name, _)| *name == setting).map(|(_, ratio)| *ratio)
}

/// Returns the mean absolute logarithm of our figure over the thread's.
fn error(ours: &[f64], ratios: &[&Scored<'_, '_>]) -> f64 {
    let errors = ours.iter().zip(ratios).map(|(ours, one)| (ours / one.theirs).ln().abs());
    mean(&errors.collect::<Vec<_>>())
}

fn list(ratios: &[f64]) -> String {
    ratios.iter().map(|ratio| rounded(*ratio)).collect::<Vec<_>>().join(", ")
}

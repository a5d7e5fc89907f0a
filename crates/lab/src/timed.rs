//! Boots on this machine's own processor, by KVM: whether they can be had, their order, the CPUs
//! that they are pinned to, and the figures of all boots of a run.

use std::ffi::OsString;
use std::fs::File;
use std::io;

use pageout_experiment::this_machine::allowed_cpus;
use pageout_record::schema::{Metric, Record};
use pageout_record::stats::median;

use super::brought::Brought;
use super::build::Built;
use super::measure::Job;
use super::session::Work;
use super::target::Cpu;

/// The device of KVM.
const KVM: &str = "/dev/kvm";

/// The reason why nothing can be timed here.
#[derive(Debug, thiserror::Error)]
pub enum NotTimed {
    /// There is no KVM.
    #[error("--cpu host: cannot open {KVM} for reading and writing, by which QEMU runs on it")]
    Kvm(#[source] io::Error),
    /// The CPUs that this process may use are not known.
    #[error("--cpu host: cannot list the CPUs that may be used")]
    Allowed(#[source] io::Error),
    /// The machine has more CPUs than this process may use.
    #[error("--cpu host: a machine of {wanted} CPUs needs as many here, and {there} may be used")]
    Cpus {
        /// The number of CPUs of the machine.
        wanted: u8,
        /// The number of CPUs that this process may use.
        there: usize,
    },
}

/// Checks that machines of `cpus` CPUs can be timed.
///
/// # Errors
///
/// [`NotTimed`] if there is no KVM, or there are fewer CPUs.
pub(super) fn check(cpus: u8) -> Result<(), NotTimed> {
    File::options().read(true).write(true).open(KVM).map_err(NotTimed::Kvm)?;
    pinned(cpus).map(drop)
}

/// Returns the words before an emulator's command that pin a machine with so many CPUs to the last
/// ones that this process may use, since the first one has most interrupts.
///
/// # Errors
///
/// [`NotTimed::Cpus`] if there are fewer, and [`NotTimed::Allowed`] if they are not known.
pub(super) fn pinned(cpus: u8) -> Result<Vec<OsString>, NotTimed> {
    let last = last(&allowed_cpus().map_err(NotTimed::Allowed)?, cpus)?;
    Ok(["taskset", "-c", &last].map(Into::into).into())
}

fn last(there: &[usize], wanted: u8) -> Result<String, NotTimed> {
    let from = there.len().checked_sub(wanted.into());
    let from = from.ok_or(NotTimed::Cpus { wanted, there: there.len() })?;
    let names: Vec<String> = there[from..].iter().map(usize::to_string).collect();
    Ok(names.join(","))
}

/// Returns the work with `boots` of every machine on this machine's own processor, one at a time,
/// after the others: those of kernels that are compared are neighbours.
pub(super) fn in_turn(work: Work<Job>, boots: u16) -> Work<Job> {
    let is_timed = |(_, job): &(usize, Job)| job.cpu == Cpu::Host;
    let (mut timed, mut items): (Vec<_>, Vec<_>) = work.items.into_iter().partition(is_timed);
    let at_once = if timed.is_empty() { work.at_once } else { 1 };
    timed.sort_by_key(|(_, job)| job.place);
    items.extend(rounds(&timed, boots));
    Work { items, at_once }
}

/// Returns all machines `boots` times, each second time backwards, so that a drift of the host's
/// speed meets all alike.
fn rounds<T: Clone>(machines: &[T], boots: u16) -> Vec<T> {
    let mut all = Vec::new();
    for boot in 0..boots {
        match boot % 2 {
            0 => all.extend(machines.iter().cloned()),
            _ => all.extend(machines.iter().rev().cloned()),
        }
    }
    all
}

/// Makes one record of the records that a run gave in each of its boots. Samples of one boot share
/// its memory's layout, so a metric has one value for each boot: the median of the boot's samples.
pub(super) fn pooled(boots: &[Record]) -> Option<Record> {
    let mut pooled = boots.first()?.clone();
    let in_boots = |name: &str| {
        let of = boots.iter().filter_map(|record| record.metric(name));
        of.filter_map(|metric: &Metric| median(&metric.values)).collect()
    };
    for metric in &mut pooled.metrics {
        metric.values = in_boots(&metric.name);
    }
    Some(pooled)
}

/// Makes one result of all boots of a run on this machine's own processor; the other results stay.
pub(super) fn with_boots_pooled(
    booted: Vec<(Built, usize, Cpu, Brought)>,
) -> Vec<(Built, Brought)> {
    let mut runs: Vec<((Built, usize, Cpu), Vec<Brought>)> = Vec::new();
    for (built, place, cpu, brought) in booted {
        let run = (built, place, cpu);
        let same = runs.iter_mut().find(|(other, _)| cpu == Cpu::Host && *other == run);
        match same {
            Some((_, boots)) => boots.push(brought),
            None => runs.push((run, vec![brought])),
        }
    }
    runs.into_iter().map(|((built, ..), boots)| (built, one_of(boots))).collect()
}

/// Makes one result of those of a run's boots, at least one.
fn one_of(mut boots: Vec<Brought>) -> Brought {
    if boots.len() > 1 {
        let records = boots.iter().map(|boot| boot.records.len()).min().unwrap_or_default();
        let record = |at: usize| {
            let of_boots: Vec<Record> = boots.iter().map(|boot| boot.records[at].clone()).collect();
            pooled(&of_boots)
        };
        let records = (0..records).filter_map(record).collect();
        let warned = boots.iter_mut().find_map(|boot| boot.warned.take());
        boots.truncate(1);
        boots[0].records = records;
        boots[0].warned = warned;
    }
    boots.remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cpus_are_taken() {
        assert_eq!(last(&[0, 1, 4, 7], 2).unwrap(), "4,7");
        assert_eq!(last(&[3], 1).unwrap(), "3");
        let error = last(&[0, 1], 4).unwrap_err().to_string();
        assert_eq!(error, "--cpu host: a machine of 4 CPUs needs as many here, and 2 may be used");
    }

    #[test]
    fn machines_alternate() {
        assert_eq!(rounds(&['a', 'b'], 3), ['a', 'b', 'b', 'a', 'a', 'b']);
        assert_eq!(rounds(&['a'], 1), ['a']);
    }

    #[test]
    fn a_boot_gives_a_value() {
        let record = |values: [f64; 3]| -> Record {
            let json = r#"{"scenario": "x", "ground": "linux", "seed": 0, "metrics": [
                {"name": "reclaim", "unit": "ns/4K page", "basis": "measured", "better": "lower",
                 "values": VALUES}]}"#;
            let values = serde_json::to_string(&values).unwrap();
            serde_json::from_str(&json.replace("VALUES", &values)).unwrap()
        };
        let boots = [record([1.0, 3.0, 2.0]), record([7.0, 5.0, 90.0])];
        assert_eq!(pooled(&boots).unwrap().metrics[0].values, [2.0, 7.0]);
        assert!(pooled(&[]).is_none());
    }
}

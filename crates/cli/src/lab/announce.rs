//! The lines before a build: the kernels that are built, and the time and room of a first build.

use pageout_lab::{Arch, Config, FirstBuild, Kernel, Lab};

/// The maximum number of kernels of which each is named. If there are more, only the first and the
/// last are.
const NAMED: usize = 6;

/// Returns the lines. `is_asked_for` is true if the user named the configurations.
pub(super) fn lines(
    lab: &Lab<'_>,
    kernels: &[Kernel],
    configs: &[Config],
    is_asked_for: bool,
) -> Vec<String> {
    let first = lab.first_build(kernels, configs);
    let first = first.map(|build| first_build(&build));
    [architecture(configs, is_asked_for), named(kernels)].into_iter().chain(first).collect()
}

fn architecture(configs: &[Config], is_asked_for: bool) -> String {
    let names = configs.iter().map(|config| config.name()).collect::<Vec<_>>().join(", ");
    if is_asked_for {
        return format!("for {names}");
    }
    let with_swap = configs.iter().all(|config| config.has_swap());
    let others = Arch::ALL.into_iter().filter(|arch| configs.iter().all(|of| of.arch() != *arch));
    let others: Vec<&str> = others.map(|arch| Config::of(arch, with_swap).name()).collect();
    let others = others.join(" or ");
    let is_native = configs.iter().all(|config| config.arch().is_native());
    let why = if is_native { "as this machine is" } else { "since there is none for this machine" };
    format!("for {names}, {why}; others: --config {others}")
}

fn named(kernels: &[Kernel]) -> String {
    let name = |kernel: &Kernel| {
        let is_given = kernel.patches.last().is_some_and(|patch| patch.file.is_some());
        format!("{}{}", kernel.name, if is_given { " (--patch)" } else { "" })
    };
    match kernels {
        [one] => format!("kernel: {}", name(one)),
        [first, .., last] if kernels.len() > NAMED => {
            format!("kernels: {}, from {} to {}", kernels.len(), first.name, last.name)
        }
        _ => format!("kernels: {}", kernels.iter().map(name).collect::<Vec<_>>().join(", ")),
    }
}

fn first_build(build: &FirstBuild) -> String {
    let FirstBuild { configs, seconds, cpus, mib } = build;
    let minutes = |seconds: u64| seconds.div_ceil(60).max(1);
    let minutes = match (minutes(seconds.0), minutes(seconds.1)) {
        (least, most) if least == most => format!("about {least} min"),
        (least, most) => format!("{least} to {most} min"),
    };
    let names = configs.iter().map(|config| config.name()).collect::<Vec<_>>().join(" and ");
    let cpus = if *cpus == 1 { "1 CPU" } else { &format!("{cpus} CPUs") };
    let gib = *mib as f64 / 1024.0;
    format!("the first build of {names} takes {minutes} on {cpus}, and {gib:.1} GiB of disk")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_build_takes_a_span_until_this_machine_s_own_time_is_known() {
        let line = |seconds| {
            first_build(&FirstBuild { configs: vec![Config::X86_64], seconds, cpus: 2, mib: 2048 })
        };
        let begin = "the first build of x86-64 takes";
        assert_eq!(line((206, 588)), format!("{begin} 4 to 10 min on 2 CPUs, and 2.0 GiB of disk"));
        assert_eq!(
            line((588, 588)),
            format!("{begin} about 10 min on 2 CPUs, and 2.0 GiB of disk")
        );
    }

    #[test]
    fn the_other_architectures_are_of_the_same_kind() {
        let line = |config| architecture(&[config], false);
        assert!(line(Config::X86_64).ends_with("; others: --config arm64-4k or riscv64"));
        assert!(line(Config::Arm64_4K).ends_with("; others: --config x86-64 or riscv64"));
        assert!(line(Config::X86_64Swap).ends_with("--config arm64-4k-swap or riscv64-swap"));
        assert_eq!(architecture(&[Config::X86_64, Config::Arm64_4K], true), "for x86-64, arm64-4k");
    }
}

//! The emulator's command line. Where it emulates the processor, every run of one kernel with one
//! plan executes the same instructions, and one instruction is one nanosecond of the machine's
//! time.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::digest::Name;
use super::plugin::Plugin;
use super::target::{Arch, Config, Cpu};

/// Returns the MiB of memory besides the benchmark's file. They keep background reclaim asleep,
/// whose watermarks grow with the size of a huge page.
const fn other_memory_mib(config: Config) -> u64 {
    match config {
        Config::Arm64_64K => 4096,
        Config::Arm64_16K => 2048,
        _ => 1536,
    }
}

/// The arguments by which a machine counts instructions, the same in every run.
pub(super) const COUNTED: [&str; 8] = [
    "-icount",
    "shift=0,sleep=off",
    "-accel",
    "tcg,thread=single",
    "-rtc",
    "base=2020-01-01,clock=vm",
    "-seed",
    "1",
];

/// The arguments that all machines have.
pub(super) const COMMON: [&str; 11] = [
    "-display",
    "none",
    "-monitor",
    "none",
    "-serial",
    "stdio",
    "-parallel",
    "none",
    "-no-reboot",
    "-nodefaults",
    "-no-user-config",
];

/// Returns the bytes of memory of a machine whose benchmark maps a file of `file_size` bytes.
pub(super) fn memory(config: Config, file_size: u64) -> u64 {
    file_size + (other_memory_mib(config) << 20)
}

/// A machine to emulate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine<'a> {
    pub(super) config: Config,
    pub(super) cpu: Cpu,
    /// The number of CPUs. They run one at a time, in turns whose length is counted in
    /// instructions.
    pub(super) cpus: u8,
    /// Bytes of the benchmark's file.
    pub(super) file_size: u64,
    pub(super) image: &'a Path,
    pub(super) initrd: &'a Path,
    /// Boot parameters besides our own.
    pub(super) parameters: &'a [String],
    /// The words before its command: by them it is pinned to CPUs of the host, or given a clock.
    pub(super) before: &'a [OsString],
    /// The plugin that counts its instructions, if there is one.
    pub(super) plugin: Option<Plugin<'a>>,
}

impl Machine<'_> {
    /// Returns a name for all that decides the machine's results on an emulator. Its scratch files,
    /// whose names differ from run to run, are in `scratch`.
    pub(super) fn name(&self, emulator: &str, scratch: &Path) -> io::Result<Name> {
        let scratch = scratch.to_string_lossy();
        let command = self.command();
        let words = command.iter().map(|word| word.to_string_lossy().replace(&*scratch, ""));
        let counting = self.plugin.map(|plugin| format!("{:?}", plugin.counting));
        let name = Name::default().file(self.image)?.file(self.initrd)?;
        Ok(name.part(emulator).part(counting.unwrap_or_default()).parts(words))
    }

    /// Returns the emulator and its arguments.
    pub(super) fn command(&self) -> Vec<OsString> {
        let arch = self.config.arch();
        let is_timed = self.cpu == Cpu::Host;
        let (machine, console) = match arch {
            // KVM has the interrupt controller of the host.
            Arch::Arm64 if is_timed => ("virt,gic-version=host", "ttyAMA0"),
            Arch::Arm64 => ("virt,gic-version=3,dtb-randomness=off", "ttyAMA0"),
            Arch::X86_64 if is_timed => ("q35", "ttyS0"),
            // Without ACPI the kernel does not learn of clocks. Calibrating the local APIC's timer
            // would take half a minute here. The TSC counts one a nanosecond, and there is no other
            // clock to check it against. On one CPU the kernel would patch out its lock prefixes,
            // by which the plugin knows atomics.
            Arch::X86_64 => {
                ("q35", "ttyS0 nolapic_timer tsc=reliable tsc_early_khz=1000000 noreplace-smp")
            }
            // Tables of four levels, as x86-64 and arm64 have them here.
            Arch::Riscv64 => ("virt", "ttyS0 no5lvl"),
        };
        let cpu = match (arch, self.cpu) {
            // The architecture's own algorithm for pointer authentication would cost the emulator
            // much time.
            (Arch::Arm64, Cpu::Max) => "max,pauth-impdef=on",
            // QEMU knows a `max` for riscv64 from version 8.2 on.
            (Arch::Riscv64, Cpu::Max) => "rv64,svinval=on,svnapot=on,svpbmt=on",
            (_, cpu) => cpu.name(),
        };
        let memory = format!("{}M", memory(self.config, self.file_size) >> 20);
        let mut command = self.before.to_vec();
        command.push(arch.qemu().into());
        command.extend(["-M", machine, "-cpu", cpu, "-m", &memory].map(Into::into));
        // Each CPU is a package: of a package's cores, the table that the kernel reads has only the
        // first.
        let smp = format!("{0},sockets={0}", self.cpus);
        command.extend(["-smp".into(), smp.into()]);
        match is_timed {
            true => command.extend(["-accel", "kvm"].map(Into::into)),
            false => command.extend(COUNTED.map(Into::into)),
        }
        command.extend(COMMON.map(Into::into));
        // Messages up to warnings are printed: `quiet` would hide those of WARN() and lockdep.
        let mut parameters = format!("console={console} loglevel=5 panic=-1");
        for parameter in self.parameters {
            parameters += &format!(" {parameter}");
        }
        let files = [("-kernel", self.image.into()), ("-initrd", self.initrd.into())];
        for (option, value) in files.into_iter().chain([("-append", parameters.into())]) {
            command.extend([option.into(), value]);
        }
        if let Some(plugin) = &self.plugin {
            command.extend(["-plugin".into(), plugin.argument()]);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(config: Config, cpu: Cpu, file_size: u64, parameters: &[String]) -> String {
        let (image, initrd) = (Path::new("/k/Image"), Path::new("/r/initrd"));
        let taskset = ["taskset".into()];
        let before: &[OsString] = if cpu == Cpu::Host { &taskset } else { &[] };
        let plugin = None;
        let machine =
            Machine { config, cpu, cpus: 2, file_size, image, initrd, parameters, before, plugin };
        let words: Vec<_> =
            machine.command().into_iter().map(|word| word.into_string().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn the_arm64_line() {
        let parameters = ["young_flush=none".to_owned()];
        let expected = "qemu-system-aarch64 -M virt,gic-version=3,dtb-randomness=off \
            -cpu max,pauth-impdef=on -m 2560M -smp 2,sockets=2 -icount shift=0,sleep=off \
            -accel tcg,thread=single -rtc base=2020-01-01,clock=vm -seed 1 -display none \
            -monitor none -serial stdio -parallel none -no-reboot -nodefaults -no-user-config \
            -kernel /k/Image -initrd /r/initrd \
            -append console=ttyAMA0 loglevel=5 panic=-1 young_flush=none";
        assert_eq!(line(Config::Arm64_4K, Cpu::Max, 1 << 30, &parameters), expected);
    }

    #[test]
    fn the_x86_64_line() {
        let line = line(Config::X86_64, Cpu::Max, 1 << 30, &[]);
        assert!(line.starts_with("qemu-system-x86_64 -M q35 -cpu max -m 2560M "), "{line}");
        let end = "-append console=ttyS0 nolapic_timer tsc=reliable tsc_early_khz=1000000 \
            noreplace-smp loglevel=5 panic=-1";
        assert!(line.ends_with(end), "{line}");
    }

    #[test]
    fn the_riscv64_line() {
        let line = line(Config::Riscv64, Cpu::Max, 1 << 30, &[]);
        let start =
            "qemu-system-riscv64 -M virt -cpu rv64,svinval=on,svnapot=on,svpbmt=on -m 2560M ";
        assert!(line.starts_with(start), "{line}");
        assert!(line.ends_with("-append console=ttyS0 no5lvl loglevel=5 panic=-1"), "{line}");
    }

    #[test]
    fn the_line_of_this_machines_own_cpus() {
        let line = |config| line(config, Cpu::Host, 1 << 30, &[]);
        let expected = "taskset qemu-system-x86_64 -M q35 -cpu host -m 2560M \
            -smp 2,sockets=2 -accel kvm -display none -monitor none -serial stdio -parallel none \
            -no-reboot -nodefaults -no-user-config -kernel /k/Image -initrd /r/initrd \
            -append console=ttyS0 loglevel=5 panic=-1";
        assert_eq!(line(Config::X86_64), expected);
        let arm64 = line(Config::Arm64_4K);
        assert!(arm64.contains("-M virt,gic-version=host -cpu host "), "{arm64}");
    }

    #[test]
    fn a_larger_file_gets_more_memory() {
        let line = line(Config::Arm64_64K, Cpu::NeoverseN1, 10 << 30, &[]);
        assert!(line.contains("-cpu neoverse-n1 -m 14336M "), "{line}");
    }
}

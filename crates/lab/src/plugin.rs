//! The objects that the emulator loads: the clock that it sees, and plugins, of which one counts
//! under a function, by call path, and one in the regions of a workload.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::assets;
use super::cache::{Cache, CacheError};
use super::child::{self, version};
use super::digest::Name;
use super::initrd::InitrdError;
use super::progress::Progress;

/// The compiler of this machine, and its options.
const COMPILER: &str = "gcc";
const OPTIONS: [&str; 4] = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden"];
/// The programs that are compiled; the other files are their headers.
const PROGRAMS: [&str; 3] = ["clock", "profile", "regions"];

/// The work that is counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Counting {
    /// All that runs under a function of the kernel.
    Under(String),
    /// All that runs between the marks of a workload's regions.
    Regions,
}

/// A plugin with its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plugin<'a> {
    /// The folder of the compiled objects.
    pub(super) folder: &'a Path,
    pub(super) counting: &'a Counting,
    /// The file of symbols: lines of an address and the name of the function there. Counts of
    /// regions do not need it.
    pub(super) symbols: &'a Path,
    /// The file that the plugin writes.
    pub(super) out: &'a Path,
}

impl<'a> Plugin<'a> {
    /// Returns the value of the emulator's option `-plugin`.
    pub(super) fn argument(&self) -> OsString {
        let [_, profile, regions] = PROGRAMS.map(|name| object(self.folder, name));
        let bytes = |path: &'a Path| path.as_os_str().as_encoded_bytes();
        let (object, mut values) = match self.counting {
            Counting::Under(root) => {
                (profile, vec![(",symbols=", bytes(self.symbols)), (",root=", root.as_bytes())])
            }
            Counting::Regions => (regions, Vec::new()),
        };
        values.push((",out=", bytes(self.out)));
        let mut argument = escape(object.as_os_str().as_encoded_bytes());
        for (name, value) in values {
            argument.push(name);
            argument.push(escape(value));
        }
        argument
    }
}

fn object(folder: &Path, program: &str) -> PathBuf {
    folder.join(format!("{program}.so"))
}

/// Returns the words before an emulator's command by which it sees the folder's clock, not the
/// host's: what its TLBs keep does not follow from the host's speed.
pub(super) fn with_clock(folder: &Path) -> [OsString; 2] {
    let mut preload = OsString::from("LD_PRELOAD=");
    preload.push(object(folder, PROGRAMS[0]));
    ["env".into(), preload]
}

/// Doubles the commas of a value: single ones separate the emulator's options.
fn escape(value: &[u8]) -> OsString {
    let mut escaped = Vec::new();
    for byte in value {
        escaped.extend(std::iter::repeat_n(*byte, 1 + usize::from(*byte == b',')));
    }
    std::os::unix::ffi::OsStringExt::from_vec(escaped)
}

/// Returns the text symbols of a kernel's System.map, sorted by address.
pub(super) fn text_symbols(system_map: &str) -> String {
    let symbols = system_map.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
        ["t", "T", "w", "W"].contains(&kind).then_some((address, name))
    });
    let mut symbols: Vec<_> = symbols.collect();
    // Addresses have leading zeros, so that they sort as text.
    symbols.sort();
    symbols.iter().map(|(address, name)| format!("{address} {name}\n")).collect()
}

/// Returns the folder of the objects, after compiling them unless they are in the cache.
pub(super) fn compiled(cache: &Cache, progress: &dyn Progress) -> Result<PathBuf, InitrdError> {
    let files = assets::PLUGIN.iter().flat_map(|(name, text)| [name, text]);
    let key = Name::default().part(version(COMPILER)?).parts(OPTIONS).parts(files);
    cache.made("plugins", &key.finish(), progress, compile)
}

fn compile(to: &Path) -> Result<(), InitrdError> {
    for (name, text) in assets::PLUGIN {
        let path = to.join(name);
        fs::write(&path, text).map_err(CacheError::at(&path))?;
    }
    for program in PROGRAMS {
        let [object, source] = ["so", "c"].map(|ending| format!("{program}.{ending}"));
        let mut compiler = Command::new(COMPILER);
        compiler.current_dir(to).args(OPTIONS).args(["-o", &object, &source]);
        if let Some(said) = child::failure(&mut compiler)? {
            return Err(InitrdError::Compile { compiler: COMPILER.to_owned(), program, said });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_paths_are_doubled() {
        let [folder, symbols, out] = ["/a,b", "/s", "/o"].map(Path::new);
        let argument = |counting| Plugin { folder, counting: &counting, symbols, out }.argument();
        let expected = "/a,,b/profile.so,symbols=/s,root=shrink_lruvec,out=/o";
        assert_eq!(argument(Counting::Under("shrink_lruvec".to_owned())), expected);
        assert_eq!(argument(Counting::Regions), "/a,,b/regions.so,out=/o");
    }

    /// Prints of each instruction, given in hexadecimal, what it does.
    const DECODE: &str = r#"
        #include "decode.h"
        #include <stdio.h>
        #include <stdlib.h>

        int main(int argc, char **argv)
        {
            static const char *const ends[] = { "", "call", "return", "exception return" };
            static const char *const kinds[] = { "cas", "atomic", "tlbi", "dsb", "dsb st", "" };
            static const char *const transfers[] = { "", "save", "load" };

            for (int i = 2; i < argc; i++) {
                unsigned long word = strtoul(argv[i], NULL, 16);
                struct insn insn = decode(isa_of(argv[1]), (void *)&word, strlen(argv[i]) / 2);

                printf("%s%s%s\n", ends[insn.end], kinds[insn.kind], transfers[insn.transfer]);
            }
            return 0;
        }
    "#;

    /// Instructions as binutils assembles them, the first byte last, and what they do.
    const INSTRUCTIONS: [(&str, &[(&str, &str)]); 3] = [
        (
            "aarch64",
            &[
                ("94000000", "call"),             // bl .
                ("d63f0020", "call"),             // blr x1
                ("d65f03c0", "return"),           // ret
                ("d61f0020", ""),                 // br x1
                ("d69f03e0", "exception return"), // eret
                ("c8e0fc41", "cas"),              // casal x0, x1, [x2]
                ("f8200041", "atomic"),           // ldadd x0, x1, [x2]
                ("c800fc41", "atomic"),           // stlxr w0, x1, [x2]
                ("d508831f", "tlbi"),             // tlbi vmalle1is
                ("d5033b9f", "dsb"),              // dsb ish
                ("d5033a9f", "dsb st"),           // dsb ishst
                ("d5033bbf", ""),                 // dmb ish
                ("a9005013", "save"),             // stp x19, x20, [x0]
                ("a9405013", "load"),             // ldp x19, x20, [x0]
            ],
        ),
        (
            "x86_64",
            &[
                ("00000000e8", "call"),   // call
                ("d0ff", "call"),         // call *%rax
                ("e0ff", ""),             // jmp *%rax
                ("c3", "return"),         // ret
                ("17b10f48f0", "cas"),    // lock cmpxchg %rdx, (%rdi)
                ("07c10f48f0", "atomic"), // lock xadd %rax, (%rdi)
                ("0787", "atomic"),       // xchg %eax, (%rdi)
                ("c187", ""),             // xchg %eax, %ecx
                ("38010f", "tlbi"),       // invlpg (%rax)
                ("d8220f", "tlbi"),       // mov %rax, %cr3
                ("e0220f", ""),           // mov %rax, %cr4
            ],
        ),
        (
            "riscv64",
            &[
                ("000000ef", "call"),             // jal
                ("000500e7", "call"),             // jalr a0
                ("9502", "call"),                 // c.jalr a0
                ("9002", ""),                     // c.ebreak
                ("8502", ""),                     // c.jr a0
                ("8082", "return"),               // c.jr ra
                ("00008067", "return"),           // jr ra
                ("00050067", ""),                 // jr a0
                ("0000006f", ""),                 // j
                ("952e", ""),                     // c.add a0, a1
                ("10200073", "exception return"), // sret
                ("1005a52f", ""),                 // lr.w a0, (a1)
                ("1ac5a52f", "atomic"),           // sc.w.rl a0, a2, (a1)
                ("06c5b52f", "atomic"),           // amoadd.d.aqrl a0, a2, (a1)
                ("28c5b52f", "cas"),              // amocas.d a0, a2, (a1)
                ("12b50073", "tlbi"),             // sfence.vma a0, a1
                ("16b50073", "tlbi"),             // sinval.vma a0, a1
                ("18000073", "dsb st"),           // sfence.w.inval
                ("18100073", "dsb"),              // sfence.inval.ir
                ("0ff0000f", "dsb"),              // fence
                ("0230000f", "dsb"),              // fence r, rw
                ("0110000f", "dsb st"),           // fence w, w
                ("0100000f", ""),                 // pause
                ("0000100f", ""),                 // fence.i
                ("18051073", ""),                 // csrw satp, a0
                ("0016b823", "save"),             // sd ra, 16(a3)
                ("01073083", "load"),             // ld ra, 16(a4)
                ("00a6b823", ""),                 // sd a0, 16(a3)
            ],
        ),
    ];

    #[test]
    fn instructions_of_each_architecture_are_known() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in assets::PLUGIN.iter().chain(&[("decode.c", DECODE)]) {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let mut compiler = Command::new(COMPILER);
        compiler.current_dir(&directory).args(["-Wall", "-Werror", "-o", "decode", "decode.c"]);
        assert!(compiler.status().unwrap().success());
        for (arch, instructions) in INSTRUCTIONS {
            let mut decode = Command::new(directory.path().join("decode"));
            decode.arg(arch).args(instructions.iter().map(|(word, _)| word));
            let said = String::from_utf8(decode.output().unwrap().stdout).unwrap();
            for ((word, expected), found) in instructions.iter().zip(said.lines()) {
                assert_eq!(*expected, found, "{arch} {word}");
            }
            assert_eq!(said.lines().count(), instructions.len(), "{arch}");
        }
    }

    /// Prints the milliseconds between ten questions for the time.
    const TIME: &str = r#"
        #include <stdio.h>
        #include <sys/time.h>

        int main(void)
        {
            struct timeval first, now;

            gettimeofday(&first, NULL);
            for (int i = 0; i < 10; i++)
                gettimeofday(&now, NULL);
            printf("%ld", (now.tv_sec - first.tv_sec) * 1000 + (now.tv_usec - first.tv_usec) / 1000);
            return 0;
        }
    "#;

    #[test]
    fn time_passes_by_questions_whatever_the_host_does() {
        let directory = tempfile::tempdir().unwrap();
        compile(directory.path()).unwrap();
        fs::write(directory.path().join("time.c"), TIME).unwrap();
        let mut compiler = Command::new(COMPILER);
        compiler.current_dir(&directory).args(["-o", "time", "time.c"]);
        assert!(compiler.status().unwrap().success());
        let [env, clock] = with_clock(directory.path());
        let time = Command::new(env).arg(clock).arg(directory.path().join("time")).output();
        assert_eq!(String::from_utf8(time.unwrap().stdout).unwrap(), "10");
    }

    #[test]
    fn symbols_of_code_are_sorted_by_address() {
        let map = "ffff000000000200 T b\nffff000000000300 D data\nffff000000000100 t a\n";
        assert_eq!(text_symbols(map), "ffff000000000100 a\nffff000000000200 b\n");
    }
}

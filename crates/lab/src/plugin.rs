//! The emulator's plugins: one counts under a function, by call path; one in the regions of a
//! workload.

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
const PROGRAMS: [&str; 2] = ["profile", "regions"];

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
    /// The folder of the compiled plugins.
    pub(super) folder: &'a Path,
    pub(super) counting: &'a Counting,
    /// The file of symbols: lines of an address and the name of the function there. Counts of
    /// regions do not need it.
    pub(super) symbols: &'a Path,
    /// The file that it writes.
    pub(super) out: &'a Path,
}

impl<'a> Plugin<'a> {
    /// Returns the value of the emulator's option `-plugin`.
    pub(super) fn argument(&self) -> OsString {
        let [profile, regions] = PROGRAMS.map(|name| self.folder.join(format!("{name}.so")));
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

/// Returns the folder of the plugins, after compiling them unless they are in the cache.
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

    #[test]
    fn symbols_of_code_are_sorted_by_address() {
        let map = "ffff000000000200 T b\nffff000000000300 D data\nffff000000000100 t a\n";
        assert_eq!(text_symbols(map), "ffff000000000100 a\nffff000000000200 b\n");
    }
}

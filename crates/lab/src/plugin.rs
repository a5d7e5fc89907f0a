//! The emulator's plugin, which counts instructions by call path.

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
/// The file that is compiled; the other files are its headers.
const SOURCE: &str = "profile.c";

/// The plugin with its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plugin<'a> {
    pub(super) object: &'a Path,
    /// The file of symbols: lines of an address and the name of the function there.
    pub(super) symbols: &'a Path,
    /// The function under which it counts.
    pub(super) root: &'a str,
    /// The file that it writes.
    pub(super) out: &'a Path,
}

impl Plugin<'_> {
    /// Returns the value of the emulator's option `-plugin`.
    pub(super) fn argument(&self) -> OsString {
        let mut argument = escape(self.object.as_os_str().as_encoded_bytes());
        for (name, value) in [
            (",symbols=", self.symbols.as_os_str().as_encoded_bytes()),
            (",root=", self.root.as_bytes()),
            (",out=", self.out.as_os_str().as_encoded_bytes()),
        ] {
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

/// Returns the plugin's path, after compiling it unless it is in the cache.
pub(super) fn compiled(cache: &Cache, progress: &dyn Progress) -> Result<PathBuf, InitrdError> {
    let files = assets::PLUGIN.iter().flat_map(|(name, text)| [name, text]);
    let key = Name::default().part(version(COMPILER)?).parts(OPTIONS).parts(files);
    let place = cache.made("plugins", &key.finish(), progress, compile)?;
    Ok(place.join("profile.so"))
}

fn compile(to: &Path) -> Result<(), InitrdError> {
    for (name, text) in assets::PLUGIN {
        let path = to.join(name);
        fs::write(&path, text).map_err(CacheError::at(&path))?;
    }
    let mut compiler = Command::new(COMPILER);
    compiler.current_dir(to).args(OPTIONS).args(["-o", "profile.so", SOURCE]);
    let error =
        |said| InitrdError::Compile { compiler: COMPILER.to_owned(), program: SOURCE, said };
    child::failure(&mut compiler)?.map_or(Ok(()), |said| Err(error(said)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_paths_are_doubled() {
        let [object, symbols, out] = ["/a,b/profile.so", "/s", "/o"].map(Path::new);
        let plugin = Plugin { object, symbols, root: "shrink_lruvec", out };
        let expected = "/a,,b/profile.so,symbols=/s,root=shrink_lruvec,out=/o";
        assert_eq!(plugin.argument(), expected);
    }

    #[test]
    fn symbols_of_code_are_sorted_by_address() {
        let map = "ffff000000000200 T b\nffff000000000300 D data\nffff000000000100 t a\n";
        assert_eq!(text_symbols(map), "ffff000000000100 a\nffff000000000200 b\n");
    }
}

//! The information in `/proc` about the process that runs the program under a recorder.

use std::fs;
use std::path::{Path, PathBuf};

use super::PAGE_SHIFT;
use super::event::{PageRange, Permissions};

/// A line of `/proc/PID/maps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) pages: PageRange,
    pub(crate) permissions: Permissions,
    pub(crate) shared: bool,
    /// The offset in the file, in pages.
    pub(crate) offset: u64,
    /// The path of the file; empty for anonymous memory.
    pub(crate) path: String,
}

/// A source of facts about the address space that the log lacks.
pub(crate) trait Process {
    /// Returns every region now; none if the process is gone.
    fn regions(&mut self) -> Vec<Region>;

    /// Returns the file of Valgrind's tool, which is mapped but no part of the program.
    fn tool(&mut self) -> String;

    /// Returns one name for a file that the program may call by several.
    fn resolve(&mut self, path: &str) -> String;
}

/// A process of this system.
#[derive(Debug)]
pub(crate) struct ProcFs {
    root: PathBuf,
}

impl ProcFs {
    pub(crate) fn new(pid: u32) -> Self {
        Self { root: Path::new("/proc").join(pid.to_string()) }
    }
}

impl Process for ProcFs {
    fn regions(&mut self) -> Vec<Region> {
        let maps = fs::read(self.root.join("maps")).unwrap_or_default();
        regions(&String::from_utf8_lossy(&maps))
    }

    fn tool(&mut self) -> String {
        let link = fs::read_link(self.root.join("exe")).unwrap_or_default();
        link.to_string_lossy().into_owned()
    }

    fn resolve(&mut self, path: &str) -> String {
        // An absolute path replaces the working directory.
        let whole = self.root.join("cwd").join(path);
        let canonical = fs::canonicalize(whole).unwrap_or_else(|_| path.into());
        canonical.to_string_lossy().into_owned()
    }
}

/// Returns the regions in the text of `/proc/PID/maps`.
pub(crate) fn regions(maps: &str) -> Vec<Region> {
    maps.lines().filter_map(region).collect()
}

fn region(line: &str) -> Option<Region> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?.as_bytes();
    let offset = hexadecimal(fields.next()?)? >> PAGE_SHIFT;
    let path = fields.nth(2).unwrap_or_default().trim_start();
    let pages = PageRange::new(hexadecimal(start)? >> PAGE_SHIFT, hexadecimal(end)? >> PAGE_SHIFT)?;
    let allowed = |index: usize, flag| permissions.get(index) == Some(&flag);
    let shared = allowed(3, b's');
    let permissions = Permissions {
        readable: allowed(0, b'r'),
        writable: allowed(1, b'w'),
        executable: allowed(2, b'x'),
    };
    Some(Region { pages, permissions, shared, offset, path: path.to_owned() })
}

fn hexadecimal(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_read() {
        let line = "04001000-04027000 r-xp 00001000 fe:00 325835                             \
                    /usr/lib/ld with space.so";
        let found = region(line).expect("a region");
        assert_eq!((found.pages.start(), found.pages.end(), found.offset), (0x4001, 0x4027, 1));
        assert!(found.permissions.executable && !found.permissions.writable && !found.shared);
        assert_eq!(found.path, "/usr/lib/ld with space.so");
        let anonymous = region("1ffefff000-1fff001000 rw-s 00000000 00:00 0 ").expect("a region");
        assert_eq!((anonymous.path.as_str(), anonymous.shared), ("", true));
        assert_eq!(region("04001000-04001000 r-xp 0 0 0"), None);
        assert_eq!(region("nonsense"), None);
    }
}

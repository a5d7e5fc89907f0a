//! The launcher: a script that Valgrind runs when a process replaces itself (`execve`), with its
//! own arguments before the program's.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::child::LOG_FD;

/// Valgrind's options except for the log file. `--trace-children` applies to replacement too.
pub(super) const OPTIONS: [&str; 9] = [
    "--tool=lackey",
    "--command-line-only=yes",
    "--basic-counts=no",
    "--trace-mem=yes",
    "--trace-syscalls=yes",
    "--trace-children=yes",
    "--child-silent-after-fork=yes",
    "--vgdb=no",
    "--run-libc-freeres=no",
];

/// The number of Valgrind's arguments before the program: the options and the log file.
const BEFORE_PROGRAM: usize = OPTIONS.len() + 1;

/// The script for a child that is not recorded: it runs the program as without Valgrind.
const UNRECORDED: &str = "\
unset VALGRIND_LIB
case $1 in
*/*) pageout_program=$1 ;;
*) pageout_program=./$1 ;;
esac
shift
exec \"$pageout_program\" \"$@\"
";

/// The beginning of the script of [`script`]. It stores the number of the first process that runs
/// it. If the program closed the log, the script opens it by name.
const FIRST: &str = "\
[ -e \"$pageout_directory/pid\" ] || echo $$ >\"$pageout_directory/pid\"
read -r pageout_first <\"$pageout_directory/pid\"
if [ $$ = \"$pageout_first\" ]; then
	export VALGRIND_LAUNCHER=\"$pageout_directory/launcher\"
	[ -e /proc/self/fd/LOG_FD ] && exec \"$pageout_tool\" \"$@\"
	shift BEFORE_PROGRAM
	exec \"$pageout_tool\" OPTIONS --log-file=\"$pageout_logs/log\" \"$@\"
fi
shift BEFORE_PROGRAM
";

/// The script for a child that is recorded. If it has a log already, it replaces itself. A log that
/// cannot be made is announced nevertheless, so that the recorder reports the error.
const RECORDED: &str = "\
if [ ! -p \"$pageout_directory/log.$$\" ]; then
	command -p mkfifo -m 600 \"$pageout_directory/log.$$\"
	echo $$ >\"$pageout_directory/announce\" || exit 126
fi
export VALGRIND_LAUNCHER=\"$pageout_directory/launcher\"
exec \"$pageout_tool\" OPTIONS --log-file=\"$pageout_logs/log.$$\" \"$@\"
";

/// Returns the script for `launcher` in this directory. Its variables have names that no program's
/// environment is likely to have: the script would change variables of the same name.
pub(super) fn script(directory: &Path, tool: &Path, children: bool) -> Vec<u8> {
    let [directory, tool] = [directory, tool].map(|path| path.as_os_str().as_bytes());
    // Valgrind replaces a per cent sign and the characters after it.
    let logs = replaced(directory, b'%', b"%%");
    let set: [(&str, &[u8]); 3] = [("directory", directory), ("logs", &logs), ("tool", tool)];
    let set = set
        .map(|(name, word)| [format!("pageout_{name}=").as_bytes(), &quoted(word), b"\n"].concat());
    let others = if children { RECORDED } else { UNRECORDED };
    let rest = [FIRST, others]
        .concat()
        .replace("LOG_FD", &LOG_FD.to_string())
        .replace("BEFORE_PROGRAM", &BEFORE_PROGRAM.to_string())
        .replace("OPTIONS", &OPTIONS.join(" "));
    [b"#!/bin/sh\n", &set.concat()[..], rest.as_bytes()].concat()
}

/// Returns the program and its arguments in a command of the script or the tool.
pub(super) fn program_in<'a, 'b>(words: &'a [&'b [u8]]) -> &'a [&'b [u8]] {
    let last = OPTIONS[OPTIONS.len() - 1].as_bytes();
    // The log file follows the last option.
    let program = words.iter().position(|word| *word == last).map(|place| place + 2);
    program.and_then(|program| words.get(program..)).unwrap_or_default()
}

/// Quotes any bytes as a word of the shell.
fn quoted(word: &[u8]) -> Vec<u8> {
    [b"'", &replaced(word, b'\'', b"'\\''")[..], b"'"].concat()
}

/// Returns `bytes` with `instead` in place of each `special` byte.
fn replaced(bytes: &[u8], special: u8, instead: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == special).collect();
    parts.join(instead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_behind_the_options() {
        let run = |before: &[&str]| {
            let words = [before, &OPTIONS, &["--log-fd=200", "ls", "-l"]].concat();
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            program_in(&words).concat()
        };
        assert_eq!(run(&["/bin/sh", "launcher"]), b"ls-l");
        assert_eq!(run(&["/lackey"]), b"ls-l");
    }

    #[test]
    fn odd_names_of_directories_are_kept() {
        let script = script(Path::new("/a b/50%'s"), Path::new("/lackey"), true);
        let script = String::from_utf8(script).expect("UTF-8");
        let set = script.lines().skip(1).take(3).collect::<Vec<_>>();
        let expected = [
            r"pageout_directory='/a b/50%'\''s'",
            r"pageout_logs='/a b/50%%'\''s'",
            "pageout_tool='/lackey'",
        ];
        assert_eq!(set, expected);
        for left in ["LOG_FD", "BEFORE_PROGRAM", "OPTIONS"] {
            assert!(!script.contains(left), "{script}");
        }
    }
}

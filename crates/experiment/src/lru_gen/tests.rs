use super::*;

fn refusal(text: &str) -> String {
    Session::parse("x.session", text).unwrap_err().to_string()
}

#[test]
fn every_shipped_session_is_read_and_none_is_left_out() {
    for (name, text) in SHIPPED {
        let session = Session::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
        assert!(session.steps.len() > 8, "{name}");
        assert_eq!(shipped(name), Some(text));
    }
    let files = std::fs::read_dir("src/lru_gen/sessions").unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".session")?.to_owned())).collect();
    names.sort();
    let mut known = SHIPPED.map(|(name, _)| name);
    known.sort_unstable();
    assert_eq!(names, known);
    assert_eq!(shipped("age"), None);
}

#[test]
fn lines_become_steps() {
    let text = "# why\n\nmemcg a\nprocess p  a\nfile f 64 order=2\nfill a f\nmap p m f 16..48\n\
        anon p h 32\nprocess q a\nanon q i 8 order=3\ntouch m 0..4\ntouch h write\n\
        touch i 1..2 write\nread a f\nsleep 10\nwrite  + $a 0 3,- $a\\n x \nshow a\nshow a full\n";
    let session = Session::parse("x", text).unwrap();
    let (lines, steps): (Vec<_>, Vec<_>) = session.steps.iter().cloned().unzip();
    let Step::Write(command) = &steps[13] else { panic!("{:?}", steps[13]) };
    assert_eq!(lines[1], "process p a");
    assert_eq!(lines[13], "write + $a 0 3,- $a\\n x");
    assert_eq!(command.text(|memcg| format!("{}", memcg + 7)), "+ 7 0 3,- 7\n x");
    let touch = |region, pages, write| Step::Touch { region, pages, write };
    assert_eq!(steps[8..11], [touch(0, 0..4, false), touch(1, 0..32, true), touch(2, 1..2, true)]);
    assert_eq!(steps[11], Step::Read { memcg: 0, file: 0, pages: 0..64 });
    assert_eq!(steps[15], Step::Show { memcg: 0, full: true });
    assert_eq!(session.regions[0].backing, Backing::File { file: 0, first: 16 });
    assert_eq!(session.regions[0].pages, 32);
    let addresses = [0, 1, 2].map(|region| session.address(region));
    assert_eq!(addresses, [64 << 30, 65 << 30, 64 << 30]);
}

#[test]
fn what_is_kept_is_each_step_and_its_answer() {
    let session = Session::parse("x", "memcg a\nwrite + $a 0 3\nsleep 5\nshow a\n").unwrap();
    let answers = ["= EINVAL\n".to_owned(), "memcg     2 /a\n".to_owned()];
    let kept = "> memcg a\n> write + $a 0 3\n= EINVAL\n> sleep 5\n> show a\nmemcg     2 /a\n";
    assert_eq!(session.transcript(&answers), kept);
}

#[test]
fn a_bad_line_is_named_with_what_is_accepted() {
    const MADE: &str = "memcg a\nprocess p a\nfile f 64 order=4\nfill a f\nmap p m f\nfile g 1\n";
    let line = |line: &str| refusal(&format!("{MADE}{line}\nshow a\n"));
    let cases = [
        (
            "mem b",
            "unknown directive `mem`: did you mean `memcg`? Accepted: memcg, process, file, fill, \
            read, map, anon, touch, sleep, show and 1 more (all: `pageout lab lru-gen --help`)",
        ),
        ("memcg b c", "found `memcg b c`, expected `memcg NAME`"),
        ("memcg", "found `memcg`, expected `memcg NAME`"),
        ("memcg 1a", "name `1a`: expected a letter and up to 30 more letters, digits, `-` or `_`"),
        ("file p 4", "name `p` is taken by a line above: expected another"),
        ("process r b", "unknown cgroup `b`; accepted: a"),
        ("map q n f", "unknown process `q`; accepted: p"),
        ("fill a h", "unknown file `h`; accepted: f or g"),
        ("touch n", "unknown region `n`; accepted: m"),
        ("file h 0", "size `0`: expected 1 to 16384 pages"),
        ("file h 24 order=4", "size `24`: expected a multiple of 16, whole folios of order 4"),
        (
            "anon p h 64 order=1",
            "order `order=1`: expected order=N, with 0 or a number from 2 to 8",
        ),
        ("anon p h 64 5", "order `5`: expected order=N, with 0 or a number from 2 to 8"),
        ("touch m 0..65", "range `0..65`: expected FROM..TO, pages from 0 to 64"),
        ("touch m 4..4", "range `4..4`: expected FROM..TO, pages from 0 to 64"),
        ("touch m read", "range `read`: expected FROM..TO, pages from 0 to 64"),
        (
            "touch m 0..4 4..5",
            "found `touch m 0..4 4..5`, expected `touch REGION [FROM..TO] \
            [write]`",
        ),
        (
            "map p n g",
            "file `g` is not filled: expected one `fill` of it, before it is mapped or \
            read",
        ),
        (
            "fill a f",
            "file `f` is filled already: expected one `fill` of it, before it is mapped \
            or read",
        ),
        ("sleep 0", "sleep `0`: expected 1 to 60000 milliseconds"),
        ("write", "found `write`, expected `write COMMAND`"),
        ("write + $b 0 3", "unknown cgroup `b`; accepted: a"),
        ("write + \\t", "`\\` in a command: expected `\\n`, a new line"),
        ("show a fully", "found `show a fully`, expected `show MEMCG [full]`"),
    ];
    for (bad, problem) in cases {
        assert_eq!(line(bad), format!("x.session:7: {problem}"));
    }
    let long = format!("write {}", "x".repeat(201));
    assert_eq!(line(&long), "x.session:7: bytes of a command: expected at most 200");
    let none = "x.session:1: unknown cgroup `a`; accepted: one that a line above makes";
    assert_eq!(refusal("process p a"), none);
    let silent = "the session ends without `write` or `show`: expected one at least";
    assert_eq!(refusal("memcg a\n"), format!("x.session:1: {silent}"));
    assert_eq!(refusal(""), format!("x.session:1: {silent}"));
    let many: String = (0..65).map(|n| format!("memcg a{n}\n")).collect();
    assert_eq!(refusal(&many), "x.session:65: names in a session: expected at most 64");
}

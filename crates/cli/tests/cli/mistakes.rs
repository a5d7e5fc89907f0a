//! Mistakes on the command line: each gets one short message that says what, where, and what is
//! accepted, and nothing is written.

use crate::common::{command, entries, stderr};
use std::fs;
use std::path::Path;
use tempfile::tempdir;

/// Lines and columns that a message may have.
const LINES: usize = 5;
const COLUMNS: usize = 80;

/// A command line, in which `DIR` is a directory with the files of [`FILES`], and what its message
/// has.
type Mistake = (&'static str, &'static [&'static str]);

/// Files of the directory, by name.
const FILES: [(&str, &str); 13] = [
    ("notes.json", "Results of Tuesday: all good.\n"),
    ("page.json", "<!DOCTYPE html>\n<html></html>\n"),
    ("table.json", "run,scenario,ground,seed,metric\n"),
    ("other.json", "{\"name\": \"fio\", \"jobs\": []}\n"),
    ("spec.toml", "scenario = \"trace\"\n[grid]\noder = [0, 4]\n"),
    ("keys.toml", "scenario = \"trace\"\ngird = 4\n"),
    ("bare.toml", "[grid]\norder = [0, 4]\n"),
    ("many.toml", "scenario = \"age-file\"\nruns = \"many\"\n[grid]\norder = [0]\n"),
    ("bare.json", "{\"schema\": \"pageout-record\", \"version\": 2}\n"),
    ("old.json", "{\"schema\": \"pageout-record\", \"version\": 1}\n"),
    ("empty.log", ""),
    ("plain.c", "int main(void) { return 0; }\n"),
    ("turns.schedule", "turns\n"),
];

const SCENARIOS: &[Mistake] = &[
    (
        "run reclaim-fil",
        &["unknown scenario `reclaim-fil`", "`reclaim-file`?", "pageout scenarios"],
    ),
    ("run RECLAIM_FILE order=4", &["did you mean `reclaim-file`?"]),
    ("compare reclaim", &["did you mean `reclaim-file`?", "reclaim-shmem"]),
    ("compare tmpfs", &["did you mean `reclaim-shmem`?"]),
    ("scenarios madvfree", &["did you mean `madv-free`?"]),
    ("scenarios frob", &["unknown scenario `frob`; accepted: reclaim-file, age-file"]),
    ("run order=4", &["`order=4` without a scenario", "such as reclaim-file"]),
    ("run pageout-shared", &["pageout-shared runs on ground model", "add --ground model"]),
    ("compare age-file --ground model", &["age-file runs on ground host", "reclaim-file"]),
    ("run age-file --ground moon", &["--ground", "unknown ground `moon`", "host or model"]),
    ("run age-file --ground hots", &["did you mean `host`?"]),
    ("run age-file --ground linux", &["pageout lab --help", "host or model"]),
    ("run age-file --ground guest", &["`guest`", "host or model"]),
    ("compare --ground model", &["the main table runs on ground host", "reclaim-file"]),
    ("compare age-pipe --ground model", &["unknown scenario `age-pipe`", "`age-file`?"]),
    ("compare order=4 --ground model", &["`order=4` without a scenario"]),
    ("compare pageout-shared", &["pageout-shared runs on ground model", "add --ground model"]),
    ("run aging-rounds --ground model", &["aging-rounds runs on ground host", "--ground host"]),
    ("run age-file --ground=", &["--ground", "host or model"]),
    ("compare sqlite-orders", &["`sqlite-orders` is a trace", "--trace sqlite-orders"]),
    ("run trace sqlite-orders", &["`sqlite-orders` is not a field", "FIELD=VALUE"]),
    (
        "run aging-rounds size=4MiB --runs 1",
        &["a limit of 3MiB is less than 64 folios, 4MiB", "expected a larger size or limit"],
    ),
    ("run lab", &["unknown scenario `lab`; accepted: reclaim-file"]),
];

const FIELDS: &[Mistake] = &[
    ("run age-file oder=4", &["unknown field `oder`", "age-file", "`order`?", "format, order"]),
    ("run reclaim-file yuong=50%", &["did you mean `young`?", "pageout scenarios reclaim-file"]),
    ("run age-file colour=red", &["unknown field `colour` of scenario age-file; accepted: format"]),
    (
        "run reclaim-file process=running",
        &["`process`", "on ground model only: add --ground model"],
    ),
    ("run age-file lru=mglru", &["`lru`", "it is of reclaim-file", "accepted: format, order"]),
    ("run trace lru=mglru", &["`lru`", "together with limit", "add limit=50%"]),
    ("run trace size=4MiB", &["`size`", "it is of reclaim-file", "accepted: format, order"]),
    ("run pageout-shared order=4 --ground model", &["`order`", "reclaim-file", "accepted: format"]),
    ("run trace limit=50% every=2", &["limit and every do not go together", "one of them"]),
    ("run age-file order", &["`order` is not a field", "FIELD=VALUE"]),
    ("run age-file order 4", &["`order` is not a field", "order=4"]),
    ("run age-file order=4 order=9", &["`order` is given twice", "order=A,B"]),
    ("run age-file order=4,4", &["`4,4` has a value twice", "every value once"]),
    ("run age-file order=9,pmd format=x86-64", &["one order twice in x86-64"]),
    ("run age-file --order=4", &["--order is a field of scenarios", "write order=4,"]),
    ("run age-file --order 4", &["write order=4, without dashes"]),
    ("compare age-file --young 50%", &["write young=50%, without dashes"]),
    ("lab run stock reclaim-file --cpus 2", &["write cpus=2, without dashes"]),
    ("run age-file runs=3", &["`runs=3` is an option, not a field: write --runs 3"]),
    ("compare age-file ground=model", &["write --ground model"]),
    ("run age-file --format arm64-4k", &["`arm64-4k` of --format", "table", "format=arm64-4k"]),
    ("run age-file =4", &["`=4` is not a field", "FIELD=VALUE"]),
    ("run reclaim-file secondary=guest", &["`secondary`", "add --ground model"]),
    ("run pageout-shared order=4 --ground model", &["`order`", "accepted: format"]),
    ("compare trace lru=mglru", &["`lru`", "add limit=50%"]),
];

const VALUES: &[Mistake] = &[
    ("run age-file format=arm64", &["field `format`", "`arm64-4k`?", "arm64-16k", "riscv64"]),
    ("run age-file format=x86_64", &["did you mean `x86-64`?"]),
    ("run age-file format=aarch64", &["did you mean `arm64-4k`?"]),
    ("run age-file order=10", &["field `order`: `10` is more than 9", "0 to 9, or pmd"]),
    ("run age-file order=-1", &["`-1` is negative", "0 to 9, or pmd"]),
    ("run age-file order=4.0", &["`4.0` is not a whole number", "0 to 9, or pmd"]),
    ("run age-file order=", &["field `order`: nothing is given", "0 to 9, or pmd"]),
    ("run age-file order=huge", &["unknown value `huge`", "0 to 9, or pmd"]),
    ("run age-file order=thp", &["did you mean `pmd`?"]),
    ("run age-file size=1.5GiB", &["`1.5GiB` is not a whole number of GiB: write 1536MiB"]),
    ("run age-file size=100TiB", &["`100TiB` is more than 1TiB", "multiples of", "up to 1TiB"]),
    ("run age-file size=10GB", &["unknown unit `GB`", "B, KiB, MiB, GiB or TiB"]),
    ("run age-file size=big", &["`big` is not a size", "such as 64MiB"]),
    ("run age-file size=-1", &["`-1` is negative", "such as 64MiB"]),
    ("run age-file size=100KiB order=4", &["not a multiple of the folio size, 64KiB"]),
    ("run age-file size=0 order=4", &["`0B` is less than the folio size, 64KiB"]),
    ("run age-file young=150%", &["field `young`: `150%` is more than 100%", "0% to 100%"]),
    ("run age-file young=half", &["`half` is not a number", "0% to 100%"]),
    ("run age-file processes=1,000", &["field `processes`", "`000` is less than 1"]),
    ("run age-file processes=0", &["`0` is less than 1", "1 to 1024"]),
    ("run age-file map=leaf order=pmd", &["did you mean `pmd-leaf`?", "ptes or pmd-leaf"]),
    ("run reclaim-file reclaim=0", &["`0` is less than 1%", "1% to 100%"]),
    ("run reclaim-file lru=lru", &["field `lru`: unknown value `lru`", "classic or mglru"]),
    ("run reclaim-file lru=mgrlu", &["did you mean `mglru`?"]),
    (
        "run reclaim-file lru=classic,mglru",
        &["several lists", "--base lru=classic --new lru=mglru"],
    ),
    ("run reclaim-file list=random", &["field `list`", "`random`", "file or shuffled"]),
    ("run trace limit=0%", &["field `limit`: `0%` is less than 1%", "5%..100%"]),
    ("run trace limit=50", &["less than a page, 4KiB", "written 50%"]),
    ("run trace limit=100%..5%", &["`100%..5%` is not a rising range", "5%..100%"]),
    ("run trace every=0", &["`0` is less than 1", "from 1 on"]),
    ("run age-file order=256", &["`256` is more than 9", "0 to 9, or pmd"]),
    ("run age-file order=4,,9", &["field `order`: nothing is given", "0 to 9, or pmd"]),
    ("run trace order=4,0,4", &["`4,0,4` has a value twice", "every value once"]),
    ("run trace format=alpha", &["unknown value `alpha`", "arm64-64k or riscv64"]),
    ("run age-file map=pud-leaf", &["unknown value `pud-leaf`", "ptes or pmd-leaf"]),
    ("run age-file map=pmd-leaf order=4", &["map=pmd-leaf needs order=pmd"]),
    ("run age-file processes=1000000", &["`1000000` is more than 1024", "1 to 1024"]),
    ("run age-file young=50%%", &["field `young`: `50%%`", "0% to 100%"]),
    ("run age-file young=5,5%", &["`5,5%` has a value twice", "every value once"]),
    ("run age-file size=", &["field `size`: nothing is given", "such as 64MiB"]),
    ("run age-file size=4QiB", &["unknown unit `QiB`"]),
    ("run age-file size=99999999999999999999", &["more than 2^64 bytes"]),
    ("run age-file size=3 order=0", &["`3B` is less than the folio size, 4KiB"]),
    ("run reclaim-file size=2TiB", &["`2TiB` is more than 1TiB", "up to 1TiB"]),
    ("run reclaim-file mapped=half order=0", &["mapped=half needs folios of two pages or more"]),
    ("run reclaim-file map=pmd-leaf order=4", &["map=pmd-leaf needs order=pmd, align=aligned"]),
    (
        "run age-file order=0 size=8GiB processes=1024",
        &["1024 processes mapping 8GiB need 16384 MiB", "at most 4096 MiB"],
    ),
    (
        "run age-file order=0,1,2,3,4,5,6,7,8,9 size=1TiB processes=2",
        &["age-file", "MiB are available", "a smaller size"],
    ),
    (
        "compare reclaim-file size=1TiB order=0 anon=99% --ground model --draws 100",
        &["reclaim-file", "MiB are available", "a smaller size"],
    ),
    ("run trace limit=101%", &["`101%` is more than 100%", "5%..100%"]),
    ("run trace limit=x%", &["`x%` is not a number", "5%..100%"]),
    ("run trace limit=4095", &["`4095` is less than a page, 4KiB"]),
    ("run trace limit=1.5MiB", &["`1.5MiB`", "write 1536KiB"]),
    ("run trace limit=4KiB format=x86-64", &["limit of 1 pages", "cannot be reclaimed"]),
    ("run trace every=4294967296", &["`4294967296` is more than 4294967295"]),
    (
        "run reclaim-file format=arm64-4k --platform x86-server-class --ground model",
        &["`arm64-4k` is not of platform x86-server-class"],
    ),
    ("run reclaim-file format=riscv64 --ground model", &["`riscv64`", "--platform FILE"]),
    (
        "run reclaim-file process=running size=1MiB order=0 --cores 256 --ground model",
        &["`1MiB` is too little", "256 cores", "more than 1MiB"],
    ),
    ("run reclaim-file process=dancing --ground model", &["`dancing`", "asleep or running"]),
    (
        "run reclaim-file process=running --cores 1 --ground model",
        &["`running` needs two cores or more", "--cores"],
    ),
    ("run reclaim-file secondary=twice --ground model", &["`twice`", "none or guest"]),
    (
        "run reclaim-file order=pmd map=pmd-leaf secondary=guest --ground model",
        &["`guest` does not go with map=pmd-leaf", "none"],
    ),
    ("run pageout-shared processes=2 --ground model", &["out=memory.reclaim"]),
];

const NUMBERS: &[Mistake] = &[
    ("compare age-file --runs many", &["--runs: `many` is not a number", "from 1 to 1000"]),
    ("compare age-file --runs 0", &["--runs: `0` is less than 1", "from 1 to 1000"]),
    ("compare age-file --runs 5000", &["--runs: `5000` is more than 1000", "from 1 to 1000"]),
    ("compare age-file --runs 2.5", &["--runs: `2.5` is not a whole number"]),
    ("compare age-file --runs -1", &["--runs: `-1` is negative"]),
    ("compare age-file --runs", &["no value after --runs", "`--runs <N>`"]),
    ("compare age-file --runs 3 --runs 4", &["--runs is given twice"]),
    ("run age-file --seed -1", &["--seed: `-1` is negative", "0 to 2^64 - 1"]),
    ("run age-file --seed 0x10", &["--seed: `0x10` has more than digits"]),
    ("run reclaim-file --ground model --cores 1000", &["--cores: `1000` is more than 256"]),
    ("run reclaim-file --ground model --draws -1", &["--draws", "`-1`", "0 to 10000"]),
    (
        "compare reclaim-file --ground model --min-gain 100%",
        &["--min-gain", "`100%`", "below 100%"],
    ),
    ("compare reclaim-file --min-gain 2%", &["--min-gain is for a modelled machine"]),
    ("run reclaim-file --cores 4", &["--cores is for a modelled machine: add --ground model"]),
    ("trace import --epoch 0 --output DIR/x.pgt -", &["--epoch: `0` is less than 1"]),
    (
        "trace import --filter 3x4,32 --output DIR/x.pgt -",
        &["--filter", "`3x4,32`", "power of two"],
    ),
    ("reproduce --draws 5", &["--draws: `5` is less than 20"]),
    ("reproduce --thread S9", &["--thread: unknown thread `S9`", "S0"]),
    ("observe --runs 0", &["--runs: `0` is less than 1"]),
    ("check --bound -1", &["--bound: `-1` is negative"]),
    ("sweep flush --cores 0", &["--cores: `0` is less than 1", "to 256"]),
    ("sweep flush --size 1.5MiB", &["--size: `1.5MiB`", "write 1536KiB"]),
    ("sweep run --dir DIR --jobs 0", &["--jobs: `0` is less than 1"]),
    ("sweep run --dir DIR --shard 5/4", &["--shard", "`5/4`", "K/N", "3/64"]),
    ("lab build --jobs 0", &["--jobs: `0` is less than 1"]),
    ("lab run stock age-file --time-limit 0", &["--time-limit: `0` is less than 1"]),
    ("run age-file --seed 18446744073709551616", &["is more than 2^64 - 1"]),
    ("run reclaim-file --ground model --cores 0", &["--cores: `0` is less than 1", "1 to 256"]),
    ("compare reclaim-file --draws 9", &["--draws is for a modelled machine: add --ground model"]),
    ("compare age-file --fail-on -3%", &["`-3%` is no value of --fail-on", "<CONDITION>"]),
    ("trace import --pid self --output DIR/x.pgt -", &["--pid: `self` is not a number"]),
    ("sweep flush --cores 1,1", &["--cores: `1` is given twice", "expected every value once"]),
    ("sweep pageout --processes 8,2,8", &["--processes: `8` is given twice"]),
    ("sweep flush --cores 1..8", &["--cores: `1..8`", "from 1 to 256"]),
    ("reproduce --draws many", &["--draws: `many` is not a number", "from 20"]),
    ("check lost-write --bound many", &["--bound: `many` is not a number"]),
    ("calibrate --cores 99999", &["`99999` is more than 256"]),
    ("lab schedule --workload lost-write --cpus 9", &["--cpus: `9` is more than 8", "2 to 8"]),
    ("lab schedule --workload lost-write --tries -1", &["--tries: `-1` is negative"]),
    ("lab schedule --workload lost-write --hang 0", &["--hang: `0` is less than 1"]),
    ("lab schedule --workload lost-write --seeds -3..5", &["`-3..5` is no value of --seeds"]),
    ("lab series a..b --schedules many --tree DIR", &["--schedules: `many` is not a number"]),
];

const VARIANTS: &[Mistake] = &[
    ("compare age-file --new young=fast", &["`fast` of variant axis `young`", "or line"]),
    ("compare age-file --new young=per-entri", &["did you mean `per-entry`?"]),
    ("compare age-file --new yuong=line", &["unknown variant axis `yuong`", "`young`?", "or lru"]),
    ("compare age-file --new young", &["`young`", "AXIS=CHOICE", "young=line"]),
    ("compare age-file --new young=line,young=line", &["`young` is given twice"]),
    ("run age-file --variant lru=clock", &["`clock` of variant axis `lru`", "classic or mglru"]),
    ("compare age-file --base young=line --new young=line", &["compared with itself", "--base"]),
    ("compare reclaim-file lru=mglru --new lru=classic", &["`classic`", "accepted: mglru"]),
    (
        "compare age-file --fail-on speed>3%",
        &["unknown metric `speed`", "pageout scenarios age-file"],
    ),
    ("compare reclaim-file --fail-on reclaim>3%", &["did you mean `whole reclaim`?"]),
    ("compare age-file --fail-on reclaim", &["--fail-on", "`reclaim`", "METRIC>PERCENT%"]),
    ("run age-file --variant flush=maybe", &["`maybe` of variant axis `flush`", "or none"]),
    ("compare age-file --base unmap=line", &["`line` of variant axis `unmap`", "or batched"]),
    ("compare age-file --new shootdown=late", &["`late` of variant axis `shootdown`"]),
    ("run reclaim-file lru=mglru --variant lru=classic", &["`lru`", "accepted: mglru"]),
    (
        "compare age-file --new young=line --new flush=architecture,young=line",
        &["young=line is compared", "compared with itself", "--base"],
    ),
    ("compare age-file --base young=line --new young=line,unmap=per-entry", &["with itself"]),
    ("run aging-rounds --variant lru=classic", &["found `classic`, accepted: mglru"]),
];

const COMMANDS: &[Mistake] = &[
    ("comapre age-file", &["unknown command `comapre`", "did you mean `compare`?"]),
    ("frobnicate", &["unknown command `frobnicate`", "pageout --help"]),
    ("--frobnicate", &["unknown option `--frobnicate`", "pageout --help"]),
    ("run age-file --runz 3", &["unknown option `--runz` of pageout run", "`--runs`?"]),
    ("run age-file -n 3", &["`-n`", "pageout run --help"]),
    ("bench yuong", &["unknown value `yuong`", "did you mean `young`?", "reclaim"]),
    ("bench young --order=4", &["unknown option `--order`", "pageout bench --help"]),
    ("bench young 3", &["`3` is one word too many", "pageout bench --help"]),
    ("trace inf", &["unknown command `inf` of pageout trace", "`info`?", "curve"]),
    ("lab buidl", &["unknown command `buidl` of pageout lab", "`build`?"]),
    ("completions csh", &["unknown value `csh`", "bash", "zsh"]),
    ("compare age-file --json --csv", &["--json", "--csv", "one of them"]),
    ("report DIR/other.json", &["pageout report needs --output <FILE>"]),
    ("sweep status", &["pageout sweep status needs --dir <DIR>"]),
    ("trace record --output DIR/x.pgt", &["pageout trace record needs <CMD>"]),
    ("compare age-file --format tabel", &["`tabel` of --format", "`table`?", "list or picture"]),
    ("compare --label before", &["--label", "`before`", "NAME=FILE"]),
    ("trace record -- ls", &["pageout trace record needs --output <FILE>"]),
    ("compare age-file --csv --json", &["--json", "--csv", "one of them"]),
    ("run reclaim-file --ground model --sizes", &["--sizes is for this CPU", "--ground host"]),
    ("run reclaim-file --ground model --folded DIR/x", &["one run, found 6", "one value for each"]),
    ("run reclaim-file --folded DIR/x", &["--folded is for a modelled machine"]),
    ("run trace --sizes", &["--sizes: expected a scenario of files"]),
    ("check lost-write --exhibit folded-edges", &["--exhibit", "one of them"]),
    ("check --list --bound 1", &["--list", "one of them"]),
    ("run age-file -o DIR/x", &["unknown option `-o` of pageout run; accepted", "--help"]),
    ("report DIR/other.json --html DIR/x.html", &["`--html` of pageout report; accepted"]),
    ("observe --ground model", &["`--ground` of pageout observe; accepted: --runs"]),
    ("help frobnicate", &["unknown command `frobnicate` of pageout;", "`pageout --help`"]),
    ("compare --fail-on 3%", &["--fail-on", "not the main table", "expected a scenario"]),
    ("bench young --predict", &["--predict", "expected one of the two, not bench young"]),
    (
        "run reclaim-file lru=mglru size=4MiB order=4 format=x86-64 --runs 1 --lru-gen -1",
        &["lru_gen refuses `-1`", "expected `+ MEMCG NODE MAX_SEQ`"],
    ),
    ("lab lru-gen evict --json", &["--json", "--read FILE: give that, or leave out"]),
    ("lab profile stock --root=", &["no value after --root", "<SYMBOL>"]),
    ("lab schedule --workload lost-write --turns-in=", &["no value after --turns-in"]),
    ("compare age-file --base=", &["no value after --base", "<VARIANT>"]),
    (
        "reproduce S1",
        &["`S1` is one word too many for pageout reproduce; accepted: options only", "--thread"],
    ),
    ("sweep plan reclaim-file order=4", &["`order=4` is one word too many", "sweep plan --help"]),
    ("observe reclaim-file", &["one word too many", "accepted: options only, --runs"]),
    ("check --runs 3", &["unknown option `--runs` of pageout check; accepted: --exhibit"]),
];

const PATHS: &[Mistake] = &[
    ("run age-filee --output DIR/none/x.txt", &["none/x.txt", "there is no directory", "/none"]),
    ("run age-file --output DIR", &["DIR is not a regular file"]),
    ("compare nonsense --html DIR/none/x.html", &["none/x.html", "there is no directory"]),
    ("run trace --trace sqlite", &["unknown trace `sqlite`", "`sqlite-orders`?", "or a file"]),
    ("run nonsense --trace DIR/none.pgt", &["cannot read trace file", "none.pgt", "No such file"]),
    (
        "compare age-file --trace sqlite-orders",
        &["--trace is for scenario trace, not for age-file"],
    ),
    ("run reclaim-file --ground model --platform kunpeng", &["`kunpeng-920-class`?", "or a file"]),
    ("run nonsense --ground model --platform DIR/p.toml", &["platform file", "No such file"]),
    ("calibrate --like carmel", &["did you mean `carmel-8-class`?"]),
    ("sweep flush --platform snapdragon", &["did you mean `snapdragon-888-class`?"]),
    ("compare DIR/none.json", &["cannot read", "none.json", "No such file"]),
    ("compare DIR/notes.json", &["notes.json", "not a record file"]),
    ("compare DIR/page.json", &["page.json", "not a record file"]),
    ("compare DIR/table.json", &["table.json", "not a record file"]),
    ("report DIR/other.json --output DIR/x.html", &["other.json", "not a record file"]),
    ("trace info sqlite", &["did you mean `sqlite-orders`?", "or a file"]),
    ("trace info DIR/notes.json", &["notes.json", "trace"]),
    ("trace import DIR/none.log --output DIR/x.pgt", &["none.log", "No such file"]),
    ("trace import --from perf DIR/notes.json --output DIR/x.pgt", &["`perf-script`?"]),
    ("trace curve --policy lur", &["--policy: unknown value `lur`", "`lru`?", "sieve"]),
    ("trace curve --policy belady", &["did you mean `min`?"]),
    ("trace curve --limit 5%,64MiB", &["--limit", "mixes sizes and percentages"]),
    ("sweep plan DIR/none.toml", &["cannot read", "none.toml", "No such file"]),
    ("sweep plan DIR/spec.toml", &["spec.toml", "`grid.oder`", "`order`?", "platform"]),
    ("sweep plan DIR/keys.toml", &["keys.toml: line 2: unknown key `gird`", "`grid`?"]),
    ("sweep run --dir DIR/none", &["none", "sweep plan"]),
    ("compare DIR/old.json", &["old.json: version is 1; 2 is accepted"]),
    ("compare DIR/bare.json", &["bare.json: missing field `sets`", "accepted: what a command"]),
    ("compare DIR/keys.toml", &["keys.toml: not a record file", "accepted: what a command"]),
    ("compare DIR", &["cannot read DIR: Is a directory"]),
    ("report DIR/old.json --output DIR/x.html", &["old.json: version is 1; 2 is accepted"]),
    (
        "run age-file --html DIR/x.html --output DIR/x.html",
        &["DIR/x.html", "another output", "expected another path"],
    ),
    ("trace import DIR --output DIR/x.pgt", &["cannot open DIR: is a directory"]),
    ("trace import DIR/empty.log --output DIR/x.pgt", &["the input is empty: expected what a"]),
    ("trace import DIR/notes.json --output DIR/x.pgt", &["give its name with --from", "lackey"]),
    (
        "trace record --output DIR/x.pgt -- DIR/none",
        &["DIR/none: No such file or directory; expected a program"],
    ),
    (
        "trace record --output DIR/x.pgt -- no-such-program",
        &["no-such-program: No such file or directory; expected a program", "PATH"],
    ),
    (
        "trace record --output DIR/x.pgt --recorder qemu -- DIR/keys.toml",
        &["DIR/keys.toml: permission denied; expected a program"],
    ),
    ("sweep plan DIR/bare.toml", &["bare.toml: line 1: no `scenario`: expected scenario = "]),
    ("sweep plan DIR/many.toml", &["many.toml: line 2: found a text, expected a whole number"]),
    ("sweep run --dir DIR/notes.json", &["notes.json is not a sweep's directory", "sweep plan"]),
    ("man DIR/notes.json", &["DIR/notes.json: not a directory; expected a directory"]),
];

const CHECKS: &[Mistake] = &[
    ("check lost-writ", &["unknown property or scenario `lost-writ`", "`lost-write`?", "--list"]),
    (
        "check reclaim-drity",
        &["did you mean `reclaim-dirty`?", "more (all: `pageout check --list`)"],
    ),
    ("check free-before-flush", &["is an injected bug", "--exhibit free-before-flush"]),
    ("check --exhibit lost-write", &["did you mean `write-out-before-flush`?"]),
    ("check --exhibit ghost", &["unknown exhibit `ghost`", "pageout check --list"]),
    ("check --format arm64", &["did you mean `arm64-small-", "x86-small"]),
    ("check --replay 3:1", &["pageout check needs --format"]),
    ("check --exhibit folded-edges --format x86-small", &["format", "arm64-small-4"]),
    ("check --format x86-small --replay 3:1", &["one scenario", "found"]),
    ("check young --format x86-small --replay 3:1", &["one scenario", "found 0"]),
    ("check reclaim-dirty --format x86-small --replay 3,1", &["`3,1`", "STEP:OPTION"]),
    ("check --format vax", &["unknown format `vax`", "arm64-small-4"]),
    ("check --format x86-small --exhibit ghost", &["unknown exhibit `ghost`", "--list"]),
];

const LAB: &[Mistake] = &[
    ("lab build stok", &["unknown kernel `stok`", "`stock`?", "no-batch", "--patch"]),
    ("lab build s1", &["did you mean `6.12:s1`?", "q1 to q"]),
    ("lab build 7.4:stock", &["unknown release `7.4`", "7.3 or 6.12"]),
    ("lab build --kernel 6.1", &["`6.1` of --kernel", "7.3 or 6.12"]),
    ("lab build --config arm64", &["`arm64` of --config", "`arm64-4k`?"]),
    ("lab build stock stock", &["kernel `stock` is given twice"]),
    ("lab build patched", &["needs a patch", "--patch FILE"]),
    ("lab build --tree DIR/none", &["--tree", "none: No such file"]),
    ("lab build --tree DIR/notes.json", &["--tree", "notes.json", "ot a directory"]),
    ("lab build nonsense --patch DIR/none.patch", &["--patch", "none.patch: No such file"]),
    ("lab compare --patch v1=DIR/none.patch", &["--patch", "none.patch: No such file"]),
    ("lab compare stock", &["stock alone", "--patch FILE"]),
    ("lab run stock reclaim-fil", &["`reclaim-fil`", "did you mean `reclaim-file`?"]),
    ("lab run stock order=4", &["`order=4` without a scenario", "reclaim-file"]),
    ("lab run stock", &["no scenario", "reclaim-file"]),
    ("lab run stock reclaim-file oder=4", &["unknown field `oder`", "`order`?"]),
    ("lab run stock age-file lru=mglru", &["`lru`", "reclaim-file", "accepted: order"]),
    ("lab run stock reclaim-file lru=2q", &["unknown value `2q`", "mglru-no-walks"]),
    ("lab run stock reclaim-file order=1", &["`order`", "`1`", "2 to 13"]),
    ("lab run stock reclaim-file size=1MiB", &["`size`", "`1MiB`", "2MiB to 1TiB"]),
    ("lab run stock helper-calls --runs 3", &["--runs 3", "takes no samples", "calls or seed"]),
    ("lab series --mbox DIR/none.mbox", &["--mbox", "none.mbox: No such file"]),
    ("lab series v7.3..HEAD", &["v7.3..HEAD", "--tree DIR"]),
    ("lab series --tree DIR/none a..b", &["--tree", "none: No such file"]),
    ("lab lru-gen evit", &["unknown session `evit`", "`evict`?", "or a file"]),
    ("lab build --config-option LRU_GEN", &["--config-option", "`LRU_GEN`", "NAME=VALUE"]),
    ("lab build --cache DIR/notes.json", &["--cache", "notes.json: not a directory", "expected"]),
    ("lab build --cache /proc/none", &["cannot use the cache", "--cache gives another"]),
    ("lab source --mirror DIR/none", &["--mirror", "none: No such file", "expected an address"]),
    ("lab source --mirror ftp://x", &["--mirror: `ftp://x`", "expected an address", "https://"]),
    ("lab compare --patch DIR/notes.json", &["there is no patch in it", "expected a diff"]),
    ("lab series --mbox DIR/empty.log", &["there is no patch in it", "expected a diff"]),
    ("lab series a..b --tree DIR", &["DIR: it is not a git repository; expected"]),
    (
        "lab series a..b reclaim-fil --tree DIR",
        &["unknown scenario `reclaim-fil`", "did you mean `reclaim-file`?"],
    ),
    ("lab series a..b c..d --tree DIR", &["`c..d` is a second range: expected one"]),
    ("lab series HEAD --tree DIR", &["`HEAD`", "a range BASE..HEAD"]),
    ("lab run stock --workload swap-anon", &["swap-anon is a scenario", "leave out --workload"]),
    ("lab run stock --workload DIR/plain.c", &["plain.c: no manifest: expected a comment"]),
    ("lab script swap-ano", &["unknown scenario `swap-ano`: did you mean `swap-anon`?"]),
    ("lab script --workload DIR/none.c", &["cannot read DIR/none.c: No such file"]),
    ("lab lru-gen --read DIR/notes.json", &["notes.json:1:", "expected `memcg ID PATH`"]),
    ("lab profile stok", &["unknown kernel or scenario `stok`: did you mean `stock`?"]),
    ("lab compare --patch stock=DIR/notes.json", &["`stock` is a kernel", "another name"]),
];

/// Each has a configuration, so that it is the same on a machine of another architecture.
const SCHEDULES: &[Mistake] = &[
    (
        "lab schedule --config x86-64-swap --workload DIR/none.c",
        &["cannot read DIR/none.c: No such file"],
    ),
    (
        "lab schedule --config x86-64-swap --workload DIR",
        &["cannot read DIR/workload.toml: No such file"],
    ),
    (
        "lab schedule --config x86-64-swap --workload DIR/notes.json",
        &["unknown workload `DIR/notes.json`; accepted: lost-write", "or a C file"],
    ),
    (
        "lab schedule --config x86-64-swap --workload lost-write --save DIR/notes.json",
        &["--save DIR/notes.json: not a directory; expected a directory"],
    ),
    (
        "lab series a..b --schedules 5 --config x86-64-swap --save DIR/notes.json --tree DIR",
        &["--save DIR/notes.json: not a directory; expected a directory"],
    ),
    (
        "lab schedule --config x86-64-swap --workload lost-write --replay DIR/turns.schedule",
        &["turns.schedule: it is not a schedule", "expected a file that --save wrote"],
    ),
    (
        "lab schedule --config x86-64-swap --workload lost-write --replay DIR",
        &["turns.schedule: it is not a schedule"],
    ),
    (
        "lab schedule --config x86-64-swap --workload lazy-free stock order=4",
        &["`order=4` is not a kernel: write", "--workload 'lazy-free order=4'"],
    ),
    (
        "lab schedule --config x86-64-swap --workload lost-write stok",
        &["unknown kernel `stok`: did you mean `stock`?"],
    ),
    (
        "lab schedule --workload lost-write --strategy random",
        &["--strategy: found `random`: expected few=N"],
    ),
    ("lab schedule stock lost-write", &["pageout lab schedule needs --workload"]),
    ("lab schedule --workload lost-write --seed 4", &["`--seed`", "did you mean `--seeds`?"]),
];

/// Every word with which a message may say what to write instead.
const SAYS: [&str; 12] = [
    "accepted",
    "Accepted",
    "xpected",
    "did you mean",
    "write ",
    "give",
    "add ",
    "say ",
    "needs ",
    "need less",
    "cannot read",
    "cannot open",
];

#[track_caller]
fn check((words, parts): &Mistake, directory: &Path) -> Result<(), String> {
    let place = directory.display().to_string();
    let mut command = command(&words.replace("DIR", &place));
    let output = command.env("COLUMNS", COLUMNS.to_string()).output().expect("the binary runs");
    let message = stderr(&output).replace(&place, "DIR");
    let flat = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let widest = message.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let mut wrong = Vec::new();
    let mut hold = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned());
        }
    };
    hold(output.status.code() == Some(2), &format!("status {:?}", output.status.code()));
    hold(output.stdout.is_empty(), "something on standard output");
    hold(message.starts_with("error: "), "it does not begin with `error: `");
    hold(message.matches("error: ").count() == 1, "not one error");
    hold(message.lines().count() <= LINES, "too many lines");
    hold(widest <= COLUMNS, &format!("{widest} columns"));
    hold(SAYS.iter().any(|says| flat.contains(says)), "it does not say what is accepted");
    for part in *parts {
        hold(flat.contains(part), &format!("no `{part}`"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{words}: {}\n{message}", wrong.join(", "))) }
}

/// Checks all of the mistakes, and that none of them leaves anything.
#[track_caller]
fn refused(mistakes: &[Mistake]) {
    let directory = tempdir().expect("a directory");
    for (name, text) in FILES {
        fs::write(directory.path().join(name), text).expect("a file");
    }
    let before = entries(directory.path());
    let wrong: Vec<String> =
        mistakes.iter().filter_map(|mistake| check(mistake, directory.path()).err()).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), mistakes.len(), wrong.join("\n"));
    assert_eq!(entries(directory.path()), before, "nothing is written");
    for (name, text) in FILES {
        assert_eq!(fs::read_to_string(directory.path().join(name)).expect("it is there"), text);
    }
}

#[test]
fn mistakes_in_scenarios_and_grounds() {
    refused(SCENARIOS);
}

#[test]
fn mistakes_in_fields() {
    refused(FIELDS);
}

#[test]
fn mistakes_in_values_of_fields() {
    refused(VALUES);
}

#[test]
fn mistakes_in_numbers_of_options() {
    refused(NUMBERS);
}

#[test]
fn mistakes_in_variants_and_conditions() {
    refused(VARIANTS);
}

#[test]
fn mistakes_in_commands_and_options() {
    refused(COMMANDS);
}

#[test]
fn mistakes_in_paths_and_files() {
    refused(PATHS);
}

#[test]
fn mistakes_in_checks() {
    refused(CHECKS);
}

#[test]
fn mistakes_in_the_lab() {
    refused(LAB);
}

#[test]
fn mistakes_in_searches_of_schedules() {
    refused(SCHEDULES);
}

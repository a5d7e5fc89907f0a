use super::*;
use pageout_record::schema::{Ground, RecordSet};

/// `folio_referenced` in a reclaim of 3264 pages, order 4, on arm64.
const RECORDED: &str = include_str!("recorded.txt");
const PAGES: u64 = 3264;

fn recorded() -> Profile {
    RECORDED.parse().expect("the plugin wrote it")
}

fn function(profile: &Profile, name: &str) -> Function {
    let mut functions = profile.functions().into_iter();
    functions.find(|function| function.name == name).expect("it ran")
}

#[test]
fn a_function_has_its_own_costs_and_its_callees() {
    let profile = recorded();
    assert_eq!(profile.root(), "folio_referenced");
    assert_eq!(profile.lost_returns(), 0);
    let walk = function(&profile, "page_vma_mapped_walk");
    assert_eq!((walk.calls, walk.exclusive), (7401, 574_087));
    assert_eq!(walk.inclusive.instructions, 574_087 + 10_143 + 11_907 + 3_214_592);
    assert_eq!(walk.inclusive.compare_and_swaps, 441);
    let referenced = function(&profile, "folio_referenced_one").inclusive;
    assert_eq!((referenced.invalidations, referenced.barriers), (16 + 229, 16 + 229));
    let root = function(&profile, "folio_referenced");
    assert_eq!(root.inclusive, profile.total());
    let exclusive: u64 = profile.functions().iter().map(|function| function.exclusive).sum();
    assert_eq!(exclusive, profile.total().instructions);
}

#[test]
fn functions_stand_by_what_they_cost_themselves() {
    let functions = recorded().functions();
    assert_eq!(functions[0].name, "contpte_ptep_get");
    assert_eq!(functions[1].name, "contpte_ptep_test_and_clear_young");
    assert!(functions.is_sorted_by(|a, b| a.exclusive >= b.exclusive));
}

#[test]
fn recursion_counts_once() {
    let text = "r 1 1 0 0 0 0 0 1\nr;f 10 2 0 0 0 0 0 2\nr;f;g 100 3 0 0 0 0 0 0\n\
                r;f;g;f 1000 4 5 0 0 0 3 4\n# lost-returns 2\n";
    let profile: Profile = text.parse().unwrap();
    let f = function(&profile, "f");
    assert_eq!((f.calls, f.exclusive), (6, 1010));
    assert_eq!((f.inclusive.instructions, f.inclusive.compare_and_swaps), (1110, 5));
    assert_eq!((f.inclusive.store_barriers, f.inclusive.lines), (3, 6));
    let table = profile.table(9, 1, 80);
    assert!(table.contains("\n2 returns went astray"), "{table}");
}

#[test]
fn what_is_no_profile_is_told_by_line() {
    let told = |text: &str| text.parse::<Profile>().unwrap_err().to_string();
    let accepted = "neither `root;callee;... INSTRUCTIONS CALLS CAS ATOMICS TLBI DSB DSBST \
                    LINES`, `# sample INSTRUCTIONS CAS ATOMICS TLBI DSB DSBST LINES INTERRUPTS \
                    INSTRUCTIONS CAS ...` nor `# lost-returns NUMBER`";
    for bad in [
        "r;f 1 1 0 0 0 0 0",
        "r;f 1 1 0 0 0 0 0 0 0",
        "r;f 1 1 0 0 -1 0 0 0",
        "r;;f 1 1 0 0 0 0 0 0",
        "r",
        "",
        "# lost-returns x",
        "# sample 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "# sample 1 1 1 1 1 1 1 1 1 1 1 1 1 1 -1",
        "# sample 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
    ] {
        let text = format!("r 1 1 0 0 0 0 0 0\n{bad}\n# lost-returns 0\n");
        assert_eq!(told(&text), format!("line 2 of the profile, `{bad}`, is {accepted}"));
    }
    let after = "# lost-returns 0\nr 1 1 0 0 0 0 0 0\n";
    assert_eq!(told(after), format!("line 2 of the profile, `r 1 1 0 0 0 0 0 0`, is {accepted}"));
    assert_eq!(
        told("r 1 1 0 0 0 0 0 0\ns;r 1 1 0 0 0 0 0 0\n"),
        "line 2 of the profile begins with `s`; every path begins with `r`"
    );
    let truncated =
        "the profile ends without `# lost-returns NUMBER`: the emulator was stopped too early";
    assert_eq!(told("r 1 1 0 0 0 0 0 0\n"), truncated);
    assert_eq!(told(""), truncated);
    assert_eq!(
        told("# lost-returns 0\n"),
        "the profile is empty: its root function never ran; --root SYMBOL names another one"
    );
}

#[test]
fn every_function_is_a_record_of_its_own() {
    let run = Record {
        scenario: "reclaim-file".to_owned(),
        ground: Ground::Linux,
        seed: 0,
        fields: [("order".to_owned(), "4".to_owned())].into(),
        variant: [("kernel".to_owned(), "stock".to_owned())].into(),
        metrics: vec![counted("reclaim", INSTRUCTIONS, 2663.4, Better::Lower)],
    };
    let profile = recorded();
    let records = profile.records(&run, PAGES);
    assert_eq!(records.len(), profile.functions().len());
    let record = &records[0];
    assert_eq!((record.fields["order"].as_str(), record.ground), ("4", Ground::Linux));
    assert_eq!(record.fields["function"], "contpte_ptep_get");
    let values = record.metrics.iter().map(|metric| (metric.name.as_str(), metric.values[0]));
    let page = |count: u64| count as f64 / 3264.0;
    let expected = [
        ("exclusive", page(3_214_592)),
        ("inclusive", page(3_214_592)),
        ("calls", page(13_856)),
        ("compare-and-swaps", 0.0),
        ("other atomics", 0.0),
        ("invalidations", 0.0),
        ("barriers", 0.0),
        ("barriers for stores", 0.0),
        ("lines first touched", 0.0),
    ];
    assert_eq!(values.collect::<Vec<_>>(), expected);
    let set = RecordSet::new(pageout_experiment::this_machine::this_run(), records);
    set.validate().expect("no two are told by the same fields");
}

#[test]
fn the_table_shows_the_top_and_sums_up_the_rest() {
    let table = "\
function               own          with callees          calls    CAS  atomics  TLBI   DSB  lines
--------------------------------------------------------------------------------------------------
contpte_ptep_get     984.9   56.2%         984.9   56.2%  4.245   0.00     0.00  0.00  0.00   0.00
--------------------------------------------------------------------------------------------------
19 more              767.2   43.8%
  functions
all of              1752.1  100.0%        1752.1  100.0%  0.135  34.24     0.28  0.08  0.08   0.00
  folio_referenced

per 4K page of 3264: instructions with their share of folio_referenced, calls; with callees: CAS, \
                 other atomics, TLBI, DSB, and lines first touched
";
    assert_eq!(recorded().table(1, PAGES, 100), table);
    let narrow = recorded().table(1, PAGES, 80);
    assert!(narrow.lines().take(11).all(|line| line.len() <= 80), "{narrow}");
}

#[test]
fn folded_stacks_have_instructions_alone() {
    let folded = recorded().folded();
    assert_eq!(folded.lines().count(), RECORDED.lines().count() - 1);
    assert!(folded.starts_with("folio_referenced 24846\nfolio_referenced;rmap_walk_file 34398\n"));
}

/// Three samples of order 4 on x86-64, whose mapping process ran on a second CPU.
const SAMPLES: &str = "\
try_to_free_mem_cgroup_pages 91548498 33 157561 990739 0 0 0 216402
# sample 30511580 52507 330231 0 0 0 72134 1674 505548 10 1680 1674 0 0 174
# sample 30514521 52523 330251 0 0 0 72134 1674 505548 10 1680 1674 0 0 174
# sample 30522397 52531 330258 0 0 0 72134 1674 505548 10 1680 1674 0 0 174
# lost-returns 0
";

fn with_pages(pages: &[f64]) -> Record {
    let stolen = counted("pgsteal", "pages", 0.0, Better::Neither);
    Record {
        scenario: "reclaim-file".to_owned(),
        ground: Ground::Linux,
        seed: 0,
        fields: [("cpus".to_owned(), "2".to_owned())].into(),
        variant: [("kernel".to_owned(), "stock".to_owned())].into(),
        metrics: vec![Metric { values: pages.to_vec(), ..stolen }],
    }
}

#[test]
fn samples_become_metrics_of_the_record() {
    let profile: Profile = SAMPLES.parse().unwrap();
    let mut record = with_pages(&[52432.0; 3]);
    profile.add_to(&mut record, 1, 2).unwrap();
    let names: Vec<_> = record.metrics.iter().map(|m| (m.name.as_str(), m.unit.as_str())).collect();
    let expected = [
        ("reclaim", INSTRUCTIONS),
        ("compare-and-swaps", PER_PAGE),
        ("other atomics", PER_PAGE),
        ("invalidations", PER_PAGE),
        ("barriers", PER_PAGE),
        ("barriers for stores", PER_PAGE),
        ("lines first touched", PER_PAGE),
        ("other CPU: interrupts", PER_PAGE),
        ("other CPU: kernel", INSTRUCTIONS),
        ("other CPU: compare-and-swaps", PER_PAGE),
        ("other CPU: other atomics", PER_PAGE),
        ("other CPU: invalidations", PER_PAGE),
        ("other CPU: lines first touched", PER_PAGE),
        ("pgsteal", "pages"),
    ];
    assert_eq!(names, expected);
    let values = |name: &str| record.metric(name).unwrap().values.clone();
    let page = |count: f64| count / 52432.0;
    let reclaim = [30_511_580.0, 30_514_521.0, 30_522_397.0].map(page);
    assert_eq!(values("reclaim"), reclaim);
    assert_eq!(values("other CPU: interrupts"), [page(1674.0); 3]);
    assert_eq!(values("other CPU: kernel"), [page(505_548.0); 3]);
    assert_eq!(values("other CPU: lines first touched"), [page(174.0); 3]);
    RecordSet::new(pageout_experiment::this_machine::this_run(), vec![record])
        .validate()
        .expect("a record");

    let mut large = with_pages(&[3277.0; 3]);
    profile.add_to(&mut large, 16, 2).unwrap();
    assert_eq!(large.metrics[7].values[0], 1674.0 / 52432.0);
}

#[test]
fn on_one_cpu_there_is_no_other() {
    let profile: Profile = SAMPLES.parse().unwrap();
    let mut record = with_pages(&[52432.0; 3]);
    profile.add_to(&mut record, 1, 1).unwrap();
    let names: Vec<_> = record.metrics.iter().map(|metric| metric.name.as_str()).collect();
    let expected = [WHOLE].into_iter().chain(COUNTS.map(|(name, _)| name)).chain(["pgsteal"]);
    assert_eq!(names, expected.collect::<Vec<_>>());
    assert_eq!(record.metrics[6].values, [72134.0 / 52432.0; 3]);
}

#[test]
fn barriers_are_of_both_kinds() {
    let text = "r 1 1 0 0 0 0 0 0\n# sample 9 0 0 1 2 3 4 0 0 0 0 0 0 0 0\n# lost-returns 0\n";
    let mut record = with_pages(&[1.0]);
    text.parse::<Profile>().unwrap().add_to(&mut record, 1, 2).unwrap();
    let value = |name: &str| record.metric(name).unwrap().values[0];
    assert_eq!(["barriers", "barriers for stores"].map(value), [5.0, 3.0]);
}

#[test]
fn samples_are_as_many_as_the_record_has() {
    let profile: Profile = SAMPLES.parse().unwrap();
    let error = profile.add_to(&mut with_pages(&[52432.0]), 1, 2).unwrap_err();
    assert_eq!(error.to_string(), "the profile has 3 samples, the benchmark's record 1");
    let error = recorded().add_to(&mut with_pages(&[1.0]), 1, 2).unwrap_err();
    assert_eq!(error, ProfileError::Samples { found: 0, expected: 1 });
}

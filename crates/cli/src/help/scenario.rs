//! Help of the commands that run scenarios.

use super::text::{Help, Section};
use crate::scenario_list;
use pageout_experiment::variant::AXES;

pub(super) fn first_screen() -> Help {
    Help {
        brief: vec![],
        notes: vec![Section::Prose(
            "Bad input ends with exit status 2; a failed check or condition (--fail-on) with 1.",
        )],
        examples: &[
            "pageout # before against after",
            "pageout compare reclaim-file order=4 young=0%,100%",
            "pageout lab compare --patch my.patch # your patch on Linux",
            "pageout --full # the main table, by stage",
            "pageout compare trace --trace my.pgt --base young=batched",
            "pageout run trace order=4 --variant young=line",
            "pageout trace record --output my.pgt -- ls -l",
            "pageout bench reclaim",
            "pageout sweep plan limits.toml --dir limits",
            "pageout check # schedules that break the engine",
            "pageout reproduce # published figures beside ours",
        ],
    }
}

pub(super) fn compare() -> Help {
    Help {
        brief: vec![scenarios_briefly()],
        notes: vec![scenarios_with_fields(), axes(), figures(), figures_on_model()],
        examples: &[
            "pageout compare reclaim-file order=4 format=x86-64",
            "pageout compare trace limit=50% --base lru=classic --new lru=mglru",
            "pageout compare before.json after.json --base kernel=6.12.0",
            "pageout compare reclaim-file lru=mglru order=4 anon=25%",
            "pageout compare reclaim-file order=mixed list=shuffled",
            "pageout compare reclaim-file --base shootdown=immediate \\\n  \
                --new shootdown=deferred",
            "pageout compare age-file order=4,pmd young=0%,50%,100%",
            "pageout compare age-file order=4 --format list # for a mail",
            "pageout compare age-file order=0,2,4 --format picture",
            "pageout compare age-file processes=8 --json --output records.json",
            "pageout compare aging-rounds access=all,1/16,10%",
            "pageout compare reclaim-file --ground model \\\n  \
                --platform kunpeng-920-class --draws 200",
            "pageout compare pageout-shared --ground model \\\n  \
                --platform snapdragon-888-class",
            "pageout compare before.json after.json --base kernel=6.12.0 \\\n  \
                --fail-on 3% --fail-on 'refaults>0%'",
            "pageout compare --label before=b1.json --label after=a1.json \\\n  \
                --label before=b2.json --label after=a2.json",
        ],
    }
}

pub(super) fn run() -> Help {
    Help {
        brief: vec![scenarios_briefly()],
        notes: vec![scenarios_with_fields(), axes(), figures(), figures_on_model()],
        examples: &[
            "pageout run reclaim-file order=4 format=x86-64",
            "pageout run trace limit=50% --trace sqlite-orders",
            "pageout run age-file --variant young=per-entry,flush=sync",
            "pageout run reclaim-file size=1TiB order=pmd --sizes",
            "pageout run trace limit=50% --html history.html",
            "pageout run trace limit=50% --format picture # maps of pages",
            "pageout run reclaim-file lru=mglru size=1GiB \\\n  \
                --lru-gen '+ 1 0 3' --lru-gen '- 1 0 2'",
            "pageout run trace limit=50% lru=mglru --lru-gen '+ 1 0 0 max'",
            "pageout run pageout-shared --ground model format=arm64-4k \\\n  \
                --folded pageout.folded",
            "pageout run faults --ground model tasks=1,8,64 reclaim=yes",
        ],
    }
}

pub(super) fn scenarios() -> Help {
    Help {
        examples: &[
            "pageout scenarios",
            "pageout scenarios reclaim-file",
            "pageout scenarios --markdown > scenarios.md",
        ],
        ..Help::default()
    }
}

fn scenarios_briefly() -> Section {
    let heading = "Scenarios (`pageout scenarios NAME` has the fields of one)";
    Section::Terms { heading, terms: scenario_list::briefly() }
}

fn scenarios_with_fields() -> Section {
    Section::Terms {
        heading: "Scenarios, with their fields and defaults",
        terms: scenario_list::with_fields(),
    }
}

fn axes() -> Section {
    Section::terms("Axes of a variant; scenarios that only age have young and flush", &AXES)
}

fn figures() -> Section {
    Section::terms(
        "Figures; `pageout scenarios NAME` has all of a scenario",
        &[
            ("whole reclaim", "Time of memory.reclaim from request to end, per reclaimed page"),
            (
                "stages",
                "The same by stage: isolate, rmap walk, young, aging, unmap, flush, cache removal, \
                 free, other. A sampler on another CPU measures each stage's share in a run of its \
                 own (whole reclaim while sampled). unmap includes its page-table walks",
            ),
            ("folio_referenced", "Time to ask every folio: rmap walk and young check"),
            ("helper alone", "Time of the young check only, clear_flush_young_ptes"),
            ("entries visited", "Page-table entries read"),
            ("atomics", "Locked read-modify-writes of entries"),
            ("invalidations", "TLB invalidations; barriers wait for their completion"),
            ("refaults", "Pages that came back after reclaim"),
        ],
    )
}

fn figures_on_model() -> Section {
    Section::terms(
        "Figures on --ground model, where times are computed",
        &[
            (
                "invalidating and waiting",
                "Time in which the reclaiming core invalidates, or waits for other cores to do so",
            ),
            (
                "taken from other cores",
                "Time that interrupts and invalidations took from other cores",
            ),
            ("instructions", "Instructions of the kernel, priced by counts of Linux 6.12"),
            ("interrupts", "Interrupts that other cores received"),
            (
                "hidden accesses",
                "Accesses through TLB entries whose page's young bit was clear, which aging \
                 cannot see",
            ),
            ("[low, high]", "The 5th and 95th percentile of times over --draws"),
        ],
    )
}

//! `observe`: the accesses that the TLB of this machine hides from young bits.

use crate::args::ObserveArgs;
use crate::error::CliError;
use crate::this_run::this_run;
use crate::{help, output, progress};
use pageout_calibrate as here;
use pageout_calibrate::{Between, Flush, Observation, PAGES};
use pageout_record::render::{Align, Grid, bar};
use pageout_record::schema::{Machine, RecordSet};

/// The number of characters of a bar of 100%.
const BAR: usize = 20;

pub(crate) fn observe(args: &ObserveArgs) -> Result<(), CliError> {
    output::check(&args.output.paths(), &[])?;
    let cpus = here::cores().map_err(CliError::Cpus)?;
    let progress_bar = progress::bar("observing");
    let rounds = usize::from(args.runs);
    let seen = here::observe(rounds, &cpus, &mut progress::steps(&progress_bar))?;
    progress_bar.finish_and_clear();
    let set = RecordSet::new(this_run(), seen.iter().map(Observation::record).collect());
    let base = Flush::None.labels();
    let answer = conclusions(&seen);
    output::emit_answering(&args.output, &set, &[(&set, &base)], &answer, |set, columns| {
        Ok(text(&set.run.machine, &seen, columns))
    })
}

fn text(machine: &Machine, seen: &[Observation], columns: usize) -> String {
    let heads = ["between clear and question", "no flush", "", "flush"];
    let align = [Align::Left, Align::Right, Align::Left, Align::Right];
    let mut grid = Grid::new(heads.into_iter().zip(align));
    for between in Between::ALL {
        let Some(share) = share(seen, between, Flush::None) else { continue };
        let flushed = share_text(self::share(seen, between, Flush::Mprotect));
        grid.row([between.to_string(), share_text(Some(share)), bar(share, 1.0, BAR), flushed]);
    }
    let rounds = seen.iter().map(|one| one.hidden.len()).max().unwrap_or(0);
    format!(
        "Accessed bits that a stale TLB hides, on {} ({})\n\n\
         {}\n\
         {}\n\
         Share of {PAGES} loads that the kernel does not see: the median of {rounds} repetitions.\n\
         The flush is mprotect of the pages, to read-only and back, right after the clear.\n\n{}",
        machine.cpu,
        machine.os,
        help::wrapped(&method(), "", columns),
        grid.text(columns),
        conclusions(seen).join("\n") + "\n",
    )
}

/// Describes the method, in a paragraph.
fn method() -> String {
    format!(
        "A program loads from {PAGES} pages. Their young (accessed) bits are cleared through \
         /proc/self/clear_refs, which flushes nothing. Then something else goes on, and the \
         program loads from the pages again. At last it asks /proc/self/smaps which pages are \
         Referenced."
    )
}

/// Returns the share of hidden loads, from 0 to 1, as a median; `None` if it was not observed.
fn share(seen: &[Observation], between: Between, flush: Flush) -> Option<f64> {
    let of = |one: &&Observation| (one.between, one.flush) == (between, flush);
    seen.iter().find(of).map(Observation::share)
}

fn share_text(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}%", share * 100.0))
}

/// Returns the conclusions from the shares, a sentence or two each.
fn conclusions(seen: &[Observation]) -> Vec<String> {
    let hidden = |between, flush| share(seen, between, flush).unwrap_or(0.0);
    let mut told = Vec::new();
    let is_check = |one: &&Observation| one.between == Between::NoLoad && one.flush == Flush::None;
    let all_old = |one: &Observation| one.hidden.iter().all(|hidden| *hidden == PAGES as u64);
    if !seen.iter().find(is_check).is_some_and(all_old) {
        told.push(
            "The method does not hold here: pages that nobody loaded from look Referenced.".into(),
        );
        return told;
    }
    let flushed = |one: &&Observation| {
        let any = one.hidden.iter().any(|hidden| *hidden > 0);
        one.flush == Flush::Mprotect && one.between != Between::NoLoad && any
    };
    let at_once = hidden(Between::OtherPages(0), Flush::None);
    told.push(if at_once >= 0.5 {
        "A page in use looks old to this kernel while a TLB holds its translation.".to_owned()
    } else {
        format!("Few loads are hidden here: {:.1}% where nothing goes on between.", at_once * 100.0)
    });
    told.push(match seen.iter().find(flushed) {
        None => "With a flush the kernel saw every load.".to_owned(),
        Some(one) => format!("Even with a flush loads were hidden: {}.", one.between),
    });
    let pushed_out = Between::ALL.into_iter().find(|between| {
        matches!(between, Between::OtherPages(_)) && hidden(*between, Flush::None) < 0.5
    });
    if let (Some(Between::OtherPages(pages)), true) = (pushed_out, at_once >= 0.5) {
        told.push(format!(
            "Loads from {pages} other pages take most of the translations out of the TLB."
        ));
    }
    let still = Between::ALL.into_iter().rev().find(|between| {
        matches!(between, Between::OtherCpu(_)) && hidden(*between, Flush::None) >= 0.5
    });
    if let Some(Between::OtherCpu(ms)) = still {
        let share = hidden(Between::OtherCpu(ms), Flush::None) * 100.0;
        told.push(format!(
            "A thread that never stopped loading on another CPU looked idle for {ms} ms, to \
             {share:.1}% of its loads."
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(share_of: impl Fn(Between, Flush) -> u64) -> Vec<Observation> {
        let each = Between::ALL.into_iter().flat_map(|b| Flush::ALL.map(|flush| (b, flush)));
        each.map(|(between, flush)| {
            let hidden = vec![share_of(between, flush); 3];
            Observation { between, flush, hidden }
        })
        .collect()
    }

    fn machine() -> Machine {
        Machine {
            cpu: "Example".to_owned(),
            arch: "x86_64".to_owned(),
            cores: 2,
            memory_mib: 4096,
            os: "linux 7.3".to_owned(),
        }
    }

    #[test]
    fn a_tlb_that_keeps_its_translations() {
        let of = |between, flush| match (between, flush) {
            (Between::NoLoad, _) => 16,
            (_, Flush::Mprotect) => 0,
            (Between::OtherPages(n), _) => 16 - (n / 256).min(16) as u64,
            _ => 12,
        };
        insta::assert_snapshot!(text(&machine(), &seen(of), 80));
    }

    #[test]
    fn without_hidden_loads_nothing_is_claimed() {
        let of = |between, _| if between == Between::NoLoad { 16 } else { 0 };
        let told = conclusions(&seen(of));
        let few = "Few loads are hidden here: 0.0% where nothing goes on between.";
        assert_eq!(told, [few, "With a flush the kernel saw every load."]);
    }

    #[test]
    fn where_the_checks_fail_it_is_said() {
        let told = conclusions(&seen(|_, _| 0));
        assert!(matches!(&told[..], [only] if only.starts_with("The method does not hold")));
        let told = conclusions(&seen(|_, _| 16));
        assert!(told.contains(&"Even with a flush loads were hidden: nothing.".to_owned()));
    }
}

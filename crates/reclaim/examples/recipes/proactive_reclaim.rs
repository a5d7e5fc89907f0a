//! Proactive reclaim by cgroup: each interval takes a share of each cgroup's memory, and leaves a
//! cgroup alone for a while once its pages come back.
//!
//! Three services use different parts of their memory in every interval, and some of the rest now
//! and then. The controller knows none of that. It sees each cgroup's usage and refaults.

use super::machine::Hardware;
use super::system::{System, boot};
use core::fmt::Write as _;
use pageout_paging::Format;
use pageout_paging::pte::X86_64;
use pageout_reclaim::{Counter, Errno, MemcgId, MmId, ReclaimRequest};

/// The pages of each service, and those it uses in every interval.
const PAGES: u64 = 1024;
const HOT: [u64; 3] = [128, 512, 1024];
const INTERVALS: u64 = 64;
/// The part of a cgroup's memory that one interval takes, as a divisor.
const SHARE: u64 = 16;
/// The time of one refault and of one interval, in microseconds. Their ratio is the pressure: the
/// part of an interval in which the service waits.
const REFAULT_US: u64 = 100;
const INTERVAL_US: u64 = 100_000;
/// The pressure from which on the controller backs off, in parts of 1,000.
const PRESSURE: u64 = 5;
/// The most intervals without reclaim after a back-off.
const LONGEST: u64 = 16;

type Services<'e, 'm> = System<'e, 'm, X86_64>;

/// The controller's state of one cgroup.
#[derive(Clone, Copy, Default)]
struct Control {
    /// The refaults counted so far.
    refaults: u64,
    /// The intervals until the next reclaim, and those after the next back-off.
    wait: u64,
    penalty: u64,
}

impl Control {
    /// Returns the pages to reclaim in this interval, given the refaults so far and the usage.
    fn pages(&mut self, refaults: u64, usage: u64) -> u64 {
        let new = refaults - core::mem::replace(&mut self.refaults, refaults);
        if new * REFAULT_US * 1000 > PRESSURE * INTERVAL_US {
            self.penalty = (2 * self.penalty).clamp(1, LONGEST);
            self.wait = self.penalty;
        } else if self.wait > 0 {
            self.wait -= 1;
        } else {
            self.penalty /= 2;
        }
        if self.wait > 0 { 0 } else { usage / SHARE }
    }
}

/// Asks for pages of a cgroup, as a write to its `memory.reclaim` does.
fn reclaim(system: &mut Services<'_, '_>, memcg: MemcgId, pages: u64) {
    let request = ReclaimRequest::of(pages * X86_64::PAGE_SIZE);
    match system.engine().memory_reclaim(memcg, request) {
        // Less than asked for: the rest was in use.
        Ok(_) | Err(Errno::EAGAIN) => {}
        Err(error) => panic!("{error:?}"),
    }
}

/// Uses a service's memory for one interval: the hot pages, and four of the others.
fn serve(system: &mut Services<'_, '_>, mm: MmId, hot: u64, interval: u64) {
    system.store(mm, 0..hot);
    let others = PAGES - hot;
    if others > 0 {
        let first = hot + (4 * interval) % others;
        system.store(mm, first..first + 4);
    }
}

/// The figures of one service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Service {
    pub(crate) hot: u64,
    /// The mean usage in the second half of the run, in pages.
    pub(crate) usage: u64,
    pub(crate) refaults: u64,
}

pub(crate) fn run(backs_off: bool) -> [Service; 3] {
    let frames = HOT.len() * PAGES as usize;
    boot::<X86_64, _>(frames, Hardware::PLAIN, |system| {
        let mut services = HOT.map(|hot| {
            let memcg = system.engine().add_memcg(MemcgId::ROOT).expect("there is room");
            let mm = system.spawn(memcg, PAGES, 0);
            system.store(mm, 0..PAGES);
            (memcg, mm, Control::default(), Service { hot, usage: 0, refaults: 0 })
        });
        for interval in 0..INTERVALS {
            for (memcg, mm, control, service) in &mut services {
                serve(system, *mm, service.hot, interval);
                let usage = system.maps.memcg(*memcg).expect("it is online").usage();
                service.refaults = system
                    .engine()
                    .counter(*memcg, Counter::WorkingsetRefaultAnon)
                    .expect("it is online");
                let pages = control.pages(service.refaults, usage);
                reclaim(system, *memcg, if backs_off { pages } else { usage / SHARE });
                if interval >= INTERVALS / 2 {
                    service.usage += system.maps.memcg(*memcg).expect("it is online").usage();
                }
            }
        }
        services.map(|(.., service)| Service { usage: service.usage / (INTERVALS / 2), ..service })
    })
}

pub(crate) fn text() -> String {
    let mut text = String::from("               always a share   with back-off\n");
    text += " hot   of    usage  refaults  usage  refaults\n";
    for (always, backs_off) in run(false).into_iter().zip(run(true)) {
        let Service { hot, usage, refaults } = always;
        let Service { usage: kept, refaults: few, .. } = backs_off;
        let _ = writeln!(text, "{hot:>4}{PAGES:>5}{usage:>9}{refaults:>10}{kept:>7}{few:>10}");
    }
    text
}

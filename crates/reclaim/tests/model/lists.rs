//! The invariants of lists and generations that hold between any two operations.

use crate::model::Model;
use pageout_paging::{Format, Rules};
use pageout_reclaim::mglru::{LruGenCaps, MAX_NR_GENS, MAX_NR_ZONES, MIN_NR_GENS};
use pageout_reclaim::{FolioFlags, FolioId, LruFlags, LruList, LruvecId, MemcgId};
use std::collections::BTreeMap;
use std::iter::repeat_n;

/// The pages in each generation, of each type and zone.
type Generations = [[[i64; MAX_NR_ZONES]; 2]; MAX_NR_GENS];

/// Every folio that was found on a list, with its flags.
type Listed = BTreeMap<FolioId, LruFlags>;

impl<F: Format, R: Rules> Model<'_, '_, F, R> {
    /// Checks that each folio is on one list of the cgroup it is charged to. The list is that of
    /// its flags. For an evictable folio while generations are in use, it is that of the generation
    /// it is listed in.
    pub(crate) fn audit_lists(&self, folios: &BTreeMap<FolioId, u64>) {
        let mut listed = Listed::new();
        for lruvec in self.lruvecs() {
            let mut sizes = self.audit_generations(lruvec, &mut listed);
            for list in LruList::ALL {
                for id in self.maps.lru_folios(lruvec, list).expect("it is online") {
                    let folio = self.maps.folio(id).expect("it lives");
                    assert_eq!(LruList::of(folio), list, "{id:?}: {folio:?}");
                    assert_eq!(folio.recency().generation(), None, "{id:?} of {list:?} is in one");
                    assert_eq!(folio.listed_in(), None, "{id:?} of {list:?} is listed in one");
                    self.audit_listed(lruvec, id, &mut listed);
                    sizes[list as usize] += folio.nr_pages() as u64;
                }
            }
            for list in LruList::ALL {
                let (pages, counted) = (
                    sizes[list as usize],
                    self.maps.lru_size_own(lruvec, list).expect("it is online"),
                );
                assert_eq!(pages, counted, "{list:?} of {lruvec:?}");
            }
        }
        for (memcg, _) in self.memcgs.borrow().iter() {
            for list in LruList::ALL {
                let below = self.below(*memcg).into_iter();
                let lruvecs = below
                    .flat_map(|memcg| self.maps.nodes().map(move |node| LruvecId { memcg, node }));
                let sum: u64 =
                    lruvecs.map(|id| self.maps.lru_size_own(id, list).expect("it is online")).sum();
                assert_eq!(
                    sum,
                    self.maps.lru_size(*memcg, list).expect("it is online"),
                    "{list:?} below {memcg:?}"
                );
            }
        }
        for id in folios.keys() {
            let folio = self.maps.folio(*id).expect("it lives");
            assert!(listed.contains_key(id), "{id:?} is on a list: {folio:?}");
        }
        assert!(listed.keys().all(|id| folios.contains_key(id)), "no free folio is on a list");
    }

    /// Returns the lists of all cgroups on all nodes.
    pub(crate) fn lruvecs(&self) -> Vec<LruvecId> {
        let memcgs = self.memcgs.borrow();
        let on_nodes = |(memcg, _): &(MemcgId, MemcgId)| {
            let memcg = *memcg;
            self.maps.nodes().map(move |node| LruvecId { memcg, node })
        };
        memcgs.iter().flat_map(on_nodes).collect()
    }

    /// Checks a folio that was found on a list of `lruvec`.
    fn audit_listed(&self, lruvec: LruvecId, id: FolioId, listed: &mut Listed) {
        let folio = self.maps.folio(id).expect("it lives");
        assert_eq!(self.maps.memcg_of(folio), lruvec.memcg, "{id:?}: {folio:?}");
        assert_eq!(folio.node(), lruvec.node, "{id:?}: {folio:?}");
        assert_eq!(self.maps.node_of(folio.pfn()), lruvec.node, "{id:?}: {folio:?}");
        assert!(folio.lru().contains(LruFlags::LRU), "{id:?} is on a list and knows: {folio:?}");
        assert_eq!(listed.insert(id, folio.lru()), None, "{id:?} is on one list");
    }

    /// Checks that each generation counts the pages in it, whatever list they are on. Returns the
    /// pages of each classic list that generations replace.
    fn audit_generations(&self, lruvec: LruvecId, listed: &mut Listed) -> [u64; 5] {
        let (max, min) = self.maps.lru_gen_seqs(lruvec).expect("it is online");
        let mut found = Generations::default();
        for kind in 0..2 {
            let nr = max + 1 - min[kind];
            assert!((MIN_NR_GENS..=MAX_NR_GENS as u64).contains(&nr), "{min:?} to {max}");
            for (generation, zone) in
                (0..MAX_NR_GENS).flat_map(|g| (0..MAX_NR_ZONES).map(move |z| (g, z)))
            {
                for id in
                    self.maps.lru_gen_folios(lruvec, generation, kind, zone).expect("it is online")
                {
                    self.audit_listed(lruvec, id, listed);
                    let is_in = self.audit_place(id, (generation, kind, zone));
                    found[is_in][kind][zone] +=
                        self.maps.folio(id).expect("it lives").nr_pages() as i64;
                }
            }
        }
        let in_use = self.maps.lru_gen_caps().contains(LruGenCaps::CORE);
        let empty = found.as_flattened().as_flattened().iter().all(|pages| *pages == 0);
        assert!(in_use || empty, "generations of {lruvec:?} are not in use: {found:?}");
        let classic = LruList::EVICTABLE
            .iter()
            .map(|list| self.maps.lru_folios(lruvec, *list).expect("it is online"));
        assert!(!in_use || classic.map(Iterator::count).eq(repeat_n(0, 4)), "lists of {lruvec:?}");
        let mut sizes = [0; 5];
        for (generation, of) in found.iter().enumerate() {
            for (kind, zones) in of.iter().enumerate() {
                for (zone, pages) in zones.iter().enumerate() {
                    let counted = self
                        .maps
                        .lru_gen_size(lruvec, generation, kind, zone)
                        .expect("it is online");
                    let name = (generation, kind, zone);
                    assert_eq!(
                        counted, *pages,
                        "pages of generation, type, zone {name:?} of {lruvec:?}"
                    );
                }
                let active =
                    [max, max - 1].iter().any(|seq| seq % MAX_NR_GENS as u64 == generation as u64);
                let list = LruList::EVICTABLE[2 * kind + usize::from(active)];
                sizes[list as usize] += zones.iter().sum::<i64>() as u64;
            }
        }
        sizes
    }

    /// Checks a folio that was found on a generation's list, and returns the generation it is in.
    /// Either may be none of the existing ones. A type that may not be evicted retires its oldest
    /// generation as it is, which becomes the youngest. Folios that were in another generation then
    /// follow when that is the youngest.
    fn audit_place(&self, id: FolioId, (generation, kind, zone): (usize, usize, usize)) -> usize {
        let folio = self.maps.folio(id).expect("it lives");
        assert_eq!(folio.listed_in(), Some(generation), "{id:?}: {folio:?}");
        assert_eq!(usize::from(!folio.flags().contains(FolioFlags::SWAPBACKED)), kind, "{id:?}");
        assert_eq!(self.maps.zone_of(folio), zone, "{id:?}: {folio:?}");
        let other = LruFlags::UNEVICTABLE | LruFlags::ACTIVE;
        assert!(!folio.lru().intersects(other), "{id:?} is in a generation: {folio:?}");
        let Some(is_in) = folio.recency().generation() else {
            panic!("{id:?} is listed in generation {generation}, and in none: {folio:?}");
        };
        is_in
    }

    /// Checks that all resources of page-table walks exist, once each, and that no walk is in
    /// progress.
    pub(crate) fn audit_walks(&self) {
        let idle = self.cpus.iter().all(|cpu| cpu.borrow().is_idle());
        assert!(idle, "no CPU holds a lock or keeps anything for later");
        let memcgs = self.memcgs.borrow();
        let mut all: Vec<_> = memcgs.iter().map(|(id, _)| *id).collect();
        all.sort();
        for node in self.maps.nodes() {
            let mut visited: Vec<_> = self.maps.lru_gen_memcgs(node).expect("a node").collect();
            visited.sort();
            assert_eq!(visited, all, "cgroups that reclaim of {node:?} visits, and all");
        }
        for id in all {
            let truth = self.truth.borrow();
            let living = truth.processes.iter().flatten().filter(|process| process.memcg == id);
            let mut living: Vec<_> = living.map(|process| process.mm).collect();
            let mut walked: Vec<_> = self.maps.lru_gen_mms(id).expect("it is online").collect();
            [&mut living, &mut walked].into_iter().for_each(|mms| mms.sort());
            assert_eq!(walked, living, "address spaces listed in {id:?}, and in it");
        }
        let owned = self
            .lruvecs()
            .into_iter()
            .flat_map(|id| self.maps.lru_gen_filters(id).expect("it is online"));
        let mut filters: Vec<_> = owned.chain(self.maps.lru_gen_free_filters()).collect();
        filters.sort();
        assert!(filters.into_iter().eq(0..self.filters as u32), "filters are owned once, or free");
    }
}

//! Counters as text, line by line: names, order and units are an interface.

use crate::world::{Arena, LIMITS, World, tuning};
use pageout_paging::pte::Arm64_4K;
use pageout_reclaim::{Limits, MappingKind, MemcgId};

const ROOM: Limits = Limits { memcgs: 2, ..LIMITS };

#[test]
fn memory_stat_has_the_kernels_lines() {
    let mut arena = Arena::new::<Arm64_4K>(&ROOM);
    let mut world: World<'_, Arm64_4K> = arena.world();
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    let parent = maps.on(env, cpu, tuning()).add_memcg(MemcgId::ROOT).expect("room");
    let child = maps.on(env, cpu, tuning()).add_memcg(parent).expect("room");
    let file = world.mapping(MappingKind::File);
    let anon = world.mapping(MappingKind::Anon);
    let made = [(file, 4, parent), (file, 0, child), (anon, 2, child), (anon, 0, MemcgId::ROOT)];
    for (index, (mapping, order, memcg)) in made.into_iter().enumerate() {
        let id = world.folio(mapping, order, 16 * index as u64);
        let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
        maps.on(env, cpu, tuning()).charge(id, memcg).expect("no limits");
        maps.on(env, cpu, tuning()).lru_add(id).expect("it lives");
        if order == 4 {
            maps.on(env, cpu, tuning()).activate(id).expect("it lives");
        }
    }
    let (maps, env, cpu) = (&world.maps, &world.env, &mut world.cpu);
    assert_eq!(
        maps.on(env, cpu, tuning()).memory_stat(parent).expect("it is online").to_string(),
        MEMORY_STAT
    );
    let events = maps.on(env, cpu, tuning()).memory_events(parent).expect("it is online");
    assert_eq!(events.to_string(), "low 0\nmax 0\noom 0\n");
    assert_eq!(maps.on(env, cpu, tuning()).vmstat().to_string(), VMSTAT);
}

/// 17 pages of files and 4 anonymous ones, in bytes; 16 pages were activated.
const MEMORY_STAT: &str = "\
anon 16384
file 69632
shmem 0
inactive_anon 16384
active_anon 0
inactive_file 4096
active_file 65536
unevictable 0
workingset_refault_anon 0
workingset_refault_file 0
workingset_activate_anon 0
workingset_activate_file 0
workingset_restore_anon 0
workingset_restore_file 0
pgsteal_kswapd 0
pgsteal_direct 0
pgsteal_proactive 0
pgscan_kswapd 0
pgscan_direct 0
pgscan_proactive 0
pgrefill 0
pgscan 0
pgsteal 0
pswpin 0
pswpout 0
pgfault 0
pgmajfault 0
pgactivate 16
pgdeactivate 0
pglazyfree 0
pglazyfreed 0
";

/// In pages, and with the page charged to the root.
const VMSTAT: &str = "\
nr_free_pages 4074
nr_inactive_anon 5
nr_active_anon 0
nr_inactive_file 1
nr_active_file 16
nr_unevictable 0
workingset_refault_anon 0
workingset_refault_file 0
workingset_activate_anon 0
workingset_activate_file 0
workingset_restore_anon 0
workingset_restore_file 0
nr_anon_pages 5
nr_file_pages 17
nr_shmem 0
nr_vmscan_write 0
nr_vmscan_immediate_reclaim 0
pgsteal_kswapd 0
pgsteal_direct 0
pgsteal_proactive 0
pgsteal_anon 0
pgsteal_file 0
pgscan_kswapd 0
pgscan_direct 0
pgscan_proactive 0
pgscan_anon 0
pgscan_file 0
pgrotate_anon 0
pgrotate_file 0
pgrefill 0
pswpin 0
pswpout 0
allocstall_normal 0
pgactivate 16
pgdeactivate 0
pglazyfree 0
pgfault 0
pgmajfault 0
pglazyfreed 0
pageoutrun 0
pgrotated 0
pgmigrate_success 0
pgmigrate_fail 0
compact_migrate_scanned 0
compact_free_scanned 0
compact_isolated 0
compact_stall 0
compact_fail 0
compact_success 0
thp_fault_alloc 0
thp_fault_fallback 0
thp_split_page 0
thp_split_page_failed 0
thp_split_pmd 0
thp_swpout_fallback 0
";

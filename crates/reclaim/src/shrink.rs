//! Scanning one list of one cgroup.

use crate::CpuCtx;
use crate::lruvec::LruList;
use crate::maps::Maps;
use crate::memcg::MemcgId;
use crate::scan::ScanControl;
use crate::world::World;

pub(crate) fn shrink_inactive_list<W: World>(
    _: &Maps<'_>,
    _: &W,
    _: &mut CpuCtx,
    _: MemcgId,
    _: LruList,
    _: u64,
    _: &mut ScanControl,
) -> u64 {
    unimplemented!("inactive lists are not shrunk yet")
}

pub(crate) fn shrink_active_list<W: World>(
    _: &Maps<'_>,
    _: &W,
    _: &mut CpuCtx,
    _: MemcgId,
    _: LruList,
    _: u64,
    _: &mut ScanControl,
) -> u64 {
    unimplemented!("active lists are not shrunk yet")
}

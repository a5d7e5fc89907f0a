//! The sections of a platform file that describe the machine's hardware.

use super::provenance::{PROVENANCE, provenance};
use super::section::Section;
use crate::platform::architecture::Architecture;
use crate::platform::error::{PlatformError, Problem};
use crate::platform::provenance::SectionOrigin;
use crate::platform::shape::{Broadcast, Hardware, Invalidation, Ipi, Shape, Storage};
use crate::tlb::{LevelShape, ShapeError, TlbShape, Walks};

/// Returns the name of the section on how invalidations reach other cores.
pub(super) const fn invalidation_section(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Arm64 => "broadcast",
        Architecture::X86 | Architecture::Riscv => "ipi",
    }
}

/// Reads the shape, and the origin of each of its sections.
pub(super) fn read(
    root: &Section<'_>,
    architecture: Architecture,
) -> Result<(Shape, Vec<SectionOrigin>), PlatformError> {
    let mut reader = Reader { architecture, origins: Vec::new() };
    let (cores, hardware) = reader.cores(root)?;
    let tlb = reader.tlb(root)?;
    let invalidation = match architecture {
        Architecture::Arm64 => Invalidation::Broadcast(reader.broadcast(root)?),
        Architecture::X86 | Architecture::Riscv => Invalidation::Ipi(reader.ipi(root)?),
    };
    let storage = reader.storage(root)?;
    let shape = Shape { architecture, cores, hardware, tlb, invalidation, storage };
    Ok((shape, reader.origins))
}

struct Reader {
    architecture: Architecture,
    origins: Vec<SectionOrigin>,
}

impl Reader {
    /// Reads a section with these keys, the keys of its origin, and the sections `inner`.
    fn section<'a>(
        &mut self,
        outer: &Section<'a>,
        name: &'static str,
        keys: &[&str],
        inner: &[&str],
    ) -> Result<Section<'a>, PlatformError> {
        let section = outer.section(name, &[keys, inner, &PROVENANCE].concat())?;
        let origin = provenance(&section)?;
        self.origins.push(SectionOrigin { section: outer.name(name), origin });
        Ok(section)
    }

    fn cores(&mut self, root: &Section<'_>) -> Result<(u16, Hardware), PlatformError> {
        let is_arm = self.architecture == Architecture::Arm64;
        let mut keys = vec!["count", "hardware_accessed", "hardware_dirty", "nonleaf_accessed"];
        keys.extend(is_arm.then_some("bbml2_noabort"));
        let cores = self.section(root, "cores", &keys, &[])?;
        let hardware = Hardware {
            accessed: cores.flag("hardware_accessed")?,
            dirty: cores.flag("hardware_dirty")?,
            nonleaf_accessed: cores.flag("nonleaf_accessed")?,
            bbml2_noabort: is_arm && cores.flag("bbml2_noabort")?,
        };
        if !hardware.accessed && (hardware.dirty || hardware.nonleaf_accessed) {
            let key = if hardware.dirty { "hardware_dirty" } else { "nonleaf_accessed" };
            let found = "true, and hardware_accessed = false";
            return Err(cores.refused(key, found, "true where hardware_accessed = true"));
        }
        Ok((cores.count("count", 1..=Shape::MAX_CORES)?, hardware))
    }

    fn tlb(&mut self, root: &Section<'_>) -> Result<TlbShape, PlatformError> {
        let is_riscv = self.architecture == Architecture::Riscv;
        let is_x86 = self.architecture == Architecture::X86;
        let mut keys = vec!["contiguous", "coalesce", "walk_cache"];
        keys.extend(is_riscv.then_some("caches_invalid"));
        keys.extend(is_x86.then_some("invlpg_drops"));
        let tlb = self.section(root, "tlb", &keys, &["l1", "l2"])?;
        let shape = TlbShape {
            l1: self.level(&tlb, "l1")?,
            l2: tlb.has("l2").then(|| self.level(&tlb, "l2")).transpose()?,
            contiguous: tlb.flag("contiguous")?,
            coalesce: tlb.count("coalesce", 1..=16)?,
            caches_invalid: is_riscv && tlb.flag("caches_invalid")?,
            walk_cache: tlb.count("walk_cache", 0..=TlbShape::MOST_WALK_CACHE)?,
            page_drops: match is_x86 {
                true => tlb.choice("invlpg_drops", INVLPG_DROPS)?,
                false => Walks::None,
            },
        };
        shape.check().map_err(|why| {
            let (level, key) = match why {
                ShapeError::Empty(level, key) => (Some(level), key),
                ShapeError::Sets(level, _) => (Some(level), "sets"),
                ShapeError::Size(level, _) => (Some(level), "entries"),
                ShapeError::Smaller { .. } => (Some("l2"), "entries"),
                ShapeError::Coalesce(_) => (None, "coalesce"),
                ShapeError::WalkCache(_) => (None, "walk_cache"),
            };
            let problem = |key| Problem::Tlb { key, why };
            match level.map(|level| tlb.section(level, &[&LEVEL[..], &PROVENANCE].concat())) {
                Some(Ok(level)) => level.refusal(key, problem(level.name(key))),
                _ => tlb.refusal(key, problem(tlb.name(key))),
            }
        })?;
        Ok(shape)
    }

    fn level(
        &mut self,
        tlb: &Section<'_>,
        name: &'static str,
    ) -> Result<LevelShape, PlatformError> {
        let level = self.section(tlb, name, &LEVEL, &[])?;
        let shape = LevelShape {
            sets: level.count("sets", 0..=u16::MAX)?,
            ways: level.count("ways", 0..=u16::MAX)?,
        };
        let entries: u32 = level.count("entries", 0..=u32::MAX)?;
        if entries != shape.entries() {
            let accepted = format!("sets × ways, which is {}", shape.entries());
            return Err(level.refused("entries", entries, accepted));
        }
        Ok(shape)
    }

    fn broadcast(&mut self, root: &Section<'_>) -> Result<Broadcast, PlatformError> {
        let keys = ["asid_bits", "range_operations", "hold", "waits_for_devices"];
        let section = self.section(root, "broadcast", &keys, &[])?;
        let asid_bits = section.count("asid_bits", 8..=16)?;
        if ![8, 16].contains(&asid_bits) {
            return Err(section.refused("asid_bits", asid_bits, "8 or 16"));
        }
        Ok(Broadcast {
            asid_bits,
            range_operations: section.flag("range_operations")?,
            hold: section.count("hold", 0..=1024)?,
            waits_for_devices: section.flag("waits_for_devices")?,
        })
    }

    fn ipi(&mut self, root: &Section<'_>) -> Result<Ipi, PlatformError> {
        let keys = ["tag_slots", "full_flush_ceiling", "lazy"];
        let section = self.section(root, "ipi", &keys, &[])?;
        Ok(Ipi {
            tag_slots: section.count("tag_slots", 0..=64)?,
            full_flush_ceiling: section.count("full_flush_ceiling", 0..=1 << 21)?,
            lazy: section.flag("lazy")?,
        })
    }

    fn storage(&mut self, root: &Section<'_>) -> Result<Storage, PlatformError> {
        let section = self.section(root, "storage", &["queue_depth"], &[])?;
        Ok(Storage { queue_depth: section.count("queue_depth", 1..=u16::MAX)? })
    }
}

/// The entries of the page-walk cache that x86's INVLPG drops, by vendor: Intel's, AMD's.
const INVLPG_DROPS: &[(&str, Walks)] =
    &[("address-space", Walks::AddressSpace), ("to-page", Walks::ToPage)];

/// The keys of one level of a TLB.
const LEVEL: [&str; 3] = ["entries", "sets", "ways"];

//! A scene's guest memory: the part of the script that needs no GPU.

use std::sync::Arc;

use relic_core::{
    GuestAddress, GuestMemory, GuestRange,
    memory::{HostMapping, HostPool},
};

use super::script::{Event, PAGE, Scene};

/// Where in the pool pages lie that the scene has in none, so that it can be told who touches them: behind all that a scene
/// may have there.
const PRIVATE: u64 = 1 << 48;

/// Guest memory, and the host pages behind it, at the scene's own addresses where those are free.
pub struct SceneMemory {
    memory: Arc<GuestMemory>,
    mappings: Vec<(HostMapping, Option<u64>)>,
    pool: Option<HostPool>,
    /// AND this with addresses.
    mask: u64,
    /// All pages come from the pool, and the script's writes go past the mappings.
    is_traced: bool,
    private: u64,
}

impl Drop for SceneMemory {
    fn drop(&mut self) {
        self.unmap_all();
    }
}

impl SceneMemory {
    /// Memory with nothing mapped.
    #[must_use]
    pub fn new(scene: &Scene) -> Self {
        Self {
            memory: Arc::new(GuestMemory::new()),
            mappings: Vec::new(),
            pool: None,
            mask: scene.address_mask,
            is_traced: false,
            private: PRIVATE,
        }
    }

    /// Memory that tells which of its pages were touched.
    #[must_use]
    pub fn traced(scene: &Scene) -> Self {
        let mut memory = Self::new(scene);
        memory.is_traced = true;
        memory
    }

    /// What the systems read and write.
    #[must_use]
    pub const fn memory(&self) -> &Arc<GuestMemory> {
        &self.memory
    }

    /// The guest address behind one of the scene's.
    #[must_use]
    pub const fn address(&self, address: GuestAddress) -> GuestAddress {
        GuestAddress(address.0 & self.mask)
    }

    /// Does what an event says of memory. Others are left alone.
    ///
    /// # Errors
    /// What can't be done, in words.
    pub fn apply(&mut self, scene: &Scene, event: &Event) -> Result<(), String> {
        match event {
            Event::Region { range, pool } => self.map(*range, *pool),
            Event::Unmap(range) => {
                self.memory.unmap(*range);
                Ok(())
            }
            Event::Write { address, bytes } => self.write(self.address(*address), bytes),
            Event::Pages { address, pages } => {
                let start = self.address(*address);
                for (at, page) in pages.iter().enumerate() {
                    let bytes = scene.pages.get(*page as usize);
                    let bytes = bytes.ok_or_else(|| format!("page {page} does not exist"))?;
                    let address = start.checked_add((at * PAGE) as u64);
                    let address = address.ok_or("pages beyond all addresses")?;
                    self.write(address, bytes.as_slice())?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn map(&mut self, range: GuestRange, pool: Option<u64>) -> Result<(), String> {
        let mut offset = pool;
        if self.is_traced && offset.is_none() {
            offset = Some(self.private);
            self.private += range.size();
        }
        let mapping = match offset {
            None => HostMapping::new(range).map_err(|error| error.to_string())?,
            Some(offset) => {
                let pool = match self.pool.take() {
                    Some(pool) => pool,
                    None => HostPool::new().map_err(|error| format!("no pool of pages: {error}"))?,
                };
                let pool = self.pool.insert(pool);
                HostMapping::of_pool(range, pool, offset).map_err(|error| error.to_string())?
            }
        };
        // SAFETY: the mapping lives until `drop`, which takes the range out of the table first.
        unsafe {
            self.memory
                .map_pooled(range, mapping.as_ptr(), true, "scene", pool)
        }
        .map_err(|error| error.to_string())?;
        self.mappings.push((mapping, offset));
        Ok(())
    }

    fn write(&self, address: GuestAddress, bytes: &[u8]) -> Result<(), String> {
        let reader = self.memory.reader();
        let Some(pool) = self.pool.as_ref().filter(|_| self.is_traced) else {
            return reader
                .write_bytes(address, bytes)
                .map_err(|error| error.to_string());
        };
        let range = GuestRange::new(address, bytes.len() as u64);
        if !reader.is_mapped(range) {
            return Err(format!("guest memory {range} is not mapped"));
        }
        for region in reader.overlapping(range) {
            let host = region.host();
            // The newest one behind the region.
            let found = self.mappings.iter().rev();
            let mut found = found.filter(|(mapping, _)| mapping.as_ptr().addr() == host);
            let Some((_, Some(offset))) = found.next() else {
                return Err(format!("internal: no pages behind {}", region.range()));
            };
            let start = region.range().start().max(address);
            let end = region.range().end().min(range.end());
            let piece = &bytes[(start.0 - address.0) as usize..(end.0 - address.0) as usize];
            pool.write_at(offset + (start.0 - region.range().start().0), piece)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Guest ranges that were touched, in whole pages. Only of [`Self::traced`] memory.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn touched(&self) -> Result<Vec<GuestRange>, String> {
        let mut ranges = Vec::new();
        for (mapping, _) in &self.mappings {
            let touched = mapping
                .touched()
                .map_err(|error| format!("the system does not tell which pages are used: {error}"))?;
            let start = mapping.guest().start().0;
            for (at, _) in touched.iter().enumerate().filter(|(_, touched)| **touched) {
                ranges.push(GuestRange::new(
                    GuestAddress(start + (at * PAGE) as u64),
                    PAGE as u64,
                ));
            }
        }
        Ok(ranges)
    }

    /// Takes everything out of the table. The pages stay until this is dropped.
    pub fn unmap_all(&self) {
        for (mapping, _) in &self.mappings {
            self.memory.unmap(mapping.guest());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DATA, SceneBuilder};
    use super::*;

    #[test]
    fn traced_memory_tells_what_is_read_and_not_what_the_script_writes() {
        let scene = SceneBuilder::new().map(0x40_0000_0000, 0x10_0000).build();
        let mut memory = SceneMemory::traced(&scene);
        for event in &scene.events {
            memory.apply(&scene, event).unwrap();
        }
        let write = Event::Write {
            address: GuestAddress(0x40_0000_0000),
            bytes: vec![5; 0x10_0000],
        };
        memory.apply(&scene, &write).unwrap();
        assert_eq!(memory.touched().unwrap(), []);
        let reader = memory.memory().reader();
        assert_eq!(reader.read_u32(GuestAddress(0x40_0008_0000)), Ok(0x0505_0505));
        let touched = memory.touched().unwrap();
        assert!(
            touched
                .iter()
                .any(|range| range.contains(GuestAddress(0x40_0008_0000)))
        );
        assert!(touched.len() <= 16, "{touched:?}");
        assert!(!touched.iter().any(|range| range.contains(GuestAddress(DATA))));
        let outside = Event::Write {
            address: GuestAddress(0x40_000F_FFFF),
            bytes: vec![5; 2],
        };
        let error = memory.apply(&scene, &outside).unwrap_err();
        assert!(error.contains("not mapped"), "{error}");
    }

    #[test]
    fn regions_of_one_part_of_the_pool_share_their_bytes_until_they_go() {
        let mut scene = SceneBuilder::new().build();
        scene.events.clear();
        let region = |start, pool| Event::Region {
            range: GuestRange::new(GuestAddress(start), 0x2000),
            pool: Some(pool),
        };
        for mut memory in [SceneMemory::new(&scene), SceneMemory::traced(&scene)] {
            let unmap = Event::Unmap(GuestRange::new(GuestAddress(0x42_0000_0000), 0x2000));
            let write = Event::Write {
                address: GuestAddress(0x41_0000_1004),
                bytes: vec![7; 4],
            };
            for event in [
                region(0x41_0000_0000, 0x5000),
                region(0x42_0000_0000, 0x6000),
                write,
            ] {
                memory.apply(&scene, &event).unwrap();
            }
            let there = GuestAddress(0x42_0000_0004);
            assert_eq!(memory.memory().reader().read_u32(there), Ok(0x0707_0707));
            memory.apply(&scene, &unmap).unwrap();
            assert!(memory.memory().reader().read_u32(there).is_err());
        }
    }
}

//! The page table that programs follow guest pointers through, on the device.
//!
//! It maps everything that guest memory has mapped, as nobody knows in front of a row where its pointers lead. So it
//! is only looked after in a run with a row that asks for it. The device may be reading the table at any time: a change
//! makes a new buffer, and the old one goes when the GPU is done with it, as every buffer does.

use ash::vk;
use bevy_ecs::prelude::*;
use hashbrown::HashSet;
use relic_core::{GuestAddress, GuestRange, MemoryReader, memory::Region};
use relic_recompiler::page_table::{PAGE_SIZE, PageTable};
use relic_vulkan::{Buffer, BufferDescription, Device, MemoryKind};

use crate::imports::{ImportStore, WINDOW};

/// See the module's text.
#[derive(Resource, Default)]
pub struct PageTableStore {
    /// What pages that are not there read as. No store reaches it.
    zeros: Option<Buffer>,
    table: Option<Table>,
}

/// The table for one generation of imports.
struct Table {
    /// [`ImportStore::generation`] of the addresses in it.
    generation: u64,
    /// Regions that it has taken in, with their host addresses.
    known: HashSet<(GuestRange, usize)>,
    pages: PageTable,
    /// The pages on the device; `None` where they have changed since.
    buffer: Option<Buffer>,
    /// The run in which guest memory was last compared with it.
    checked: u64,
}

impl PageTableStore {
    /// The table of all that `memory` has mapped, as a buffer. `epoch` is the number of the run.
    ///
    /// # Errors
    /// When writable memory can't be imported, or the device binds no buffer of the table's size.
    pub fn current(
        &mut self,
        device: &Device,
        memory: &MemoryReader,
        imports: &mut ImportStore,
        epoch: u64,
    ) -> Result<Buffer, String> {
        self.follow(device, memory, imports, epoch)
            .map_err(|reason| format!("no page table for the program's guest pointers: {reason}"))
    }

    fn follow(
        &mut self,
        device: &Device,
        memory: &MemoryReader,
        imports: &mut ImportStore,
        epoch: u64,
    ) -> Result<Buffer, String> {
        let generation = imports.generation();
        // After an unmap every window is let go of, and with them all addresses.
        let kept = self.table.take().filter(|table| table.generation == generation);
        let table = match kept {
            Some(table) => table,
            None => Table {
                generation,
                known: HashSet::new(),
                pages: PageTable::new(self.zeros(device)?),
                buffer: None,
                checked: 0,
            },
        };
        let table = self.table.insert(table);
        if table.checked != epoch {
            for region in memory.regions() {
                table.take_in(device, memory, imports, region, epoch)?;
            }
            table.checked = epoch;
        }
        match &table.buffer {
            Some(buffer) => Ok(buffer.clone()),
            None => {
                let words = table.pages.words();
                let size = size_of_val(words) as u64;
                let limit = device.limits().max_storage_range;
                if size > limit {
                    return Err(format!(
                        "it has {size} bytes, and the GPU binds storage buffers of {limit} at most"
                    ));
                }
                let buffer = upload(device, words, vk::BufferUsageFlags::STORAGE_BUFFER)?;
                buffer.set_name("page table");
                Ok(table.buffer.insert(buffer).clone())
            }
        }
    }

    /// Device address of a page of zeros.
    fn zeros(&mut self, device: &Device) -> Result<u64, String> {
        let zeros = match &self.zeros {
            Some(zeros) => zeros,
            None => {
                // A word more than the page: loads at its end need not be aligned.
                let words = [0; PAGE_SIZE as usize / 8 + 1];
                let usage =
                    vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
                let buffer = upload(device, &words, usage)?;
                buffer.set_name("page of zeros");
                self.zeros.insert(buffer)
            }
        };
        zeros
            .device_address()
            .ok_or_else(|| "the GPU gives buffers no addresses".to_owned())
    }
}

impl Table {
    /// Imports a region and maps its pages, unless that is done.
    fn take_in(
        &mut self,
        device: &Device,
        memory: &MemoryReader,
        imports: &mut ImportStore,
        region: &Region,
        epoch: u64,
    ) -> Result<(), String> {
        let range = region.range();
        if self.known.contains(&(range, region.host())) {
            return Ok(());
        }
        let mut start = range.start();
        while start < range.end() {
            let end = GuestAddress((start.0 | (WINDOW - 1)).saturating_add(1)).min(range.end());
            let piece = GuestRange::new(start, end.0 - start.0);
            match address_of(device, memory, imports, piece, epoch) {
                Ok((first, address, size)) => {
                    self.pages.map(first, address, size);
                    self.buffer = None;
                }
                Err(reason) if region.writable() => return Err(reason),
                // Drivers need not import pages that nobody may write: code and constants of the guest's processor.
                Err(reason) => {
                    tracing::warn!(
                        "programs that follow guest pointers read 0 in {} ({piece}): {reason}",
                        region.name()
                    );
                }
            }
            start = end;
        }
        self.known.insert((range, region.host()));
        Ok(())
    }
}

/// The whole pages around a range of one window: first address, device address, bytes.
fn address_of(
    device: &Device,
    memory: &MemoryReader,
    imports: &mut ImportStore,
    range: GuestRange,
    epoch: u64,
) -> Result<(GuestAddress, u64, u64), String> {
    let slice = imports.slice(device, memory, range, epoch)?;
    let first = range.start().align_down(PAGE_SIZE);
    let lead = range.start().0 - first.0;
    let size = (range.end().0 - first.0).next_multiple_of(PAGE_SIZE);
    let whole = slice.offset() >= lead && slice.offset() - lead + size <= slice.buffer().size();
    let address = slice.device_address().filter(|_| whole).ok_or_else(|| {
        format!("guest memory {range} lies across the pages of the host, or has no device address")
    })?;
    Ok((first, address - lead, size))
}

/// A new buffer with these words in it.
fn upload(device: &Device, words: &[u64], usage: vk::BufferUsageFlags) -> Result<Buffer, String> {
    let description = BufferDescription {
        size: size_of_val(words) as u64,
        usage,
        memory: MemoryKind::HostVisible,
    };
    let buffer = device
        .create_buffer(&description)
        .map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    for (i, chunk) in words.chunks(CHUNK).enumerate() {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|word| word.to_le_bytes()));
        // SAFETY: the buffer was just made: neither the GPU nor another thread has it.
        unsafe { buffer.write((i * size_of::<[u64; CHUNK]>()) as u64, &bytes) }
            .map_err(|error| error.to_string())?;
    }
    Ok(buffer)
}

/// Words that are copied at once.
const CHUNK: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::open_device;
    use relic_core::{GuestMemory, memory::HostMapping};
    use relic_recompiler::page_table::LEAF;

    /// Where a table leads from a guest address.
    fn look_up(table: &Buffer, address: u64) -> u64 {
        let word = |index: u64| {
            let mut bytes = [0; 8];
            // SAFETY: nobody writes the buffer any more.
            unsafe { table.read(8 * index, &mut bytes) }.unwrap();
            u64::from_le_bytes(bytes)
        };
        let page = address / PAGE_SIZE;
        word(word(page / LEAF as u64) + page % LEAF as u64) + address % PAGE_SIZE
    }

    #[test]
    fn the_table_follows_what_is_mapped() {
        let device = open_device(true, std::env::var("RELIC_GPU").ok()).unwrap();
        let memory = GuestMemory::new();
        let mappings = [(0x50_4000_0000_u64, 0x3000), (0x51_03FF_F000, 0x2000)].map(|(start, size)| {
            let range = GuestRange::new(GuestAddress(start), size);
            HostMapping::new(range).unwrap()
        });
        // SAFETY: the mappings outlive the memory's use.
        let map = |mapping: &HostMapping| unsafe {
            memory
                .map(mapping.guest(), mapping.as_ptr(), true, "test")
                .unwrap();
        };
        let (mut imports, mut store) = (ImportStore::default(), PageTableStore::default());
        let mut current = |epoch| {
            imports.follow(&memory);
            store
                .current(&device, &memory.reader(), &mut imports, epoch)
                .unwrap()
        };
        let [first, second] = mappings.each_ref().map(|mapping| mapping.guest().start().0);

        map(&mappings[0]);
        let alone = current(1);
        let nothing = look_up(&alone, 0);
        assert_eq!(look_up(&alone, 0x7000_0000_0123), nothing + 0x123);
        assert_eq!(look_up(&alone, first + 0x2004), look_up(&alone, first) + 0x2004);
        assert_eq!(look_up(&alone, first + 0x3000), nothing);
        assert_eq!(look_up(&alone, second), nothing);
        assert_eq!(current(2), alone, "nothing has changed");

        // Across the edge of two windows.
        map(&mappings[1]);
        let both = current(3);
        assert_ne!(both, alone);
        assert_eq!(look_up(&both, first), look_up(&alone, first));
        for page in [second, second + PAGE_SIZE] {
            assert_ne!(look_up(&both, page), nothing);
        }
        assert_eq!(
            look_up(&alone, second),
            nothing,
            "the device may still read the older one"
        );

        memory.unmap(mappings[0].guest());
        let other = current(4);
        assert_eq!(look_up(&other, first), nothing);
        assert_ne!(look_up(&other, second + PAGE_SIZE), nothing);
        assert_eq!(device.validation_messages(), Vec::<String>::new());
    }
}

//! The import store: windows of guest memory that the device reads and writes in place.

use std::ptr::{self, NonNull};

use bevy_ecs::prelude::*;
use relic_core::{GuestAddress, GuestMemory, GuestRange, MemoryReader};
use relic_vulkan::{BufferSlice, Device, HostImport};

/// One window.
struct Window {
    range: GuestRange,
    host: usize,
    import: HostImport,
    last_use: u64,
}

/// See the module's text.
#[derive(Resource, Default)]
pub struct ImportStore {
    windows: Vec<Window>,
    last: usize,
    unmaps: u64,
}

/// A guest range in a window.
#[derive(Clone, Copy, Debug)]
pub struct ImportPlace {
    window: usize,
    offset: u64,
    size: u64,
}

/// Largest window made at once; larger accesses get a window of their own size.
pub(crate) const WINDOW: u64 = 64 << 20;
/// Pages of the host.
const PAGE: u64 = 4096;

impl ImportStore {
    /// Lets go of every window when something was unmapped since the last call: pages behind one may be other
    /// pages now. The device keeps what it is still using.
    pub fn follow(&mut self, memory: &GuestMemory) {
        let unmaps = memory.unmap_count();
        if unmaps != self.unmaps {
            self.unmaps = unmaps;
            self.windows.clear();
        }
    }

    /// Changes when windows are let go of: device addresses of another generation lead nowhere.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.unmaps
    }

    /// How many windows there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.windows.len()
    }

    /// Guest ranges of the windows.
    pub fn ranges(&self) -> impl Iterator<Item = GuestRange> {
        self.windows.iter().map(|window| window.range)
    }

    /// The device's view of a guest range.
    ///
    /// # Errors
    /// When it is not mapped, or the device can't import it.
    pub fn slice(
        &mut self,
        device: &Device,
        memory: &MemoryReader,
        range: GuestRange,
        epoch: u64,
    ) -> Result<BufferSlice<'_>, String> {
        let place = self.locate(device, memory, range, epoch)?;
        self.at(place)
    }

    /// Where the device sees a guest range: several may be located before the first is used.
    ///
    /// # Errors
    /// When it is not mapped, or the device can't import it.
    pub fn locate(
        &mut self,
        device: &Device,
        memory: &MemoryReader,
        range: GuestRange,
        epoch: u64,
    ) -> Result<ImportPlace, String> {
        let index = match self.windows.get(self.last) {
            Some(window) if window.range.covers(range) => self.last,
            _ => match self.windows.iter().position(|window| window.range.covers(range)) {
                Some(index) => index,
                None => {
                    self.windows.push(import(device, memory, range)?);
                    self.windows.len() - 1
                }
            },
        };
        self.last = index;
        let window = &mut self.windows[index];
        window.last_use = epoch;
        Ok(ImportPlace {
            window: index,
            offset: range.start().0 - window.range.start().0,
            size: range.size(),
        })
    }

    /// The device's view of a place that was located since the last [`Self::follow`].
    ///
    /// # Errors
    /// When it is not in its window.
    pub fn at(&self, place: ImportPlace) -> Result<BufferSlice<'_>, String> {
        let buffer = self.windows[place.window].import.buffer();
        buffer
            .slice(place.offset, place.size)
            .map_err(|error| error.to_string())
    }
}

/// Imports a window that covers `range`.
fn import(device: &Device, memory: &MemoryReader, range: GuestRange) -> Result<Window, String> {
    let unmapped = || format!("guest memory {range} is not mapped");
    let first = memory.region(range.start()).ok_or_else(unmapped)?;
    // Host minus guest address is the same for regions that one window can cover.
    let shift = (first.host() as u64).wrapping_sub(first.range().start().0);
    let mut end = first.range().end();
    while end < range.end() {
        let next = memory.region(end).ok_or_else(unmapped)?;
        if (next.host() as u64).wrapping_sub(next.range().start().0) != shift {
            return Err(format!(
                "guest memory {range} lies in two host mappings that are not neighbours"
            ));
        }
        end = next.range().end();
    }
    let region = GuestRange::new(first.range().start(), end.0 - first.range().start().0);
    let start = GuestAddress(range.start().0 & !(WINDOW - 1)).max(region.start());
    let wanted = GuestAddress((range.end().0 + WINDOW - 1) & !(WINDOW - 1)).min(region.end());
    // Host pages are whole, whatever the region's edges are.
    let shifted = |address: GuestAddress| address.0.wrapping_add(shift);
    let host = shifted(start) & !(PAGE - 1);
    let host_end = shifted(wanted).next_multiple_of(PAGE);
    let guest = GuestRange::new(GuestAddress(host.wrapping_sub(shift)), host_end - host);
    let pointer = NonNull::new(ptr::with_exposed_provenance_mut::<u8>(host as usize)).ok_or_else(unmapped)?;
    // SAFETY: the pages belong to mapped regions. `follow` drops windows after an unmap; the contract of guest
    // memory with the system libraries is that pages the GPU is using are not given back before it has finished.
    let import = unsafe { device.import_host(pointer, guest.size()) }.map_err(|error| error.to_string())?;
    Ok(Window {
        range: guest,
        host: host as usize,
        import,
        last_use: 0,
    })
}

impl Drop for Window {
    fn drop(&mut self) {
        tracing::trace!(
            "import of {} (host {:#x}, last used in batch {}) let go",
            self.range,
            self.host,
            self.last_use
        );
    }
}

//! Reads and writes through one snapshot of the region table.

use std::{
    cell::Cell,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
};

use super::{Region, RegionTable, Unmapped, WriteError};
use crate::address::{GuestAddress, GuestRange};

/// Reads guest memory by the table that was current when it was taken. One thread uses it; take another for
/// another thread.
pub struct MemoryReader {
    table: Arc<RegionTable>,
    /// Regions of the last hits, each at the place that an address in it leads to: walks go back and forth between few.
    last: [Cell<Last>; LAST],
}

/// Places for regions of last hits.
const LAST: usize = 8;
/// An address's place among them.
const fn place(address: GuestAddress) -> usize {
    ((address.0 >> 16 ^ address.0 >> 24) % LAST as u64) as usize
}

/// A region, for look-ups without the table.
#[derive(Clone, Copy)]
struct Last {
    index: usize,
    range: GuestRange,
    host: usize,
}

impl Last {
    const NONE: Self = Self {
        index: usize::MAX,
        range: GuestRange::new(GuestAddress(0), 0),
        host: 0,
    };
}

impl MemoryReader {
    pub(super) fn new(table: Arc<RegionTable>) -> Self {
        Self {
            table,
            last: [const { Cell::new(Last::NONE) }; LAST],
        }
    }

    /// The region that holds `address`.
    #[must_use]
    pub fn region(&self, address: GuestAddress) -> Option<&Region> {
        let known = &self.last[place(address)];
        let last = known.get();
        if last.range.contains(address) {
            return self.table.regions.get(last.index);
        }
        let index = self.table.find(address)?;
        let region = &self.table.regions[index];
        known.set(Last {
            index,
            range: region.range(),
            host: region.host(),
        });
        Some(region)
    }

    /// Changes whenever regions come, go or change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.table.version
    }

    /// All regions, in the order of their addresses.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        &self.table.regions
    }

    /// The regions with an address in `range`, in the order of their addresses.
    #[must_use]
    pub fn overlapping(&self, range: GuestRange) -> &[Region] {
        self.table.overlapping(range)
    }

    /// Whether every byte of `range` is mapped. An empty range is.
    #[must_use]
    pub fn is_mapped(&self, range: GuestRange) -> bool {
        self.pieces(range, |_, _, _| Ok::<(), Unmapped>(())).is_ok()
    }

    /// Host address of `range` when one region holds all of it.
    #[must_use]
    #[inline]
    pub fn host_range(&self, range: GuestRange) -> Option<usize> {
        let known = &self.last[place(range.start())];
        if !known.get().range.contains(range.start()) {
            self.region(range.start())?;
        }
        let last = known.get();
        last.range
            .covers(range)
            .then(|| last.host + (range.start().0 - last.range.start().0) as usize)
    }

    /// The 32-bit word at `address`, at any alignment.
    ///
    /// # Errors
    /// [`Unmapped`] when one of its bytes is not mapped.
    #[inline]
    pub fn read_u32(&self, address: GuestAddress) -> Result<u32, Unmapped> {
        let range = GuestRange::new(address, 4);
        match self.host_range(range) {
            Some(host) if host.is_multiple_of(4) => {
                // SAFETY: the table says these four bytes are mapped, they are aligned, and the bytes are only
                // ever accessed by atomics (contract of `GuestMemory::map`).
                let word = unsafe { AtomicU32::from_ptr(ptr::with_exposed_provenance_mut(host)) };
                Ok(word.load(Ordering::Relaxed))
            }
            _ => {
                let mut bytes = [0; 4];
                self.read_bytes(address, &mut bytes)?;
                Ok(u32::from_le_bytes(bytes))
            }
        }
    }

    /// The 64-bit word at `address`, at any alignment; in one piece when it is aligned.
    ///
    /// # Errors
    /// [`Unmapped`] when one of its bytes is not mapped.
    pub fn read_u64(&self, address: GuestAddress) -> Result<u64, Unmapped> {
        match self.host_range(GuestRange::new(address, 8)) {
            Some(host) if host.is_multiple_of(8) => {
                // SAFETY: as in `read_u32`, for eight bytes.
                let word = unsafe { AtomicU64::from_ptr(ptr::with_exposed_provenance_mut(host)) };
                Ok(word.load(Ordering::Relaxed))
            }
            _ => {
                let mut bytes = [0; 8];
                self.read_bytes(address, &mut bytes)?;
                Ok(u64::from_le_bytes(bytes))
            }
        }
    }

    /// Copies words from `address` on.
    ///
    /// # Errors
    /// [`Unmapped`] when a byte of them is not mapped; `out` then holds what came before it.
    #[inline]
    pub fn read_words(&self, address: GuestAddress, out: &mut [u32]) -> Result<(), Unmapped> {
        let range = GuestRange::new(address, size_of_val(out) as u64);
        if let Some(host) = self.host_range(range)
            && host.is_multiple_of(4)
        {
            for (i, word) in out.iter_mut().enumerate() {
                // SAFETY: as in `read_u32`; the host range covers all words.
                let source = unsafe { AtomicU32::from_ptr(ptr::with_exposed_provenance_mut(host + 4 * i)) };
                *word = source.load(Ordering::Relaxed);
            }
            return Ok(());
        }
        for (i, word) in out.iter_mut().enumerate() {
            let at = address.checked_add(4 * i as u64).ok_or(Unmapped { range })?;
            *word = self.read_u32(at)?;
        }
        Ok(())
    }

    /// Copies bytes from `address` on.
    ///
    /// # Errors
    /// [`Unmapped`] when one of them is not mapped.
    pub fn read_bytes(&self, address: GuestAddress, out: &mut [u8]) -> Result<(), Unmapped> {
        let range = GuestRange::new(address, out.len() as u64);
        self.pieces(range, |_, host, piece| {
            let at = (piece.start().0 - address.0) as usize;
            load_bytes(host, &mut out[at..at + piece.size() as usize]);
            Ok(())
        })
    }

    /// Stores a 32-bit word, at once when it is aligned, and after everything this thread stored before.
    ///
    /// # Errors
    /// [`WriteError`] when it is not mapped or read-only; nothing is written then.
    pub fn write_u32(&self, address: GuestAddress, value: u32) -> Result<(), WriteError> {
        self.write_bytes(address, &value.to_le_bytes())
    }

    /// Stores a 64-bit word, as [`Self::write_u32`].
    ///
    /// # Errors
    /// [`WriteError`] when it is not mapped or read-only; nothing is written then.
    pub fn write_u64(&self, address: GuestAddress, value: u64) -> Result<(), WriteError> {
        self.write_bytes(address, &value.to_le_bytes())
    }

    /// Stores bytes.
    ///
    /// # Errors
    /// [`WriteError`] when one of them is not mapped or read-only; nothing is written then.
    pub fn write_bytes(&self, address: GuestAddress, bytes: &[u8]) -> Result<(), WriteError> {
        let range = GuestRange::new(address, bytes.len() as u64);
        self.pieces(range, |region, _, _| {
            if region.writable() {
                Ok(())
            } else {
                Err(WriteError::ReadOnly {
                    range,
                    region: region.name().to_owned(),
                })
            }
        })?;
        self.pieces(range, |_, host, piece| {
            let at = (piece.start().0 - address.0) as usize;
            store_bytes(host, &bytes[at..at + piece.size() as usize]);
            Ok(())
        })
    }

    /// Calls `each` with every region's part of `range`: region, host address, guest range of the part.
    fn pieces<E: From<Unmapped>>(
        &self,
        range: GuestRange,
        mut each: impl FnMut(&Region, usize, GuestRange) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = range.start();
        while at < range.end() {
            let region = self.region(at).ok_or(Unmapped { range })?;
            let end = region.range().end().min(range.end());
            let host = region.host() + (at.0 - region.range().start().0) as usize;
            each(region, host, GuestRange::new(at, end.0 - at.0))?;
            at = end;
        }
        Ok(())
    }
}

/// Copies bytes out, eight at a time where the source is aligned.
fn load_bytes(host: usize, out: &mut [u8]) {
    let mut at = 0;
    while at < out.len() {
        let source = host + at;
        if source.is_multiple_of(8) && out.len() - at >= 8 {
            // SAFETY: the caller's piece covers the eight bytes, they are aligned, and only atomics access them.
            let word = unsafe { AtomicU64::from_ptr(ptr::with_exposed_provenance_mut(source)) };
            out[at..at + 8].copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
            at += 8;
        } else {
            // SAFETY: as above, for one byte.
            let byte = unsafe { AtomicU8::from_ptr(ptr::with_exposed_provenance_mut(source)) };
            out[at] = byte.load(Ordering::Relaxed);
            at += 1;
        }
    }
}

/// Stores bytes, in the largest aligned pieces, so that an aligned word never shows half written.
fn store_bytes(host: usize, bytes: &[u8]) {
    let mut at = 0;
    while at < bytes.len() {
        let target = host + at;
        let left = &bytes[at..];
        if let (true, Some(chunk)) = (target.is_multiple_of(8), left.first_chunk::<8>()) {
            // SAFETY: the caller's piece covers the eight bytes, they are aligned, and only atomics access them.
            let word = unsafe { AtomicU64::from_ptr(ptr::with_exposed_provenance_mut(target)) };
            word.store(u64::from_le_bytes(*chunk), Ordering::Release);
            at += 8;
        } else if let (true, Some(chunk)) = (target.is_multiple_of(4), left.first_chunk::<4>()) {
            // SAFETY: as above, for four bytes.
            let word = unsafe { AtomicU32::from_ptr(ptr::with_exposed_provenance_mut(target)) };
            word.store(u32::from_le_bytes(*chunk), Ordering::Release);
            at += 4;
        } else {
            // SAFETY: as above, for one byte.
            let byte = unsafe { AtomicU8::from_ptr(ptr::with_exposed_provenance_mut(target)) };
            byte.store(left[0], Ordering::Release);
            at += 1;
        }
    }
}

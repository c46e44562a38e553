//! The guest's address space: what is mapped where, and the host calls that make it so.

use std::{
    collections::BTreeMap,
    ffi::c_int,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use relic_core::{GuestAddress, GuestRange};

use super::{DIRECT_SIZE, FLEXIBLE_SIZE, PAGE, is_page_multiple, physical::Physical};
use crate::{
    log,
    pointer::{address_of, host},
    process,
    result::Errno,
};

/// Where mappings without a fixed address go. Below 2^40, as GPU descriptors hold 40-bit addresses; the hole is
/// the console's own.
const ARENA: [(u64, u64); 2] = [(0x2_0000_0000, 0x7_FFFF_C000), (0x10_0000_0000, 0x72_0000_0000)];

/// What is behind a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backing {
    /// The pool, from this offset on, with a memory type.
    Direct { offset: u64, kind: i32 },
    /// Anonymous pages.
    Flexible,
    /// Anonymous pages of the C library's heap, which no budget counts.
    Heap,
    /// Nothing: addresses only.
    Reserved,
}

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) backing: Backing,
    /// The console's protection bits.
    pub(super) protection: u32,
    pub(super) name: String,
}

impl Mapping {
    /// The part from `start` to `end`.
    fn part(&self, start: u64, end: u64) -> Self {
        let backing = match self.backing {
            Backing::Direct { offset, kind } => Backing::Direct {
                offset: offset + (start - self.start),
                kind,
            },
            other => other,
        };
        Self {
            start,
            end,
            backing,
            ..self.clone()
        }
    }

    const fn size(&self) -> u64 {
        self.end - self.start
    }
}

/// How a mapping's address is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placement {
    /// The address asked for; 0 for any.
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) flags: u32,
}

/// Map flag: exactly at the address.
const FIXED: u32 = 0x10;
/// Map flag: not over existing mappings.
const NO_OVERWRITE: u32 = 0x80;
/// Map flags that there are: the two above, NO_COALESCE, and one that the system adds.
const FLAGS: u32 = FIXED | NO_OVERWRITE | 0x40_0000 | 0x8000;
/// Protection bits that there are.
const PROTECTION: u32 = 0x3f7;

/// Address space and pool.
#[derive(Debug, Default)]
pub(super) struct Space {
    mappings: BTreeMap<u64, Mapping>,
    pub(super) physical: Physical,
    file: Option<OwnedFd>,
    flexible_used: u64,
}

/// Where the C library's heap looks for addresses: away from where a program's own mappings begin.
const HEAP_HINT: u64 = 0x68_0000_0000;

/// Maps memory for the C library's heap, of addresses that fit the GPU's descriptors. Null where there is none.
pub(crate) fn map_heap(size: usize, alignment: u64) -> *mut std::ffi::c_void {
    let placement = Placement {
        address: HEAP_HINT,
        size: size as u64,
        alignment,
        flags: 0,
    };
    match space().map(placement, Backing::Heap, 0x33, "heap") {
        Ok(address) => host(address),
        Err(_) => std::ptr::null_mut(),
    }
}

/// The one address space.
pub(super) fn space() -> MutexGuard<'static, Space> {
    static SPACE: LazyLock<Mutex<Space>> = LazyLock::new(Mutex::default);
    SPACE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The host's protection. The GPU works through the same pages, so its rights count too.
fn host_protection(protection: u32) -> c_int {
    let mut bits = libc::PROT_NONE;
    if protection & 0x37 != 0 {
        bits |= libc::PROT_READ;
    }
    if protection & 0x22 != 0 {
        bits |= libc::PROT_WRITE;
    }
    if protection & 4 != 0 {
        bits |= libc::PROT_EXEC;
    }
    bits
}

const fn is_writable(protection: u32) -> bool {
    protection & 0x22 != 0
}

fn range(start: u64, end: u64) -> GuestRange {
    GuestRange::new(GuestAddress(start), end - start)
}

impl Space {
    /// Maps. Returns the address.
    pub(super) fn map(
        &mut self,
        placement: Placement,
        backing: Backing,
        protection: u32,
        name: &str,
    ) -> Result<u64, Errno> {
        let Placement {
            address, size, flags, ..
        } = placement;
        if size == 0 || !is_page_multiple(size) || protection & !PROTECTION != 0 || flags & !FLAGS != 0 {
            return Err(Errno::EINVAL);
        }
        if let Backing::Direct { offset, .. } = backing {
            if !is_page_multiple(offset) || offset.checked_add(size).is_none_or(|end| end > DIRECT_SIZE) {
                return Err(Errno::EINVAL);
            }
            if !self.physical.holds(offset, size) {
                return Err(Errno::EACCES);
            }
        }
        if backing == Backing::Flexible && self.flexible_used + size > FLEXIBLE_SIZE {
            return Err(Errno::ENOMEM);
        }
        let alignment = match placement.alignment {
            0 => PAGE,
            alignment if alignment.is_power_of_two() => alignment.max(PAGE),
            _ => return Err(Errno::EINVAL),
        };
        let start = if flags & FIXED != 0 {
            self.map_fixed(address, size, flags, backing, protection)?
        } else {
            self.map_anywhere(address, size, alignment, backing, protection)?
        };
        if backing == Backing::Flexible {
            self.flexible_used += size;
        }
        let mapping = Mapping {
            start,
            end: start + size,
            backing,
            protection,
            name: name.to_owned(),
        };
        enter(&mapping);
        self.mappings.insert(start, mapping);
        Ok(start)
    }

    fn map_fixed(
        &mut self,
        address: u64,
        size: u64,
        flags: u32,
        backing: Backing,
        protection: u32,
    ) -> Result<u64, Errno> {
        if address == 0 || !is_page_multiple(address) || address.checked_add(size).is_none() {
            return Err(Errno::EINVAL);
        }
        let end = address + size;
        let covered = self
            .overlapping(address, end)
            .iter()
            .map(Mapping::size)
            .sum::<u64>();
        if covered > 0 && flags & NO_OVERWRITE != 0 {
            return Err(Errno::ENOMEM);
        }
        if covered > 0 {
            // What lies there goes first. Our own pages are replaced, and nobody else's.
            self.unmap(address, size)?;
        }
        self.host_map(address, size, backing, protection)?;
        Ok(address)
    }

    fn map_anywhere(
        &mut self,
        hint: u64,
        size: u64,
        alignment: u64,
        backing: Backing,
        protection: u32,
    ) -> Result<u64, Errno> {
        for (arena_start, arena_end) in ARENA {
            let mut at = arena_start.max(hint);
            while let Some(start) = at.checked_next_multiple_of(alignment) {
                let Some(end) = start.checked_add(size).filter(|end| *end <= arena_end) else {
                    break;
                };
                if let Some(last) = self.overlapping(start, end).last() {
                    at = last.end;
                } else if self.host_map(start, size, backing, protection).is_ok() {
                    return Ok(start);
                } else {
                    // Something of the host lies there: step over it by pages that grow with the request.
                    at = start + size.max(alignment);
                }
            }
        }
        Err(Errno::ENOMEM)
    }

    /// The host call. Never replaces a mapping that exists.
    fn host_map(&mut self, address: u64, size: u64, backing: Backing, protection: u32) -> Result<(), Errno> {
        let (flags, file, offset, bits) = match backing {
            Backing::Direct { offset, .. } => (
                libc::MAP_SHARED,
                self.file()?,
                offset,
                host_protection(protection),
            ),
            Backing::Flexible | Backing::Heap => (
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
                host_protection(protection),
            ),
            Backing::Reserved => (
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
                libc::PROT_NONE,
            ),
        };
        // SAFETY: NOREPLACE touches no existing mapping.
        let mapped = unsafe {
            libc::mmap(
                host(address),
                size as usize,
                bits,
                flags | libc::MAP_FIXED_NOREPLACE,
                file,
                offset.cast_signed(),
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(Errno::ENOMEM);
        }
        if address_of(mapped) != address {
            // A kernel older than 4.17 takes the address as a hint.
            // SAFETY: the mapping that was just made.
            unsafe { libc::munmap(mapped, size as usize) };
            return Err(Errno::ENOMEM);
        }
        Ok(())
    }

    /// The pool's memory file, made at first use.
    fn file(&mut self) -> Result<c_int, Errno> {
        if let Some(file) = &self.file {
            return Ok(file.as_raw_fd());
        }
        // SAFETY: a constant name; the descriptor is ours alone.
        let file = unsafe {
            let descriptor = libc::memfd_create(
                c"relic-direct-memory".as_ptr(),
                libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING,
            );
            if descriptor < 0 {
                return Err(self.no_pool());
            }
            OwnedFd::from_raw_fd(descriptor)
        };
        let descriptor = file.as_raw_fd();
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: our descriptor.
        let sized = unsafe {
            libc::ftruncate(descriptor, DIRECT_SIZE.cast_signed()) == 0
                && libc::fcntl(descriptor, libc::F_ADD_SEALS, seals) == 0
        };
        if !sized {
            return Err(self.no_pool());
        }
        self.file = Some(file);
        Ok(descriptor)
    }

    fn no_pool(&self) -> Errno {
        log::warn(format_args!(
            "no memory file for the direct memory pool ({} MiB): {}",
            DIRECT_SIZE >> 20,
            std::io::Error::last_os_error()
        ));
        Errno::ENOMEM
    }

    /// Unmaps what is mapped in the range.
    pub(super) fn unmap(&mut self, start: u64, size: u64) -> Result<(), Errno> {
        let end = check_range(start, size)?;
        for mapping in self.cut(start, end) {
            process::memory().unmap(range(mapping.start, mapping.end));
            // SAFETY: pages that `host_map` made, out of the region table by now.
            unsafe { libc::munmap(host(mapping.start), mapping.size() as usize) };
            if mapping.backing == Backing::Flexible {
                self.flexible_used -= mapping.size();
            }
        }
        Ok(())
    }

    /// Changes protection, and the memory type where one is given.
    pub(super) fn protect(
        &mut self,
        start: u64,
        size: u64,
        protection: u32,
        kind: Option<i32>,
    ) -> Result<(), Errno> {
        if protection & !PROTECTION != 0 {
            return Err(Errno::EINVAL);
        }
        // The console rounds to its pages.
        let first = start & !(PAGE - 1);
        let size = start
            .checked_add(size)
            .and_then(|end| end.checked_next_multiple_of(PAGE))
            .ok_or(Errno::EINVAL)?
            - first;
        let end = check_range(first, size)?;
        if self.overlapping(first, end).is_empty() {
            return Err(Errno::ENOMEM);
        }
        for mut mapping in self.cut(first, end) {
            if mapping.backing != Backing::Reserved {
                // Readers must be gone before rights go.
                process::memory().unmap(range(mapping.start, mapping.end));
                // SAFETY: pages that `host_map` made.
                let done = unsafe {
                    libc::mprotect(
                        host(mapping.start),
                        mapping.size() as usize,
                        host_protection(protection),
                    )
                };
                if done == 0 {
                    mapping.protection = protection;
                    if let (Backing::Direct { offset, .. }, Some(kind)) = (mapping.backing, kind) {
                        mapping.backing = Backing::Direct { offset, kind };
                    }
                }
                enter(&mapping);
            }
            self.mappings.insert(mapping.start, mapping);
        }
        Ok(())
    }

    /// Names what is mapped in the range.
    pub(super) fn rename(&mut self, start: u64, size: u64, name: &str) -> Result<(), Errno> {
        let end = check_range(start, size)?;
        for mut mapping in self.cut(start, end) {
            name.clone_into(&mut mapping.name);
            self.mappings.insert(mapping.start, mapping);
        }
        Ok(())
    }

    /// Gives physical pages back: their mappings go, and they read as zeros when they are used again.
    pub(super) fn release(&mut self, offset: u64, size: u64) -> Result<(), Errno> {
        if !is_page_multiple(offset) || !is_page_multiple(size) {
            return Err(Errno::EINVAL);
        }
        let end = offset.checked_add(size).ok_or(Errno::EINVAL)?;
        let mapped: Vec<(u64, u64)> = self
            .mappings
            .values()
            .filter_map(|mapping| match mapping.backing {
                Backing::Direct { offset: first, .. } if first < end && offset < first + mapping.size() => {
                    let from = offset.max(first);
                    let to = end.min(first + mapping.size());
                    Some((mapping.start + (from - first), to - from))
                }
                _ => None,
            })
            .collect();
        for (start, size) in mapped {
            self.unmap(start, size)?;
        }
        self.physical.release(offset, size);
        if let Some(file) = &self.file
            && size > 0
        {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: our descriptor; nobody maps these pages any more.
            let done =
                unsafe { libc::fallocate(file.as_raw_fd(), mode, offset.cast_signed(), size.cast_signed()) };
            if done != 0 {
                log::warn(format_args!(
                    "released direct memory {offset:#x} + {size:#x} could not be cleared: {}",
                    std::io::Error::last_os_error()
                ));
            }
        }
        Ok(())
    }

    /// Takes the mappings' parts inside the range out of the table; the parts outside stay.
    fn cut(&mut self, start: u64, end: u64) -> Vec<Mapping> {
        let mut inside = Vec::new();
        for mapping in self.overlapping(start, end) {
            self.mappings.remove(&mapping.start);
            let (from, to) = (start.max(mapping.start), end.min(mapping.end));
            for (part_start, part_end) in [(mapping.start, from), (to, mapping.end)] {
                if part_start < part_end {
                    self.mappings
                        .insert(part_start, mapping.part(part_start, part_end));
                }
            }
            inside.push(mapping.part(from, to));
        }
        inside
    }

    fn overlapping(&self, start: u64, end: u64) -> Vec<Mapping> {
        let before = self.mappings.range(..start).next_back();
        before
            .into_iter()
            .chain(self.mappings.range(start..end))
            .map(|(_, mapping)| mapping)
            .filter(|mapping| mapping.start < end && start < mapping.end)
            .cloned()
            .collect()
    }

    /// The mapping at the address, or the next above it.
    pub(super) fn find(&self, address: u64, or_above: bool) -> Option<&Mapping> {
        let at = self
            .mappings
            .range(..=address)
            .next_back()
            .map(|(_, mapping)| mapping)
            .filter(|mapping| address < mapping.end);
        at.or_else(|| {
            or_above
                .then(|| self.mappings.range(address..).next().map(|(_, mapping)| mapping))
                .flatten()
        })
    }

    /// Flexible memory that is left, in bytes.
    pub(super) const fn flexible_left(&self) -> u64 {
        FLEXIBLE_SIZE - self.flexible_used
    }
}

fn check_range(start: u64, size: u64) -> Result<u64, Errno> {
    if size == 0 || !is_page_multiple(start) || !is_page_multiple(size) {
        return Err(Errno::EINVAL);
    }
    start.checked_add(size).ok_or(Errno::EINVAL)
}

/// Puts a mapping into the runtime's region table, if it can be read at all.
fn enter(mapping: &Mapping) {
    if mapping.backing == Backing::Reserved || mapping.protection & 0x37 == 0 {
        return;
    }
    let pool = match mapping.backing {
        Backing::Direct { offset, .. } => Some(offset),
        _ => None,
    };
    // SAFETY: the pages exist, and `unmap` and `protect` take them out of the table before they change.
    let entered = unsafe {
        process::memory().map_pooled(
            range(mapping.start, mapping.end),
            host(mapping.start),
            is_writable(mapping.protection),
            &mapping.name,
            pool,
        )
    };
    if let Err(overlap) = entered {
        log::warn(format_args!(
            "the runtime's region table disagrees with libkernel's: {overlap}"
        ));
    }
}

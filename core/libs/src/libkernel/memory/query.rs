//! Describing mappings.

use relic_macros::guest_fn;

use super::space::{Backing, space};
use crate::{
    pointer::Out,
    result::{Errno, SceResult},
};

/// What `sceKernelVirtualQuery` stores: 72 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct VirtualQueryInfo {
    start: u64,
    end: u64,
    /// Offset in the pool, for direct memory.
    offset: u64,
    protection: u32,
    kind: i32,
    /// Bit 0 flexible, 1 direct, 2 stack, 3 pooled, 4 committed.
    state: u8,
    name: [u8; 32],
}

const FLEXIBLE: u8 = 1;
const DIRECT: u8 = 2;
const COMMITTED: u8 = 0x10;
/// Query flag: the next mapping where there is none at the address.
const FIND_NEXT: i32 = 1;

/// Describes the mapping at an address.
#[guest_fn(
    libkernel,
    partial = "thread stacks and the program's own segments are not listed"
)]
pub(crate) extern "sysv64" fn sceKernelVirtualQuery(
    address: u64,
    flags: i32,
    out: Out<VirtualQueryInfo>,
    size: u64,
) -> SceResult {
    if size < size_of::<VirtualQueryInfo>() as u64 || flags & !FIND_NEXT != 0 {
        return Errno::EINVAL.sce();
    }
    let space = space();
    let Some(mapping) = space.find(address, flags & FIND_NEXT != 0) else {
        return Errno::EACCES.sce();
    };
    let (offset, kind, state) = match mapping.backing {
        Backing::Direct { offset, kind } => (offset, kind, DIRECT | COMMITTED),
        Backing::Flexible | Backing::Heap => (0, 0, FLEXIBLE | COMMITTED),
        Backing::Reserved => (0, 0, 0),
    };
    let mut name = [0; 32];
    let length = mapping.name.len().min(31);
    name[..length].copy_from_slice(&mapping.name.as_bytes()[..length]);
    let info = VirtualQueryInfo {
        start: mapping.start,
        end: mapping.end,
        offset,
        protection: mapping.protection,
        kind,
        state,
        name,
    };
    if out.write(info) {
        SceResult::OK
    } else {
        Errno::EFAULT.sce()
    }
}

/// Stores bounds and rights of the mapping at an address.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelQueryMemoryProtection(
    address: u64,
    start: Out<u64>,
    end: Out<u64>,
    protection: Out<u32>,
) -> SceResult {
    let space = space();
    let Some(mapping) = space.find(address, false) else {
        return Errno::EACCES.sce();
    };
    start.write(mapping.start);
    end.write(mapping.end);
    protection.write(mapping.protection);
    SceResult::OK
}

#[cfg(test)]
mod tests {
    use super::super::{DIRECT_SIZE, direct::*, flexible::*, map::*};
    use super::*;
    use crate::{pointer::host, process};
    use relic_core::{GuestAddress, GuestRange};

    /// A guest variable of the test.
    fn place<T>(value: &mut T) -> Out<T> {
        // SAFETY: the value outlives the calls it is used in.
        unsafe { Out::new(value) }
    }

    fn query(address: u64, flags: i32) -> Option<VirtualQueryInfo> {
        assert_eq!(size_of::<VirtualQueryInfo>(), 72);
        let mut info = std::mem::MaybeUninit::zeroed();
        // SAFETY: a place of ours.
        let out = unsafe { Out::new(info.as_mut_ptr()) };
        let result = sceKernelVirtualQuery(address, flags, out, 72);
        // SAFETY: filled by the call.
        (result == SceResult::OK).then(|| unsafe { info.assume_init() })
    }

    fn is_mapped(address: u64) -> bool {
        process::memory()
            .reader()
            .is_mapped(GuestRange::new(GuestAddress(address), 4))
    }

    #[test]
    fn direct_memory_aliases_and_comes_back_zeroed() {
        let mut offset = 0;
        let size = 0x10000;
        assert_eq!(
            sceKernelAllocateDirectMemory(0, DIRECT_SIZE as i64, size, 0x10000, 3, place(&mut offset)),
            SceResult::OK
        );
        let (mut first, mut second) = (0, 0);
        assert_eq!(
            sceKernelMapDirectMemory(place(&mut first), size, 0x33, 0, offset, 0x10000),
            SceResult::OK
        );
        assert_eq!(
            sceKernelMapDirectMemory(place(&mut second), 0x4000, 0x33, 0, offset + 0x4000, 0),
            SceResult::OK
        );
        assert!((0x2_0000_0000..1 << 40).contains(&first) && first % 0x10000 == 0);
        let word: *mut u32 = host(first + 0x4000);
        // SAFETY: pages that were just mapped.
        unsafe { word.write_volatile(77) };
        assert_eq!(
            process::memory().reader().read_u32(GuestAddress(second)),
            Ok(77),
            "both mappings show the same pages"
        );
        let info = query(second + 5, 0).unwrap();
        assert_eq!(
            (info.start, info.end, info.offset),
            (second, second + 0x4000, offset + 0x4000)
        );
        assert_eq!((info.kind, info.state, info.protection), (3, 0x12, 0x33));

        assert_eq!(sceKernelMunmap(first + 0x4000, 0x4000), SceResult::OK);
        assert!(is_mapped(first) && !is_mapped(first + 0x4000) && is_mapped(first + 0x8000));
        assert_eq!(query(first + 0x8000, 0).unwrap().offset, offset + 0x8000);
        assert_eq!(query(first + 0x4000, 1).unwrap().start, first + 0x8000);

        assert_eq!(sceKernelReleaseDirectMemory(offset, size), SceResult::OK);
        assert!(!is_mapped(first) && !is_mapped(second), "releasing unmaps");
        assert_eq!(
            sceKernelMapDirectMemory(place(&mut first), size, 0x33, 0, offset, 0),
            SceResult::code(0x8002_000d)
        );
        let mut again = 0;
        let end = (offset + size) as i64;
        assert_eq!(
            sceKernelAllocateDirectMemory(offset as i64, end, size, 0, 0, place(&mut again)),
            SceResult::OK
        );
        let mut third = 0;
        assert_eq!(
            sceKernelMapNamedDirectMemory(place(&mut third), size, 3, 0, again, 0, {
                // SAFETY: a C string.
                unsafe { Text::new(c"third".as_ptr().cast()) }
            }),
            SceResult::OK
        );
        assert_eq!(
            process::memory().reader().read_u32(GuestAddress(third + 0x4000)),
            Ok(0)
        );
        assert_eq!(&query(third, 0).unwrap().name[..6], b"third\0");
        assert_eq!(sceKernelReleaseDirectMemory(again, size), SceResult::OK);
    }

    #[test]
    fn fixed_mappings_replace_and_protect_changes_rights() {
        let mut base = 0x30_0000_0000;
        assert_eq!(
            sceKernelReserveVirtualRange(place(&mut base), 0x10000, 0x10, 0),
            SceResult::OK
        );
        assert!(!is_mapped(base), "a reservation can't be read");
        let mut at = base + 0x4000;
        assert_eq!(
            sceKernelMapFlexibleMemory(place(&mut at), 0x4000, 3, 0x90),
            SceResult::code(0x8002_000c),
            "NO_OVERWRITE"
        );
        let mut before = 0;
        sceKernelAvailableFlexibleMemorySize(place(&mut before));
        assert_eq!(
            sceKernelMapFlexibleMemory(place(&mut at), 0x4000, 3, 0x10),
            SceResult::OK
        );
        assert_eq!(at, base + 0x4000);
        assert!(is_mapped(at));
        let mut after = 0;
        sceKernelAvailableFlexibleMemorySize(place(&mut after));
        assert_eq!(before - after, 0x4000);
        assert_eq!(sceKernelMprotect(at, 0x4000, 1), SceResult::OK);
        assert!(process::memory().reader().write_u32(GuestAddress(at), 1).is_err());
        assert_eq!(sceKernelMprotect(at, 0x4000, 0), SceResult::OK);
        assert!(!is_mapped(at));
        assert_eq!(sceKernelMprotect(at, 0x4000, 2), SceResult::OK);
        assert!(process::memory().reader().write_u32(GuestAddress(at), 1).is_ok());
        assert_eq!(sceKernelMunmap(base, 0x10000), SceResult::OK);
        assert_eq!(query(base, 0), None);
        let mut odd = base + 0x100;
        assert_eq!(
            sceKernelMapFlexibleMemory(place(&mut odd), 0x4000, 3, 0x10),
            SceResult::code(0x8002_0016)
        );
    }

    use crate::pointer::Text;
}

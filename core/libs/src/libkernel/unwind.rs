//! Where a module's unwind tables are: for the unwinder of the guest's own C++ library.

use std::ffi::{c_int, c_void};

use relic_macros::guest_fn;

use crate::{
    pointer::{In, Out, host},
    result::{Errno, SceResult},
};

/// What `sceKernelGetModuleInfoForUnwind` stores: 304 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct UnwindInfo {
    /// Set by the caller to the record's size.
    size: u64,
    name: [u8; 256],
    header: u64,
    frames: u64,
    frames_size: u64,
    first_segment: u64,
    first_segment_size: u64,
}

/// `PT_GNU_EH_FRAME`.
const EH_FRAME: u32 = 0x6474_e550;
/// `DW_EH_PE_pcrel | DW_EH_PE_sdata4`: how linkers write the pointer to the frames.
const RELATIVE: u8 = 0x1b;

struct Search {
    address: u64,
    found: Option<UnwindInfo>,
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the caller's search, and the loader's record, valid during the callback.
    let (search, info) = unsafe { (&mut *search.cast::<Search>(), &*info) };
    let mut segment = None;
    let mut first = None;
    let mut header = None;
    let mut segments = Vec::new();
    for i in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: the loader counts its program headers.
        let entry = unsafe { &*info.dlpi_phdr.add(i) };
        let start = info.dlpi_addr + entry.p_vaddr;
        let range = start..start + entry.p_memsz;
        if entry.p_type == libc::PT_LOAD {
            first.get_or_insert((start, entry.p_memsz));
            if range.contains(&search.address) {
                segment = Some(());
            }
            segments.push(range);
        } else if entry.p_type == EH_FRAME {
            header = Some(start);
        }
    }
    let (Some(()), Some((first_segment, first_segment_size)), Some(header)) = (segment, first, header) else {
        return 0;
    };
    // SAFETY: the module's own unwind header, which is mapped: version, three encodings, pointer to the frames.
    let (start, offset) = unsafe { (In::<[u8; 4]>::new(host(header)), In::<i32>::new(host(header + 4))) };
    let (Some([1, RELATIVE, _, _]), Some(offset)) = (start.read(), offset.read()) else {
        return 0;
    };
    let frames = (header + 4).wrapping_add_signed(i64::from(offset));
    let frames_size = segments
        .iter()
        .find(|range| range.contains(&frames))
        .map_or(0, |range| range.end - frames);
    // SAFETY: the loader's names are strings.
    let path = unsafe { std::ffi::CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let mut name = [0; 256];
    let length = path.len().min(255);
    name[..length].copy_from_slice(&path[..length]);
    search.found = Some(UnwindInfo {
        size: size_of::<UnwindInfo>() as u64,
        name,
        header,
        frames,
        frames_size,
        first_segment,
        first_segment_size,
    });
    1
}

/// Stores where the unwind tables of the module around an address are; ESRCH where there is none.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetModuleInfoForUnwind(
    address: u64,
    flags: i32,
    out: Out<UnwindInfo>,
) -> SceResult {
    let size = out.cast::<u64>().read();
    if !(0..3).contains(&flags) || size != Some(size_of::<UnwindInfo>() as u64) {
        return Errno::EINVAL.sce();
    }
    let mut search = Search { address, found: None };
    // SAFETY: the callback gets the search back and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    match search.found {
        Some(info) => {
            out.write(info);
            SceResult::OK
        }
        None => Errno::ESRCH.sce(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_this_program_are_found() {
        let mut info = std::mem::MaybeUninit::<UnwindInfo>::zeroed();
        // SAFETY: a place of ours.
        let out = unsafe { Out::new(info.as_mut_ptr()) };
        let here = crate::pointer::address_of(sceKernelGetModuleInfoForUnwind as *const ());
        assert_eq!(
            sceKernelGetModuleInfoForUnwind(here, 1, out),
            SceResult::code(0x8002_0016),
            "the size is checked"
        );
        out.cast::<u64>().write(304);
        assert_eq!(sceKernelGetModuleInfoForUnwind(here, 1, out), SceResult::OK);
        let info = out.read().unwrap();
        assert!(
            info.frames > info.first_segment && info.frames_size > 0x1000,
            "{:#x}",
            info.frames
        );
        // SAFETY: the frames begin with the length of the first record.
        let length = unsafe { In::<u32>::new(host(info.frames)) }.read().unwrap();
        assert!((8..0x1000).contains(&length), "{length:#x}");
        out.cast::<u64>().write(304);
        assert_eq!(
            sceKernelGetModuleInfoForUnwind(1, 1, out),
            SceResult::code(0x8002_0003)
        );
    }
}

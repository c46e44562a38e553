//! Where a module's unwind tables are: for the unwinder of the guest's own C++ library.

use relic_macros::guest_fn;

use crate::{
    mapped::Mapped,
    pointer::Out,
    result::{Errno, SceResult},
};

use super::module_info;

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
    let found = Mapped::around(address).and_then(|mapped| {
        let first = *mapped.segments.first()?;
        let tables = mapped.unwind_tables()?;
        Some(UnwindInfo {
            size: size_of::<UnwindInfo>() as u64,
            name: module_info::name_of(&mapped),
            header: tables.header,
            frames: tables.frames,
            frames_size: tables.frames_size,
            first_segment: first.start,
            first_segment_size: first.size,
        })
    });
    match found {
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
    use crate::pointer::{In, host};

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

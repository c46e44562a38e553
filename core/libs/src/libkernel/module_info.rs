//! What is loaded, and what of it is where.

use std::ffi::CStr;

use relic_macros::guest_fn;

use crate::{
    export::EXPORTS,
    libkernel::module::{self, Module},
    mapped::{Mapped, Segment},
    modules,
    pointer::{Out, address_of, host},
    result::{Errno, SceResult},
};

/// How many segments a record has room for.
const SEGMENTS: usize = 4;
/// Bytes of a name with its NUL.
const NAME: usize = 256;

/// One segment: 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct SegmentInfo {
    address: u64,
    size: u32,
    /// 1 to read, 2 to write, 4 to execute.
    protection: u32,
}

/// What `sceKernelGetModuleInfo` stores: 352 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ModuleInfo {
    /// Set by the caller to the record's size.
    size: u64,
    name: [u8; NAME],
    segments: [SegmentInfo; SEGMENTS],
    segment_count: u32,
    fingerprint: [u8; 20],
}

/// What `sceKernelGetModuleInfoInternal` and `sceKernelGetModuleInfoFromAddr` store: 424 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ModuleInfoEx {
    size: u64,
    name: [u8; NAME],
    handle: i32,
    tls_index: u32,
    tls_initial: u64,
    tls_initial_size: u32,
    tls_size: u32,
    /// From the thread pointer down to the calling thread's block, where it has one.
    tls_offset: u32,
    tls_alignment: u32,
    initialiser: u64,
    finaliser: u64,
    reserved: [u64; 2],
    eh_frame_header: u64,
    eh_frame: u64,
    eh_frame_header_size: u32,
    eh_frame_size: u32,
    segments: [SegmentInfo; SEGMENTS],
    segment_count: u32,
    references: u32,
}

const _: () = assert!(size_of::<ModuleInfo>() == 352 && size_of::<ModuleInfoEx>() == 424);

/// The name of a mapped file as the console has it.
pub(super) fn name_of(mapped: &Mapped) -> [u8; NAME] {
    match modules::around(mapped) {
        Some(found) => fixed(&module_name(&found)),
        None => fixed(&String::from_utf8_lossy(
            mapped.path.rsplit(|byte| *byte == b'/').next().unwrap_or(&[]),
        )),
    }
}

fn module_name(module: &Module) -> String {
    match module {
        Module::Program => "eboot.bin".to_owned(),
        Module::Title(place) => modules::file_name(*place).to_owned(),
        Module::System(library) => format!("{library}.prx"),
    }
}

fn fixed(name: &str) -> [u8; NAME] {
    let mut bytes = [0; NAME];
    let length = name.len().min(NAME - 1);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    bytes
}

/// The first segments and how many they are.
fn listed(segments: &[Segment]) -> ([SegmentInfo; SEGMENTS], u32) {
    let mut list = [SegmentInfo::default(); SEGMENTS];
    let mut count = 0;
    for (place, segment) in list.iter_mut().zip(segments) {
        let bit = |flag, value| if segment.flags & flag == 0 { 0 } else { value };
        *place = SegmentInfo {
            address: segment.start,
            size: u32::try_from(segment.size).unwrap_or(u32::MAX),
            protection: bit(libc::PF_R, 1) | bit(libc::PF_W, 2) | bit(libc::PF_X, 4),
        };
        count += 1;
    }
    (list, count)
}

/// What is known of a handle's module; `None` where nothing is loaded under it.
fn described(handle: i32) -> Option<ModuleInfoEx> {
    let module = module::by_handle(handle)?;
    let (image, references) = match module {
        Module::Program => (Some(modules::program()?), 1),
        Module::Title(place) => {
            let (image, references) = modules::loaded_image(place)?;
            (Some(image), references)
        }
        Module::System(_) => (None, 1),
    };
    let mapped = match image {
        Some(image) => image.mapped()?,
        None => Mapped::around(address_of(described as *const ()))?,
    };
    let guest = image.map_or_else(|| mapped.segments.clone(), |image| image.guest_segments());
    let (segments, segment_count) = listed(&guest);
    let lifecycle = image.map(|image| {
        let lifecycle = &image.info().lifecycle;
        [lifecycle.initialiser, lifecycle.finaliser].map(|offset| image.optional(offset).unwrap_or(0))
    });
    let [initialiser, finaliser] = lifecycle.unwrap_or_default();
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let tables = mapped.unwind_tables();
    let tls = mapped.tls;
    Some(ModuleInfoEx {
        size: size_of::<ModuleInfoEx>() as u64,
        name: fixed(&module_name(&module)),
        handle,
        tls_index: tls.map_or(0, |tls| small(tls.index as u64)),
        tls_initial: tls.map_or(0, |tls| tls.initial),
        tls_initial_size: tls.map_or(0, |tls| small(tls.initial_size)),
        tls_size: tls.map_or(0, |tls| small(tls.size)),
        tls_offset: tls.map_or(0, |tls| tls.offset()),
        tls_alignment: tls.map_or(0, |tls| small(tls.alignment)),
        initialiser,
        finaliser,
        reserved: [0; 2],
        eh_frame_header: tables.map_or(0, |tables| tables.header),
        eh_frame: tables.map_or(0, |tables| tables.frames),
        eh_frame_header_size: tables.map_or(0, |tables| small(tables.header_size)),
        eh_frame_size: tables.map_or(0, |tables| small(tables.frames_size)),
        segments,
        segment_count,
        references: small(references as u64),
    })
}

/// Stores the handles of what is loaded, the program first, and how many they are; ENOMEM where they are more than `room`.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetModuleList(
    handles: Out<i32>,
    room: usize,
    count: Out<usize>,
) -> SceResult {
    if handles.is_null() || count.is_null() {
        return Errno::EFAULT.sce();
    }
    let all = module::loaded_handles();
    if all.len() > room {
        return Errno::ENOMEM.sce();
    }
    for (index, handle) in all.iter().enumerate() {
        handles.write_at(index, *handle);
    }
    count.write(all.len());
    SceResult::OK
}

/// Stores name and segments of a module. The record begins with its size, which the caller has set.
#[guest_fn(libkernel, partial = "fingerprints are zeros")]
pub(crate) extern "sysv64" fn sceKernelGetModuleInfo(handle: i32, out: Out<ModuleInfo>) -> SceResult {
    if out.is_null() {
        return Errno::EFAULT.sce();
    }
    if out.cast::<u64>().read() != Some(size_of::<ModuleInfo>() as u64) {
        return Errno::EINVAL.sce();
    }
    let Some(info) = described(handle) else {
        return Errno::ESRCH.sce();
    };
    out.write(ModuleInfo {
        size: size_of::<ModuleInfo>() as u64,
        name: info.name,
        segments: info.segments,
        segment_count: info.segment_count,
        fingerprint: [0; 20],
    });
    SceResult::OK
}

/// As [`sceKernelGetModuleInfo`], with thread-local data, initialisers and unwind tables.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetModuleInfoInternal(
    handle: i32,
    out: Out<ModuleInfoEx>,
) -> SceResult {
    if out.is_null() {
        return Errno::EFAULT.sce();
    }
    if out.cast::<u64>().read() != Some(size_of::<ModuleInfoEx>() as u64) {
        return Errno::EINVAL.sce();
    }
    match described(handle) {
        Some(info) => {
            out.write(info);
            SceResult::OK
        }
        None => Errno::ESRCH.sce(),
    }
}

/// The same for the module around an address; ESRCH where there is none. What Relic exports is in the library that
/// programs import it from.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetModuleInfoFromAddr(
    address: u64,
    flags: i32,
    out: Out<ModuleInfoEx>,
) -> SceResult {
    if !(0..3).contains(&flags) {
        return Errno::EINVAL.sce();
    }
    if out.is_null() {
        return Errno::EFAULT.sce();
    }
    let handle = Mapped::around(address).and_then(|mapped| match modules::around(&mapped) {
        Some(module) => Some(module.handle()),
        None => exporter(address).and_then(module::system_handle),
    });
    match handle.and_then(described) {
        Some(info) => {
            out.write(info);
            SceResult::OK
        }
        None => Errno::ESRCH.sce(),
    }
}

/// The library that exports what is at an address.
fn exporter(address: u64) -> Option<&'static str> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: a place for the answer; the address is only compared.
    let name = unsafe {
        if libc::dladdr(host::<std::ffi::c_void>(address), found.as_mut_ptr()) == 0 {
            return None;
        }
        let name = found.assume_init().dli_sname;
        (!name.is_null()).then(|| CStr::from_ptr(name))
    }?;
    let export = EXPORTS
        .iter()
        .find(|export| export.nid.as_bytes() == name.to_bytes())?;
    Some(export.library)
}

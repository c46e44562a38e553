//! Loading modules at run time. The relinker has converted every module of the title; a module that is none of the
//! title's is a system library, which is bound from the start.

use relic_core::Nid;
use relic_macros::guest_fn;

use crate::{
    export::EXPORTS,
    log, modules,
    modules::Place,
    pointer::{Out, Text, address_of},
    result::{Errno, SceResult},
};

/// Longest path that the kernel takes, with its NUL.
const PATH_LIMIT: usize = 1024;
/// Handles of the title's modules count from here: 0 is the program.
const FIRST_HANDLE: i32 = 1;
/// Handles of system libraries count from here.
const FIRST_SYSTEM_HANDLE: i32 = 0x2000;

/// What a handle stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Module {
    Program,
    Title(Place),
    /// A system library, by its name.
    System(&'static str),
}

impl Module {
    /// Its handle.
    pub(crate) fn handle(self) -> i32 {
        match self {
            Self::Program => 0,
            Self::Title(place) => FIRST_HANDLE + place.0.cast_signed(),
            Self::System(library) => system_handle(library).unwrap_or(FIRST_SYSTEM_HANDLE),
        }
    }
}

pub(crate) fn by_handle(handle: i32) -> Option<Module> {
    match handle {
        0 => Some(Module::Program),
        FIRST_SYSTEM_HANDLE.. => {
            let index = usize::try_from(handle - FIRST_SYSTEM_HANDLE).ok()?;
            system_libraries().get(index).copied().map(Module::System)
        }
        FIRST_HANDLE.. => Some(Module::Title(Place((handle - FIRST_HANDLE).cast_unsigned()))),
        _ => None,
    }
}

/// The handles of everything that is loaded: the program, the title's modules, system libraries.
pub(crate) fn loaded_handles() -> Vec<i32> {
    let modules = modules::loaded_places().into_iter().map(Module::Title);
    let system = system_libraries().into_iter().map(Module::System);
    std::iter::once(Module::Program)
        .chain(modules)
        .chain(system)
        .map(Module::handle)
        .collect()
}

/// The system libraries that Relic has something of, sorted.
fn system_libraries() -> Vec<&'static str> {
    let mut libraries: Vec<&str> = EXPORTS.iter().map(|export| export.library).collect();
    libraries.sort_unstable();
    libraries.dedup();
    libraries
}

/// The handle of a system library of this file name, if Relic has anything of it.
pub(crate) fn system_handle(path: &str) -> Option<i32> {
    let file_name = path.rsplit('/').next()?;
    let stem = file_name.split('.').next()?;
    let index = system_libraries().iter().position(|library| *library == stem)?;
    i32::try_from(index).ok().map(|index| FIRST_SYSTEM_HANDLE + index)
}

/// Loads a module and calls its initialiser with the given arguments; a module that is loaded already is only counted.
/// Returns its handle, and through `result` what the initialiser returned.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelLoadStartModule(
    path: Text,
    size: usize,
    arguments: u64,
    flags: u32,
    options: u64,
    result: Out<i32>,
) -> SceResult {
    if path.is_null() {
        return Errno::EFAULT.sce();
    }
    if flags != 0 || options != 0 {
        return Errno::EINVAL.sce();
    }
    let path = path.to_text(PATH_LIMIT);
    let Some(place) = modules::find(&path) else {
        let handle = system_handle(&path);
        log::note(format_args!(
            "sceKernelLoadStartModule({path}): {}",
            if handle.is_some() {
                "a system library"
            } else {
                "not found"
            }
        ));
        return handle.map_or(Errno::ENOENT.sce(), SceResult);
    };
    match modules::load_and_start(place, size, arguments) {
        Ok(returned) => {
            result.write(returned);
            SceResult(Module::Title(place).handle())
        }
        Err(error) => {
            log::note(format_args!("sceKernelLoadStartModule({path}): {error}"));
            eprintln!("relic: {error}");
            Errno::ENOEXEC.sce()
        }
    }
}

/// Gives a module back; with the last use its finaliser is called with the given arguments.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelStopUnloadModule(
    handle: i32,
    size: usize,
    arguments: u64,
    flags: u32,
    options: u64,
    result: Out<i32>,
) -> SceResult {
    if flags != 0 || options != 0 {
        return Errno::EINVAL.sce();
    }
    let returned = match by_handle(handle) {
        Some(Module::Title(place)) => modules::stop_and_unload(place, size, arguments),
        // System libraries stay.
        Some(Module::System(_)) => Some(0),
        Some(Module::Program) | None => None,
    };
    match returned {
        Some(returned) => {
            result.write(returned);
            SceResult::OK
        }
        None => Errno::ESRCH.sce(),
    }
}

/// Address of what Relic itself, or the program, has under a symbol name.
fn global(name: &str) -> Option<u64> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: a string; the default scope is the program's.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then(|| address_of(address.cast_const()))
}

/// Stores the address of what a module exports under a name; ESRCH where it exports no such name.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDlsym(handle: i32, name: Text, address: Out<u64>) -> SceResult {
    if name.is_null() || address.is_null() {
        return Errno::EFAULT.sce();
    }
    let nid = Nid::of(&name.to_text(PATH_LIMIT));
    let found = match by_handle(handle) {
        Some(Module::Title(place)) => modules::look_up(place, nid),
        Some(Module::Program) => global(&format!("{nid}.guest")),
        Some(Module::System(_)) => global(nid.as_str()),
        None => None,
    };
    match found {
        Some(found) => {
            address.write(found);
            SceResult::OK
        }
        None => Errno::ESRCH.sce(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &'static std::ffi::CStr) -> Text {
        // SAFETY: a string.
        unsafe { Text::new(text.as_ptr().cast()) }
    }

    #[test]
    fn system_libraries_have_handles_and_names_in_them_addresses() {
        // SAFETY: null.
        let no_result = unsafe { Out::new(std::ptr::null_mut()) };
        let load = |path, flags| sceKernelLoadStartModule(path, 0, 0, flags, 0, no_result);
        let handle = load(text(c"/system/common/lib/libSceVideoOut.sprx"), 0).0;
        assert!(handle >= FIRST_SYSTEM_HANDLE, "{handle:#x}");
        assert_eq!(
            load(text(c"/app0/sce_module/libNobody.prx"), 0),
            Errno::ENOENT.sce()
        );
        assert_eq!(load(text(c"libSceVideoOut.sprx"), 1), Errno::EINVAL.sce());

        let mut place = 0;
        // SAFETY: a place of ours.
        let mut find = |handle, name| sceKernelDlsym(handle, name, unsafe { Out::new(&raw mut place) });
        assert_eq!(find(handle, text(c"no such function")), Errno::ESRCH.sce());
        assert_eq!(find(-1, text(c"sceKernelDlsym")), Errno::ESRCH.sce());
        assert_eq!(
            sceKernelStopUnloadModule(handle, 0, 0, 0, 0, no_result),
            SceResult::OK
        );
        assert_eq!(
            sceKernelStopUnloadModule(0, 0, 0, 0, 0, no_result),
            Errno::ESRCH.sce()
        );
    }
}

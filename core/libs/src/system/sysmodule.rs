//! libSceSysmodule: modules by number. One that the title brings along is loaded from there; of every other, Relic has
//! bound what it has from the start, so that loading it is a check of the number.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use relic_macros::guest_fn;

use crate::{
    log, modules,
    pointer::Out,
    result::{Errno, SceResult},
};

use super::sysmodule_names::name_of;

const INVALID: SceResult = SceResult::code(0x80a9_0000);
const NOT_LOADED: SceResult = SceResult::code(0x80a9_0002);

/// How often each number is loaded.
static LOADED: Mutex<BTreeMap<u32, usize>> = Mutex::new(BTreeMap::new());

fn loaded() -> MutexGuard<'static, BTreeMap<u32, usize>> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads a module. Its initialiser gets the arguments.
fn load(id: u32, size: usize, arguments: u64, result: Out<i32>) -> SceResult {
    let Some(name) = name_of(id) else {
        log::note(format_args!("libSceSysmodule: no module is known by {id:#x}"));
        return INVALID;
    };
    let returned = match modules::named(name) {
        Some(place) => match modules::load_and_start(place, size, arguments) {
            Ok(returned) => returned,
            Err(error) => {
                log::note(format_args!("libSceSysmodule: {id:#x} is {name}: {error}"));
                eprintln!("relic: {error}");
                return Errno::ENOEXEC.sce();
            }
        },
        None => {
            log::note(format_args!(
                "libSceSysmodule: {id:#x} is {name}, a system library"
            ));
            0
        }
    };
    *loaded().entry(id).or_default() += 1;
    result.write(returned);
    SceResult::OK
}

fn is_loaded(id: u32) -> SceResult {
    match name_of(id) {
        None => INVALID,
        Some(_) if loaded().contains_key(&id) => SceResult::OK,
        Some(_) => NOT_LOADED,
    }
}

fn unload(id: u32, size: usize, arguments: u64, result: Out<i32>) -> SceResult {
    let Some(name) = name_of(id) else { return INVALID };
    {
        let mut loaded = loaded();
        match loaded.get_mut(&id) {
            None => return NOT_LOADED,
            Some(1) => drop(loaded.remove(&id)),
            Some(count) => *count -= 1,
        }
    }
    let returned = modules::named(name).and_then(|place| modules::stop_and_unload(place, size, arguments));
    result.write(returned.unwrap_or(0));
    SceResult::OK
}

/// Loading or unloading: number, size and address of arguments, what the module returns.
type Action = fn(u32, usize, u64, Out<i32>) -> SceResult;

/// Without arguments, and without asking for what the module returns.
fn plainly(action: Action, id: u32) -> SceResult {
    // SAFETY: null.
    action(id, 0, 0, unsafe { Out::new(std::ptr::null_mut()) })
}

/// With arguments, and flags of which none is known.
fn with_arguments(
    action: Action,
    id: u32,
    size: usize,
    arguments: u64,
    flags: u64,
    result: Out<i32>,
) -> SceResult {
    match flags {
        0 => action(id, size, arguments, result),
        _ => INVALID,
    }
}

/// Loads a module, which is the title's own where it has one of that name. Missing functions of system libraries were
/// listed at start-up.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleLoadModule(id: u16) -> SceResult {
    plainly(load, u32::from(id))
}

/// Whether a module is loaded.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleIsLoaded(id: u16) -> SceResult {
    is_loaded(u32::from(id))
}

/// Takes back one loading of a module; with the last, its finaliser runs.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleUnloadModule(id: u16) -> SceResult {
    plainly(unload, u32::from(id))
}

/// As [`sceSysmoduleLoadModule`], for the system's own numbers too.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleLoadModuleInternal(id: u32) -> SceResult {
    plainly(load, id)
}

/// As [`sceSysmoduleIsLoaded`], for the system's own numbers too.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleIsLoadedInternal(id: u32) -> SceResult {
    is_loaded(id)
}

/// As [`sceSysmoduleUnloadModule`], for the system's own numbers too.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleUnloadModuleInternal(id: u32) -> SceResult {
    plainly(unload, id)
}

/// As [`sceSysmoduleLoadModuleInternal`], with arguments for the initialiser; stores what that returned.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleLoadModuleInternalWithArg(
    id: u32,
    size: usize,
    arguments: u64,
    flags: u64,
    result: Out<i32>,
) -> SceResult {
    with_arguments(load, id, size, arguments, flags, result)
}

/// As [`sceSysmoduleUnloadModuleInternal`], with arguments for the finaliser; stores what that returned.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleUnloadModuleInternalWithArg(
    id: u32,
    size: usize,
    arguments: u64,
    flags: u64,
    result: Out<i32>,
) -> SceResult {
    with_arguments(unload, id, size, arguments, flags, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_counted() {
        assert_eq!(sceSysmoduleIsLoaded(0x80), NOT_LOADED);
        assert_eq!(sceSysmoduleUnloadModule(0x80), NOT_LOADED);
        for _ in 0..2 {
            assert_eq!(sceSysmoduleLoadModule(0x80), SceResult::OK);
        }
        assert_eq!(sceSysmoduleUnloadModule(0x80), SceResult::OK);
        assert_eq!(sceSysmoduleIsLoaded(0x80), SceResult::OK);
        assert_eq!(sceSysmoduleUnloadModule(0x80), SceResult::OK);
        assert_eq!(sceSysmoduleIsLoaded(0x80), NOT_LOADED);
        for unknown in [0, 0x3fff] {
            assert_eq!(sceSysmoduleLoadModule(unknown), INVALID);
            assert_eq!(sceSysmoduleIsLoaded(unknown), INVALID);
        }
        assert_eq!(sceSysmoduleLoadModuleInternal(0x8000_0022), SceResult::OK);
        assert_eq!(sceSysmoduleIsLoadedInternal(0x8000_0022), SceResult::OK);
    }
}

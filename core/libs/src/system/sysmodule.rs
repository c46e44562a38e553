//! libSceSysmodule: modules by number. Every library that Relic has is bound from the start, so loading is a check.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use relic_macros::guest_fn;

use crate::{log, result::SceResult};

const INVALID: SceResult = SceResult::code(0x80a9_0000);
const NOT_LOADED: SceResult = SceResult::code(0x80a9_0002);

static LOADED: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

fn loaded() -> std::sync::MutexGuard<'static, BTreeSet<u16>> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads a module. Functions of it that are missing were listed at start-up.
#[guest_fn(
    libSceSysmodule,
    partial = "nothing is loaded: what is implemented is bound already"
)]
pub(crate) extern "sysv64" fn sceSysmoduleLoadModule(id: u16) -> SceResult {
    if id == 0 {
        return INVALID;
    }
    log::note(format_args!("sceSysmoduleLoadModule({id:#x})"));
    loaded().insert(id);
    SceResult::OK
}

/// Whether a module is loaded.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleIsLoaded(id: u16) -> SceResult {
    if loaded().contains(&id) {
        SceResult::OK
    } else {
        NOT_LOADED
    }
}

/// Unloads a module.
#[guest_fn(libSceSysmodule)]
pub(crate) extern "sysv64" fn sceSysmoduleUnloadModule(id: u16) -> SceResult {
    if loaded().remove(&id) {
        SceResult::OK
    } else {
        NOT_LOADED
    }
}

//! Removing saves.

use relic_macros::guest_fn;

use super::{DirName, SaveError, TitleId, check_user, host_error, is_own, mount, store};
use crate::{pointer::In, result::SceResult};

/// `SceSaveDataDelete`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Delete {
    user: i32,
    title: In<TitleId>,
    name: In<DirName>,
}

/// Removes a save that is not mounted.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataDelete(request: In<Delete>) -> SceResult {
    mount::with_library(|library| {
        let request = request.read().ok_or(SaveError::Parameter)?;
        check_user(request.user)?;
        let (name, root) = (mount::name(request.name)?, mount::root()?);
        if library.is_mounted(&name) {
            return Err(SaveError::Busy);
        }
        let failed = |error| host_error(&format!("removing the save {name}"), &error);
        let there = store::committed(&root.join(&name)).map_err(failed)?;
        if there.is_none() || !is_own(request.title) {
            return Err(SaveError::NotFound);
        }
        // Another process may have it open.
        let save = store::Save::open(&root.join(&name)).map_err(failed)?;
        let _save = save.ok_or(SaveError::Busy)?;
        store::remove(&root, &name).map_err(failed)
    })
    .into()
}

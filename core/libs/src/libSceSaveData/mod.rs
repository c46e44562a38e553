//! libSceSaveData: saves, which are folders that a title mounts as `/savedataN`.
//!
//! On the host a save is a folder of numbered folders ([`store`]): the highest number is what was committed last. A title that
//! may write gets a copy of that, which becomes the next number, by one rename, when it unmounts or commits. Whatever ends the
//! program in between, what was committed before is there.

mod delete;
mod memory;
mod mount;
mod param;
mod search;
mod store;

pub(crate) use mount::finish;

use std::io;

use relic_macros::guest_fn;

use crate::{log, pointer::In, pointer::Opaque, result::SceResult, system::user_service::USER};

/// What calls answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SaveError {
    Parameter = 0x809f_0000,
    NotInitialized = 0x809f_0001,
    Busy = 0x809f_0003,
    NotMounted = 0x809f_0004,
    Exists = 0x809f_0007,
    NotFound = 0x809f_0008,
    NoSpace = 0x809f_000a,
    Internal = 0x809f_000b,
    MountFull = 0x809f_000c,
    BadMounted = 0x809f_000d,
    InvalidLoginUser = 0x809f_0011,
    MemoryNotReady = 0x809f_0012,
}

impl From<SaveError> for SceResult {
    fn from(error: SaveError) -> Self {
        Self::code(error as u32)
    }
}

/// A host's error, noted in the log.
fn host_error(doing: &str, error: &io::Error) -> SaveError {
    log::warn(format_args!("save data: {doing}: {error}"));
    if error.kind() == io::ErrorKind::StorageFull {
        SaveError::NoSpace
    } else {
        SaveError::Internal
    }
}

/// `SceSaveDataTitleId`.
type TitleId = [u8; 16];
/// `SceSaveDataDirName`: the name of a save, with a NUL.
type DirName = [u8; 32];

/// The bytes in front of the NUL.
fn text(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

fn check_user(user: i32) -> Result<(), SaveError> {
    (user == USER).then_some(()).ok_or(SaveError::InvalidLoginUser)
}

/// Whether a title's id is this title's; null is.
fn is_own(title: In<TitleId>) -> bool {
    let Some(title) = title.read() else {
        return true;
    };
    crate::libkernel::file::title_parameter("titleId")
        .as_ref()
        .and_then(serde_json::Value::as_str)
        .is_none_or(|own| own.as_bytes() == text(&title))
}

/// Starts the library.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataInitialize(_parameters: Opaque) -> SceResult {
    mount::initialise().into()
}

/// Starts the library.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataInitialize2(_parameters: Opaque) -> SceResult {
    mount::initialise().into()
}

/// Starts the library.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataInitialize3(_parameters: Opaque) -> SceResult {
    mount::initialise().into()
}

/// Ends the library; what is still mounted is unmounted.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataTerminate() -> SceResult {
    mount::terminate().into()
}

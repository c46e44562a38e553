//! libSceUserService: one user, who is always logged in.

use relic_macros::guest_fn;

use crate::{
    pointer::{Opaque, Out},
    result::SceResult,
};

/// The user's number.
const USER: i32 = 1;
/// Marks an empty place in the list of users.
const NOBODY: i32 = -1;
const INVALID_ARGUMENT: SceResult = SceResult::code(0x8096_0005);
const NO_EVENT: SceResult = SceResult::code(0x8096_0007);

/// Starts the service.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceInitialize(_parameters: Opaque) -> SceResult {
    SceResult::OK
}

/// Ends the service.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceTerminate() -> SceResult {
    SceResult::OK
}

/// Stores who started the program.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceGetInitialUser(out: Out<i32>) -> SceResult {
    if out.write(USER) {
        SceResult::OK
    } else {
        INVALID_ARGUMENT
    }
}

/// Stores the four places of users.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceGetLoginUserIdList(out: Out<[i32; 4]>) -> SceResult {
    if out.write([USER, NOBODY, NOBODY, NOBODY]) {
        SceResult::OK
    } else {
        INVALID_ARGUMENT
    }
}

/// Stores the next login or logout: there is none.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceGetEvent(_event: Opaque) -> SceResult {
    NO_EVENT
}

/// Stores a user's name.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceGetUserName(user: i32, out: Out<u8>, size: u64) -> SceResult {
    if user != USER || out.is_null() || size < 7 {
        return INVALID_ARGUMENT;
    }
    out.write_text(b"player", size as usize);
    SceResult::OK
}

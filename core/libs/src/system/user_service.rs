//! libSceUserService: one user, who is always logged in.

use std::sync::Mutex;

use relic_macros::guest_fn;

use crate::{
    pointer::{Opaque, Out},
    result::SceResult,
};

/// The user's number.
pub(crate) const USER: i32 = 1;
/// Marks an empty place in the list of users.
const NOBODY: i32 = -1;
const NAME: &[u8] = b"player";

/// What calls answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum UserError {
    NotInitialized = 0x8096_0002,
    AlreadyInitialized = 0x8096_0003,
    InvalidArgument = 0x8096_0005,
    NoEvent = 0x8096_0007,
    NotLoggedIn = 0x8096_0009,
    BufferTooShort = 0x8096_000a,
}

impl From<UserError> for SceResult {
    fn from(error: UserError) -> Self {
        Self::code(error as u32)
    }
}

/// What the service has said since it was started.
struct Service {
    login_told: bool,
}

static SERVICE: Mutex<Option<Service>> = Mutex::new(None);

fn with_service<T>(body: impl FnOnce(&mut Service) -> Result<T, UserError>) -> Result<T, UserError> {
    let mut service = SERVICE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    body(service.as_mut().ok_or(UserError::NotInitialized)?)
}

fn store<T>(out: Out<T>, value: T) -> SceResult {
    let stored = with_service(|_| out.write(value).then_some(()).ok_or(UserError::InvalidArgument));
    stored.into()
}

fn start() -> SceResult {
    let mut service = SERVICE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if service.is_some() {
        return UserError::AlreadyInitialized.into();
    }
    *service = Some(Service { login_told: false });
    SceResult::OK
}

/// Fails for everybody but the one user.
fn known(user: i32) -> Result<(), UserError> {
    match user {
        USER => Ok(()),
        NOBODY => Err(UserError::InvalidArgument),
        _ => Err(UserError::NotLoggedIn),
    }
}

/// Starts the service. Its parameters are the priority of a thread that there is not.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceInitialize(_parameters: Opaque) -> SceResult {
    start()
}

/// Starts the service. Its parameters are of a thread that there is not.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceInitialize2(_priority: i32, _affinity: u64) -> SceResult {
    start()
}

/// Ends the service.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceTerminate() -> SceResult {
    let mut service = SERVICE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match service.take() {
        Some(_) => SceResult::OK,
        None => UserError::NotInitialized.into(),
    }
}

/// Stores who started the program.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceGetInitialUser(out: Out<i32>) -> SceResult {
    store(out, USER)
}

/// Stores the four places of users.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceGetLoginUserIdList(out: Out<[i32; 4]>) -> SceResult {
    store(out, [USER, NOBODY, NOBODY, NOBODY])
}

/// Stores the next event: its kind (0 login, 1 logout) and the user. There is one login.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceGetEvent(event: Out<[i32; 2]>) -> SceResult {
    let told = with_service(|service| {
        if event.is_null() {
            return Err(UserError::InvalidArgument);
        }
        if std::mem::replace(&mut service.login_told, true) {
            return Err(UserError::NoEvent);
        }
        event.write([0, USER]);
        Ok(())
    });
    told.into()
}

/// Stores a user's name: at most 16 bytes and a NUL.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceGetUserName(user: i32, out: Out<u8>, size: u64) -> SceResult {
    let named = with_service(|_| {
        known(user)?;
        if out.is_null() {
            return Err(UserError::InvalidArgument);
        }
        if size <= NAME.len() as u64 {
            return Err(UserError::BufferTooShort);
        }
        out.write_text(NAME, size as usize);
        Ok(())
    });
    named.into()
}

/// Stores a user's colour: 0 is blue, the first player's.
#[guest_fn(libSceUserService)]
pub(crate) extern "sysv64" fn sceUserServiceGetUserColor(user: i32, out: Out<i32>) -> SceResult {
    match with_service(|_| known(user)) {
        Ok(()) => store(out, 0),
        Err(error) => error.into(),
    }
}

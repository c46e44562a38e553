//! What a dialog is doing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use relic_macros::guest_fn;

use super::DialogError;
use crate::result::SceResult;

/// What a dialog has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// 1: the user cancelled.
    pub(super) result: u32,
    /// 0: none.
    pub(super) button: u32,
}

/// The message dialog's status, as the console counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    None,
    Initialized,
    /// In a mode, and how it ends by itself; `None`: it does not.
    Running(u32, Option<Outcome>),
    Finished(u32, Outcome),
}

impl Status {
    pub(super) fn number(self) -> i32 {
        match self {
            Self::None => 0,
            Self::Initialized => 1,
            Self::Running(..) => 2,
            Self::Finished(..) => 3,
        }
    }
}

#[derive(Debug)]
pub(super) struct Dialogs {
    pub(super) initialized: bool,
    pub(super) message: Status,
}

static DIALOGS: Mutex<Dialogs> = Mutex::new(Dialogs {
    initialized: false,
    message: Status::None,
});

pub(super) fn dialogs() -> MutexGuard<'static, Dialogs> {
    DIALOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts what all dialogs need.
#[guest_fn(libSceCommonDialog)]
pub(crate) extern "sysv64" fn sceCommonDialogInitialize() -> SceResult {
    if std::mem::replace(&mut dialogs().initialized, true) {
        DialogError::AlreadySystemInitialized.into()
    } else {
        SceResult::OK
    }
}

/// Whether a dialog runs.
#[guest_fn(libSceCommonDialog)]
pub(crate) extern "sysv64" fn sceCommonDialogIsUsed() -> bool {
    matches!(dialogs().message, Status::Running(..))
}

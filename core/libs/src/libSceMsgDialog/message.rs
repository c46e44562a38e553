//! Messages, questions, progress.

use relic_macros::guest_fn;

use super::{
    DialogError,
    status::{Outcome, Status, dialogs},
};
use crate::{
    log,
    pointer::{In, Out, Text},
    result::SceResult,
};

/// `SceMsgDialogParam`, of which one of three pointers is used, by mode.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Param {
    /// Its size, and what is checked of it on the console.
    base: [u64; 6],
    size: u64,
    mode: u32,
    message: In<Message>,
    progress: In<Progress>,
    system: In<u32>,
}

/// A text and its buttons.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Message {
    buttons: u32,
    text: Text,
    labels: In<[Text; 2]>,
}

/// A bar with a text.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Progress {
    kind: u32,
    text: Text,
}

/// Modes.
const MESSAGE: u32 = 1;
const PROGRESS: u32 = 2;
const SYSTEM: u32 = 3;
/// A message's text has no more bytes.
const LIMIT: usize = 8192;

const FIRST: Outcome = Outcome { result: 0, button: 1 };
const SECOND: Outcome = Outcome { result: 0, button: 2 };
const CANCELLED: Outcome = Outcome { result: 1, button: 0 };
/// The program closed it.
const CLOSED: Outcome = Outcome { result: 0, button: 0 };

/// Sets of buttons: number, names, and what the one it begins on comes to; `None`: none, until the program closes it.
const BUTTONS: [(u32, &str, Option<Outcome>); 9] = [
    (0, "OK", Some(FIRST)),
    (1, "yes", Some(FIRST)),
    (2, "", None),
    (3, "OK", Some(FIRST)),
    (5, "", None),
    (6, "", None),
    (7, "no", Some(SECOND)),
    (8, "cancel", Some(CANCELLED)),
    (9, "its first button", Some(FIRST)),
];

/// Starts message dialogs.
#[guest_fn(libSceMsgDialog)]
pub(crate) extern "sysv64" fn sceMsgDialogInitialize() -> SceResult {
    let mut dialogs = dialogs();
    if !dialogs.initialized {
        return DialogError::NotSystemInitialized.into();
    }
    if dialogs.message != Status::None {
        return DialogError::AlreadyInitialized.into();
    }
    dialogs.message = Status::Initialized;
    SceResult::OK
}

/// How a dialog will end, and its log line.
fn run(param: &Param) -> Result<Option<Outcome>, DialogError> {
    match param.mode {
        MESSAGE => {
            let message = param.message.read().ok_or(DialogError::Parameter)?;
            let (_, name, outcome) = BUTTONS
                .iter()
                .find(|(number, ..)| *number == message.buttons)
                .ok_or(DialogError::Parameter)?;
            if message.text.is_null() {
                return Err(DialogError::Parameter);
            }
            let text = message.text.to_text(LIMIT);
            if outcome.is_some() {
                log::warn(format_args!(
                    "the program asks: {text:?}: answered with {name}, as there is no window"
                ));
            } else {
                log::warn(format_args!("the program says: {text:?}"));
            }
            Ok(*outcome)
        }
        PROGRESS => {
            let progress = param.progress.read().ok_or(DialogError::Parameter)?;
            if progress.kind > 1 {
                return Err(DialogError::Parameter);
            }
            log::warn(format_args!(
                "the program says: {:?}",
                progress.text.to_text(LIMIT)
            ));
            Ok(None)
        }
        SYSTEM => {
            let number = param.system.read().ok_or(DialogError::Parameter)?;
            log::warn(format_args!(
                "the program shows the system's message {number}: answered with OK"
            ));
            Ok(Some(FIRST))
        }
        _ => Err(DialogError::Parameter),
    }
}

/// Opens a dialog.
#[guest_fn(
    libSceMsgDialog,
    partial = "no window: a question is answered with the button that it begins on, and the log says so"
)]
pub(crate) extern "sysv64" fn sceMsgDialogOpen(param: In<Param>) -> SceResult {
    let body = || {
        let mut dialogs = dialogs();
        match dialogs.message {
            Status::None => return Err(DialogError::NotInitialized),
            Status::Running(..) => return Err(DialogError::InvalidState),
            Status::Initialized | Status::Finished(..) => {}
        }
        let param = param.read().ok_or(DialogError::Null)?;
        dialogs.message = Status::Running(param.mode, run(&param)?);
        Ok(())
    };
    body().into()
}

/// Looks whether a dialog has ended: 0 not started, 1 started, 2 runs, 3 ended.
#[guest_fn(libSceMsgDialog)]
pub(crate) extern "sysv64" fn sceMsgDialogUpdateStatus() -> i32 {
    let mut dialogs = dialogs();
    if let Status::Running(mode, Some(outcome)) = dialogs.message {
        dialogs.message = Status::Finished(mode, outcome);
    }
    dialogs.message.number()
}

/// What the last look saw.
#[guest_fn(libSceMsgDialog)]
pub(crate) extern "sysv64" fn sceMsgDialogGetStatus() -> i32 {
    dialogs().message.number()
}

/// Stores what a dialog has come to: mode, whether the user cancelled, and the button.
#[guest_fn(libSceMsgDialog)]
pub(crate) extern "sysv64" fn sceMsgDialogGetResult(out: Out<[u32; 3]>) -> SceResult {
    let body = || match dialogs().message {
        Status::None => Err(DialogError::NotInitialized),
        Status::Finished(mode, outcome) => out
            .write([mode, outcome.result, outcome.button])
            .then_some(())
            .ok_or(DialogError::Null),
        _ => Err(DialogError::NotFinished),
    };
    body().into()
}

/// Ends a dialog that runs.
#[guest_fn(libSceMsgDialog)]
pub(crate) extern "sysv64" fn sceMsgDialogClose() -> SceResult {
    let body = || {
        let mut dialogs = dialogs();
        let Status::Running(mode, outcome) = dialogs.message else {
            return Err(DialogError::NotRunning);
        };
        dialogs.message = Status::Finished(mode, outcome.unwrap_or(CLOSED));
        Ok(())
    };
    body().into()
}

/// Ends message dialogs.
#[guest_fn(libSceMsgDialog)]
pub(crate) extern "sysv64" fn sceMsgDialogTerminate() -> SceResult {
    let mut dialogs = dialogs();
    if std::mem::replace(&mut dialogs.message, Status::None) == Status::None {
        return DialogError::NotInitialized.into();
    }
    SceResult::OK
}

/// Fails unless a progress bar runs, whose number is always 0.
fn bar(number: u32) -> Result<(), DialogError> {
    match dialogs().message {
        Status::Running(PROGRESS, _) if number == 0 => Ok(()),
        Status::Running(PROGRESS, _) => Err(DialogError::Parameter),
        Status::Running(..) => Err(DialogError::NotSupported),
        _ => Err(DialogError::NotRunning),
    }
}

/// Moves a bar that nobody sees by so many per cent.
#[guest_fn(libSceMsgDialog)]
pub(crate) extern "sysv64" fn sceMsgDialogProgressBarInc(number: u32, _by: u32) -> SceResult {
    bar(number).into()
}

/// Moves a bar that nobody sees to so many per cent.
#[guest_fn(libSceMsgDialog)]
pub(crate) extern "sysv64" fn sceMsgDialogProgressBarSetValue(number: u32, _value: u32) -> SceResult {
    bar(number).into()
}

/// Sets a bar's text, which the log gets.
#[guest_fn(libSceMsgDialog)]
pub(crate) extern "sysv64" fn sceMsgDialogProgressBarSetMsg(number: u32, text: Text) -> SceResult {
    let body = || {
        bar(number)?;
        if text.is_null() {
            return Err(DialogError::Null);
        }
        log::note(format_args!("the program says: {:?}", text.to_text(LIMIT)));
        Ok(())
    };
    body().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn records_have_the_consoles_layouts() {
        assert_eq!(offset_of!(Param, mode), 56);
        assert_eq!(offset_of!(Param, system), 80);
        assert_eq!(offset_of!(Message, labels), 16);
        assert_eq!(offset_of!(Progress, text), 8);
    }
}

//! Initialisation that runs once.

use std::sync::atomic::{AtomicU32, Ordering};

use super::wait::{self, Deadline};
use crate::{pointer::Out, result::Errno};

const NEEDED: u32 = 0;
const DONE: u32 = 1;
const RUNNING: u32 = 2;

/// `pthread_once_t`: the state word, then a word that the console's library uses for a mutex.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct OnceControl {
    state: u32,
    _mutex: u64,
}

fn run(control: Out<OnceControl>, routine: Option<extern "sysv64" fn()>) -> Result<(), Errno> {
    let routine = routine.ok_or(Errno::EINVAL)?;
    if control.is_null() {
        return Err(Errno::EINVAL);
    }
    // SAFETY: a guest variable that is used through these calls alone.
    let state = unsafe { AtomicU32::from_ptr(control.cast::<u32>().as_ptr()) };
    loop {
        match state.compare_exchange(NEEDED, RUNNING, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                routine();
                state.store(DONE, Ordering::Release);
                wait::wake(state, i32::MAX);
                return Ok(());
            }
            Err(DONE) => return Ok(()),
            Err(RUNNING) => wait::wait(state, RUNNING, Deadline::Never),
            Err(_) => return Err(Errno::EINVAL),
        }
    }
}

pthread_pair! {
    scePthreadOnce, pthread_once(control: Out<OnceControl>, routine: Option<extern "sysv64" fn()>) {
        run(control, routine)
    }
}

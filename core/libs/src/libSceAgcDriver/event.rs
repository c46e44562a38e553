//! GPU events on equeues.

use std::sync::{Mutex, PoisonError};

use relic_core::QueueId;
use relic_macros::guest_fn;

use crate::{
    libkernel::equeue::{self, CLEAR, Filter},
    result::{Errno, SceResult},
};

/// Equeues that listen, with the identifiers they chose.
static LISTENERS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

fn listeners() -> std::sync::MutexGuard<'static, Vec<(u64, u64)>> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers an equeue for end-of-pipe interrupts.
#[guest_fn(libSceAgcDriver, partial = "every listener hears of every queue's interrupts")]
pub(crate) extern "sysv64" fn sceAgcDriverAddEqEvent(queue: u64, id: u64, user_data: u64) -> SceResult {
    match equeue::find(queue) {
        Ok(equeue) => {
            equeue.add(id, Filter::GRAPHICS, CLEAR, user_data);
            let mut listeners = listeners();
            if !listeners.contains(&(queue, id)) {
                listeners.push((queue, id));
            }
            SceResult::OK
        }
        Err(error) => error.sce(),
    }
}

/// Takes an equeue out.
#[guest_fn(libSceAgcDriver)]
pub(crate) extern "sysv64" fn sceAgcDriverDeleteEqEvent(queue: u64, id: u64) -> SceResult {
    listeners().retain(|listener| *listener != (queue, id));
    match equeue::find(queue) {
        Ok(equeue) if equeue.remove(id, Filter::GRAPHICS) => SceResult::OK,
        Ok(_) => Errno::ENOENT.sce(),
        Err(error) => error.sce(),
    }
}

/// A queue reached a RELEASE_MEM that asked for an interrupt. Called on the pump's thread.
pub(crate) fn end_of_pipe(queue: QueueId) {
    let current = listeners().clone();
    for (handle, id) in current {
        if let Ok(equeue) = equeue::find(handle) {
            equeue.fire(id, Filter::GRAPHICS, |record, _| record.data = i64::from(queue.0));
        }
    }
}

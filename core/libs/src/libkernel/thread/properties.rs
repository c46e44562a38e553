//! Identity, name and scheduling of threads.

use std::sync::{PoisonError, atomic::Ordering};

use relic_macros::guest_fn;

use super::{by_handle, current_handle, lifetime::NAME_LIMIT};
use crate::{
    pointer::{Out, Text},
    report,
    result::{Errno, SceResult},
};

/// Handle of the calling thread.
#[guest_fn(libkernel, libScePosix, also = "pthread_self")]
pub(crate) extern "sysv64" fn scePthreadSelf() -> u64 {
    current_handle()
}

/// Whether two handles name one thread.
#[guest_fn(libkernel, libScePosix, also = "pthread_equal")]
pub(crate) extern "sysv64" fn scePthreadEqual(first: u64, second: u64) -> i32 {
    i32::from(first == second)
}

/// Lets another thread run.
#[guest_fn(libkernel, libScePosix, also = "pthread_yield")]
pub(crate) extern "sysv64" fn scePthreadYield() {
    std::thread::yield_now();
}

/// Lets another thread run.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sched_yield() -> i32 {
    std::thread::yield_now();
    0
}

/// Number of the calling thread.
#[guest_fn(libkernel, also = "pthread_getthreadid_np")]
pub(crate) extern "sysv64" fn scePthreadGetthreadid() -> i32 {
    super::current_number() as i32
}

/// Sets the CPUs that a thread may run on.
#[guest_fn(
    libkernel,
    partial = "the mask is kept and reported; the host's scheduler decides"
)]
pub(crate) extern "sysv64" fn scePthreadSetaffinity(handle: u64, mask: u64) -> SceResult {
    match by_handle(handle) {
        Some(thread) => {
            thread.affinity.store(mask, Ordering::Relaxed);
            SceResult::OK
        }
        None => Errno::ESRCH.sce(),
    }
}

/// Stores the mask that was set.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadGetaffinity(handle: u64, out: Out<u64>) -> SceResult {
    match by_handle(handle) {
        Some(thread) if out.write(thread.affinity.load(Ordering::Relaxed)) => SceResult::OK,
        Some(_) => Errno::EINVAL.sce(),
        None => Errno::ESRCH.sce(),
    }
}

/// Sets a thread's priority.
#[guest_fn(
    libkernel,
    partial = "the priority is kept and reported; the host's scheduler decides"
)]
pub(crate) extern "sysv64" fn scePthreadSetprio(handle: u64, priority: i32) -> SceResult {
    if !(256..=767).contains(&priority) {
        return Errno::EINVAL.sce();
    }
    match by_handle(handle) {
        Some(thread) => {
            thread.priority.store(priority, Ordering::Relaxed);
            SceResult::OK
        }
        None => Errno::ESRCH.sce(),
    }
}

/// Stores a thread's priority.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadGetprio(handle: u64, out: Out<i32>) -> SceResult {
    match by_handle(handle) {
        Some(thread) if out.write(thread.priority.load(Ordering::Relaxed)) => SceResult::OK,
        Some(_) => Errno::EINVAL.sce(),
        None => Errno::ESRCH.sce(),
    }
}

fn rename(handle: u64, name: Text) -> Result<(), Errno> {
    let thread = by_handle(handle).ok_or(Errno::ESRCH)?;
    let text = name.bytes(NAME_LIMIT + 1).ok_or(Errno::EINVAL)?;
    if text.len() > NAME_LIMIT {
        return Err(Errno::ENAMETOOLONG);
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    if thread.number == super::current_number() {
        report::name_thread(&text);
    }
    *thread.name.lock().unwrap_or_else(PoisonError::into_inner) = text;
    Ok(())
}

fn name(handle: u64, out: Out<u8>) -> Result<(), Errno> {
    let thread = by_handle(handle).ok_or(Errno::ESRCH)?;
    let name = thread.name.lock().unwrap_or_else(PoisonError::into_inner);
    out.write_text(name.as_bytes(), NAME_LIMIT + 1);
    Ok(())
}

pthread_pair! {
    scePthreadRename, pthread_rename_np(handle: u64, text: Text) {
        rename(handle, text)
    }
    scePthreadGetname, pthread_getname_np(handle: u64, out: Out<u8>) {
        name(handle, out)
    }
}

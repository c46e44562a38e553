//! Guest threads: host threads with the guest's stack size, name and exit rules.

mod attributes;
mod condition;
mod hooks;
mod key;
mod lifetime;
mod mutex;
mod once;
mod place;
mod properties;
mod rwlock;
mod semaphore;
mod wait;

pub(crate) use lifetime::run_main;
pub(crate) use wait::wait_for;

use std::{
    cell::Cell,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
    },
};

/// Console priority of a thread that asks for none.
pub(crate) const DEFAULT_PRIORITY: i32 = 700;

/// A guest thread, as other threads see it.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Number, from 1 for the main thread.
    pub(crate) number: u64,
    name: Mutex<String>,
    priority: AtomicI32,
    affinity: AtomicU64,
    detached: AtomicBool,
    /// What it returned, once it has ended.
    result: Mutex<Option<u64>>,
    ended: Condvar,
}

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// Guest threads that have not ended, and ended ones that nobody has joined, by handle.
static THREADS: Mutex<Vec<Arc<Thread>>> = Mutex::new(Vec::new());

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    /// The calling thread's own handle: programs ask for it all the time.
    static HANDLE: Cell<u64> = const { Cell::new(0) };
}

impl Thread {
    fn new(name: String, attributes: attributes::Attributes) -> Arc<Self> {
        Arc::new(Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            name: Mutex::new(name),
            priority: AtomicI32::new(attributes.priority),
            affinity: AtomicU64::new(attributes.affinity),
            detached: AtomicBool::new(attributes.detached),
            result: Mutex::new(None),
            ended: Condvar::new(),
        })
    }

    /// What the guest holds: the object's address.
    fn handle(self: &Arc<Self>) -> u64 {
        crate::pointer::address_of(Arc::as_ptr(self))
    }
}

fn threads() -> std::sync::MutexGuard<'static, Vec<Arc<Thread>>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread with this handle.
fn by_handle(handle: u64) -> Option<Arc<Thread>> {
    threads().iter().find(|thread| thread.handle() == handle).cloned()
}

fn forget(thread: &Arc<Thread>) {
    threads().retain(|other| !Arc::ptr_eq(other, thread));
}

/// Number of the calling thread. Host threads that use guest objects get numbers too.
pub(crate) fn current_number() -> u64 {
    let number = NUMBER.with(Cell::get);
    if number != 0 {
        return number;
    }
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    NUMBER.with(|cell| cell.set(number));
    number
}

/// The calling thread; a host thread that asks becomes a guest thread of its own, named `host`.
fn current() -> Arc<Thread> {
    let number = NUMBER.with(Cell::get);
    if number != 0
        && let Some(thread) = threads().iter().find(|thread| thread.number == number)
    {
        return Arc::clone(thread);
    }
    let thread = Thread::new("host".to_owned(), attributes::Attributes::default());
    become_current(&thread);
    thread
}

fn become_current(thread: &Arc<Thread>) {
    remember(thread);
    threads().push(Arc::clone(thread));
}

/// Makes `thread` what the calling thread takes itself for.
fn remember(thread: &Arc<Thread>) {
    NUMBER.with(|cell| cell.set(thread.number));
    HANDLE.with(|cell| cell.set(thread.handle()));
}

/// Handle of the calling thread.
fn current_handle() -> u64 {
    match HANDLE.with(Cell::get) {
        0 => current().handle(),
        handle => handle,
    }
}

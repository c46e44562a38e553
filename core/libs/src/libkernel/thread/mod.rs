//! Guest threads: host threads with the guest's stack size, name and exit rules.

mod attributes;
mod barrier;
mod cancel;
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
mod spin;
mod sync_on_address;
pub(crate) mod wait;
pub(crate) mod word_lock;

pub(crate) use cancel::test as cancellation_point;
pub(crate) use lifetime::run_main;

use std::{
    cell::Cell,
    sync::{
        Arc, Mutex, PoisonError,
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
    /// What it sleeps on.
    pub(crate) parker: wait::Parker,
    cancel: cancel::CancelWord,
    pub(crate) exception: super::exception::Pending,
    host: parking_lot::Mutex<Host>,
    outcome: parking_lot::Mutex<Outcome>,
}

/// The host's thread behind one.
#[derive(Clone, Copy, Debug)]
enum Host {
    /// It was created, and has not run yet.
    Created,
    Running(libc::pthread_t),
    Ended,
}

/// A thread's end.
#[derive(Debug, Default)]
struct Outcome {
    /// What it returned, once it has ended.
    value: Option<u64>,
    /// Number of the thread that waits to join it.
    joiner: Option<u64>,
    /// Who is to be woken at its end.
    waiting: Vec<Arc<Thread>>,
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
            parker: wait::Parker::default(),
            cancel: cancel::CancelWord::default(),
            exception: super::exception::Pending::default(),
            host: parking_lot::Mutex::new(Host::Created),
            outcome: parking_lot::Mutex::default(),
        })
    }

    /// Sends a signal of the host's, if the thread runs already. False where it does not run any more.
    pub(crate) fn signal(&self, signal: libc::c_int) -> bool {
        let host = self.host.lock();
        if let Host::Running(thread) = *host {
            // SAFETY: the thread runs as long as the lock keeps it there.
            unsafe { libc::pthread_kill(thread, signal) };
        }
        !matches!(*host, Host::Ended)
    }

    /// What the guest holds: the object's address.
    pub(crate) fn handle(&self) -> u64 {
        crate::pointer::address_of(std::ptr::from_ref(self))
    }
}

/// The thread with this handle.
pub(crate) fn find(handle: u64) -> Option<Arc<Thread>> {
    by_handle(handle)
}

/// The calling thread, if it is the guest's: good as long as it runs.
#[inline]
fn own() -> Option<&'static Thread> {
    let pointer: *const Thread = crate::pointer::host(HANDLE.with(Cell::get));
    // SAFETY: null, or the calling thread's own object, which lives as long as it runs.
    unsafe { pointer.as_ref() }
}

/// What was raised for the calling thread; `None` for one of the host's.
pub(crate) fn pending_exception() -> Option<&'static super::exception::Pending> {
    own().map(|thread| &thread.exception)
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
    current().number
}

/// The calling thread as a number that is got at once: its thread pointer. Another thread may have it once this one has ended.
#[inline]
pub(crate) fn identity() -> u64 {
    let pointer: u64;
    // SAFETY: the word at the thread pointer holds its own address (System V TLS, variant II).
    unsafe {
        std::arch::asm!(
            "mov {}, qword ptr fs:[0]",
            out(reg) pointer,
            options(nostack, preserves_flags, readonly, pure)
        );
    }
    pointer
}

/// The calling thread; a host thread that asks becomes a guest thread of its own, named `host`.
pub(crate) fn current() -> Arc<Thread> {
    let handle = HANDLE.with(Cell::get);
    if handle != 0 {
        let pointer: *const Thread = crate::pointer::host(handle);
        // SAFETY: the calling thread's own object lives as long as it runs: `thread_main` holds it, and the list does for the
        // main thread and those of the host.
        return unsafe {
            Arc::increment_strong_count(pointer);
            Arc::from_raw(pointer)
        };
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
    // SAFETY: always allowed.
    *thread.host.lock() = Host::Running(unsafe { libc::pthread_self() });
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

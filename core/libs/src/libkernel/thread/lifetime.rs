//! Creating, ending and joining threads.

use std::{
    arch::naked_asm,
    cell::Cell,
    ffi::c_void,
    mem::MaybeUninit,
    ptr,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use relic_components::message::Message;
use relic_core::{GuestAddress, GuestRange};
use relic_macros::guest_fn;

use super::{
    Host, Thread,
    attributes::{self, Attributes, AttributesPlace},
    become_current, by_handle, cancel, current, forget, hooks, key, threads,
    wait::{self, Deadline, Stop},
};
use crate::{
    libkernel::time::Timespec,
    pointer::{In, Opaque, Out, Text, address_of, host},
    report,
    result::{Errno, PthreadResult, SceResult},
    runtime, start,
};

/// Longest name, in bytes without the NUL.
pub(super) const NAME_LIMIT: usize = 31;

/// What a host thread needs on the guest's stack beside what the guest asked for: libraries of the host use more
/// stack than the console's.
const HOST_STACK: u64 = 512 * 1024;

type ThreadEntry = extern "sysv64" fn(Opaque) -> Opaque;

thread_local! {
    /// Stack pointer in `enter`, where `scePthreadExit` goes back to.
    static BASE: Cell<usize> = const { Cell::new(0) };
}

/// Calls `function` and keeps the stack pointer in `base`, so that [`leave`] can return from here.
///
/// # Safety
/// `function` must be callable with these arguments, `base` writable.
#[unsafe(naked)]
unsafe extern "sysv64" fn enter(base: *mut usize, function: u64, first: u64, second: u64, third: u64) -> u64 {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "mov [rdi], rsp",
        "mov rax, rsi",
        "mov rdi, rdx",
        "mov rsi, rcx",
        "mov rdx, r8",
        "call rax",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Returns `value` from the [`enter`] that stored `base`, dropping every frame above it.
///
/// # Safety
/// The `enter` must be active on this thread, and no Rust frame above it may own anything.
#[unsafe(naked)]
unsafe extern "sysv64" fn leave(base: usize, value: u64) -> ! {
    naked_asm!(
        "mov rsp, rdi",
        "mov rax, rsi",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Runs the guest's entry point on the initial thread. When it returns, its value is the exit code.
pub(crate) fn run_main(entry: GuestAddress, stack: *mut usize) -> ! {
    let thread = Thread::new("main".to_owned(), Attributes::default());
    become_current(&thread);
    let mut base = 0;
    BASE.with(|cell| cell.set((&raw mut base).expose_provenance()));
    // SAFETY: the entry point of the program and the kernel's block.
    let value = unsafe {
        enter(
            &raw mut base,
            address_of(start::begin_guest as *const ()),
            entry.0,
            address_of(stack),
            address_of(start::exit_callback as *const ()),
        )
    };
    if thread.outcome.lock().value == Some(EXITED) {
        // The main thread called scePthreadExit: the process lives until its last thread ends.
        key::run_destructors();
        while let Some(other) = {
            let others = threads();
            others
                .iter()
                .find(|other| !Arc::ptr_eq(other, &thread) && !is_done(other))
                .cloned()
        } {
            // Nothing can cancel it, and there is no time limit.
            let _ = wait_for_end(&other, Deadline::Never, false);
        }
        crate::libc::exit::exit(0)
    }
    crate::libc::exit::exit(value as i32)
}

/// Marks that the main thread left by `scePthreadExit`.
const EXITED: u64 = u64::MAX;

fn is_done(thread: &Thread) -> bool {
    thread.outcome.lock().value.is_some()
}

/// Waits until a thread has ended. Returns its value.
fn wait_for_end(thread: &Arc<Thread>, deadline: Deadline, can_be_cancelled: bool) -> Result<u64, Stop> {
    let me = current();
    thread.outcome.lock().waiting.push(Arc::clone(&me));
    let leave = || {
        let mut outcome = thread.outcome.lock();
        outcome.waiting.retain(|other| !Arc::ptr_eq(other, &me));
        outcome.value
    };
    wait::sleep_until(deadline, can_be_cancelled, || thread.outcome.lock().value, leave)
}

/// What a new host thread gets.
struct Begin {
    thread: Arc<Thread>,
    entry: ThreadEntry,
    argument: u64,
}

extern "C" fn thread_main(begin: *mut c_void) -> *mut c_void {
    // SAFETY: `create` leaked this box for us.
    let begin = unsafe { Box::from_raw(begin.cast::<Begin>()) };
    let Begin {
        thread,
        entry,
        argument,
    } = *begin;
    super::remember(&thread);
    let name = thread.name.lock().unwrap_or_else(PoisonError::into_inner).clone();
    report::adopt_thread(&name);
    runtime::send_if_running(Message::ThreadStarted {
        thread: thread.number,
        name,
        stack: own_stack(),
        priority: thread.priority.load(Ordering::Relaxed),
    });
    let mut base = 0;
    BASE.with(|cell| cell.set((&raw mut base).expose_provenance()));
    // SAFETY: the guest's thread function with its argument.
    let value = unsafe { enter(&raw mut base, address_of(entry as *const ()), argument, 0, 0) };
    // One that returns ends here; one that was ended by a call has done this already.
    cancel::begin_end(&thread);
    hooks::run_destructors();
    key::run_destructors();
    runtime::send_if_running(Message::ThreadEnded {
        thread: thread.number,
    });
    *thread.host.lock() = Host::Ended;
    report::release_thread();
    if thread.detached.load(Ordering::Acquire) {
        forget(&thread);
    }
    let waiting = {
        let mut outcome = thread.outcome.lock();
        outcome.value = Some(value);
        std::mem::take(&mut outcome.waiting)
    };
    for other in waiting {
        other.parker.unpark();
    }
    ptr::null_mut()
}

/// The calling thread's stack.
fn own_stack() -> GuestRange {
    let mut attributes = MaybeUninit::uninit();
    let (mut start, mut size) = (ptr::null_mut(), 0);
    // SAFETY: places of ours; the attributes are read only when filled.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 {
            libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
    }
    GuestRange::new(GuestAddress(address_of(start)), size as u64)
}

fn create(
    out: Out<u64>,
    place: AttributesPlace,
    entry: Option<ThreadEntry>,
    argument: u64,
    name: String,
) -> Result<(), Errno> {
    let entry = entry.ok_or(Errno::EINVAL)?;
    if out.is_null() {
        return Err(Errno::EINVAL);
    }
    let attributes = attributes::read(place)?;
    let thread = Thread::new(name, attributes);
    let handle = thread.handle();
    threads().push(Arc::clone(&thread));
    // Before the thread runs: it may look at the variable.
    out.write(handle);
    let begin = Box::into_raw(Box::new(Begin {
        thread: Arc::clone(&thread),
        entry,
        argument,
    }));
    // SAFETY: the host's thread gets the box; the attribute object lives through the call.
    let failed = unsafe {
        let mut host_attributes = MaybeUninit::uninit();
        libc::pthread_attr_init(host_attributes.as_mut_ptr());
        let host_attributes = host_attributes.as_mut_ptr();
        libc::pthread_attr_setstacksize(host_attributes, (attributes.stack_size + HOST_STACK) as usize);
        libc::pthread_attr_setdetachstate(host_attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut id = 0;
        let failed = libc::pthread_create(&raw mut id, host_attributes, thread_main, begin.cast());
        libc::pthread_attr_destroy(host_attributes);
        failed
    };
    if failed != 0 {
        // SAFETY: no thread took it.
        drop(unsafe { Box::from_raw(begin) });
        forget(&thread);
        return Err(Errno::EAGAIN);
    }
    Ok(())
}

fn join(handle: u64, out: Out<u64>, deadline: Deadline) -> Result<(), Errno> {
    let thread = by_handle(handle).ok_or(Errno::ESRCH)?;
    let me = super::current_number();
    if thread.number == me {
        return Err(Errno::EDEADLK);
    }
    if thread.detached.load(Ordering::Acquire) {
        return Err(Errno::EINVAL);
    }
    {
        let mut outcome = thread.outcome.lock();
        // FreeBSD lets one thread wait at a time.
        if outcome.joiner.is_some() {
            return Err(Errno::ENOTSUP);
        }
        outcome.joiner = Some(me);
    }
    match wait_for_end(&thread, deadline, true) {
        Ok(value) => {
            forget(&thread);
            out.write(value);
            Ok(())
        }
        // It stays joinable, and `out` untouched.
        Err(stop) => {
            thread.outcome.lock().joiner = None;
            Err(stop.errno())
        }
    }
}

/// Creates a thread.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadCreate(
    out: Out<u64>,
    attributes: AttributesPlace,
    entry: Option<ThreadEntry>,
    argument: u64,
    name: Text,
) -> SceResult {
    create(out, attributes, entry, argument, name.to_text(NAME_LIMIT)).into()
}

/// Creates a thread.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_create(
    out: Out<u64>,
    attributes: AttributesPlace,
    entry: Option<ThreadEntry>,
    argument: u64,
) -> PthreadResult {
    create(out, attributes, entry, argument, String::new()).into()
}

/// Creates a named thread.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_create_name_np(
    out: Out<u64>,
    attributes: AttributesPlace,
    entry: Option<ThreadEntry>,
    argument: u64,
    name: Text,
) -> PthreadResult {
    create(out, attributes, entry, argument, name.to_text(NAME_LIMIT)).into()
}

/// Ends the calling thread: its clean-up handlers run here, the rest where it began. The caller's frames must own nothing.
pub(super) fn exit_thread(value: u64) -> ! {
    let base = BASE.with(Cell::get);
    let thread = current();
    if base == 0 {
        report::abort(format_args!(
            "scePthreadExit on a thread that the guest did not create"
        ));
    }
    if !cancel::begin_end(&thread) {
        report::abort(format_args!(
            "a thread that ends already was ended again, by a clean-up handler or a key's destructor"
        ));
    }
    if thread.number == 1 {
        thread.outcome.lock().value = Some(EXITED);
    }
    drop(thread);
    // SAFETY: `enter` of this thread stored it, and is active; this frame owns nothing any more.
    unsafe { leave(*host::<usize>(base as u64), value) }
}

/// Ends the calling thread.
#[guest_fn(libkernel, libScePosix, also = "pthread_exit")]
pub(crate) extern "sysv64" fn scePthreadExit(value: u64) -> ! {
    exit_thread(value)
}

cancellable_pair! {
    /// Waits for a thread's end, and stores what it returned. A cancellation point.
    scePthreadJoin, pthread_join(handle: u64, out: Out<u64>) {
        join(handle, out, Deadline::Never)
    }
}

cancellable! {
    /// Waits for a thread's end, at most until the time given, and stores what it returned.
    (libkernel, libScePosix) pthread_timedjoin_np(handle: u64, out: Out<u64>, until: In<Timespec>) -> PthreadResult {
        let left = until.read().ok_or(Errno::EINVAL)?.left()?;
        join(handle, out, Deadline::after(left))
    }
}

pthread_pair! {
    scePthreadDetach, pthread_detach(handle: u64) {
        let thread = by_handle(handle).ok_or(Errno::ESRCH)?;
        if thread.detached.swap(true, Ordering::AcqRel) {
            return Err(Errno::EINVAL);
        }
        if is_done(&thread) {
            forget(&thread);
        }
        Ok(())
    }
}

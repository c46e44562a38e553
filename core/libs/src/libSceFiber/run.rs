//! Running fibers.

use std::{cell::Cell, ptr};

use relic_macros::guest_fn;

use super::{
    FiberError,
    object::{CONTROL_WORDS, Fiber, FiberPlace, IDLE, RUNNING},
    switch::{start, switch},
};
use crate::{
    pointer::{Out, address_of},
    report,
    result::SceResult,
};

/// What a new fiber begins with, as [`start`] reads it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Begin {
    entry: u64,
    arguments: [u64; 2],
    sets_control_words: u32,
    mxcsr: u32,
    x87: u32,
}

const _: () = assert!(std::mem::offset_of!(Begin, mxcsr) == 28 && std::mem::offset_of!(Begin, x87) == 32);

/// Denormals are zeros, all exceptions masked; extended precision.
const MXCSR: u32 = 0x9fc0;
const X87: u32 = 0x037f;

/// A thread that runs fibers: lies in the frame of its `sceFiberRun`.
#[derive(Debug)]
pub(super) struct Run {
    current: FiberPlace,
    /// Whom it ran before, until it has left that one's stack.
    before: Option<FiberPlace>,
    /// Passed to whoever runs next: a fiber, or the thread.
    argument: u64,
    /// The thread's own stack pointer meanwhile.
    thread: usize,
    begin: Begin,
}

thread_local! {
    static RUN: Cell<*mut Run> = const { Cell::new(ptr::null_mut()) };
}

/// The calling thread's record; null outside of fibers. Never inlined: the compiler must not keep a thread-local's place over a
/// switch, behind which the thread may be another.
#[inline(never)]
fn run() -> *mut Run {
    RUN.with(Cell::get)
}

#[inline(never)]
fn set_run(run: *mut Run) {
    RUN.with(|cell| cell.set(run));
}

/// The calling thread's record, of a call that may only be made in a fiber.
fn inside() -> Result<*mut Run, FiberError> {
    let run = run();
    if run.is_null() {
        Err(FiberError::Permission)
    } else {
        Ok(run)
    }
}

/// Lets others run the fiber whose stack was left.
///
/// # Safety
/// `run` must be the calling thread's record.
unsafe fn settle(run: *mut Run) {
    // SAFETY: forwarded contract.
    if let Some(before) = unsafe { (*run).before.take() } {
        // It was running, by this thread, until now.
        let _ = before.go(RUNNING, IDLE);
    }
}

/// What a fiber that begins does first, on its own stack.
pub(super) unsafe extern "sysv64" fn arrive(run: *mut Run) -> *const Begin {
    // SAFETY: `start` passes the thread's record.
    unsafe {
        settle(run);
        &raw const (*run).begin
    }
}

/// A fiber's entry returned: there is nowhere to go.
pub(super) extern "sysv64" fn entry_returned() -> ! {
    let run = run();
    // SAFETY: a fiber runs on this thread.
    let name = unsafe { (*run).current }.name();
    report::abort(format_args!(
        "the entry function of the fiber `{name}` returned: it has to end in sceFiberReturnToThread or sceFiberSwitch"
    ))
}

/// Leaves the caller's stack, kept in `save`, for the fiber that `run` names now. Returns when somebody comes back, with the record
/// of the thread that the caller is on then.
///
/// # Safety
/// `run` must be the calling thread's record, and the fiber taken by it.
unsafe fn enter(save: *mut usize, run: *mut Run) -> *mut Run {
    // SAFETY: the record is ours, and so is the fiber since its state was taken.
    unsafe {
        let fiber = (*run).current;
        let saved = fiber.get(|fiber| fiber.saved);
        if saved != 0 {
            return switch(save, saved, run);
        }
        (*run).begin = fiber.get(|fiber| Begin {
            entry: fiber.entry,
            arguments: [fiber.argument, (*run).argument],
            sets_control_words: fiber.flags & CONTROL_WORDS,
            mxcsr: MXCSR,
            x87: X87,
        });
        let (stack, size) = fiber.get(|fiber| (fiber.stack, fiber.stack_size));
        // Without a stack of its own it runs on the thread's, which a fiber that has one left there or has just come from.
        let top = if stack == 0 {
            (*run).thread
        } else {
            (stack + size) as usize
        };
        start(save, top, run)
    }
}

fn run_fiber(
    fiber: Out<Fiber>,
    stack: u64,
    size: u64,
    argument: u64,
    returned: Out<u64>,
) -> Result<(), FiberError> {
    let fiber = FiberPlace::new(fiber)?;
    if !stack.is_multiple_of(16) {
        return Err(FiberError::Alignment);
    }
    let fiber = fiber.existing()?;
    if !run().is_null() {
        return Err(FiberError::Permission);
    }
    if stack != 0 || size != 0 {
        fiber.attach_stack(stack, size)?;
    }
    fiber.go(IDLE, RUNNING)?;
    let mut record = Run {
        current: fiber,
        before: None,
        argument,
        thread: 0,
        begin: Begin::default(),
    };
    let here = &raw mut record;
    set_run(here);
    // SAFETY: the record lives until the thread comes back here, and the fiber is ours.
    unsafe {
        enter(&raw mut (*here).thread, here);
        settle(here);
    }
    set_run(ptr::null_mut());
    // SAFETY: as above: fibers changed it meanwhile.
    returned.write(unsafe { (*here).argument });
    Ok(())
}

/// Where a fiber keeps its stack pointer when it stops; one without a stack keeps nothing.
///
/// # Safety
/// `run` must be the calling thread's record, and stay so until the switch.
unsafe fn keep(fiber: FiberPlace, nowhere: &mut usize) -> *mut usize {
    if !fiber.is_stack_whole() {
        let size = fiber.get(|fiber| fiber.stack_size);
        report::abort(format_args!(
            "the fiber `{}` used more than the {size} bytes of its stack, and overwrote what lies below",
            fiber.name()
        ));
    }
    if fiber.get(|fiber| fiber.stack) == 0 {
        return nowhere;
    }
    // SAFETY: the object of the fiber that runs.
    unsafe { &raw mut (*fiber.as_ptr()).saved }
}

/// The calling fiber runs again, on the thread of this record: takes what it was passed.
///
/// # Safety
/// `run` must be the record that the switch gave.
unsafe fn resume(run: *mut Run, argument: Out<u64>) {
    // SAFETY: forwarded contract.
    unsafe {
        settle(run);
        argument.write((*run).argument);
    }
}

fn switch_fiber(
    fiber: Out<Fiber>,
    stack: u64,
    size: u64,
    passed: u64,
    argument: Out<u64>,
) -> Result<(), FiberError> {
    let fiber = FiberPlace::new(fiber)?;
    if !stack.is_multiple_of(16) {
        return Err(FiberError::Alignment);
    }
    let fiber = fiber.existing()?;
    let run = inside()?;
    if stack != 0 || size != 0 {
        fiber.attach_stack(stack, size)?;
    }
    fiber.go(IDLE, RUNNING)?;
    let mut nowhere = 0;
    // SAFETY: the thread's record, whose fiber calls this; the other one is ours now.
    unsafe {
        let me = (*run).current;
        let save = keep(me, &mut nowhere);
        (*run).current = fiber;
        (*run).before = Some(me);
        (*run).argument = passed;
        resume(enter(save, run), argument);
    }
    Ok(())
}

fn return_to_thread(passed: u64, argument: Out<u64>) -> Result<(), FiberError> {
    let run = inside()?;
    let mut nowhere = 0;
    // SAFETY: the thread's record; the thread was kept when its first fiber ran.
    unsafe {
        let me = (*run).current;
        let save = keep(me, &mut nowhere);
        (*run).before = Some(me);
        (*run).argument = passed;
        resume(switch(save, (*run).thread, run), argument);
    }
    Ok(())
}

/// Runs a fiber on the calling thread until one of those that run then returns to it, and stores what that one passed. PERMISSION
/// inside of a fiber, STATE where the fiber runs already.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberRun(fiber: Out<Fiber>, argument: u64, returned: Out<u64>) -> SceResult {
    run_fiber(fiber, 0, 0, argument, returned).into()
}

/// As `sceFiberRun`, for a fiber without a stack, which gets this one.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn _sceFiberAttachContextAndRun(
    fiber: Out<Fiber>,
    stack: u64,
    size: u64,
    argument: u64,
    returned: Out<u64>,
) -> SceResult {
    run_fiber(fiber, stack, size, argument, returned).into()
}

/// Stops the calling fiber and runs another one in its place. Returns when somebody runs the caller again, and stores what was
/// passed; never to a fiber without a stack. PERMISSION outside of fibers, STATE where the fiber runs already.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberSwitch(
    fiber: Out<Fiber>,
    passed: u64,
    argument: Out<u64>,
) -> SceResult {
    switch_fiber(fiber, 0, 0, passed, argument).into()
}

/// As `sceFiberSwitch`, for a fiber without a stack, which gets this one.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn _sceFiberAttachContextAndSwitch(
    fiber: Out<Fiber>,
    stack: u64,
    size: u64,
    passed: u64,
    argument: Out<u64>,
) -> SceResult {
    switch_fiber(fiber, stack, size, passed, argument).into()
}

/// Stops the calling fiber and goes back to `sceFiberRun` of its thread. Returns when somebody runs the caller again, and stores
/// what was passed. PERMISSION outside of fibers.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberReturnToThread(passed: u64, argument: Out<u64>) -> SceResult {
    return_to_thread(passed, argument).into()
}

/// Stores which fiber calls. PERMISSION outside of fibers.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberGetSelf(out: Out<u64>) -> SceResult {
    let get = || {
        if out.is_null() {
            return Err(FiberError::Null);
        }
        // SAFETY: the thread's record.
        let fiber = unsafe { (*inside()?).current };
        out.write(address_of(fiber.as_ptr()));
        Ok(())
    };
    get().into()
}

/// Stores the frame pointer of the thread that runs the calling fiber: where a walk of its stack goes on. PERMISSION outside of
/// fibers.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberGetThreadFramePointerAddress(out: Out<u64>) -> SceResult {
    let get = || {
        if out.is_null() {
            return Err(FiberError::Null);
        }
        // SAFETY: what `switch` and `start` keep: control words, then r15 to rbx, then rbp.
        let frame = unsafe { *crate::pointer::host::<u64>((*inside()?).thread as u64 + 48) };
        out.write(frame);
        Ok(())
    };
    get().into()
}

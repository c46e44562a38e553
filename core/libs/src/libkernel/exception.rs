//! Exceptions: faults of the program that it handles itself, and one that threads raise in each other, by which garbage
//! collectors stop the world.
//!
//! A raised exception is a signal of the host's to the thread. Where it meets the guest's own code, the guest's handler runs at
//! once, on the thread's stack. Inside of a call of ours it waits until no lock is held: a thread that sleeps in a call, or that
//! the host's kernel has interrupted, looks for itself, and whoever raises goes on asking until it has been delivered.

use std::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    ptr,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use relic_macros::guest_fn;

use super::thread;
use crate::{
    pointer::{address_of, host},
    report,
    result::{Errno, SceResult},
};

/// Signals that may be handled, by FreeBSD's numbers: hang-up, illegal instruction, arithmetic, bus, segment, user 1.
const SIGNALS: [u32; 6] = [1, 4, 8, 10, 11, USER];
/// The one that may be raised.
const USER: u32 = 30;
/// How often a thread that is inside of a call is asked again.
const AGAIN: Duration = Duration::from_micros(200);

static HANDLERS: [AtomicU64; 32] = [const { AtomicU64::new(0) }; 32];

/// FreeBSD's machine context, as far as the console's handlers look at it. It lies at 0x40 of the context.
#[derive(Clone, Copy)]
#[repr(C)]
struct MachineContext {
    on_stack: u64,
    /// In [`REGISTERS`]' order: rdi to r15.
    registers: [u64; 15],
    trap: u32,
    fs: u16,
    gs: u16,
    address: u64,
    flags: u32,
    es: u16,
    ds: u16,
    error: u64,
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
    size: u64,
    fp_format: u64,
    fp_owned: u64,
    branches: [u64; 2],
    auxiliary: [u64; 2],
    fp_state: [u64; 104],
}

/// FreeBSD's context.
#[repr(C, align(16))]
struct Context {
    mask: [u64; 8],
    machine: MachineContext,
    rest: [u64; 16],
}

const _: () = assert!(std::mem::offset_of!(Context, machine) == 0x40);
const _: () =
    assert!(std::mem::offset_of!(Context, machine) + std::mem::offset_of!(MachineContext, rsp) == 0xf8);

/// The host's places of the registers, in the context's order.
const REGISTERS: [c_int; 15] = [
    libc::REG_RDI,
    libc::REG_RSI,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_RAX,
    libc::REG_RBX,
    libc::REG_RBP,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Bytes of the host's floating-point state that FreeBSD's begins with alike (FXSAVE).
const FXSAVE: usize = 512;

/// What a thread has been sent and has not handled.
#[derive(Debug, Default)]
pub(crate) struct Pending(AtomicU32);

impl Context {
    /// The guest's view of what the host has interrupted.
    fn of(host: &libc::ucontext_t, address: u64) -> Self {
        let get = |register: c_int| host.uc_mcontext.gregs[register as usize].cast_unsigned();
        // SAFETY: numbers, for which all zeros will do.
        let mut context: Self = unsafe { MaybeUninit::zeroed().assume_init() };
        let machine = &mut context.machine;
        for (place, register) in machine.registers.iter_mut().zip(REGISTERS) {
            *place = get(register);
        }
        machine.trap = get(libc::REG_TRAPNO) as u32;
        machine.address = address;
        machine.error = get(libc::REG_ERR);
        (machine.rip, machine.rsp) = (get(libc::REG_RIP), get(libc::REG_RSP));
        machine.rflags = get(libc::REG_EFL);
        (machine.cs, machine.ss) = (0x43, 0x3b);
        machine.size = size_of::<MachineContext>() as u64;
        if !host.uc_mcontext.fpregs.is_null() {
            // SAFETY: the host's state begins with an FXSAVE area, and ours is larger.
            unsafe {
                ptr::copy_nonoverlapping(
                    host.uc_mcontext.fpregs.cast::<u8>(),
                    machine.fp_state.as_mut_ptr().cast(),
                    FXSAVE,
                );
            }
            // Extended, held by the context.
            (machine.fp_format, machine.fp_owned) = (0x1_0002, 0x2_0001);
        }
        context
    }

    /// Goes on where the guest's handler says.
    fn restore(&self, host: &mut libc::ucontext_t) {
        let machine = &self.machine;
        let mut set =
            |register: c_int, value: u64| host.uc_mcontext.gregs[register as usize] = value.cast_signed();
        for (value, register) in machine.registers.into_iter().zip(REGISTERS) {
            set(register, value);
        }
        set(libc::REG_RIP, machine.rip);
        set(libc::REG_RSP, machine.rsp);
    }
}

type Handler = extern "sysv64" fn(i32, *mut Context);

fn handler(signal: u32) -> Option<Handler> {
    let address = HANDLERS[signal as usize].load(Ordering::Acquire);
    // SAFETY: the guest registered a function of this type.
    (address != 0).then(|| unsafe { std::mem::transmute::<*mut c_void, Handler>(host(address)) })
}

/// Lets the guest handle a fault, if it wants to. Called by the report's signal handler.
///
/// # Safety
/// `context` must be what the host's kernel passed for the calling thread's fault.
pub(crate) unsafe fn handle_fault(signal: c_int, address: u64, context: *mut c_void) -> bool {
    let number = match signal {
        libc::SIGILL => 4,
        libc::SIGFPE => 8,
        libc::SIGBUS => 10,
        libc::SIGSEGV => 11,
        _ => return false,
    };
    let Some(handler) = handler(number) else {
        return false;
    };
    // SAFETY: forwarded contract.
    let host = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let mut guest = Context::of(host, address);
    handler(number as i32, &raw mut guest);
    guest.restore(host);
    true
}

/// Whether threads may raise exceptions: some thread has set a handler.
#[inline]
pub(crate) fn can_be_raised() -> bool {
    HANDLERS[USER as usize].load(Ordering::Relaxed) != 0
}

/// The host's signal that carries raised exceptions: one that is not queued, as it is sent again and again.
const CARRIER: c_int = libc::SIGUSR2;

extern "C" fn on_raised(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes it for SA_SIGINFO handlers.
    let host = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let rip = host.uc_mcontext.gregs[libc::REG_RIP as usize].cast_unsigned();
    if report::is_guest_code(rip) {
        deliver(Some(host));
    }
}

/// Runs the handler of what was raised for the calling thread. No lock may be held.
#[cold]
fn deliver(context: Option<&mut libc::ucontext_t>) {
    let Some(pending) = thread::pending_exception() else {
        return;
    };
    let signal = pending.0.swap(0, Ordering::AcqRel);
    let Some(handler) = handler(signal).filter(|_| signal != 0) else {
        return;
    };
    match context {
        Some(host) => {
            let mut guest = Context::of(host, 0);
            handler(signal as i32, &raw mut guest);
            guest.restore(host);
        }
        None => {
            let mut here = MaybeUninit::<libc::ucontext_t>::uninit();
            // SAFETY: a place of ours, read when it is filled. What this frame's callers hold lies above its stack pointer.
            let mut guest = unsafe {
                if libc::getcontext(here.as_mut_ptr()) != 0 {
                    return;
                }
                Context::of(here.assume_init_ref(), 0)
            };
            handler(signal as i32, &raw mut guest);
        }
    }
}

impl Pending {
    /// Runs the handler of what was raised for the calling thread, whose word this is. Called where a thread sleeps, with no
    /// lock held.
    #[inline]
    pub(crate) fn look(&self) {
        if self.0.load(Ordering::Acquire) != 0 {
            deliver(None);
        }
    }
}

/// Sets the handler of a signal: 1, 4, 8, 10, 11 or 30. EAGAIN where one is set.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelInstallExceptionHandler(signal: u32, function: u64) -> SceResult {
    if !SIGNALS.contains(&signal) || function == 0 {
        return Errno::EINVAL.sce();
    }
    if signal == USER {
        // SAFETY: all-zero is a valid sigaction, and the handler does only what a thread may do where it stands.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = address_of(on_raised as *const ()) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            if libc::sigaction(CARRIER, &raw const action, ptr::null_mut()) != 0 {
                return Errno::last().sce();
            }
        }
    }
    let set = HANDLERS[signal as usize].compare_exchange(0, function, Ordering::AcqRel, Ordering::Acquire);
    set.map(drop).map_err(|_| Errno::EAGAIN).into()
}

/// Takes the handler of a signal away.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelRemoveExceptionHandler(signal: u32) -> SceResult {
    if !SIGNALS.contains(&signal) {
        return Errno::EINVAL.sce();
    }
    HANDLERS[signal as usize].store(0, Ordering::Release);
    SceResult::OK
}

/// Runs the handler of signal 30 on another thread. Returns when it has begun, or has nothing to run.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelRaiseException(handle: u64, signal: u32) -> SceResult {
    if signal != USER {
        return Errno::EINVAL.sce();
    }
    let Some(target) = thread::find(handle) else {
        return Errno::ESRCH.sce();
    };
    if handler(signal).is_none() {
        return SceResult::OK;
    }
    target.exception.0.store(signal, Ordering::Release);
    if target.number == thread::current_number() {
        deliver(None);
        return SceResult::OK;
    }
    loop {
        target.parker.unpark();
        // A thread that has ended takes nothing any more.
        if !target.signal(CARRIER) || target.exception.0.load(Ordering::Acquire) == 0 {
            return SceResult::OK;
        }
        std::thread::sleep(AGAIN);
    }
}

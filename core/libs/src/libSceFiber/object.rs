//! A fiber's object: making and ending it, and what it says about itself.

use std::sync::atomic::{AtomicU32, Ordering};

use relic_macros::guest_fn;

use super::FiberError;
use crate::{
    pointer::{Out, Text, host},
    result::SceResult,
};

/// Marks a fiber's object, at both of its ends.
const MARK: u32 = 0x6669_6272;
/// Marks optional parameters that were initialised.
const OPTIONS_MARK: u32 = 0xbb40_e64d;
/// The lowest word of a stack: another value there means that the stack ran over.
const STACK_MARK: u64 = 0x7149_f2ca_7149_f2ca;
/// What untouched words of a stack hold where its use is measured.
const UNTOUCHED: u64 = 0xdead_beef_dead_beef;
/// Smallest stack, in bytes.
const STACK_LEAST: u64 = 512;
/// Longest name, in bytes without the NUL.
const NAME_LIMIT: usize = 31;
/// From this version of the SDK on (3.50), fibers begin with floating-point control words of their own.
const OWN_CONTROL_WORDS: u32 = 0x0350_0000;

/// What a fiber is doing.
pub(super) const IDLE: u32 = 1;
pub(super) const RUNNING: u32 = 2;
const ENDED: u32 = 3;

/// Measures the stack's use.
const MEASURED: u32 = 1;
/// Begins with control words of its own.
pub(super) const CONTROL_WORDS: u32 = 2;

/// Whether new fibers' stacks are measured.
static MEASURING: AtomicU32 = AtomicU32::new(0);

/// The object: 256 bytes.
#[repr(C)]
pub(super) struct Fiber {
    mark: u32,
    pub(super) state: AtomicU32,
    pub(super) entry: u64,
    pub(super) argument: u64,
    /// Its stack; 0 for a fiber that runs on its thread's.
    pub(super) stack: u64,
    pub(super) stack_size: u64,
    name: [u8; NAME_LIMIT + 1],
    /// Its stack pointer while it does not run; 0 before it has run.
    pub(super) saved: usize,
    pub(super) flags: u32,
    end_mark: u32,
    rest: [u64; 21],
}

const _: () = assert!(size_of::<Fiber>() == 256);

/// What `sceFiberGetInfo` stores: 128 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct FiberInfo {
    /// Set by the caller to the record's size.
    size: u64,
    entry: u64,
    argument: u64,
    stack: u64,
    stack_size: u64,
    name: [u8; NAME_LIMIT + 1],
    /// Bytes of the stack that were never used; all ones where that is not measured.
    margin: u64,
    rest: [u64; 6],
}

const _: () = assert!(size_of::<FiberInfo>() == 128);

/// Optional parameters of a fiber: nothing is known to be in them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Options {
    mark: u32,
}

/// A guest's fiber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FiberPlace(*mut Fiber);

impl FiberPlace {
    /// The place that a call was given: not null, and aligned.
    pub(super) fn new(place: Out<Fiber>) -> Result<Self, FiberError> {
        if place.is_null() {
            return Err(FiberError::Null);
        }
        if !place.address().is_multiple_of(8) {
            return Err(FiberError::Alignment);
        }
        Ok(Self(place.as_ptr()))
    }

    /// The fiber there, once it was initialised.
    pub(super) fn existing(self) -> Result<Self, FiberError> {
        // SAFETY: not null and aligned, and the guest vouches for the object.
        let marks = unsafe { ((*self.0).mark, (*self.0).end_mark) };
        if marks == (MARK, MARK) {
            Ok(self)
        } else {
            Err(FiberError::Invalid)
        }
    }

    pub(super) const fn as_ptr(self) -> *mut Fiber {
        self.0
    }

    /// One field. The fiber belongs to whoever took its state, and its description changes no more.
    pub(super) fn get<T: Copy>(self, field: impl FnOnce(&Fiber) -> T) -> T {
        // SAFETY: the guest vouches for the object; what other threads change of it is atomic.
        field(unsafe { &*self.0 })
    }

    /// Goes from one state to another; STATE where it is in a third.
    pub(super) fn go(self, from: u32, to: u32) -> Result<(), FiberError> {
        // SAFETY: as above.
        let state = unsafe { &(*self.0).state };
        state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
            .map_err(|_| FiberError::State)
    }

    /// Its name, as text.
    pub(super) fn name(self) -> String {
        let name = self.get(|fiber| fiber.name);
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_LIMIT);
        String::from_utf8_lossy(&name[..length]).into_owned()
    }

    fn rename(self, name: Text) {
        let mut bytes = [0; NAME_LIMIT + 1];
        let text = name.bytes(NAME_LIMIT).unwrap_or_default();
        bytes[..text.len()].copy_from_slice(&text);
        // SAFETY: the guest vouches for the object, and names it from one thread at a time.
        unsafe { (*self.0).name = bytes };
    }

    /// Gives it a stack, which is to be valid.
    fn set_stack(self, stack: u64, size: u64) {
        // SAFETY: the guest vouches for the object and for the stack, which nobody uses yet.
        unsafe {
            (*self.0).stack = stack;
            (*self.0).stack_size = size;
            if stack == 0 {
                return;
            }
            host::<u64>(stack).write(STACK_MARK);
            if (*self.0).flags & MEASURED != 0 {
                for word in 1..size / 8 {
                    host::<u64>(stack + 8 * word).write(UNTOUCHED);
                }
            }
        }
    }

    /// Gives a fiber that has none a stack.
    pub(super) fn attach_stack(self, stack: u64, size: u64) -> Result<(), FiberError> {
        check_stack(stack, size)?;
        if stack == 0 || self.get(|fiber| fiber.stack) != 0 {
            return Err(FiberError::Invalid);
        }
        self.set_stack(stack, size);
        Ok(())
    }

    /// Whether the stack's lowest word is what it was, or there is none.
    pub(super) fn is_stack_whole(self) -> bool {
        let stack = self.get(|fiber| fiber.stack);
        // SAFETY: the stack of a live fiber.
        stack == 0 || unsafe { host::<u64>(stack).read() } == STACK_MARK
    }

    fn margin(self) -> u64 {
        let (stack, size, flags) = self.get(|fiber| (fiber.stack, fiber.stack_size, fiber.flags));
        if flags & MEASURED == 0 || stack == 0 {
            return u64::MAX;
        }
        if !self.is_stack_whole() {
            return 0;
        }
        // SAFETY: the stack of a live fiber; its words are read as they are now.
        let untouched = |word: &u64| unsafe { host::<u64>(stack + 8 * word).read_volatile() } == UNTOUCHED;
        (1..size / 8).take_while(untouched).count() as u64 * 8
    }
}

/// The rules for stacks: 16 bytes aligned, a multiple of them long, at least 512.
fn check_stack(stack: u64, size: u64) -> Result<(), FiberError> {
    if !stack.is_multiple_of(16) {
        return Err(FiberError::Alignment);
    }
    if size != 0 && size < STACK_LEAST {
        return Err(FiberError::Range);
    }
    if !size.is_multiple_of(16) || (stack == 0) != (size == 0) {
        return Err(FiberError::Invalid);
    }
    Ok(())
}

fn initialise(
    fiber: Out<Fiber>,
    name: Text,
    entry: u64,
    argument: u64,
    stack: u64,
    size: u64,
    options: Out<Options>,
    flags: u32,
) -> Result<(), FiberError> {
    if fiber.is_null() || name.is_null() || entry == 0 {
        return Err(FiberError::Null);
    }
    let place = FiberPlace::new(fiber)?;
    if !stack.is_multiple_of(16) || !options.address().is_multiple_of(8) {
        return Err(FiberError::Alignment);
    }
    check_stack(stack, size)?;
    if options.read().is_some_and(|options| options.mark != OPTIONS_MARK) {
        return Err(FiberError::Invalid);
    }
    let measured = if MEASURING.load(Ordering::Relaxed) != 0 {
        MEASURED
    } else {
        0
    };
    fiber.write(Fiber {
        mark: MARK,
        state: AtomicU32::new(ENDED),
        entry,
        argument,
        stack: 0,
        stack_size: 0,
        name: [0; NAME_LIMIT + 1],
        saved: 0,
        flags: flags | measured,
        end_mark: MARK,
        rest: [0; 21],
    });
    place.rename(name);
    place.set_stack(stack, size);
    place.go(ENDED, IDLE)
}

const fn flags_of(version: u32) -> u32 {
    if version >= OWN_CONTROL_WORDS {
        CONTROL_WORDS
    } else {
        0
    }
}

/// Makes a fiber that will call `entry(argument, argument of the first run)` on a stack, or on that of the thread that runs it
/// where `stack` is null. `version` is the SDK's.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn _sceFiberInitializeImpl(
    fiber: Out<Fiber>,
    name: Text,
    entry: u64,
    argument: u64,
    stack: u64,
    size: u64,
    options: Out<Options>,
    version: u32,
) -> SceResult {
    initialise(
        fiber,
        name,
        entry,
        argument,
        stack,
        size,
        options,
        flags_of(version),
    )
    .into()
}

/// As `_sceFiberInitializeImpl`. `flags`: 1 measures the stack's use.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn _sceFiberInitializeWithInternalOptionImpl(
    fiber: Out<Fiber>,
    name: Text,
    entry: u64,
    argument: u64,
    stack: u64,
    size: u64,
    options: Out<Options>,
    flags: u32,
    version: u32,
) -> SceResult {
    let flags = flags & MEASURED | flags_of(version);
    initialise(fiber, name, entry, argument, stack, size, options, flags).into()
}

/// Initialises optional parameters.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberOptParamInitialize(options: Out<Options>) -> SceResult {
    if options.is_null() {
        return FiberError::Null.into();
    }
    if !options.address().is_multiple_of(8) {
        return FiberError::Alignment.into();
    }
    options.write(Options { mark: OPTIONS_MARK });
    SceResult::OK
}

/// Ends a fiber that does not run.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberFinalize(fiber: Out<Fiber>) -> SceResult {
    let finalise = || FiberPlace::new(fiber)?.existing()?.go(IDLE, ENDED);
    finalise().into()
}

/// Gives a fiber another name.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberRename(fiber: Out<Fiber>, name: Text) -> SceResult {
    let rename = || {
        if name.is_null() {
            return Err(FiberError::Null);
        }
        FiberPlace::new(fiber)?.existing()?.rename(name);
        Ok(())
    };
    rename().into()
}

/// Stores what a fiber was made with, and how much of its stack was never used.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberGetInfo(fiber: Out<Fiber>, out: Out<FiberInfo>) -> SceResult {
    let get = || {
        if out.is_null() {
            return Err(FiberError::Null);
        }
        let fiber = FiberPlace::new(fiber)?;
        if !out.address().is_multiple_of(8) {
            return Err(FiberError::Alignment);
        }
        let size = size_of::<FiberInfo>() as u64;
        if out.cast::<u64>().read() != Some(size) {
            return Err(FiberError::Invalid);
        }
        let fiber = fiber.existing()?;
        out.write(fiber.get(|inner| FiberInfo {
            size,
            entry: inner.entry,
            argument: inner.argument,
            stack: inner.stack,
            stack_size: inner.stack_size,
            name: inner.name,
            margin: fiber.margin(),
            rest: [0; 6],
        }));
        Ok(())
    };
    get().into()
}

fn measure(from: u32, to: u32) -> SceResult {
    MEASURING
        .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
        .map(drop)
        .map_err(|_| FiberError::State)
        .into()
}

/// Measures how much fibers that are made from now on use of their stacks.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberStartContextSizeCheck(flags: u32) -> SceResult {
    if flags != 0 {
        return FiberError::Invalid.into();
    }
    measure(0, 1)
}

/// Measures new fibers no more.
#[guest_fn(libSceFiber)]
pub(crate) extern "sysv64" fn sceFiberStopContextSizeCheck() -> SceResult {
    measure(1, 0)
}

//! The title's own allocator, where its process parameters name one.

use std::{
    cell::Cell,
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use relic_core::GuestAddress;

use crate::{log, pointer::host};

type Malloc = unsafe extern "sysv64" fn(usize) -> *mut c_void;
type Free = unsafe extern "sysv64" fn(*mut c_void);
type Calloc = unsafe extern "sysv64" fn(usize, usize) -> *mut c_void;
type Realloc = unsafe extern "sysv64" fn(*mut c_void, usize) -> *mut c_void;
type Reallocalign = unsafe extern "sysv64" fn(*mut c_void, usize, usize) -> *mut c_void;
type PosixMemalign = unsafe extern "sysv64" fn(*mut *mut c_void, usize, usize) -> i32;
type UsableSize = unsafe extern "sysv64" fn(*mut c_void) -> usize;
type Plain = unsafe extern "sysv64" fn() -> i32;

/// The replacement table of the libc parameters: 0x78 bytes, version 2.
#[repr(C)]
pub(super) struct Table {
    size: u64,
    version: u64,
    initialise: Option<Plain>,
    finalise: Option<Plain>,
    pub(super) malloc: Option<Malloc>,
    pub(super) free: Option<Free>,
    pub(super) calloc: Option<Calloc>,
    pub(super) realloc: Option<Realloc>,
    pub(super) memalign: Option<Calloc>,
    pub(super) reallocalign: Option<Reallocalign>,
    pub(super) posix_memalign: Option<PosixMemalign>,
    _statistics: u64,
    _fast_statistics: u64,
    pub(super) usable_size: Option<UsableSize>,
    _more: u64,
}

const _: () = assert!(size_of::<Table>() == 0x78);

/// Null where the title has none.
static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    /// Whether the calling thread is inside one of the title's functions, whose own calls go to our allocator.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A function of the title's allocator; `None` where the title has none, or calls from inside it.
#[inline]
pub(super) fn find<F>(choose: impl FnOnce(&Table) -> Option<F>) -> Option<F> {
    let table = TABLE.load(Ordering::Acquire);
    // SAFETY: the title's own table, which stays.
    let table = unsafe { table.as_ref() }?;
    if INSIDE.with(Cell::get) {
        None
    } else {
        choose(table)
    }
}

/// Runs one of the title's functions.
pub(super) fn enter<T>(function: impl FnOnce() -> T) -> T {
    INSIDE.with(|inside| inside.set(true));
    let result = function();
    INSIDE.with(|inside| inside.set(false));
    result
}

/// Looks the table up in the program's parameters, and initialises the title's allocator. On the initial thread, before
/// anything else of the guest runs.
pub(crate) fn begin(parameters: GuestAddress) {
    // SAFETY: the program's own blocks; each is looked at as far as its size says.
    let table = unsafe {
        let word = |block: u64, offset: u64| -> u64 {
            if block == 0 || host::<u64>(block).read_unaligned() < offset + 8 {
                return 0;
            }
            host::<u64>(block + offset).read_unaligned()
        };
        let libc = word(parameters.0, 0x38);
        host::<Table>(word(libc, 0x30))
    };
    // SAFETY: null, or the title's table, whose size is its first word.
    let Some(found) = (unsafe { table.as_ref() }) else {
        return;
    };
    if (found.size as usize) < size_of::<Table>() || found.malloc.is_none() || found.free.is_none() {
        log::note(format_args!(
            "the table of the title's allocator has size {:#x} and version {}, or no malloc and free: it is not used",
            found.size, found.version
        ));
        return;
    }
    if let Some(initialise) = found.initialise {
        // SAFETY: the title's own function.
        let result = enter(|| unsafe { initialise() });
        if result != 0 {
            log::warn(format_args!(
                "the title's allocator failed to initialise ({result:#x}): it is not used"
            ));
            return;
        }
    }
    TABLE.store(table, Ordering::Release);
    super::look_again();
}

/// Whether the title has one.
pub(super) fn is_there() -> bool {
    !TABLE.load(Ordering::Acquire).is_null()
}

//! The console's error codes.

use std::cell::Cell;

/// FreeBSD's error numbers, as the console's kernel counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct Errno(pub(crate) i32);

impl Errno {
    pub(crate) const EPERM: Self = Self(1);
    pub(crate) const ENOENT: Self = Self(2);
    pub(crate) const ESRCH: Self = Self(3);
    pub(crate) const ENOEXEC: Self = Self(8);
    pub(crate) const EBADF: Self = Self(9);
    pub(crate) const EDEADLK: Self = Self(11);
    pub(crate) const ENOMEM: Self = Self(12);
    pub(crate) const EACCES: Self = Self(13);
    pub(crate) const EFAULT: Self = Self(14);
    pub(crate) const EBUSY: Self = Self(16);
    pub(crate) const EINVAL: Self = Self(22);
    pub(crate) const ERANGE: Self = Self(34);
    pub(crate) const EAGAIN: Self = Self(35);
    pub(crate) const ETIMEDOUT: Self = Self(60);
    pub(crate) const ENAMETOOLONG: Self = Self(63);
    pub(crate) const ECANCELED: Self = Self(85);

    /// The kernel libraries' code for it.
    pub(crate) const fn sce(self) -> SceResult {
        SceResult(0x8002_0000_u32.cast_signed() | self.0)
    }
}

/// What `sce*` functions return: 0, or a negative code `0x8xxxxxxx`; some return a count or handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct SceResult(pub(crate) i32);

impl SceResult {
    pub(crate) const OK: Self = Self(0);

    /// The code with these bits.
    pub(crate) const fn code(bits: u32) -> Self {
        Self(bits.cast_signed())
    }
}

impl<E: Into<SceResult>> From<Result<(), E>> for SceResult {
    fn from(result: Result<(), E>) -> Self {
        match result {
            Ok(()) => Self::OK,
            Err(error) => error.into(),
        }
    }
}

impl From<Errno> for SceResult {
    fn from(errno: Errno) -> Self {
        errno.sce()
    }
}

/// What `pthread_*` functions return: 0 or the error number itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct PthreadResult(pub(crate) i32);

impl From<Result<(), Errno>> for PthreadResult {
    fn from(result: Result<(), Errno>) -> Self {
        Self(result.map_or_else(|errno| errno.0, |()| 0))
    }
}

/// What POSIX functions return: 0, or -1 with the error number in `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct PosixResult(pub(crate) i32);

impl From<Result<(), Errno>> for PosixResult {
    fn from(result: Result<(), Errno>) -> Self {
        match result {
            Ok(()) => Self(0),
            Err(errno) => {
                set_errno(errno);
                Self(-1)
            }
        }
    }
}

thread_local! {
    static ERRNO: Cell<i32> = const { Cell::new(0) };
}

/// Sets the calling thread's `errno`.
pub(crate) fn set_errno(errno: Errno) {
    ERRNO.with(|cell| cell.set(errno.0));
}

/// Address of the calling thread's `errno`.
pub(crate) fn errno_address() -> *mut i32 {
    ERRNO.with(Cell::as_ptr)
}

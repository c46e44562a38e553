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
    pub(crate) const EIO: Self = Self(5);
    pub(crate) const ENOEXEC: Self = Self(8);
    pub(crate) const EBADF: Self = Self(9);
    pub(crate) const EDEADLK: Self = Self(11);
    pub(crate) const ENOMEM: Self = Self(12);
    pub(crate) const EACCES: Self = Self(13);
    pub(crate) const EFAULT: Self = Self(14);
    pub(crate) const EBUSY: Self = Self(16);
    pub(crate) const EEXIST: Self = Self(17);
    pub(crate) const EXDEV: Self = Self(18);
    pub(crate) const EISDIR: Self = Self(21);
    pub(crate) const EINVAL: Self = Self(22);
    pub(crate) const EMFILE: Self = Self(24);
    pub(crate) const EROFS: Self = Self(30);
    pub(crate) const ERANGE: Self = Self(34);
    pub(crate) const EAGAIN: Self = Self(35);
    pub(crate) const ENOTSUP: Self = Self(45);
    pub(crate) const ETIMEDOUT: Self = Self(60);
    pub(crate) const ENAMETOOLONG: Self = Self(63);
    pub(crate) const ENOSYS: Self = Self(78);
    pub(crate) const ECANCELED: Self = Self(85);
    pub(crate) const EILSEQ: Self = Self(86);

    /// The kernel libraries' code for it.
    pub(crate) const fn sce(self) -> SceResult {
        SceResult(0x8002_0000_u32.cast_signed() | self.0)
    }

    /// The console's number for one of the host's. What the console does not have is EIO.
    pub(crate) fn of_host(host: i32) -> Self {
        match DIFFERENT.iter().find(|(number, _)| *number == host) {
            Some((_, guest)) => Self(*guest),
            None if (1..=34).contains(&host) => Self(host),
            None => Self::EIO,
        }
    }

    /// The console's number for what the host's last call of this thread left.
    pub(crate) fn last() -> Self {
        Self::of_host(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }

    /// The host's number for it; `None` where the host has none.
    pub(crate) fn to_host(self) -> Option<i32> {
        match DIFFERENT.iter().find(|(_, guest)| *guest == self.0) {
            Some((host, _)) => Some(*host),
            None if (1..=34).contains(&self.0) => Some(self.0),
            None => None,
        }
    }
}

/// Error numbers that FreeBSD counts otherwise than Linux: the host's, then the console's. Below 35 the rest are equal.
const DIFFERENT: [(i32, i32); 51] = [
    (libc::EAGAIN, 35),
    (libc::EDEADLK, 11),
    (libc::EINPROGRESS, 36),
    (libc::EALREADY, 37),
    (libc::ENOTSOCK, 38),
    (libc::EDESTADDRREQ, 39),
    (libc::EMSGSIZE, 40),
    (libc::EPROTOTYPE, 41),
    (libc::ENOPROTOOPT, 42),
    (libc::EPROTONOSUPPORT, 43),
    (libc::ESOCKTNOSUPPORT, 44),
    (libc::EOPNOTSUPP, 45),
    (libc::EPFNOSUPPORT, 46),
    (libc::EAFNOSUPPORT, 47),
    (libc::EADDRINUSE, 48),
    (libc::EADDRNOTAVAIL, 49),
    (libc::ENETDOWN, 50),
    (libc::ENETUNREACH, 51),
    (libc::ENETRESET, 52),
    (libc::ECONNABORTED, 53),
    (libc::ECONNRESET, 54),
    (libc::ENOBUFS, 55),
    (libc::EISCONN, 56),
    (libc::ENOTCONN, 57),
    (libc::ESHUTDOWN, 58),
    (libc::ETOOMANYREFS, 59),
    (libc::ETIMEDOUT, 60),
    (libc::ECONNREFUSED, 61),
    (libc::ELOOP, 62),
    (libc::ENAMETOOLONG, 63),
    (libc::EHOSTDOWN, 64),
    (libc::EHOSTUNREACH, 65),
    (libc::ENOTEMPTY, 66),
    (libc::EUSERS, 68),
    (libc::EDQUOT, 69),
    (libc::ESTALE, 70),
    (libc::EREMOTE, 71),
    (libc::ENOLCK, 77),
    (libc::ENOSYS, 78),
    (libc::EIDRM, 82),
    (libc::ENOMSG, 83),
    (libc::EOVERFLOW, 84),
    (libc::ECANCELED, 85),
    (libc::EILSEQ, 86),
    (libc::ENODATA, 87),
    (libc::EBADMSG, 89),
    (libc::EMULTIHOP, 90),
    (libc::ENOLINK, 91),
    (libc::EPROTO, 92),
    // Numbers of Linux alone, by what is meant.
    (libc::ETIME, 60),
    (libc::ENONET, 50),
];

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

/// The calling thread's `errno`.
pub(crate) fn errno() -> Errno {
    Errno(ERRNO.with(Cell::get))
}

/// Stores the host's last error of this thread as the guest's `errno`.
pub(crate) fn set_errno_from_host() {
    set_errno(Errno::last());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_numbers_are_translated_both_ways() {
        for (host, guest) in [
            (libc::ENOENT, 2),
            (libc::EAGAIN, 35),
            (libc::EDEADLK, 11),
            (libc::ENAMETOOLONG, 63),
            (libc::ENOTEMPTY, 66),
            (libc::ELOOP, 62),
            (libc::ERANGE, 34),
        ] {
            assert_eq!(Errno::of_host(host), Errno(guest));
            assert_eq!(Errno(guest).to_host(), Some(host));
        }
        assert_eq!(Errno::of_host(4000), Errno::EIO);
        assert_eq!(Errno(72).to_host(), None);
        // The first host number of a guest number is the one that goes back.
        assert_eq!(Errno::of_host(libc::ETIME).to_host(), Some(libc::ETIMEDOUT));
        // Every host number is listed once.
        let mut hosts: Vec<i32> = DIFFERENT.iter().map(|(host, _)| *host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        assert_eq!(hosts.len(), DIFFERENT.len());
    }
}

//! Flags of `open`.

use crate::result::Errno;

/// FreeBSD's flag, the host's, in the order of bits. Locks and what has no counterpart are treated in `open`.
const FLAGS: [(i32, i32); 14] = [
    (0x4, libc::O_NONBLOCK),
    (0x8, libc::O_APPEND),
    // Signals for input that is there: nobody can get them here.
    (0x40, 0),
    (0x80, libc::O_SYNC),
    (0x100, libc::O_NOFOLLOW),
    (0x200, libc::O_CREAT),
    (0x400, libc::O_TRUNC),
    (0x800, libc::O_EXCL),
    (0x1000, libc::O_DSYNC),
    (0x8000, libc::O_NOCTTY),
    // Direct input and output asks for alignments that the console does not: the host's cache stays in between.
    (0x1_0000, 0),
    (0x2_0000, libc::O_DIRECTORY),
    (0x8_0000, 0),
    (0x10_0000, libc::O_CLOEXEC),
];
const ACCESS: i32 = 3;
const SHARED_LOCK: i32 = 0x10;
const EXCLUSIVE_LOCK: i32 = 0x20;

/// Append, which `fcntl` may change.
pub(super) const APPEND: i32 = 0x8;
/// Non-blocking, which `fcntl` may change.
pub(super) const NON_BLOCKING: i32 = 0x4;

/// What `open` is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenFlags {
    guest: i32,
    host: i32,
}

impl OpenFlags {
    /// EINVAL for bits that FreeBSD does not have.
    pub(super) fn new(guest: i32) -> Result<Self, Errno> {
        let mut host = match guest & ACCESS {
            0 => libc::O_RDONLY,
            1 => libc::O_WRONLY,
            2 => libc::O_RDWR,
            _ => return Err(Errno::EINVAL),
        };
        let mut left = guest & !(ACCESS | SHARED_LOCK | EXCLUSIVE_LOCK);
        for (flag, same) in FLAGS {
            if left & flag != 0 {
                left &= !flag;
                host |= same;
            }
        }
        if left != 0 || guest & SHARED_LOCK != 0 && guest & EXCLUSIVE_LOCK != 0 {
            return Err(Errno::EINVAL);
        }
        Ok(Self { guest, host })
    }

    /// The guest's own bits.
    pub(super) const fn guest(self) -> i32 {
        self.guest
    }

    pub(super) const fn host(self) -> i32 {
        self.host | libc::O_CLOEXEC
    }

    pub(super) const fn writes(self) -> bool {
        self.guest & ACCESS != 0 || self.guest & 0x400 != 0
    }

    pub(super) const fn creates(self) -> bool {
        self.guest & 0x200 != 0
    }

    /// The lock that comes with it, as `flock` takes it.
    pub(super) const fn lock(self) -> Option<i32> {
        let wait = if self.guest & NON_BLOCKING != 0 {
            libc::LOCK_NB
        } else {
            0
        };
        if self.guest & SHARED_LOCK != 0 {
            Some(libc::LOCK_SH | wait)
        } else if self.guest & EXCLUSIVE_LOCK != 0 {
            Some(libc::LOCK_EX | wait)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_their_meaning_and_others_are_refused() {
        for (guest, host) in [
            (0, libc::O_RDONLY),
            (0x2 | 0x200 | 0x400, libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC),
            (
                0x1 | 0x8 | 0x200 | 0x800,
                libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_EXCL,
            ),
            (0x2_0000, libc::O_DIRECTORY),
        ] {
            assert_eq!(
                OpenFlags::new(guest).map(|flags| flags.host & !libc::O_CLOEXEC),
                Ok(host)
            );
        }
        for guest in [3, 0x30, 0x2000, 0x4000, 0x20_0000, i32::MIN] {
            assert_eq!(OpenFlags::new(guest), Err(Errno::EINVAL), "{guest:#x}");
        }
        assert_eq!(
            OpenFlags::new(0x14).unwrap().lock(),
            Some(libc::LOCK_SH | libc::LOCK_NB)
        );
    }
}

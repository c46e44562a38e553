//! Files and directories.
//!
//! A guest's path begins with the name of a mount (`/app0/…`), which is a folder of the host. Every look-up is made by
//! the host's kernel beneath that folder's descriptor, so that neither `..` nor a symbolic link leads out of it. Guest
//! descriptors are numbers of a table of our own; the host's are never seen.
//!
//! Structures, flags and error numbers are FreeBSD's.

/// Declares one function under its `sce` name, which returns a kernel error code, and under its POSIX name, which
/// returns -1 and sets `errno`.
macro_rules! file_pair {
    ($($(#[$doc:meta])* $sce:ident, $posix:ident $(($also:literal))? ($($argument:ident: $kind:ty),* $(,)?) -> $result:ty $body:block)*) => {$(
        $(#[$doc])*
        #[relic_macros::guest_fn(libkernel)]
        pub(crate) extern "sysv64" fn $sce($($argument: $kind),*) -> $result {
            let body = || -> Result<$result, $crate::result::Errno> { $body };
            body().unwrap_or_else(|error| <$result>::from(error.sce().0))
        }
        $(#[$doc])*
        #[relic_macros::guest_fn(libkernel, libScePosix $(, also = $also)?)]
        pub(crate) extern "sysv64" fn $posix($($argument: $kind),*) -> $result {
            let body = || -> Result<$result, $crate::result::Errno> { $body };
            body().unwrap_or_else(|error| {
                $crate::result::set_errno(error);
                -1
            })
        }
    )*};
}

pub(crate) mod control;
pub(crate) mod directory;
mod flags;
pub(crate) mod mount;
pub(crate) mod open;
mod places;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod transfer;
pub(crate) mod tree;

pub(crate) use places::{free_bytes, title_parameter, writable as writable_folder};

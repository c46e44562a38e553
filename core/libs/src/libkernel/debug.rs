//! Debug output.

use relic_macros::guest_fn;

use crate::{
    pointer::Text,
    result::{Errno, SceResult},
};

/// Longest text that is taken, in bytes.
const LIMIT: usize = 1 << 20;

/// Writes a text to the debug channel, which is the host's stderr.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDebugOutText(_channel: i32, text: Text) -> SceResult {
    match text.bytes(LIMIT) {
        Some(bytes) => {
            crate::libc::stdio::write_stderr(&bytes);
            SceResult::OK
        }
        None => Errno::EFAULT.sce(),
    }
}

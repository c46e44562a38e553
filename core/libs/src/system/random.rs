//! libSceRandom.

use relic_macros::guest_fn;

use crate::{log, pointer::Out, result::SceResult};

/// Most bytes of one call.
const LIMIT: u64 = 64;
const INVALID: SceResult = SceResult::code(0x817c_0016);
const FATAL: SceResult = SceResult::code(0x817c_00ff);

/// Stores `size` random bytes of the host's, at most 64.
#[guest_fn(libSceRandom)]
pub(crate) extern "sysv64" fn sceRandomGetRandomNumber(out: Out<u8>, size: u64) -> SceResult {
    if size > LIMIT || (out.is_null() && size > 0) {
        return INVALID;
    }
    let mut bytes = [0_u8; LIMIT as usize];
    let bytes = &mut bytes[..size as usize];
    loop {
        // SAFETY: a buffer of ours. The kernel gives up to 256 bytes whole.
        let given = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        if given == bytes.len().cast_signed() {
            break;
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            log::warn(format_args!(
                "sceRandomGetRandomNumber: the host gives no random bytes: {error}"
            ));
            return FATAL;
        }
    }
    out.write_bytes(bytes);
    SceResult::OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_64_bytes_are_random_and_no_more_are_given() {
        let mut bytes = [0_u8; 80];
        // SAFETY: a place of ours.
        let out = unsafe { Out::new(bytes.as_mut_ptr()) };
        assert_eq!(sceRandomGetRandomNumber(out, 65), INVALID);
        // SAFETY: null.
        let nowhere = unsafe { Out::new(std::ptr::null_mut()) };
        assert_eq!(sceRandomGetRandomNumber(nowhere, 1), INVALID);
        assert_eq!(sceRandomGetRandomNumber(out, 0), SceResult::OK);
        assert_eq!(out.cast::<[u8; 80]>().read(), Some([0; 80]));
        assert_eq!(sceRandomGetRandomNumber(out, 64), SceResult::OK);
        let first = out.cast::<[u8; 80]>().read().unwrap();
        assert_eq!(first[64..], [0; 16]);
        assert_eq!(sceRandomGetRandomNumber(out, 64), SceResult::OK);
        assert_ne!(out.cast::<[u8; 80]>().read(), Some(first));
    }
}

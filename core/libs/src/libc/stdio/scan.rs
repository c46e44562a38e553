//! The scanf family: the host's, whose `va_list` is the guest's.

use std::ffi::{c_char, c_int};

use relic_macros::guest_fn;

use super::{
    file::{_Stdin, File},
    stream::{EOF, call},
};
use crate::{
    libc::variadic::{Registers, VaList, variadic},
    pointer::host,
    report,
};

unsafe extern "C" {
    /// The form of C99, to which `%a` is a number.
    fn __isoc99_vfscanf(file: *mut libc::FILE, format: *const c_char, arguments: *mut VaList) -> c_int;
    fn __isoc99_vsscanf(text: *const c_char, format: *const c_char, arguments: *mut VaList) -> c_int;
}

/// What a format asks for that can't be had: wide characters are of another size here, and memory would come from the
/// host's heap.
fn refused(format: &[u8]) -> Option<&'static str> {
    let mut rest = format;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        rest = &rest[at + 1..];
        let skipped = rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'*' | b'$' | b'\''))
            .count();
        rest = &rest[skipped..];
        match rest {
            [b'm', ..] => return Some("memory of the library's own (%m)"),
            [b'l', b's' | b'c' | b'[', ..] | [b'S' | b'C', ..] => {
                return Some("wide characters (%ls, %lc, %l[)");
            }
            [b'[', set @ ..] => {
                // A bracket that comes first stands for itself.
                let set = set.strip_prefix(b"^").unwrap_or(set);
                let end = set
                    .iter()
                    .skip(1)
                    .position(|byte| *byte == b']')
                    .map_or(set.len(), |at| at + 2);
                rest = &set[end..];
            }
            [_, ..] => rest = &rest[1..],
            [] => {}
        }
    }
    None
}

fn check(format: *const c_char) {
    // SAFETY: the guest's format.
    let text = unsafe { std::ffi::CStr::from_ptr(format) };
    if let Some(what) = refused(text.to_bytes()) {
        report::abort(format_args!(
            "scanf was asked for {what}, which Relic does not do: format {text:?}"
        ));
    }
}

/// # Safety
/// `list` must be a live `va_list` that matches the format.
unsafe fn scan(file: *mut File, format: *const c_char, list: *mut VaList) -> c_int {
    check(format);
    // SAFETY: forwarded contract; the host's `va_list` is laid out in the same way.
    call(file, EOF, |stream| unsafe {
        __isoc99_vfscanf(stream, format, list)
    })
}

/// # Safety
/// As [`scan`], and `text` must be a string.
unsafe fn scan_text(text: *const c_char, format: *const c_char, list: *mut VaList) -> c_int {
    check(format);
    // SAFETY: forwarded contract.
    unsafe { __isoc99_vsscanf(text, format, list) }
}

fn input() -> *mut File {
    (&raw const _Stdin).cast_mut()
}

unsafe extern "sysv64" fn scanf_body(registers: &Registers, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    unsafe { scan(input(), host(registers[0]), list) }
}

unsafe extern "sysv64" fn fscanf_body(registers: &Registers, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    unsafe { scan(host(registers[0]), host(registers[1]), list) }
}

unsafe extern "sysv64" fn sscanf_body(registers: &Registers, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    unsafe { scan_text(host(registers[0]), host(registers[1]), list) }
}

variadic! {
    /// Reads from standard input by a format.
    scanf, 1, scanf_body;
    /// Reads from a stream by a format.
    fscanf, 2, fscanf_body;
    /// Reads from a string by a format.
    sscanf, 2, sscanf_body;
}

/// Reads from standard input by a format.
///
/// # Safety
/// `list` must be a live `va_list` that matches the format.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn vscanf(format: *const c_char, list: *mut VaList) -> c_int {
    // SAFETY: forwarded contract.
    unsafe { scan(input(), format, list) }
}

/// Reads from a stream by a format.
///
/// # Safety
/// `list` must be a live `va_list` that matches the format.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn vfscanf(
    file: *mut File,
    format: *const c_char,
    list: *mut VaList,
) -> c_int {
    // SAFETY: forwarded contract.
    unsafe { scan(file, format, list) }
}

/// Reads from a string by a format.
///
/// # Safety
/// `list` must be a live `va_list` that matches the format.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn vsscanf(
    text: *const c_char,
    format: *const c_char,
    list: *mut VaList,
) -> c_int {
    // SAFETY: forwarded contract.
    unsafe { scan_text(text, format, list) }
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn wide_characters_and_memory_are_refused_and_nothing_else() {
        for format in [
            "%d %5s%n",
            "%*d%[^]m]%lf",
            "%%ls",
            "%l",
            "%lld%hhx",
            "%[]%ls]",
            "%2$d %1$s",
            "a%",
        ] {
            assert_eq!(refused(format.as_bytes()), None, "{format}");
        }
        for format in ["%ls", "%5lc", "x%l[ab]", "%ms", "%*d%S"] {
            assert!(refused(format.as_bytes()).is_some(), "{format}");
        }
    }
}

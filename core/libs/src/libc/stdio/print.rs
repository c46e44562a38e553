//! The printf family.

use super::{
    file::{_Stdout, File},
    stream::{EOF, call},
};
use crate::{
    libc::{
        format,
        variadic::{Arguments, Registers, VaList, variadic},
    },
    pointer::{Out, Text, host},
    result::{Errno, set_errno},
};

/// Text formatted whole, then written at once, so that lines of threads do not mix. Errors are in `errno`.
///
/// # Safety
/// `list` must be a live `va_list` that matches the format.
unsafe fn formatted(format: Text, list: *mut VaList) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    // SAFETY: forwarded contract.
    let arguments = unsafe { Arguments::new(list) };
    let result = arguments
        .filter(|_| !format.is_null())
        .ok_or(Errno::EINVAL)
        .and_then(|mut arguments| {
            format::format(&mut |bytes| text.extend_from_slice(bytes), format, &mut arguments)
                // FreeBSD's EOVERFLOW.
                .map_err(|format::TooLong| Errno(84))
        });
    match result {
        Ok(_) => Some(text),
        Err(error) => {
            set_errno(error);
            None
        }
    }
}

/// # Safety
/// As [`formatted`].
unsafe fn print(file: *mut File, format: Text, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    match unsafe { formatted(format, list) } {
        Some(text) => call(file, EOF, |stream| {
            // SAFETY: an open stream by the guest's word, and bytes of ours.
            let written = unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stream) };
            if written == text.len() {
                text.len() as i32
            } else {
                EOF
            }
        }),
        None => EOF,
    }
}

fn output() -> *mut File {
    (&raw const _Stdout).cast_mut()
}

/// # Safety
/// As [`formatted`], and `buffer` must hold `size` bytes.
unsafe fn print_to(buffer: Out<u8>, size: usize, format: Text, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    match unsafe { formatted(format, list) } {
        Some(text) => {
            buffer.write_text(&text, size);
            text.len() as i32
        }
        None => EOF,
    }
}

/// A register as a string.
fn text(register: u64) -> Text {
    // SAFETY: the guest's argument.
    unsafe { Text::new(host(register)) }
}

/// A register as a buffer.
fn buffer(register: u64) -> Out<u8> {
    // SAFETY: the guest's argument.
    unsafe { Out::new(host(register)) }
}

unsafe extern "sysv64" fn printf_body(registers: &Registers, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    unsafe { print(output(), text(registers[0]), list) }
}

unsafe extern "sysv64" fn fprintf_body(registers: &Registers, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    unsafe { print(host(registers[0]), text(registers[1]), list) }
}

unsafe extern "sysv64" fn sprintf_body(registers: &Registers, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract; the guest says that the buffer is large enough.
    unsafe { print_to(buffer(registers[0]), usize::MAX, text(registers[1]), list) }
}

unsafe extern "sysv64" fn snprintf_body(registers: &Registers, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    unsafe {
        print_to(
            buffer(registers[0]),
            registers[1] as usize,
            text(registers[2]),
            list,
        )
    }
}

variadic! {
    /// Formats to standard output.
    printf, 1, printf_body;
    /// Formats to a stream.
    fprintf, 2, fprintf_body;
    /// Formats into a buffer.
    sprintf, 2, sprintf_body;
    /// Formats into a buffer of a size; returns the length of the whole text.
    snprintf, 3, snprintf_body;
}

/// Formats to standard output.
///
/// # Safety
/// `list` must be a live `va_list` that matches the format.
#[relic_macros::guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn vprintf(format: Text, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    unsafe { print(output(), format, list) }
}

/// Formats to a stream.
///
/// # Safety
/// `list` must be a live `va_list` that matches the format.
#[relic_macros::guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn vfprintf(file: *mut File, format: Text, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    unsafe { print(file, format, list) }
}

/// Formats into a buffer.
///
/// # Safety
/// `list` must be a live `va_list` that matches the format, and the buffer large enough.
#[relic_macros::guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn vsprintf(buffer: Out<u8>, format: Text, list: *mut VaList) -> i32 {
    // SAFETY: forwarded contract.
    unsafe { print_to(buffer, usize::MAX, format, list) }
}

/// Formats into a buffer of a size; returns the length of the whole text.
///
/// # Safety
/// `list` must be a live `va_list` that matches the format.
#[relic_macros::guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn vsnprintf(
    buffer: Out<u8>,
    size: usize,
    format: Text,
    list: *mut VaList,
) -> i32 {
    // SAFETY: forwarded contract.
    unsafe { print_to(buffer, size, format, list) }
}

/// Writes a string and what the error number means to standard error.
#[relic_macros::guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn perror(prefix: Text) {
    // SAFETY: a text of the host's.
    let text = unsafe { std::ffi::CStr::from_ptr(super::open::strerror(crate::result::errno().0)) };
    let mut line = prefix.bytes(usize::MAX).unwrap_or_default();
    if !line.is_empty() {
        line.extend_from_slice(b": ");
    }
    line.extend_from_slice(text.to_bytes());
    line.push(b'\n');
    super::write_stderr(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variadic functions, called as C calls them.
    #[test]
    fn variadic_functions_find_registers_and_stack() {
        type Snprintf = unsafe extern "C" fn(*mut u8, usize, *const std::ffi::c_char, ...) -> i32;
        // SAFETY: System V is the C convention of this host. The black box keeps the compiler from comparing types.
        let call: Snprintf = unsafe { std::mem::transmute(std::hint::black_box(snprintf as *const ())) };
        let mut buffer = [0u8; 300];
        // SAFETY: the arguments match the format.
        let count = unsafe {
            call(
                buffer.as_mut_ptr(),
                buffer.len(),
                c"%d %d %d %d %d %s %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %d".as_ptr(),
                1,
                2,
                3,
                4,
                5,
                c"six".as_ptr(),
                0.5,
                1.5,
                2.5,
                3.5,
                4.5,
                5.5,
                6.5,
                7.5,
                8.5,
                9.5,
                -7,
            )
        };
        let expected = "1 2 3 4 5 six 0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5 9.5 -7";
        assert_eq!(std::str::from_utf8(&buffer[..count as usize]), Ok(expected));

        // SAFETY: the arguments match the format.
        let count = unsafe { call(buffer.as_mut_ptr(), 4, c"%s".as_ptr(), c"abcdef".as_ptr()) };
        assert_eq!((count, &buffer[..5]), (6, &b"abc\x003"[..]));
        // SAFETY: a size of 0 writes nothing.
        assert_eq!(unsafe { call(std::ptr::null_mut(), 0, c"abc".as_ptr()) }, 3);
    }
}

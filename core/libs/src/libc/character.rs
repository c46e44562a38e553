//! Character classes, in the C locale.

use std::ffi::c_int;

passthrough! {
    isalnum(character: c_int) -> c_int;
    isalpha(character: c_int) -> c_int;
    isblank(character: c_int) -> c_int;
    iscntrl(character: c_int) -> c_int;
    isdigit(character: c_int) -> c_int;
    isgraph(character: c_int) -> c_int;
    islower(character: c_int) -> c_int;
    isprint(character: c_int) -> c_int;
    ispunct(character: c_int) -> c_int;
    isspace(character: c_int) -> c_int;
    isupper(character: c_int) -> c_int;
    isxdigit(character: c_int) -> c_int;
    tolower(character: c_int) -> c_int;
    toupper(character: c_int) -> c_int;
}

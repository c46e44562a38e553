//! What happens when a program calls an import that nobody implements.

use std::{arch::naked_asm, fmt::Write as _};

use relic_core::program::ProgramInfo;

use crate::{image::Image, log::Line, report};

/// Entered by a jump from an import's trap stub, with the import's index on the stack above the return address of
/// the guest's call, and the address of the importing image's tables in `r11`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) extern "sysv64" fn relic_trap() -> ! {
    naked_asm!(
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, r11",
        "and rsp, -16",
        "call {body}",
        "ud2",
        body = sym trapped,
    )
}

extern "sysv64" fn trapped(index: u64, caller: u64, info: *const ProgramInfo) -> ! {
    // SAFETY: only trap stubs jump here.
    let image = unsafe { Image::of_trap(info) };
    let mut what = Line::<256>::new();
    // Writing to a `Line` never fails.
    let _ = match image.import(index as usize) {
        Some(import) => {
            let name = if import.name.is_empty() {
                "(name unknown)"
            } else {
                import.name
            };
            write!(
                what,
                "call to a function that is not implemented: {} {name} (NID {})",
                import.library, import.nid
            )
        }
        None => write!(
            what,
            "call to import {index}, which the program's table does not have"
        ),
    };
    report::end_with(
        report::EXIT_UNIMPLEMENTED,
        &what,
        Some(caller),
        "`relic info` lists what a program needs and what is there; report the function's name to Relic's issue tracker",
    )
}

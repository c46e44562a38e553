//! Variadic arguments. Stable Rust can't define a C-variadic function, so one is a naked prologue that lays out the
//! register save area and the `va_list` of the System V convention, then calls a body of plain Rust.

/// The System V `va_list` record.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct VaList {
    /// Offset of the next general register in the save area; 48 when all are used.
    general_offset: u32,
    /// Offset of the next vector register in the save area; 176 when all are used.
    vector_offset: u32,
    /// Next argument on the stack.
    overflow: *const u8,
    save_area: *const u8,
}

/// End of the general registers in the save area.
pub(crate) const GENERAL_END: u32 = 48;
/// End of the vector registers in the save area.
const VECTOR_END: u32 = 176;

/// An x87 extended value: a 64-bit significand with its integer bit, then sign and exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extended {
    pub(crate) significand: u64,
    pub(crate) sign_exponent: u16,
}

/// The arguments of a call, read in order. Values exist through the unsafe constructor alone, whose caller vouches
/// that the format matches the arguments, as C does.
pub(crate) struct Arguments<'a>(&'a mut VaList);

impl<'a> Arguments<'a> {
    /// # Safety
    /// `list` must be a live `va_list`, with at least as many arguments left as are taken, of these types.
    pub(crate) unsafe fn new(list: *mut VaList) -> Option<Self> {
        // SAFETY: forwarded contract.
        unsafe { list.as_mut() }.map(Self)
    }

    fn stack(&mut self, size: usize) -> *const u8 {
        let at = self.0.overflow;
        self.0.overflow = at.wrapping_add(size);
        at
    }

    /// The next integer or pointer.
    pub(crate) fn word(&mut self) -> u64 {
        let at = if self.0.general_offset + 8 <= GENERAL_END {
            let at = self.0.save_area.wrapping_add(self.0.general_offset as usize);
            self.0.general_offset += 8;
            at
        } else {
            self.stack(8)
        };
        // SAFETY: inside the save area or the caller's arguments (contract of `new`).
        unsafe { at.cast::<u64>().read_unaligned() }
    }

    /// The next `double`.
    pub(crate) fn double(&mut self) -> f64 {
        let at = if self.0.vector_offset + 16 <= VECTOR_END {
            let at = self.0.save_area.wrapping_add(self.0.vector_offset as usize);
            self.0.vector_offset += 16;
            at
        } else {
            self.stack(8)
        };
        // SAFETY: as in `word`.
        unsafe { at.cast::<f64>().read_unaligned() }
    }

    /// The next `long double`: always on the stack, in sixteen aligned bytes.
    pub(crate) fn extended(&mut self) -> Extended {
        let misalignment = self.0.overflow.addr() % 16;
        if misalignment != 0 {
            self.stack(16 - misalignment);
        }
        let at = self.stack(16);
        // SAFETY: as in `word`; the value has ten bytes.
        unsafe {
            Extended {
                significand: at.cast::<u64>().read_unaligned(),
                sign_exponent: at.add(8).cast::<u16>().read_unaligned(),
            }
        }
    }
}

/// The integer argument registers of a call: rdi, rsi, rdx, rcx, r8, r9.
pub(crate) type Registers = [u64; 6];

/// Declares variadic guest functions with `$named` integer arguments in front: `$body` gets all integer argument
/// registers, and the `va_list` behind the named ones.
macro_rules! variadic {
    ($($(#[$doc:meta])* $name:ident, $named:literal, $body:path;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The arguments must match the format, as in C.
        #[relic_macros::guest_fn(libc, libSceLibcInternal)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "sysv64" fn $name() -> i32 {
            // 176 bytes of save area, 24 of `va_list`, 16 that align; above them the return address and the caller's
            // stack arguments.
            std::arch::naked_asm!(
                ".cfi_startproc",
                "sub rsp, 216",
                ".cfi_adjust_cfa_offset 216",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "movaps [rsp + 48], xmm0",
                "movaps [rsp + 64], xmm1",
                "movaps [rsp + 80], xmm2",
                "movaps [rsp + 96], xmm3",
                "movaps [rsp + 112], xmm4",
                "movaps [rsp + 128], xmm5",
                "movaps [rsp + 144], xmm6",
                "movaps [rsp + 160], xmm7",
                "mov dword ptr [rsp + 176], {named}",
                "mov dword ptr [rsp + 180], {general_end}",
                "lea rax, [rsp + 224]",
                "mov [rsp + 184], rax",
                "mov [rsp + 192], rsp",
                "mov rdi, rsp",
                "lea rsi, [rsp + 176]",
                "call {body}",
                "add rsp, 216",
                ".cfi_adjust_cfa_offset -216",
                "ret",
                ".cfi_endproc",
                named = const 8 * $named,
                general_end = const $crate::libc::variadic::GENERAL_END,
                body = sym $body,
            )
        }
    )*};
}
pub(crate) use variadic;

//! Variadic arguments. Stable Rust can't define a C-variadic function, and a naked one can't be exported under every
//! NID (the compiler spells its symbol without quotes). So a variadic function is declared with everything that the
//! System V convention can pass: six integer registers, eight vector registers, and the stack arguments as one large
//! struct by value, which the convention puts exactly there. From these it builds the `va_list`.

use crate::pointer::host;

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
const GENERAL_END: u32 = 48;
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

    /// The next pointer.
    pub(crate) fn pointer<T>(&mut self) -> *mut T {
        host(self.word())
    }
}

/// Arguments that a call put on the stack. A struct of this size is passed there as a whole, so a function whose
/// last parameter it is finds the caller's stack arguments at its address: as many as there are, and the caller's
/// frame behind them, which nobody reads.
#[repr(C)]
pub(crate) struct StackArguments([u64; 256]);

/// Argument registers as a function finds them.
#[repr(C)]
pub(crate) struct SaveArea {
    general: [u64; 6],
    /// The low half of each vector register, and what the record has beside it.
    vector: [[f64; 2]; 8],
}

impl SaveArea {
    pub(crate) const fn new(general: [u64; 6], vector: [f64; 8]) -> Self {
        let mut pairs = [[0.0; 2]; 8];
        let mut i = 0;
        while i < 8 {
            pairs[i][0] = vector[i];
            i += 1;
        }
        Self {
            general,
            vector: pairs,
        }
    }

    /// The `va_list` of a call with so many named integer arguments.
    pub(crate) const fn list(&self, named: u32, stack: &StackArguments) -> VaList {
        VaList {
            general_offset: 8 * named,
            vector_offset: GENERAL_END,
            overflow: (&raw const stack.0).cast(),
            save_area: (&raw const *self).cast(),
        }
    }
}

/// Declares variadic guest functions with `$named` integer arguments in front: `$body` gets all six integer argument
/// registers, and the `va_list` behind the named ones.
macro_rules! variadic {
    ($($(#[$doc:meta])* $name:ident, $named:literal, $body:path;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The arguments must match the format, as in C.
        #[relic_macros::guest_fn(libc, libSceLibcInternal)]
        pub(crate) unsafe extern "sysv64" fn $name(
            g0: u64, g1: u64, g2: u64, g3: u64, g4: u64, g5: u64,
            v0: f64, v1: f64, v2: f64, v3: f64, v4: f64, v5: f64, v6: f64, v7: f64,
            stack: $crate::libc::variadic::StackArguments,
        ) -> i32 {
            let general = [g0, g1, g2, g3, g4, g5];
            let area = $crate::libc::variadic::SaveArea::new(general, [v0, v1, v2, v3, v4, v5, v6, v7]);
            let mut list = area.list($named, &stack);
            // SAFETY: the list is this call's own; the rest is the forwarded contract.
            unsafe { $body(general, &raw mut list) }
        }
    )*};
}
pub(crate) use variadic;

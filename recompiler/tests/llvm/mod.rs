//! LLVM's own disassembler, through the C interface of its shared library, as the judge of Relic's.

use libloading::{Library, Symbol};
use relic_recompiler::Dialect;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The library that the committed vectors were made with. Other versions print some instructions in another way.
const LIBRARY: &str = "libLLVM-14.so.1";

type Create = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const c_char,
    *mut c_void,
    c_int,
    *const c_void,
    *const c_void,
) -> *mut c_void;
type Disassemble = unsafe extern "C" fn(*mut c_void, *mut u8, u64, u64, *mut c_char, usize) -> usize;

/// A disassembler for one dialect, in waves of 64 lanes.
pub struct Llvm {
    library: &'static Library,
    context: *mut c_void,
}

impl Llvm {
    /// `None` where the library is not installed.
    pub fn open(dialect: Dialect) -> Option<Self> {
        // SAFETY: LLVM's initialisers only register what the library holds. The library is never unloaded, so
        // what they registered stays valid.
        let library = Box::leak(Box::new(unsafe { Library::new(LIBRARY) }.ok()?));
        for part in [c"TargetInfo", c"TargetMC", c"Disassembler"] {
            let name = format!("LLVMInitializeAMDGPU{}", part.to_str().ok()?);
            // SAFETY: these functions take nothing and give nothing back.
            let start: Symbol<'_, unsafe extern "C" fn()> = unsafe { library.get(name.as_bytes()) }.ok()?;
            // SAFETY: as above; registering twice is harmless.
            unsafe { start() };
        }
        let cpu = match dialect {
            Dialect::Gfx1013 => c"gfx1013",
            Dialect::Gfx1030 => c"gfx1030",
        };
        // SAFETY: the type is the one of LLVM-C/Disassembler.h.
        let create: Symbol<'_, Create> = unsafe { library.get(b"LLVMCreateDisasmCPUFeatures") }.ok()?;
        // SAFETY: the strings end in zero and live through the call; no callbacks are given.
        let context = unsafe {
            create(
                c"amdgcn--amdpal".as_ptr(),
                cpu.as_ptr(),
                c"-wavefrontsize32,+wavefrontsize64".as_ptr(),
                std::ptr::null_mut(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        (!context.is_null()).then_some(Self { library, context })
    }

    /// Text and length in bytes of the instruction at the start of `code`, or `None` where there is none.
    pub fn disassemble(&self, code: &[u32]) -> Option<(String, u32)> {
        // SAFETY: the type is the one of LLVM-C/Disassembler.h.
        let disassemble: Symbol<'_, Disassemble> =
            unsafe { self.library.get(b"LLVMDisasmInstruction") }.ok()?;
        let mut bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut text: [c_char; 512] = [0; 512];
        // SAFETY: the context is alive; both buffers hold as many bytes as is said.
        let length = unsafe {
            disassemble(
                self.context,
                bytes.as_mut_ptr(),
                bytes.len() as u64,
                0,
                text.as_mut_ptr(),
                text.len(),
            )
        };
        // SAFETY: LLVM ends the text with a zero within the buffer.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        (length > 0).then(|| (normalise(&text.to_string_lossy()), length as u32))
    }
}

/// The printed text without the tab in front, without blanks at the end, and without the remark on registers that do
/// not start where they should.
fn normalise(text: &str) -> String {
    text.split(" ; Warning:")
        .next()
        .unwrap_or_default()
        .trim()
        .to_string()
}

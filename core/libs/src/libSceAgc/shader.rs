//! Shader objects.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use relic_components::message::Message;
use relic_core::{GuestAddress, GuestRange};
use relic_macros::guest_fn;

use super::{AgcError, registers::Register};
use crate::{
    log,
    pointer::{Out, host},
    process,
    result::SceResult,
    runtime,
};

/// The object in front of a shader's tables: 0x60 bytes. Pointers are relative to their own field until the shader is
/// created.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Header {
    magic: u32,
    version: u32,
    user_data: u64,
    code: u64,
    cx: u64,
    sh: u64,
    pub(super) specials: u64,
    pub(super) inputs: u64,
    pub(super) outputs: u64,
    header_size: u32,
    code_size: u32,
    constants_size: u32,
    target: u32,
    pub(super) input_count: u32,
    scratch: u16,
    pub(super) output_count: u16,
    special_size: u16,
    pub(super) kind: u8,
    cx_count: u8,
    sh_count: u8,
    padding: [u8; 3],
}

/// The bytes `1234`.
const MAGIC: u32 = 0x3433_3231;
const VERSION: u32 = 0x18;

/// Byte offsets of the fields that hold relative pointers, in a header and in its user data record.
const POINTERS: [usize; 6] = [0x08, 0x18, 0x20, 0x28, 0x30, 0x38];
const USER_DATA_POINTERS: [usize; 5] = [0x00, 0x08, 0x10, 0x18, 0x20];
/// Field of the code pointer, which is set and never relocated.
const CODE_POINTER: usize = 0x10;

/// Offset of PGM_LO in the shader registers, by binary type: compute, pixel, geometry (runs as ES), hull (as LS),
/// front halves (none), back halves.
const PROGRAM_REGISTER: [Option<u32>; 9] = [
    Some(0x20c),
    Some(0x08),
    Some(0xc8),
    Some(0x148),
    None,
    None,
    Some(0x88),
    Some(0x108),
    None,
];

/// Pointer fields of headers as relocation left them: a header that still has them is relocated already.
static RELOCATED: Mutex<Option<HashMap<u64, [u64; 6]>>> = Mutex::new(None);

/// Why a shader can't be created.
#[derive(Debug, thiserror::Error)]
enum ShaderError {
    #[error("header or code is null")]
    Null,
    #[error(
        "the header begins with {magic:#010x}, version {version:#x}; shaders begin with 0x34333231, version 0x18"
    )]
    Magic { magic: u32, version: u32 },
    #[error("binary type {kind} is unknown (there are 0 to 8)")]
    Kind { kind: u8 },
    #[error("code {code:#x} is not a multiple of 256 below 2^48")]
    Alignment { code: u64 },
    #[error("code {range} is not mapped")]
    Unmapped { range: GuestRange },
    #[error("no pair for register {register:#x} and the next among the {count} shader registers")]
    NoProgramRegister { register: u32, count: u8 },
    #[error("the runtime takes no more shaders")]
    NoRuntime,
}

impl ShaderError {
    const fn code(&self) -> AgcError {
        match self {
            Self::Null => AgcError::InvalidArgument,
            _ => AgcError::InvalidProgram,
        }
    }
}

/// A header at a guest address. The guest vouches for it, as for every pointer it passes.
pub(super) fn header_at(address: u64) -> Out<Header> {
    // SAFETY: the guest's argument.
    unsafe { Out::new(host(address)) }
}

fn pointer_fields(header: Out<Header>) -> [u64; 6] {
    POINTERS.map(|offset| header.byte_add::<u64>(offset).read().unwrap_or(0))
}

/// Turns a self-relative pointer into an address; 0 stays null.
fn relocate(field: Out<u64>) {
    if let Some(offset @ 1..) = field.read() {
        field.write(field.address().wrapping_add(offset));
    }
}

fn create(header: Out<Header>, code: u64) -> Result<(), ShaderError> {
    let found = header.read().filter(|_| code != 0).ok_or(ShaderError::Null)?;
    if found.magic != MAGIC || found.version != VERSION {
        return Err(ShaderError::Magic {
            magic: found.magic,
            version: found.version,
        });
    }
    let program = *PROGRAM_REGISTER
        .get(usize::from(found.kind))
        .ok_or(ShaderError::Kind { kind: found.kind })?;
    if code & 0xff != 0 || code >> 48 != 0 {
        return Err(ShaderError::Alignment { code });
    }
    let range = GuestRange::new(GuestAddress(code), u64::from(found.code_size.max(4)));
    if !process::memory().reader().is_mapped(range) {
        return Err(ShaderError::Unmapped { range });
    }
    {
        let mut relocated = RELOCATED.lock().unwrap_or_else(PoisonError::into_inner);
        let relocated = relocated.get_or_insert_default();
        if relocated.get(&header.address()) != Some(&pointer_fields(header)) {
            for offset in POINTERS {
                relocate(header.byte_add(offset));
            }
            let user_data = pointer_fields(header)[0];
            if user_data != 0 {
                // SAFETY: part of the guest's shader object.
                let record: Out<u64> = unsafe { Out::new(host(user_data)) };
                for offset in USER_DATA_POINTERS {
                    relocate(record.byte_add(offset));
                }
            }
            relocated.insert(header.address(), pointer_fields(header));
        }
    }
    header.byte_add::<u64>(CODE_POINTER).write(code);
    if let Some(register) = program {
        patch_program(header, register, code)?;
    }
    let sent = runtime::send(Message::RegisterShader {
        code: GuestAddress(code),
        header: GuestAddress(header.address()),
        binary_type: found.kind,
        code_size: found.code_size,
    });
    if sent { Ok(()) } else { Err(ShaderError::NoRuntime) }
}

/// Writes the code's address into the pair of program registers, wherever in the list it is.
fn patch_program(header: Out<Header>, register: u32, code: u64) -> Result<(), ShaderError> {
    let missing = |count| ShaderError::NoProgramRegister { register, count };
    let found = header.read().ok_or(ShaderError::Null)?;
    if found.sh == 0 {
        return Err(missing(0));
    }
    // SAFETY: the list of the guest's shader object.
    let list: Out<Register> = unsafe { Out::new(host(found.sh)) };
    let entry = |index: usize| list.byte_add::<Register>(index * size_of::<Register>());
    for (offset, value) in [
        (register, (code >> 8) as u32),
        (register + 1, (code >> 40) as u32 & 0xff),
    ] {
        let index = (0..usize::from(found.sh_count))
            .find(|index| entry(*index).read().is_some_and(|pair| pair.offset == offset))
            .ok_or(missing(found.sh_count))?;
        entry(index).write(Register { offset, value });
    }
    Ok(())
}

/// Makes a shader object usable: relocates its tables, enters its code and registers it with the GPU.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcCreateShader(out: Out<u64>, header: Out<Header>, code: u64) -> SceResult {
    match create(header, code) {
        Ok(()) => {
            out.write(header.address());
            SceResult::OK
        }
        Err(error) => {
            log::warn(format_args!(
                "sceAgcCreateShader: shader {:#x} refused: {error}",
                header.address()
            ));
            error.code().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shader object with two shader registers that are not the program's in front of the pair, in one block.
    #[repr(C, align(256))]
    struct Object {
        code: [u32; 64],
        header: Header,
        sh: [Register; 4],
        inputs: [u32; 2],
    }

    fn object(kind: u8, program: u32) -> Box<Object> {
        let mut object = Box::new(Object {
            code: [0xbf81_0000; 64],
            header: Header {
                magic: MAGIC,
                version: VERSION,
                user_data: 0,
                code: 0,
                cx: 0,
                sh: 0,
                specials: 0,
                inputs: 0,
                outputs: 0,
                header_size: 0x60,
                code_size: 256,
                constants_size: 0,
                target: 0,
                input_count: 2,
                scratch: 0,
                output_count: 0,
                special_size: 0,
                kind,
                cx_count: 0,
                sh_count: 4,
                padding: [0; 3],
            },
            sh: [(0x10a, 1), (0x10b, 2), (program, 0), (program + 1, 0)]
                .map(|(offset, value)| Register { offset, value }),
            inputs: [0, 1],
        });
        let base = crate::pointer::address_of(&raw const *object);
        let header = std::mem::offset_of!(Object, header);
        object.header.sh = (std::mem::offset_of!(Object, sh) - (header + 0x20)) as u64;
        object.header.inputs = (std::mem::offset_of!(Object, inputs) - (header + 0x30)) as u64;
        let range = GuestRange::new(GuestAddress(base), size_of::<Object>() as u64);
        // SAFETY: the box is leaked by the tests.
        unsafe { process::memory().map(range, host(base), true, "shader").unwrap() };
        object
    }

    fn created(object: &mut Object) -> SceResult {
        let mut out = 0u64;
        let code = crate::pointer::address_of(&raw const object.code);
        // SAFETY: places of ours.
        unsafe { sceAgcCreateShader(Out::new(&raw mut out), Out::new(&raw mut object.header), code) }
    }

    #[test]
    fn tables_are_relocated_once_and_the_program_address_is_entered() {
        assert_eq!(size_of::<Header>(), 0x60);
        for (kind, program) in [
            (0, 0x20c),
            (1, 0x08),
            (2, 0xc8),
            (3, 0x148),
            (6, 0x88),
            (7, 0x108),
        ] {
            let object = Box::leak(object(kind, program));
            assert_eq!(created(object), SceResult::OK);
            let (sh, code) = (
                crate::pointer::address_of(&raw const object.sh),
                crate::pointer::address_of(&raw const object.code),
            );
            assert_eq!((object.header.sh, object.header.code), (sh, code));
            assert_eq!(object.sh[2].value, (code >> 8) as u32);
            assert_eq!(object.sh[3].value, (code >> 40) as u32);
            assert_eq!((object.sh[0].value, object.header.user_data), (1, 0));
            assert_eq!(created(object), SceResult::OK, "again");
            assert_eq!(object.header.sh, sh, "relocated once");
        }
    }

    #[test]
    fn broken_objects_are_refused() {
        let invalid = SceResult::code(0x8a6c_0005);
        let wrong = Box::leak(object(1, 0xc8));
        assert_eq!(created(wrong), invalid, "no program register");
        let unknown = Box::leak(object(9, 0x08));
        assert_eq!(created(unknown), invalid);
        let magic = Box::leak(object(1, 0x08));
        magic.header.magic = 5;
        assert_eq!(created(magic), invalid);
        let unmapped = Box::leak(object(1, 0x08));
        // SAFETY: null, and a place of ours.
        let result = unsafe {
            sceAgcCreateShader(
                Out::new(std::ptr::null_mut()),
                Out::new(&raw mut unmapped.header),
                0x7700_0000_0000,
            )
        };
        assert_eq!(result, invalid);
    }
}

//! The ELF header.

use goblin::elf::header::{
    EI_ABIVERSION, EI_CLASS, EI_DATA, EI_OSABI, ELFCLASS64, ELFDATA2LSB, EM_X86_64, ET_DYN,
};
use goblin::elf64;

use crate::{
    address::{FileOffset, ImageAddress},
    error::RelinkError,
};

use super::bytes::FileBytes;

/// `e_type` of a PS5 program (eboot.bin).
pub const ET_SCE_DYNEXEC: u16 = 0xfe10;
/// `e_type` of a PS5 module (.prx).
pub const ET_SCE_DYNAMIC: u16 = 0xfe18;
/// `e_ident[EI_OSABI]` of console files: FreeBSD.
pub const OSABI_FREEBSD: u8 = 9;
/// `e_ident[EI_ABIVERSION]` of PS5 files.
pub const ABI_VERSION_PS5: u8 = 2;
/// `e_ident[EI_ABIVERSION]` of PS4 files.
const ABI_VERSION_PS4: u8 = 0;

/// What an object is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// A program: `eboot.bin`.
    Program,
    /// A module that programs load: `.prx`.
    Module,
}

/// What the rest of the reader needs of the header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) entry: ImageAddress,
    pub(super) program_headers: FileOffset,
    pub(super) program_header_count: u16,
}

/// Reads and checks the header. Section headers are never looked at: console files have none, and they would prove
/// nothing about what is loaded.
pub(super) fn read(file: FileBytes<'_>, kind: ObjectKind) -> Result<Header, RelinkError> {
    let expect = |field, found: u64, expected: u64, words| {
        if found == expected {
            Ok(())
        } else {
            Err(RelinkError::Header {
                field,
                found,
                expected: words,
            })
        }
    };
    let identity = file.range("the ELF header", FileOffset(0), elf64::header::SIZEOF_EHDR as u64)?;
    // goblin reads both classes and byte orders, so these two come first.
    expect(
        "class",
        u64::from(identity[EI_CLASS]),
        u64::from(ELFCLASS64),
        "2 (64-bit)",
    )?;
    expect(
        "byte order",
        u64::from(identity[EI_DATA]),
        u64::from(ELFDATA2LSB),
        "1 (little-endian)",
    )?;
    let header = elf64::header::Header::parse(identity).map_err(|_| RelinkError::Truncated {
        what: "the ELF header",
        offset: FileOffset(0),
        size: elf64::header::SIZEOF_EHDR as u64,
        file_size: file.size(),
    })?;

    expect(
        "machine",
        u64::from(header.e_machine),
        u64::from(EM_X86_64),
        "62 (x86-64)",
    )?;
    let os_abi = header.e_ident[EI_OSABI];
    match header.e_type {
        ET_SCE_DYNEXEC | ET_SCE_DYNAMIC => {
            expect(
                "OS ABI",
                u64::from(os_abi),
                u64::from(OSABI_FREEBSD),
                "9 (FreeBSD)",
            )?;
            match header.e_ident[EI_ABIVERSION] {
                ABI_VERSION_PS5 => {}
                ABI_VERSION_PS4 => return Err(RelinkError::OtherConsole),
                other => expect(
                    "ABI version",
                    u64::from(other),
                    u64::from(ABI_VERSION_PS5),
                    "2 (PS5)",
                )?,
            }
            match (kind, header.e_type) {
                (ObjectKind::Program, ET_SCE_DYNAMIC) => return Err(RelinkError::Module),
                (ObjectKind::Module, ET_SCE_DYNEXEC) => return Err(RelinkError::NotAModule),
                _ => {}
            }
        }
        // Some unpacking tools normalise the type; the Sony tags still tell what it is.
        ET_DYN => {}
        other => expect(
            "type",
            u64::from(other),
            u64::from(ET_SCE_DYNEXEC),
            "0xfe10 (PS5 program), 0xfe18 (PS5 module) or 3 (shared object)",
        )?,
    }
    expect(
        "program header size",
        u64::from(header.e_phentsize),
        elf64::program_header::SIZEOF_PHDR as u64,
        "56",
    )?;
    Ok(Header {
        entry: ImageAddress(header.e_entry),
        program_headers: FileOffset(header.e_phoff),
        program_header_count: header.e_phnum,
    })
}

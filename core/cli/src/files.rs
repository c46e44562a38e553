//! Telling files apart by their first bytes.

use relic_core::program::{MODULE_MAGIC, PROGRAM_MAGIC};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A PS5 executable, as far as its ELF header says.
    Program,
    /// A PS5 module (.prx).
    Module,
    /// A container in which executables travel, not unpacked.
    Container,
    /// An installable package.
    Package,
    /// A PS4 executable or module.
    OtherConsole,
    /// What `relic relink` wrote.
    Relinked,
    /// Another ELF file.
    OtherElf,
    /// A recorded scene.
    Scene,
    /// Anything else.
    Unknown,
}

/// Offset of `e_ident[EI_OSABI]`; 9 is FreeBSD, which console files name.
const OSABI: usize = 7;
const OSABI_FREEBSD: u8 = 9;
/// Offset of `e_ident[EI_ABIVERSION]`: 2 on the PS5, 0 on the PS4.
const ABI_VERSION: usize = 8;
/// Offset of `e_type`.
const TYPE: usize = 16;

/// Types of the program headers that console programs and modules have.
const PROCESS_PARAMETERS: u32 = 0x6100_0001;
const MODULE_PARAMETERS: u32 = 0x6100_0002;
/// Offsets of `e_phoff` and `e_phnum`.
const TABLE: usize = 32;
const COUNT: usize = 56;

/// Whether an ELF file has a program header of this type.
fn has_header(bytes: &[u8], kind: u32) -> bool {
    let find = || {
        let start = u64::from_le_bytes(*bytes.get(TABLE..)?.first_chunk()?);
        let count = u16::from_le_bytes(*bytes.get(COUNT..)?.first_chunk()?);
        let (headers, _) = bytes.get(usize::try_from(start).ok()?..)?.as_chunks::<56>();
        let mut headers = headers.iter().take(usize::from(count));
        Some(headers.any(|header| header.starts_with(&kind.to_le_bytes())))
    };
    find().unwrap_or(false)
}

/// How far behind the program headers the relinker's tables are looked for, in bytes: far above any title's tables.
const REACH: usize = 1 << 28;

/// Whether the tables that the relinker appends, which begin with the program headers, hold its mark.
fn is_relinked(bytes: &[u8]) -> bool {
    let find = || {
        let start = u64::from_le_bytes(*bytes.get(TABLE..)?.first_chunk()?);
        let tables = bytes.get(usize::try_from(start).ok()?..)?;
        let (words, _) = tables.get(..tables.len().min(REACH))?.as_chunks::<8>();
        Some(words.contains(&PROGRAM_MAGIC) || words.contains(&MODULE_MAGIC))
    };
    find().unwrap_or(false)
}

impl FileKind {
    /// What a file with these contents is.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match bytes.first_chunk() {
            Some(b"\x7fELF") => Self::of_elf(bytes),
            Some([0x4f, 0x15, 0x3d, 0x1d] | [0x54, 0x14, 0xf5, 0xee]) => Self::Container,
            Some(b"\x7fCNT" | b"\x7fFIH") => Self::Package,
            _ if bytes.starts_with(b"PM4CAP") || bytes.starts_with(b"RELSCENE") => Self::Scene,
            _ => Self::Unknown,
        }
    }

    fn of_elf(bytes: &[u8]) -> Self {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let kind = u16::from_le_bytes([byte(TYPE), byte(TYPE + 1)]);
        match (byte(OSABI), kind, byte(ABI_VERSION)) {
            // Both consoles have types from 0xfe00 on, which belongs to the OS.
            (OSABI_FREEBSD, 0xfe00..=0xfeff, 0) => Self::OtherConsole,
            (_, 0xfe10, _) => Self::Program,
            (_, 0xfe18, _) => Self::Module,
            // Some toolchains write the plain type; what the console's own header says is the better sign.
            (_, 3, _) if has_header(bytes, PROCESS_PARAMETERS) => Self::Program,
            (_, 3, _) if has_header(bytes, MODULE_PARAMETERS) => Self::Module,
            (_, 3, _) if is_relinked(bytes) => Self::Relinked,
            _ => Self::OtherElf,
        }
    }

    /// One line for people.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Program => "PS5 executable",
            Self::Module => "PS5 module (.prx): relinked along with the eboot.bin that loads it",
            Self::Container => {
                "SELF container, encrypted or compressed: Relic takes the decrypted ELF file inside it, and decrypts nothing itself"
            }
            Self::Package => "package: give the eboot.bin of the unpacked title",
            Self::OtherConsole => "PS4 file: Relic takes PS5 executables only",
            Self::Relinked => {
                "native program or module, written by `relic relink`: start a program like any other"
            }
            Self::OtherElf => "ELF file, but no console's",
            Self::Scene => "recorded scene: `relic replay` plays it",
            Self::Unknown => "nothing that Relic knows",
        }
    }

    /// Its name in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Module => "module",
            Self::Container => "container",
            Self::Package => "package",
            Self::OtherConsole => "other_console",
            Self::Relinked => "relinked",
            Self::OtherElf => "other_elf",
            Self::Scene => "scene",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(osabi: u8, abi_version: u8, kind: u16) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.extend([osabi, abi_version]);
        bytes.resize(TYPE, 0);
        bytes.extend(kind.to_le_bytes());
        bytes.resize(64, 0);
        bytes
    }

    #[test]
    fn kinds_are_told_by_their_first_bytes() {
        let mut relinked = elf(0, 0, 3);
        relinked.extend(PROGRAM_MAGIC);
        let plain = |kind: u32| {
            let mut bytes = elf(9, 2, 3);
            bytes[TABLE] = 64;
            bytes[COUNT] = 2;
            bytes.extend([0; 56]);
            bytes.extend(kind.to_le_bytes());
            bytes.resize(64 + 2 * 56, 0);
            bytes
        };
        for (bytes, kind) in [
            (elf(9, 2, 0xfe10), FileKind::Program),
            (elf(9, 2, 0xfe18), FileKind::Module),
            (elf(9, 0, 0xfe10), FileKind::OtherConsole),
            (elf(0, 0, 3), FileKind::OtherElf),
            (relinked, FileKind::Relinked),
            (plain(PROCESS_PARAMETERS), FileKind::Program),
            (plain(MODULE_PARAMETERS), FileKind::Module),
            (plain(1), FileKind::OtherElf),
            (b"\x7fELF".to_vec(), FileKind::OtherElf),
            (vec![0x54, 0x14, 0xf5, 0xee, 0], FileKind::Container),
            (b"\x7fFIH....".to_vec(), FileKind::Package),
            (b"PM4CAP01".to_vec(), FileKind::Scene),
            (b"RELSCENE".to_vec(), FileKind::Scene),
            (b"#!/bin/sh".to_vec(), FileKind::Unknown),
            (Vec::new(), FileKind::Unknown),
        ] {
            assert_eq!(FileKind::of(&bytes), kind, "{bytes:02x?}");
        }
    }
}

//! The runtime library: told from other files by what it exports, without reading all of it.

use std::{fs, path::Path};

use goblin::{
    container::{Container, Ctx, Endian},
    elf::{
        ProgramHeader,
        program_header::{PT_DYNAMIC, PT_LOAD},
    },
    elf64::header::{Header, SIZEOF_EHDR},
};
use relic_core::program::START_SYMBOL;

use crate::{
    address::FileOffset,
    error::{RelinkError, io_error},
    input::bytes::{FileBytes, field, records},
    plan::gnu_hash,
};

const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// Size in bytes of a symbol.
const SYMBOL: usize = 24;

/// Opens the runtime library, and refuses a file that is none.
pub(crate) fn open(path: &Path) -> Result<fs::File, RelinkError> {
    let file = fs::File::open(path).map_err(io_error("reading the runtime library", path))?;
    let refuse = || RelinkError::NoRuntimeLibrary {
        path: path.to_owned(),
    };
    let size = file
        .metadata()
        .map_err(io_error("measuring the runtime library", path))?
        .len();
    if size == 0 {
        return Err(refuse());
    }
    // SAFETY: the mapping is private and read-only, and ends with this function. A file cut short under us ends the
    // process by SIGBUS, as with every mapped file.
    let mapping =
        unsafe { memmap2::Mmap::map(&file) }.map_err(io_error("mapping the runtime library", path))?;
    match exports(FileBytes::new(&mapping), START_SYMBOL) {
        Some(true) => Ok(file),
        Some(false) | None => Err(refuse()),
    }
}

/// Whether a shared object exports a name, by its hash table. `None` where it is no such file.
fn exports(file: FileBytes<'_>, name: &str) -> Option<bool> {
    file.all().starts_with(b"\x7fELF\x02\x01").then_some(())?;
    let header = Header::parse(file.get(FileOffset(0), SIZEOF_EHDR as u64)?).ok()?;
    let count = usize::from(header.e_phnum);
    let at = usize::try_from(header.e_phoff).ok()?;
    let context = Ctx::new(Container::Big, Endian::Little);
    let headers = ProgramHeader::parse(file.all(), at, count, context).ok()?;
    let loads = || headers.iter().filter(|header| header.p_type == PT_LOAD);
    let from = |address: u64| -> Option<&[u8]> {
        let load = loads().find(|load| load.p_vaddr <= address && address - load.p_vaddr < load.p_filesz)?;
        let inside = address - load.p_vaddr;
        file.get(
            FileOffset(load.p_offset.checked_add(inside)?),
            load.p_filesz - inside,
        )
    };
    let dynamic = headers.iter().find(|header| header.p_type == PT_DYNAMIC)?;
    let table = file.get(FileOffset(dynamic.p_offset), dynamic.p_filesz)?;
    let entries = records::<16>("the dynamic table", table).ok()?;
    let value = |tag: u64| {
        let mut found = entries
            .iter()
            .filter(|entry| u64::from_le_bytes(field::<0, 8, 16>(entry)) == tag);
        found
            .next()
            .map(|entry| u64::from_le_bytes(field::<8, 8, 16>(entry)))
    };
    let (strings, symbols) = (from(value(DT_STRTAB)?)?, from(value(DT_SYMTAB)?)?);
    let (words, _) = from(value(DT_GNU_HASH)?)?.as_chunks::<4>();
    let word = |index: usize| words.get(index).map(|word| u32::from_le_bytes(*word));
    let (buckets, first, bloom) = (word(0)?, word(1)?, word(2)? as usize);
    let hash = gnu_hash::hash(name);
    let bucket_table = 4 + bloom.checked_mul(2)?;
    let chains = bucket_table.checked_add(buckets as usize)?;
    let mut index = word(bucket_table.checked_add(hash.checked_rem(buckets)? as usize)?)?;
    if index < first {
        return Some(false);
    }
    loop {
        let chain = word(chains.checked_add((index - first) as usize)?)?;
        if chain | 1 == hash | 1 {
            let start = (index as usize).checked_mul(SYMBOL)?;
            let symbol: &[u8; SYMBOL] = symbols.get(start..)?.first_chunk()?;
            let text = strings.get(u32::from_le_bytes(field::<0, 4, SYMBOL>(symbol)) as usize..)?;
            if text
                .strip_prefix(name.as_bytes())
                .is_some_and(|rest| rest.first() == Some(&0))
            {
                return Some(true);
            }
        }
        if chain & 1 == 1 {
            return Some(false);
        }
        index = index.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_found_by_name_and_other_files_are_none() {
        // Any shared object will do: the C library that this test runs with.
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let path = maps
            .split_whitespace()
            .find(|word| word.contains("/libc.so.6"))
            .unwrap();
        let bytes = fs::read(path).unwrap();
        let found = |name| exports(FileBytes::new(&bytes), name);
        assert_eq!((found("printf"), found("relic_start")), (Some(true), Some(false)));
        assert!(open(Path::new(path)).is_err());
        for cut in [0, 3, 64, 500, bytes.len() / 2] {
            assert_ne!(exports(FileBytes::new(&bytes[..cut]), "printf_"), Some(true));
        }
    }
}

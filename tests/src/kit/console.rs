//! The post-step: what lld can't make of a console executable.
//!
//! lld's output ends in the access-less LOAD segment of link tables, so that a longer string table and the Sony tags
//! go behind it; then follow the records that are in the file and not in memory.

use goblin::elf::{
    Elf, ProgramHeader, Sym,
    dynamic::{DT_BIND_NOW, DT_DEBUG, DT_FLAGS, DT_FLAGS_1, DT_NULL, DT_STRSZ, DT_STRTAB},
    program_header::{PT_DYNAMIC, PT_LOAD, PT_NOTE},
};

use super::{
    KitError,
    imports::{ImportList, Library, encode_id},
};

const PT_SCE_COMMENT: u32 = 0x6fff_ff00;
const PT_SCE_LIBVERSION: u32 = 0x6fff_ff01;
const DF_BIND_NOW: u64 = 8;
/// Attributes of an imported library, beside its id.
const IMPORT_ATTRIBUTES: u64 = 9;
/// Attributes of an exported library, beside its id.
const EXPORT_ATTRIBUTES: u64 = 1;
/// Console files number versions from 1.1.
const MODULE_VERSION: u64 = 0x0101;
const LIBRARY_VERSION: u64 = 1;
/// How many program headers a console executable has.
const PROGRAM_HEADERS: usize = 14;

/// What lld's output is to become.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// A program.
    Program,
    /// The module that is this library of the list.
    Module(&'a Library),
}

impl Target<'_> {
    /// `e_type`.
    const fn kind(self) -> u16 {
        match self {
            Self::Program => 0xfe10,
            Self::Module(_) => 0xfe18,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Program => "eboot",
            Self::Module(library) => &library.name,
        }
    }
}

/// Makes a console executable or module of lld's output.
///
/// # Errors
///
/// [`KitError::Linked`] when the file is not as `console.ld` lays it out.
pub fn finish(linked: &[u8], imports: &ImportList, target: Target<'_>) -> Result<Vec<u8>, KitError> {
    let refuse = |problem: String| KitError::Linked { problem };
    let elf = Elf::parse(linked).map_err(|error| refuse(error.to_string()))?;
    if elf.program_headers.len() != PROGRAM_HEADERS {
        return Err(refuse(format!(
            "it has {} program headers, not 14",
            elf.program_headers.len()
        )));
    }
    let mut headers = elf.program_headers.clone();
    let meta = headers
        .iter()
        .rposition(|header| header.p_type == PT_LOAD)
        .filter(|&index| headers[index].p_flags == 0)
        .ok_or_else(|| refuse("its last LOAD segment is not the one without access".to_owned()))?;
    let mut file = Builder::new(linked, &headers[meta])?;

    let section = |name: &str| {
        elf.section_headers
            .iter()
            .find(|section| elf.shdr_strtab.get_at(section.sh_name) == Some(name))
            .ok_or_else(|| refuse(format!("it has no section {name}")))
    };
    let bytes = |name: &str| -> Result<&[u8], KitError> {
        let range = section(name)?.file_range().and_then(|range| linked.get(range));
        range.ok_or_else(|| refuse(format!("section {name} is outside it")))
    };

    let mut strings = bytes(".dynstr")?.to_vec();
    // What the compiler itself refers to has no NID yet.
    let names = symbol_names(&elf, imports);
    let symbols_at = usize::try_from(section(".dynsym")?.sh_offset).unwrap_or(usize::MAX);
    for (index, (name, symbol)) in names.iter().zip(&elf.dynsyms).enumerate() {
        if elf.dynstrtab.get_at(symbol.st_name) != Some(name) {
            let offset = strings.len() as u32;
            strings.extend_from_slice(name.as_bytes());
            strings.push(0);
            file.replace(symbols_at + 24 * index, &offset.to_le_bytes())?;
        }
    }
    let used = used_libraries(&names, imports);
    let sony = sony_tags(
        target,
        &mut strings,
        &used,
        bytes(".dynsym")?.len() as u64,
        bytes(".hash")?.len() as u64,
    );
    let hash = console_hash(&names, &used, target);
    let hash_offset = usize::try_from(section(".hash")?.sh_offset).unwrap_or(usize::MAX);
    file.replace(hash_offset, &hash)?;

    let string_size = strings.len() as u64;
    let string_address = file.append(&strings, 8);
    let mut tags: Vec<(u64, u64)> = Vec::new();
    for tag in elf.dynamic.as_ref().map_or(&[][..], |dynamic| &dynamic.dyns) {
        match tag.d_tag {
            DT_STRTAB => tags.push((DT_STRTAB, string_address)),
            DT_STRSZ => tags.push((DT_STRSZ, string_size)),
            DT_FLAGS => tags.push((DT_FLAGS, DF_BIND_NOW)),
            DT_NULL | DT_FLAGS_1 | DT_DEBUG | DT_BIND_NOW => {}
            _ => tags.push((tag.d_tag, tag.d_val)),
        }
    }
    tags.extend(sony);
    tags.push((DT_NULL, 0));
    let dynamic: Vec<u8> = tags
        .iter()
        .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()])
        .flatten()
        .collect();
    let dynamic_address = file.append(&dynamic, 16);

    let loaded = file.loaded_size();
    let comment = file.append_record(b"PATH\x0c\0\0\0\x0a\0\0\0eboot.elf\0\0\0");
    let version = file.append_record(b"\x12\0\x08\0libc:\0\x02\0\0\0\0\0\x01\0");
    for (index, header) in headers.iter_mut().enumerate() {
        match header.p_type {
            PT_LOAD if index == meta => (header.p_filesz, header.p_memsz) = (loaded, loaded),
            PT_DYNAMIC => {
                header.p_offset = file.offset_of(dynamic_address);
                (header.p_vaddr, header.p_paddr) = (dynamic_address, dynamic_address);
                header.p_filesz = dynamic.len() as u64;
                header.p_memsz = header.p_filesz;
                header.p_align = 16;
            }
            PT_SCE_COMMENT => *header = unloaded(header, comment),
            PT_SCE_LIBVERSION => *header = unloaded(header, version),
            // The note behind the build id has an address on no console file.
            PT_NOTE if index == PROGRAM_HEADERS - 1 => *header = unloaded(header, (comment.0, 0)),
            _ => {}
        }
    }
    file.finish(&elf, &headers, target)
}

/// A header of something that is in the file only.
fn unloaded(header: &ProgramHeader, (offset, size): (u64, u64)) -> ProgramHeader {
    ProgramHeader {
        p_offset: offset,
        p_filesz: size,
        p_vaddr: 0,
        p_paddr: 0,
        p_memsz: 0,
        p_align: 4,
        ..header.clone()
    }
}

/// The names of all symbols, with the NIDs of what stands under its plain name.
fn symbol_names(elf: &Elf<'_>, imports: &ImportList) -> Vec<String> {
    let name = |symbol: Sym| {
        let name = elf.dynstrtab.get_at(symbol.st_name).unwrap_or_default();
        let imported = symbol.st_shndx == 0 && !name.contains('#');
        let known = imported.then(|| imports.symbol_of(name)).flatten();
        known.unwrap_or_else(|| name.to_owned())
    };
    elf.dynsyms.iter().map(name).collect()
}

/// The libraries that an undefined symbol names.
fn used_libraries(names: &[String], imports: &ImportList) -> Vec<Library> {
    let used = |library: &Library| {
        let end = format!(
            "#{}#{}",
            encode_id(library.library_id),
            encode_id(library.module_id)
        );
        names.iter().any(|name| name.ends_with(&end))
    };
    imports.libraries().filter(used).collect()
}

/// The tags that only consoles have.
fn sony_tags(
    target: Target<'_>,
    strings: &mut Vec<u8>,
    libraries: &[Library],
    symbol_size: u64,
    hash_size: u64,
) -> Vec<(u64, u64)> {
    let mut add = |name: &str| {
        let offset = strings.len() as u64;
        strings.extend_from_slice(name.as_bytes());
        strings.push(0);
        offset
    };
    let mut tags = vec![
        (0x6100_0041, add(&format!("{}.elf", target.name()))), // ORIGINAL_FILENAME_1
        (0x6100_0043, add(target.name()) | MODULE_VERSION << 32), // MODULE_INFO_1, id 0
        (0x6100_0011, 0),                                      // MODULE_ATTR
    ];
    for library in libraries {
        let id = u64::from(library.module_id) << 48;
        tags.push((0x6100_0045, add(&library.name) | MODULE_VERSION << 32 | id)); // NEEDED_MODULE_1
    }
    for library in libraries {
        let id = u64::from(library.library_id) << 48;
        tags.push((0x6100_0049, add(&library.name) | LIBRARY_VERSION << 32 | id)); // IMPORT_LIB_1
        tags.push((0x6100_0019, IMPORT_ATTRIBUTES | id)); // IMPORT_LIB_ATTR
    }
    if let Target::Module(own) = target {
        let id = u64::from(own.library_id) << 48;
        tags.push((0x6100_0047, add(&own.name) | LIBRARY_VERSION << 32 | id)); // EXPORT_LIB_1
        tags.push((0x6100_0017, EXPORT_ATTRIBUTES | id)); // EXPORT_LIB_ATTR
    }
    tags.push((0x6100_003d, hash_size)); // HASHSZ
    tags.push((0x6100_003f, symbol_size)); // SYMTABSZ
    tags
}

/// The System V hash table as consoles compute it: over `NID#library name#module name`, not over the stored name. It
/// has as many buckets as lld's, so it fits where that one is.
fn console_hash(names: &[String], libraries: &[Library], target: Target<'_>) -> Vec<u8> {
    let count = names.len();
    let own = match target {
        Target::Program => None,
        Target::Module(library) => Some(library),
    };
    let buckets = count.max(1);
    let mut table = vec![0_u32; 2 + buckets + count];
    table[0] = buckets as u32;
    table[1] = count as u32;
    for (index, name) in names.iter().enumerate().skip(1) {
        let (nid, rest) = name.split_once('#').unwrap_or((name, ""));
        let library = libraries.iter().chain(own).find(|library| {
            rest.split_once('#')
                .is_some_and(|(id, _)| id == encode_id(library.library_id))
        });
        let name = match library {
            Some(library) => format!("{nid}#{0}#{0}", library.name),
            None => name.clone(),
        };
        let bucket = 2 + system_v_hash(&name) as usize % buckets;
        table[2 + buckets + index] = table[bucket];
        table[bucket] = index as u32;
    }
    table.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn system_v_hash(name: &str) -> u32 {
    name.bytes().fold(0, |hash: u32, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ high >> 24) & !high
    })
}

/// The growing output.
struct Builder {
    bytes: Vec<u8>,
    meta_offset: u64,
    meta_address: u64,
}

impl Builder {
    /// The linked file up to the end of its last segment: what follows are sections that nobody loads.
    fn new(linked: &[u8], meta: &ProgramHeader) -> Result<Self, KitError> {
        let end = usize::try_from(meta.p_offset + meta.p_filesz).unwrap_or(usize::MAX);
        let bytes = linked
            .get(..end)
            .ok_or_else(|| KitError::Linked {
                problem: "its last segment is outside it".to_owned(),
            })?
            .to_vec();
        Ok(Self {
            bytes,
            meta_offset: meta.p_offset,
            meta_address: meta.p_vaddr,
        })
    }

    fn align(&mut self, alignment: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
    }

    /// Appends to the last segment; the address of what was appended.
    fn append(&mut self, bytes: &[u8], alignment: usize) -> u64 {
        self.align(alignment);
        let address = self.meta_address + self.loaded_size();
        self.bytes.extend_from_slice(bytes);
        address
    }

    /// Appends behind all segments; offset and size.
    fn append_record(&mut self, bytes: &[u8]) -> (u64, u64) {
        self.align(16);
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        (offset, bytes.len() as u64)
    }

    fn loaded_size(&self) -> u64 {
        self.bytes.len() as u64 - self.meta_offset
    }

    fn offset_of(&self, address: u64) -> u64 {
        address - self.meta_address + self.meta_offset
    }

    fn replace(&mut self, offset: usize, bytes: &[u8]) -> Result<(), KitError> {
        let place = offset
            .checked_add(bytes.len())
            .and_then(|end| self.bytes.get_mut(offset..end));
        match place {
            Some(place) => {
                place.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(KitError::Linked {
                problem: format!("offset {offset:#x} is outside its segments"),
            }),
        }
    }

    /// Writes the console's identity and the program headers.
    fn finish(
        mut self,
        elf: &Elf<'_>,
        headers: &[ProgramHeader],
        target: Target<'_>,
    ) -> Result<Vec<u8>, KitError> {
        let start = usize::try_from(elf.header.e_phoff).unwrap_or(usize::MAX);
        for (index, header) in headers.iter().enumerate() {
            let mut bytes = Vec::new();
            bytes.extend(header.p_type.to_le_bytes());
            bytes.extend(header.p_flags.to_le_bytes());
            for word in [
                header.p_offset,
                header.p_vaddr,
                header.p_paddr,
                header.p_filesz,
                header.p_memsz,
                header.p_align,
            ] {
                bytes.extend(word.to_le_bytes());
            }
            self.replace(start + bytes.len() * index, &bytes)?;
        }
        // OS ABI FreeBSD, ABI version 2.
        self.replace(7, &[9, 2])?;
        self.replace(16, &target.kind().to_le_bytes())?;
        // No section headers: their offset, then size, count and string index.
        self.replace(40, &[0; 8])?;
        self.replace(58, &[0; 6])?;
        Ok(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the System V ABI's published examples.
    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(system_v_hash(""), 0);
        assert_eq!(system_v_hash("printf"), 0x077905a6);
        assert_eq!(system_v_hash("exit"), 0x0006cf04);
    }
}

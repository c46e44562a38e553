//! The kit makes what a console's linker makes.

use std::fs;

use goblin::elf::Elf;
use relic_tests::{elf::header_kinds, kit::Kit};

/// Types and flags of a console executable's program headers, in the console's order.
const CONSOLE_HEADERS: [(u32, u32); 14] = [
    (1, 1),           // LOAD, execute only: text
    (1, 4),           // LOAD: constants
    (1, 6),           // LOAD: relocated constants
    (0x6474_e552, 4), // GNU_RELRO
    (1, 6),           // LOAD: data
    (0x6100_0001, 4), // PROCPARAM
    (2, 6),           // DYNAMIC
    (7, 4),           // TLS
    (0x6474_e550, 4), // GNU_EH_FRAME
    (1, 0),           // LOAD without access: link tables
    (0x6fff_ff00, 0), // COMMENT
    (0x6fff_ff01, 0), // LIBVERSION
    (4, 4),           // NOTE: build id
    (4, 0),           // NOTE: tail
];

#[test]
fn executables_have_the_console_s_format() {
    let kit = Kit::new().unwrap();
    for guest in ["hello", "threads"] {
        let folder = tempfile::tempdir().unwrap();
        let eboot = fs::read(kit.build_guest(&kit.guest(guest), folder.path()).unwrap()).unwrap();
        let elf = Elf::parse(&eboot).unwrap();

        assert_eq!(elf.header.e_type, 0xfe10);
        assert_eq!(elf.header.e_machine, 62);
        assert_eq!(
            elf.header.e_ident[7..9],
            [9, 2],
            "OS ABI FreeBSD, ABI version of the PS5"
        );
        assert_eq!(
            (elf.header.e_shoff, elf.header.e_shnum, elf.header.e_shstrndx),
            (0, 0, 0)
        );
        assert_eq!(header_kinds(&elf), CONSOLE_HEADERS, "{guest}");
        for header in elf.program_headers.iter().filter(|header| header.p_type == 1) {
            assert_eq!(header.p_align, 0x4000);
            assert_eq!(header.p_offset % 0x4000, header.p_vaddr % 0x4000);
        }
        let parameters = &elf.program_headers[5];
        assert_eq!(parameters.p_filesz, 0x60);
        let start = parameters.p_offset as usize;
        assert_eq!(eboot[start + 8..start + 12], *b"ORBI");
        assert!(elf.program_headers[8].p_filesz > 0, "there is an unwind table");

        // Every import has a NID's shape, and its library is declared.
        let imports: Vec<&str> = elf
            .dynsyms
            .iter()
            .skip(1)
            .filter(|symbol| symbol.st_shndx == 0)
            .map(|symbol| elf.dynstrtab.get_at(symbol.st_name).unwrap())
            .collect();
        assert!(
            imports.contains(&"hcuQgD53UxM#A#B"),
            "printf of libc: {imports:?}"
        );
        assert!(
            imports.iter().all(|name| name.as_bytes().get(11) == Some(&b'#')),
            "{imports:?}"
        );
        let tags = &elf.dynamic.as_ref().unwrap().dyns;
        let libraries: Vec<&str> = tags
            .iter()
            .filter(|tag| tag.d_tag == 0x6100_0049)
            .map(|tag| elf.dynstrtab.get_at((tag.d_val & 0xffff_ffff) as usize).unwrap())
            .collect();
        assert_eq!(libraries, ["libc", "libkernel"]);
        assert!(tags.iter().any(|tag| tag.d_tag == 0x6100_003f), "SYMTABSZ");
    }
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    let kit = Kit::new().unwrap();
    let build = || {
        let folder = tempfile::tempdir().unwrap();
        fs::read(kit.build_guest(&kit.guest("hello"), folder.path()).unwrap()).unwrap()
    };
    assert!(build() == build());
}

#[test]
fn a_wrong_source_says_what_the_compiler_said() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("main.c"),
        "#include <relic/guest.h>\nint main(void) { return undeclared; }\n",
    )
    .unwrap();
    let error = kit
        .build_guest(folder.path(), &folder.path().join("out"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("undeclared"), "{error}");
    assert!(!folder.path().join("out/eboot.bin").exists());
}

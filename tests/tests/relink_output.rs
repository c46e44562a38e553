//! Relinked files are what a Linux distribution's own linker could have made.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use goblin::elf::Elf;
use relic_core::program::{ImportKind, ImportRecord, ImportSite, PROGRAM_MAGIC, ProgramInfo};
use relic_relink::{RelinkError, RelinkOptions, relink, relink_image, report::Note};
use relic_tests::{
    elf::{dynamic_value, header_kinds},
    kit::Kit,
    programs,
};

const X: u32 = 1;
const R: u32 = 4;
const RX: u32 = 5;
const RW: u32 = 6;

fn eboot(guest: &str) -> Vec<u8> {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::read(kit.build_guest(&kit.guest(guest), folder.path()).unwrap()).unwrap()
}

fn options(input: &Path, output: &Path) -> RelinkOptions {
    RelinkOptions {
        input: input.to_owned(),
        output: output.to_owned(),
        ..RelinkOptions::default()
    }
}

#[test]
fn headers_are_those_of_a_position_independent_executable() {
    for guest in ["hello", "threads"] {
        let input = eboot(guest);
        let (image, report) = relink_image(&input).unwrap();
        let output = image.to_bytes();
        let elf = Elf::parse(&output).unwrap();
        assert_eq!(
            (elf.header.e_type, elf.header.e_ident[7], elf.header.e_ident[8]),
            (3, 0, 0)
        );
        let expected = [
            (6, R),            // PHDR
            (3, R),            // INTERP
            (1, X),            // guest text, which nothing reads
            (1, R),            // guest constants
            (1, RW),           // guest relocated constants
            (1, RW),           // guest data
            (1, R),            // guest link tables, made readable
            (1, R),            // appended tables
            (1, RX),           // appended stubs
            (1, RW),           // appended dynamic table and slots
            (2, RW),           // DYNAMIC
            (7, R),            // TLS
            (0x6474_e550, R),  // GNU_EH_FRAME
            (0x6474_e552, R),  // GNU_RELRO
            (0x6474_e551, RW), // GNU_STACK, not executable
        ];
        assert_eq!(header_kinds(&elf), expected, "{guest}");
        assert_eq!(elf.interpreter, Some("/lib64/ld-linux-x86-64.so.2"));
        assert_eq!(elf.libraries, ["librelic.so"]);
        assert_eq!(elf.runpaths, ["$ORIGIN/libs"]);
        assert!(dynamic_value(&elf, 0x6fff_fef5).is_some(), "GNU_HASH");
        assert_eq!(dynamic_value(&elf, 30), Some(8), "BIND_NOW");
        assert_eq!(dynamic_value(&elf, 4), None, "no System V hash");
        let unreadable = report
            .notes
            .iter()
            .filter(|note| matches!(note, Note::MadeReadable { .. }))
            .count();
        // The link tables; code stays as it is.
        assert_eq!(unreadable, 1, "{:?}", report.notes);
        assert!(
            report
                .notes
                .iter()
                .any(|note| matches!(note, Note::KeptUnreadable { .. })),
            "{:?}",
            report.notes
        );

        // Kernels before 5.18 find the program headers at this distance.
        let loads: Vec<_> = elf
            .program_headers
            .iter()
            .filter(|header| header.p_type == 1)
            .collect();
        let distance = loads[0].p_vaddr.wrapping_sub(loads[0].p_offset);
        assert_eq!(
            elf.program_headers[0].p_vaddr.wrapping_sub(elf.header.e_phoff),
            distance
        );
        // Every guest byte is where it was.
        let original = Elf::parse(&input).unwrap();
        for (before, after) in original
            .program_headers
            .iter()
            .filter(|header| header.p_type == 1)
            .zip(&loads)
        {
            assert_eq!((before.p_vaddr, before.p_memsz), (after.p_vaddr, after.p_memsz));
            assert_eq!(input[before.file_range()], output[after.file_range()]);
        }
    }
}

#[test]
fn imports_are_weak_and_described() {
    let input = eboot("hello");
    let (image, report) = relink_image(&input).unwrap();
    let output = image.to_bytes();
    let elf = Elf::parse(&output).unwrap();
    let undefined: Vec<(&str, u8)> = elf
        .dynsyms
        .iter()
        .skip(1)
        .filter(|symbol| symbol.st_shndx == 0)
        .map(|symbol| (elf.dynstrtab.get_at(symbol.st_name).unwrap(), symbol.st_bind()))
        .collect();
    for (name, binding) in &undefined {
        let runtime = name.starts_with("relic_");
        assert_eq!(*binding, if runtime { 1 } else { 2 }, "{name}");
    }
    let nids: BTreeSet<&str> = undefined
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !name.starts_with("relic_"))
        .collect();
    assert_eq!(nids.len() + 2, undefined.len(), "each once");
    assert_eq!(
        nids,
        report.imports.iter().map(|import| import.nid.as_str()).collect()
    );

    let progname = report
        .imports
        .iter()
        .find(|import| import.name == Some("__progname"))
        .unwrap();
    assert_eq!(
        (&*progname.library, progname.kind, progname.sites),
        ("libkernel", ImportKind::Object, 1)
    );
    let printf = report
        .imports
        .iter()
        .find(|import| import.name == Some("printf"))
        .unwrap();
    assert_eq!((&*printf.library, printf.kind), ("libc", ImportKind::Function));

    // The tables that the runtime library reads say the same.
    let at = output
        .windows(8)
        .position(|window| window == PROGRAM_MAGIC)
        .unwrap();
    let word = |offset: usize| u64::from_le_bytes(output[offset..offset + 8].try_into().unwrap());
    let half = |offset: usize| u32::from_le_bytes(output[offset..offset + 4].try_into().unwrap());
    let reference = |field: usize| at.wrapping_add(word(at + field) as usize);
    let records = reference(std::mem::offset_of!(ProgramInfo, imports));
    let sites = reference(std::mem::offset_of!(ProgramInfo, sites));
    let strings = reference(std::mem::offset_of!(ProgramInfo, strings));
    let count = half(at + std::mem::offset_of!(ProgramInfo, import_count)) as usize;
    assert_eq!(count, report.imports.len());
    let text = |offset: u32| {
        let start = strings + offset as usize;
        let end = start + output[start..].iter().position(|&byte| byte == 0).unwrap();
        std::str::from_utf8(&output[start..end]).unwrap()
    };
    let mut next_site = 0;
    let relro = elf
        .program_headers
        .iter()
        .find(|header| header.p_type == 0x6474_e552)
        .unwrap();
    for (index, import) in report.imports.iter().enumerate() {
        let record = records + index * size_of::<ImportRecord>();
        assert_eq!(&output[record..record + 11], import.nid.as_str().as_bytes());
        assert_eq!(ImportKind::from_number(output[record + 11]), Some(import.kind));
        assert_eq!(text(half(record + 12)), import.library);
        assert_eq!(text(half(record + 16)), import.name.unwrap_or_default());
        assert_eq!(
            (half(record + 20), half(record + 24)),
            (next_site, import.sites as u32)
        );
        for site in 0..import.sites {
            let site = word(sites + (next_site as usize + site) * size_of::<ImportSite>());
            let relocated = elf
                .dynrelas
                .iter()
                .chain(elf.pltrelocs.iter())
                .find(|relocation| relocation.r_offset == site)
                .map(|relocation| elf.dynsyms.get(relocation.r_sym).unwrap());
            let name = elf.dynstrtab.get_at(relocated.unwrap().st_name).unwrap();
            assert_eq!(name, import.nid.as_str());
            assert!(
                relro.vm_range().contains(&(site as usize)),
                "{site:#x} is in a protected slot here"
            );
        }
        next_site += import.sites as u32;
    }
    assert_eq!(
        word(at + std::mem::offset_of!(ProgramInfo, protected_size)),
        relro.p_memsz
    );
}

/// What eu-elflint has to say about a file.
fn complaints(path: &Path) -> Vec<String> {
    let output = Command::new("eu-elflint")
        .arg("--gnu-ld")
        .arg(path)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn tools_that_read_elf_files_have_no_complaint() {
    let kit = Kit::new().unwrap();
    for guest in ["hello", "threads", "title", "exceptions"] {
        let folder = tempfile::tempdir().unwrap();
        let input = kit.build_guest(&kit.guest(guest), folder.path()).unwrap();
        let output = folder.path().join("out/program");
        let report = relink(&options(&input, &output)).unwrap();
        let modules = report
            .modules
            .iter()
            .map(|module| output.with_file_name(&module.output));
        for file in modules.chain([output.clone()]) {
            if programs::exists("eu-elflint") {
                assert_eq!(complaints(&file), ["No errors"], "{}", file.display());
            } else {
                eprintln!("skipped: eu-elflint (Debian's elfutils) is not installed");
            }
            if programs::exists("readelf") {
                let read = Command::new("readelf").arg("-aW").arg(&file).output().unwrap();
                let said = String::from_utf8_lossy(&read.stdout).to_lowercase();
                assert!(read.status.success() && read.stderr.is_empty(), "{read:?}");
                for word in ["warning", "error", "<unknown", "<corrupt", "unrecognized"] {
                    assert!(!said.contains(word), "{word} in {}\n{said}", file.display());
                }
            } else {
                eprintln!("skipped: readelf (binutils) is not installed");
            }
        }
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("eboot.bin");
    fs::write(&input, eboot("hello")).unwrap();
    let bytes = |name: &str| {
        let output = folder.path().join(name);
        relink(&options(&input, &output)).unwrap();
        assert_eq!(fs::metadata(&output).unwrap().permissions().mode() & 0o777, 0o755);
        fs::read(output).unwrap()
    };
    let first = bytes("first");
    assert!(first == bytes("elsewhere/second"));
    let content = fs::read(&input).unwrap();
    assert!(
        first == relink_image(&content).unwrap().0.to_bytes(),
        "files and memory agree"
    );
}

/// A program's bytes with some 8-byte words replaced where they stand in its dynamic table (by tag) or headers.
struct Edited(Vec<u8>);

impl Edited {
    fn header(&self, kind: u32) -> usize {
        (0..14)
            .map(|index| 64 + 56 * index)
            .find(|&at| self.0[at..at + 4] == kind.to_le_bytes())
            .unwrap()
    }

    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    fn set(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn tag(&self, tag: u64) -> usize {
        let start = self.word(self.header(2) + 8) as usize;
        (start..).step_by(16).find(|&at| self.word(at) == tag).unwrap()
    }
}

/// Sony's tags give the same tables by file offset.
#[test]
fn tables_are_found_by_either_form_of_tag() {
    let input = eboot("hello");
    let expected = relink_image(&input).unwrap().0.to_bytes();
    let mut edited = Edited(input.clone());
    let meta = Elf::parse(&input).unwrap().program_headers[9].clone();
    // STRTAB, SYMTAB, RELA, JMPREL hold addresses, which become offsets.
    for (standard, sony) in [(5, 0x35), (6, 0x39), (7, 0x2f), (23, 0x29)] {
        let at = edited.tag(standard);
        let offset = edited.word(at + 8) - meta.p_vaddr + meta.p_offset;
        edited.set(at, 0x6100_0000 + sony);
        edited.set(at + 8, offset);
    }
    for (standard, sony) in [
        (10, 0x37),
        (11, 0x3b),
        (8, 0x31),
        (9, 0x33),
        (2, 0x2d),
        (20, 0x2b),
    ] {
        let at = edited.tag(standard);
        edited.set(at, 0x6100_0000 + sony);
    }
    // The guest's own copy of the dynamic table is part of what is loaded; everything else must agree.
    let mut output = relink_image(&edited.0).unwrap().0.to_bytes();
    let start = edited.word(edited.header(2) + 8) as usize;
    let size = edited.word(edited.header(2) + 32) as usize;
    output[start..start + size].copy_from_slice(&input[start..start + size]);
    assert!(output == expected);
}

/// Comment and version records of real files lie outside them, and unpacked files have wrong offsets for the dynamic
/// table, whose address is right.
#[test]
fn offsets_that_no_loader_uses_may_be_anything() {
    let input = eboot("hello");
    let expected = relink_image(&input).unwrap().0.to_bytes();
    let mut edited = Edited(input);
    for kind in [0x6fff_ff00, 0x6fff_ff01, 2] {
        let at = edited.header(kind);
        edited.set(at + 8, u64::MAX - 0xfff);
    }
    assert!(relink_image(&edited.0).unwrap().0.to_bytes() == expected);
}

/// The loader protects whole pages: a range that begins within one would take what stands before it along.
#[test]
fn a_relro_range_that_begins_within_a_page_is_dropped() {
    let mut edited = Edited(eboot("hello"));
    let at = edited.header(0x6474_e552);
    for (field, change) in [
        (8, 0x20_u64),
        (16, 0x20),
        (32, 0x20_u64.wrapping_neg()),
        (40, 0x20_u64.wrapping_neg()),
    ] {
        let value = edited.word(at + field);
        edited.set(at + field, value.wrapping_add(change));
    }
    let (image, report) = relink_image(&edited.0).unwrap();
    assert!(report.notes.contains(&Note::RelroDropped), "{:?}", report.notes);
    let output = image.to_bytes();
    let elf = Elf::parse(&output).unwrap();
    assert!(!header_kinds(&elf).iter().any(|(kind, _)| *kind == 0x6474_e552));
    let info = output
        .windows(8)
        .position(|window| window == PROGRAM_MAGIC)
        .unwrap();
    let size = info + std::mem::offset_of!(ProgramInfo, protected_size);
    assert_eq!(output[size..size + 8], [0; 8]);
}

/// Everything in a folder, at any depth.
fn listing(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(listing(&path));
        }
        found.insert(path);
    }
    found
}

#[test]
fn failure_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("good.bin"), folder.path().join("bad.bin"));
    let content = eboot("hello");
    fs::write(&good, &content).unwrap();
    fs::write(&bad, &content[..content.len() / 2]).unwrap();
    let occupied = folder.path().join("occupied");
    fs::create_dir_all(occupied.join("something")).unwrap();
    let kept = folder.path().join("kept");
    fs::write(&kept, "an older program").unwrap();
    let before = listing(folder.path());

    let refused = |input: &Path, output: &Path, runtime: Option<&str>| {
        let options = RelinkOptions {
            runtime_library: runtime.map(Into::into),
            ..options(input, output)
        };
        let error = relink(&options).unwrap_err();
        assert_eq!(listing(folder.path()), before, "{error}");
        error
    };
    refused(&bad, &folder.path().join("new/folder/program"), None);
    refused(&bad, &kept, None);
    refused(
        &folder.path().join("absent"),
        &folder.path().join("program"),
        None,
    );
    refused(
        &good,
        &folder.path().join("new/folder/program"),
        Some("/nonexistent/librelic.so"),
    );
    // The rename of the finished file fails.
    refused(&good, &occupied, None);
    let error = refused(&good, &good, None);
    assert!(matches!(error, RelinkError::OutputIsInput { .. }), "{error}");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "an older program");
    assert!(fs::read(&good).unwrap() == content);

    // What takes the place of an older program leaves nothing of it.
    relink(&options(&good, &kept)).unwrap();
    let fresh = folder.path().join("fresh");
    relink(&options(&good, &fresh)).unwrap();
    assert!(fs::read(&kept).unwrap() == fs::read(&fresh).unwrap());
    fs::remove_file(&fresh).unwrap();
    assert_eq!(listing(folder.path()), before);
}

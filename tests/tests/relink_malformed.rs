//! What is not a PS5 program is refused in words that say why, and nothing makes the relinker panic.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    fs,
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use proptest::{prelude::*, test_runner::TestRunner};
use relic_relink::{
    FilterLevel, Lowerings, RelinkOptions, SystemCallPolicy, Target, input::ObjectKind, plan::Rules, relink,
    relink_image, relink_object,
};
use relic_tests::kit::Kit;

/// The system's allocator, which notes the largest request and the most that was held at once.
struct Measured;

static LARGEST: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Measured {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: forwarded contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: forwarded contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Measured = Measured;

/// The files here have less than 100 KB: in bytes, far more than any of them should take.
const LARGEST_LIMIT: usize = 4 << 20;
const HELD_LIMIT: usize = 16 << 20;

static HELLO: LazyLock<File> = LazyLock::new(|| {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    File(fs::read(kit.build_guest(&kit.guest("hello"), folder.path()).unwrap()).unwrap())
});

/// A module.
static FIRST: LazyLock<File> = LazyLock::new(|| {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    kit.build_guest(&kit.guest("title"), folder.path()).unwrap();
    File(fs::read(folder.path().join("sce_module/libfirst.prx")).unwrap())
});

const TYPE: usize = 0;
const FLAGS: usize = 4;
const OFFSET: usize = 8;
const ADDRESS: usize = 16;
const FILE_SIZE: usize = 32;
const MEMORY_SIZE: usize = 40;
const ALIGNMENT: usize = 48;

/// A PS5 program with places to damage.
#[derive(Clone)]
struct File(Vec<u8>);

impl File {
    fn word(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.0[offset..offset + 8].try_into().unwrap())
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn put_word(&mut self, offset: usize, value: u64) {
        self.put(offset, &value.to_le_bytes());
    }

    /// File offset of a field of a program header: the one of a type behind `skip` others of it.
    fn header(&self, kind: u32, skip: usize, field: usize) -> usize {
        (0..14)
            .map(|index| 64 + 56 * index)
            .filter(|&start| self.0[start..start + 4] == kind.to_le_bytes())
            .nth(skip)
            .map(|start| start + field)
            .unwrap()
    }

    /// File offset of a dynamic entry: its tag, and eight bytes on its value.
    fn tag(&self, tag: u64) -> usize {
        let start = self.word(self.header(2, 0, OFFSET)) as usize;
        let size = self.word(self.header(2, 0, FILE_SIZE)) as usize;
        (start..start + size)
            .step_by(16)
            .find(|&entry| self.word(entry) == tag)
            .unwrap()
    }

    /// File offset of record `index` of the table that a tag points at, in the last LOAD segment as all are here.
    fn record(&self, table: u64, index: usize) -> usize {
        let address = self.word(self.tag(table) + 8);
        (address - self.word(self.header(1, 4, ADDRESS)) + self.word(self.header(1, 4, OFFSET))) as usize
            + 24 * index
    }

    /// File offset of the first symbol of a type.
    fn symbol(&self, kind: u8) -> usize {
        (1..)
            .map(|index| self.record(6, index))
            .find(|&symbol| self.0[symbol + 4] & 0xf == kind)
            .unwrap()
    }
}

/// A damage, and what the message must say.
type Case = (&'static str, fn(&mut File), &'static [&'static str]);

const CASES: &[Case] = &[
    ("empty", |f| f.0.clear(), &["not an ELF file", "empty"]),
    (
        "text",
        |f| f.0 = b"#!/bin/sh\n".to_vec(),
        &["not an ELF file", "23 21 2f 62"],
    ),
    (
        "PS4 SELF",
        |f| f.put(0, &[0x4f, 0x15, 0x3d, 0x1d]),
        &["SELF container", "decrypted"],
    ),
    (
        "PS5 SELF",
        |f| f.put(0, &[0x54, 0x14, 0xf5, 0xee]),
        &["SELF container", "decrypted"],
    ),
    ("package", |f| f.put(0, b"\x7fCNT"), &["package"]),
    ("short header", |f| f.0.truncate(40), &["ELF header", "beyond"]),
    ("32 bits", |f| f.put(4, &[1]), &["class", "64-bit"]),
    ("big-endian", |f| f.put(5, &[2]), &["byte order"]),
    ("OS ABI", |f| f.put(7, &[0]), &["OS ABI", "9 (FreeBSD)"]),
    ("PS4 program", |f| f.put(8, &[0]), &["PS4"]),
    ("unknown ABI version", |f| f.put(8, &[7]), &["ABI version", "0x7"]),
    ("module", |f| f.put(16, &[0x18, 0xfe]), &["module", "eboot.bin"]),
    ("static executable", |f| f.put(16, &[2, 0]), &["type is 0x2"]),
    ("other machine", |f| f.put(18, &[40]), &["machine is 0x28"]),
    (
        "program header size",
        |f| f.put(54, &[32]),
        &["program header size"],
    ),
    (
        "program headers outside",
        |f| f.put_word(32, u64::MAX - 8),
        &["program header table", "beyond"],
    ),
    ("no program headers", |f| f.put(56, &[0, 0]), &["no LOAD"]),
    (
        "truncated",
        |f| f.0.truncate(0x9000),
        &["program header 2 (LOAD)", "beyond the file"],
    ),
    (
        "entry outside",
        |f| f.put_word(24, 0x7777_0000),
        &["entry point 0x77770000"],
    ),
    (
        "entry in data",
        |f| f.put_word(24, 0x4000),
        &["entry point", "executable"],
    ),
    (
        "unknown header",
        |f| f.put(f.header(4, 0, TYPE), &[0x55, 0, 0, 0]),
        &["type 0x55", "unknown"],
    ),
    (
        "writable code",
        |f| f.put(f.header(1, 0, FLAGS), &[7]),
        &["writable and executable"],
    ),
    (
        "unknown access",
        |f| f.put(f.header(1, 0, FLAGS) + 1, &[1]),
        &["access flags 0x101"],
    ),
    (
        "alignment",
        |f| f.put_word(f.header(1, 1, ALIGNMENT), 0x3000),
        &["alignment 0x3000"],
    ),
    (
        "incongruent",
        |f| f.put_word(f.header(1, 1, OFFSET), 0x8010),
        &["differ modulo the page"],
    ),
    (
        "descending",
        |f| f.put_word(f.header(1, 1, ADDRESS), 0),
        &["program header 1 (LOAD)", "on or below the last page"],
    ),
    (
        "wraps",
        |f| f.put_word(f.header(1, 3, MEMORY_SIZE), u64::MAX),
        &["wraps"],
    ),
    (
        "file over memory",
        |f| f.put_word(f.header(1, 1, MEMORY_SIZE), 1),
        &["only 0x1 memory bytes"],
    ),
    (
        "huge",
        |f| f.put_word(f.header(1, 4, MEMORY_SIZE), 1 << 40),
        &["0x100000000", "may span"],
    ),
    (
        "no dynamic table",
        |f| f.put(f.header(2, 0, TYPE), &[0, 0, 0, 0]),
        &["no DYNAMIC"],
    ),
    (
        "two TLS segments",
        |f| f.put(f.header(4, 0, TYPE), &[7, 0, 0, 0]),
        &["already one"],
    ),
    (
        "TLS outside",
        |f| f.put_word(f.header(7, 0, ADDRESS), 0x123_0000),
        &["(TLS)", "not inside"],
    ),
    (
        "RELRO outside",
        |f| f.put_word(f.header(0x6474_e552, 0, ADDRESS), 0x123_0000),
        &["(GNU_RELRO)", "not inside"],
    ),
    (
        "parameters outside",
        |f| f.put_word(f.header(0x6100_0001, 0, ADDRESS), 0x123_0000),
        &["SCE_PROCPARAM"],
    ),
    (
        "unknown tag",
        |f| f.put_word(f.tag(9), 0x6100_00ff),
        &["0x610000ff", "unknown"],
    ),
    (
        "text relocations",
        |f| f.put_word(f.tag(9), 22),
        &["TEXTREL", "code"],
    ),
    ("REL", |f| f.put_word(f.tag(9), 17), &["(REL)", "without addends"]),
    (
        "record size",
        |f| f.put_word(f.tag(9) + 8, 16),
        &["RELAENT", "expected 24"],
    ),
    ("flags", |f| f.put_word(f.tag(30) + 8, 4), &["(FLAGS)", "0x4"]),
    (
        "initialisers",
        |f| {
            f.put(
                f.tag(4),
                &[&27_u64.to_le_bytes()[..], &8_u64.to_le_bytes()].concat(),
            );
        },
        &["INIT_ARRAY", "nobody would call"],
    ),
    ("duplicate", |f| f.put_word(f.tag(9), 7), &["(RELA)", "only once"]),
    (
        "both forms",
        |f| f.put_word(f.tag(4), 0x6100_0035),
        &["STRTAB and SCE_STRTAB"],
    ),
    ("no strings", |f| f.put_word(f.tag(5), 4), &["only once"]),
    ("no string size", |f| f.put_word(f.tag(10), 21), &["no STRSZ"]),
    ("no symbols", |f| f.put_word(f.tag(6), 21), &["no SYMTAB"]),
    (
        "no symbol count",
        |f| {
            f.put_word(f.tag(4), 21);
            f.put_word(f.tag(0x6100_003f), 21);
        },
        &["SCE_SYMTABSZ"],
    ),
    (
        "strings outside",
        |f| f.put_word(f.tag(5) + 8, 0x40_0000),
        &["string table at address 0x400000"],
    ),
    (
        "strings too long",
        |f| f.put_word(f.tag(10) + 8, u64::MAX),
        &["string table"],
    ),
    (
        "symbols too long",
        |f| f.put_word(f.tag(0x6100_003f) + 8, 24 << 40),
        &["symbol table"],
    ),
    (
        "symbols ragged",
        |f| {
            let at = f.tag(0x6100_003f) + 8;
            f.put_word(at, f.word(at) - 1);
        },
        &["whole number of 24-byte"],
    ),
    (
        "relocations ragged",
        |f| {
            let at = f.tag(8) + 8;
            f.put_word(at, f.word(at) - 1);
        },
        &["RELA", "24-byte"],
    ),
    (
        "symbol name outside",
        |f| f.put(f.symbol(2), &[0xff; 4]),
        &["symbol's name", "0xffffffff"],
    ),
    (
        "symbol binding",
        |f| f.put(f.symbol(2) + 4, &[0xa2]),
        &["binding 10"],
    ),
    (
        "TLS import",
        |f| f.put(f.symbol(1) + 4, &[0x16]),
        &["thread-local"],
    ),
    ("IFUNC import", |f| f.put(f.symbol(2) + 4, &[0x1a]), &["type 10"]),
    (
        "plain name",
        |f| {
            let s = f.symbol(2);
            let n = u32::from_le_bytes(f.0[s..s + 4].try_into().unwrap());
            f.put(s, &(n + 1).to_le_bytes());
        },
        &["NID#library#module"],
    ),
    (
        "library without a tag",
        |f| f.put_word(f.tag(0x6100_0049), 0x6100_0019),
        &["library id 0", "IMPORT_LIB"],
    ),
    (
        "library name outside",
        |f| f.put_word(f.tag(0x6100_0049) + 8, 0xffff_ffff),
        &["import library's name"],
    ),
    (
        "relocation type",
        |f| f.put(f.record(7, 0) + 8, &[37, 0, 0, 0]),
        &["relocation 0 of RELA", "type 37"],
    ),
    (
        "relative with symbol",
        |f| f.put(f.record(7, 0) + 8, &[8, 0, 0, 0, 1, 0, 0, 0]),
        &["RELATIVE", "symbol 1"],
    ),
    (
        "symbol index",
        |f| f.put(f.record(23, 0) + 12, &[0xff, 0xff, 0, 0]),
        &["JMPREL", "symbol 65535"],
    ),
    (
        "no symbol",
        |f| f.put(f.record(23, 0) + 12, &[0; 4]),
        &["JUMP_SLOT", "no symbol"],
    ),
    (
        "target outside",
        |f| f.put_word(f.record(7, 0), 0x99_0000),
        &["0x990000", "no LOAD"],
    ),
    (
        "target at the end",
        |f| f.put_word(f.record(7, 0), u64::MAX - 3),
        &["no LOAD"],
    ),
    (
        "target in text",
        |f| f.put_word(f.record(7, 0), 0x10),
        &["not writable"],
    ),
    (
        "overlap",
        |f| f.put_word(f.record(7, 0), f.word(f.record(7, 1)) + 4),
        &["overlapping"],
    ),
    (
        "TLS relocation of a function",
        |f| f.put(f.record(23, 0) + 8, &[18, 0, 0, 0]),
        &["TPOFF64", "thread-local"],
    ),
];

#[test]
fn every_damage_is_named() {
    assert!(relink_image(&HELLO.0).is_ok());
    let mut wrong = Vec::new();
    for (name, damage, parts) in CASES {
        let mut file = HELLO.clone();
        damage(&mut file);
        match relink_image(&file.0) {
            Ok(_) => wrong.push(format!("{name}: accepted")),
            Err(error) => {
                let error = error.to_string();
                if let Some(part) = parts.iter().find(|part| !error.contains(**part)) {
                    wrong.push(format!("{name}: no {part:?} in: {error}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What lies in the tables that the relinker reads, where a change matters most.
fn interesting(file: &File) -> Vec<usize> {
    let dynamic = file.word(file.header(2, 0, OFFSET)) as usize;
    let unwind = file.word(file.header(0x6474_e550, 0, OFFSET)) as usize;
    (0..64 + 14 * 56)
        .chain(unwind..unwind + 0x180)
        .chain(file.record(6, 0)..(dynamic + 0x200).min(file.0.len() - 8))
        .collect()
}

/// 3,000 damages, or as many more as PROPTEST_CASES asks for.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig {
        cases: config.cases.max(3000),
        failure_persistence: None,
        ..config
    }
}

/// Whatever the damage, there is a result or an error; and a result is whole.
#[test]
fn no_damage_panics() {
    damage(&HELLO, ObjectKind::Program, Rules::default());
}

/// The same with everything that looks at code, and in the unwind table that leads there.
#[test]
fn no_damage_panics_with_every_check_on() {
    for filter in [FilterLevel::Data, FilterLevel::Reachable] {
        let rules = Rules {
            system_calls: SystemCallPolicy::Trap,
            filter,
            lowerings: Lowerings {
                target: Target::NoSha,
                exact_reciprocals: true,
            },
        };
        damage(&HELLO, ObjectKind::Program, rules);
        damage(&FIRST, ObjectKind::Module, rules);
    }
}

/// A damaged module or program of a title leaves no file behind, and no folder.
#[test]
fn no_damage_leaves_output() {
    let folder = tempfile::tempdir().unwrap();
    let kit = Kit::new().unwrap();
    kit.build_guest(&kit.guest("title"), folder.path()).unwrap();
    let options = RelinkOptions {
        input: folder.path().join("eboot.bin"),
        output: folder.path().join("out/app"),
        ..RelinkOptions::default()
    };
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    for name in ["eboot.bin", "sce_module/libfirst.prx"] {
        let path = folder.path().join(name);
        let good = File(fs::read(&path).unwrap());
        let places = interesting(&good);
        let mut runner = TestRunner::new(ProptestConfig {
            cases: config().cases / 30,
            ..config()
        });
        let result = runner.run(&(any::<prop::sample::Index>(), any::<u8>()), |(place, value)| {
            let mut file = good.clone();
            file.put_word(*place.get(&places), u64::from(value) << 3);
            fs::write(&path, &file.0).unwrap();
            let out = folder.path().join("out");
            if relink(&options).is_ok() {
                accepted.set(accepted.get() + 1);
                fs::remove_dir_all(out).unwrap();
            } else {
                refused.set(refused.get() + 1);
                prop_assert!(!out.exists());
            }
            Ok(())
        });
        assert!(result.is_ok(), "{}", result.unwrap_err());
        fs::write(&path, &good.0).unwrap();
    }
    assert!(
        accepted.get() > 5 && refused.get() > 5,
        "{accepted:?} accepted, {refused:?} refused"
    );
}

fn damage(good: &File, kind: ObjectKind, rules: Rules) {
    let places = interesting(good);
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..3_u8);
    let damage = (
        prop::collection::vec(change, 1..6),
        prop::option::weighted(0.1, any::<prop::sample::Index>()),
    );
    let accepted = Cell::new(0);
    let refused = Cell::new(0);
    let mut runner = TestRunner::new(config());
    let result = runner.run(&damage, |(changes, cut)| {
        let mut file = good.0.clone();
        for (place, value, width) in changes {
            let place = &mut file[*place.get(&places)..];
            match width {
                // One byte, a small number, or a huge one.
                0 => place[0] = value,
                1 => place[..8].copy_from_slice(&u64::from(value).to_le_bytes()),
                _ => place[..8].fill(value),
            }
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        let Ok((image, report)) = relink_object(&file, kind, rules) else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        accepted.set(accepted.get() + 1);
        for (offset, piece) in &image.pieces {
            prop_assert!(offset.0 + piece.len() as u64 <= image.size);
        }
        for pair in report.segments.windows(2) {
            prop_assert!(pair[0].range.end() <= pair[1].range.start);
        }
        Ok(())
    });
    assert!(result.is_ok(), "{}", result.unwrap_err());
    // Whatever sizes and counts the damage claims.
    let (largest, most) = (LARGEST.load(Ordering::Relaxed), MOST.load(Ordering::Relaxed));
    assert!(
        largest < LARGEST_LIMIT && most < HELD_LIMIT,
        "{largest} bytes at once, {most} in all"
    );
    println!("{largest} bytes at once, {most} in all");
    // Damage that is all refused, or all accepted, would prove nothing.
    let (accepted, refused) = (accepted.get(), refused.get());
    assert!(
        accepted > refused / 10 && refused > accepted / 10,
        "{accepted} accepted, {refused} refused"
    );
    println!("{accepted} accepted, {refused} refused");
}

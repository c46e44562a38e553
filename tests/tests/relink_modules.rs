//! Titles with modules: what belongs together is found and bound, and what can't be is refused.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use goblin::elf::Elf;
use relic_relink::{RelinkError, RelinkOptions, RelinkReport, input::ObjectKind, inspect, relink};
use relic_tests::{
    kit::Kit,
    programs::{Outcome, run},
    runtime_library,
};

/// A guest of one source and modules of one source each: name, exports, source.
fn build(kit: &Kit, main: &str, modules: &[(&str, &str, &str)], out: &Path) -> PathBuf {
    let modules: Vec<(String, &str)> = modules
        .iter()
        .flat_map(|(name, exports, source)| {
            [("exports.txt", *exports), ("module.c", *source)]
                .map(|(file, text)| (format!("modules/{name}/{file}"), text))
        })
        .collect();
    let mut files: Vec<(&str, &str)> = modules.iter().map(|(name, text)| (&**name, *text)).collect();
    files.push(("main.c", main));
    kit.build_text(&files, out).unwrap()
}

const ONE: (&str, &str, &str) = ("libone", "int one(void);", "int one(void) { return 1; }");
const CALLS_ONE: &str = "int main(void) { return one(); }";

fn options(input: &Path, output: &Path) -> RelinkOptions {
    RelinkOptions {
        input: input.to_owned(),
        output: output.to_owned(),
        ..RelinkOptions::default()
    }
}

/// Relinks `folder/eboot.bin`, which must be refused and leave nothing.
fn refused(folder: &Path) -> RelinkError {
    let output = folder.join("out/app");
    let error = relink(&options(&folder.join("eboot.bin"), &output)).unwrap_err();
    assert!(!folder.join("out").exists(), "{error}");
    error
}

fn relinked(folder: &Path) -> RelinkReport {
    relink(&options(&folder.join("eboot.bin"), &folder.join("out/app"))).unwrap()
}

/// Relinks to `folder/out/app` against the runtime library, and runs that.
fn relinked_and_run(input: &Path, folder: &Path) -> Outcome {
    let output = folder.join("out/app");
    relink(&RelinkOptions {
        runtime_library: Some(runtime_library().unwrap()),
        ..options(input, &output)
    })
    .unwrap();
    run(&output, &[]).unwrap()
}

#[test]
fn modules_are_shared_objects_without_code_for_the_loader() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    kit.build_guest(&kit.guest("title"), folder.path()).unwrap();
    let report = relinked(folder.path());
    let listed: Vec<_> = report
        .modules
        .iter()
        .map(|module| (&*module.path, &*module.output, module.at_start))
        .collect();
    assert_eq!(
        listed,
        [
            (
                "sce_module/libfirst.prx",
                "app0/sce_module/libfirst.guest.prx",
                true
            ),
            (
                "sce_module/libplug.prx",
                "app0/sce_module/libplug.guest.prx",
                false
            ),
            (
                "sce_module/libsecond.prx",
                "app0/sce_module/libsecond.guest.prx",
                true
            ),
        ]
    );
    // Alone, too, each can be looked at, whatever it imports from the others.
    for module in &report.modules {
        let bytes = fs::read(&module.input).unwrap();
        let alone = inspect(&bytes, ObjectKind::Module).unwrap();
        assert_eq!(alone.exports, module.relink.exports);
        assert_eq!(alone.imports.len(), module.relink.imports.len());
    }
    let bound = report.imports.iter().filter(|import| import.bound).count();
    assert!(bound >= 8, "{:?}", report.imports);

    let program = fs::read(folder.path().join("out/app")).unwrap();
    let program = Elf::parse(&program).unwrap();
    assert_eq!(
        program.libraries,
        [
            "librelic.so",
            "$ORIGIN/app0/sce_module/libfirst.guest.prx",
            "$ORIGIN/app0/sce_module/libsecond.guest.prx"
        ]
    );
    for module in &report.modules {
        let bytes = fs::read(folder.path().join("out").join(&module.output)).unwrap();
        let elf = Elf::parse(&bytes).unwrap();
        assert_eq!(
            (elf.header.e_type, elf.header.e_entry, elf.interpreter),
            (3, 0, None)
        );
        let tags: Vec<u64> = elf
            .dynamic
            .as_ref()
            .unwrap()
            .dyns
            .iter()
            .map(|entry| entry.d_tag)
            .collect();
        for (tag, name) in [(12, "INIT"), (13, "FINI"), (25, "INIT_ARRAY"), (26, "FINI_ARRAY")] {
            assert!(!tags.contains(&tag), "{name} of {}", module.path);
        }
        // No name that a system library may have: nothing can be interposed.
        let file_name = module.path.rsplit('/').next().unwrap();
        let defined = elf.dynsyms.iter().filter(|symbol| symbol.st_shndx != 0);
        for symbol in defined {
            let name = elf.dynstrtab.get_at(symbol.st_name).unwrap();
            assert!(name == "relic_module" || name.contains(file_name), "{name}");
            // glibc takes a symbol at 0 for an undefined one.
            assert!(symbol.st_value != 0 || symbol.st_type() == 6, "{name} is at 0");
        }
    }
}

#[test]
fn the_same_title_gives_the_same_bytes() {
    let kit = Kit::new().unwrap();
    let outputs = [1, 2].map(|_| {
        let folder = tempfile::tempdir().unwrap();
        kit.build_guest(&kit.guest("title"), folder.path()).unwrap();
        let report = relinked(folder.path());
        let mut files: Vec<Vec<u8>> = report
            .modules
            .iter()
            .map(|module| fs::read(folder.path().join("out").join(&module.output)).unwrap())
            .collect();
        files.push(fs::read(folder.path().join("out/app")).unwrap());
        files
    });
    assert!(outputs[0] == outputs[1]);
}

#[test]
fn two_module_folders_are_refused() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    build(&kit, CALLS_ONE, &[ONE], folder.path());
    fs::create_dir(folder.path().join("sce_modules")).unwrap();
    let error = refused(folder.path());
    assert!(matches!(error, RelinkError::TwoModuleFolders { .. }), "{error}");
    // Either name will do.
    fs::remove_dir(folder.path().join("sce_modules")).unwrap();
    fs::rename(
        folder.path().join("sce_module"),
        folder.path().join("sce_modules"),
    )
    .unwrap();
    assert_eq!(relinked(folder.path()).modules[0].path, "sce_modules/libone.prx");
}

#[test]
fn modules_that_need_each_other_are_refused() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let one = ("libone", "int one(void);", "int one(void) { return two() + 1; }");
    let two = ("libtwo", "int two(void);", "int two(void) { return one() + 1; }");
    build(&kit, CALLS_ONE, &[one, two], folder.path());
    let error = refused(folder.path()).to_string();
    assert!(error.contains("libone.prx, sce_module/libtwo.prx"), "{error}");
    assert!(error.contains("circle"), "{error}");
}

#[test]
fn an_import_that_two_modules_answer_is_refused() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let two = ("libtwo", "int two(void);", "int two(void) { return 2; }");
    let main = "int main(void) { return one() + two(); }";
    build(&kit, main, &[ONE, two], folder.path());
    // The second says that it is the first, and exports the same.
    let path = folder.path().join("sce_module/libtwo.prx");
    let mut bytes = fs::read(&path).unwrap();
    let mut replace = |from: &str, to: &str| {
        let places: Vec<usize> = bytes
            .windows(from.len())
            .enumerate()
            .filter(|(_, window)| *window == from.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert!(!places.is_empty(), "{from}");
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    };
    replace(
        relic_core::Nid::of("two").as_str(),
        relic_core::Nid::of("one").as_str(),
    );
    replace("libtwo\0", "libone\0");
    fs::write(&path, bytes).unwrap();
    let error = refused(folder.path()).to_string();
    for part in ["libone", "sce_module/libone.prx", "sce_module/libtwo.prx", "both"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn two_files_of_one_name_are_refused() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    build(&kit, CALLS_ONE, &[ONE], folder.path());
    fs::copy(
        folder.path().join("sce_module/libone.prx"),
        folder.path().join("libone.sprx"),
    )
    .unwrap();
    let error = refused(folder.path());
    assert!(matches!(error, RelinkError::SameModule { .. }), "{error}");
}

#[test]
fn a_broken_module_is_named_and_nothing_is_written() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    build(&kit, CALLS_ONE, &[ONE], folder.path());
    let path = folder.path().join("sce_module/libone.prx");
    let good = fs::read(&path).unwrap();
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    let error = refused(folder.path()).to_string();
    assert!(
        error.contains("libone.prx") && error.contains("beyond the file"),
        "{error}"
    );
    // A program is no module.
    fs::copy(folder.path().join("eboot.bin"), &path).unwrap();
    let error = refused(folder.path()).to_string();
    assert!(
        error.contains("libone.prx") && error.contains("0xfe10"),
        "{error}"
    );
}

/// A module somewhere else than in the title's folder is found where the user says, and by its type 3 too.
#[test]
fn modules_are_found_in_named_folders() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    build(&kit, CALLS_ONE, &[ONE], folder.path());
    let elsewhere = tempfile::tempdir().unwrap();
    let place = elsewhere.path().join("deep/down");
    fs::create_dir_all(&place).unwrap();
    let mut bytes = fs::read(folder.path().join("sce_module/libone.prx")).unwrap();
    bytes[16..18].copy_from_slice(&3_u16.to_le_bytes());
    fs::write(place.join("libone.prx"), bytes).unwrap();
    fs::remove_dir_all(folder.path().join("sce_module")).unwrap();
    let output = folder.path().join("out/app");
    let mut options = RelinkOptions {
        module_folders: vec![elsewhere.path().to_owned(), elsewhere.path().to_owned()],
        runtime_library: Some(runtime_library().unwrap()),
        ..options(&folder.path().join("eboot.bin"), &output)
    };
    let report = relink(&options).unwrap();
    assert_eq!(report.modules[0].output, "app0/deep/down/libone.guest.prx");
    assert_eq!(run(&output, &[]).unwrap().code, Some(1));

    // Without it the program is relinked, and the function missing.
    options.module_folders.clear();
    options.output = folder.path().join("without/app");
    assert!(relink(&options).unwrap().modules.is_empty());
    let outcome = run(&options.output, &[]).unwrap();
    assert_eq!(outcome.code, Some(70), "{outcome:?}");
    assert!(outcome.stderr.contains("libone"), "{outcome:?}");
}

#[test]
fn a_missing_function_of_a_module_is_named_by_the_trap() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = [
        (
            "imports.txt",
            "[libkernel]\nint scePthreadAttrNobody(ScePthreadAttr *attributes);\n",
        ),
        ("main.c", "int main(void) { return one(); }"),
        ("modules/libone/exports.txt", "int one(void);"),
        (
            "modules/libone/one.c",
            "int one(void) { ScePthreadAttr nothing = 0; return scePthreadAttrNobody(&nothing); }",
        ),
    ];
    let input = kit.build_text(&files, folder.path()).unwrap();
    let outcome = relinked_and_run(&input, folder.path());
    assert_eq!(outcome.code, Some(70), "{outcome:?}");
    let nid = relic_core::Nid::of("scePthreadAttrNobody");
    assert!(
        outcome
            .stderr
            .contains(&format!("libkernel (name unknown) (NID {nid})")),
        "{outcome:?}"
    );
    assert!(
        outcome.stderr.contains("libone.guest.prx"),
        "the caller is in the module: {outcome:?}"
    );
}

#[test]
fn a_run_path_must_be_rooted() {
    let folder = tempfile::tempdir().unwrap();
    let kit = Kit::new().unwrap();
    build(&kit, CALLS_ONE, &[ONE], folder.path());
    let relink_to = |path: &str| {
        relink(&RelinkOptions {
            run_path: Some(path.to_owned()),
            ..options(&folder.path().join("eboot.bin"), &folder.path().join("out/app"))
        })
    };
    for wrong in ["libs", "", "$ORIGINAL/libs", "/a:/b"] {
        assert!(
            matches!(relink_to(wrong), Err(RelinkError::RunPath { .. })),
            "{wrong}"
        );
    }
    assert!(!folder.path().join("out").exists());
    for (path, in_module) in [
        ("/opt/relic/lib", "/opt/relic/lib"),
        ("$ORIGIN/../lib", "$ORIGIN/../../../lib"),
    ] {
        relink_to(path).unwrap();
        let read = |name: &str| fs::read(folder.path().join("out").join(name)).unwrap();
        assert_eq!(Elf::parse(&read("app")).unwrap().runpaths, [path]);
        let module = read("app0/sce_module/libone.guest.prx");
        assert_eq!(Elf::parse(&module).unwrap().runpaths, [in_module]);
    }
}

/// A SELF container around an ELF file: one record for each program header that has bytes of its own.
fn wrap(elf: &[u8], flags: u64) -> Vec<u8> {
    let word = |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().unwrap());
    let count = usize::from(elf[56]);
    let parts: Vec<(u64, usize, usize)> = (0..count)
        .filter(|index| elf[64 + 56 * index] == 1 && elf[65 + 56 * index] == 0)
        .map(|index| {
            (
                index as u64,
                word(72 + 56 * index) as usize,
                word(96 + 56 * index) as usize,
            )
        })
        .collect();
    // A digest stands in front of each part's bytes.
    let records = 2 * parts.len();
    let mut file = vec![0x4f, 0x15, 0x3d, 0x1d];
    file.resize(0x18, 0);
    file.extend((records as u16).to_le_bytes());
    file.resize(0x20, 0);
    let headers = 64 + 56 * count;
    let mut at = (0x20 * (records + 1) + headers).next_multiple_of(16);
    for (index, _, size) in &parts {
        for (kind, size) in [(flags & !0x800, 16), (flags | 0x800 | index << 20, *size)] {
            for value in [kind, at as u64, size as u64, size as u64] {
                file.extend(value.to_le_bytes());
            }
            at += size;
        }
    }
    file.extend(&elf[..headers]);
    file.resize(file.len().next_multiple_of(16), 0);
    for (_, offset, size) in parts {
        file.extend([0xdd; 16]);
        file.extend(&elf[offset..offset + size]);
    }
    file
}

#[test]
fn a_plain_container_is_unpacked() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    build(&kit, CALLS_ONE, &[ONE], folder.path());
    let read = || {
        relinked(folder.path());
        ["app", "app0/sce_module/libone.guest.prx"]
            .map(|name| fs::read(folder.path().join("out").join(name)).unwrap())
    };
    let expected = read();
    let paths = ["eboot.bin", "sce_module/libone.prx"].map(|name| folder.path().join(name));
    let plain = paths.clone().map(|path| fs::read(path).unwrap());
    for (path, elf) in paths.iter().zip(&plain) {
        fs::write(path, wrap(elf, 0)).unwrap();
    }
    assert!(read() == expected);
    fs::remove_dir_all(folder.path().join("out")).unwrap();

    let eboot = &paths[0];
    let container = wrap(&plain[0], 0);
    for (flags, part) in [(2, "encrypted"), (8, "compressed")] {
        fs::write(eboot, wrap(&plain[0], flags)).unwrap();
        let error = refused(folder.path()).to_string();
        assert!(
            error.contains("SELF container") && error.contains(part),
            "{error}"
        );
    }
    // Each cut is an error, none a panic.
    for length in (0..container.len()).step_by(997) {
        fs::write(eboot, &container[..length]).unwrap();
        refused(folder.path());
    }
    // A part that belongs far away must not fill the memory.
    let mut far = container.clone();
    let headers = 0x20 * (usize::from(container[0x18]) + 1);
    far[headers + 72..headers + 80].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    fs::write(eboot, far).unwrap();
    let error = refused(folder.path()).to_string();
    assert!(error.contains("0x10000000000"), "{error}");
}

/// As many as the largest module of a real title has: each is found under its own name.
#[test]
fn a_module_may_export_forty_thousand_names() {
    const COUNT: usize = 40_000;
    let all = |line: fn(usize) -> String| (0..COUNT).map(line).collect::<String>();
    let exports = all(|number| format!("int many_{number};\n"));
    let source = all(|number| format!("int many_{number} = {number};\n"));
    let main = r#"
        int main(void)
        {
            int handle = sceKernelLoadStartModule("/app0/sce_module/libmany.prx", 0, NULL, 0, NULL, NULL);
            int wrong = 0;
            for (int number = 0; number < 40000; number += 7) {
                char name[32];
                int *found = NULL;
                snprintf(name, sizeof name, "many_%d", number);
                wrong += sceKernelDlsym(handle, name, (void **)&found) != 0 || *found != number;
            }
            printf("%d %d %d\n", wrong, many_1, many_39999);
            return 0;
        }"#;
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let input = build(&kit, main, &[("libmany", &exports, &source)], folder.path());
    let output = folder.path().join("out/app");
    let report = relink(&RelinkOptions {
        runtime_library: Some(runtime_library().unwrap()),
        ..options(&input, &output)
    })
    .unwrap();
    assert!(
        report.modules[0].relink.exports >= COUNT,
        "{}",
        report.modules[0].relink.exports
    );
    let outcome = run(&output, &[]).unwrap();
    assert_eq!(outcome.stdout, "0 1 39999\n", "{outcome:?}");
}

/// However often and from wherever a module is loaded, its initialiser runs once, and nobody goes on before it is done.
#[test]
fn a_module_that_is_loaded_at_once_and_again_starts_once() {
    let main = r#"
        static const char path[] = "/app0/sce_module/libslow.prx";
        static int handles[4], early;
        static void *load(void *argument)
        {
            int *handle = argument;
            int (*state)(void) = NULL;
            *handle = sceKernelLoadStartModule(path, 0, NULL, 0, NULL, NULL);
            if (sceKernelDlsym(*handle, "slow_state", (void **)&state) || state() != 2)
                early++;
            return NULL;
        }
        int main(void)
        {
            ScePthread threads[4];
            for (int i = 0; i < 4; i++)
                scePthreadCreate(&threads[i], NULL, load, &handles[i], "loader");
            for (int i = 0; i < 4; i++)
                scePthreadJoin(threads[i], NULL);
            int same = 1;
            for (int i = 1; i < 4; i++)
                same &= handles[i] == handles[0];
            printf("same %d early %d starts %d itself %d\n", same, early, one_starts, one_itself == handles[0]);
            for (int i = 0; i < 4; i++)
                printf("unload %d stops %d\n", sceKernelStopUnloadModule(handles[0], 0, NULL, 0, NULL, NULL), one_stops);
            printf("gone %d\n", sceKernelStopUnloadModule(handles[0], 0, NULL, 0, NULL, NULL) != 0);
            load(&handles[0]);
            printf("starts %d early %d\n", one_starts, early);
            return 0;
        }"#;
    let slow = r#"
        static volatile int state;
        int slow_state(void) { return state; }
        int module_start(size_t size, const void *arguments)
        {
            (void)size, (void)arguments;
            one_starts++;
            state = 1;
            /* It loads itself, and gets itself as it is. */
            one_itself = sceKernelLoadStartModule("/app0/sce_module/libslow.prx", 0, NULL, 0, NULL, NULL);
            sceKernelStopUnloadModule(one_itself, 0, NULL, 0, NULL, NULL);
            sceKernelUsleep(100000);
            state = 2;
            return 0;
        }
        int module_stop(size_t size, const void *arguments) { (void)size, (void)arguments; one_stops++; return 0; }"#;
    let one = "int one_starts, one_stops, one_itself;";
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let modules = [
        ("libone", "int one_starts;\nint one_stops;\nint one_itself;", one),
        ("libslow", "int slow_state(void);", slow),
    ];
    let input = build(&kit, main, &modules, folder.path());
    let outcome = relinked_and_run(&input, folder.path());
    assert_eq!(
        outcome.stdout,
        "same 1 early 0 starts 1 itself 1\n\
         unload 0 stops 0\nunload 0 stops 0\nunload 0 stops 0\nunload 0 stops 1\n\
         gone 1\nstarts 2 early 0\n",
        "{outcome:?}"
    );
}

/// What the title's own programs ask about modules: which are loaded, where they are, and modules by number.
#[test]
fn programs_ask_what_is_loaded() {
    let main = r#"
        struct segment { uint64_t address; uint32_t size, protection; };
        struct info { uint64_t size; char name[256]; struct segment segments[4]; uint32_t count; char fingerprint[20]; };
        struct more {
            uint64_t size; char name[256]; int32_t handle; uint32_t tls_index; uint64_t tls; uint32_t tls_initial, tls_size,
            tls_offset, tls_alignment; uint64_t start, stop, reserved[2], header, frames; uint32_t header_size, frames_size;
            struct segment segments[4]; uint32_t count, references;
        };
        static _Thread_local volatile int counter = 5;
        static int handles[64];
        static size_t count;
        static void list(const char *when)
        {
            count = 0;
            int code = sceKernelGetModuleList(handles, 64, &count);
            printf("%s: %d, %d %d", when, code, handles[0], count > 2);
            for (size_t i = 0; i < count; i++) {
                struct info info = {.size = sizeof info};
                if (sceKernelGetModuleInfo(handles[i], &info))
                    printf(" unknown");
                else if (handles[i] < 0x2000 || !strcmp(info.name, "libkernel.prx"))
                    printf(" %s", info.name);
            }
            printf("\n");
        }
        static int inside(struct segment *segment, const void *place)
        {
            return segment->address <= (uint64_t)place && (uint64_t)place < segment->address + segment->size;
        }
        int main(void)
        {
            list("start");
            printf("room: %x %x\n", sceKernelGetModuleList(handles, 1, &count), sceKernelGetModuleList(NULL, 1, &count));
            struct info info = {.size = 1};
            printf("size: %x\n", sceKernelGetModuleInfo(0, &info));
            info.size = sizeof info;
            printf("handle: %x %x\n", sceKernelGetModuleInfo(77, &info), sceKernelGetModuleInfo(1, &info));
            printf("program: %d %s %d\n", sceKernelGetModuleInfo(0, &info), info.name, inside(&info.segments[0], main));
            printf("protection: %u %u\n", info.segments[0].protection & 4, info.segments[3].protection);

            struct more more = {.size = 0};
            printf("from address: %d %s", sceKernelGetModuleInfoFromAddr((uint64_t)one, 1, &more), more.name);
            printf(" %d %d", more.handle > 0, inside(&more.segments[0], one));
            uint32_t initial, block = more.tls_offset;
            uint64_t thread;
            memcpy(&initial, (void *)more.tls, 4);
            __asm__("mov %%fs:0, %0" : "=r"(thread));
            printf(" tls %u %u %d", initial, more.tls_size, one_counter() == *(int *)(thread - block));
            printf(" unwind %d start %d\n", inside(&more.segments[1], (void *)more.frames), inside(&more.segments[0], (void *)more.start));
            printf("own tls: %d %d", sceKernelGetModuleInfoFromAddr((uint64_t)main, 2, &more), more.tls_offset > 0);
            printf(" %d\n", *(int *)(thread - more.tls_offset) == counter);
            struct more again = {.size = sizeof again};
            printf("internal: %d %d\n", sceKernelGetModuleInfoInternal(more.handle, &again), !memcmp(&again, &more, sizeof more));
            printf("system: %d %s\n", sceKernelGetModuleInfoFromAddr((uint64_t)sceKernelUsleep, 1, &more), more.name);
            printf("nowhere: %x %x\n", sceKernelGetModuleInfoFromAddr(1, 1, &more), sceKernelGetModuleInfoFromAddr(1, 3, &more));

            printf("job manager: %x\n", sceSysmoduleIsLoaded(0xfe));
            printf("load: %x %x\n", sceSysmoduleLoadModule(0xfe), sceSysmoduleIsLoaded(0xfe));
            list("loaded");
            int handle = sceKernelLoadStartModule("libSceJobManager.prx", 0, NULL, 0, NULL, NULL);
            int (*add)(int) = NULL;
            printf("job: %d", sceKernelDlsym(handle, "job_add", (void **)&add));
            printf(" %d\n", add(1));
            printf("unload: %x %x", sceKernelStopUnloadModule(handle, 0, NULL, 0, NULL, NULL), sceSysmoduleUnloadModule(0xfe));
            printf(" %x %x\n", sceSysmoduleIsLoaded(0xfe), sceSysmoduleUnloadModule(0xfe));
            list("unloaded");
            int returned = 0;
            int arguments[2] = {3, 4};
            printf("arguments: %x", sceSysmoduleLoadModuleInternalWithArg(0xfe, sizeof arguments, arguments, 0, &returned));
            printf(" %d\n", returned);
            printf("internal: %x %x", sceSysmoduleLoadModuleInternal(0xfe), sceSysmoduleIsLoadedInternal(0xfe));
            printf(" %x %x\n", sceSysmoduleUnloadModuleInternal(0xfe), sceSysmoduleIsLoadedInternal(0xfe));
            printf("flags: %x", sceSysmoduleUnloadModuleInternalWithArg(0xfe, sizeof arguments, arguments, 1, &returned));
            printf(" %x\n", sceSysmoduleLoadModuleInternalWithArg(0xfe, sizeof arguments, arguments, 1, &returned));
            printf("with arguments: %x", sceSysmoduleUnloadModuleInternalWithArg(0xfe, sizeof arguments, arguments, 0, &returned));
            printf(" %d %x", returned, sceSysmoduleIsLoadedInternal(0xfe));
            printf(" %x\n", sceSysmoduleUnloadModuleInternalWithArg(0xfe, sizeof arguments, arguments, 0, &returned));
            printf("unknown: %x %x\n", sceSysmoduleUnloadModuleInternal(0x7fff), sceSysmoduleIsLoadedInternal(0x7fff));
            printf("again: %x\n", sceSysmoduleLoadModuleInternal(0xfe));
            printf("system library: %x %x\n", sceSysmoduleLoadModule(0x84), sceSysmoduleIsLoaded(0x84));
            printf("no such number: %x %x\n", sceSysmoduleLoadModule(0), sceSysmoduleLoadModule(0x7fff));
            return 0;
        }"#;
    let job = r#"
        int job_add(int number) { return number + 40; }
        int module_start(size_t size, const void *arguments)
        {
            printf("job manager starts\n");
            return size == 8 ? ((const int *)arguments)[1] * 10 : 1;
        }
        int module_stop(size_t size, const void *arguments)
        {
            printf("job manager stops\n");
            return size == 8 ? ((const int *)arguments)[0] * 11 : 0;
        }"#;
    let imports = "[libkernel]\n\
        int sceKernelGetModuleList(int *handles, size_t room, size_t *count);\n\
        int sceKernelGetModuleInfo(int handle, void *info);\n\
        int sceKernelGetModuleInfoInternal(int handle, void *info);\n\
        int sceKernelGetModuleInfoFromAddr(unsigned long address, int flags, void *info);\n\
        [libSceSysmodule]\n\
        int sceSysmoduleLoadModule(unsigned short id);\n\
        int sceSysmoduleIsLoaded(unsigned short id);\n\
        int sceSysmoduleUnloadModule(unsigned short id);\n\
        int sceSysmoduleLoadModuleInternal(unsigned id);\n\
        int sceSysmoduleIsLoadedInternal(unsigned id);\n\
        int sceSysmoduleUnloadModuleInternal(unsigned id);\n\
        int sceSysmoduleUnloadModuleInternalWithArg(unsigned id, size_t size, const void *arguments, unsigned long flags, int *result);\n\
        int sceSysmoduleLoadModuleInternalWithArg(unsigned id, size_t size, const void *arguments, unsigned long flags, int *result);\n";
    let one = "static _Thread_local int counter = 19; int one(void) { return 1; } int one_counter(void) { return counter; }\n\
               __attribute__((constructor)) static void begin(void) { counter = 20; }";
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("imports.txt", imports),
        ("main.c", main),
        (
            "modules/libone/exports.txt",
            "int one(void);\nint one_counter(void);",
        ),
        ("modules/libone/one.c", one),
        ("modules/libSceJobManager/exports.txt", "int job_add(int number);"),
        ("modules/libSceJobManager/job.c", job),
    ];
    let input = kit.build_text(&files, folder.path()).unwrap();
    let outcome = relinked_and_run(&input, folder.path());
    assert_eq!(
        outcome.stdout,
        "start: 0, 0 1 eboot.bin libone.prx libkernel.prx\n\
         room: 8002000c 8002000e\n\
         size: 80020016\n\
         handle: 80020003 80020003\n\
         program: 0 eboot.bin 1\n\
         protection: 4 3\n\
         from address: 0 libone.prx 1 1 tls 19 4 1 unwind 1 start 1\n\
         own tls: 0 1 1\n\
         internal: 0 1\n\
         system: 0 libkernel.prx\n\
         nowhere: 80020003 80020016\n\
         job manager: 80a90002\n\
         job manager starts\n\
         load: 0 0\n\
         loaded: 0, 0 1 eboot.bin libSceJobManager.prx libone.prx libkernel.prx\n\
         job: 0 41\n\
         job manager stops\n\
         unload: 0 0 80a90002 80a90002\n\
         unloaded: 0, 0 1 eboot.bin libone.prx libkernel.prx\n\
         job manager starts\n\
         arguments: 0 40\n\
         internal: 0 0 0 0\n\
         flags: 80a90000 80a90000\n\
         job manager stops\n\
         with arguments: 0 33 80a90002 80a90002\n\
         unknown: 80a90000 80a90000\n\
         job manager starts\n\
         again: 0\n\
         system library: 0 0\n\
         no such number: 80a90000 80a90000\n\
         job manager stops\n",
        "{outcome:?}"
    );
    assert_eq!(outcome.code, Some(0));
}

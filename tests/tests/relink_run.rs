//! Relinked programs do what the same sources do natively.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use relic_core::program::ImportKind;
use relic_relink::{RelinkOptions, RelinkReport, relink};
use relic_tests::{
    kit::Kit,
    programs::{Outcome, run},
    runtime_library,
};

const GUESTS: [&str; 2] = ["hello", "threads"];
/// Those that need more than the stand-in has: modules, C++.
const MORE_GUESTS: [&str; 2] = ["title", "exceptions"];
const ARGUMENTS: [&str; 2] = ["first", "second one"];

/// A guest, built and relinked against `runtime`.
struct Relinked {
    folder: tempfile::TempDir,
    program: PathBuf,
    report: RelinkReport,
}

fn relinked(kit: &Kit, guest: &Path, runtime: &Path) -> Relinked {
    let folder = tempfile::tempdir().unwrap();
    let input = kit.build_guest(guest, folder.path()).unwrap();
    let program = folder.path().join("program").join(guest.file_name().unwrap());
    let options = RelinkOptions {
        input,
        output: program.clone(),
        runtime_library: Some(runtime.to_owned()),
        ..RelinkOptions::default()
    };
    let report = relink(&options).unwrap();
    Relinked {
        folder,
        program,
        report,
    }
}

fn native(kit: &Kit, guest: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let program = kit.build_native(&kit.guest(guest), folder.path()).unwrap();
    run(&program, &ARGUMENTS).unwrap()
}

fn same_as_native<'g>(kit: &Kit, runtime: &Path, guests: impl IntoIterator<Item = &'g str>) {
    for guest in guests {
        let relinked = relinked(kit, &kit.guest(guest), runtime);
        let (expected, found) = (native(kit, guest), run(&relinked.program, &ARGUMENTS).unwrap());
        assert!(!expected.stdout.is_empty(), "{guest} prints");
        assert_eq!(found.stdout, expected.stdout, "{guest}: {found:?}");
        assert_eq!(found.code, expected.code, "{guest}: {found:?}");
    }
}

#[test]
fn programs_do_what_native_ones_do_with_the_stand_in() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    same_as_native(&kit, &kit.build_stand_in(folder.path(), &[]).unwrap(), GUESTS);
}

#[test]
fn programs_do_what_native_ones_do_with_the_runtime_library() {
    let guests = GUESTS.into_iter().chain(MORE_GUESTS);
    same_as_native(&Kit::new().unwrap(), &runtime_library().unwrap(), guests);
}

/// A guest of one source, relinked against a stand-in without some imports, and run.
fn run_without(source: &str, missing: &[&str]) -> (Relinked, Outcome) {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let guest = folder.path().join("guest");
    fs::create_dir(&guest).unwrap();
    fs::write(
        guest.join("main.c"),
        format!("#include <relic/guest.h>\n{source}"),
    )
    .unwrap();
    let runtime = kit.build_stand_in(folder.path(), missing).unwrap();
    let relinked = relinked(&kit, &guest, &runtime);
    let outcome = run(&relinked.program, &[]).unwrap();
    (relinked, outcome)
}

#[test]
fn a_missing_function_is_listed_and_traps_when_it_is_called() {
    let source = r#"
        static int (*volatile pointer)(const char *) = puts;
        int main(int argc, char **argv)
        {
            (void)argv;
            printf("before\n");
            if (argc > 1)
                free(realloc(NULL, 1));
            return pointer("never printed");
        }"#;
    let (relinked, outcome) = run_without(source, &["puts", "realloc"]);
    assert_eq!(outcome.stdout, "before\n", "{outcome:?}");
    assert_eq!(outcome.code, Some(113), "{outcome:?}");
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let puts = relic_core::Nid::of("puts");
    let realloc = relic_core::Nid::of("realloc");
    assert!(
        lines.contains(&&*format!("missing function libc {puts} puts")),
        "{lines:?}"
    );
    assert!(
        lines.contains(&&*format!("missing function libc {realloc} realloc")),
        "{lines:?}"
    );
    assert_eq!(lines.last().copied(), Some(&*format!("called libc {puts} puts")));
    let names: Vec<_> = relinked
        .report
        .imports
        .iter()
        .filter_map(|import| import.name)
        .collect();
    assert!(names.contains(&"puts") && names.contains(&"realloc"), "{names:?}");
    drop(relinked.folder);
}

#[test]
fn missing_data_is_named_before_the_program_starts() {
    let source = "int main(void) { return printf(\"%s\\n\", __progname); }";
    let (relinked, outcome) = run_without(source, &["__progname"]);
    assert_eq!((&*outcome.stdout, outcome.code), ("", Some(112)), "{outcome:?}");
    assert!(
        outcome
            .stderr
            .contains("missing data libkernel djxxOmW6-aw __progname"),
        "{outcome:?}"
    );
    let progname = relinked
        .report
        .imports
        .iter()
        .find(|import| import.name == Some("__progname"))
        .unwrap();
    assert_eq!(
        (progname.kind, &*progname.library),
        (ImportKind::Object, "libkernel")
    );
}

#[test]
fn an_absent_weak_import_is_null() {
    let source = r#"
        #pragma weak puts
        int main(void)
        {
            printf("puts is %s\n", puts ? "there" : "absent");
            return 4;
        }"#;
    for (missing, word) in [(&["puts"][..], "absent"), (&[], "there")] {
        let (relinked, outcome) = run_without(source, missing);
        assert_eq!(
            (&*outcome.stdout, outcome.code),
            (&*format!("puts is {word}\n"), Some(4)),
            "{outcome:?}"
        );
        let puts = relinked
            .report
            .imports
            .iter()
            .find(|import| import.name == Some("puts"))
            .unwrap();
        assert_eq!(puts.kind, ImportKind::Weak);
    }
}

/// A program's own definition under a system function's NID must stay its own affair.
#[test]
fn an_export_does_not_take_the_place_of_a_system_function() {
    let nid = relic_core::Nid::of("strlen");
    let source = format!(
        r#"
        __declspec(dllexport) size_t own(const char *text) __asm__("{nid}#A#A");
        size_t own(const char *text) {{ return text[0] == 'a' ? 1000 : 2000; }}
        size_t (*volatile pointer)(const char *) = own;
        int main(void)
        {{
            printf("%zu %zu\n", strlen("abc"), pointer("abc"));
            return 0;
        }}"#
    );
    let (relinked, outcome) = run_without(&source, &[]);
    assert_eq!(
        (&*outcome.stdout, outcome.code),
        ("3 1000\n", Some(0)),
        "{outcome:?}"
    );
    assert_eq!(relinked.report.exports, 1);
    let output = fs::read(&relinked.program).unwrap();
    let elf = goblin::elf::Elf::parse(&output).unwrap();
    let defined: Vec<&str> = elf
        .dynsyms
        .iter()
        .filter(|symbol| symbol.st_shndx != 0)
        .map(|symbol| elf.dynstrtab.get_at(symbol.st_name).unwrap())
        .collect();
    assert_eq!(defined, [format!("{nid}.guest")]);
}

//! System calls are found where control flow reaches them, and nowhere else; unused imports are left out.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use relic_relink::{
    FilterLevel, RelinkError, RelinkOptions, RelinkReport, SystemCallPolicy,
    code::Code,
    input::{Object, ObjectKind},
    relink,
    report::Note,
};
use relic_tests::{kit::Kit, programs::run, runtime_library};

/// Builds a guest and relinks it to `folder/out/app`.
fn relinked(
    folder: &Path,
    files: &[(&str, &str)],
    system_calls: SystemCallPolicy,
    filter: FilterLevel,
) -> Result<RelinkReport, RelinkError> {
    let input = Kit::new().unwrap().build_text(files, folder).unwrap();
    relink(&RelinkOptions {
        input,
        output: folder.join("out/app"),
        runtime_library: Some(runtime_library().unwrap()),
        system_calls,
        filter,
        ..RelinkOptions::default()
    })
}

/// The names of the system calls in a program of one source.
fn calls_in(name: &str, source: &str) -> Vec<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let report = relinked(
        folder.path(),
        &[(name, source)],
        SystemCallPolicy::Trap,
        FilterLevel::Keep,
    )
    .unwrap();
    report.rewrites.iter().map(|rewrite| rewrite.was).collect()
}

const ALL_FOUR: &str = r#"
    int main(int argc, char **argv)
    {
        (void)argv;
        if (argc == 2)
            __asm__ volatile("syscall" ::: "rcx", "r11", "memory");
        if (argc == 3)
            __asm__ volatile("int $0x80" ::: "memory");
        if (argc == 4)
            __asm__ volatile("sysenter" ::: "memory");
        if (argc == 5)
            __asm__ volatile("sysretq" ::: "memory");
        printf("none\n");
        return 0;
    }"#;

#[test]
fn system_calls_are_refused_or_trapped() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("main.c", ALL_FOUR)];
    let error = relinked(folder.path(), &files, SystemCallPolicy::Refuse, FilterLevel::Keep).unwrap_err();
    let text = error.to_string();
    for part in [
        "4 system calls",
        "syscall at 0x",
        "int 0x80 at 0x",
        "sysenter at 0x",
        "sysret at 0x",
        "--syscalls=trap",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!folder.path().join("out").exists());

    let report = relinked(folder.path(), &files, SystemCallPolicy::Trap, FilterLevel::Keep).unwrap();
    assert_eq!(report.rewrites.len(), 4);
    assert!(
        report.notes.contains(&Note::Trapped { count: 4 }),
        "{:?}",
        report.notes
    );
    let program = folder.path().join("out/app");
    assert_eq!(run(&program, &[]).unwrap().stdout, "none\n");
    for arguments in [&["1"][..], &["1", "2"], &["1", "2", "3"], &["1", "2", "3", "4"]] {
        let outcome = run(&program, arguments).unwrap();
        assert!(outcome.stderr.contains("SIGILL"), "{outcome:?}");
    }

    let report = relinked(folder.path(), &files, SystemCallPolicy::Keep, FilterLevel::Keep).unwrap();
    assert!(report.rewrites.is_empty());
}

/// The same bytes in immediates, displacements, between functions and in the middle of one are none.
#[test]
fn bytes_that_only_look_like_system_calls_are_none() {
    let source = r#"
        volatile unsigned sink;
        __attribute__((noinline)) static void immediates(void)
        {
            sink = 0x0000050f;
            sink = 0x80cd0734;
            sink ^= 0x340f070f;
            __asm__ volatile("movabs $0x50f050f050f050f, %%rax" ::: "rax");
        }
        /* Data that a jump passes over. */
        __attribute__((noinline)) static int island(void)
        {
            int value;
            __asm__ volatile("jmp 1f\n0: .byte 0x0f, 0x05, 0xcd, 0x80, 0x0f, 0x34\n1: movzbl 0b(%%rip), %0" : "=r"(value));
            return value;
        }
        /* Data between functions. Its address is taken; 0x06 is no instruction. */
        __asm__(".text\n.globl table\n.hidden table\ntable: .byte 0x0f, 0x05, 0x0f, 0x05, 0xcd, 0x80, 0x06, 0x0f, 0x07\n");
        extern const unsigned char table[];
        int main(void)
        {
            immediates();
            return island() + table[0] - 30;
        }"#;
    let folder = tempfile::tempdir().unwrap();
    let report = relinked(
        folder.path(),
        &[("main.c", source)],
        SystemCallPolicy::Refuse,
        FilterLevel::Keep,
    )
    .unwrap();
    assert!(report.rewrites.is_empty());
    let unreached = report.notes.iter().find_map(|note| match note {
        Note::UnreachedPairs { count } => Some(*count),
        _ => None,
    });
    assert!(unreached.is_some_and(|count| count >= 10), "{:?}", report.notes);
    assert_eq!(run(&folder.path().join("out/app"), &[]).unwrap().code, Some(0));
}

/// Behind a jump table, in a handler, and in code without unwind information.
#[test]
fn system_calls_are_found_wherever_control_flow_leads() {
    let by_table = r#"
        __attribute__((noinline)) static int choose(int number)
        {
            switch (number) {
            case 0: return printf("a\n");
            case 1: return puts("b");
            case 2: return (int)strlen("c") * number;
            case 3: __asm__ volatile("syscall" ::: "rcx", "r11", "memory"); return 7;
            case 4: return number * 3 - 2;
            case 5: free(malloc(3)); return 0;
            case 6: return sceKernelUsleep(1);
            default: return -1;
            }
        }
        int main(int argc, char **argv) { (void)argv; return choose(argc); }"#;
    assert_eq!(calls_in("main.c", by_table), ["syscall"]);

    let in_handler = r#"
        __attribute__((noinline)) static void fail(int number) { if (number > 1) throw number; }
        int main(int argc, char **)
        {
            try {
                fail(argc);
            } catch (int number) {
                __asm__ volatile("syscall" ::: "rcx", "r11", "memory");
                return number;
            }
            return 0;
        }"#;
    assert_eq!(calls_in("main.cc", in_handler), ["syscall"]);

    // Labels whose addresses the code takes, and a relocated table of them.
    let labels = r#"
        int main(int argc, char **argv)
        {
            (void)argv;
            void *volatile to = &&one;
            if (argc > 2)
                to = &&two;
            goto *to;
        one:
            return 1;
        two:
            __asm__ volatile("syscall" ::: "rcx", "r11", "memory");
            return 2;
        }"#;
    assert_eq!(calls_in("main.c", labels), ["syscall"]);
    let table_of_labels = r#"
        int main(int argc, char **argv)
        {
            (void)argv;
            static void *const volatile labels[] = {&&one, &&two, &&three};
            goto *labels[argc];
        one:
            return 1;
        two:
            __asm__ volatile("int $0x80" ::: "memory");
        three:
            __asm__ volatile("syscall" ::: "rcx", "r11", "memory");
            return 2;
        }"#;
    assert_eq!(calls_in("main.c", table_of_labels), ["int 0x80", "syscall"]);

    // A table among code, one of whose distances has the bytes of a system call.
    let table_in_code = r#"
        __asm__(".text\n.globl tabled\n.hidden tabled\n.type tabled,@function\ntabled:\n.cfi_startproc\n"
                "cmpl $2, %edi\nja 2f\nmovl %edi, %edi\nleaq 9f(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\n"
                "addq %rdx, %rax\njmp *%rax\n9: .long 1f-9b, 2f-9b, 3f-9b\n1: xorl %eax, %eax\nret\n"
                ".skip 0x050f - 15, 0xcc\n2: movl $0x050f, %eax\nret\n3: cmpl $0x050f, %eax\nsyscall\nret\n"
                ".cfi_endproc\n.size tabled, .-tabled\n");
        extern int tabled(int);
        int main(int argc, char **argv) { (void)argv; return tabled(argc) & 0xff; }"#;
    let folder = tempfile::tempdir().unwrap();
    let report = relinked(
        folder.path(),
        &[("main.c", table_in_code)],
        SystemCallPolicy::Trap,
        FilterLevel::Keep,
    )
    .unwrap();
    assert_eq!(report.rewrites.len(), 1, "{:?}", report.rewrites);
    assert!(
        report.notes.contains(&Note::UnreachedPairs { count: 3 }),
        "{:?}",
        report.notes
    );
    let program = folder.path().join("out/app");
    assert_eq!(run(&program, &[]).unwrap().code, Some(0x0f));
    let outcome = run(&program, &["1"]).unwrap();
    assert!(outcome.stderr.contains("SIGILL"), "{outcome:?}");

    // Called directly, and by a pointer in data.
    let without_unwind = r#"
        __asm__(".text\n.globl bare\n.hidden bare\n.globl pointed\n.hidden pointed\n"
                "bare: mov %rcx, %r10\nsyscall\nret\n.balign 16, 0xcc\npointed: int $0x80\nret\n");
        extern void bare(void), pointed(void);
        void (*volatile pointer)(void) = pointed;
        int main(int argc, char **argv)
        {
            (void)argv;
            if (argc > 1)
                bare();
            if (argc > 2)
                pointer();
            return 0;
        }"#;
    assert_eq!(calls_in("main.c", without_unwind), ["syscall", "int 0x80"]);
}

/// The file without its unwind table: nobody says any more where functions begin and end.
fn without_unwind_table(input: &Path) {
    let mut bytes = fs::read(input).unwrap();
    let count = goblin::elf::Elf::parse(&bytes).unwrap().program_headers.len();
    // e_phoff of every kit's file, and the size of a record.
    let mut kinds = (0..count).map(|index| 64 + 56 * index);
    let frames = 0x6474_e550_u32.to_le_bytes();
    let at = kinds.find(|at| bytes[*at..at + 4] == frames).unwrap();
    bytes[at..at + 4].fill(0);
    fs::write(input, bytes).unwrap();
}

/// A program of one source, built with its unwind table, and the same without it.
fn with_and_without_unwind_table(folder: &Path, source: &str) -> [PathBuf; 2] {
    let files = [("main.c", source)];
    let with = Kit::new().unwrap().build_text(&files, folder).unwrap();
    let without = folder.join("without.bin");
    fs::copy(&with, &without).unwrap();
    without_unwind_table(&without);
    [with, without]
}

/// Relinks a built program to `folder/out/app`.
fn relinked_file(
    input: &Path,
    folder: &Path,
    system_calls: SystemCallPolicy,
) -> Result<RelinkReport, RelinkError> {
    relink(&RelinkOptions {
        input: input.to_owned(),
        output: folder.join("out/app"),
        runtime_library: Some(runtime_library().unwrap()),
        system_calls,
        ..RelinkOptions::default()
    })
}

fn uncertain(report: &RelinkReport) -> usize {
    let count = |note: &Note| match note {
        Note::UncertainCalls { count, .. } => Some(*count),
        _ => None,
    };
    report.notes.iter().find_map(count).unwrap_or(0)
}

/// A jump table of three entries; what stands behind it would lead to the immediate of a function that nobody calls.
const TABLES: &str = r#"
    __asm__(".text\n.balign 16, 0xcc\n.globl bounded\n.hidden bounded\n.type bounded,@function\nbounded:\n.cfi_startproc\n"
            "cmpl $2, %edi\nja 4f\nmovl %edi, %edi\nleaq 9f(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\naddq %rdx, %rax\n"
            "jmp *%rax\n1: movl $1, %eax\nret\n2: movl $2, %eax\nret\n3: movl $3, %eax\nret\n4: xorl %eax, %eax\nret\n"
            ".cfi_endproc\n.size bounded, .-bounded\n.balign 16, 0xcc\n5: xorl $0x50f00, %ebx\nret\nret\n"
            ".section .rodata\n.balign 4\n9: .long 1b-9b, 2b-9b, 3b-9b, 5b+3-9b, 5b+3-9b\n.text\n");
    extern int bounded(int);
"#;

/// Many functions with jump tables one behind the other, so that what stands behind one's end leads into the middle of
/// others; the bytes of system calls in immediates, and in data between functions. A few things are never called.
fn varied() -> String {
    let mut source = String::from("typedef unsigned long word;\nvolatile word sink;\n");
    source.push_str(TABLES);
    for index in 0..120_u64 {
        let constant = [0x050f_u64, 0x80cd_050f, 0x0734_0f12, 0x0005_0f00][(index % 4) as usize];
        source.push_str(&format!(
            "__asm__(\".text\\n.byte 0x0f, 0x05, 0xc3, 0xcd, 0x80, 0xc3\\n\");\n\
             __attribute__((noinline, used)) word f{index}(word a, word b)\n{{\n    word x = (a * {}ul + b) ^ {constant:#x}ul;\n    switch (x % {}) {{\n",
            index.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            5 + index % 7,
        ));
        for case in 0..4 + index % 7 {
            source.push_str(&match (index + case) % 4 {
                0 => format!("    case {case}: x += b >> {}; break;\n", 1 + case),
                1 if index > 0 => format!("    case {case}: x ^= f{}(b, x & 255); break;\n", index / 2),
                2 => format!(
                    "    case {case}: sink = {constant:#x}ul * x; x -= a % {}; break;\n",
                    3 + index
                ),
                _ => format!(
                    "    case {case}: if (x > b) x = b - {}; else x += a; break;\n",
                    index * 77
                ),
            });
        }
        source.push_str("    }\n    return x ^ (a << 3);\n}\n");
    }
    source.push_str("word (*const volatile some[])(word, word) = {");
    for index in (0..120).step_by(7) {
        source.push_str(&format!("f{index}, "));
    }
    source.push_str(
        "};\nint main(int argc, char **argv) { (void)argv; printf(\"%lx\\n\", some[argc](1, 2) + bounded(argc)); CALL return 0; }\n",
    );
    source
}

/// With and without an unwind table, under both policies: nothing is taken for a system call that is none, nothing is
/// written over, and the program does the same.
#[test]
fn without_an_unwind_table_bytes_in_immediates_and_data_are_no_system_calls() {
    let source = varied().replace("CALL", "");
    let folder = tempfile::tempdir().unwrap();
    let mut outputs = Vec::new();
    for input in with_and_without_unwind_table(folder.path(), &source) {
        for policy in [SystemCallPolicy::Refuse, SystemCallPolicy::Trap] {
            let report = relinked_file(&input, folder.path(), policy).unwrap();
            assert!(report.rewrites.is_empty(), "{input:?}: {:?}", report.rewrites);
            assert_eq!(uncertain(&report), 0, "{input:?}: {:?}", report.notes);
            let pairs = report.notes.iter().find_map(|note| match note {
                Note::UnreachedPairs { count } => Some(*count),
                _ => None,
            });
            assert!(pairs.unwrap() >= 400, "{input:?}: {pairs:?}");
            outputs.push(run(&folder.path().join("out/app"), &[]).unwrap().stdout);
        }
    }
    assert!(!outputs[0].is_empty());
    assert!(outputs.iter().all(|output| *output == outputs[0]), "{outputs:?}");
}

/// The same program with real ones: called, behind a jump table, behind a call, held by a pointer.
#[test]
fn without_an_unwind_table_system_calls_are_found() {
    let real = r#"
        __asm__(".text\n.balign 16, 0xcc\nheld: int $0x80\nret\n.balign 16, 0xcc\n"
                "called: mov %rcx, %r10\nsyscall\nret\n"
                ".globl held\n.hidden held\n.globl called\n.hidden called\n");
        extern void held(void), called(void);
        void (*const volatile pointer)(void) = held;
        __attribute__((noinline)) static int chosen(int number)
        {
            switch (number) {
            case 0: return printf("a\n");
            case 1: return puts("b");
            case 2: return (int)strlen("c") * number;
            case 3: __asm__ volatile("sysenter" ::: "memory"); return 7;
            case 4: return number * 3 - 2;
            case 5: free(malloc(3)); return 0;
            default: return -1;
            }
        }
        __attribute__((noinline)) static void behind(void) { puts("behind"); __asm__ volatile("sysretq" ::: "memory"); }
        int main("#;
    let source = varied()
        .replace("int main(", real)
        .replace("CALL", "if (argc > 1) called(); if (argc > 2) behind(); if (argc > 3) pointer(); if (argc > 4) return chosen(*(volatile int *)&argc);");
    let folder = tempfile::tempdir().unwrap();
    for input in with_and_without_unwind_table(folder.path(), &source) {
        let report = relinked_file(&input, folder.path(), SystemCallPolicy::Trap).unwrap();
        let mut found: Vec<_> = report.rewrites.iter().map(|rewrite| rewrite.was).collect();
        found.sort_unstable();
        assert_eq!(found, ["int 0x80", "syscall", "sysenter", "sysret"], "{input:?}");
        assert_eq!(uncertain(&report), 0, "{input:?}: {:?}", report.notes);
        let error = relinked_file(&input, folder.path(), SystemCallPolicy::Refuse).unwrap_err();
        assert!(error.to_string().contains("4 system calls"), "{error}");
    }
}

/// What only a guess leads to is named, and stays as it is under every policy.
#[test]
fn guesses_are_named_and_never_written_over() {
    // A pointer into the middle of an instruction that is called; a pointer to what a noreturn call leaves; and a jump
    // table whose length nothing bounds.
    let source = r#"
        __asm__(".text\n.globl one\n.hidden one\n.globl other\n.hidden other\n.globl unbounded\n.hidden unbounded\n"
                "one: .byte 0xb8\nother: syscall\nret\nnop\nret\n"
                ".balign 16, 0xcc\nunbounded: leaq 9f(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\n"
                "addq %rdx, %rax\njmp *%rax\n.balign 16, 0xcc\n1: movl $7, %eax\nret\n.balign 16, 0xcc\n"
                "2: int $0x80\nret\n.section .rodata\n.balign 4\n9: .long 1b-9b, 2b-9b, 1f-9b\n1: .text\n");
        extern int one(void), other(void), unbounded(long);
        int (*const volatile pointer)(void) = other;
        int main(int argc, char **argv)
        {
            (void)argv;
            if (argc == 3)
                return pointer();
            return unbounded(argc - 1) + one() == 7 + (int)0x90c3050f;
        }"#;
    for policy in [SystemCallPolicy::Refuse, SystemCallPolicy::Trap] {
        let folder = tempfile::tempdir().unwrap();
        let report = relinked(folder.path(), &[("main.c", source)], policy, FilterLevel::Keep).unwrap();
        assert!(report.rewrites.is_empty(), "{:?}", report.rewrites);
        let note = report
            .notes
            .iter()
            .find(|note| matches!(note, Note::UncertainCalls { count: 2, .. }))
            .unwrap_or_else(|| panic!("{:?}", report.notes))
            .to_string();
        for part in [
            "may be system calls",
            "syscall at 0x",
            "int 0x80 at 0x",
            "stay as they are",
            "0f 0b",
        ] {
            assert!(note.contains(part), "{note}");
        }
        assert_eq!(run(&folder.path().join("out/app"), &[]).unwrap().code, Some(1));
    }
}

/// Where the unwind table's records of functions are in a file.
fn records(bytes: &[u8]) -> Vec<usize> {
    let headers = goblin::elf::Elf::parse(bytes).unwrap().program_headers;
    let table = headers
        .iter()
        .find(|header| header.p_type == 0x6474_e550)
        .unwrap();
    let table = table.p_offset as usize;
    let number = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let count = number(table + 8) as usize;
    assert!(count > 4);
    // The records are in the same segment.
    (0..count)
        .map(|index| table.strict_add_signed(number(table + 16 + 8 * index) as isize))
        .collect()
}

/// Records of functions that claim everything behind them: each is taken to end where the next begins.
#[test]
fn functions_never_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let input = Kit::new()
        .unwrap()
        .build_text(&[("main.c", ALL_FOUR)], folder.path())
        .unwrap();
    let mut bytes = fs::read(&input).unwrap();
    let records = records(&bytes);
    let count = records.len();
    for record in records {
        // Behind its length, its parent and its start stands its size.
        bytes[record + 12..record + 16].copy_from_slice(&0x7fff_0000_u32.to_le_bytes());
    }
    let object = Object::read(&bytes, ObjectKind::Program).unwrap();
    let functions = Code::of(&object).functions.all();
    assert_eq!(functions.len(), count);
    for pair in functions.windows(2) {
        assert!(pair[0].range.end() <= pair[1].range.start, "{pair:?}");
    }
    fs::write(&input, bytes).unwrap();
    let report = relink(&RelinkOptions {
        input,
        output: folder.path().join("out/app"),
        system_calls: SystemCallPolicy::Trap,
        ..RelinkOptions::default()
    })
    .unwrap();
    assert_eq!(report.rewrites.len(), 4);
}

/// Thousands of tables, each of which leads through the same long code to what is no instruction.
#[test]
fn code_without_an_end_to_follow_is_refused() {
    let tangled = r#"
        __asm__(".text\n.globl tangle\n.hidden tangle\n.type tangle,@function\ntangle:\n.cfi_startproc\n.set i, 0\n"
                ".rept 4000\nleaq tables+i(%rip), %rax\n.set i, i + 4\n.endr\njmp *%rax\n"
                "body:\n.rept 20000\nnop\n.endr\nsyscall\n.byte 0x06\n.cfi_endproc\n.size tangle, .-tangle\n"
                ".section .rodata\ntables:\n.rept 4000\n.long body - .\n.endr\n.text\n");
        extern void tangle(void);
        int main(int argc, char **argv) { (void)argv; if (argc > 9) tangle(); return 0; }"#;
    let folder = tempfile::tempdir().unwrap();
    let files = [("main.c", tangled)];
    let error = relinked(folder.path(), &files, SystemCallPolicy::Trap, FilterLevel::Keep).unwrap_err();
    assert!(matches!(error, RelinkError::Tangled { .. }), "{error}");
    assert!(!folder.path().join("out").exists());
    assert!(relinked(folder.path(), &files, SystemCallPolicy::Keep, FilterLevel::Keep).is_ok());
}

/// A program whose `main` can reach `tangle`, which the assembly text makes.
fn tangled(assembly: &str) -> String {
    let lines: Vec<String> = assembly.lines().map(|line| format!("\"{line}\\n\"")).collect();
    format!(
        "__asm__(\".text\\n.globl tangle\\n.hidden tangle\\n.type tangle,@function\\n\"\n{}\n\".text\\n\");\n\
         extern void tangle(void);\n\
         int main(int argc, char **argv) {{ (void)argv; if (argc > 9) tangle(); return 0; }}",
        lines.join("\n")
    )
}

/// What costs little in the file and much to follow, without unwind information: tables over each other; and addresses in the
/// middle of instructions, each of which leads through the same long code to what is no instruction.
#[test]
fn code_without_unwind_information_takes_bounded_work() {
    let tables = "tangle:
        .set i, 0
        .rept 3000
        cmpl $0xfffe, %edi
        ja 1f
        leaq tables+i(%rip), %rax
        movslq (%rax,%rdi,4), %rcx
        addq %rax, %rcx
        jmp *%rcx
        1:
        .set i, i + 4
        .endr
        ret
        body: .rept 13000
        nop
        .endr
        syscall
        ret
        .section .rodata
        tables: .rept 68600
        .long body - tables
        .endr";
    let middles = "tangle: .rept 20000
        movl $0xb8b8b8b8, %eax
        .endr
        ret
        .byte 6
        syscall
        .data
        .set i, 1
        .rept 4000
        .quad tangle + i
        .set i, i + 5
        .endr";
    for assembly in [tables, middles] {
        let folder = tempfile::tempdir().unwrap();
        let source = tangled(assembly);
        let error = relinked(
            folder.path(),
            &[("main.c", &source)],
            SystemCallPolicy::Trap,
            FilterLevel::Keep,
        )
        .unwrap_err();
        assert!(matches!(error, RelinkError::Tangled { .. }), "{error}");
    }
}

/// Addresses in the middle of instructions that all lead through the same code to a sound end are followed once.
#[test]
fn what_is_disputed_is_followed_once() {
    let source = tangled(
        "tangle: .rept 20000
        movl $0xb8b8b8b8, %eax
        .endr
        .byte 0xb8, 0x0f, 0x05, 0xc3, 0xc3
        ret
        .data
        .set i, 4
        .rept 4000
        .quad tangle + i
        .set i, i + 5
        .endr",
    );
    let folder = tempfile::tempdir().unwrap();
    let files = [("main.c", &*source)];
    let report = relinked(folder.path(), &files, SystemCallPolicy::Trap, FilterLevel::Keep).unwrap();
    assert!(report.rewrites.is_empty(), "{:?}", report.rewrites);
}

/// Many functions of a few bytes, each with a table that is large, though not too large for one.
#[test]
fn many_little_functions_with_large_tables_take_bounded_work() {
    let source = tangled(
        ".set i, 0
        .rept 100
        .balign 32, 0xcc
        tangled\\\\@:
        .cfi_startproc
        leaq tables+i(%rip), %rax
        jmp *%rax
        ret
        syscall
        .cfi_endproc
        .set i, i + 32
        .endr
        .balign 32, 0xcc
        tangle: ret
        .section .rodata
        .balign 32
        tables: .rept 65000
        .long first + 9 - tables
        .endr",
    )
    .replace("tangled\\\\@:", "")
    .replacen(".rept 100", "first: .rept 100", 1);
    let folder = tempfile::tempdir().unwrap();
    let files = [("main.c", &*source)];
    let error = relinked(folder.path(), &files, SystemCallPolicy::Trap, FilterLevel::Keep).unwrap_err();
    assert!(matches!(error, RelinkError::Tangled { .. }), "{error}");
}

/// Code without unwind information between functions with it, each piece led to by a neighbour alone, by short branches and
/// by long ones.
#[test]
fn system_calls_behind_many_pieces_of_code_without_unwind_information_are_found() {
    for space in [0, 0x100] {
        let function = |body: &str| {
            format!(".balign 16, 0xcc\n.cfi_startproc\n{body}\n.cfi_endproc\n.balign 16, 0xcc\n")
        };
        let filled = function(&format!(".rept {space}\nnop\n.endr\nret"));
        let mut assembly = String::from("piece0: syscall\nret\n");
        for piece in 1..12 {
            let next = piece - 1;
            assembly.push_str(&format!("{filled}piece{piece}: jmp piece{next}\n"));
        }
        assembly.push_str(&filled);
        assembly.push_str(&function("tangle: jmp piece11"));
        let folder = tempfile::tempdir().unwrap();
        let source = tangled(&assembly);
        let files = [("main.c", &*source)];
        let report = relinked(folder.path(), &files, SystemCallPolicy::Trap, FilterLevel::Keep).unwrap();
        assert_eq!(
            report.rewrites.len(),
            1,
            "{space}: {:?} {:?}",
            report.rewrites,
            report.notes
        );
    }
}

/// Records that say nothing of their functions: each is taken to end where it begins, so that the code around them is looked
/// at once.
#[test]
fn code_around_broken_records_is_in_one_gap_each() {
    let folder = tempfile::tempdir().unwrap();
    let input = Kit::new()
        .unwrap()
        .build_text(&[("main.c", ALL_FOUR)], folder.path())
        .unwrap();
    let mut bytes = fs::read(&input).unwrap();
    let records = records(&bytes);
    for record in &records {
        bytes[record + 8] ^= 1;
    }
    let object = Object::read(&bytes, ObjectKind::Program).unwrap();
    let code = Code::of(&object);
    assert!(code.functions.all().is_empty());
    for segment in &code.segments {
        let gaps = code.functions.gaps(segment.range());
        assert!(gaps.len() >= records.len(), "{gaps:?}");
        for pair in gaps.windows(2) {
            assert!(pair[0].end() == pair[1].start, "{pair:?}");
        }
        for gap in &gaps {
            assert_eq!(code.functions.gap_around(gap.start, segment.range()), *gap);
        }
    }
}

/// The notes on the code segment of a program.
fn code_access(source: &str, system_calls: SystemCallPolicy) -> Note {
    let folder = tempfile::tempdir().unwrap();
    let files = [("main.c", source)];
    let report = relinked(folder.path(), &files, system_calls, FilterLevel::Keep).unwrap();
    let outcome = run(&folder.path().join("out/app"), &[]).unwrap();
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    let code = report
        .segments
        .iter()
        .find(|segment| segment.access.executable())
        .unwrap();
    let note = report.notes.into_iter().find(|note| {
        matches!(note, Note::MadeReadable { range, .. } | Note::KeptUnreadable { range, .. } if *range == code.range)
    });
    let note = note.unwrap();
    assert_eq!(
        code.access == code.access.readable(),
        matches!(note, Note::MadeReadable { .. })
    );
    note
}

#[test]
fn code_stays_unreadable_where_nothing_reads_it() {
    let plain = r#"
        __attribute__((noinline)) static int choose(int number)
        {
            switch (number) {
            case 0: return printf("a\n");
            case 1: return 5;
            case 2: return (int)strlen("c") * number;
            case 4: return number * 3 - 2;
            case 5: free(malloc(3)); return 0;
            case 6: return sceKernelUsleep(1);
            default: return -1;
            }
        }
        int (*volatile pointer)(int) = choose;
        int main(int argc, char **argv) { (void)argv; int (*volatile local)(int) = choose; return argc > 9 ? local(argc) : pointer(argc); }"#;
    assert!(matches!(
        code_access(plain, SystemCallPolicy::Refuse),
        Note::KeptUnreadable { .. }
    ));
    let unknown = code_access(plain, SystemCallPolicy::Keep);
    assert!(unknown.to_string().contains("nobody looked"), "{unknown}");

    let constant = |instruction: &str| {
        format!(
            "__asm__(\".text\\n.type island,@function\\nisland:\\n.cfi_startproc\\n{instruction}\\nmovl $5, %eax\\nret\\n\"\n\
             \"nop\\n9: .long 5, 9b - 9b + 5\\n.cfi_endproc\\n.size island, .-island\\n.globl island\\n.hidden island\\n\");\n\
             extern int island(void);\nint main(void) {{ return island(); }}"
        )
    };
    for instruction in [
        "movl 9f(%rip), %ecx",
        "cmpl $0x50f, 9f(%rip)",
        "cmpb $1, 9f+7(%rip)",
        "movups 9f-8(%rip), %xmm0",
        "leaq 9f(%rip), %rcx",
    ] {
        let note = code_access(&constant(instruction), SystemCallPolicy::Refuse);
        let text = note.to_string();
        assert!(
            text.contains("made readable: the instruction at 0x") && text.contains("refers to 0x"),
            "{instruction}: {text}"
        );
    }
    let held = constant("nop").replace(
        "extern int",
        "__asm__(\".data\\n.quad island+1\\n.text\\n\");\nextern int",
    );
    let text = code_access(&held, SystemCallPolicy::Refuse).to_string();
    assert!(text.contains("data holds 0x"), "{text}");
}

const DATA_IMPORTS: &str = r#"
    /* A slot that data alone knows by distance, which is no way to use it. */
    __asm__(".section .rodata\n.long \"SLOT\"@GOTPCREL\n.text\n");
    int main(void)
    {
        printf("%s\n", __progname);
        return 0;
    }"#;

#[test]
fn data_imports_without_a_reference_are_left_out() {
    let nid = relic_core::Nid::of("no_such_data");
    let source = DATA_IMPORTS.replace("SLOT", &format!("{nid}#B#C"));
    let files = [
        ("imports.txt", "[libkernel]\nint no_such_data;\n"),
        ("main.c", &*source),
    ];
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("out/app");
    let kept = relinked(folder.path(), &files, SystemCallPolicy::Refuse, FilterLevel::Keep).unwrap();
    assert!(kept.unused.is_empty());
    let outcome = run(&program, &[]).unwrap();
    assert_eq!(outcome.code, Some(2), "missing data: {outcome:?}");

    let filtered = relinked(folder.path(), &files, SystemCallPolicy::Refuse, FilterLevel::Data).unwrap();
    let unused: Vec<_> = filtered.unused.iter().map(|import| import.nid).collect();
    assert_eq!(unused, [nid]);
    assert_eq!(filtered.imports.len() + 1, kept.imports.len());
    assert_eq!(filtered.relocations + 1, kept.relocations);
    let outcome = run(&program, &[]).unwrap();
    assert_eq!(
        (&*outcome.stdout, outcome.code),
        ("app\n", Some(0)),
        "{outcome:?}"
    );
}

/// A level-1 filter must see a reference whatever instruction makes it.
#[test]
fn data_imports_with_any_kind_of_reference_stay() {
    let nid = relic_core::Nid::of("no_such_data");
    for instruction in [
        "movq \"S\"@GOTPCREL(%%rip), %%rax",
        "cmpq $1, \"S\"@GOTPCREL(%%rip)",
        "cmpq $0x12345678, \"S\"@GOTPCREL(%%rip)",
        "testb $1, \"S\"@GOTPCREL(%%rip)",
        "imulq $0x1234, \"S\"@GOTPCREL(%%rip), %%rax",
        "cmpw $0x1234, \"S\"@GOTPCREL(%%rip)",
        "leaq \"S\"@GOTPCREL(%%rip), %%rax",
        "pushq \"S\"@GOTPCREL(%%rip)\npopq %%rax",
        // Where no known control flow leads.
        "leaq 1f(%%rip), %%rcx\npushq %%rcx\nret\n1: movq \"S\"@GOTPCREL(%%rip), %%rax",
    ] {
        let instruction = instruction
            .replace('S', &format!("{nid}#B#C"))
            .replace('\n', "\\n")
            .replace('"', "\\\"");
        let source = format!(
            "int main(void) {{ __asm__ volatile(\"{instruction}\" ::: \"rax\", \"rcx\", \"cc\"); return 0; }}"
        );
        let files = [
            ("imports.txt", "[libkernel]\nint no_such_data;\n"),
            ("main.c", &*source),
        ];
        let folder = tempfile::tempdir().unwrap();
        let report = relinked(folder.path(), &files, SystemCallPolicy::Refuse, FilterLevel::Data).unwrap();
        assert!(report.unused.is_empty(), "{instruction}: {:?}", report.unused);
    }
}

#[test]
fn functions_that_no_reachable_code_calls_are_left_out() {
    let source = r#"
        /* Nothing leads to these two, of which the second is kept by the linker all the same. */
        __attribute__((noinline, used)) static int last(void) { return puts("never"); }
        __attribute__((noinline, used)) static int never(void) { return last() + (int)strlen("x"); }
        __attribute__((noinline)) static int by_pointer(void) { return snprintf(NULL, 0, "four"); }
        int (*volatile pointer)(void) = by_pointer;
        __attribute__((noinline)) static int taken(const void *a, const void *b) { return memcmp(a, b, 1); }
        int main(int argc, char **argv)
        {
            (void)argv;
            int (*volatile local)(const void *, const void *) = taken;
            printf("%d %d\n", pointer(), local("a", argc > 9 ? "b" : "a"));
            return 0;
        }"#;
    let folder = tempfile::tempdir().unwrap();
    let files = [("main.c", source)];
    let kept = relinked(folder.path(), &files, SystemCallPolicy::Refuse, FilterLevel::Data).unwrap();
    assert!(kept.unused.is_empty(), "{:?}", kept.unused);
    let report = relinked(
        folder.path(),
        &files,
        SystemCallPolicy::Refuse,
        FilterLevel::Reachable,
    )
    .unwrap();
    let mut unused: Vec<_> = report.unused.iter().filter_map(|import| import.name).collect();
    unused.sort_unstable();
    assert_eq!(unused, ["puts", "strlen"]);
    assert_eq!(report.relocations + 2, kept.relocations);
    let outcome = run(&folder.path().join("out/app"), &[]).unwrap();
    assert_eq!(
        (&*outcome.stdout, outcome.code),
        ("4 0\n", Some(0)),
        "{outcome:?}"
    );

    // The stubs that are left push their slots' new indices.
    let bytes = fs::read(folder.path().join("out/app")).unwrap();
    let elf = goblin::elf::Elf::parse(&bytes).unwrap();
    let text = elf
        .program_headers
        .iter()
        .find(|header| header.p_type == 1)
        .unwrap();
    let code = &bytes[text.file_range()];
    let mut indices = Vec::new();
    for at in 0..=code.len() - 16 {
        if code[at..at + 2] == [0xff, 0x25] && code[at + 6] == 0x68 && code[at + 11] == 0xe9 {
            let word = |at: usize| u32::from_le_bytes(code[at..at + 4].try_into().unwrap());
            let slot = u64::from(word(at + 2)) + at as u64 + 6;
            let place = elf
                .pltrelocs
                .iter()
                .position(|relocation| relocation.r_offset == slot);
            assert_eq!(place, Some(word(at + 7) as usize));
            indices.push(word(at + 7));
        }
    }
    assert_eq!(indices.len(), elf.pltrelocs.len());
    let dead = report
        .rewrites
        .iter()
        .filter(|rewrite| rewrite.was == "unused linkage stub")
        .count();
    assert_eq!(dead, 2);
}

#[test]
fn what_level_2_can_t_analyse_is_an_error() {
    // A call to code without unwind information.
    let bare = r#"
        __asm__(".text\n.globl bare\n.hidden bare\nbare: ret\n");
        extern void bare(void);
        int main(void) { bare(); return 0; }"#;
    let folder = tempfile::tempdir().unwrap();
    let files = [("main.c", bare)];
    let error = relinked(
        folder.path(),
        &files,
        SystemCallPolicy::Refuse,
        FilterLevel::Reachable,
    )
    .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("without unwind information") && text.contains("--unused-filter"),
        "{text}"
    );
    assert!(!folder.path().join("out").exists());
    assert!(relinked(folder.path(), &files, SystemCallPolicy::Refuse, FilterLevel::Data).is_ok());
}

/// Programs and modules do the same with the strictest filter.
#[test]
fn filtered_programs_run() {
    let kit = Kit::new().unwrap();
    for guest in ["hello", "threads", "title", "exceptions"] {
        let folder = tempfile::tempdir().unwrap();
        let input = kit.build_guest(&kit.guest(guest), folder.path()).unwrap();
        let [kept, filtered] = [FilterLevel::Keep, FilterLevel::Reachable].map(|filter| {
            let output = folder.path().join("out/app");
            relink(&RelinkOptions {
                input: input.clone(),
                output: output.clone(),
                runtime_library: Some(runtime_library().unwrap()),
                filter,
                ..RelinkOptions::default()
            })
            .unwrap();
            run(&output, &[]).unwrap()
        });
        assert_eq!(
            (&kept.stdout, kept.code),
            (&filtered.stdout, filtered.code),
            "{guest}: {filtered:?}"
        );
    }
}

#[test]
fn the_filter_loses_no_relocation_of_ordinary_programs() {
    let kit = Kit::new().unwrap();
    for guest in ["hello", "threads", "title", "exceptions"] {
        let folder = tempfile::tempdir().unwrap();
        let input = kit.build_guest(&kit.guest(guest), folder.path()).unwrap();
        let [kept, filtered] = [FilterLevel::Keep, FilterLevel::Data].map(|filter| {
            let output = folder.path().join("out/app");
            let options = RelinkOptions {
                input: input.clone(),
                output: output.clone(),
                filter,
                ..RelinkOptions::default()
            };
            (relink(&options).unwrap().relocations, fs::read(output).unwrap())
        });
        assert!(kept == filtered, "{guest}");
    }
}

/// R_X86_64_RELATIVE in a file's tables.
fn relative_count(file: &Path) -> usize {
    let bytes = fs::read(file).unwrap();
    let elf = goblin::elf::Elf::parse(&bytes).unwrap();
    elf.dynrelas
        .iter()
        .filter(|relocation| relocation.r_type == 8)
        .count()
}

/// A pointer that is not relocated leads nowhere: whatever else a filter leaves out, each of these stays.
#[test]
fn no_filter_loses_a_relative_relocation() {
    let pointers = r#"
        static const char *const words[] = {"one", "two", "three"};
        static int one(void) { return 1; }
        static int (*const functions[])(void) = {one, one, one, one};
        static const void *const *const tables[] = {(const void *const *)words, (const void *const *)functions};
        __attribute__((used)) static int never(void) { return puts("never"); }
        int main(int argc, char **argv)
        {
            (void)argv;
            const char *volatile word = words[argc];
            const void *const *volatile table = tables[argc - 1];
            printf("%s %s %d\n", word, (const char *)table[0], functions[argc]());
            return 0;
        }"#;
    let folder = tempfile::tempdir().unwrap();
    let input = Kit::new()
        .unwrap()
        .build_text(&[("main.c", pointers)], folder.path())
        .unwrap();
    let expected = relative_count(&input);
    assert!(expected >= 9, "{expected}");
    let output = folder.path().join("out/app");
    for filter in [FilterLevel::Keep, FilterLevel::Data, FilterLevel::Reachable] {
        let report = relink(&RelinkOptions {
            input: input.clone(),
            output: output.clone(),
            runtime_library: Some(runtime_library().unwrap()),
            filter,
            ..RelinkOptions::default()
        })
        .unwrap();
        assert_eq!(report.unused.is_empty(), filter != FilterLevel::Reachable);
        assert_eq!(relative_count(&output), expected, "{filter:?}");
        assert_eq!(run(&output, &[]).unwrap().stdout, "two one 1\n");
    }
}

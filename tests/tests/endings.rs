//! Every way in which a program ends before its time ends in a report, and with an exit code that is not 0.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{fs, process::Command, time::Duration};

use relic_relink::{RelinkOptions, relink};
use relic_tests::{
    kit::Kit,
    programs::{Outcome, run_with},
    runtime_library,
};

/// Imports for the guests that use the GPU.
const GPU_IMPORTS: &str = "[libkernel]
int sceKernelAllocateDirectMemory(long from, long to, size_t size, size_t alignment, int type, long *offset);
int sceKernelMapDirectMemory(void **address, size_t size, int protection, int flags, long offset, size_t alignment);

[libSceAgc]
int sceAgcInit(uint32_t *state, uint32_t revision);

[libSceAgcDriver]
int sceAgcDriverSubmitDcb(const void *submission);
";

/// A guest that submits `words` as its command buffer and then waits.
fn submits(words: &str) -> String {
    format!(
        r#"
struct submission {{ const uint32_t *words; uint32_t count, zero; }};
int main(void)
{{
    static uint32_t state[64];
    static const uint32_t words[] = {{{words}}};
    long offset = 0;
    void *memory = NULL;
    sceAgcInit(state, 8);
    sceKernelAllocateDirectMemory(0, 0x100000000, 65536, 65536, 3, &offset);
    sceKernelMapDirectMemory(&memory, 65536, 0x33, 0, offset, 65536);
    memcpy(memory, words, sizeof words);
    const struct submission submission = {{memory, sizeof words / 4, 0}};
    printf("submit %d\n", sceAgcDriverSubmitDcb(&submission));
    for (int i = 0; i < 1000; i++)
        sceKernelUsleep(20000);
    return 0;
}}
"#
    )
}

/// Builds a guest of one source, relinks it and runs it; `signal` is sent to it half a second later.
fn end(source: &str, imports: &str, signal: Option<&str>) -> Outcome {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let guest = folder.path().join("ending");
    fs::create_dir(&guest).unwrap();
    fs::write(
        guest.join("main.c"),
        format!("#include <relic/guest.h>\n{source}"),
    )
    .unwrap();
    if !imports.is_empty() {
        fs::write(guest.join("imports.txt"), imports).unwrap();
    }
    let input = kit.build_guest(&guest, folder.path()).unwrap();
    let program = folder.path().join("program/ending");
    let runtime_library = Some(runtime_library().unwrap());
    relink(&RelinkOptions {
        input,
        output: program.clone(),
        runtime_library,
        ..RelinkOptions::default()
    })
    .unwrap();
    run_with(&program, &[], &[], &mut |id| {
        if let Some(signal) = signal {
            std::thread::sleep(Duration::from_millis(500));
            // The shell's own: not every machine has the program.
            let sent = Command::new("sh")
                .args(["-c", &format!("kill -s {signal} {id}")])
                .status()
                .unwrap();
            assert!(sent.success());
        }
    })
    .unwrap()
}

fn assert_report(outcome: &Outcome, code: i32, parts: &[&str]) {
    assert_eq!(outcome.code, Some(code), "{outcome:?}");
    for part in parts {
        assert!(
            outcome.stderr.contains(part),
            "{part:?} is not in the report:\n{}",
            outcome.stderr
        );
    }
}

#[test]
fn an_access_to_nothing() {
    let outcome = end(
        "int main(void) { puts(\"before\"); *(volatile int *)16 = 1; return 0; }",
        "",
        None,
    );
    assert_report(&outcome, 128 + 11, &["SIGSEGV", "0x10", "main"]);
    assert_eq!(outcome.stdout, "before\n", "what was printed is not lost");
}

#[test]
fn a_breakpoint() {
    let outcome = end(
        "int main(void) { printf(\"before\"); __asm__ volatile(\"int3\"); return 0; }",
        "",
        None,
    );
    assert_report(&outcome, 128 + 5, &["SIGTRAP", "main"]);
    assert_eq!(outcome.stdout, "before", "what was printed is not lost");
}

#[test]
fn an_abort() {
    let outcome = end(
        "int main(void) { abort(); return 0; }",
        "[libc]\nvoid abort(void);\n",
        None,
    );
    assert_report(&outcome, 128 + 6, &["abort"]);
}

#[test]
fn a_termination_from_outside() {
    let source = "int main(void) { puts(\"running\"); for (;;) sceKernelUsleep(10000); }";
    for (signal, number, name) in [("TERM", 15, "SIGTERM"), ("INT", 2, "SIGINT")] {
        let outcome = end(source, "", Some(signal));
        assert_report(&outcome, 128 + number, &[name]);
        assert_eq!(outcome.stdout, "running\n");
    }
}

#[test]
fn a_call_to_a_function_that_nobody_implements() {
    let source = "int main(void) { return sceNoSuchThing(1); }";
    let outcome = end(
        source,
        "[libSceNoSuchLibrary]\nint sceNoSuchThing(int value);\n",
        None,
    );
    assert_report(&outcome, 70, &["libSceNoSuchLibrary", "not implemented"]);
}

#[test]
fn a_refused_packet() {
    // Opcode 0x1D, ATOMIC_GDS.
    let outcome = end(&submits("0xc0071d00, 0, 0, 0, 0, 0, 0, 0, 0"), GPU_IMPORTS, None);
    assert_report(
        &outcome,
        71,
        &["ATOMIC_GDS", "0x1d", "graphics queue", "submission 1", "+ 0x0"],
    );
}

#[test]
fn an_unmapped_address_in_a_packet() {
    // WRITE_DATA to 0x123450000.
    let outcome = end(
        &submits("0xc0033700, 0x500, 0x23450000, 0x1, 7"),
        GPU_IMPORTS,
        None,
    );
    assert_report(&outcome, 71, &["WRITE_DATA", "0x123450000", "not mapped"]);
}

#[test]
fn a_program_that_is_not_there() {
    // A dispatch whose COMPUTE_PGM address is not mapped.
    let outcome = end(
        &submits("0xc0027600, 0x20c, 0x1234500, 0, 0xc0037600, 0x207, 1, 1, 1, 0xc0031500, 1, 1, 1, 1"),
        GPU_IMPORTS,
        None,
    );
    assert_report(&outcome, 71, &["DISPATCH_DIRECT", "0x123450000"]);
}

#[test]
fn a_shader_that_cannot_be_recompiled() {
    // The command buffer lies at a multiple of 256 and its first word, a NOP header with data, is no instruction of
    // the chip that the recompiler translates: 0xC0001000 decodes as nothing.
    let source = submits("0xc0001000, 0xffffffff, 0xc0027600, 0x20c, PROGRAM_LOW, PROGRAM_HIGH, 0xc0037600, 0x207, 1, 1, 1, 0xc0031500, 1, 1, 1, 1")
        .replace("static const uint32_t words", "uint32_t words")
        .replace("PROGRAM_LOW, PROGRAM_HIGH", "0, 0")
        .replace("memcpy(memory", "words[4] = (uint32_t)((uint64_t)memory >> 8); words[5] = (uint32_t)((uint64_t)memory >> 40);\n    memcpy(memory");
    let outcome = end(&source, GPU_IMPORTS, None);
    assert_report(
        &outcome,
        71,
        &["DISPATCH_DIRECT", "compute program refused at 0x0", "c0001000"],
    );
}

#[test]
fn a_call_that_is_given_what_is_none() {
    let bad = |value: &str| {
        format!(
            "int main(void) {{ ScePthreadMutex mutex = (ScePthreadMutex){value}; return scePthreadMutexLock(&mutex) + 1; }}"
        )
    };
    let call = "in      libkernel scePthreadMutexLock";
    // No address, one that is not mapped, one of the program's own data.
    let outcome = end(&bad("0x1003"), "", None);
    assert_report(
        &outcome,
        128 + 6,
        &["Mutex that is none", "0x1003", call, "caller  ending + 0x"],
    );
    let outcome = end(&bad("0x12340000"), "", None);
    assert_report(
        &outcome,
        128 + 11,
        &["SIGSEGV", "0x12340000", call, "caller  ending + 0x"],
    );
    let outcome = end(&format!("static long data[64];\n{}", bad("data")), "", None);
    assert_report(&outcome, 128 + 6, &["Mutex that is none", call]);
    // A bad pointer to a function of the host's library.
    let outcome = end(
        "int main(void) { return (int)strlen((const char *)0x4440) + 1; }",
        "",
        None,
    );
    assert_report(
        &outcome,
        128 + 11,
        &["SIGSEGV", "0x4440", "in      libc strlen", "caller  ending + 0x"],
    );
}

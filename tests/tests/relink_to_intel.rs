//! `--to-intel`: what replaces an instruction does what the instruction does.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{fmt::Write as _, fs, path::Path};

use relic_relink::{RelinkError, RelinkOptions, RelinkReport, relink};
use relic_tests::{
    kit::Kit,
    programs::{Outcome, run},
    runtime_library,
};

/// Lengths and indices of fields; 64 bits stand as 0.
const FIELDS: [(u32, u32); 12] = [
    (0, 0),
    (1, 0),
    (8, 8),
    (16, 48),
    (32, 16),
    (63, 1),
    (5, 59),
    (1, 63),
    (64 - 13, 13),
    (7, 0),
    (33, 31),
    (63, 0),
];

/// A function around one instruction. It loads registers, flags and the red zone from a state, and stores them back.
fn function(name: &str, instruction: &str) -> String {
    format!(
        r#"__asm__(".text\n.globl {name}\n.hidden {name}\n.type {name},@function\n{name}:\n.cfi_startproc\n"
    "movups (%rdi), %xmm3\nmovups 16(%rdi), %xmm12\nmovq 48(%rdi), %rax\nmovq 56(%rdi), %rcx\nmovq 64(%rdi), %rdx\n"
    "movq 32(%rdi), %r10\nmovq %r10, -8(%rsp)\nmovq %r10, -128(%rsp)\npushq 40(%rdi)\npopfq\nmovq %r10, -8(%rsp)\n"
    "{instruction}\n"
    "movq marker(%rip), %r11\n"
    "movq -8(%rsp), %r10\naddq -128(%rsp), %r10\nmovq %r10, 32(%rdi)\nmovq %r11, 72(%rdi)\n"
    "movups %xmm3, (%rdi)\nmovups %xmm12, 16(%rdi)\nmovq %rax, 48(%rdi)\nmovq %rcx, 56(%rdi)\nmovq %rdx, 64(%rdi)\nret\n"
    ".cfi_endproc\n.size {name}, .-{name}\n");
extern void {name}(struct state *);
"#
    )
}

/// As [`function`], and what follows keeps the flags for the caller to see.
const HEAD: &str = r#"
struct state {
    uint64_t low, high, from_low, from_high, red, flags, rax, rcx, rdx, marker;
};
__attribute__((used, visibility("hidden"))) uint64_t marker = 0x1234567890abcdef;
static uint64_t seed = 0x9e3779b97f4a7c15;
static uint64_t next(void) { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed; }
static int wrong;
static void check(const char *what, uint64_t found, uint64_t expected)
{
    if (found != expected && wrong++ < 20)
        printf("%s: %lx, not %lx\n", what, found, expected);
}
static void fill(struct state *s)
{
    uint64_t *words = (uint64_t *)s;
    for (int i = 0; i < 10; i++)
        words[i] = next();
    s->flags = (s->flags & 0x8d5) | 2;
}
static uint64_t mask(unsigned length) { return length % 64 ? (1ul << length % 64) - 1 : ~0ul; }
static void try(const char *name, void (*f)(struct state *), int kind, unsigned length, unsigned index)
{
    for (int i = 0; i < 200; i++) {
        struct state before, after;
        fill(&before);
        if (kind == 1)
            before.from_low = (before.from_low & ~0x3f3ful) | index << 8 | length;
        if (kind == 3)
            before.from_high = (before.from_high & ~0x3f3ful) | index << 8 | length;
        after = before;
        f(&after);
        uint64_t expected = kind < 2
            ? before.low >> index & mask(length)
            : (before.low & ~(mask(length) << index)) | (before.from_low & mask(length)) << index;
        check(name, after.low, expected);
        check("source", after.from_low ^ after.from_high, before.from_low ^ before.from_high);
        check("red zone", after.red, 2 * before.red);
        check("marker", after.marker, marker);
        check("registers", after.rax ^ after.rcx ^ after.rdx, before.rax ^ before.rcx ^ before.rdx);
    }
}
"#;

fn source() -> String {
    let mut text = HEAD.to_owned();
    let mut calls = String::new();
    for (number, (length, index)) in FIELDS.iter().enumerate() {
        text += &function(
            &format!("extract{number}"),
            &format!("extrq ${index}, ${length}, %xmm3"),
        );
        text += &function(
            &format!("insert{number}"),
            &format!("insertq ${index}, ${length}, %xmm12, %xmm3"),
        );
        let _ = write!(
            calls,
            "try(\"extrq {length} {index}\", extract{number}, 0, {length}, {index});\n\
             try(\"insertq {length} {index}\", insert{number}, 2, {length}, {index});\n\
             try(\"extrq by {length} {index}\", extract_by, 1, {length}, {index});\n\
             try(\"insertq by {length} {index}\", insert_by, 3, {length}, {index});\n"
        );
    }
    text += &function("extract_by", "extrq %xmm12, %xmm3");
    text += &function("insert_by", "insertq %xmm12, %xmm3");
    text += &function("extract_low", "movaps %xmm12, %xmm1\\nextrq %xmm1, %xmm3");
    text += &function("zero", "clzero");
    text += &function("zero_narrow", ".byte 0x67\\nclzero");
    text += &function("store_single", "movntss %xmm12, (%rax)");
    text += &function("store_double", "movntsd %xmm12, 8(%rax)");
    text += &function("counter", ".byte 0x0f, 0x01, 0xfd");
    text += &function("commit", ".byte 0xf3, 0x0f, 0x01, 0xfa");
    text += &function("monitor", ".byte 0x0f, 0x01, 0xfa");
    text += &function("wait", ".byte 0x0f, 0x01, 0xfb");
    // The flags go through the instruction.
    text.push_str(
        r#"
__asm__(".text\n.globl flags\n.hidden flags\n.type flags,@function\nflags:\n.cfi_startproc\npushq 40(%rdi)\npopfq\n"
    "extrq $8, $8, %xmm3\nmovq %rdx, %rax\nclzero\nmovq 64(%rdi), %rdx\npushfq\npopq 40(%rdi)\nret\n.cfi_endproc\n.size flags, .-flags\n");
extern void flags(struct state *, uint64_t, void *);
static struct { _Alignas(64) unsigned char bytes[192]; } lines;
static void try_zero(void (*f)(struct state *), uint64_t high)
{
    for (int at = 64; at < 128; at += 9) {
        for (int i = 0; i < 192; i++)
            lines.bytes[i] = (unsigned char)(i | 1);
        struct state state;
        fill(&state);
        uint64_t red = state.red;
        state.rax = (uint64_t)&lines.bytes[at] | high;
        f(&state);
        check("rax", state.rax, (uint64_t)&lines.bytes[at] | high);
        check("red zone", state.red, 2 * red);
        for (int i = 0; i < 192; i++)
            check("line", lines.bytes[i], i >= 64 && i < 128 ? 0 : (unsigned char)(i | 1));
    }
}
static void stores(void)
{
    struct state state;
    fill(&state);
    state.rax = (uint64_t)&lines;
    store_single(&state);
    store_double(&state);
    check("single", *(uint32_t *)lines.bytes, (uint32_t)state.from_low);
    check("double", *(uint64_t *)(lines.bytes + 8), state.from_low);
}
/* What not every processor of AMD's has, or shows to a guest of its own. */
static void rare(void)
{
    struct state state;
    for (int number = 0; number < 4; number++) {
        fill(&state);
        uint64_t red = state.red;
        state.rcx = number;
        counter(&state);
        check("counter", (state.rax | state.rdx) != 0, number < 2);
        check("counter's halves", (state.rax | state.rdx) >> 32, 0);
        check("red zone", state.red, 2 * red);
    }
    fill(&state);
    commit(&state);
    monitor(&state);
    wait(&state);
}
int main(int argc, char **argv)
{
    (void)argv;
    CALLS
    /* What a site covers moves along: here the field's register is copied in front of it. */
    try("extrq low", extract_low, 1, 9, 3);
    try_zero(zero, 0);
    stores();
    struct state state;
    fill(&state);
    struct state before = state;
    flags(&state, 0, lines.bytes);
    check("flags", state.flags, before.flags | 0x200);
    if (argc > 1) {
        /* Programs of the console lie low; this one may not. */
        if ((uint64_t)&lines >> 32 == 0)
            try_zero(zero_narrow, 0xffffffff00000000);
        rare();
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
"#,
    );
    text.replace("CALLS", &calls)
}

fn relinked(folder: &Path, source: &str, to_intel: bool) -> Result<RelinkReport, RelinkError> {
    let input = Kit::new()
        .unwrap()
        .build_text(&[("main.c", source)], folder)
        .unwrap();
    relink(&RelinkOptions {
        input,
        output: folder.join("out/app"),
        runtime_library: Some(runtime_library().unwrap()),
        to_intel,
        ..RelinkOptions::default()
    })
}

fn all_right(outcome: &Outcome) {
    assert_eq!(
        (&*outcome.stdout, outcome.code),
        ("0 wrong\n", Some(0)),
        "{outcome:?}"
    );
}

#[test]
fn replaced_instructions_do_what_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let source = source();
    let program = folder.path().join("out/app");
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if cpu.contains("sse4a") && cpu.contains("clzero") {
        relinked(folder.path(), &source, false).unwrap();
        all_right(&run(&program, &[]).unwrap());
    } else {
        eprintln!(
            "skipped: this processor has no SSE4a, so only the replacements were compared with the model"
        );
    }
    let report = relinked(folder.path(), &source, true).unwrap();
    let count = |name: &str| {
        report
            .rewrites
            .iter()
            .filter(|rewrite| rewrite.was == name)
            .count()
    };
    assert_eq!(count("extrq"), FIELDS.len() + 3);
    assert_eq!(count("insertq"), FIELDS.len() + 1);
    assert_eq!(count("clzero"), 3);
    for name in ["movntss", "movntsd", "rdpru", "mcommit", "monitorx", "mwaitx"] {
        assert_eq!(count(name), 1, "{name}");
    }
    all_right(&run(&program, &["all"]).unwrap());
    // None is left.
    let again = fs::read(&program).unwrap();
    for pair in [[0x0f, 0x2b], [0x0f, 0x78], [0x0f, 0x79]] {
        let text = u64::from_le_bytes(again[64 + 2 * 56 + 8..64 + 2 * 56 + 16].try_into().unwrap()) as usize;
        assert!(
            !again[text..text + 0x1000].windows(2).any(|window| window == pair),
            "{pair:x?}"
        );
    }
}

#[test]
fn what_can_t_be_replaced_is_refused() {
    for (code, part) in [
        (
            "jmp 1f\\n2: clzero\\n1: nop\\nnop\\nnop\\ndecl %eax\\njnz 1b\\njmp 2b",
            "a branch leads to",
        ),
        ("clzero\\ncall printf_stub\\nret", "the call that follows"),
        ("clzero\\nret\\nnop", "can't be moved"),
        ("clzero\\nrdpru\\nret", "the jump to the replacement"),
    ] {
        let source = format!(
            "__asm__(\".text\\n.type bad,@function\\nbad:\\n.cfi_startproc\\n{code}\\n.cfi_endproc\\n.size bad, .-bad\\n\
             printf_stub: ret\\n\");\nextern void bad(void);\n__asm__(\".globl bad\\n.hidden bad\\n\");\n\
             int main(int argc, char **argv) {{ (void)argv; if (argc > 9) bad(); return 0; }}"
        );
        let folder = tempfile::tempdir().unwrap();
        let error = relinked(folder.path(), &source, true).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(part) && text.contains("clzero") | text.contains("rdpru"),
            "{code}: {text}"
        );
        assert!(!folder.path().join("out").exists());
    }
}

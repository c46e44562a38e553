//! `--to-intel`: what replaces an instruction does what the instruction does.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{fmt::Write as _, fs, path::Path};

use relic_relink::{Lowerings, RelinkError, RelinkOptions, RelinkReport, Target, relink};
use relic_tests::{
    kit::Kit,
    programs::{Outcome, run},
    runtime_library,
};

/// For processors with the SHA instructions, and without.
const SHA: Lowerings = Lowerings {
    target: Target::Sha,
    exact_reciprocals: false,
};
const NO_SHA: Lowerings = Lowerings {
    target: Target::NoSha,
    exact_reciprocals: false,
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
    _Alignas(16) uint64_t low;
    uint64_t high, from_low, from_high, red, flags, rax, rcx, rdx, marker, third[2];
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
    for (int i = 0; i < 12; i++)
        words[i] = next();
    s->flags = (s->flags & 0x8d5) | 2;
}
"#;

/// What EXTRQ and INSERTQ do.
const FIELD_MODEL: &str = r#"
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
    let mut text = HEAD.to_owned() + FIELD_MODEL;
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
    text += &function("zero_twice", "clzero\\nclzero");
    text += &function("zero_store", "clzero\\nmovntss %xmm12, (%rax)");
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
    fill(&state);
    state.rax = (uint64_t)&lines;
    zero_store(&state);
    check("one behind the other", *(uint64_t *)lines.bytes, (uint32_t)state.from_low);
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
    try_zero(zero_twice, 0);
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

fn relinked(folder: &Path, source: &str, lowerings: Lowerings) -> Result<RelinkReport, RelinkError> {
    let input = Kit::new()
        .unwrap()
        .build_text(&[("main.c", source)], folder)
        .unwrap();
    relink(&RelinkOptions {
        input,
        output: folder.join("out/app"),
        runtime_library: Some(runtime_library().unwrap()),
        lowerings,
        ..RelinkOptions::default()
    })
}

/// How many instructions of a name were replaced.
fn replaced(report: &RelinkReport, name: &str) -> usize {
    let all = report.rewrites.iter();
    all.filter(|rewrite| rewrite.was == name).count()
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
        relinked(folder.path(), &source, Lowerings::default()).unwrap();
        all_right(&run(&program, &[]).unwrap());
    } else {
        eprintln!(
            "skipped: this processor has no SSE4a, so only the replacements were compared with the model"
        );
    }
    let report = relinked(folder.path(), &source, SHA).unwrap();
    let count = |name: &str| replaced(&report, name);
    assert_eq!(count("extrq"), FIELDS.len() + 3);
    assert_eq!(count("insertq"), FIELDS.len() + 1);
    assert_eq!((count("clzero"), count("movntss")), (6, 2));
    for name in ["movntsd", "rdpru", "mcommit", "monitorx", "mwaitx"] {
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

/// Forms of the SHA instructions: what stands in front, operands, and what of the model it is. The last is two of them,
/// one behind the other.
fn sha_source() -> String {
    let mut text = HEAD.to_owned() + SHA_MODEL;
    let mut calls = String::new();
    let mut number = 0;
    let mut add = |code: String, models: [&str; 2]| {
        let name = format!("sha{number}");
        number += 1;
        text += &function(&name, &format!("movups 80(%rdi), %xmm0\\n{code}"));
        let code = code.replace("\\n", "; ");
        let _ = writeln!(
            calls,
            "try_sha(\"{code}\", {name}, {}, {});",
            models[0], models[1]
        );
    };
    for (mnemonic, model) in [
        ("sha1rnds4 $0,", "rounds1_0"),
        ("sha1rnds4 $1,", "rounds1_1"),
        ("sha1rnds4 $2,", "rounds1_2"),
        ("sha1rnds4 $3,", "rounds1_3"),
        ("sha1nexte", "next1"),
        ("sha1msg1", "schedule1"),
        ("sha1msg2", "scheduled1"),
        ("sha256rnds2", "rounds256"),
        ("sha256msg1", "schedule256"),
        ("sha256msg2", "scheduled256"),
    ] {
        let one = [model, "0"];
        add(format!("{mnemonic} %xmm12, %xmm3"), one);
        add(format!("{mnemonic} 16(%rdi), %xmm3"), one);
        add(format!("movq $-1, %r11\\n{mnemonic} 24(%rdi,%r11,8), %xmm3"), one);
        add(
            format!("movaps %xmm12, place(%rip)\\n{mnemonic} place(%rip), %xmm3"),
            one,
        );
        add(
            format!("subq $72, %rsp\\nmovaps %xmm12, 16(%rsp)\\n{mnemonic} 16(%rsp), %xmm3\\naddq $72, %rsp"),
            one,
        );
        add(
            format!("movaps %xmm12, %xmm1\\n{mnemonic} %xmm1, %xmm3\\nsha256msg1 %xmm1, %xmm3"),
            [model, "schedule256"],
        );
    }
    text + &format!(
        "int main(void) {{\n{calls}check_flags();\nprintf(\"%d wrong\\n\", wrong);\nreturn wrong != 0;\n}}"
    )
}

/// The instructions by their definition, word 3 first as it is given there.
const SHA_MODEL: &str = r#"
typedef uint32_t u32;
__attribute__((used, visibility("hidden"))) _Alignas(16) char place[16];
static u32 rol(u32 x, int n) { return x << n | x >> (32 - n); }
static u32 ror(u32 x, int n) { return x >> n | x << (32 - n); }
typedef void model(u32 *d, const u32 *s, const u32 *x);
static void rounds1(u32 *d, const u32 *s, int kind)
{
    static const u32 k[] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
    u32 a = d[3], b = d[2], c = d[1], e = 0, dd = d[0];
    for (int i = 0; i < 4; i++) {
        u32 f = kind == 0 ? (b & c) ^ (~b & dd) : kind == 2 ? (b & c) ^ (b & dd) ^ (c & dd) : b ^ c ^ dd;
        u32 next = f + rol(a, 5) + s[3 - i] + e + k[kind];
        e = dd; dd = c; c = rol(b, 30); b = a; a = next;
    }
    d[3] = a; d[2] = b; d[1] = c; d[0] = dd;
}
static void rounds1_0(u32 *d, const u32 *s, const u32 *x) { (void)x; rounds1(d, s, 0); }
static void rounds1_1(u32 *d, const u32 *s, const u32 *x) { (void)x; rounds1(d, s, 1); }
static void rounds1_2(u32 *d, const u32 *s, const u32 *x) { (void)x; rounds1(d, s, 2); }
static void rounds1_3(u32 *d, const u32 *s, const u32 *x) { (void)x; rounds1(d, s, 3); }
static void next1(u32 *d, const u32 *s, const u32 *x)
{
    (void)x;
    d[3] = s[3] + rol(d[3], 30); d[2] = s[2]; d[1] = s[1]; d[0] = s[0];
}
static void schedule1(u32 *d, const u32 *s, const u32 *x)
{
    (void)x;
    u32 w[6] = { d[3], d[2], d[1], d[0], s[3], s[2] };
    for (int i = 0; i < 4; i++)
        d[3 - i] = w[i + 2] ^ w[i];
}
static void scheduled1(u32 *d, const u32 *s, const u32 *x)
{
    (void)x;
    u32 w16 = rol(d[3] ^ s[2], 1), w17 = rol(d[2] ^ s[1], 1), w18 = rol(d[1] ^ s[0], 1), w19 = rol(d[0] ^ w16, 1);
    d[3] = w16; d[2] = w17; d[1] = w18; d[0] = w19;
}
static void rounds256(u32 *d, const u32 *s, const u32 *x)
{
    u32 a = s[3], b = s[2], c = d[3], dd = d[2], e = s[1], f = s[0], g = d[1], h = d[0];
    for (int i = 0; i < 2; i++) {
        u32 t = ((e & f) ^ (~e & g)) + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + x[i] + h;
        u32 next = t + ((a & b) ^ (a & c) ^ (b & c)) + (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22));
        h = g; g = f; f = e; e = t + dd; dd = c; c = b; b = a; a = next;
    }
    d[3] = a; d[2] = b; d[1] = e; d[0] = f;
}
static void schedule256(u32 *d, const u32 *s, const u32 *x)
{
    (void)x;
    u32 w[5] = { d[0], d[1], d[2], d[3], s[0] };
    for (int i = 0; i < 4; i++)
        d[i] = w[i] + (ror(w[i + 1], 7) ^ ror(w[i + 1], 18) ^ w[i + 1] >> 3);
}
static void scheduled256(u32 *d, const u32 *s, const u32 *x)
{
    (void)x;
    u32 w[6] = { s[2], s[3] };
    for (int i = 0; i < 4; i++)
        d[i] = w[i + 2] = d[i] + (ror(w[i], 17) ^ ror(w[i], 19) ^ w[i] >> 10);
}
static void try_sha(const char *name, void (*f)(struct state *), model *one, model *two)
{
    for (int i = 0; i < 100; i++) {
        struct state before, after;
        fill(&before);
        after = before;
        f(&after);
        check("source", after.from_low ^ after.from_high, before.from_low ^ before.from_high);
        check("red zone", after.red, 2 * before.red);
        check("marker", after.marker, marker);
        check("registers", after.rax ^ after.rcx ^ after.rdx, before.rax ^ before.rcx ^ before.rdx);
        u32 d[4], s[4], x[4];
        __builtin_memcpy(d, &before.low, 16);
        __builtin_memcpy(s, &before.from_low, 16);
        __builtin_memcpy(x, before.third, 16);
        one(d, s, x);
        if (two)
            two(d, s, x);
        check(name, after.low, d[0] | (uint64_t)d[1] << 32);
        check(name, after.high, d[2] | (uint64_t)d[3] << 32);
    }
}
__asm__(".text\n.globl flags\n.hidden flags\n.type flags,@function\nflags:\n.cfi_startproc\npushq 40(%rdi)\npopfq\n"
    "sha1msg1 %xmm3, %xmm3\nsha256rnds2 %xmm3, %xmm4\npushfq\npopq 40(%rdi)\nret\n.cfi_endproc\n.size flags, .-flags\n");
extern void flags(struct state *);
static void check_flags(void)
{
    for (int i = 0; i < 100; i++) {
        struct state before, after;
        fill(&before);
        after = before;
        flags(&after);
        check("flags", after.flags, before.flags | 0x200);
    }
}
"#;

#[test]
fn sha_instructions_do_what_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let source = sha_source();
    let program = folder.path().join("out/app");
    // They stay where the target has them.
    let report = relinked(folder.path(), &source, SHA).unwrap();
    assert!(report.rewrites.is_empty());
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if cpu.contains("sha_ni") {
        all_right(&run(&program, &[]).unwrap());
    } else {
        eprintln!(
            "skipped: this processor has no SHA instructions, so only the replacements were compared with the model"
        );
    }
    let report = relinked(folder.path(), &source, NO_SHA).unwrap();
    let count = |name: &str| replaced(&report, name);
    assert_eq!(count("sha1rnds4"), 4 * 6);
    for name in ["sha1nexte", "sha1msg2", "sha256msg2"] {
        assert_eq!(count(name), 6, "{name}");
    }
    assert_eq!((count("sha1msg1"), count("sha256rnds2")), (7, 7));
    // Ten behind others.
    assert_eq!(count("sha256msg1"), 16);
    all_right(&run(&program, &[]).unwrap());
    let file = fs::read(&program).unwrap();
    for pair in [0xc8, 0xc9, 0xca, 0xcb, 0xcc, 0xcd].map(|last| [0x0f, 0x38, last]) {
        assert!(!file.windows(3).any(|window| window == pair), "{pair:x?}");
    }
}

/// Functions around reciprocals: what stands in front, the instruction, and where the model finds operand and result.
fn reciprocal_source() -> String {
    let mut text = HEAD.to_owned() + RECIPROCAL_MODEL;
    let mut calls = String::new();
    let mut number = 0;
    let mut add = |code: String, model: &str| {
        let name = format!("reciprocal{number}");
        number += 1;
        text += &function(
            &name,
            &format!("movups 80(%rdi), %xmm0\\n{code}\\nmovups %xmm0, 80(%rdi)"),
        );
        let code = code.replace("\\n", "; ");
        let _ = writeln!(calls, "try_reciprocal(\"{code}\", {name}, {model});");
    };
    for (name, root) in [("rcp", 0), ("rsqrt", 1)] {
        let four = format!("{root}, 4, KEPT");
        add(format!("{name}ps %xmm12, %xmm3"), &four);
        add(format!("{name}ps 16(%rdi), %xmm3"), &four);
        add(format!("movaps %xmm12, %xmm3\\n{name}ps %xmm3, %xmm3"), &four);
        add(
            format!("movaps %xmm12, place(%rip)\\n{name}ps place(%rip), %xmm3"),
            &four,
        );
        add(
            format!("subq $72, %rsp\\nmovaps %xmm12, 16(%rsp)\\n{name}ps 16(%rsp), %xmm3\\naddq $72, %rsp"),
            &four,
        );
        add(format!("{name}ss %xmm12, %xmm3"), &format!("{root}, 1, FIRST"));
        add(format!("{name}ss 16(%rdi), %xmm3"), &format!("{root}, 1, FIRST"));
        // The upper half of a register that the replacement borrows, and of the result.
        add(
            format!(
                "vinsertf128 $1, %xmm0, %ymm0, %ymm0\\nvinsertf128 $1, %xmm0, %ymm3, %ymm3\\n{name}ps %xmm12, %xmm3\\n\
                 vextractf128 $1, %ymm0, %xmm0\\nvextractf128 $1, %ymm3, %xmm4\\nvxorps %xmm4, %xmm0, %xmm0\\nvxorps 80(%rdi), %xmm0, %xmm0"
            ),
            &four,
        );
        add(
            format!(
                "vinsertf128 $1, %xmm0, %ymm3, %ymm3\\nv{name}ps %xmm12, %xmm3\\nvextractf128 $1, %ymm3, %xmm4\\nvxorps %xmm4, %xmm0, %xmm0"
            ),
            &four,
        );
        add(
            format!("v{name}ss %xmm12, %xmm0, %xmm3"),
            &format!("{root}, 1, OTHERS"),
        );
        add(
            format!("v{name}ss 16(%rdi), %xmm0, %xmm3"),
            &format!("{root}, 1, OTHERS"),
        );
        // Eight numbers: the operand twice, and the upper half of the result.
        add(
            format!(
                "vinsertf128 $1, %xmm12, %ymm12, %ymm12\\nv{name}ps %ymm12, %ymm3\\nvextractf128 $1, %ymm3, %xmm0"
            ),
            &format!("{root}, 4, TWICE"),
        );
        add(
            format!(
                "movups %xmm12, 80(%rdi)\\nmovups 16(%rdi), %xmm4\\nleaq 80(%rdi), %r11\\nv{name}ps -64(%r11), %ymm3"
            ),
            &format!("{root}, 4, CHANGED"),
        );
    }
    text + &format!(
        "int main(int argc, char **argv) {{\n(void)argv;\nexact = argc > 1;\n{calls}printf(\"%d wrong\\n\", wrong);\nreturn wrong != 0;\n}}"
    )
}

/// Reciprocals by division, and what becomes of the register that the function loads and stores beside.
const RECIPROCAL_MODEL: &str = r#"
typedef uint32_t u32;
__attribute__((used, visibility("hidden"))) _Alignas(16) char place[16];
static int exact;
static float of_bits(u32 bits) { float number; __builtin_memcpy(&number, &bits, 4); return number; }
static u32 bits_of(float number) { u32 bits; __builtin_memcpy(&bits, &number, 4); return bits; }
static u32 control(void) { u32 word; __asm__ volatile("stmxcsr %0" : "=m"(word)); return word; }
/* What is too small for a normal number is zero. */
static u32 flushed(u32 bits) { return bits >> 23 & 255 ? bits : bits & 0x80000000; }
static u32 model(int root, u32 bits)
{
    float number = of_bits(flushed(bits));
    if (root)
        __asm__("sqrtss %0, %0" : "+x"(number));
    return flushed(bits_of(1 / number));
}
static int same(u32 found, u32 expected)
{
    float f = of_bits(found), e = of_bits(expected);
    if (e != e)
        return f != f;
    float error = f > e ? f - e : e - f;
    float bound = (e < 0 ? -e : e) / 2048;
    return found == expected || (!exact && error <= bound);
}
static const u32 special[] = { 0, 0x80000000, 1, 0x80000001, 0x7f800000, 0xff800000, 0x7fc00000, 0x7effffff, 0x3f800000, 0x40800000 };
enum after { KEPT, FIRST, OTHERS, TWICE, CHANGED };
static void try_reciprocal(const char *name, void (*f)(struct state *), int root, int count, enum after after)
{
    for (int i = 0; i < 300; i++) {
        struct state before, found;
        fill(&before);
        u32 operand[4], result[4], others[4], third[4];
        __builtin_memcpy(operand, &before.from_low, 16);
        for (int j = 0; j < 4; j++) {
            /* Neither it nor its reciprocal is subnormal. */
            operand[j] = (operand[j] & 0x807fffff) | (u32)(64 + (operand[j] >> 24 & 127)) << 23;
            if (i < 10)
                operand[j] = special[(i + j) % 10];
        }
        __builtin_memcpy(&before.from_low, operand, 16);
        found = before;
        u32 control_before = control();
        f(&found);
        check("control", control(), control_before);
        check("red zone", found.red, 2 * before.red);
        check("marker", found.marker, marker);
        check("registers", found.rax ^ found.rcx ^ found.rdx, before.rax ^ before.rcx ^ before.rdx);
        __builtin_memcpy(result, &found.low, 16);
        __builtin_memcpy(third, found.third, 16);
        __builtin_memcpy(others, after == OTHERS ? &before.third[0] : &before.low, 16);
        for (int j = 0; j < 4; j++) {
            u32 expected = j < count ? model(root, operand[j]) : others[j];
            if (j < count ? !same(result[j], expected) : result[j] != expected)
                check(name, result[j], expected);
            if (after == TWICE && !same(third[j], expected))
                check("upper half", third[j], expected);
        }
        if (after == KEPT || after == FIRST || after == OTHERS)
            check("third", found.third[0] ^ found.third[1], before.third[0] ^ before.third[1]);
    }
}
"#;

#[test]
fn exact_reciprocals_are_exact() {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if !cpu.contains("avx") {
        eprintln!("skipped: this processor has no AVX");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = reciprocal_source();
    let program = folder.path().join("out/app");
    relinked(folder.path(), &source, NO_SHA).unwrap();
    all_right(&run(&program, &[]).unwrap());
    let outcome = run(&program, &["exact"]).unwrap();
    assert_eq!(outcome.code, Some(1), "approximations are none: {outcome:?}");
    let exact = Lowerings {
        target: Target::Amd,
        exact_reciprocals: true,
    };
    let report = relinked(folder.path(), &source, exact).unwrap();
    let count = |name: &str| replaced(&report, name);
    for (name, expected) in [
        ("rcpps", 6),
        ("rsqrtps", 6),
        ("rcpss", 2),
        ("vrcpps", 3),
        ("vrsqrtss", 2),
    ] {
        assert_eq!(count(name), expected, "{name}");
    }
    all_right(&run(&program, &["exact"]).unwrap());

    // Without room for a jump they stay, and are no error.
    let source = "__asm__(\".text\\n.type bare,@function\\nbare:\\n.cfi_startproc\\nrcpps %xmm1, %xmm0\\nret\\n.cfi_endproc\\n\
                  .size bare, .-bare\\n.globl bare\\n.hidden bare\\n\");\nextern void bare(void);\n\
                  int main(void) { bare(); return 0; }";
    let report = relinked(folder.path(), source, exact).unwrap();
    assert!(report.rewrites.is_empty(), "{:?}", report.rewrites);
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
        // Its displacement is another one, and a branch leads there.
        (
            "jz 1f+4\\n1: .byte 0xf3, 0x0f, 0x2b, 0x80\\nclzero\\nnop\\nnop\\nnop\\nret",
            "branches lead both",
        ),
    ] {
        let source = format!(
            "__asm__(\".text\\n.type bad,@function\\nbad:\\n.cfi_startproc\\n{code}\\n.cfi_endproc\\n.size bad, .-bad\\n\
             printf_stub: ret\\n\");\nextern void bad(void);\n__asm__(\".globl bad\\n.hidden bad\\n\");\n\
             int main(int argc, char **argv) {{ (void)argv; if (argc > 9) bad(); return 0; }}"
        );
        let folder = tempfile::tempdir().unwrap();
        let error = relinked(folder.path(), &source, SHA).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(part) && text.contains("clzero") | text.contains("movntss"),
            "{code}: {text}"
        );
        assert!(!folder.path().join("out").exists());
    }
}

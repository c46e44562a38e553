//! `setjmp` and `longjmp`.

use std::arch::naked_asm;

use relic_macros::guest_fn;

/// Saves the caller's context in 72 bytes: rbx, rbp, r12 to r15, rsp, return address, MXCSR and x87 control word.
/// Returns 0, and what `longjmp` passes when it comes back.
///
/// # Safety
/// The buffer must be the guest's `jmp_buf`.
#[guest_fn(libc, libSceLibcInternal, also = "_setjmp", also = "sigsetjmp")]
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn setjmp(buffer: *mut u64) -> i32 {
    naked_asm!(
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "lea rax, [rsp + 8]",
        "mov [rdi + 48], rax",
        "mov rax, [rsp]",
        "mov [rdi + 56], rax",
        "stmxcsr [rdi + 64]",
        "fnstcw [rdi + 68]",
        "xor eax, eax",
        "ret",
    )
}

/// Goes back to `setjmp`, which then returns `value`, or 1 for 0.
///
/// # Safety
/// The function that called `setjmp` must not have returned.
#[guest_fn(libc, libSceLibcInternal, also = "_longjmp", also = "siglongjmp")]
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn longjmp(buffer: *const u64, value: i32) -> ! {
    naked_asm!(
        "mov eax, 1",
        "test esi, esi",
        "cmovne eax, esi",
        "mov rbx, [rdi]",
        "mov rbp, [rdi + 8]",
        "mov r12, [rdi + 16]",
        "mov r13, [rdi + 24]",
        "mov r14, [rdi + 32]",
        "mov r15, [rdi + 40]",
        "ldmxcsr [rdi + 64]",
        "fldcw [rdi + 68]",
        "mov rsp, [rdi + 48]",
        "jmp qword ptr [rdi + 56]",
    )
}

//! The switch itself.

use std::arch::naked_asm;

use super::run::{Run, arrive, entry_returned};

/// Keeps the caller's stack in `save` and goes on where `to` was kept, which gets `run` as its own call's value. Whoever comes
/// back gives this call's. Floating-point control words are a stack's own, the rest of that state is the calls'.
///
/// # Safety
/// `to` must have been kept by this function or by [`start`], and not been gone back to since.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn switch(save: *mut usize, to: usize, run: *mut Run) -> *mut Run {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "mov rax, rdx",
        "ret",
    )
}

/// Keeps the caller's stack in `save` and begins the fiber of `run` on the stack that ends at `top`; on the caller's own, below its
/// frames, where that is 0.
///
/// # Safety
/// The stack must be nobody's, the fiber's entry callable.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn start(save: *mut usize, top: usize, run: *mut Run) -> *mut Run {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "test rsi, rsi",
        "cmovz rsi, rsp",
        "and rsi, -16",
        "mov rsp, rsi",
        // Whoever walks the stack ends here.
        "xor ebp, ebp",
        "push rbp",
        "push rbp",
        "mov rdi, rdx",
        "call {arrive}",
        // rax: entry, two arguments, whether to set control words, these.
        "cmp dword ptr [rax + 24], 0",
        "je 2f",
        "ldmxcsr [rax + 28]",
        "fldcw [rax + 32]",
        "2:",
        "mov rdi, [rax + 8]",
        "mov rsi, [rax + 16]",
        "call qword ptr [rax]",
        "call {returned}",
        "ud2",
        arrive = sym arrive,
        returned = sym entry_returned,
    )
}

//! System calls in code. A console program makes them through its libraries; one of its own would reach the host's kernel
//! with the console's numbers.

use iced_x86::{Code as Opcode, Instruction};

use crate::address::ImageAddress;

use super::{Code, flow::is_system_call};

/// The two bytes that each of the four instructions ends in: `syscall`, `int 0x80`, `sysenter`, `sysret`.
const PAIRS: [[u8; 2]; 4] = [[0x0f, 0x05], [0xcd, 0x80], [0x0f, 0x34], [0x0f, 0x07]];
/// `ud2`: as long as each of them.
pub const TRAP: [u8; 2] = [0x0f, 0x0b];

/// What happens to a program that holds system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SystemCallPolicy {
    /// It is refused.
    #[default]
    Refuse,
    /// Each is replaced by an instruction that faults.
    Trap,
    /// They are not looked for, and stay: the host's kernel will take the console's numbers for its own.
    Keep,
}

/// One system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SystemCall {
    /// Where its last two bytes stand, which make it one.
    pub opcode: ImageAddress,
    /// Where the instruction begins.
    pub address: ImageAddress,
    /// Its name.
    pub name: &'static str,
}

/// What was found.
#[derive(Debug, Default)]
pub struct SystemCalls {
    /// Every system call that control flow reaches, ascending.
    pub calls: Vec<SystemCall>,
    /// What may be one, in code without unwind information, ascending. None of them is in `calls`.
    pub uncertain: Vec<SystemCall>,
    /// Byte pairs that no control flow reaches as an instruction: data, or code that nothing leads to.
    pub unreached: usize,
}

/// Finds all system calls.
#[must_use]
pub fn find(code: &Code<'_>) -> SystemCalls {
    let found = code.find(&PAIRS, |_| true, system_call);
    let is_in = |calls: &[SystemCall], opcode: &ImageAddress| {
        calls.binary_search_by_key(opcode, |call| call.opcode).is_ok()
    };
    let mut calls = found.instructions;
    calls.sort_unstable();
    calls.dedup_by_key(|call| call.opcode);
    let mut uncertain = found.uncertain;
    uncertain.retain(|call| !is_in(&calls, &call.opcode));
    uncertain.sort_unstable();
    uncertain.dedup_by_key(|call| call.opcode);
    let candidates = found.candidates.iter();
    let unreached = candidates
        .filter(|opcode| !is_in(&calls, opcode) && !is_in(&uncertain, opcode))
        .count();
    SystemCalls {
        calls,
        uncertain,
        unreached,
    }
}

fn system_call(instruction: &Instruction) -> Option<SystemCall> {
    if !is_system_call(instruction) {
        return None;
    }
    let name = match instruction.code() {
        Opcode::Syscall => "syscall",
        Opcode::Sysenter => "sysenter",
        Opcode::Int_imm8 => "int 0x80",
        _ => "sysret",
    };
    let address = ImageAddress(instruction.ip());
    let opcode = ImageAddress(address.0 + instruction.len() as u64 - TRAP.len() as u64);
    Some(SystemCall {
        address,
        opcode,
        name,
    })
}
